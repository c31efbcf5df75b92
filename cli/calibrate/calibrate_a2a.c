#include "cli/calibrate/calibrate_a2a.h"

#include <stdio.h>

#include "base/error.h"
#include "base/text/text_table.h"
#include "cli/calibrate/fit_tables.h"
#include "cli/output/output_file.h"
#include "cli/output/terminal.h"
#include "report/format.h"
#include "validate/serving/a2a_fit.h"

static const char *way_of(const RhExchangeFit *fit)
{
    return fit->combine ? "combine" : "dispatch";
}

/* --- the report --- */

static void append_constants(GString *out, const GArray *fits)
{
    g_autoptr(RhTable) table = rh_fit_constants_new(true);
    for (guint i = 0; i < fits->len; i++) {
        const RhExchangeFit *fit = &g_array_index(fits, RhExchangeFit, i);
        for (guint k = 0; k < fit->facts->len; k++) {
            const RhFittedFact *f = &g_array_index(fit->facts, RhFittedFact, k);
            double was = g_array_index(fit->before, double, k);
            g_autofree char *before = was > 0 ? rh_fitted_value_text(f, was) : g_strdup("-"),
                            *value = rh_fitted_value_text(f, f->fact.value),
                            *low = rh_fitted_value_text(f, f->fact.low),
                            *high = rh_fitted_value_text(f, f->fact.high);
            g_autofree char *name = g_strdup_printf("%s %s %s", fit->backend, way_of(fit), f->key);
            rh_fit_constants_add(table, name, before, value, low, high,
                                 f->on_bound ? RH_FIT_ON_BOUND : NULL);
        }
    }
    rh_table_append(table, out, "");
}

static void append_errors(GString *out, const GArray *fits)
{
    g_autoptr(RhTable) table = rh_fit_errors_new(true);
    for (guint i = 0; i < fits->len; i++) {
        const RhExchangeFit *fit = &g_array_index(fits, RhExchangeFit, i);
        g_autofree char *name = g_strdup_printf("%s %s", fit->backend, way_of(fit));
        const RhFitFigures *now[2] = {&fit->now[0], &fit->now[1]},
                           *then[2] = {&fit->then[0], &fit->then[1]};
        if (!fit->lack)
            rh_fit_errors_add(table, name, now, then);
    }
    rh_fit_errors_append(table, out, true);
}

static void append_notes(GString *out, const GArray *fits)
{
    for (guint i = 0; i < fits->len; i++) {
        const RhExchangeFit *fit = &g_array_index(fits, RhExchangeFit, i);
        const RhFitFigures *worst = fit->then[1].count ? &fit->then[1] : &fit->then[0];
        g_autofree char *line =
            fit->lack ? g_strdup_printf("note: %s %s: %s", fit->backend, way_of(fit), fit->lack)
            : worst->worst ? g_strdup_printf("worst of %s %s: %+.0f %%, %s", fit->backend,
                                             way_of(fit), 100 * worst->worst_frac, worst->worst)
                           : NULL;
        if (line)
            rh_text_wrap(out, line, 6, 79);
    }
}

static char *report_of(const GArray *fits, int32_t skipped)
{
    GString *out = g_string_new(NULL);
    g_string_printf(out,
                    "fitted: times of all-to-all exchanges between experts; %d row%s not usable\n",
                    skipped, skipped == 1 ? "" : "s");
    append_constants(out, fits);
    append_errors(out, fits);
    append_notes(out, fits);
    g_string_append(out,
                    "next: enter them in strategies/a2a_backends/NAME.json of the source tree\n");
    return g_string_free(out, FALSE);
}

/* --- JSON --- */

static void put_figures(RhJsonWriter *w, const char *key, const RhFitFigures *two)
{
    rh_json_begin_object(w, key);
    rh_fit_figures_put(w, "fitted", &two[0]);
    rh_fit_figures_put(w, "held_out", &two[1]);
    rh_json_end_object(w);
}

static void put_fit(RhJsonWriter *w, const RhExchangeFit *fit)
{
    rh_json_begin_object(w, NULL);
    rh_json_put_string(w, "a2a_backend", fit->backend);
    rh_json_put_string(w, "way", way_of(fit));
    rh_json_begin_object(w, "facts");
    for (guint i = 0; i < fit->facts->len; i++)
        rh_fitted_fact_put(w, &g_array_index(fit->facts, RhFittedFact, i));
    rh_json_end_object(w);
    rh_json_put_string(w, "lack", fit->lack);
    put_figures(w, "errors_now", fit->now);
    put_figures(w, "errors_fitted", fit->then);
    rh_json_end_object(w);
}

static char *json_of(const GArray *fits, int32_t skipped)
{
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
    rh_json_begin_object(w, NULL);
    rh_json_put_string(w, "schema", "rehearse.exchange-fit/1");
    rh_json_put_int(w, "rows_skipped_count", skipped);
    rh_json_begin_array(w, "ways");
    for (guint i = 0; i < fits->len; i++)
        put_fit(w, &g_array_index(fits, RhExchangeFit, i));
    rh_json_end_array(w);
    rh_json_end_object(w);
    return rh_json_writer_steal(w);
}

/* --- the run --- */

static GPtrArray *tables_of(const GPtrArray *paths, GError **error)
{
    g_autoptr(GPtrArray) tables =
        g_ptr_array_new_with_free_func((GDestroyNotify)rh_case_table_free);
    for (guint i = 0; i < paths->len; i++) {
        RhCaseTable *table = rh_case_table_load(g_ptr_array_index(paths, i), error);
        if (!table)
            return NULL;
        g_ptr_array_add(tables, table);
    }
    return g_steal_pointer(&tables);
}

static char *source_of(const GPtrArray *paths)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < paths->len; i++)
        g_ptr_array_add(names, g_path_get_basename(g_ptr_array_index(paths, i)));
    g_ptr_array_add(names, NULL);
    return g_strjoinv(", ", (char **)names->pdata);
}

int rh_calibrate_exchanges(const RhArguments *a, const GPtrArray *paths, GError **error)
{
    int32_t skipped = 0;
    double left_s = rh_terminal_left_s(a->timeout_s);
    g_autofree char *source = source_of(paths);
    g_autoptr(GPtrArray) tables = tables_of(paths, error);
    if (!tables)
        return 3;
    RhExchangesFitOptions options = {
        .holdout_frac = a->holdout_frac,
        .only = a->only,
        .source = source,
        .t_end_us = left_s > 0 ? g_get_monotonic_time() + (int64_t)(1e6 * left_s) : 0};
    g_autoptr(GArray) fits = rh_exchanges_fit(tables, &options, &skipped, error);
    if (!fits)
        return 3;
    g_autofree char *json = json_of(fits, skipped);
    for (guint i = 0; i < a->outputs->len; i++)
        if (!rh_output_write(g_ptr_array_index(a->outputs, i), json, error))
            return 3;
    g_autofree char *text = a->json ? NULL : report_of(fits, skipped);
    fputs(text ? text : json, stdout);
    return 0;
}
