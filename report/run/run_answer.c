#include "report/run/run_answer.h"

#include <math.h>

#include "base/text/text_table.h"
#include "report/capacity/capacity.h"
#include "report/format.h"
#include "strategies/run/failure_rates.h"
#include "strategies/run/run_interval.h"
#include "strategies/run/run_state.h"

#define HOUR_S       3600.0
#define CHANGES_MOST 4
#define SIZES_MOST   6
#define SHOWN_FRAC   5e-5
#define REACHED_FRAC 0.99
#define DRAIN_TOLD   1.005 /* times as long as alone */

double rh_run_answer_gpu_hours(const RhRunAnswer *a, double time_s)
{
    return time_s / a->result->time_s.mean * a->result->node_s / HOUR_S * a->run->node_gpus;
}

double rh_run_answer_usd(const RhRunAnswer *a, double time_s)
{
    return a->usd_per_gpu_hour * rh_run_answer_gpu_hours(a, time_s);
}

bool rh_report_run_time_shown(const RhRunResult *r, RhRunTime part)
{
    return r->spent_s[part] >= SHOWN_FRAC * r->time_s.mean;
}

/* Appends how far the step's error bar moves the time, which percentiles over failures do not contain. */
static void append_step_error(GString *out, const RhRunAnswer *a)
{
    double mean_s = a->result->time_s.mean;
    g_autofree char *low = rh_report_duration(mean_s * (1 - a->error_frac)),
                    *high = rh_report_duration(mean_s * (1 + a->error_frac));
    if (a->error_frac > 0)
        g_string_append_printf(out, "  %s to %s by the error bar of a step, ±%.1f %%\n", low, high,
                               100 * a->error_frac);
}

static void append_answer(GString *out, const RhRunAnswer *a)
{
    const RhRunResult *r = a->result;
    g_autofree char *mean = rh_report_duration(r->time_s.mean),
                    *p10 = rh_report_duration(r->time_s.p10),
                    *p50 = rh_report_duration(r->time_s.p50),
                    *p90 = rh_report_duration(r->time_s.p90),
                    *work = rh_report_duration(a->run->work_s), *tokens = rh_text_tokens(a->tokens);
    g_string_append_printf(out, "%s for %s tokens: goodput %.1f %%\n", mean, tokens,
                           100 * r->goodput_frac);
    append_step_error(out, a);
    g_string_append_printf(
        out, "  random failures: p10 %s, p50 %s, p90 %s; %s without failures and checkpoints\n",
        p10, p50, p90, work);
    g_autofree char *hours = rh_text_large(rh_run_answer_gpu_hours(a, r->time_s.mean));
    if (a->usd_per_gpu_hour <= 0) {
        g_string_append_printf(out, "  %s GPU-hours (for a cost: --price 2.50USD)\n", hours);
        return;
    }
    g_autofree char *usd = rh_report_money(rh_run_answer_usd(a, r->time_s.mean)),
                    *low = rh_report_money(rh_run_answer_usd(a, r->time_s.p10)),
                    *high = rh_report_money(rh_run_answer_usd(a, r->time_s.p90));
    g_string_append_printf(out, "  %s (p10 %s, p90 %s), %s GPU-hours\n", usd, low, high, hours);
}

static void append_step(GString *out, const RhRunAnswer *a)
{
    g_autofree char *step = rh_quantity_format(a->step_s, RH_QUANTITY_S, 4),
                    *steps = rh_text_count((int64_t)a->steps),
                    *layout = a->layout ? rh_report_layout_title(a->q->c, a->layout) : NULL;
    g_autoptr(GString) line = g_string_new(NULL);
    g_string_append_printf(line, "step: %s; %s steps%s", step, steps, layout ? "" : " (given)");
    rh_text_wrap(out, line->str, 2, 79);
    g_autofree char *indented = layout ? g_strdup_printf("  %s", layout) : NULL;
    if (layout)
        rh_text_wrap(out, indented, 4, 79);
}

