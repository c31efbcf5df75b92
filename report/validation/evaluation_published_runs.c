#include "report/validation/evaluation_published_runs.h"

#include <math.h>
#include <string.h>

#include "accuracy/error_bar_record.h"
#include "base/json/json.h"
#include "base/text/text_table.h"
#include "report/format.h"
#include "report/json/json_common.h"

#define WORST_ROWS   5
#define REASONS_MOST 4
#define NAME_MOST    26 /* columns for the name of a group */
#define ROWS_MOST    8  /* of a group's table in text */

/* Returns the unit of a metric; metrics that are not listed are times. */
static const char *unit_of(const char *metric)
{
    static const struct {
        const char *metric, *unit;
    } units[] = {{"throughput", "tokens/s"},
                 {"rate_in_limits", "requests/s"},
                 {"cache_tokens", "tokens"},
                 {"cache_bytes", "B"},
                 {"exchange_rate", "B/s"}};
    for (size_t i = 0; metric && i < G_N_ELEMENTS(units); i++)
        if (strcmp(units[i].metric, metric) == 0)
            return units[i].unit;
    return "s";
}

static const RhEvaluatedRun *row_at(const RhEvaluation *evaluation, guint i)
{
    return &g_array_index(evaluation->rows, RhEvaluatedRun, i);
}

/* Text of a fraction: "4.5", or "-" where there is none. Caller frees. */
static char *percent(double frac)
{
    return isfinite(frac) ? g_strdup_printf("%.1f", 100 * frac) : g_strdup("-");
}

/* --- text --- */

static guint late_count(const RhEvaluation *evaluation)
{
    guint count = 0;
    for (guint i = 0; i < evaluation->rows->len; i++)
        count += rh_evaluation_late(row_at(evaluation, i));
    return count;
}

/* Does the evaluation hold figures other than step times? */
static bool has_metrics(const RhEvaluation *evaluation)
{
    for (guint i = 0; i < evaluation->rows->len; i++)
        if (row_at(evaluation, i)->metric)
            return true;
    return false;
}

/* Appends how many runs were predicted at all: "runs: 1,035 published runs, all of them predicted". */
static void append_said(GString *out, const RhEvaluation *evaluation, guint said, guint reached)
{
    g_autofree char *some = rh_text_count(said), *all = rh_text_count(reached);
    const char *late = reached < evaluation->rows->len ? " reached" : "";
    g_autofree char *where =
        evaluation->shipped ? g_strdup("") : g_strdup_printf(" of %s", evaluation->file);
    const char *what = evaluation->shipped ? "published runs" : "runs";
    RhEvaluationFigures f = rh_evaluation_figures(evaluation, RH_EVALUATION_BY_LAST, NULL);
    int32_t out_of_memory = f.failed_and_refused + f.failed_but_fits;
    g_autofree char *kinds =
        out_of_memory > 0 ? g_strdup_printf(" (%d ran, %d ran out of memory)",
                                            f.ran_and_fits + f.ran_but_refused, out_of_memory)
                          : g_strdup("");
    if (said == reached)
        g_string_append_printf(out, "runs: %s %s%s%s%s, all of them predicted\n", all, what, where,
                               late, kinds);
    else
        g_string_append_printf(out, "runs: %s %s%s%s%s, %s of them predicted\n", all, what, where,
                               late, kinds, some);
}

/* Appends how well layouts of one job were compared with each other. */
static void append_ranking(GString *out, const RhEvaluationFigures *all)
{
    if (all->rivals_count == 0)
        return;
    g_autofree char *pairs = rh_text_count(all->pairs_count);
    g_autofree char *line = g_strdup_printf(
        "choosing among layouts (%d jobs, each run in several): the predicted best is slower than "
        "the measured best by %.1f %% in the mean, %.1f %% at most; Kendall tau %.2f; the ratio of "
        "two layouts' times is off by at most %.1f %% for %.0f %% of %s pairs",
        all->rivals_count, 100 * all->regret_frac, 100 * all->regret_worst_frac, all->kendall_tau,
        100 * all->pairs_error_frac, 100 * RH_RECORD_SHARE, pairs);
    rh_text_wrap(out, line, 2, 79);
}

