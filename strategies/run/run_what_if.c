#include "strategies/run/run_what_if.h"

#include "strategies/run/policies/policies.h"

#define CHANGE_RUNS  100
#define SLOW_FOUND_S 600.0
#define SOON_S       60.0
#define GAIN_LEAST   5e-4 /* of the goodput: less is noise */

/* Each makes the change, or returns false: the run has it already, or it is not for such a run. */

static bool best_interval(RhTrainingRun *run)
{
    bool given = run->checkpoint.every_s > 0;
    run->checkpoint.every_s = 0;
    return given;
}

static bool interval_times(RhTrainingRun *run, double times)
{
    run->checkpoint.every_s *= times;
    return true;
}

static bool half_the_interval(RhTrainingRun *run)
{
    return interval_times(run, 0.5);
}

static bool twice_the_interval(RhTrainingRun *run)
{
    return interval_times(run, 2);
}

static bool detected_soon(RhTrainingRun *run)
{
    bool later = run->detection_s > SOON_S;
    run->detection_s = MIN(run->detection_s, SOON_S);
    return later;
}

static bool storage_times(RhTrainingRun *run, double times)
{
    run->checkpoint.write_s /= run->checkpoint.drain_s > 0 ? 1 : times;
    run->checkpoint.drain_s /= times;
    run->checkpoint.read_s /= times;
    run->checkpoint.every_s = 0;
    return run->checkpoint.read_s > 0;
}

static bool storage_half(RhTrainingRun *run)
{
    return storage_times(run, 0.5);
}

static bool storage_twice(RhTrainingRun *run)
{
    return storage_times(run, 2);
}

static bool storage_four_times(RhTrainingRun *run)
{
    return storage_times(run, 4);
}

static bool quick_start(RhTrainingRun *run)
{
    run->startup_s /= 2;
    return run->startup_s > 0;
}

static bool twice_the_spares(RhTrainingRun *run)
{
    run->hot_spares *= 2;
    run->cold_spares *= 2;
    return run->hot_spares + run->cold_spares > 0;
}

static bool other_policy(RhTrainingRun *run, const RhRunPolicy *policy)
{
    bool another = run->policy != policy;
    run->policy = policy;
    run->hot_spares = run->cold_spares = 0;
    run->spares_endless |= policy->takes_spares;
    return another;
}

static bool restart(RhTrainingRun *run)
{
    return other_policy(run, &rh_run_policy_restart);
}

static bool copies_in_memory(RhTrainingRun *run)
{
    return other_policy(run, &rh_run_policy_memory);
}

static bool fewer_replicas(RhTrainingRun *run)
{
    return other_policy(run, &rh_run_policy_shrink);
}

static bool replica_groups(RhTrainingRun *run)
{
    return other_policy(run, &rh_run_policy_groups);
}

/* A pool of so many nodes in place of one that never ends. */
static bool spares_of(RhTrainingRun *run, int32_t nodes)
{
    bool another = run->policy != &rh_run_policy_spares || run->hot_spares != nodes;
    run->policy = &rh_run_policy_spares;
    run->spares_endless = false;
    run->hot_spares = nodes;
    run->cold_spares = 0;
    return another && !run->spot;
}

static bool spares_1(RhTrainingRun *run)
{
    return spares_of(run, 1);
}

static bool spares_4(RhTrainingRun *run)
{
    return spares_of(run, 4);
}

static bool spares_16(RhTrainingRun *run)
{
    return spares_of(run, 16);
}

static bool slow_found(RhTrainingRun *run)
{
    bool unfound = run->slow_every_s > 0 && run->slow_found_s != SLOW_FOUND_S;
    run->slow_found_s = SLOW_FOUND_S;
    return unfound;
}

static bool no_stalls(RhTrainingRun *run)
{
    bool stalls = run->stall_every_s > 0;
    run->stall_every_s = 0;
    return stalls;
}