/* A row for each phase, where there are several. */
static void append_phases(GString *out, const RhRunAnswer *a)
{
    if (a->phases->len < 2)
        return;
    g_autoptr(RhTable) table = rh_table_new("<>>>>");
    rh_table_rowf(table, "phases|tokens|step|steps|without failures");
    for (guint i = 0; i < a->phases->len; i++) {
        const RhRunPhase *phase = &g_array_index(a->phases, RhRunPhase, i);
        g_autofree char *tokens = rh_text_tokens(phase->tokens),
                        *step = rh_quantity_format(phase->step_s, RH_QUANTITY_S, 4),
                        *steps = rh_text_count((int64_t)phase->steps),
                        *time = rh_report_duration(phase->work_s);
        g_autofree char *kept = phase->keep_frac < 1 ? g_strdup_printf(" (%.0f %% of the layers)",
                                                                       100 * phase->keep_frac)
                                                     : g_strdup("");
        rh_table_rowf(table, "  %d%s|%s|%s|%s|%s", (int)i + 1, kept, tokens, step, steps, time);
    }
    rh_table_append(table, out, "");
    g_string_append_c(out, '\n');
}

/* Layout of the quickest step on so many nodes; NULL: its own, with fewer replicas. */
static const RhElasticSize *size_of(const RhRunAnswer *a, int32_t nodes)
{
    const RhElasticSize *best = NULL;
    double own = rh_run_speed_frac_of_replicas(a->run, a->run->nodes_count - nodes);
    for (guint i = 0; i < a->sizes->len; i++) {
        const RhElasticSize *size = &g_array_index(a->sizes, RhElasticSize, i);
        if (size->nodes <= nodes && a->step_s / size->step_s > own) {
            own = a->step_s / size->step_s;
            best = size;
        }
    }
    return best;
}

/* A row for each number of nodes at which a job that shrinks changes its step. */
static void append_sizes(GString *out, const RhRunAnswer *a)
{
    if (!a->sizes)
        return;
    int32_t all = a->run->nodes_count, rows = 0;
    double last_s = a->step_s;
    g_autoptr(RhTable) table = rh_table_new("<>><");
    rh_table_rowf(table, "nodes left|used|step|layout");
    for (int32_t left = all - 1; left > 0 && rows < SIZES_MOST; left--) {
        const RhElasticSize *size = size_of(a, left);
        double step_s =
            size ? size->step_s : a->step_s / rh_run_speed_frac_of_replicas(a->run, all - left);
        if (fabs(step_s / last_s - 1) < 1e-9 || !isfinite(step_s))
            continue;
        g_autofree char *step = rh_quantity_format(step_s, RH_QUANTITY_S, 4),
                        *used = size ? g_strdup_printf("%d", size->nodes) : g_strdup(""),
                        *title = size ? rh_layout_title(&size->layout)
                                      : g_strdup("its own, with fewer replicas");
        g_auto(GStrv) words = g_strsplit(title, size ? "," : "|", 2);
        rh_table_rowf(table, "  %d|%s|%s|%s", left, used, step, words[0]);
        last_s = step_s;
        rows++;
    }
    rh_table_append(table, out, "");
    g_string_append_c(out, '\n');
}

static void append_times(GString *out, const RhRunAnswer *a)
{
    const RhRunResult *r = a->result;
    g_autoptr(RhTable) table = rh_table_new("<>>");
    rh_table_rowf(table, "where the time goes|time|share");
    for (int i = 0; i < RH_RUN_TIMES_LAST; i++) {
        if (!rh_report_run_time_shown(r, (RhRunTime)i))
            continue;
        g_autofree char *time = rh_report_duration(r->spent_s[i]);
        rh_table_rowf(table, "  %s|%s|%.1f %%", rh_run_time_name((RhRunTime)i), time,
                      100 * r->spent_s[i] / r->time_s.mean);
    }
    rh_table_append(table, out, "");
    if (a->run->hot_spares > 0)
        g_string_append_printf(
            out, "  idle spares: %d nodes, %.1f %% of the GPU time\n", a->run->hot_spares,
            100.0 * a->run->hot_spares / (a->run->nodes_count + a->run->hot_spares));
}

