#include "strategies/run/training_run_spec.h"

#include <math.h>

#include "base/error.h"
#include "strategies/run/failure_rates.h"
#include "strategies/run/run_state.h"

#define YEAR_S      (365.25 * 86400)
#define SIGMAS      4
#define WORK_MOST_S (1000 * YEAR_S) /* longer runs are typing errors */

const char *rh_run_time_name(RhRunTime time)
{
    static const char *const names[RH_RUN_TIMES_LAST] = {
        "training steps", "smaller size",  "jitter, slow GPUs", "checkpoints",
        "lost work",      "detection",     "diagnosis",         "waiting for nodes",
        "restarts",       "planned stops", "kernel tuning"};
    return names[time];
}

static double own_or(RhOwnTime own, double otherwise_s)
{
    return own.known ? own.time_s : otherwise_s;
}

double rh_run_detection_s(const RhTrainingRun *run, int32_t component)
{
    return own_or(run->rates->components[component].detection, run->detection_s);
}

double rh_run_diagnosis_s(const RhTrainingRun *run, int32_t component)
{
    return own_or(run->rates->components[component].diagnosis, run->diagnosis_s);
}

double rh_run_repair_s(const RhTrainingRun *run, int32_t component)
{
    return own_or(run->rates->components[component].repair, run->repair_s);
}

double rh_run_down_s(const RhTrainingRun *run)
{
    double down_s = 0, all = rh_failure_rates_per_gpu_hour(run->rates);
    for (int32_t i = 0; i < run->rates->components_count; i++)
        down_s += run->rates->components[i].per_gpu_hour.value / all *
                  (rh_run_detection_s(run, i) + rh_run_diagnosis_s(run, i));
    return down_s;
}

int32_t rh_run_missing_most(const RhTrainingRun *run)
{
    double mean = 0, all = rh_failure_rates_per_gpu_hour(run->rates);
    if (run->spot || run->law == RH_LAW_TRACE)
        return run->nodes_count;
    for (int32_t i = 0; i < run->rates->components_count; i++) {
        const RhFailureComponent *c = &run->rates->components[i];
        mean += c->per_gpu_hour.value / all * c->nodes_away * rh_run_repair_s(run, i) / run->mtbf_s;
    }
    return (int32_t)fmin(ceil(mean + SIGMAS * sqrt(mean)), run->nodes_count);
}

static bool check_trace(const RhTrainingRun *run, GError **error)
{
    for (int32_t i = 1; i < run->trace_count; i++)
        if (run->trace[i].t_s < run->trace[i - 1].t_s)
            return rh_fail(
                error, RH_ERROR_INPUT,
                "failure %d of the trace is at %g s, before the one in front of it at %g s\n"
                "help: sort the trace by time",
                i + 1, run->trace[i].t_s, run->trace[i - 1].t_s);
    return true;
}

static bool check_law(const RhTrainingRun *run, GError **error)
{
    if (run->law == RH_LAW_WEIBULL && run->weibull_shape <= 0)
        return rh_fail(error, RH_ERROR_USAGE, "the shape of Weibull lives is more than 0");
    if (run->law == RH_LAW_BAD_NODES &&
        (run->bad_frac <= 0 || run->bad_frac > 1 || run->bad_times < 1))
        return rh_fail(
            error, RH_ERROR_USAGE,
            "bad nodes are a share of all, and fail at least as often\nhelp: bad=3%%x10");
    return run->law != RH_LAW_TRACE || check_trace(run, error);
}

static bool check_pool(const RhTrainingRun *run, GError **error)
{
    int32_t spares = run->hot_spares + run->cold_spares;
    if (spares > run->nodes_count)
        return rh_fail(error, RH_ERROR_USAGE,
                       "%d spare nodes are more than the %d nodes of the job\n"
                       "help: spares are counted in nodes, of %d GPUs each",
                       spares, run->nodes_count, run->node_gpus);
    if (spares > 0 && !run->policy->takes_spares)
        return rh_fail(error, RH_ERROR_USAGE,
                       "the policy %s takes no spares\nhelp: the policy spares", run->policy->name);
    if (run->group_nodes < 1 || run->group_nodes > run->nodes_count)
        return rh_fail(error, RH_ERROR_USAGE, "a replica group of %d of %d nodes", run->group_nodes,
                       run->nodes_count);
    if (run->policy->simulate && run->group_nodes < 2)
        return rh_fail(error, RH_ERROR_USAGE,
                       "the policy %s wants pipelines of two nodes or more, a stage each\n"
                       "help: a layout with more stages (-s pp4)",
                       run->policy->name);
    if (run->policy->goes_on && !run->policy->simulate && run->sizes_count == 0 &&
        run->nodes_count / run->group_nodes < 2)
        return rh_fail(error, RH_ERROR_USAGE,
                       "the policy %s goes on with fewer replicas, and the job has one",
                       run->policy->name);
    return true;
}

bool rh_training_run_check(const RhTrainingRun *run, GError **error)
{
    if (!(run->work_s > 0))
        return rh_fail(error, RH_ERROR_USAGE, "a run without work");
    if (run->work_s > WORK_MOST_S)
        return rh_fail(error, RH_ERROR_USAGE,
                       "the work takes %.3g years without a failure: too long to be drawn\n"
                       "help: fewer tokens, or more GPUs",
                       run->work_s / YEAR_S);
    if (run->law != RH_LAW_TRACE && !(run->mtbf_s > 0))
        return rh_fail(error, RH_ERROR_USAGE, "the time between failures is more than 0");
    if (run->slow_frac < 0 || run->jitter_frac < 0 ||
        (run->slow_every_s > 0 && !(run->slow_lasts_s > 0)))
        return rh_fail(error, RH_ERROR_USAGE, "slow GPUs make steps longer, and last some time");
    if (run->missed_frac < 0 || run->missed_frac >= 1)
        return rh_fail(error, RH_ERROR_USAGE,
                       "a share of failures of which the cause stays is less than 100 %%");
    if (run->stop_every_s > 0 && run->stop_s >= run->stop_every_s)
        return rh_fail(error, RH_ERROR_USAGE,
                       "a planned stop of %g s every %g s leaves no time to train", run->stop_s,
                       run->stop_every_s);
    if (run->least < 2 || run->most < run->least)
        return rh_fail(error, RH_ERROR_USAGE, "at least two replications are needed");
    return check_law(run, error) && check_pool(run, error);
}