/* Appends the errors of all runs with a measured time. */
static void append_figures(GString *out, const char *what, const RhErrorStatistics *f)
{
    const char *sign = strcmp(what, "figures") == 0 ? "predicted too low" : "predicted too fast";
    g_autofree char *line = g_strdup_printf(
        "median error %.1f %% over %d measured %s; mean %.1f %%, 90th percentile %.1f %%, worst "
        "%.0f %%, bias %+.1f %% (negative: %s)",
        100 * f->median_abs_error_frac, f->count, what, 100 * f->mape_frac,
        100 * f->p90_abs_error_frac, 100 * f->worst_abs_error_frac, rh_percent_tenths(f->bias_frac),
        sign);
    rh_text_wrap(out, line, 2, 79);
}

static void append_answer(GString *out, const RhEvaluation *evaluation,
                          const RhEvaluationFigures *all)
{
    const RhErrorStatistics *f = &all->figures;
    guint rows = evaluation->rows->len, late = late_count(evaluation), reached = rows - late,
          said = rows;
    for (guint i = 0; i < rows; i++)
        said -= row_at(evaluation, i)->skipped != NULL;
    if (late > 0)
        g_string_append_printf(out, "stopped by --timeout: %u of %u runs were not reached\n", late,
                               rows);
    if (f->count > 0)
        append_figures(out, has_metrics(evaluation) ? "figures" : "step times", f);
    else
        g_string_append(out, "no measured time could be compared\n");
    append_said(out, evaluation, said, reached);
    append_ranking(out, all);
}

static void append_group(RhTable *table, const RhEvaluationFigures *f, bool verbose)
{
    g_autofree char *tau =
        f->rivals_count ? g_strdup_printf("%.2f", f->kendall_tau) : g_strdup("-");
    g_autofree char *regret = percent(f->regret_frac);
    g_autofree char *name =
        g_utf8_substring(f->name, 0, MIN(NAME_MOST, g_utf8_strlen(f->name, -1)));
    g_autofree char *ranking = verbose ? g_strdup_printf("|%s|%s", tau, regret) : g_strdup("");
    if (f->figures.count > 0)
        rh_table_rowf(table, "%s|%d|%.1f|%.1f|%.1f|%.0f|%+.1f%s", name, f->figures.count,
                      100 * f->figures.median_abs_error_frac, 100 * f->figures.mape_frac,
                      100 * f->figures.p90_abs_error_frac, 100 * f->figures.worst_abs_error_frac,
                      rh_percent_tenths(f->figures.bias_frac), ranking);
}

static int larger(const void *a, const void *b)
{
    const RhEvaluationFigures *x = a, *y = b;
    return x->figures.count != y->figures.count ? (x->figures.count < y->figures.count ? 1 : -1)
                                                : strcmp(x->name, y->name);
}

/* Groups with steps, the largest first where not all are shown. */
static GArray *groups_of(const RhEvaluation *evaluation, RhEvaluationGroup by, bool by_size)
{
    GArray *groups = g_array_new(FALSE, FALSE, sizeof(RhEvaluationFigures));
    g_autofree const char **names = rh_evaluation_groups(evaluation, by);
    for (const char **name = names; *name; name++) {
        RhEvaluationFigures f = rh_evaluation_figures(evaluation, by, *name);
        g_array_append_val(groups, f);
    }
    if (by_size)
        g_array_sort(groups, larger);
    if (by == RH_EVALUATION_BY_METRIC && groups->len == 1) /* one group need not be named */
        g_array_set_size(groups, 0);
    return groups;
}

/* Names a kind of groups for the head of their table. */
static const char *group_text(RhEvaluationGroup by)
{
    return by == RH_EVALUATION_BY_PART    ? "use"
           : by == RH_EVALUATION_BY_TABLE ? "source"
                                          : rh_evaluation_by_name(by);
}

#define SHOWN_SHORT 6 /* kinds of groups, where not all are shown */

/* Was a run predicted with a setup near its own? */
static bool has_nearest(const RhEvaluation *evaluation)
{
    for (guint i = 0; i < evaluation->rows->len; i++)
        if (row_at(evaluation, i)->stands_in && !row_at(evaluation, i)->skipped)
            return true;
    return false;
}

/* Appends how many runs the groups have that are not shown. */
static void append_rest(RhTable *table, const GArray *groups, guint shown)
{
    int32_t runs = 0;
    for (guint k = shown; k < groups->len; k++)
        runs += g_array_index(groups, RhEvaluationFigures, k).figures.count;
    if (runs > 0)
        rh_table_rowf(table, "%u more (-v)|%d|-|-|-|-|-", groups->len - shown, runs);
}

