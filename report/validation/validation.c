#include "report/validation/validation.h"

#include <math.h>
#include <string.h>

#include "base/json/json.h"
#include "base/text/text_table.h"
#include "report/json/json_common.h"

#define WORST_ROWS 3

static const RhValidationCase *case_at(const RhValidation *v, guint i)
{
    return &g_array_index(v->cases, RhValidationCase, i);
}

/* --- text --- */

static void append_answer(GString *out, const RhValidation *v)
{
    RhValidationFigures all = rh_validation_figures(v, NULL);
    if (all.count == 0)
        g_string_append_printf(out, "%s: nothing was measured, %d cases skipped\n", v->suite,
                               all.skipped_count);
    else
        g_string_append_printf(
            out, "%s: mean error %.1f %%, worst %.1f %%, %d of %d cases measured; %s\n", v->suite,
            100 * all.mape_frac, 100 * all.worst_abs_error_frac, all.count,
            all.count + all.skipped_count,
            v->missed->len == 0 ? "every bar is met" : "not every bar is met");
}

/* Cells of every control that predicted something: " | 9.4 %"; of the names when `f` is NULL. */
static char *control_cells(const RhValidation *v, const RhValidationFigures *f, const char *between)
{
    RhValidationFigures all = rh_validation_figures(v, NULL);
    GString *out = g_string_new(NULL);
    for (int k = 0; k < RH_CONTROL_LAST; k++) {
        if (isnan(all.control_mape_frac[k]))
            continue;
        g_string_append(out, between);
        if (!f)
            g_string_append(out, rh_control_name((RhControl)k));
        else if (!isnan(f->control_mape_frac[k]))
            g_string_append_printf(out, "%.1f %%", 100 * f->control_mape_frac[k]);
    }
    return g_string_free(out, FALSE);
}

static void append_groups(GString *out, const RhValidation *v)
{
    g_autoptr(RhTable) table = rh_table_new("<>>>>>>>>>");
    g_autofree const char **groups = rh_validation_groups(v);
    g_autofree char *names = control_cells(v, NULL, "|");
    rh_table_rowf(table, "|cases|mean|median|worst|bias|starts%s", names);
    for (const char **group = groups; *group; group++) {
        RhValidationFigures f = rh_validation_figures(v, *group);
        g_autofree char *starts = f.start_error_frac < 0
                                      ? g_strdup("-")
                                      : g_strdup_printf("%.1f %%", 100 * f.start_error_frac);
        g_autofree char *controls = control_cells(v, &f, "|");
        if (f.count > 0)
            rh_table_rowf(table, "%s|%d|%.1f %%|%.1f %%|%.1f %%|%+.1f %%|%s%s", *group, f.count,
                          100 * f.mape_frac, 100 * f.median_abs_error_frac,
                          100 * f.worst_abs_error_frac, rh_percent_tenths(f.bias_frac), starts,
                          controls);
    }
    rh_table_append(table, out, "");
    RhValidationFigures layouts = rh_validation_figures(v, "layout");
    if (layouts.count >= 3)
        g_string_append_printf(out,
                               "ranking the layouts: Spearman %.3f, Kendall %.3f; the pick loses "
                               "%.1f %%\n",
                               layouts.spearman, layouts.kendall, 100 * layouts.regret_frac);
}

static int by_error(const void *a, const void *b)
{
    const RhValidationCase *x = *(const RhValidationCase *const *)a,
                           *y = *(const RhValidationCase *const *)b;
    double p = fabs(rh_validation_error_frac(x)), q = fabs(rh_validation_error_frac(y));
    return p < q ? 1 : p > q ? -1 : strcmp(x->id, y->id);
}

/* The evaluated cases of a group, worst first. */
static GPtrArray *worst_first(const RhValidation *v, const char *group)
{
    GPtrArray *cases = g_ptr_array_new();
    for (guint i = 0; i < v->cases->len; i++)
        if (!case_at(v, i)->skipped && !case_at(v, i)->outcome &&
            strcmp(case_at(v, i)->group, group) == 0)
            g_ptr_array_add(cases, (void *)case_at(v, i));
    g_ptr_array_sort(cases, by_error);
    return cases;
}

static void append_cases(GString *out, const RhValidation *v, bool verbose)
{
    g_autoptr(RhTable) table = rh_table_new("<<>>>>");
    g_autofree const char **groups = rh_validation_groups(v);
    rh_table_rowf(table, "%s||measured|predicted|error|spread",
                  verbose ? "cases, worst first" : "the worst");
    for (const char **group = groups; *group; group++) {
        g_autoptr(GPtrArray) cases = worst_first(v, *group);
        for (guint i = 0; i < cases->len && (verbose || i < WORST_ROWS); i++) {
            const RhValidationCase *c = g_ptr_array_index(cases, i);
            rh_table_rowf(table, "%s|%s|%.1f ms|%.1f ms|%+.1f %%|%.1f %%", i ? "" : *group, c->id,
                          1e3 * c->measured, 1e3 * c->predicted,
                          rh_percent_tenths(rh_validation_error_frac(c)), 100 * c->spread_frac);
        }
    }
    rh_table_append(table, out, "");
}

