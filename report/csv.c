/* Results as CSV (RFC 4180, '.' as the decimal point in every locale). */
#include "report/report.h"

static const char csv_head[] =
    "rank,tp,pp,dp,cp,ep,vpp,microbatch,zero,recompute,schedule,sp,order,step_time_s,"
    "tokens_per_s_per_gpu,model_flops_per_s_per_gpu,mfu_frac,hfu_frac,memory_peak_bytes,"
    "memory_capacity_bytes,fits,bubble_frac,exposed_communication_frac\n";

static void append_number(GString *out, double value)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    g_string_append_printf(out, ",%s", g_ascii_formatd(text, sizeof text, "%.9g", value));
}

static void append_rehearsal(GString *out, guint rank, const RhRehearsal *r)
{
    const RhLayout *l = &r->layout;
    g_string_append_printf(out, "%u,%d,%d,%d,%d,%d,%d,%d,%d,%s,%s,%s,%s", rank, l->tp, l->pp, l->dp,
                           l->cp, l->ep, l->vpp, l->microbatch, l->zero,
                           rh_recompute_name(l->recompute), rh_schedule_kind_name(l->schedule),
                           l->sequence_parallel ? "on" : "off", rh_order_name(l->order));
    append_number(out, r->step_time_s);
    append_number(out, r->tokens_per_s_per_gpu);
    append_number(out, r->model_flops_per_s_per_gpu);
    append_number(out, r->mfu_frac);
    append_number(out, r->hfu_frac);
    append_number(out, r->memory.peak_bytes);
    append_number(out, r->memory_capacity_bytes);
    g_string_append(out, r->fits ? ",true" : ",false");
    append_number(out, rh_report_bubble_frac(r));
    append_number(out, rh_report_exposed_frac(r));
    g_string_append_c(out, '\n');
}

char *rh_report_plan_csv(const RhPlan *plan)
{
    GString *out = g_string_new(csv_head);
    for (guint i = 0; i < plan->entries->len; i++)
        append_rehearsal(out, i + 1, g_ptr_array_index(plan->entries, i));
    return g_string_free(out, FALSE);
}

char *rh_report_run_csv(const RhRehearsal *r)
{
    GString *out = g_string_new(csv_head);
    append_rehearsal(out, 1, r);
    return g_string_free(out, FALSE);
}