static void append_groups(GString *out, const RhEvaluation *evaluation, bool verbose)
{
    static const RhEvaluationGroup shown[] = {RH_EVALUATION_BY_PART,     RH_EVALUATION_BY_METRIC,
                                              RH_EVALUATION_BY_EVIDENCE, RH_EVALUATION_BY_GROUP,
                                              RH_EVALUATION_BY_TABLE,    RH_EVALUATION_BY_DEVICE,
                                              RH_EVALUATION_BY_FAMILY,   RH_EVALUATION_BY_STACK};
    size_t count = verbose ? G_N_ELEMENTS(shown) : SHOWN_SHORT;
    g_autoptr(RhTable) table = rh_table_new("<>>>>>>>>");
    for (size_t i = 0; i < count; i++) {
        g_autoptr(GArray) groups = groups_of(evaluation, shown[i], i > 0);
        if (groups->len > 0)
            rh_table_rowf(table, "error in %% by %s|runs|median|mean|90th|worst|bias%s",
                          group_text(shown[i]), verbose ? "|tau|regret" : "");
        bool whole = verbose || shown[i] == RH_EVALUATION_BY_GROUP;
        guint rows = whole || groups->len <= ROWS_MOST + 1 ? groups->len : ROWS_MOST;
        for (guint k = 0; k < rows; k++)
            append_group(table, &g_array_index(groups, RhEvaluationFigures, k), verbose);
        append_rest(table, groups, rows);
    }
    rh_table_append(table, out, "");
    if (has_nearest(evaluation))
        rh_text_wrap(out,
                     "held out: no constant was fitted to these runs; setup known: their "
                     "publication says all that their time depends on, and all of it is modelled; "
                     "setup assumed: a setting is not said or not modelled, and the closest one "
                     "was simulated",
                     2, 79);
    if (verbose)
        g_string_append(out, "tau: Kendall's, of layouts of one job; regret: how much slower the "
                             "predicted best is\n");
}

static int by_error(const void *a, const void *b)
{
    const RhEvaluatedRun *x = *(const RhEvaluatedRun *const *)a,
                         *y = *(const RhEvaluatedRun *const *)b;
    double p = fabs(rh_evaluation_error_frac(x)), q = fabs(rh_evaluation_error_frac(y));
    return p < q ? 1 : p > q ? -1 : x->line - y->line;
}

static void append_worst(GString *out, const RhEvaluation *evaluation, bool verbose)
{
    g_autoptr(GPtrArray) rows = g_ptr_array_new();
    g_autoptr(RhTable) table = rh_table_new(">>>><");
    for (guint i = 0; i < evaluation->rows->len; i++)
        if (!row_at(evaluation, i)->skipped && row_at(evaluation, i)->measured_s > 0)
            g_ptr_array_add(rows, (void *)row_at(evaluation, i));
    if (rows->len == 0)
        return;
    g_ptr_array_sort(rows, by_error);
    rh_table_rowf(table, "file:line|measured|predicted|error|%s", "run");
    for (guint i = 0; i < rows->len && (verbose || i < WORST_ROWS); i++) {
        const RhEvaluatedRun *r = g_ptr_array_index(rows, i);
        const char *place = evaluation->shipped ? r->id : strrchr(r->id, ':') + 1;
        bool whole = verbose || !evaluation->shipped;
        g_autofree char *cut = g_strdup_printf("%s %s%s%.*s", r->model, r->device, whole ? " " : "",
                                               verbose ? 60 : 24, whole ? r->strategy : "");
        const char *unit = unit_of(r->metric);
        rh_table_rowf(table, "%s|%.4g %s|%.4g %s|%+.1f %%|%s", place, r->measured_s, unit,
                      r->predicted_s, unit, 100 * rh_evaluation_error_frac(r), cut);
    }
    g_string_append(out, verbose ? "runs, worst first\n" : "largest errors\n");
    rh_table_append(table, out, "");
}

