#include "accuracy/cross_validation_errors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/garray_access.h"

const char *rh_stratum_name(RhStratum stratum)
{
    static const char *const names[RH_STRATUM_LAST] = {"all",
                                                       "launch flags known",
                                                       "launch flags defaulted",
                                                       "engine version known",
                                                       "engine version not known",
                                                       "speculation known",
                                                       "speculation not known",
                                                       "kernels measured",
                                                       "experts not measured"};
    return names[stratum];
}

static bool is_in(const RhEvidenceKey *like, RhStratum stratum)
{
    switch (stratum) {
    case RH_STRATUM_FLAGS_KNOWN:
        return !like->flags_defaulted;
    case RH_STRATUM_FLAGS_DEFAULTED:
        return like->flags_defaulted;
    case RH_STRATUM_VERSION_KNOWN:
        return !like->version_unknown;
    case RH_STRATUM_VERSION_UNKNOWN:
        return like->version_unknown;
    case RH_STRATUM_SPECULATION_KNOWN:
        return !like->speculation_unknown;
    case RH_STRATUM_SPECULATION_UNKNOWN:
        return like->speculation_unknown;
    case RH_STRATUM_TABLED:
        return !like->experts_untabled;
    case RH_STRATUM_UNTABLED:
        return like->experts_untabled;
    case RH_STRATUM_ALL:
    case RH_STRATUM_LAST:
        break;
    }
    return true;
}

static const RhEvaluatedRun *row_at(const RhEvaluation *evaluation, guint i)
{
    return &g_array_index(evaluation->rows, RhEvaluatedRun, i);
}

static bool counts(const RhEvaluatedRun *row)
{
    return row->cross_group && !row->skipped && row->standing == RH_STANDING_MEASURED &&
           row->measured_s > 0 && row->predicted_s > 0;
}

static const char *metric_of(const RhEvaluatedRun *row)
{
    return row->metric ? row->metric : "step_time";
}

const char **rh_group_errors_metrics(const RhEvaluation *evaluation)
{
    const char **metrics = g_new0(const char *, evaluation->rows->len + 1);
    for (guint i = 0, count = 0; i < evaluation->rows->len; i++)
        if (counts(row_at(evaluation, i)) &&
            !g_strv_contains(metrics, metric_of(row_at(evaluation, i))))
            metrics[count++] = metric_of(row_at(evaluation, i));
    return metrics;
}

/* --- groups --- */

typedef struct {
    const char *name;
    GArray *errors; /* double: |predicted / measured - 1| */
    double logs;    /* sum of |ln| */
    int32_t barred, within;
} Group;

static void group_clear(void *data)
{
    g_array_unref(((Group *)data)->errors);
}

static Group *group_of(GArray *groups, const char *name)
{
    for (guint i = 0; i < groups->len; i++)
        if (g_array_index(groups, Group, i).name == name)
            return &g_array_index(groups, Group, i);
    Group fresh = {.name = name, .errors = g_array_new(FALSE, FALSE, sizeof(double))};
    g_array_append_val(groups, fresh);
    return &g_array_index(groups, Group, groups->len - 1);
}

static int smaller(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* Sorts the values; NAN without any. */
static double median_of(GArray *values)
{
    guint n = values->len;
    if (n == 0)
        return (double)NAN;
    g_array_sort(values, smaller);
    const double *v = RH_ELEMENTS(values, double);
    return n % 2 ? v[n / 2] : 0.5 * (v[n / 2 - 1] + v[n / 2]);
}

static void sum_groups(GArray *groups, RhGroupErrors *out)
{
    g_autoptr(GArray) medians = g_array_new(FALSE, FALSE, sizeof(double));
    double covered = 0;
    for (guint i = 0; i < groups->len; i++) {
        Group *g = &g_array_index(groups, Group, i);
        double median = median_of(g->errors);
        g_array_append_val(medians, median);
        out->mean_frac += median / groups->len;
        out->mean_abs_log += g->logs / g->errors->len / groups->len;
        if (!out->worst || median > out->worst_frac) {
            out->worst = g->name;
            out->worst_frac = median;
        }
        out->barred_rows += g->barred;
        out->barred_groups += g->barred > 0;
        covered += g->barred > 0 ? (double)g->within / g->barred : 0;
    }
    out->groups = (int32_t)groups->len;
    out->median_frac = median_of(medians);
    out->coverage_frac = out->barred_groups > 0 ? covered / out->barred_groups : (double)NAN;
}

RhGroupErrors rh_group_errors(const RhEvaluation *evaluation, const char *metric, RhStratum stratum)
{
    RhGroupErrors out = {0};
    g_autoptr(GArray) groups = g_array_new(FALSE, FALSE, sizeof(Group));
    g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(double));
    g_array_set_clear_func(groups, group_clear);
    for (guint i = 0; i < evaluation->rows->len; i++) {
        const RhEvaluatedRun *row = row_at(evaluation, i);
        if (!counts(row) || strcmp(metric_of(row), metric ? metric : "step_time") != 0 ||
            !is_in(&row->like, stratum))
            continue;
        Group *g = group_of(groups, row->cross_group);
        double error = fabs(rh_evaluation_error_frac(row));
        g_array_append_val(g->errors, error);
        g_array_append_val(all, error);
        g->logs += fabs(log(row->predicted_s / row->measured_s));
        g->barred += row->bar_frac > 0;
        g->within +=
            row->bar_frac > 0 && fabs(row->measured_s / row->predicted_s - 1) <= row->bar_frac;
    }
    sum_groups(groups, &out);
    out.rows = (int32_t)all->len;
    out.row_median_frac = median_of(all);
    return out;
}

/* --- the quantile of a further group --- */

typedef struct {
    double error, weight;
} Weighted;

static int by_error(const void *a, const void *b)
{
    const Weighted *x = a, *y = b;
    return x->error < y->error ? -1 : x->error > y->error;
}

double rh_group_quantile(const double *errors, const char *const *groups, size_t count,
                         double share)
{
    g_autoptr(GHashTable) sizes = g_hash_table_new(NULL, NULL);
    g_autofree Weighted *list = g_new(Weighted, count + 1);
    for (size_t i = 0; i < count; i++) {
        guint size = GPOINTER_TO_UINT(g_hash_table_lookup(sizes, groups[i]));
        g_hash_table_insert(sizes, (void *)groups[i], GUINT_TO_POINTER(size + 1));
    }
    for (size_t i = 0; i < count; i++)
        list[i] =
            (Weighted){errors[i], 1.0 / GPOINTER_TO_UINT(g_hash_table_lookup(sizes, groups[i]))};
    guint all = g_hash_table_size(sizes);
    if (all < RH_GROUPS_LEAST)
        return (double)NAN;
    qsort(list, count, sizeof *list, by_error);
    double sum = 0, enough = fmin(share * (all + 1.0), all) * (1 - 1e-9);
    for (size_t i = 0; i < count; i++) {
        sum += list[i].weight;
        if (sum >= enough)
            return list[i].error;
    }
    return list[count - 1].error;
}
