#include "validate/serving/served_vs_predicted.h"

#include <math.h>
#include <string.h>

#include "accuracy/error_bar_record.h"
#include "base/interned_strings.h"
#include "strategies/search/error_bar_key.h"
#include "validate/serving/served_cross_validation.h"
#include "validate/serving/served_row_conflicts.h"
#include "validate/serving/served_row_predict.h"

typedef struct {
    const char *metric;
    size_t measured; /* offset in RhCaseRow */
    size_t predicted;
} Metric;

static const Metric metrics[] = {
    {"ttft", offsetof(RhCaseRow, ttft_s), offsetof(RhServedPrediction, ttft_s)},
    {"tpot", offsetof(RhCaseRow, tpot_s), offsetof(RhServedPrediction, tpot_s)},
#define PERCENTILE(name, times, i)                                                                 \
    {                                                                                              \
        name, offsetof(RhCaseRow, times) + (i) * sizeof(double),                                   \
            offsetof(RhServedPrediction, times) + (i) * sizeof(double)                             \
    }
    PERCENTILE("ttft_p50", ttft_percentiles_s, 0),
    PERCENTILE("ttft_p90", ttft_percentiles_s, 1),
    PERCENTILE("ttft_p99", ttft_percentiles_s, 2),
    PERCENTILE("ttft_p99.9", ttft_percentiles_s, 3),
    PERCENTILE("tpot_p50", tpot_percentiles_s, 0),
    PERCENTILE("tpot_p90", tpot_percentiles_s, 1),
    PERCENTILE("tpot_p99", tpot_percentiles_s, 2),
    PERCENTILE("tpot_p99.9", tpot_percentiles_s, 3),
    {"rate_in_limits", offsetof(RhCaseRow, rate_in_limits_per_s),
     offsetof(RhServedPrediction, rate_in_limits_per_s)},
    {"throughput", offsetof(RhCaseRow, tokens_per_s), offsetof(RhServedPrediction, tokens_per_s)},
};

static double at_offset(const void *base, size_t offset)
{
    return *(const double *)(const void *)((const char *)base + offset);
}

/* Table of a row: runs of one model, one server and one device, by metric. */
static const char *table_of(const RhCaseRow *row, const RhServedCase *c, const Metric *metric)
{
    const char *model = strrchr(row->text[RH_CASE_MODEL], '/');
    g_autofree char *text =
        g_strjoin(" ", metric->metric, c->deployment.pools_count > 1 ? "disaggregated" : "mixed",
                  c->table ? c->table
                  : model  ? model + 1
                           : row->text[RH_CASE_MODEL],
                  c->serving.server ? c->serving.server->name : "?", row->text[RH_CASE_GPU],
                  row->text[RH_CASE_PRECISION], NULL);
    return rh_intern(text);
}

/* Returns the group of an acceptance threshold: dense models by size, others by kind, two pools
 * separately, per device generation. */
static const char *group_of(const RhEvidenceKey *like, const Metric *metric)
{
    g_autofree char *size = strcmp(like->kind, "dense") == 0
                                ? g_strdup_printf(" %.0fB", like->params / 1e9)
                                : g_strdup("");
    g_autofree char *text = g_strdup_printf(
        "%s %s%s %s", metric->metric, like->apart ? "two pools" : like->kind,
        like->apart ? "" : size, like->generation ? like->generation : like->device);
    return rh_intern(text);
}

static RhEvaluatedRun judged_row(const RhCaseRow *row, const RhServedCase *c, const Metric *metric)
{
    return (RhEvaluatedRun){.id = g_strdup_printf("%s:%d", row->file, row->line),
                            .line = row->line,
                            .metric = metric->metric,
                            .source = rh_intern(row->text[RH_CASE_SOURCE]),
                            .table = table_of(row, c, metric),
                            .model = rh_intern(row->text[RH_CASE_MODEL]),
                            .device = rh_intern(row->text[RH_CASE_GPU]),
                            .standing = c->standing,
                            .fitted = c->fitted != NULL,
                            .measured_s = at_offset(row, metric->measured)};
}

/* Sets the row's stratum: how much is known of how it was run, and of its kernels. */
static void set_stratum(RhEvaluatedRun *r, const RhServedRun *run)
{
    r->like.starved = run->p.starved;
    r->like.experts_untabled = run->p.untabled_frac > RH_UNTABLED_FRAC;
    r->like.flags_defaulted = !run->c.flags_known;
    r->like.version_unknown = !run->c.version_known;
    r->like.speculation_unknown = !run->c.speculation_known;
}

static void add_rows(RhEvaluation *evaluation, const RhServedRun *run)
{
    const RhCaseRow *row = run->row;
    const RhServedCase *c = &run->c;
    const RhServedPrediction *p = &run->p;
    int32_t added = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(metrics); i++) {
        RhEvaluatedRun r;
        if (at_offset(row, metrics[i].measured) <= 0 &&
            !(added == 0 && i + 1 == G_N_ELEMENTS(metrics)))
            continue;
        r = judged_row(row, c, &metrics[i]);
        added++;
        r.cross_group = run->cross_group;
        r.fitted = r.fitted && !r.cross_group;
        r.skipped = g_strdup(run->why            ? run->why
                             : r.measured_s <= 0 ? "nothing was measured"
                                                 : NULL);
        if (!r.skipped) {
            r.family = c->serving.model->family;
            r.strategy = c->strategy;
            r.stack = c->serving.server->name;
            r.platform = c->serving.platform->name;
            r.stands_in = g_strdup(c->stands_in);
            r.like = rh_evidence_key_of_service(&c->serving, &c->deployment, NULL);
            set_stratum(&r, run);
            r.group = group_of(&r.like, &metrics[i]);
            r.predicted_s = at_offset(p, metrics[i].predicted);
            r.peak_bytes = p->peak_bytes;
            r.capacity_bytes = p->capacity_bytes;
        }
        g_array_append_val(evaluation->rows, r);
    }
}