static void append_memory(GString *out, const RhEvaluationFigures *all)
{
    int32_t ran = all->ran_and_fits + all->ran_but_refused,
            failed = all->failed_and_refused + all->failed_but_fits;
    g_autoptr(GString) line = g_string_new("memory: ");
    if (ran)
        g_string_append_printf(line, "%d of %d runs that ran were predicted to fit",
                               all->ran_and_fits, ran);
    if (failed)
        g_string_append_printf(line, "%s%d of %d that ran out of memory were predicted not to",
                               ran ? ", " : "", all->failed_and_refused, failed);
    if (isfinite(all->oom_auc))
        g_string_append_printf(line, " (area under the ROC curve %.3f)", all->oom_auc);
    if (ran || failed)
        rh_text_wrap(out, line->str, 2, 79);
}

static double peak_error_frac(const RhEvaluatedRun *row)
{
    return rh_evaluation_peak_bytes(row) / row->measured_peak_bytes - 1;
}

static void append_peaks(GString *out, const RhEvaluation *evaluation,
                         const RhEvaluationFigures *all)
{
    const RhErrorStatistics *f = &all->peaks;
    if (f->count == 0)
        return;
    const RhEvaluatedRun *worst = row_at(evaluation, (guint)f->worst);
    g_autofree char *line = g_strdup_printf(
        "peak memory: median error %.1f %% over %d measured runs; mean %.1f %%, 90th percentile "
        "%.1f %%, bias %+.1f %%, worst %+.1f %% (%s)",
        100 * f->median_abs_error_frac, f->count, 100 * f->mape_frac, 100 * f->p90_abs_error_frac,
        rh_percent_tenths(f->bias_frac), 100 * peak_error_frac(worst), worst->id);
    rh_text_wrap(out, line, 2, 79);
}

typedef struct {
    const char *why; /* borrowed */
    int32_t count, line;
} Reason;

static int commoner(const void *a, const void *b)
{
    const Reason *x = a, *y = b;
    return x->count != y->count ? y->count - x->count : x->line - y->line;
}

static void append_skipped(GString *out, const RhEvaluation *evaluation, bool verbose)
{
    g_autoptr(GArray) reasons = g_array_new(FALSE, FALSE, sizeof(Reason));
    for (guint i = 0; i < evaluation->rows->len; i++) {
        const RhEvaluatedRun *row = row_at(evaluation, i);
        guint k = 0;
        if (!row->skipped || rh_evaluation_late(row)) /* those are reported first */
            continue;
        while (k < reasons->len && strcmp(g_array_index(reasons, Reason, k).why, row->skipped))
            k++;
        Reason fresh = {row->skipped, 0, row->line};
        if (k == reasons->len)
            g_array_append_val(reasons, fresh);
        g_array_index(reasons, Reason, k).count++;
    }
    g_array_sort(reasons, commoner);
    for (guint i = 0; i < reasons->len && (verbose || i < REASONS_MOST); i++) {
        const Reason *r = &g_array_index(reasons, Reason, i);
        g_string_append_printf(out, "skipped: %d (line %d): %s\n", r->count, r->line, r->why);
    }
    if (!verbose && reasons->len > REASONS_MOST)
        g_string_append_printf(out, "skipped: for %u more reasons, see -v\n",
                               reasons->len - REASONS_MOST);
}

char *rh_report_evaluation_text(const RhEvaluation *evaluation, const RhRecord *record,
                                bool verbose)
{
    GString *out = g_string_new(NULL);
    RhEvaluationFigures all = rh_evaluation_figures(evaluation, RH_EVALUATION_BY_LAST, NULL);
    append_answer(out, evaluation, &all);
    append_memory(out, &all);
    append_peaks(out, evaluation, &all);
    rh_report_evaluation_coverage(out, evaluation, record, verbose);
    g_string_append_c(out, '\n');
    rh_report_cross(out, evaluation);
    if (all.figures.count > 0) {
        append_groups(out, evaluation, verbose);
        g_string_append_c(out, '\n');
    }
    append_worst(out, evaluation, verbose);
    append_skipped(out, evaluation, verbose);
    for (guint i = 0; i < evaluation->notes->len; i++) {
        g_autofree char *note = g_strconcat("note: ", evaluation->notes->pdata[i], NULL);
        rh_text_wrap(out, note, 2, 79);
    }
    return g_string_free(out, FALSE);
}

/* --- JSON --- */