static void append_failures(GString *out, const RhRunAnswer *a)
{
    const RhRunResult *r = a->result;
    double count = fmax(r->failures.mean, 1e-9);
    g_autofree char *lost = rh_report_duration(r->spent_s[RH_RUN_LOST] / count),
                    *detect = rh_report_duration(r->spent_s[RH_RUN_DETECTION] / count),
                    *start = rh_report_duration(r->spent_s[RH_RUN_RESTART] / count),
                    *mtbf = rh_report_duration(a->run->mtbf_s);
    g_autoptr(GString) line = g_string_new(NULL);
    g_string_append_printf(
        line, "failures: %.*f in the mean of the drawn runs (p10 %.0f, p90 %.0f)",
        r->failures.mean < 9.95, r->failures.mean, r->failures.p10, r->failures.p90);
    if (a->rates_about)
        g_string_append_printf(line, ", expected every %s", mtbf);
    if (r->failures.mean > 0)
        g_string_append_printf(
            line, "; each loses %s of work, %s until it is noticed and %s for the restart", lost,
            detect, start);
    g_string_append_printf(line, "; policy \"%s\": %s; rates: %s", a->run->policy->name,
                           a->run->policy->about,
                           a->rates_about ? a->rates_about : "a trace of failures");
    rh_text_wrap(out, line->str, 2, 79);
}

/* Appends how long bytes are written in the background, and what that costs steps. */
static void append_drain(GString *line, const RhRunAnswer *a)
{
    const RhCheckpointTimes *c = &a->run->checkpoint;
    double times = fmax(a->checkpoint->drain_times, 1);
    g_autofree char *drain = rh_report_duration(c->drain_s),
                    *alone = rh_report_duration(c->drain_s / times);
    g_string_append_printf(line, ", then %s in the background", drain);
    if (times > DRAIN_TOLD)
        g_string_append_printf(line, " (%s without steps)", alone);
    g_string_append_printf(line, ", with steps %.1f %% slower%s", 100 * c->slow_frac,
                           a->checkpoint->drain_times > 0 ? " by its flows on the fabric" : "");
}

/* Appends the rate of which links leave less than the storage has. */
static void append_reached(GString *line, const RhRunAnswer *a)
{
    const RhCheckpointTimes *c = &a->run->checkpoint;
    double times = fmax(a->checkpoint->drain_times, 1);
    double reached = a->checkpoint->bytes / (c->drain_s > 0 ? c->drain_s / times : c->write_s);
    if (reached >= REACHED_FRAC * a->checkpoint->storage.bytes_per_s.value)
        return;
    g_autofree char *rate = rh_quantity_format(reached, RH_QUANTITY_BYTES_PER_S, 3);
    g_string_append_printf(line, ", of which the nodes' way to it leaves %s", rate);
}

static void append_checkpoint(GString *out, const RhRunAnswer *a)
{
    const RhRunResult *r = a->result;
    const RhCheckpointTimes *c = &a->run->checkpoint;
    g_autofree char *every = rh_report_duration(r->every_s),
                    *young = rh_report_duration(r->young_s), *daly = rh_report_duration(r->daly_s),
                    *write = rh_report_duration(c->write_s), *read = rh_report_duration(c->read_s);
    g_string_append_printf(out, "checkpoint: every %s of work%s (Young %s, Daly %s)\n", every,
                           c->every_s > 0 ? ""
                           : r->timed_out ? ", the best found"
                                          : ", the best",
                           young, daly);
    g_autoptr(GString) line = g_string_new("  ");
    if (a->checkpoint->bytes > 0) {
        g_autofree char *bytes = rh_quantity_format(a->checkpoint->bytes, RH_QUANTITY_BYTES, 3),
                        *rate = rh_quantity_format(a->checkpoint->storage.bytes_per_s.value,
                                                   RH_QUANTITY_BYTES_PER_S, 3);
        const RhFact *storage = &a->checkpoint->storage.bytes_per_s;
        bool assumed = storage->tag == RH_TAG_ASSUMED && !rh_fact_is_users(storage);
        g_string_append_printf(line, "%s at %s (%s%s%s)", bytes, rate, assumed ? "assumed: " : "",
                               storage->source,
                               assumed ? "; yours: --checkpoint storage=RATE" : "");
        append_reached(line, a);
        g_string_append(line, "; ");
    }
    g_string_append_printf(line, "stops the step for %s", write);
    if (c->drain_s > 0)
        append_drain(line, a);
    g_string_append_printf(line, "; read in %s", read);
    if (c->local_read_s > 0) {
        g_autofree char *local = rh_report_duration(c->local_read_s);
        g_string_append_printf(line, ", or in %s from the nodes' drives where no node left", local);
    }
    rh_text_wrap(out, line->str, 4, 79);
}

