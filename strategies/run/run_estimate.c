#include "strategies/run/run_estimate.h"

#include "strategies/run/checkpoint_times.h"
#include "strategies/run/failure_rates.h"
#include "strategies/run/run_interval.h"

double rh_run_estimate_frac(const RhProblem *c, const RhFailureRates *rates)
{
    int32_t gpus = c->job.gpus;
    RhCheckpointSetup setup = {.bytes = rh_checkpoint_bytes(c),
                               .storage = rh_checkpoint_storage(c->platform, gpus)};
    int32_t nodes = MAX(gpus / c->platform->gpus_per_node, 1);
    RhCheckpointTimes times = rh_checkpoint_times(&setup, c->platform, nodes);
    RhIntervalProblem p = {.mtbf_s = rh_failure_rates_mtbf_s(rates, gpus),
                           .write_s = times.write_s,
                           .down_s = 60.0 * RH_RUN_DETECTION_MIN,
                           .restart_s = RH_RUN_STARTUP_S + times.read_s};
    return rh_interval_goodput_frac(&p, rh_interval_best_s(&p));
}