static void put_case(RhJsonWriter *w, const RhEvaluatedRun *row)
{
    static const char *const standings[RH_STANDING_LAST] = {"measured", "from memory", "computed"};
    bool said = row->skipped == NULL, timed = said && row->measured_s > 0;
    rh_json_begin_object(w, NULL);
    rh_json_put_string(w, "id", row->id);
    rh_json_put_string(w, "source", row->source);
    const char *metric = row->metric ? row->metric : "step_time";
    rh_json_put_string(w, "metric", said && row->failed ? "oom" : metric);
    rh_put_or_null(w, "measured", row->measured_s, timed);
    rh_put_or_null(w, "predicted", row->predicted_s, timed);
    rh_json_put_string(w, "unit", unit_of(metric));
    rh_put_or_null(w, "error_frac", timed ? rh_evaluation_error_frac(row) : 0, timed);
    if (said && row->capacity_bytes > 0)
        rh_json_put_bool(w, "fits", rh_evaluation_fits(row));
    else
        rh_json_put_null(w, "fits");
    rh_json_put_string(w, "skipped", row->skipped);
    rh_json_put_int(w, "line", row->line);
    rh_json_put_string(w, "model", row->model);
    rh_json_put_string(w, "device", row->device);
    rh_json_put_string(w, "family", row->family);
    rh_json_put_string(w, "strategy", row->strategy);
    rh_json_put_string(w, "stack", row->stack);
    rh_json_put_string(w, "standing", standings[row->standing]);
    rh_json_put_bool(w, "fitted", row->fitted);
    rh_json_put_string(w, "stands_in", row->stands_in);
    if (row->cross_group)
        rh_json_put_string(w, "cross_group", row->cross_group);
    rh_put_or_null(w, "bar_frac", row->bar_frac, row->bar_frac > 0);
    rh_put_or_null(w, "memory_peak_bytes", row->peak_bytes, said && row->peak_bytes > 0);
    bool peaked = said && row->measured_peak_bytes > 0 && row->peak_bytes > 0;
    rh_put_or_null(w, "memory_peak_measured_bytes", row->measured_peak_bytes, peaked);
    rh_put_or_null(w, "memory_peak_counted_bytes", rh_evaluation_peak_bytes(row), peaked);
    rh_put_or_null(w, "memory_peak_error_frac", peaked ? peak_error_frac(row) : 0, peaked);
    rh_put_or_null(w, "memory_capacity_bytes", row->capacity_bytes,
                   said && row->capacity_bytes > 0);
    rh_json_end_object(w);
}

static void put_figures(RhJsonWriter *w, const RhEvaluationFigures *f)
{
    bool any = f->figures.count > 0;
    rh_json_put_int(w, "count", f->figures.count);
    rh_json_put_int(w, "skipped_count", f->skipped_count);
    rh_put_or_null(w, "median_abs_error_frac", f->figures.median_abs_error_frac, any);
    rh_put_or_null(w, "mape_frac", f->figures.mape_frac, any);
    rh_put_or_null(w, "p90_abs_error_frac", f->figures.p90_abs_error_frac, any);
    rh_put_or_null(w, "worst_abs_error_frac", f->figures.worst_abs_error_frac, any);
    rh_put_or_null(w, "bias_frac", f->figures.bias_frac, any);
    rh_put_or_null(w, "kendall_tau", f->kendall_tau, f->rivals_count > 0);
    rh_put_or_null(w, "regret_frac", f->regret_frac, f->rivals_count > 0);
    rh_put_or_null(w, "regret_worst_frac", f->regret_worst_frac, f->rivals_count > 0);
    rh_put_or_null(w, "pairs_error_frac", f->pairs_error_frac, f->pairs_count > 0);
    rh_json_put_int(w, "pairs_count", f->pairs_count);
    rh_json_put_int(w, "rivals_count", f->rivals_count);
    rh_json_put_int(w, "barred_count", f->barred_count);
    rh_json_put_int(w, "within_bar_count", f->within_count);
    rh_json_begin_object(w, "oom");
    rh_json_put_int(w, "ran_and_fits", f->ran_and_fits);
    rh_json_put_int(w, "ran_but_refused", f->ran_but_refused);
    rh_json_put_int(w, "failed_and_refused", f->failed_and_refused);
    rh_json_put_int(w, "failed_but_fits", f->failed_but_fits);
    rh_put_or_null(w, "auc", f->oom_auc, true);
    rh_json_end_object(w);
}

