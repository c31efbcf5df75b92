/* Formats the answer of `plan` as text: some 40 lines of 80 columns. */
#include <math.h>

#include "base/units.h"
#include "report/capacity/capacity.h"
#include "report/format.h"
#include "report/plan/layout_families.h"
#include "report/plan/near_batches.h"
#include "report/plan/text_plan.h"
#include "report/plan/text_proof.h"
#include "report/plan/unsearched_report.h"
#include "report/plan_with_jobs_report.h"
#include "report/report.h"
#include "report/warnings.h"
#include "strategies/launch/launch.h"

/* Appends the objective's value when the first lines lack it. */
static void append_objective(GString *out, const RhRehearsal *best, RhObjective objective)
{
    if (objective == RH_OBJECTIVE_COST && best->cost_usd > 0)
        g_string_append_printf(out, "      %.4g USD a step\n", best->cost_usd);
    g_autofree char *energy = rh_text_amount(best->energy.total_j, "J");
    if (objective == RH_OBJECTIVE_ENERGY && best->energy.total_j > 0)
        g_string_append_printf(out, "      %s a step\n", energy);
}

/* Appends the first line, wrapped where a layout needs many words. */
static void append_title(GString *out, const char *label, const char *title,
                         const RhReportStyle *style)
{
    g_autofree char *line = g_strdup_printf("%s: %s", label, title);
    g_autoptr(GString) wrapped = g_string_new(NULL);
    rh_text_wrap(wrapped, line, 6, 79);
    g_string_truncate(wrapped, wrapped->len - 1); /* its newline */
    g_string_append_printf(out, "%s%s%s\n", RH_TEXT_BOLD(style), wrapped->str,
                           RH_TEXT_PLAIN(style));
}

/* Appends the answer: `label`, or the best beside other jobs. */
static void append_best(GString *out, const char *label, const RhProblem *c,
                        const RhRehearsal *best, RhObjective objective, const RhReportStyle *style)
{
    g_autofree char *title = rh_report_layout_title(c, &best->layout);
    g_autofree char *step = rh_quantity_format(best->step_time_s, RH_QUANTITY_S, 3);
    g_autofree char *tokens = rh_text_rate(best->tokens_per_s_per_gpu);
    append_title(out, label, title, style);
    bool known = best->events_count > 0;
    g_autofree char *number = rh_text_number(100 * rh_report_error_frac(best), 2);
    g_autofree char *error =
        rh_report_error_frac(best) > 0 ? g_strdup_printf(" ±%s %%", number) : g_strdup("");
    g_string_append_printf(
        out, "      %s%s/step%s   %s%.1f %% MFU   %s %s/s/GPU   %.1f of %.1f GiB/GPU\n",
        known ? "" : "at least ", step, error, known ? "" : "at most ", 100 * best->mfu_frac,
        tokens, rh_report_unit(best->pictures), rh_text_gib(best->memory.peak_bytes),
        rh_text_gib(best->memory_capacity_bytes));
    append_objective(out, best, objective);
    if (!rh_report_mfu_plain(best)) {
        g_autofree char *peak = rh_report_mfu_peak(best);
        g_string_append_printf(out, "      MFU %s\n", peak);
    }
}

/* Appends each layout in the form that -s takes, with -v. */
static void append_layouts(GString *out, const RhPlan *plan)
{
    for (guint i = 0; i < plan->entries->len; i++) {
        const RhRehearsal *r = g_ptr_array_index(plan->entries, i);
        g_autofree char *layout = rh_layout_format(&r->layout);
        g_string_append_printf(out, "#%u %s\n", i + 1, layout);
    }
}

