#pragma once
/* Input of a fit of surfaces, and the selection of table rows. Private to surfaces_*.c. */
#include "calibrate/surfaces/surfaces_fit.h"

#define RH_SURFACE_ROWS_LEAST 200 /* fewer tell no surface */

typedef struct {
    const RhKernelTables *table;
    const RhTableSample *row;
    double seconds; /* less its casts, where these are known */
    bool held_out;
} RhSurfaceSample;

typedef struct {
    const GPtrArray *tables;
    const RhDevice *device;
    RhSurfacesFit *fit;
    double holdout_frac;
    const char *date;
    int64_t t_end_us; /* 0: none */
} RhSurfacesWork;

/* Key of a surface. */
typedef struct {
    RhSurfaceKind kind;
    RhDtype dtype;
    const char *format; /* interned */
    int64_t head;
    const char *library; /* EXPERTS: interned; else NULL */
} RhSurfaceOf;

G_GNUC_PRINTF(2, 3)
void rh_surfaces_note(const RhSurfacesWork *w, const char *format, ...);
/* "gemm fp8", "decode d128, cache bf16". Caller frees. */
char *rh_surface_of_name(const RhSurfaceOf *kind);
/* Libraries that have rows of a kind of experts, interned: those of the first file first, and of one file
 * that with most rows of one rank. Caller frees. */
GPtrArray *rh_surface_libraries(const RhSurfacesWork *w, const RhSurfaceOf *kind);
/* RhSurfaceSample of the first file that has rows of the kind which can be used. Caller frees. */
GArray *rh_surface_samples(const RhSurfacesWork *w, const RhSurfaceOf *kind);
