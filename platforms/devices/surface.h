#pragma once
/* A published table of one kernel's times, compressed: factors of low rank on a roofline, and decision
 * trees on what these leave over.
 *
 *   time   = exp(sum over r of left[r](x) right[r](y, z) + trees) (launch + max(compute, memory))
 *   left   linear between the nodes of x; right bilinear between those of y and z; the place on an
 *          axis is the binary exponent plus the mantissa's fraction, and the nearest node counts
 *          outside
 *   trees  a library chooses among its kernels by rules, and times jump where these have borders:
 *          platforms/devices/forest.h, over what rh_surface_features() tells of a kernel
 *
 * The roofline is that of the device's data sheet, so that a change of its peak, bandwidth or power
 * limit shows. Which axes a kind has, rh_surface_at() says. Docs: docs/theory/kernels.md; how a
 * surface comes about: calibrate/fit/fit_surface.h. */
#include <glib.h>

#include "base/json.h"
#include "platforms/devices/calibrated_range.h"
#include "platforms/devices/forest.h"
#include "platforms/devices/kernel.h"

#define RH_SURFACE_NODES_MAX  64  /* of an axis */
#define RH_SURFACE_PLACES_MAX 512 /* nodes of y times nodes of z */
#define RH_SURFACE_RANK_MAX   12
#define RH_SURFACE_OCTAVES    48

typedef enum {
    RH_SURFACE_NONE,
    RH_SURFACE_GEMM,    /* x, y, z: m, n, k */
    RH_SURFACE_DECODE,  /* query heads per key head; sequences x key heads; keys */
    RH_SURFACE_PREFILL, /* the same; sequences x query heads; keys */
    RH_SURFACE_EXPERTS, /* a mixture's grouped GEMM: rows of an expert; experts; n k */
    RH_SURFACE_LAST,
} RhSurfaceKind;

/* Nodes in ascending order. */
typedef struct {
    int32_t count;
    double at[RH_SURFACE_NODES_MAX];
    double place[RH_SURFACE_NODES_MAX], per_place[RH_SURFACE_NODES_MAX]; /* derived */
    uint8_t first[RH_SURFACE_OCTAVES + 1]; /* derived: the last node at or below 2^octave */
} RhSurfaceAxis;

typedef struct {
    RhSurfaceKind kind;
    RhDtype dtype; /* of the kernels that it is for */
    /* interned: "bf16", "fp8", "fp8_block", "nvfp4"; of attention, of its cache */
    const char *format;
    int32_t head;         /* attention: columns of a head; else 0 */
    bool casts_inside;    /* times hold the cast of the left operand, which is then no kernel */
    double operand_bytes; /* of an element of a GEMM's operands, of an attention's cache */
    double launch_s, compute_frac, memory_frac; /* the roofline, of the data sheet's peaks */
    RhSurfaceAxis axes[3];
    int32_t rank;
    double *left;                           /* [x][rank], owned */
    double *right;                          /* [y][z][rank], owned */
    RhForest *trees;                        /* NULL: none; owned */
    double error_mean_frac, error_p90_frac; /* of shapes held out; where none were, of all */
    RhCalibratedRange measured;             /* of the table's kernels; without a source: not said */
    const char *source, *date;              /* as of a fact */
} RhSurface;

/* Which value goes where between nodes. */
typedef struct {
    int32_t left;     /* the first of two nodes of x */
    double beyond;    /* how far to the second: 0 to 1 */
    int32_t right[4]; /* places of y and z */
    double weight[4]; /* 1 together */
} RhSurfacePlace;

/* With zeroed factors, or NULL when counts are not what arrays hold. `nodes` ascend; copied. */
RhSurface *rh_surface_new(RhSurfaceKind kind, const double *const nodes[3], const int counts[3],
                          int rank);
RhSurface *rh_surface_ref(RhSurface *surface);
void rh_surface_unref(RhSurface *surface);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhSurface, rh_surface_unref)

/* Where a kernel lies on the axes. */
void rh_surface_at(const RhSurface *s, const RhKernel *kernel, double at[3]);
void rh_surface_place(const RhSurface *s, const double at[3], RhSurfacePlace *place);
double rh_surface_log_factor(const RhSurface *s, const RhSurfacePlace *place);
/* What the trees may ask of a kernel that lies there, on a device of so many SMs, and what it is called;
 * names end with NULL. */
void rh_surface_features(const RhSurface *s, const RhKernel *kernel, const double at[3], int sms,
                         float features[RH_FOREST_FEATURES_MAX]);
const char *const *rh_surface_features_names(RhSurfaceKind kind);
/* Of a kernel's time to its roofline's, on a device of so many SMs: factors and trees. */
double rh_surface_factor(const RhSurface *s, const RhKernel *kernel, int sms);
/* The work of a kernel as the surface counts it, from its shape: FLOPs, and bytes of traffic. */
double rh_surface_flops(const RhSurface *s, const RhKernel *kernel);
double rh_surface_bytes(const RhSurface *s, const RhKernel *kernel);
/* launch + max(flops, bytes): seconds of the roofline, at seconds per FLOP and byte of the data
 * sheet's peaks. */
double rh_surface_roof_s(const RhSurface *s, const RhKernel *kernel, double s_per_flop,
                         double s_per_byte);

/* What part of a table's kernel this one is: 1; of a prompt that comes in chunks the share of its
 * (query, key) pairs, as tables are of whole prompts. */
double rh_surface_part(const RhSurface *s, const RhKernel *kernel);

/* Of the kernels that it is of. */
RhShapesKind rh_surface_shapes_kind(RhSurfaceKind kind);
const char *rh_surface_kind_name(RhSurfaceKind kind);
RhSurfaceKind rh_surface_kind_by_name(const char *name); /* NONE: unknown */
/* One of a profile's "device.kernels"; problems are collected in the document, NULL then. */
RhSurface *rh_surface_read(RhJson *doc, const RhJsonNode *node);
/* Values as they are written, rh_surface_rounded(). */
void rh_surface_write(RhJsonWriter *w, const RhSurface *surface);
double rh_surface_rounded(double value);
