#pragma once
/* Which rows of a device's tables a surface is made from. Knows what is wrong with published tables and
 * what their times hold besides the kernel; surfaces_fit.c, which fits, takes the samples as they
 * are. Private to surfaces_*.c. */
#include "base/deadline.h"
#include "calibrate/surfaces_fit.h"

typedef struct {
    const RhKernelTables *table;
    const RhTabled *row;
    double seconds; /* less its casts, where these are known */
    bool held_out;
} RhSurfaceSample;

typedef struct {
    const GPtrArray *tables;
    const RhDevice *device;
    RhSurfacesFit *fit;
    double holdout_frac;
    const char *date;
    RhDeadline deadline;
} RhSurfacesWork;

/* What surfaces are kept apart by. */
typedef struct {
    RhSurfaceKind kind;
    RhDtype dtype;
    const char *format; /* interned */
    int64_t head;
} RhSurfaceSort;

G_GNUC_PRINTF(2, 3)
void rh_surfaces_note(const RhSurfacesWork *w, const char *format, ...);
/* "gemm fp8"; the caller frees. */
char *rh_surface_sort_name(const RhSurfaceSort *kind);

/* GArray of RhSurfaceSample, of the first file that has rows of the kind which can be used; the caller
 * unrefs. */
GArray *rh_surface_samples(const RhSurfacesWork *w, const RhSurfaceSort *kind);
