/* Formats the errors of a cross-validation. */
#include <math.h>
#include <string.h>

#include "accuracy/cross_validation_errors.h"
#include "base/text/text_table.h"
#include "report/json/json_common.h"
#include "report/validation/evaluation_published_runs.h"

static void append_errors(RhTable *table, const char *name, const RhGroupErrors *e)
{
    g_autofree char *coverage = isfinite(e->coverage_frac)
                                    ? g_strdup_printf("%.0f %%", 100 * e->coverage_frac)
                                    : g_strdup("-");
    rh_table_rowf(table, "%s|%d|%d|%.1f|%.1f|%.0f|%.1f|%.2f|%s", name, e->groups, e->rows,
                  100 * e->median_frac, 100 * e->mean_frac, 100 * e->worst_frac,
                  100 * e->row_median_frac, e->mean_abs_log, coverage);
}

/* Appends a metric: all its runs, then the strata that part them. */
static void append_metric(RhTable *table, const RhEvaluation *evaluation, const char *metric)
{
    RhGroupErrors all = rh_group_errors(evaluation, metric, RH_STRATUM_ALL);
    append_errors(table, metric, &all);
    for (int s = RH_STRATUM_ALL + 1; s < RH_STRATUM_LAST; s++) {
        RhGroupErrors e = rh_group_errors(evaluation, metric, (RhStratum)s);
        g_autofree char *name = g_strdup_printf("  %s", rh_stratum_name((RhStratum)s));
        if (e.rows > 0 && e.rows < all.rows)
            append_errors(table, name, &e);
    }
}

void rh_report_cross(GString *out, const RhEvaluation *evaluation)
{
    g_autofree const char **metrics = rh_group_errors_metrics(evaluation);
    g_autoptr(RhTable) table = rh_table_new("<>>>>>>>>");
    if (!metrics[0])
        return;
    g_string_append(out,
                    "Each group of runs predicted without what was chosen or fitted on it, in %:\n"
                    "median, mean and worst of the groups' median errors, median of all runs,\n"
                    "mean of |ln(predicted / measured)|, runs within their error bar\n");
    rh_table_rowf(table, "metric|groups|runs|median|mean|worst|of runs|ln|in bar");
    for (int i = 0; metrics[i]; i++)
        append_metric(table, evaluation, metrics[i]);
    rh_table_append(table, out, "");
    for (int i = 0; metrics[i]; i++) {
        RhGroupErrors e = rh_group_errors(evaluation, metrics[i], RH_STRATUM_ALL);
        g_string_append_printf(out, "worst group of %s: %s, %.0f %%\n", metrics[i], e.worst,
                               100 * e.worst_frac);
    }
    g_string_append_c(out, '\n');
}

void rh_put_cross(RhJsonWriter *w, const RhEvaluation *evaluation)
{
    g_autofree const char **metrics = rh_group_errors_metrics(evaluation);
    if (!metrics[0])
        return;
    rh_json_begin_array(w, "cross");
    for (int i = 0; metrics[i]; i++) {
        RhGroupErrors all = rh_group_errors(evaluation, metrics[i], RH_STRATUM_ALL);
        for (int s = RH_STRATUM_ALL; s < RH_STRATUM_LAST; s++) {
            RhGroupErrors e = rh_group_errors(evaluation, metrics[i], (RhStratum)s);
            if (e.rows == 0 || (s != RH_STRATUM_ALL && e.rows == all.rows))
                continue;
            rh_json_begin_object(w, NULL);
            rh_json_put_string(w, "metric", metrics[i]);
            rh_json_put_string(w, "stratum", rh_stratum_name((RhStratum)s));
            rh_json_put_int(w, "groups_count", e.groups);
            rh_json_put_int(w, "runs_count", e.rows);
            rh_json_put_number(w, "median_of_groups_frac", e.median_frac);
            rh_json_put_number(w, "mean_of_groups_frac", e.mean_frac);
            rh_json_put_number(w, "worst_of_groups_frac", e.worst_frac);
            rh_json_put_string(w, "worst_group", e.worst);
            rh_json_put_number(w, "median_of_runs_frac", e.row_median_frac);
            rh_json_put_number(w, "mean_abs_log", e.mean_abs_log);
            rh_put_or_null(w, "coverage_frac", e.coverage_frac, isfinite(e.coverage_frac));
            rh_json_end_object(w);
        }
    }
    rh_json_end_array(w);
}