/* Appends what moving all machines while they run takes. */
static void append_moves(GString *out, const RhRunAnswer *a)
{
    if (a->run->moves.memory_bytes <= 0)
        return;
    RhMigrationTimes t = rh_live_migration(&a->run->moves);
    g_autofree char *moving = rh_report_duration(t.moving_s),
                    *stopped = rh_quantity_format(t.stopped_s, RH_QUANTITY_S, 3),
                    *sent = rh_quantity_format(t.sent_bytes, RH_QUANTITY_BYTES, 3),
                    *memory = rh_quantity_format(a->run->moves.memory_bytes, RH_QUANTITY_BYTES, 3);
    g_autofree char *line = g_strdup_printf(
        "maintenance: all machines are moved at once, each with %s of memory: %d round%s, %s sent "
        "in %s, of which %s stop the job; what the links and processors of a move cost steps is "
        "not counted",
        memory, t.rounds, t.rounds == 1 ? "" : "s", sent, moving, stopped);
    rh_text_wrap(out, line, 2, 79);
}

/* Appends what must be true for a goodput. */
static void append_goal(GString *out, const RhRunAnswer *a)
{
    double goal = a->goal_frac > 0 ? a->goal_frac : 0;
    if (goal <= 0 || !a->rates_about)
        return;
    double most_s = rh_interval_lost_most_s(a->run->mtbf_s, goal);
    const RhRunResult *r = a->result;
    double interval_s = r->every_s / 2 + a->run->checkpoint.write_s * a->run->mtbf_s / r->every_s;
    g_autofree char *most = rh_report_duration(most_s), *spent = rh_report_duration(interval_s),
                    *left = rh_report_duration(fmax(most_s - interval_s, 0));
    g_autofree char *line = g_strdup_printf(
        "for %.0f %% each failure may cost %s in all: lost work and checkpoints take %s at this "
        "interval, which leaves %s for detection and restart",
        100 * goal, most, spent, left);
    rh_text_wrap(out, line, 2, 79);
}

static void append_changes(GString *out, const RhRunAnswer *a)
{
    g_autoptr(GString) line =
        g_string_new("what would raise goodput (--policy NAME chooses a policy): ");
    for (guint i = 0; i < MIN(a->changes->len, CHANGES_MOST); i++) {
        const RhRunChange *one = &g_array_index(a->changes, RhRunChange, i);
        double less_s = a->result->time_s.mean - one->time_s;
        g_autofree char *less = rh_report_duration(less_s);
        g_string_append_printf(line, "%s%s: %.1f %%", i > 0 ? "; " : "", one->change,
                               100 * one->goodput_frac);
        if (less_s > 0)
            g_string_append_printf(line, " (%s less)", less);
    }
    if (a->changes->len == 0)
        g_string_append(line, a->changes_cut ? "" : "nothing that was tried");
    if (a->changes_cut)
        g_string_append_printf(line, "%snot all was tried before --timeout",
                               a->changes->len > 0 ? "; " : "");
    rh_text_wrap(out, line->str, 2, 79);
}

char *rh_report_run_over_time_text(const RhRunAnswer *a)
{
    GString *out = g_string_new(NULL);
    append_answer(out, a);
    rh_report_job(out, a->q);
    append_step(out, a);
    g_string_append_c(out, '\n');
    append_phases(out, a);
    append_sizes(out, a);
    append_times(out, a);
    g_string_append_c(out, '\n');
    append_failures(out, a);
    append_checkpoint(out, a);
    append_moves(out, a);
    if (a->result->exact_goodput_frac > 0)
        g_string_append_printf(
            out,
            "goodput: mean of %d drawn runs, ±%.2f %% (95 %% interval); in closed form %.1f %%\n",
            a->result->replications, 100 * a->result->half_frac,
            100 * a->result->exact_goodput_frac);
    else
        g_string_append_printf(out, "goodput: mean of %d drawn runs, ±%.2f %% (95 %% interval)\n",
                               a->result->replications, 100 * a->result->half_frac);
    if (a->result->timed_out)
        g_string_append(out, "  stopped by --timeout before all runs were drawn\n");
    append_goal(out, a);
    append_changes(out, a);
    rh_report_next(out, &(RhReportStyle){.saved_as = a->saved_as}, "run.json", "");
    return g_string_free(out, FALSE);
}