/* Appends the result of each framework of --stack any, best first. */
static void append_others(GString *out, const RhPlan *plan)
{
    if (!plan->others)
        return;
    const RhPlanOther *best = &g_array_index(plan->others, RhPlanOther, 0);
    double bar = rh_report_error_frac(g_ptr_array_index(plan->entries, 0));
    for (guint i = 0; i < plan->others->len; i++) {
        const RhPlanOther *other = &g_array_index(plan->others, RhPlanOther, i);
        g_autofree char *title = rh_layout_title(&other->layout);
        g_autofree char *step = rh_quantity_format(other->step_time_s, RH_QUANTITY_S, 3);
        double more = other->step_time_s / best->step_time_s - 1;
        const char *tie = i > 0 && more < bar ? " (less than the error bar)" : "";
        g_autofree char *line =
            other->refused
                ? g_strdup_printf("%s: does not run these layouts: %s", other->stack,
                                  other->refused)
                : g_strdup_printf("%s: %s/step, %+.1f %%%s, %.1f GiB: %s", other->stack, step,
                                  100 * more, tie, rh_text_gib(other->peak_bytes), title);
        rh_report_append_labelled(out, "runs in", line);
    }
    g_string_append_c(out, '\n');
}

static void append_why(GString *out, const RhPlan *plan)
{
    if (plan->entries->len < 2)
        return;
    g_autofree char *reason = rh_report_reason(g_ptr_array_index(plan->entries, 0),
                                               g_ptr_array_index(plan->entries, 1), "#2");
    if (reason)
        rh_report_append_labelled(out, "why #1 is ahead of #2", reason);
}

/* Appends which plans were simulated with merged ranks, and why. */
static void append_approximate(GString *out, const RhPlan *plan)
{
    g_autoptr(GString) text = g_string_new(NULL);
    const char *why = NULL;
    for (guint i = 0; i < plan->entries->len; i++) {
        const RhRehearsal *r = g_ptr_array_index(plan->entries, i);
        if (!r->approximate)
            continue;
        g_string_append_printf(text, "%s#%u", text->len ? ", " : "", i + 1);
        why = why ? why : r->approximate_why;
    }
    if (!why)
        return;
    g_string_append_printf(text, ": %s", why);
    rh_report_append_labelled(out, "approximate", text->str);
}

/* Appends the fastest layout that is less likely to fit: its gain, and how likely it fits; with -v the evidence. If it
 * gains much it is a row of the table. */
static void append_fuller(GString *out, const RhPlan *plan, const RhReportStyle *style)
{
    const RhRehearsal *r = plan->over_budget;
    if (!r)
        return;
    bool row = rh_report_fuller_is_row(plan);
    g_autofree char *title = rh_layout_title(&r->layout);
    g_autofree char *step = rh_quantity_format(r->step_time_s, RH_QUANTITY_S, 3);
    g_autofree char *odds = style->verbosity > 0 ? rh_report_odds(r) : rh_report_odds_brief(r);
    g_autofree char *line = g_strdup_printf(
        "%s: %s/step (%.1f %% faster), %.1f of %.1f GiB, %s; --risk %.0f%% admits it", title, step,
        100 * rh_report_fuller_gain(plan), rh_text_gib(r->memory.peak_bytes),
        rh_text_gib(r->memory_capacity_bytes), odds, ceil(100 * r->risk_frac));
    rh_report_append_labelled(out, row ? "!" : "faster, but may not fit", line);
}

static void append_too_large(GString *out, const RhPlan *plan)
{
    if (plan->too_large_count == 0)
        return;
    g_autofree char *count = rh_text_count(plan->too_large_count);
    g_string_append_printf(out, "%s left out, too large to simulate in a search; ", count);
}

static void append_lost(GString *out, const RhPlan *plan)
{
    if (plan->lost_count > 0)
        g_string_append_printf(out,
                               "%" G_GINT64_FORMAT " left out, as their simulations ran out of "
                               "memory; ",
                               plan->lost_count);
    if (plan->unperformed_count > 0)
        g_string_append_printf(out,
                               "for lack of memory %" G_GINT64_FORMAT " not simulated again with "
                               "contention of every message; ",
                               plan->unperformed_count);
}