/* Appends cases that end otherwise than by finishing. */
static void append_outcomes(GString *out, const RhValidation *v)
{
    for (guint i = 0; i < v->cases->len; i++)
        if (case_at(v, i)->outcome)
            g_string_append_printf(out, "%s: %s\n", case_at(v, i)->id, case_at(v, i)->outcome);
}

/* Appends the times of the MPI library's own collectives. */
static void append_library(GString *out, const RhValidation *v)
{
    g_autoptr(RhTable) table = rh_table_new("<>>");
    bool any = false;
    rh_table_rowf(table, "the library's own collectives|these|its own");
    for (guint i = 0; i < v->cases->len; i++) {
        const RhValidationCase *c = case_at(v, i);
        if (c->skipped || c->library_s <= 0)
            continue;
        any = true;
        rh_table_rowf(table, "%s|%.1f ms|%.1f ms", c->id, 1e3 * c->measured, 1e3 * c->library_s);
    }
    if (!any)
        return;
    rh_table_append(table, out, "");
    g_string_append_c(out, '\n');
}

static void append_list(GString *out, const char *what, const GPtrArray *texts)
{
    for (guint i = 0; i < texts->len; i++)
        g_string_append_printf(out, "%s: %s\n", what, (const char *)g_ptr_array_index(texts, i));
}

char *rh_report_validation_text(const RhValidation *v, bool verbose)
{
    GString *out = g_string_new(NULL);
    append_answer(out, v);
    if (rh_validation_figures(v, NULL).count > 0) {
        g_string_append_c(out, '\n');
        append_groups(out, v);
        g_string_append_c(out, '\n');
        append_cases(out, v, verbose);
        g_string_append_c(out, '\n');
        append_library(out, v);
    }
    append_outcomes(out, v);
    append_list(out, "missed", v->missed);
    append_list(out, "note", v->notes);
    if (v->made_on)
        g_string_append_printf(out, "made on: %s; %d real launches\n", v->made_on,
                               v->launches_count);
    return g_string_free(out, FALSE);
}

/* --- JSON --- */

static const char *const control_keys[RH_CONTROL_LAST] = {"fluid", "alpha_beta", "smpi"};

static void put_case(RhJsonWriter *w, const RhValidationCase *c)
{
    bool evaluation = !c->skipped && !c->outcome;
    rh_json_begin_object(w, NULL);
    rh_json_put_string(w, "id", c->id);
    rh_json_put_string(w, "source", c->source);
    rh_json_put_string(w, "strategy", c->group);
    rh_json_put_string(w, "metric", c->metric);
    rh_put_or_null(w, "measured", c->measured, evaluation);
    rh_put_or_null(w, "predicted", c->predicted, c->predicted > 0);
    rh_json_put_string(w, "unit", "s");
    rh_put_or_null(w, "error_frac", evaluation ? rh_validation_error_frac(c) : 0, evaluation);
    rh_put_or_null(w, "spread_frac", c->spread_frac, evaluation);
    rh_put_or_null(w, "start_error_frac", c->start_error_frac,
                   evaluation && c->start_error_frac >= 0);
    for (int k = 0; k < RH_CONTROL_LAST; k++)
        rh_put_or_null(w, control_keys[k], c->control[k], c->control[k] > 0);
    rh_put_or_null(w, "library", c->library_s, c->library_s > 0);
    rh_json_put_null(w, "fits");
    rh_json_put_string(w, "outcome", c->outcome);
    rh_json_put_string(w, "skipped", c->skipped);
    rh_json_end_object(w);
}

static void put_figures(RhJsonWriter *w, const RhValidationFigures *f)
{
    bool any = f->count > 0;
    rh_json_put_int(w, "count", f->count);
    rh_json_put_int(w, "skipped_count", f->skipped_count);
    rh_put_or_null(w, "median_abs_error_frac", f->median_abs_error_frac, any);
    rh_put_or_null(w, "mape_frac", f->mape_frac, any);
    rh_put_or_null(w, "p90_abs_error_frac", f->p90_abs_error_frac, any);
    rh_put_or_null(w, "worst_abs_error_frac", f->worst_abs_error_frac, any);
    rh_put_or_null(w, "bias_frac", f->bias_frac, any);
    rh_put_or_null(w, "start_error_frac", f->start_error_frac, any && f->start_error_frac >= 0);
    for (int k = 0; k < RH_CONTROL_LAST; k++) {
        g_autofree char *key = g_strconcat(control_keys[k], "_mape_frac", NULL);
        rh_put_or_null(w, key, f->control_mape_frac[k], any);
    }
}

