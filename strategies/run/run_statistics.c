#include "strategies/run/run_statistics.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>

#include "base/error.h"
#include "base/units.h"
#include "strategies/run/run_interval.h"

#define GOODPUT_LEAST   1e-3 /* with less a run makes no progress */
#define GOODPUT_PATIENT 0.05
#define PATIENCE        20  /* times as long as in the mean */
#define ROUND           100 /* replications between two looks at the interval */
/* Runs of so many failures that a few say the mean four times as well as is asked end sooner: their p10 and
 * p90 are then known, too. */
#define EARLY_ROUND   25
#define EARLY_TIMES   4
#define FAILURES_SEEN 10 /* before the mean of runs that seldom fail is known */
#define Z_95          1.959963984540054
#define SEARCH_STEPS  24
/* Replications of each interval that a search tries: fewer where each has many failures, whose mean
 * is known as well from a few. */
#define SEARCH_RUNS       64
#define SEARCH_RUNS_LEAST 4
#define SEARCH_FAILURES   64000

/* Mean time between events that end the job: failures, and nodes that a trace takes away. */
static double mean_between_s(const RhTrainingRun *run)
{
    int32_t taken = 0;
    for (int32_t i = 0; i < run->spot_count; i++)
        taken += !run->spot[i].joins;
    double per_s = run->mtbf_s > 0 ? 1 / run->mtbf_s : 0;
    if (taken > 0)
        per_s += taken / fmax(run->spot[run->spot_count - 1].t_s, 1);
    return per_s > 0 ? 1 / per_s : 0;
}

static RhIntervalProblem interval_problem(const RhTrainingRun *run)
{
    return (RhIntervalProblem){.mtbf_s = mean_between_s(run),
                               .write_s = run->checkpoint.write_s,
                               .down_s = rh_run_down_s(run),
                               .restart_s = rh_run_restart_s(run)};
}

/* Does the closed form say what the simulation does? */
static bool is_closed(const RhTrainingRun *run)
{
    return run->law == RH_LAW_EXPONENTIAL && !run->policy->takes_spares && !run->policy->goes_on &&
           !run->policy->simulate && !run->spot && run->checkpoint.drain_s <= 0 &&
           run->missed_frac <= 0 && run->stop_every_s <= 0 && run->slow_every_s <= 0 &&
           run->stall_every_s <= 0;
}

/* Work and checkpoint must have time to be written: the shortest interval is that of the writing. */
static double least_every_s(const RhTrainingRun *run)
{
    const RhCheckpointTimes *c = &run->checkpoint;
    return fmax(c->drain_s * (1 - c->slow_frac) * 1.0001, run->work_s * 1e-9);
}

static void tell(const RhTrainingRun *run, const char *stage, int32_t done, int32_t total)
{
    if (run->progress)
        run->progress(stage, done, total, 0, NULL);
}

static int32_t search_runs_of(const RhTrainingRun *run, double every_s)
{
    double failures = (double)rh_run_simulate(run, every_s, 0).failures_count;
    return (int32_t)fmin(fmax(SEARCH_FAILURES / fmax(failures, 1), SEARCH_RUNS_LEAST), SEARCH_RUNS);
}

/* Mean of so many runs; HUGE_VAL where one makes no progress or is cut by the deadline. */
static double mean_time_s(const RhTrainingRun *run, double every_s, int32_t runs)
{
    double sum = 0;
    for (int32_t i = 0; i < runs; i++) {
        RhRunOutcome one = rh_run_simulate(run, every_s, i);
        tell(run, "searching the interval, run", i, runs);
        if (one.stuck || one.cut)
            return HUGE_VAL;
        sum += one.time_s;
    }
    return sum / runs;
}

/* Golden section in the logarithm of the interval, on the same failures for all. */
static double searched_every_s(const RhTrainingRun *run, double near_s)
{
    const double ratio = 0.6180339887498949;
    double least = least_every_s(run);
    double low = log(fmax(near_s / 16, least)),
           high = log(fmin(fmax(near_s * 16, least * 2), run->work_s));
    if (high <= low)
        return exp(low);
    double a = high - ratio * (high - low), b = low + ratio * (high - low);
    int32_t runs = search_runs_of(run, near_s);
    double at_a = mean_time_s(run, exp(a), runs), at_b = mean_time_s(run, exp(b), runs);
    for (int i = 0; i < SEARCH_STEPS && high - low > 0.02; i++) {
        if (at_a >= HUGE_VAL && at_b >= HUGE_VAL) /* no interval of these helps */
            return near_s;
        if (rh_deadline_passed(run->deadline))
            return exp(at_a <= at_b ? a : b);
        if (at_a <= at_b) {
            high = b;
            b = a;
            at_b = at_a;
            a = high - ratio * (high - low);
            at_a = mean_time_s(run, exp(a), runs);
        } else {
            low = a;
            a = b;
            at_a = at_b;
            b = low + ratio * (high - low);
            at_b = mean_time_s(run, exp(b), runs);
        }
    }
    return exp((low + high) / 2);
}

