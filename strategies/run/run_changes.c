#include "strategies/run/run_changes.h"

#include "strategies/run/policies/policies.h"

#define CHANGE_RUNS  100
#define SLOW_FOUND_S 600.0
#define GAIN_LEAST   5e-4 /* of the goodput: less is noise */

static void best_interval(RhTrainingRun *run)
{
    run->checkpoint.every_s = 0;
}

static void detected_soon(RhTrainingRun *run)
{
    if (run->detection_s > 60)
        run->detection_s = 60;
}

static void faster_storage(RhTrainingRun *run)
{
    run->checkpoint.write_s /= run->checkpoint.drain_s > 0 ? 1 : 4;
    run->checkpoint.drain_s /= 4;
    run->checkpoint.read_s /= 4;
    run->checkpoint.every_s = 0;
}

static void quick_start(RhTrainingRun *run)
{
    run->startup_s /= 2;
}

static void twice_the_spares(RhTrainingRun *run)
{
    run->hot_spares *= 2;
    run->cold_spares *= 2;
}

static void other_policy(RhTrainingRun *run, const char *name)
{
    run->policy = rh_run_policy_by_name(name);
    run->hot_spares = run->cold_spares = 0;
    run->spares_endless |= run->policy->takes_spares;
}

static void copies_in_memory(RhTrainingRun *run)
{
    other_policy(run, "memory");
}

static void replica_groups(RhTrainingRun *run)
{
    other_policy(run, "groups");
}

static void slow_found(RhTrainingRun *run)
{
    if (run->slow_every_s > 0)
        run->slow_found_s = SLOW_FOUND_S;
}

static void no_stalls(RhTrainingRun *run)
{
    run->stall_every_s = 0;
}

static const struct {
    const char *change;
    void (*apply)(RhTrainingRun *run);
} changes[] = {
    {"the best interval", best_interval},
    {"failures detected in 1 min", detected_soon},
    {"storage four times as fast", faster_storage},
    {"start-up in half the time", quick_start},
    {"slow GPUs found in 10 min and removed", slow_found},
    {"no stalls", no_stalls},
    {"twice the spares", twice_the_spares},
    {"copies in peers' memory (policy memory)", copies_in_memory},
    {"replica groups (policy groups)", replica_groups},
};

static int by_gain(const void *a, const void *b)
{
    double x = ((const RhRunChange *)a)->goodput_frac, y = ((const RhRunChange *)b)->goodput_frac;
    return x > y ? -1 : x < y ? 1 : 0;
}

GArray *rh_run_changes(const RhTrainingRun *run, const RhRunResult *result)
{
    GArray *found = g_array_new(FALSE, FALSE, sizeof(RhRunChange));
    for (size_t i = 0; i < G_N_ELEMENTS(changes); i++) {
        if (changes[i].apply == best_interval && run->checkpoint.every_s <= 0)
            continue; /* it has the best one */
        if (rh_deadline_passed(run->deadline))
            break;
        RhTrainingRun changed = *run;
        if (changed.checkpoint.every_s <= 0)
            changed.checkpoint.every_s = result->every_s;
        changes[i].apply(&changed);
        changed.most = CHANGE_RUNS;
        changed.least = CHANGE_RUNS - 1; /* or fewer of runs that are all alike */
        RhRunResult r;
        if (!rh_training_run_check(&changed, NULL) || !rh_run_replicate(&changed, &r, NULL) ||
            r.timed_out)
            continue;
        RhRunChange one = {changes[i].change, r.ettr_frac, r.goodput_frac};
        if (r.goodput_frac > result->goodput_frac + GAIN_LEAST)
            g_array_append_val(found, one);
    }
    g_array_sort(found, by_gain);
    return found;
}
