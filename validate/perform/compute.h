#pragma once
/* Kernels as real work, in a thread of its own, so that messages progress meanwhile. */
#include "sim/program.h"

/* Who does the work. */
typedef struct {
    const char *name; /* as --compute has it */
    /* Makes ready for every kernel of the program. `place`: which rank of its host this is. NULL
     * with RH_ERROR_IO where there is nothing that could do the work. */
    void *(*open)(const RhProgram *p, int place, GError **error);
    /* Does a bundle's kernels, one after another. When they were done, on rh_clock_now_s; negative
     * when they could not be. */
    double (*run)(void *worker, int32_t bundle);
    void (*close)(void *worker);
} RhWorker;

/* GEMMs by OpenBLAS in single precision, attention as the two products of every head, all else as
 * so many bytes read and written. */
extern const RhWorker RH_WORKER_BLAS;
/* The kernels themselves, on a GPU: by `rehearse-kernels --serve`, a process beside this one. */
extern const RhWorker RH_WORKER_CUDA;

/* "blas", "cuda"; NULL when there is no such worker. */
const RhWorker *rh_worker_by_name(const char *name);

typedef struct RhCompute RhCompute;

RhCompute *rh_compute_new(const RhWorker *worker, const RhProgram *p, int place,
                          GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_compute_free(RhCompute *compute);
/* Starts a bundle of kernels; one at a time. */
void rh_compute_start(RhCompute *compute, int32_t bundle);
/* True when it is over; *t_end_s: when that was, on rh_clock_now_s; negative when it failed. */
bool rh_compute_poll(RhCompute *compute, double *t_end_s);