/* Time of a run with a checkpoint after each `every_s` of work, and at its end. */
static double time_every_s(const RhTrainingRun *run, double every_s)
{
    if (!is_closed(run))
        return mean_time_s(run, every_s, search_runs_of(run, every_s));
    RhIntervalProblem p = interval_problem(run);
    double times = 1 + run->jitter_frac, whole = floor(run->work_s / every_s * (1 + 1e-12));
    double rest_s = fmax(run->work_s - whole * every_s, 0);
    return whole * rh_interval_expected_s(&p, every_s * times) +
           (rest_s > 1e-9 * run->work_s ? rh_interval_expected_s(&p, rest_s * times) : 0);
}

/* Cuts the work into equal intervals near `every_s`, where that makes the run shorter: a short last
 * interval costs a checkpoint for little work. */
static double equal_parts_s(const RhTrainingRun *run, double every_s)
{
    double fewer = fmax(floor(run->work_s / every_s), 1), best_s = fmin(every_s, run->work_s);
    double least_s = time_every_s(run, best_s);
    for (double parts = fewer; parts <= fewer + 1; parts++) {
        double one_s = run->work_s / parts;
        double time_s = one_s < least_every_s(run) ? HUGE_VAL : time_every_s(run, one_s);
        if (time_s < least_s) {
            least_s = time_s;
            best_s = one_s;
        }
    }
    return best_s;
}

static double every_of(const RhTrainingRun *run, const RhRunResult *out)
{
    if (run->checkpoint.every_s > 0)
        return fmax(run->checkpoint.every_s, least_every_s(run));
    if (is_closed(run))
        return equal_parts_s(run, fmax(out->exact_s, least_every_s(run)));
    double near = isfinite(out->exact_s) && out->exact_s > 0 ? out->exact_s : run->work_s / 100;
    RhTrainingRun tried = *run;
    if (run->deadline.t_end_us) /* half of the time is left to the replications */
        tried.deadline = rh_deadline_in(fmax(rh_deadline_left_s(run->deadline) / 2, 1e-6));
    return equal_parts_s(&tried, searched_every_s(&tried, fmax(near, run->checkpoint.drain_s)));
}

static RhRunSpread spread_of(double *values, size_t count)
{
    RhRunSpread s = {.mean = gsl_stats_mean(values, 1, count)};
    gsl_sort(values, 1, count);
    s.p10 = gsl_stats_quantile_from_sorted_data(values, 1, count, 0.1);
    s.p50 = gsl_stats_quantile_from_sorted_data(values, 1, count, 0.5);
    s.p90 = gsl_stats_quantile_from_sorted_data(values, 1, count, 0.9);
    return s;
}

typedef struct {
    GArray *time_s, *ettr, *failures; /* double */
    double spent_s[RH_RUN_TIMES_LAST], node_s, paid;
    bool starved;
} Sample;

static void add_one(const RhTrainingRun *run, const RhRunOutcome *one, Sample *sample)
{
    double ettr = run->work_s / one->time_s, failures = (double)one->failures_count;
    g_array_append_val(sample->time_s, one->time_s);
    g_array_append_val(sample->ettr, ettr);
    g_array_append_val(sample->failures, failures);
    sample->node_s += one->node_s;
    sample->paid += one->paid;
    for (int k = 0; k < RH_RUN_TIMES_LAST; k++)
        sample->spent_s[k] += one->spent_s[k];
}

static double half_frac_of(const GArray *time_s)
{
    const double *values = (const double *)(const void *)time_s->data;
    double mean = gsl_stats_mean(values, 1, time_s->len);
    double sd = time_s->len > 1 ? gsl_stats_sd_m(values, 1, time_s->len, mean) : 0;
    return Z_95 * sd / sqrt(time_s->len) / mean;
}

static bool fail_stuck(const RhTrainingRun *run, double every_s, bool starved, GError **error)
{
    if (starved)
        return rh_fail(error, RH_ERROR_NO_ANSWER,
                       "the nodes that are there do not finish the run: they end with fewer than "
                       "the %d that %s\nhelp: less work, a longer trace, or a policy that goes on "
                       "with fewer",
                       run->policy->goes_on ? run->group_nodes : run->nodes_count,
                       run->policy->goes_on ? "a replica has" : "the job has");
    g_autofree char *mtbf = rh_quantity_format(run->mtbf_s, RH_QUANTITY_S, 3),
                    *every =
                        rh_quantity_format(every_s + run->checkpoint.write_s, RH_QUANTITY_S, 3),
                    *restart = rh_quantity_format(rh_run_restart_s(run), RH_QUANTITY_S, 3);
    return rh_fail(
        error, RH_ERROR_NO_ANSWER,
        "the run makes no progress: a failure every %s, and %s of work and its checkpoint, "
        "and a restart of %s, must each pass without one\n"
        "help: shorter checkpoints or restarts, fewer GPUs, or a policy that goes on "
        "with the nodes that are left",
        mtbf, every, restart);
}

