#include "cli/calibrate/calibrate_stack.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text/text_table.h"
#include "calibrate/stacks/steps_fit.h"
#include "cli/calibrate/fit_tables.h"
#include "cli/output/output_file.h"
#include "cli/output/terminal.h"
#include "report/format.h"

#define STACK_OTHERWISE "megatron"
#define WORST_SHOWN     5

static char *value_text(const RhStepConstant *c, double value)
{
    if (c->kind == RH_QUANTITY_FRAC || c->kind == RH_QUANTITY_COUNT)
        return g_strdup_printf("%.3g", value);
    return rh_quantity_format(value, c->kind, 3);
}

/* Says what a fit means for a constant. */
static const char *remark_on(const RhStepConstant *c)
{
    return c->counted    ? "not changed: a counted value"
           : c->kept     ? "not changed: inside the interval"
           : c->on_bound ? "changed, " RH_FIT_ON_BOUND
                         : "changed";
}

static void append_constants(GString *out, const RhStepsFit *fit)
{
    g_autoptr(RhTable) table = rh_fit_constants_new(true);
    for (guint i = 0; i < fit->constants->len; i++) {
        const RhStepConstant *c = &g_array_index(fit->constants, RhStepConstant, i);
        g_autofree char *before = value_text(c, c->before), *value = value_text(c, c->fact.value),
                        *low = value_text(c, c->fact.low), *high = value_text(c, c->fact.high);
        g_autofree char *name =
            g_strdup_printf("%s%s%s", c->key, c->of ? " of " : "", c->of ? c->of : "");
        if (c->determined)
            rh_fit_constants_add(table, name, before, value, low, high, remark_on(c));
        else
            rh_fit_constants_add(table, name, before, "-", NULL, NULL, "no row depends on it");
    }
    rh_table_append(table, out, "");
}

static void figures_row(RhTable *table, const RhStepsFit *fit, const char *name, const char *source,
                        const char *apart, size_t offset)
{
    RhFitFigures f = {0};
    rh_steps_figures(fit, source, apart, offset, &f);
    if (f.count > 0)
        rh_table_rowf(table, "  %s|%d|%.1f|%.1f|%.1f|%+.1f|%+.0f", name, f.count,
                      100 * f.median_frac, 100 * f.mean_frac, 100 * f.p90_frac, 100 * f.bias_frac,
                      100 * f.worst_frac);
    rh_fit_figures_clear(&f);
}

/* Distinct texts of the rows in the table's order: sources that took part, or reasons and sources
 * of those apart. */
static GPtrArray *distinct(const RhStepsFit *fit, bool apart)
{
    GPtrArray *found = g_ptr_array_new();
    for (guint i = 0; i < fit->predictions->len; i++) {
        const RhMeasuredStep *step = g_array_index(fit->predictions, RhStepPrediction, i).step;
        const char *text = apart ? step->apart : step->source;
        if ((*step->apart != 0) == apart && !g_ptr_array_find(found, text, NULL))
            g_ptr_array_add(found, (void *)(uintptr_t)text);
    }
    return found;
}

static void append_figures(GString *out, const RhStepsFit *fit)
{
    static const struct {
        const char *name;
        size_t offset;
    } kinds[] = {{"constants before", offsetof(RhStepPrediction, before_s)},
                 {"fitted", offsetof(RhStepPrediction, fitted_s)},
                 {"fitted to other groups", offsetof(RhStepPrediction, held_out_s)},
                 {"fitted to other sources", offsetof(RhStepPrediction, source_out_s)}};
    g_autoptr(RhTable) table = rh_table_new("<>>>>>>");
    g_autoptr(GPtrArray) sources = distinct(fit, false);
    g_autoptr(GPtrArray) reasons = distinct(fit, true);
    rh_table_rowf(table, "error of step times in %%|rows|median|mean|90th|bias|worst");
    for (guint s = 0; s <= sources->len; s++) {
        const char *source = s < sources->len ? g_ptr_array_index(sources, s) : NULL;
        for (size_t k = 0; k < G_N_ELEMENTS(kinds); k++) {
            g_autofree char *name =
                g_strdup_printf("%s, %s", source ? source : "all", kinds[k].name);
            figures_row(table, fit, name, source, NULL, kinds[k].offset);
        }
    }
    for (guint i = 0; i < reasons->len; i++) {
        g_autofree char *name =
            g_strdup_printf("not fitted to: %s", (char *)g_ptr_array_index(reasons, i));
        figures_row(table, fit, name, NULL, g_ptr_array_index(reasons, i),
                    offsetof(RhStepPrediction, fitted_s));
    }
    rh_table_append(table, out, "");
}