static void append_counts(GString *out, const RhPlan *plan, const RhPlanOptions *options,
                          const RhReportStyle *style)
{
    g_autofree char *legal = rh_text_count(plan->legal_count);
    g_autofree char *fit = rh_text_count(plan->fit_count);
    g_autofree char *roomy = rh_text_count(plan->within_budget_count);
    g_autofree char *rehearsed = rh_text_count(plan->rehearsed_count);
    double margin = rh_report_margin_bytes(plan);
    bool all = plan->within_budget_count == plan->fit_count;
    g_autofree char *within =
        margin > 0 ? g_strdup_printf(", %s%s with a margin of %.1f GiB", all ? "all" : roomy,
                                     all ? "" : " of them", rh_text_gib(margin))
                   : g_strdup("");
    g_autoptr(GString) text = g_string_new(NULL);
    /* Lines are wrapped with a time of this width, so that equal plans have equal lines. */
    static const char reserved[] = "9999.9";
    g_autofree char *spent = g_strdup_printf("%.1f", plan->wall_s);
    if (plan->cuts_count > 0 && style->verbosity > 0) {
        g_autofree char *cuts = rh_text_count(plan->cuts_count);
        g_autofree char *opened = rh_text_count(plan->cuts_opened_count);
        g_string_printf(text, "%s divisions of the model, %s examined; of their layouts ", cuts,
                        opened);
    }
    g_string_append_printf(text, "%s valid layouts, %s fit%s, %s simulated%s%s%s%s; ", legal, fit,
                           within, rehearsed, style->timeless ? "" : " in\u00a0",
                           style->timeless ? "" : reserved, style->timeless ? "" : "\u00a0s",
                           plan->proved ? ", the others excluded by lower bounds of their steps"
                                        : "");
    append_too_large(text, plan);
    append_lost(text, plan);
    rh_report_append_proof(text, plan, options, style->verbosity > 0);
    g_autoptr(GString) wrapped = g_string_new(NULL);
    rh_report_append_labelled(wrapped, "searched", text->str);
    g_string_replace(wrapped, reserved, spent, 1);
    g_string_replace(wrapped, "\u00a0", " ", 0);
    g_string_append(out, wrapped->str);
}

/* Says how the script that starts the first row is had, unless the command asked for one. */
static void append_launch(GString *out, const RhQuestion *q)
{
    const char *framework = q->c->stack->framework;
    if (framework && g_strv_contains(rh_launch_frameworks(), framework) &&
        !(q->argv && g_strv_contains(q->argv, "--emit")))
        g_string_append_printf(out, "launch: add --emit %s for the script that starts #1\n",
                               framework);
}

char *rh_report_plan_text(const RhQuestion *q, const RhPlan *plan, const RhPlanOptions *options,
                          const RhReportStyle *style)
{
    GString *out = g_string_new(NULL);
    if (plan->entries->len == 0) {
        rh_report_append_no_plan(out, q, plan, options, style);
        return g_string_free(out, FALSE);
    }
    g_autoptr(GPtrArray) watches = rh_report_plan_warnings(q, plan, options);
    if (plan->beside)
        rh_report_append_beside(out, plan, options->gap_frac);
    append_best(out,
                plan->lost_may_win ? "best of those that this machine had the memory to simulate"
                : plan->unsafe     ? "best, but it may run out of memory"
                : plan->beside     ? "alone"
                                   : "best",
                q->c, g_ptr_array_index(plan->entries, 0), options->objective, style);
    rh_report_job(out, q);
    g_string_append_c(out, '\n');
    rh_report_append_plan_table(out, plan, options);
    g_string_append_c(out, '\n');
    append_others(out, plan);
    rh_report_append_families(out, plan, style->verbosity > 0);
    append_why(out, plan);
    rh_report_near_batches(out, &q->c->job, plan->near_batches);
    rh_report_trust(out, g_ptr_array_index(plan->entries, 0));
    if (options->objective == RH_OBJECTIVE_COST)
        rh_report_price(out, q->platform_spec, q->hardware);
    append_fuller(out, plan, style);
    rh_report_warnings_text(out, watches);
    append_approximate(out, plan);
    rh_report_append_near_misses(out, plan, style->verbosity > 0 ? G_MAXUINT : 0);
    if (style->verbosity > 0)
        append_layouts(out, plan);
    append_counts(out, plan, options, style);
    rh_report_unsearched(out, plan, style->verbosity > 0);
    if (style->verbosity > 0)
        rh_report_sources(out, q);
    rh_report_next(out, style, "plan.json", "#1");
    append_launch(out, q);
    return g_string_free(out, FALSE);
}
