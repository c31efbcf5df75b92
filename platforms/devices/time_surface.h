#pragma once
/* Compressed table of one kernel's measured times: low-rank factors on a roofline, and decision
 * trees for the residuals.
 *
 *     time   = exp(sum over r of left[r](x) right[r](y, z) + trees) (launch + max(compute, memory))
 *     left   linear between the nodes of x; right bilinear between those of y and z; the position
 *            on an axis is the binary exponent plus the mantissa's fraction, clamped to the nodes
 *     trees  platforms/devices/decision_forest.h, over the features of rh_surface_features(): a library
 *            chooses among its kernels by rules, and times jump where the choice changes
 *
 * The roofline uses the device's data sheet, so a change of its peak, bandwidth or power limit
 * takes effect. rh_surface_at() defines the axes of a kind. Docs: docs/theory/kernels.md; the fit
 * is in calibrate/fit/fit_surface.h. */
#include <glib.h>

#include "base/json/json.h"
#include "platforms/devices/calibrated_range.h"
#include "platforms/devices/decision_forest.h"
#include "platforms/devices/kernel.h"

#define RH_SURFACE_NODES_MAX  64  /* nodes of an axis */
#define RH_SURFACE_PLACES_MAX 512 /* nodes of y times nodes of z */
#define RH_SURFACE_RANK_MAX   12
#define RH_SURFACE_OCTAVES    48

typedef enum {
    RH_SURFACE_NONE,
    RH_SURFACE_GEMM,    /* x, y, z: m, n, k */
    RH_SURFACE_DECODE,  /* query heads per key head; sequences x key heads; keys */
    RH_SURFACE_PREFILL, /* query heads per key head; sequences x query heads; keys */
    RH_SURFACE_EXPERTS, /* grouped GEMM of experts: rows per expert; experts; n k */
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
    RhDtype dtype; /* format of its kernels */
    /* Interned: "bf16", "fp8", "fp8_block", "nvfp4"; for attention the format of the cache. */
    const char *format;
    int32_t head; /* attention: columns of a head; else 0 */
    /* Interned: of experts, whose grouped products these are, "cutlass"; "": not said. Of several
     * surfaces of a format the first counts, unless a library is asked for. */
    const char *library;
    /* times include the cast of the left operand, which is then no separate kernel */
    bool casts_inside;
    double operand_bytes; /* per element of a GEMM's operands or of an attention's cache */
    double launch_s, compute_frac, memory_frac; /* roofline, relative to the data sheet's peaks */
    RhSurfaceAxis axes[3];
    int32_t rank;
    double *left;                           /* [x][rank], owned */
    double *right;                          /* [y][z][rank], owned */
    RhForest *trees;                        /* NULL: none; owned */
    double error_mean_frac, error_p90_frac; /* error on held-out shapes, or else on all */
    /* range of the table's kernels; without a source: unknown */
    RhCalibratedRange measured;
    const char *source, *date; /* as in RhFact */
} RhSurface;

/* Interpolation weights of a point between nodes. */
typedef struct {
    int32_t left;     /* the first of two nodes of x */
    double beyond;    /* fraction of the way to the second: 0 to 1 */
    int32_t right[4]; /* places of y and z */
    double weight[4]; /* sum is 1 */
} RhSurfacePlace;

/* Makes a surface with zero factors; NULL when a count exceeds the arrays. `nodes` ascend and are
 * copied. */
RhSurface *rh_surface_new(RhSurfaceKind kind, const double *const nodes[3], const int counts[3],
                          int rank);
RhSurface *rh_surface_ref(RhSurface *surface);
void rh_surface_unref(RhSurface *surface);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhSurface, rh_surface_unref)

/* Computes the position of a kernel on the axes. */
void rh_surface_at(const RhSurface *s, const RhKernel *kernel, double at[3]);
void rh_surface_place(const RhSurface *s, const double at[3], RhSurfacePlace *place);
double rh_surface_log_factor(const RhSurface *s, const RhSurfacePlace *place);
/* Computes the features of a kernel at a position for the trees, on a device with `sms` SMs, and
 * returns their names, which end with NULL. */
void rh_surface_features(const RhSurface *s, const RhKernel *kernel, const double at[3], int sms,
                         float features[RH_FOREST_FEATURES_MAX]);
const char *const *rh_surface_features_names(RhSurfaceKind kind);
/* Returns the ratio of a kernel's time to its roofline on a device with `sms` SMs: factors and
 * trees. */
double rh_surface_factor(const RhSurface *s, const RhKernel *kernel, int sms);
/* Return the work of a kernel by its shape, as the surface counts it: FLOPs, and bytes of traffic.
 */
double rh_surface_flops(const RhSurface *s, const RhKernel *kernel);
double rh_surface_bytes(const RhSurface *s, const RhKernel *kernel);
/* Returns the seconds of the roofline, launch + max(flops, bytes), given seconds per FLOP and byte
 * at the data sheet's peaks. */
double rh_surface_roof_s(const RhSurface *s, const RhKernel *kernel, double s_per_flop,
                         double s_per_byte);

/* Returns the fraction of a table's kernel that this one is: 1, or for a chunk of a prompt the
 * share of its (query, key) pairs, because tables hold whole prompts. */
double rh_surface_part(const RhSurface *s, const RhKernel *kernel);

/* Returns the kind of shapes of a surface's kernels. */
RhCalibratedKind rh_surface_shapes_kind(RhSurfaceKind kind);
const char *rh_surface_kind_name(RhSurfaceKind kind);
RhSurfaceKind rh_surface_kind_by_name(const char *name); /* NONE: unknown */
/* Reads one of a profile's "device.kernels"; problems are collected in the document, and NULL is
 * returned. */
RhSurface *rh_surface_read(RhJson *doc, const RhJsonNode *node);
/* Writes a surface, with values rounded by rh_surface_rounded(). */
void rh_surface_write(RhJsonWriter *w, const RhSurface *surface);
double rh_surface_rounded(double value);
