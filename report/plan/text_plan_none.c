/* Formats a plan without rows: nothing fits, or nothing was rehearsed in time. */
#include <math.h>

#include "base/text/text_table.h"
#include "base/units.h"
#include "report/format.h"
#include "report/plan/text_plan.h"
#include "strategies/search/memory_budget.h"

static void append_changes(GString *out, const RhPlan *plan)
{
    if (plan->changes->len == 0) {
        g_string_append(out,
                        "note: no single change of GPUs, batch, sequence or format of gradients "
                        "makes it fit\n");
        return;
    }
    g_string_append(out, "help: changes that make it fit, smallest first\n");
    g_autoptr(RhTable) table = rh_table_new("<<");
    for (guint i = 0; i < plan->changes->len; i++) {
        const RhSmallestChange *change = g_ptr_array_index(plan->changes, i);
        g_autofree char *text = rh_report_change(change);
        rh_table_rowf(table, "%s|%s", text, change->effect);
    }
    rh_table_append(table, out, "  ");
}

static void append_timed_out(GString *out, const RhPlan *plan)
{
    g_autofree char *legal = rh_text_count(plan->legal_count);
    g_autofree char *fit = rh_text_count(plan->fit_count);
    g_string_append_printf(out,
                           "no answer yet: --timeout came before any layout was simulated\n"
                           "layouts: %s valid, %s known to fit so far\n"
                           "help: a longer --timeout, or --quick\n",
                           legal, fit);
}

static void append_all_too_large(GString *out, const RhPlan *plan)
{
    g_autofree char *fit = rh_text_count(plan->fit_count);
    g_string_append_printf(out,
                           "no layout that fits can be simulated: each of the %s has more tasks\n"
                           "than a search simulates; a step takes at least %.4g s\n"
                           "help: --quick ranks by lower bounds; or a smaller --global-batch\n",
                           fit, plan->proof_bound_s);
}

static void append_nothing_fits(GString *out, const RhQuestion *q, const RhPlan *plan,
                                const RhPlanOptions *options, const RhReportStyle *style)
{
    const RhProblem *c = q->c;
    double capacity = rh_train_memory_capacity(c),
           most = rh_memory_budget(c, options->constraints, options->constraints_count,
                                   options->risk_frac)
                      .most_bytes,
           whole = rh_text_gib(fmin(most, capacity) * c->job.gpus);
    g_autofree char *holds = rh_text_count(llround(whole));
    g_autofree char *states =
        rh_text_count(llround(rh_text_gib(rh_training_states_bytes(&plan->states))));
    g_autofree char *legal = rh_text_count(plan->legal_count);
    g_autofree char *cuts = rh_text_count(plan->cuts_count);
    g_string_append_printf(out, "%sno layout fits%s: %d GPU%s hold%s %s GiB", RH_TEXT_BOLD(style),
                           RH_TEXT_PLAIN(style), c->job.gpus, c->job.gpus == 1 ? "" : "s",
                           c->job.gpus == 1 ? "s" : "", holds);
    if (most < capacity)
        g_string_append(out, " within the limit");
    if (rh_training_states_bytes(&plan->states) > 0)
        g_string_append_printf(out, "; the training states\nof %s alone are %s GiB, %.1f GiB a GPU",
                               c->model->name, states,
                               rh_text_gib(rh_training_states_bytes(&plan->states)) / c->job.gpus);
    if (plan->legal_count > 0)
        g_string_append_printf(out, "\nlayouts: %s valid, 0 fit\n", legal);
    else
        g_string_append_printf(out, "\nlayouts: %s divisions of the model, none of which fits\n",
                               cuts);
    rh_report_append_near_misses(out, plan, G_MAXUINT);
    append_changes(out, plan);
}

void rh_report_append_no_plan(GString *out, const RhQuestion *q, const RhPlan *plan,
                              const RhPlanOptions *options, const RhReportStyle *style)
{
    if (plan->timed_out)
        append_timed_out(out, plan);
    else if (plan->fit_count > 0)
        append_all_too_large(out, plan);
    else
        append_nothing_fits(out, q, plan, options, style);
}
