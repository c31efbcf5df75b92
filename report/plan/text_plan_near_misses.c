/* Labelled lines of the answer of `plan`. */
#include "base/units.h"
#include "report/format.h"
#include "report/plan/text_plan.h"

void rh_report_append_labelled(GString *out, const char *label, const char *text)
{
    g_autofree char *line = g_strdup_printf("%s: %s", label, text);
    rh_text_wrap(out, line, 2, 79);
}

void rh_report_append_near_misses(GString *out, const RhPlan *plan, guint most)
{
    for (guint i = 0; i < MIN(plan->near_misses->len, most); i++) {
        const RhNearMiss *miss = g_ptr_array_index(plan->near_misses, i);
        g_autofree char *title = rh_layout_title(&miss->layout);
        bool faster = plan->entries->len > 0;
        g_autofree char *step = rh_quantity_format(miss->bound_s, RH_QUANTITY_S, 3);
        g_autofree char *least =
            faster ? g_strdup_printf("at least %s/step, ", step) : g_strdup("");
        g_autofree char *line = g_strdup_printf("%s: %s%s", title, least, miss->reason);
        rh_report_append_labelled(
            out, faster ? "perhaps faster, but too large" : "closest to fitting", line);
    }
}

double rh_report_margin_bytes(const RhPlan *plan)
{
    const RhRehearsal *best = g_ptr_array_index(plan->entries, 0);
    double bytes = best->memory_capacity_bytes - plan->ranked_bytes;
    return bytes >= 0.05 * RH_GIB_BYTES ? bytes : 0;
}