static double off_of(const RhStepPrediction *p)
{
    return p->held_out_s > 0 ? p->held_out_s / p->step->seconds - 1 : 0;
}

static int by_error(gconstpointer a, gconstpointer b)
{
    double x = ABS(off_of(*(RhStepPrediction *const *)a)),
           y = ABS(off_of(*(RhStepPrediction *const *)b));
    return x < y ? 1 : x > y ? -1 : 0;
}

static void append_worst(GString *out, const RhStepsFit *fit)
{
    g_autoptr(GPtrArray) rows = g_ptr_array_new();
    for (guint i = 0; i < fit->predictions->len; i++)
        g_ptr_array_add(rows, &g_array_index(fit->predictions, RhStepPrediction, i));
    g_ptr_array_sort(rows, by_error);
    g_string_append(out, "largest errors, each fitted to other groups:\n");
    for (guint i = 0; i < rows->len && i < WORST_SHOWN; i++) {
        const RhStepPrediction *p = g_ptr_array_index(rows, i);
        g_autofree char *what = rh_step_describe(p->step);
        g_autofree char *line =
            g_strdup_printf("%+.0f %%: %s %s", 100 * off_of(p), p->step->source, what);
        g_string_append(out, "  ");
        rh_text_wrap(out, line, 4, 79);
    }
}

static void append_reserve(GString *out, const RhStepsFit *fit)
{
    const RhStepReserve *r = &fit->reserve;
    if (r->failed_count == 0)
        return;
    g_autofree char *line = g_strdup_printf(
        "memory reserve: with the one before, %d of %d runs that ran out of memory are predicted to, "
        "and %d of %d that ran; with the fitted %.3g GB (95 %% interval, rows independent: %.3g to "
        "%.3g) %d and %d; predicted memory is off by %.0f %% from run to run",
        r->caught_before, r->failed_count, r->refused_before, r->ran_count, r->reserve_bytes / 1e9,
        r->low_bytes / 1e9, r->high_bytes / 1e9, r->caught_fitted, r->refused_fitted,
        100 * r->spread_frac);
    rh_text_wrap(out, line, 2, 79);
}

static char *report_of(const RhStepsFit *fit)
{
    GString *out = g_string_new(NULL);
    g_autofree char *head = g_strdup_printf(
        "fitted: constants of the stack %s to %d measured steps in %d groups (one source, model, "
        "sequence and kernels each) of %d source%s",
        fit->stack, fit->rows_count, fit->groups_count, fit->sources_count,
        fit->sources_count == 1 ? "" : "s");
    rh_text_wrap(out, head, 2, 79);
    append_constants(out, fit);
    append_figures(out, fit);
    append_worst(out, fit);
    append_reserve(out, fit);
    rh_fit_append_notes(out, fit->notes);
    return g_string_free(out, FALSE);
}

static void on_progress(const char *stage, int64_t done, int64_t total, double best_s, void *user)
{
    rh_terminal_progress(stage, done, total, best_s, user);
}

int rh_calibrate_steps(const RhArguments *a, const char *path, GError **error)
{
    g_autoptr(RhMeasuredSteps) steps = rh_steps_load(path, error);
    if (!steps)
        return 3;
    RhStepsFitOptions options = {.deadline = rh_deadline_in(rh_terminal_left_s(a->timeout_s)),
                                 .progress = on_progress};
    g_autoptr(RhStepsFit) fit =
        rh_steps_fit(steps, a->stack ? a->stack : STACK_OTHERWISE, &options, error);
    rh_terminal_progress_end();
    if (!fit)
        return error && g_error_matches(*error, RH_ERROR, RH_ERROR_USAGE) ? 2 : 3;
    g_autofree char *json = rh_steps_fit_json(fit);
    for (guint i = 0; i < a->outputs->len; i++)
        if (!rh_output_write(g_ptr_array_index(a->outputs, i), json, error))
            return 3;
    g_autofree char *text = a->json ? g_strdup(json) : report_of(fit);
    fputs(text, stdout);
    return 0;
}