static void put_peaks(RhJsonWriter *w, const RhErrorStatistics *f)
{
    bool any = f->count > 0;
    rh_json_begin_object(w, "memory_peaks");
    rh_json_put_int(w, "count", f->count);
    rh_put_or_null(w, "median_abs_error_frac", f->median_abs_error_frac, any);
    rh_put_or_null(w, "mape_frac", f->mape_frac, any);
    rh_put_or_null(w, "p90_abs_error_frac", f->p90_abs_error_frac, any);
    rh_put_or_null(w, "worst_abs_error_frac", f->worst_abs_error_frac, any);
    rh_put_or_null(w, "bias_frac", f->bias_frac, any);
    rh_json_end_object(w);
}

static void put_groups(RhJsonWriter *w, const RhEvaluation *evaluation)
{
    rh_json_begin_array(w, "groups");
    for (int by = 0; by < RH_EVALUATION_BY_LAST; by++) {
        g_autoptr(GArray) groups = groups_of(evaluation, (RhEvaluationGroup)by, false);
        for (guint i = 0; i < groups->len; i++) {
            const RhEvaluationFigures *f = &g_array_index(groups, RhEvaluationFigures, i);
            rh_json_begin_object(w, NULL);
            rh_json_put_string(w, "by", rh_evaluation_by_name((RhEvaluationGroup)by));
            rh_json_put_string(w, "name", f->name);
            put_figures(w, f);
            rh_json_end_object(w);
        }
    }
    rh_json_end_array(w);
}

static void put_texts(RhJsonWriter *w, const char *key, const GPtrArray *texts)
{
    rh_json_begin_array(w, key);
    for (guint i = 0; texts && i < texts->len; i++)
        rh_json_put_string(w, NULL, g_ptr_array_index(texts, i));
    rh_json_end_array(w);
}

char *rh_report_evaluation_json(const RhEvaluation *evaluation, const GPtrArray *missed)
{
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
    RhEvaluationFigures all = rh_evaluation_figures(evaluation, RH_EVALUATION_BY_LAST, NULL);
    rh_json_begin_object(w, NULL);
    rh_json_put_string(w, "schema", "rehearse.validate/1");
    rh_json_put_string(w, "version", RH_VERSION);
    rh_json_put_string(w, "suite", evaluation->file);
    rh_json_begin_array(w, "cases");
    for (guint i = 0; i < evaluation->rows->len; i++)
        put_case(w, row_at(evaluation, i));
    rh_json_end_array(w);
    rh_json_put_int(w, "not_reached_count", late_count(evaluation));
    put_figures(w, &all);
    put_peaks(w, &all.peaks);
    put_groups(w, evaluation);
    rh_put_cross(w, evaluation);
    put_texts(w, "missed", missed);
    put_texts(w, "notes", evaluation->notes);
    rh_json_end_object(w);
    return rh_json_writer_steal(w);
}

/* --- Markdown --- */

char *rh_report_evaluation_markdown(const RhEvaluation *evaluation)
{
    GString *out = g_string_new(NULL);
    RhEvaluationFigures all = rh_evaluation_figures(evaluation, RH_EVALUATION_BY_LAST, NULL);
    g_autofree char *name = g_path_get_basename(evaluation->file);
    if (evaluation->shipped)
        g_string_append(out, "`rehearse validate`\n\n");
    else
        g_string_append_printf(out, "`rehearse validate --cases %s`\n\n", name);
    append_answer(out, evaluation, &all);
    g_string_append(
        out,
        "\n| | steps | median | mean | 90th | worst | bias |\n|---|--:|--:|--:|--:|--:|--:|\n");
    for (int by = RH_EVALUATION_BY_PART; by <= (int)RH_EVALUATION_BY_TABLE; by++) {
        g_autoptr(GArray) groups = groups_of(evaluation, (RhEvaluationGroup)by, by > 0);
        for (guint i = 0; i < groups->len; i++) {
            const RhEvaluationFigures *f = &g_array_index(groups, RhEvaluationFigures, i);
            if (f->figures.count > 0)
                g_string_append_printf(
                    out, "| %s | %d | %.1f %% | %.1f %% | %.1f %% | %.0f %% | %+.1f %% |\n",
                    f->name, f->figures.count, 100 * f->figures.median_abs_error_frac,
                    100 * f->figures.mape_frac, 100 * f->figures.p90_abs_error_frac,
                    100 * f->figures.worst_abs_error_frac, rh_percent_tenths(f->figures.bias_frac));
        }
    }
    g_string_append_c(out, '\n');
    append_memory(out, &all);
    append_peaks(out, evaluation, &all);
    return g_string_free(out, FALSE);
}
