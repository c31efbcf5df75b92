#pragma once
/* A row of a published table of operators on its way to raw samples; only raw_tables.c and the files of single forms
 * (raw_vidur.c) include it. */
#include "base/text/csv.h"
#include "calibrate/kernels/raw_samples.h"

#define RH_TABLE_SIDE_MOST 1099511627776.0 /* as raw.c's */

typedef struct {
    RhRaw *out;
    const RhCsv *csv;
    const RhCsvRow *row;
    GError **error;
} RhRawReading;

/* A number of the column, at least `low`; a whole one. False with RH_ERROR_INPUT and file:line:col. */
bool rh_raw_take(const RhRawReading *r, const char *column, double low, double *out);
bool rh_raw_take_whole(const RhRawReading *r, const char *column, double low, double *out);
/* Counts a row that is no sample, as one of `name`. */
void rh_raw_leave_out(const RhRawReading *r, const char *name);
void rh_raw_add(const RhRawReading *r, const char *name, const RhKernel *k, double seconds);
/* C (m x n) = A (m x k) B (k x n), all of one format. */
RhKernel rh_raw_gemm(RhDtype dtype, double m, double n, double k);

/* vidur's profiling/compute, mlp.csv: a layer's GEMMs. A row that is wrong: false. */
bool rh_raw_vidur_read(const RhRawReading *r);
extern const char
    *const rh_raw_vidur_needs[]; /* columns by which such a table is told; NULL-ended */