static void conclude(const RhTrainingRun *run, Sample *sample, RhRunResult *out)
{
    guint count = sample->time_s->len;
    out->half_frac = half_frac_of(sample->time_s);
    GArray *drawn = g_array_copy(sample->time_s);
    out->time_s = spread_of((double *)(void *)sample->time_s->data, count);
    for (int i = 0; i < RH_RUN_QUANTILES; i++)
        out->times_s[i] =
            gsl_stats_quantile_from_sorted_data((const double *)(const void *)sample->time_s->data,
                                                1, count, (double)i / (RH_RUN_QUANTILES - 1));
    for (guint i = 0; i < count; i++)
        if (fabs(g_array_index(drawn, double, i) - out->time_s.p50) <
            fabs(g_array_index(drawn, double, (guint)out->middle) - out->time_s.p50))
            out->middle = (int32_t)i;
    g_array_unref(drawn);
    out->ettr = spread_of((double *)(void *)sample->ettr->data, count);
    out->failures = spread_of((double *)(void *)sample->failures->data, count);
    for (int k = 0; k < RH_RUN_TIMES_LAST; k++)
        out->spent_s[k] = sample->spent_s[k] / count;
    out->ettr_frac = run->work_s / out->time_s.mean;
    out->node_s = sample->node_s / count;
    out->usd_per_gpu_hour = sample->node_s > 0 ? sample->paid / sample->node_s : 0;
    out->goodput_frac = run->work_s * run->nodes_count / out->node_s;
    out->lost_each_s =
        out->failures.mean > 0 ? (out->time_s.mean - run->work_s) / out->failures.mean : 0;
    out->replications = (int32_t)count;
}

/* Is the mean known well enough after so many runs? */
static bool is_known(const RhTrainingRun *run, const Sample *sample, int32_t count)
{
    double seen =
        gsl_stats_mean((const double *)(const void *)sample->failures->data, 1, count) * count;
    bool seldom = run->mtbf_s > 0 && !run->trace && run->work_s / run->mtbf_s * run->most >= 1;
    if (run->least == run->most || (seldom && seen < FAILURES_SEEN))
        return false;
    if (count >= run->least)
        return count % ROUND == 0 && half_frac_of(sample->time_s) <= run->close_frac;
    return count % EARLY_ROUND == 0 &&
           EARLY_TIMES * half_frac_of(sample->time_s) <= run->close_frac;
}

/* Draws runs until their mean is known, the deadline passes or one makes no progress: false. */
static bool draw(const RhTrainingRun *run, Sample *sample, RhRunResult *out)
{
    for (int32_t i = 0; i < run->most; i++) {
        RhRunOutcome one = rh_run_simulate(run, out->every_s, i);
        tell(run, "drawing runs", i + 1, run->least == run->most ? run->most : 0);
        out->timed_out = one.cut;
        sample->starved = one.starved;
        if (one.stuck || one.cut)
            return !one.stuck;
        add_one(run, &one, sample);
        if (is_known(run, sample, i + 1))
            break;
    }
    return true;
}

bool rh_run_replicate(const RhTrainingRun *run, RhRunResult *result, GError **error)
{
    RhIntervalProblem p = interval_problem(run);
    double jitter =
        1 + run->jitter_frac; /* work between two checkpoints takes so many times as long */
    RhRunResult out = {.young_s = rh_interval_young_s(&p) / jitter,
                       .daly_s = rh_interval_daly_s(&p) / jitter,
                       .exact_s = rh_interval_best_s(&p) / jitter};
    out.every_s = fmin(every_of(run, &out), run->work_s);
    if (is_closed(run))
        out.exact_goodput_frac = rh_interval_goodput_frac(&p, out.every_s * jitter) / jitter;
    if (is_closed(run) && out.exact_goodput_frac < GOODPUT_LEAST)
        return fail_stuck(run, out.every_s, false, error);
    RhTrainingRun patient = *run; /* where it is known how long a run takes, it is awaited */
    if (is_closed(run) && out.exact_goodput_frac < GOODPUT_PATIENT)
        patient.patience_times = PATIENCE / out.exact_goodput_frac;
    out.exact_goodput_frac /= 1 + out.exact_goodput_frac * run->tuning_s / run->work_s;
    Sample sample = {.time_s = g_array_new(FALSE, FALSE, sizeof(double)),
                     .ettr = g_array_new(FALSE, FALSE, sizeof(double)),
                     .failures = g_array_new(FALSE, FALSE, sizeof(double))};
    bool moves = draw(&patient, &sample, &out), known = sample.time_s->len >= 2;
    if (moves && known)
        conclude(run, &sample, &out);
    g_array_unref(sample.time_s);
    g_array_unref(sample.ettr);
    g_array_unref(sample.failures);
    if (!moves)
        return fail_stuck(run, out.every_s, sample.starved, error);
    if (!known)
        return rh_fail(error, RH_ERROR_NO_ANSWER,
                       "two runs were not drawn in the time that was allowed\nhelp: more time");
    *result = out;
    return true;
}
