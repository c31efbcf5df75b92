#pragma once
/* The command line of rehearse-kernels and rehearse-kernels-cpu. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calibrate/measure/kernel_sample.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    RK_DO_MEASURE,
    RK_DO_LIST,
    RK_DO_SERVE,
    RK_DO_GRID,
    RK_DO_CHECK,
    RK_DO_HELP,
    RK_DO_VERSION
} RkTask;

typedef struct {
    RkTask task;
    bool classes[RK_CLASS_LAST]; /* of --run; all when it is not given */
    double budget_s;
    const char *out_file;  /* NULL: standard output; borrowed from argv, as the next */
    const char *list_file; /* of --list and --serve */
    int device;
    int threads; /* of a processor; 1 by default */
    uint64_t seed;
} RkOptions;

/* False when an option is wrong; `why` then says which and how. */
bool rk_options_parse(int argc, char *const *argv, RkOptions *out, char *why, size_t why_size);

#ifdef __cplusplus
}
#endif
