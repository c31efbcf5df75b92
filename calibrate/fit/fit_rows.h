#pragma once
/* Raw rows as a fit wants them: kernels of one kind, some held out, and how far a model is off. */
#include "calibrate/fit/fit_solve.h"
#include "calibrate/kernels/raw_samples.h"

/* Which line of the report a row counts in. */
typedef enum {
    RH_FIT_ALL,
    RH_FIT_LARGE,  /* GEMM of m >= 1024, n and k >= 512, where training lives */
    RH_FIT_MEDIUM, /* other GEMMs */
    RH_FIT_SMALL,  /* GEMM of m < 128, as in decoding */
    RH_FIT_LONG,   /* attention over 1024 keys or more */
    RH_FIT_SHORT,  /* over fewer */
    RH_FIT_REGIME_LAST,
} RhFitRegime;

typedef struct {
    RhFitSample sample;
    const RhRawRow *raw; /* borrowed */
    const char *file;    /* the raw file's name, borrowed */
    RhFitRegime regime;
    bool held_out;
} RhFitRow;

/* Errors are model / measured - 1. */
typedef struct {
    int32_t count;
    double median_frac, p90_frac, worst_frac; /* of |error|; the worst with its sign */
    double mean_frac;                         /* of |error| */
    double bias_frac;                         /* mean, with sign */
    char *worst;                              /* the row, owned; NULL without rows */
} RhFitFigures;

/* Returns a reproducible number of the cluster that these values identify. */
uint32_t rh_fit_cluster(const int64_t *values, size_t count);
/* Returns whether a cluster of this number is held out. */
bool rh_fit_is_held_out(uint32_t cluster, double holdout_frac);

/* Appends the RhFitRow of a raw file that are of the class; `dtype` RH_DTYPE_NONE takes all.
 * RH_KERNEL_ADD stands for every kernel bound by memory bandwidth. Attention by a kernel that stands
 * in for cuDNN's is left out. Seconds of long kernels are brought to the highest clock. What is held out is decided by
 * the shape alone (a GEMM's n and k, whatever its m), so that the same shape is held out in every
 * file and in any order. */
void rh_fit_rows_add(GArray *rows, const RhRaw *raw, RhKernelClass cls, RhDtype dtype,
                     double holdout_frac);
/* Samples of the rows to fit, RhFitSample; caller unrefs. With few shapes, each row is a cluster.
 */
GArray *rh_fit_rows_samples(const GArray *rows, size_t params_count);
const char *rh_fit_regime_name(RhFitRegime regime); /* "large"; "" for all */
/* Computes the errors of the rows in `regime` that are held out, or of the others. */
void rh_fit_figures(const GArray *rows, RhFitRegime regime, bool held_out, const RhDevice *device,
                    RhFitFigures *figures);
void rh_fit_figures_clear(RhFitFigures *figures);
/* Computes statistics from model / measured - 1 of each row; sorts `errors`. Sets all but `worst`.
 */
void rh_fit_figures_of(double *errors_frac, size_t count, RhFitFigures *figures);