static void put_texts(RhJsonWriter *w, const char *key, const GPtrArray *texts)
{
    rh_json_begin_array(w, key);
    for (guint i = 0; i < texts->len; i++)
        rh_json_put_string(w, NULL, g_ptr_array_index(texts, i));
    rh_json_end_array(w);
}

char *rh_report_validation_json(const RhValidation *v)
{
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
    g_autofree const char **groups = rh_validation_groups(v);
    RhValidationFigures all = rh_validation_figures(v, NULL);
    RhValidationFigures layouts = rh_validation_figures(v, "layout");
    bool ranked = layouts.count >= 3;
    rh_json_begin_object(w, NULL);
    rh_json_put_string(w, "schema", "rehearse.validate/1");
    rh_json_put_string(w, "version", RH_VERSION);
    rh_json_put_string(w, "suite", v->suite);
    rh_json_put_string(w, "made_on", v->made_on);
    rh_json_put_int(w, "launches_count", v->launches_count);
    rh_json_begin_array(w, "cases");
    for (guint i = 0; i < v->cases->len; i++)
        put_case(w, case_at(v, i));
    rh_json_end_array(w);
    put_figures(w, &all);
    rh_put_or_null(w, "kendall_tau", layouts.kendall, ranked);
    rh_put_or_null(w, "spearman", layouts.spearman, ranked);
    rh_put_or_null(w, "regret_frac", layouts.regret_frac, ranked);
    rh_json_put_null(w, "oom");
    rh_json_begin_array(w, "groups");
    for (const char **group = groups; *group; group++) {
        RhValidationFigures f = rh_validation_figures(v, *group);
        rh_json_begin_object(w, NULL);
        rh_json_put_string(w, "by", "strategy");
        rh_json_put_string(w, "name", *group);
        put_figures(w, &f);
        rh_json_end_object(w);
    }
    rh_json_end_array(w);
    put_texts(w, "missed", v->missed);
    put_texts(w, "notes", v->notes);
    rh_json_end_object(w);
    return rh_json_writer_steal(w);
}

/* --- Markdown --- */

char *rh_report_validation_markdown(const RhValidation *v)
{
    GString *out = g_string_new(NULL);
    g_autofree const char **groups = rh_validation_groups(v);
    g_string_append_printf(out, "`rehearse validate --suite %s`; %s; %d real launches.\n\n",
                           v->suite, v->made_on ? v->made_on : "nothing measured",
                           v->launches_count);
    g_autofree char *names = control_cells(v, NULL, " | ");
    g_string_append_printf(out, "| | cases | mean error | worst | starts of tasks%s |\n", names);
    g_string_append(out, "|---|---|---|---|---");
    for (const char *c = names; *c; c++)
        g_string_append(out, *c == '|' ? "|---" : "");
    g_string_append(out, "|\n");
    for (const char **group = groups; *group; group++) {
        RhValidationFigures f = rh_validation_figures(v, *group);
        g_autofree char *starts = f.start_error_frac < 0
                                      ? g_strdup("")
                                      : g_strdup_printf("%.1f %%", 100 * f.start_error_frac);
        g_autofree char *controls = control_cells(v, &f, " | ");
        if (f.count > 0)
            g_string_append_printf(out, "| %s | %d | %.1f %% | %.1f %% (%s) | %s%s |\n", *group,
                                   f.count, 100 * f.mape_frac, 100 * f.worst_abs_error_frac,
                                   f.worst_id, starts, controls);
    }
    RhValidationFigures layouts = rh_validation_figures(v, "layout");
    if (layouts.count >= 3)
        g_string_append_printf(out,
                               "\nRanking the layouts of one job: Spearman %.3f; the layout "
                               "predicted fastest loses %.1f %% against the fastest.\n",
                               layouts.spearman, 100 * layouts.regret_frac);
    for (guint i = 0; i < v->cases->len; i++)
        if (case_at(v, i)->outcome)
            g_string_append_printf(out, "\n%s: %s.\n", case_at(v, i)->id, case_at(v, i)->outcome);
    for (guint i = 0; i < v->missed->len; i++)
        g_string_append_printf(out, "\nMissed: %s.\n",
                               (const char *)g_ptr_array_index(v->missed, i));
    return g_string_free(out, FALSE);
}
