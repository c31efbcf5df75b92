#include "accuracy/evaluation.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <math.h>
#include <string.h>

#include "accuracy/error_bar_record.h"
#include "base/garray_access.h"
#include "base/interned_strings.h"

#define RIVALS_LEAST 4 /* rows of a comparison of ranks: docs/guide/cli.md */

static void row_clear(void *data)
{
    RhEvaluatedRun *row = data;
    g_free(row->id);
    g_free(row->stands_in);
    g_free(row->skipped);
}

RhEvaluation *rh_evaluation_new(const char *file)
{
    RhEvaluation *evaluation = g_new0(RhEvaluation, 1);
    evaluation->file = g_strdup(file);
    evaluation->rows = g_array_new(FALSE, TRUE, sizeof(RhEvaluatedRun));
    g_array_set_clear_func(evaluation->rows, row_clear);
    evaluation->notes = g_ptr_array_new_with_free_func(g_free);
    return evaluation;
}

void rh_evaluation_free(RhEvaluation *evaluation)
{
    if (!evaluation)
        return;
    g_array_unref(evaluation->rows);
    g_ptr_array_unref(evaluation->notes);
    g_free(evaluation->file);
    g_free(evaluation);
}

static const RhEvaluatedRun *row_at(const RhEvaluation *evaluation, guint i)
{
    return &g_array_index(evaluation->rows, RhEvaluatedRun, i);
}

const char *rh_evaluation_by_name(RhEvaluationGroup by)
{
    static const char *const names[RH_EVALUATION_BY_LAST] = {
        "part", "metric", "evidence", "group", "table", "source", "device", "family", "stack"};
    return names[by];
}

/* --- groups --- */

/* Returns the part of the table that a row belongs to. */
static const char *part_of(const RhEvaluatedRun *row)
{
    static const char *const weaker[RH_STANDING_LAST] = {NULL, "from memory", "computed"};
    if (weaker[row->standing])
        return weaker[row->standing];
    if (row->fitted)
        return "used for fitting";
    return row->stands_in ? "held out, setup assumed" : "held out, setup known";
}

/* Group of a row by evidence: devices and versions of an engine that some constant was fitted to,
 * and others, metric by metric. */
static const char *evidence_of(const RhEvaluatedRun *row)
{
    if (!row->metric)
        return NULL;
    g_autofree char *text =
        g_strdup_printf("%s, %s", row->metric, row->fitted ? "used for fitting" : "held out");
    return rh_intern(text);
}

static const char *group_of(const RhEvaluatedRun *row, RhEvaluationGroup by)
{
    const char *names[RH_EVALUATION_BY_LAST] = {
        part_of(row),     row->metric ? row->metric : "step_time",
        evidence_of(row), row->group,
        row->table,       row->source,
        row->device,      row->family,
        row->stack};
    return names[by];
}

const char **rh_evaluation_groups(const RhEvaluation *evaluation, RhEvaluationGroup by)
{
    const char **groups = g_new0(const char *, evaluation->rows->len + 1);
    for (guint i = 0, count = 0; i < evaluation->rows->len; i++) {
        const char *name = group_of(row_at(evaluation, i), by);
        if (name && !g_strv_contains(groups, name))
            groups[count++] = name;
    }
    return groups;
}

/* Does a row belong to a group? Rows of weaker sources count only where they are asked for. */
static bool belongs(const RhEvaluatedRun *row, RhEvaluationGroup by, const char *name)
{
    const char *group = by == RH_EVALUATION_BY_LAST ? NULL : group_of(row, by);
    if (by != RH_EVALUATION_BY_LAST && (!group || strcmp(group, name) != 0))
        return false;
    return by == RH_EVALUATION_BY_PART || row->standing == RH_STANDING_MEASURED;
}

/* --- ranks --- */

/* Rows of one job that were run in several layouts. */
typedef struct {
    const char *rivals;
    GArray *measured, *predicted; /* double */
} Contest;

static void contest_clear(void *data)
{
    Contest *c = data;
    g_array_unref(c->measured);
    g_array_unref(c->predicted);
}

static Contest *contest_of(GArray *contests, const char *rivals)
{
    for (guint i = 0; i < contests->len; i++)
        if (g_array_index(contests, Contest, i).rivals == rivals)
            return &g_array_index(contests, Contest, i);
    Contest fresh = {rivals, g_array_new(FALSE, FALSE, sizeof(double)),
                     g_array_new(FALSE, FALSE, sizeof(double))};
    g_array_append_val(contests, fresh);
    return &g_array_index(contests, Contest, contests->len - 1);
}

/* Appends the error of each pair's predicted ratio of times: 0.1 where it is 1.1 or 1 / 1.1 of the measured one. */
static void add_pairs(GArray *errors, const double *measured, const double *predicted, guint count)
{
    for (guint i = 0; i < count; i++)
        for (guint k = 0; k < i; k++) {
            double off = predicted[i] / predicted[k] * measured[k] / measured[i];
            double error = fmax(off, 1 / off) - 1;
            g_array_append_val(errors, error);
        }
}

static double share_within(GArray *errors)
{
    double *values = RH_ELEMENTS(errors, double);
    gsl_sort(values, 1, errors->len);
    return errors->len
               ? gsl_stats_quantile_from_sorted_data(values, 1, errors->len, RH_RECORD_SHARE)
               : (double)NAN;
}

