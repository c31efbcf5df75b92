#pragma once
/* The files: raw samples out ("# rehearse.raw/1"), kernel lists in ("# rehearse.kernels/1").
 *
 * A row of the output is flushed as it is written, so that a file cut anywhere is valid up to its
 * last whole line. Numbers are written and read with a decimal point in every locale. */
#include <stdio.h>

#include "calibrate/measure/kernel_sample.h"
#include "calibrate/measure/stats.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The `# key=value` lines; an empty text or a 0 leaves the line out. */
typedef struct {
    char device[96], driver[32], cuda[32], cublas[32], cudnn[32], nccl[32], blas[32], date[32],
        host_cpu[96];
    int sms, sm_major, sm_minor;
    double hbm_bytes, l2_bytes, clock_mhz_max, memory_clock_mhz;
} RkRawHead;

typedef struct {
    RkSample sample;
    RkMedian seconds;
    char library[64];
    double sm_mhz, watts; /* 0: unknown */
} RkRawRow;

/* Each returns false when the file cannot be written. */
bool rk_raw_write_head(FILE *file, const RkRawHead *head);
bool rk_raw_write_row(FILE *file, const RkRawRow *row);
bool rk_raw_write_end(FILE *file, bool complete);

/* A row named `kernel` that is no sample of its own: the whole of a list. */
bool rk_raw_write_whole(FILE *file, const char *kernel, int64_t launches, const RkRawRow *row);

/* The grid as CSV: the columns of a kernel list, count left 1. */
bool rk_raw_write_grid(FILE *file, const RkSamples *samples);

/* One line of a kernel list. */
typedef struct {
    RkSample sample; /* as listed: what the output names */
    RkSample shape;  /* completed: what is run */
    int64_t count;
} RkListed;

typedef struct {
    RkListed *items; /* owned */
    size_t count;
} RkList;

/* Reads a list; on failure `why` names file, line and column and holds what is wrong. */
bool rk_list_read(FILE *file, const char *name, RkList *out, char *why, size_t why_size);
void rk_list_clear(RkList *list);

#ifdef __cplusplus
}
#endif
