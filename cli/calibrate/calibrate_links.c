#include "cli/calibrate/calibrate_links.h"

#include <stdio.h>

#include "base/error.h"
#include "base/text/text_table.h"
#include "calibrate/links/links_fit.h"
#include "cli/calibrate/fit_tables.h"
#include "cli/output/output_file.h"
#include "cli/output/terminal.h"
#include "report/format.h"

/* --- the report --- */

static void append_classes(GString *out, const RhLinksFit *fit)
{
    g_autoptr(RhTable) table = rh_fit_errors_new(true);
    guint shown = fit->classes->len == 2 ? 1 : fit->classes->len; /* all are one */
    for (guint i = 0; i < shown; i++) {
        const RhLinksClass *c = &g_array_index(fit->classes, RhLinksClass, i);
        rh_fit_errors_add(table, c->name, (const RhFitFigures *[2]){&c->before, NULL},
                          (const RhFitFigures *[2]){&c->fitted, &c->held_out});
    }
    rh_fit_errors_append(table, out, true);
}

static void append_facts(GString *out, const RhLinksFit *fit)
{
    g_autoptr(RhTable) table = rh_fit_constants_new(false);
    for (guint i = 0; i < fit->facts->len; i++) {
        const RhFittedFact *f = &g_array_index(fit->facts, RhFittedFact, i);
        g_autofree char *value = rh_fitted_value_text(f, f->fact.value),
                        *low = rh_fitted_value_text(f, f->fact.low),
                        *high = rh_fitted_value_text(f, f->fact.high);
        rh_fit_constants_add(table, f->key, NULL, value, low, high,
                             f->on_bound ? RH_FIT_ON_BOUND : NULL);
    }
    rh_table_append(table, out, "");
}

static void append_segments(GString *out, const RhLinksFit *fit)
{
    g_autoptr(RhTable) table = rh_table_new("<>>>>>>");
    bool any = false;
    rh_table_rowf(table, "time by message size|from|to|sizes|latency|±|bandwidth");
    for (guint i = 0; i < fit->classes->len; i++) {
        const RhLinksClass *c = &g_array_index(fit->classes, RhLinksClass, i);
        for (int k = 0; k < c->segments_count; k++) {
            const RhSegment *s = &c->segments[k];
            g_autofree char *first = rh_quantity_format(s->first_bytes, RH_QUANTITY_BYTES, 3),
                            *last = rh_quantity_format(s->last_bytes, RH_QUANTITY_BYTES, 3),
                            *fixed = rh_quantity_format(s->fixed_s, RH_QUANTITY_S, 3),
                            *error = rh_quantity_format(s->fixed_error_s, RH_QUANTITY_S, 2),
                            *rate = s->s_per_byte > 0
                                        ? rh_quantity_format(1 / s->s_per_byte,
                                                             RH_QUANTITY_BYTES_PER_S, 3)
                                        : g_strdup("-");
            rh_table_rowf(table, "  %s|%s|%s|%d|%s|%s|%s", k ? "" : c->name, first, last,
                          s->points_count, fixed, error, rate);
            any = true;
        }
    }
    if (any)
        rh_table_append(table, out, "");
}

/* "20 measured times and 6 rates". Caller frees. */
static char *counts_text(int32_t times, guint rates)
{
    const char *s = rates == 1 ? "" : "s";
    if (times == 0 && rates > 0)
        return g_strdup_printf("%u measured rate%s", rates, s);
    return rates > 0 ? g_strdup_printf("%d measured times and %u rate%s", times, rates, s)
                     : g_strdup_printf("%d measured times", times);
}

/* Appends why the profile is not recommended. */
static void append_untold(GString *out, const RhLinksFit *fit)
{
    g_autofree char *line = g_strdup_printf(
        "not recommended: no size in the log determines %s, by which large messages go, and what "
        "was fitted beside it may make them worse",
        fit->untold_rate);
    rh_text_wrap(out, line, 2, 79);
    rh_text_wrap(out,
                 "help: time sizes up to 1 GiB (nccl-tests: -b 8 -e 1G -f 2), or give several logs "
                 "at once",
                 2, 79);
}

static char *report_of(const RhLinksFit *fit, guint rates, const char *saved)
{
    GString *out = g_string_new(NULL);
    g_autofree char *counts = counts_text(fit->rows_count, rates);
    g_autofree char *head =
        g_strdup_printf("fitted: %u constant%s of %s to %s", fit->facts->len,
                        fit->facts->len == 1 ? "" : "s", fit->platform->name, counts);
    rh_text_wrap(out, head, 2, 79);
    append_facts(out, fit);
    if (fit->classes->len > 0)
        append_classes(out, fit);
    append_segments(out, fit);
    rh_fit_append_notes(out, fit->notes);
    if (fit->untold_rate)
        append_untold(out, fit);
    else
        rh_fit_append_next(out, saved);
    return g_string_free(out, FALSE);
}

/* --- the fit --- */

static guint rates_of(const GPtrArray *logs)
{
    guint count = 0;
    for (guint i = 0; i < logs->len; i++)
        count += ((const RhMeasured *)g_ptr_array_index(logs, i))->rates->len;
    return count;
}

static GPtrArray *load_logs(const GPtrArray *paths, GError **error)
{
    g_autoptr(GPtrArray) logs = g_ptr_array_new_with_free_func((GDestroyNotify)rh_measured_free);
    for (guint i = 0; i < paths->len; i++) {
        RhMeasured *log = rh_measured_load(g_ptr_array_index(paths, i), error);
        if (!log)
            return NULL;
        g_ptr_array_add(logs, log);
    }
    return g_steal_pointer(&logs);
}

int rh_calibrate_links(const RhArguments *a, const GPtrArray *paths, GError **error)
{
    if (!a->platform) {
        rh_fail(error, RH_ERROR_USAGE,
                "calibrate needs --platform FILE|NAME for logs of collectives\nhelp: -p with the "
                "platform they were measured on, as dgx-h100:2");
        return 2;
    }
    g_autoptr(GDateTime) now = g_date_time_new_now_utc();
    g_autofree char *today = g_date_time_format(now, "%Y-%m-%d");
    g_autoptr(RhPlatform) platform = rh_platform_load(a->platform, error);
    g_autoptr(GPtrArray) logs = platform ? load_logs(paths, error) : NULL;
    if (!logs)
        return 3;
    rh_terminal_progress("fitting", 0, 1, 0, NULL);
    g_autoptr(RhLinksFit) fit = rh_links_fit(logs, platform, a->holdout_frac, today,
                                             rh_terminal_left_s(a->timeout_s), error);
    rh_terminal_progress_end();
    if (!fit)
        return error && g_error_matches(*error, RH_ERROR, RH_ERROR_NO_ANSWER) ? 1 : 3;
    g_autofree char *profile = rh_links_fit_profile(fit);
    for (guint i = 0; i < a->outputs->len; i++)
        if (!rh_output_write(g_ptr_array_index(a->outputs, i), profile, error))
            return 3;
    g_autofree char *text =
        a->json ? g_strdup(profile)
                : report_of(fit, rates_of(logs), rh_outputs_find(a->outputs, RH_OUTPUT_JSON));
    fputs(text, stdout);
    return 0;
}
