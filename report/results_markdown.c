/* Formats results as Markdown tables, for notes and issues. */
#include "base/units.h"
#include "report/format.h"
#include "report/plan/unsearched_report.h"
#include "report/report.h"
#include "report/warnings.h"

static const char table_head[] =
    "| # | layout | step s | MFU % | GiB/GPU | bubble % | exposed comm. % |\n"
    "|--:|:-------|-------:|------:|--------:|---------:|----------------:|\n";

static void append_question(GString *out, const RhQuestion *q)
{
    g_autofree char *model = rh_text_markdown(q->c->model->name);
    g_autofree char *platform = rh_text_markdown(q->platform_spec);
    g_string_append_printf(out,
                           "%s on %s: %d GPUs, global batch %" G_GINT64_FORMAT
                           ", sequence %" G_GINT64_FORMAT ", %s, stack %s. rehearse %s.\n\n",
                           model, platform, q->c->job.gpus, q->c->job.global_batch,
                           q->c->job.sequence, q->c->job.recipe->name, q->c->stack->name,
                           q->version);
}

static void append_row(GString *out, guint rank, const RhRehearsal *r)
{
    g_autofree char *layout = rh_layout_format(&r->layout);
    g_autofree char *step = rh_text_number(r->step_time_s, 4);
    g_string_append_printf(out, "| %u | `%s` | %s | %.1f | %.1f | %.1f | %.1f |\n", rank, layout,
                           step, 100 * r->mfu_frac, r->memory.peak_bytes / RH_GIB_BYTES,
                           100 * rh_report_bubble_frac(r), 100 * rh_report_exposed_frac(r));
}

static void append_trust(GString *out, const RhRehearsal *r)
{
    g_autofree char *error = rh_report_error(r);
    g_autofree char *odds = rh_report_odds(r);
    g_string_append_printf(out, "\nError bar of the step: %s.\n", error);
    if (!rh_report_mfu_plain(r)) {
        g_autofree char *peak = rh_report_mfu_peak(r);
        g_string_append_printf(out, "MFU is %s.\n", peak);
    }
    if (odds)
        g_string_append_printf(out, "Odds: %s.\n", odds);
}

char *rh_report_plan_markdown(const RhQuestion *q, const RhPlan *plan, const RhPlanOptions *options)
{
    GString *out = g_string_new(NULL);
    append_question(out, q);
    g_string_append(out, table_head);
    for (guint i = 0; i < plan->entries->len; i++)
        append_row(out, i + 1, g_ptr_array_index(plan->entries, i));
    if (plan->entries->len == 0)
        return g_string_free(out, FALSE);
    g_autoptr(GPtrArray) watches = rh_report_plan_warnings(q, plan, options);
    append_trust(out, g_ptr_array_index(plan->entries, 0));
    rh_report_warnings_markdown(out, watches);
    rh_report_unsearched_markdown(out, plan);
    return g_string_free(out, FALSE);
}

char *rh_report_run_markdown(const RhQuestion *q, const RhRehearsal *r)
{
    GString *out = g_string_new(NULL);
    append_question(out, q);
    g_string_append(out, table_head);
    append_row(out, 1, r);
    append_trust(out, r);
    g_autoptr(GPtrArray) watches = rh_report_run_warnings(q, r);
    rh_report_warnings_markdown(out, watches);
    return g_string_free(out, FALSE);
}