static void rank(const GArray *contests, RhEvaluationFigures *f)
{
    g_autoptr(GArray) pairs = g_array_new(FALSE, FALSE, sizeof(double));
    double tau = 0, regret = 0;
    for (guint i = 0; i < contests->len; i++) {
        const Contest *c = &g_array_index(contests, Contest, i);
        const double *measured = RH_ELEMENTS(c->measured, double),
                     *predicted = RH_ELEMENTS(c->predicted, double);
        if (c->measured->len < RIVALS_LEAST)
            continue;
        double lost = rh_regret_frac(measured, predicted, c->measured->len);
        tau += rh_kendall_tau(measured, predicted, c->measured->len);
        regret += lost;
        f->regret_worst_frac = f->rivals_count == 0 ? lost : fmax(f->regret_worst_frac, lost);
        f->rivals_count++;
        add_pairs(pairs, measured, predicted, c->measured->len);
    }
    f->pairs_count = (int32_t)pairs->len;
    f->pairs_error_frac = share_within(pairs);
    f->kendall_tau = f->rivals_count ? tau / f->rivals_count : (double)NAN;
    f->regret_frac = f->rivals_count ? regret / f->rivals_count : (double)NAN;
    if (f->rivals_count == 0)
        f->regret_worst_frac = (double)NAN;
}

/* --- memory --- */

/* Area under the ROC curve, by the rank sum of Mann and Whitney: ties count half. */
static double auc_of(const GArray *ran, const GArray *failed)
{
    double sum = 0;
    for (guint i = 0; i < failed->len; i++)
        for (guint k = 0; k < ran->len; k++) {
            double a = g_array_index(failed, double, i), b = g_array_index(ran, double, k);
            sum += a > b ? 1 : a < b ? 0 : 0.5;
        }
    return ran->len && failed->len ? sum / ran->len / failed->len : (double)NAN;
}

static void judge_memory(const RhEvaluatedRun *row, GArray *ran, GArray *failed,
                         RhEvaluationFigures *f)
{
    double share = row->peak_bytes / row->capacity_bytes;
    bool fits = rh_evaluation_fits(row);
    int32_t *cell = row->failed ? (fits ? &f->failed_but_fits : &f->failed_and_refused)
                                : (fits ? &f->ran_and_fits : &f->ran_but_refused);
    (*cell)++;
    g_array_append_val(*(row->failed ? &failed : &ran), share);
}

static RhErrorStatistics peaks_of(const RhEvaluation *evaluation, RhEvaluationGroup by,
                                  const char *name)
{
    g_autofree double *measured = g_new(double, evaluation->rows->len + 1);
    g_autofree double *predicted = g_new(double, evaluation->rows->len + 1);
    g_autofree guint *places = g_new(guint, evaluation->rows->len + 1);
    size_t count = 0;
    for (guint i = 0; i < evaluation->rows->len; i++) {
        const RhEvaluatedRun *row = row_at(evaluation, i);
        if (!belongs(row, by, name) || row->skipped || row->measured_peak_bytes <= 0 ||
            row->peak_bytes <= 0)
            continue;
        places[count] = i;
        measured[count] = row->measured_peak_bytes;
        predicted[count++] = rh_evaluation_peak_bytes(row);
    }
    RhErrorStatistics peaks = rh_error_statistics(measured, predicted, count);
    if (peaks.worst >= 0)
        peaks.worst = (int32_t)places[peaks.worst];
    return peaks;
}

RhEvaluationFigures rh_evaluation_figures(const RhEvaluation *evaluation, RhEvaluationGroup by,
                                          const char *name)
{
    RhEvaluationFigures f = {.name = name};
    g_autoptr(GArray) contests = g_array_new(FALSE, FALSE, sizeof(Contest));
    g_autoptr(GArray) ran = g_array_new(FALSE, FALSE, sizeof(double));
    g_autoptr(GArray) failed = g_array_new(FALSE, FALSE, sizeof(double));
    g_autofree double *measured = g_new(double, evaluation->rows->len + 1);
    g_autofree double *predicted = g_new(double, evaluation->rows->len + 1);
    g_autofree guint *places = g_new(guint, evaluation->rows->len + 1);
    size_t count = 0;
    g_array_set_clear_func(contests, contest_clear);
    for (guint i = 0; i < evaluation->rows->len; i++) {
        const RhEvaluatedRun *row = row_at(evaluation, i);
        if (!belongs(row, by, name))
            continue;
        f.skipped_count += row->skipped != NULL;
        if (row->skipped)
            continue;
        if (row->capacity_bytes > 0)
            judge_memory(row, ran, failed, &f);
        if (row->measured_s <= 0 || row->predicted_s <= 0)
            continue;
        f.barred_count += row->bar_frac > 0;
        f.within_count +=
            row->bar_frac > 0 && fabs(row->measured_s / row->predicted_s - 1) <= row->bar_frac;
        if (row->rivals) {
            Contest *contest = contest_of(contests, row->rivals);
            g_array_append_val(contest->measured, row->measured_s);
            g_array_append_val(contest->predicted, row->predicted_s);
        }
        places[count] = i;
        measured[count] = row->measured_s;
        predicted[count++] = row->predicted_s;
    }
    f.figures = rh_error_statistics(measured, predicted, count);
    if (f.figures.worst >= 0)
        f.figures.worst = (int32_t)places[f.figures.worst];
    rank(contests, &f);
    f.oom_auc = auc_of(ran, failed);
    f.peaks = peaks_of(evaluation, by, name);
    return f;
}
