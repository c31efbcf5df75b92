#include "cli/calibrate/calibrate_served.h"

#include <stdio.h>

#include "base/error.h"
#include "base/json/json.h"
#include "base/text/text_table.h"
#include "base/units.h"
#include "cli/calibrate/fit_tables.h"
#include "cli/output/output_file.h"
#include "cli/output/terminal.h"
#include "validate/serving/served_fit.h"

static char *value_text(const RhServedConstant *c, double value)
{
    return c->fraction ? g_strdup_printf("%.3g", value)
                       : rh_quantity_format(value, RH_QUANTITY_S, 3);
}

static void append_constants(GString *out, const RhServedFit *fit)
{
    g_autoptr(RhTable) table = rh_fit_constants_new(true);
    for (int32_t i = 0; i < fit->constants_count; i++) {
        const RhServedConstant *c = &fit->constants[i];
        g_autofree char *before = value_text(c, c->before), *value = value_text(c, c->value),
                        *low = value_text(c, c->low), *high = value_text(c, c->high),
                        *from = g_strconcat(c->low_open ? "below " : "", low, NULL),
                        *to = g_strconcat(c->high_open ? "above " : "", high, NULL);
        if (c->determined)
            rh_fit_constants_add(table, c->key, before, value, from, to, NULL);
        else
            rh_fit_constants_add(table, c->key, before, "-", NULL, NULL, "no row depends on it");
    }
    rh_table_append(table, out, "");
}

/* Cells of what rows give; of what none does there are none. */
static void append_errors(GString *out, const RhServedFit *fit)
{
    static const char *const parts[] = {"fitted", "held out"};
    g_autoptr(RhTable) table = rh_table_new("<<>>>");
    rh_table_rowf(table, "median/mean error in %%|rows|count|before|with the fit");
    for (int i = 0; i < 2; i++) {
        const struct {
            const char *name;
            const RhServedErrors *e;
        } rows[] = {{"TPOT", &fit->tpot[i]},
                    {"TTFT", &fit->ttft[i]},
                    {"output tokens/s", &fit->throughput[i]}};
        for (size_t k = 0; k < G_N_ELEMENTS(rows); k++) {
            const RhErrorStatistics *now = &rows[k].e->before, *fitted = &rows[k].e->fitted;
            if (now->count > 0)
                rh_table_rowf(table, "  %s|%s|%d|%.1f/%.1f|%.1f/%.1f", rows[k].name, parts[i],
                              now->count, 100 * now->median_abs_error_frac, 100 * now->mape_frac,
                              100 * fitted->median_abs_error_frac, 100 * fitted->mape_frac);
        }
    }
    rh_table_append(table, out, "");
}

static char *report_of(const RhServedFit *fit)
{
    GString *out = g_string_new(NULL);
    g_string_printf(out, "fitted: constants of %s to %d runs; %d held out, %d not usable\n",
                    fit->server, fit->fitted_count, fit->held_out_count, fit->skipped_count);
    append_constants(out, fit);
    append_errors(out, fit);
    g_string_append(
        out, "intervals: of each constant with all others fixed, as if errors were independent\n");
    return g_string_free(out, FALSE);
}

static void put_figures(RhJsonWriter *w, const char *key, const RhErrorStatistics *f)
{
    rh_json_begin_object(w, key);
    rh_json_put_int(w, "count", f->count);
    rh_json_put_number(w, "median_frac", f->median_abs_error_frac);
    rh_json_put_number(w, "mean_frac", f->mape_frac);
    rh_json_end_object(w);
}

static void put_errors(RhJsonWriter *w, const char *key, const RhServedErrors *e)
{
    rh_json_begin_object(w, key);
    put_figures(w, "now", &e->before);
    put_figures(w, "fitted", &e->fitted);
    rh_json_end_object(w);
}

static char *json_of(const RhServedFit *fit)
{
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
    rh_json_begin_object(w, NULL);
    rh_json_put_string(w, "schema", "rehearse.server-fit/1");
    rh_json_put_string(w, "server", fit->server);
    rh_json_put_int(w, "rows_fitted_count", fit->fitted_count);
    rh_json_put_int(w, "rows_held_out_count", fit->held_out_count);
    rh_json_begin_array(w, "constants");
    for (int32_t i = 0; i < fit->constants_count; i++) {
        const RhServedConstant *c = &fit->constants[i];
        rh_json_begin_object(w, NULL);
        rh_json_put_string(w, "name", c->key);
        rh_json_put_string(w, "unit", c->fraction ? "1" : "s");
        rh_json_put_bool(w, "determined", c->determined);
        rh_json_put_number(w, "before", c->before);
        rh_json_put_number(w, "value", c->value);
        rh_json_put_number(w, "low", c->low);
        rh_json_put_number(w, "high", c->high);
        rh_json_end_object(w);
    }
    rh_json_end_array(w);
    put_errors(w, "tpot_fitted_rows", &fit->tpot[0]);
    put_errors(w, "tpot_held_out_rows", &fit->tpot[1]);
    put_errors(w, "ttft_fitted_rows", &fit->ttft[0]);
    put_errors(w, "ttft_held_out_rows", &fit->ttft[1]);
    put_errors(w, "throughput_fitted_rows", &fit->throughput[0]);
    put_errors(w, "throughput_held_out_rows", &fit->throughput[1]);
    rh_json_end_object(w);
    return rh_json_writer_steal(w);
}

static void on_progress(const char *what, int32_t done, int32_t total, void *user)
{
    (void)user;
    rh_terminal_progress(what, done, total, 0, NULL);
}

int rh_calibrate_served(const RhArguments *a, const char *path, GError **error)
{
    g_autoptr(RhCaseTable) table = rh_case_table_load(path, error);
    if (!table)
        return 3;
    RhServedFitOptions options = {.server = a->server,
                                  .only = a->only,
                                  .holdout_frac = a->holdout_frac,
                                  .timeout_s = rh_terminal_left_s(a->timeout_s),
                                  .progress = on_progress};
    g_autoptr(RhServedFit) fit = rh_served_fit(table, &options, error);
    rh_terminal_progress_end();
    if (!fit) {
        rh_error_help(error, "--server NAME, --only TEXT choose rows");
        return error && g_error_matches(*error, RH_ERROR, RH_ERROR_USAGE) ? 2 : 3;
    }
    g_autofree char *json = json_of(fit);
    for (guint i = 0; i < a->outputs->len; i++)
        if (!rh_output_write(g_ptr_array_index(a->outputs, i), json, error))
            return 3;
    g_autofree char *text = a->json ? NULL : report_of(fit);
    fputs(text ? text : json, stdout);
    return 0;
}