static GArray *runs_of(const RhCaseTable *table, const RhCasesOptions *options,
                       RhServedTranslator *translator, const RhServedSetups *setups)
{
    GArray *runs = g_array_new(FALSE, TRUE, sizeof(RhServedRun));
    g_array_set_clear_func(runs, rh_served_run_clear);
    for (guint i = 0; i < table->rows->len; i++) {
        RhServedRun run = {.row = &g_array_index(table->rows, RhCaseRow, i)};
        if (!rh_case_wanted(run.row, options->only))
            continue;
        rh_served_run_translate(translator, setups, &run);
        g_array_append_val(runs, run);
    }
    return runs;
}

/* --- how many rows can be said --- */

#define REASONS_MOST 6
#define REASON_MOST  70 /* bytes of a reason */

typedef struct {
    const char *why; /* interned, without its numbers */
    int32_t count;
} Reason;

static gint more_first(gconstpointer a, gconstpointer b)
{
    const Reason *x = a, *y = b;
    return x->count > y->count ? -1 : x->count < y->count ? 1 : strcmp(x->why, y->why);
}

/* Counts a reason, without the place in brackets behind it; those that differ by numbers alone are
 * one. */
static void count_reason(GArray *reasons, const char *why)
{
    g_autoptr(GString) text = g_string_new(NULL);
    const char *at = why;
    for (; *at && !g_str_has_prefix(at, " (") && text->len < REASON_MOST; at++)
        if (!g_ascii_isdigit(*at))
            g_string_append_c(text, *at);
        else if (text->len == 0 || text->str[text->len - 1] != '#')
            g_string_append_c(text, '#');
    if (text->len >= REASON_MOST) { /* whole words */
        const char *last = strrchr(text->str, ' ');
        g_string_truncate(text, last ? (gsize)(last - text->str) : 0);
        g_string_append(text, " ...");
    }
    const char *plain = rh_intern(text->str);
    for (guint i = 0; i < reasons->len; i++)
        if (g_array_index(reasons, Reason, i).why == plain) {
            g_array_index(reasons, Reason, i).count++;
            return;
        }
    Reason reason = {plain, 1};
    g_array_append_val(reasons, reason);
}

/* Notes how many rows are predicted, of those that do not repeat another's figures, and why others
 * are not. */
static void note_said(RhEvaluation *evaluation, const GArray *runs, const RhServedSetups *setups)
{
    int32_t said = 0, distinct = 0;
    g_autoptr(GArray) reasons = g_array_new(FALSE, FALSE, sizeof(Reason));
    for (guint i = 0; i < runs->len; i++) {
        const RhServedRun *run = &g_array_index(runs, RhServedRun, i);
        g_autofree char *repeats = rh_served_repeats(setups, run->row);
        if (repeats)
            continue;
        distinct++;
        said += run->why == NULL;
        if (run->why)
            count_reason(reasons, run->why);
    }
    if (said == distinct)
        return;
    g_array_sort(reasons, more_first);
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_append_printf(text, "said: %d of %d distinct rows (%.0f %%); not said: ", said,
                           distinct, 100.0 * said / distinct);
    for (guint i = 0; i < MIN(reasons->len, REASONS_MOST); i++)
        g_string_append_printf(text, "%s%d %s", i ? "; " : "",
                               g_array_index(reasons, Reason, i).count,
                               g_array_index(reasons, Reason, i).why);
    g_ptr_array_add(evaluation->notes, g_string_free(g_steal_pointer(&text), FALSE));
}

RhEvaluation *rh_served_judge(const RhCaseTable *table, const RhCasesOptions *options,
                              GError **error)
{
    g_autoptr(RhServedTranslator) translator = rh_served_translator_new(error);
    if (!translator)
        return NULL;
    RhDeadline deadline = rh_deadline_in(options->timeout_s);
    RhEvaluation *evaluation = rh_evaluation_new(table->name);
    evaluation->crossed = options->cross != RH_CROSS_NONE;
    g_autoptr(RhServedSetups) setups = rh_served_setups_new(table);
    g_autoptr(GArray) runs = runs_of(table, options, translator, setups);
    g_autoptr(RhServedCross) cross =
        options->cross ? rh_served_cross(runs, translator, setups, options, deadline) : NULL;
    rh_served_runs_predict(runs, options, deadline);
    for (guint i = 0; i < runs->len; i++)
        add_rows(evaluation, &g_array_index(runs, RhServedRun, i));
    note_said(evaluation, runs, setups);
    if (cross) {
        rh_record_hold_out_groups(evaluation);
        rh_served_cross_note(cross, evaluation);
    }
    return evaluation;
}
