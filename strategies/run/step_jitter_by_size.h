#pragma once
/* How single steps of real runs spread about their median, by the size of the job. */
#include <stdint.h>

typedef struct {
    int32_t gpus_most; /* of the jobs that a row is of */
    double mean_frac; /* by which the mean step is longer than the median: the middle of the runs */
    double p99_times; /* of the median: the same */
    double worst_times; /* the longest step of each run: the same */
    int32_t systems_count;
} RhStepJitter;

/* Source of the table. */
#define RH_STEP_JITTER_SOURCE "MLPerf Training v5.0 and v5.1, logged steps of 55 systems"

/* The row of a size. */
const RhStepJitter *rh_step_jitter(int32_t gpus);
