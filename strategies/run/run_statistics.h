#pragma once
/* Many replications of a run: the same seed draws the same failures for every policy and interval. They end
 * when the mean's 95 % interval is narrow enough. */
#include "strategies/run/run_simulate.h"

#define RH_RUN_QUANTILES 21

typedef struct {
    double mean, p10, p50, p90;
} RhRunSpread;

typedef struct {
    double every_s; /* work between two checkpoints: as given, or searched */
    RhRunSpread time_s;
    double times_s[RH_RUN_QUANTILES]; /* of the run, at shares from 0 to 1 of the drawn ones */
    int32_t middle;                   /* the replication nearest to the median */
    double goodput_frac; /* of the GPU time that is paid for, what counts; idle spares are paid */
    double ettr_frac;    /* of the time that the run takes, what counts */
    RhRunSpread ettr;    /* over replications; p10 is the bad end */
    double node_s;       /* mean time for which nodes are held */
    double usd_per_gpu_hour;           /* mean price of these by the run's prices; 0: it has none */
    double half_frac;                  /* 95 % interval of the mean time, relative */
    double spent_s[RH_RUN_TIMES_LAST]; /* means; sum to the mean time */
    RhRunSpread failures;
    double young_s, daly_s, exact_s; /* work between two checkpoints by closed forms */
    double exact_goodput_frac; /* by the closed form at every_s; 0: it does not hold for this run */
    double lost_each_s;        /* per failure, checkpoints included */
    int32_t replications;
    bool timed_out; /* the deadline ended them before the mean was known well enough */
} RhRunResult;

/* RH_ERROR_NO_ANSWER: the job makes no progress, or the deadline came before two replications. */
bool rh_run_replicate(const RhTrainingRun *run, RhRunResult *out,
                      GError **error) G_GNUC_WARN_UNUSED_RESULT;