/* Rows that are not brief are for a whole list of changes. */
static const struct {
    const char *kind, *change, *cost;
    bool (*apply)(RhTrainingRun *run);
    bool brief;
    double storage_times;
} rows[] = {
    {"policy", "restart from storage (policy restart)", "a node at hand after each failure",
     restart, false, 0},
    {"policy", "copies of the state in other nodes' memory (policy memory)", "host memory",
     copies_in_memory, true, 0},
    {"policy", "fewer replicas meanwhile (policy shrink)", "nothing", fewer_replicas, false, 0},
    {"policy", "the other replicas go on while one restarts (policy groups)",
     "a framework whose replicas go on; steps with less than the batch", replica_groups, true, 0},
    {"interval", "the best interval", "nothing", best_interval, true, 0},
    {"interval", "half the interval", "nothing", half_the_interval, false, 0},
    {"interval", "twice the interval", "nothing", twice_the_interval, false, 0},
    {"spares", "twice the spares", "as many nodes more", twice_the_spares, true, 0},
    {"spares", "1 hot spare and repairs", "1 node idle", spares_1, false, 0},
    {"spares", "4 hot spares and repairs", "4 nodes idle", spares_4, false, 0},
    {"spares", "16 hot spares and repairs", "16 nodes idle", spares_16, false, 0},
    {"storage", "storage half as fast", "", storage_half, false, 0.5},
    {"storage", "storage twice as fast", "", storage_twice, false, 2},
    {"storage", "storage four times as fast", "", storage_four_times, true, 4},
    {"others", "failures detected in 1 min", "a heartbeat, or shorter time-outs", detected_soon,
     true, 0},
    {"others", "start-up in half the time", "", quick_start, true, 0},
    {"others", "slow GPUs found in 10 min and removed", "a monitor of steps", slow_found, true, 0},
    {"others", "no stalls", "", no_stalls, true, 0},
};

/* Replicates a run CHANGE_RUNS times; false when it makes no progress or time is over. */
static bool replicate(const RhTrainingRun *run, RhRunResult *out)
{
    RhTrainingRun few = *run;
    few.most = CHANGE_RUNS;
    few.least = CHANGE_RUNS - 1; /* or fewer of runs that are all alike */
    return rh_training_run_check(&few, NULL) && rh_run_replicate(&few, out, NULL) &&
           !out->timed_out;
}

/* A run and how it goes: `result` by as many replications as its interval needs, `few` by the
 * CHANGE_RUNS ones that each change is drawn with. A change's gain is taken from these, because the
 * means of more replications differ from theirs by more than a small change gains. */
typedef struct {
    const RhTrainingRun *run;
    const RhRunResult *result;
    RhRunResult few;
} Before;

/* Replicates the run with one row's change; false: it does not apply, or nothing is known of it. */
static bool try_row(const Before *before, size_t row, RhRunChange *out)
{
    const RhRunResult *result = before->result, *few = &before->few;
    RhTrainingRun changed = *before->run;
    RhRunResult r;
    if (changed.checkpoint.every_s <= 0 && rows[row].apply != best_interval)
        changed.checkpoint.every_s = result->every_s;
    if (!rows[row].apply(&changed) || !replicate(&changed, &r))
        return false;
    *out = (RhRunChange){.kind = rows[row].kind,
                         .change = rows[row].change,
                         .cost = rows[row].cost,
                         .ettr_frac = result->ettr_frac + r.ettr_frac - few->ettr_frac,
                         .goodput_frac = result->goodput_frac + r.goodput_frac - few->goodput_frac,
                         .time_s = result->time_s.mean + r.time_s.mean - few->time_s.mean,
                         .node_s = result->node_s + r.node_s - few->node_s,
                         .storage_times = rows[row].storage_times,
                         .copies_in_memory = rows[row].apply == copies_in_memory};
    return true;
}

static GArray *try_rows(const RhTrainingRun *run, const RhRunResult *result, bool brief)
{
    GArray *found = g_array_new(FALSE, FALSE, sizeof(RhRunChange));
    Before before = {.run = run, .result = result};
    RhTrainingRun as_it_is = *run;
    as_it_is.checkpoint.every_s = result->every_s;
    if (!replicate(&as_it_is, &before.few))
        return found;
    for (size_t i = 0; i < G_N_ELEMENTS(rows) && !rh_deadline_passed(run->deadline); i++) {
        RhRunChange one;
        if (brief && !rows[i].brief)
            continue;
        if (try_row(&before, i, &one) &&
            (!brief || one.goodput_frac > result->goodput_frac + GAIN_LEAST))
            g_array_append_val(found, one);
    }
    return found;
}

static int by_gain(const void *a, const void *b)
{
    double x = ((const RhRunChange *)a)->goodput_frac, y = ((const RhRunChange *)b)->goodput_frac;
    return x > y ? -1 : x < y ? 1 : 0;
}

GArray *rh_run_changes(const RhTrainingRun *run, const RhRunResult *result)
{
    GArray *found = try_rows(run, result, true);
    g_array_sort(found, by_gain);
    return found;
}

GArray *rh_run_changes_all(const RhTrainingRun *run, const RhRunResult *result)
{
    return try_rows(run, result, false);
}
