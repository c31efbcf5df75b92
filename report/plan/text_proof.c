#include "report/plan/text_proof.h"

#include <math.h>

#include "report/format.h"
#include "report/plan/text_plan.h"

/* Appends "A printed step is sensitive: ..., move it by up to 1 %". */
static void append_sensitive(GString *text, double frac)
{
    g_string_append_printf(
        text,
        "a printed step is sensitive: changes of kernel times by 1e-10, or of the transport, move "
        "it by up to %.1g %%",
        100 * frac);
}

/* Appends that long steps are rehearsed with fewer micro-batches; the first row was also rehearsed
 * whole. */
static void append_steady(GString *text, const RhPlan *plan)
{
    if (plan->steady_count > 0)
        g_string_append_printf(text,
                               "; %" G_GINT64_FORMAT " of the steps are extrapolated from fewer "
                               "micro-batches (that of #1 is %.1g %% off)",
                               plan->steady_count, 100 * fmax(plan->steady_apart_frac, 1e-5));
}

/* Appends which layouts cannot be better than which row; rows after the first are the best of the
 * rehearsed ones. */
static void append_what(GString *text, const RhPlan *plan, const RhPlanOptions *options)
{
    guint rows = plan->beside ? (guint)options->top : plan->entries->len;
    bool each = options->variants || options->every_row || plan->beside;
    g_string_append_printf(
        text, "proved for simulated times: %sno other layout%s is faster than #%u by more than",
        each && !options->variants ? "except variants of these rows " : "",
        rh_report_margin_bytes(plan) > 0 ? " with that margin" : "", each ? rows : 1);
}

/* Bounds of what is left hold whatever moves the printed steps, which are known to no more than that. */
static void append_proved(GString *text, const RhPlan *plan, const RhPlanOptions *options,
                          bool verbose)
{
    double sensitive = rh_plan_sensitive_frac(plan);
    g_autofree char *gap = rh_text_number(100 * (options->gap_frac + sensitive), 2);
    append_what(text, plan, options);
    g_string_append_printf(text, " %s %%", gap);
    if (plan->paired_layers)
        g_string_append(text, " (whole layers recomputed: fewest or all)");
    if (verbose)
        append_steady(text, plan);
    if (sensitive > 0) {
        g_string_append(text, "; ");
        append_sensitive(text, sensitive);
        g_string_append(text, ": rows closer than that may change places");
    }
}

void rh_report_append_proof(GString *text, const RhPlan *plan, const RhPlanOptions *options,
                            bool verbose)
{
    double sensitive = rh_plan_sensitive_frac(plan);
    if (options->quick)
        g_string_append(text, "not proved: --quick chooses by lower bounds");
    else if (plan->proved)
        append_proved(text, plan, options, verbose);
    else if (options->objective != RH_OBJECTIVE_TIME && !plan->timed_out)
        g_string_append_printf(text, "not proved: bounds are on time, the objective is %s",
                               rh_objective_name(options->objective));
    else if (plan->estimated && !plan->timed_out)
        g_string_append(text, "not proved: with messages over TCP the bounds are estimates");
    else if (sensitive > 0) {
        g_string_append(text, "not proved: ");
        append_sensitive(text, sensitive);
    } else if (isfinite(plan->proof_bound_s) && plan->proof_bound_s > 0)
        g_string_append_printf(text,
                               "not proved: a layout that was not simulated may take only %.4g s",
                               plan->proof_bound_s);
    else
        g_string_append(text, "not proved");
    if (plan->timed_out)
        g_string_append(text, "; stopped by --timeout");
}
