/* Labelled lines of the answer of `plan`. */
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
        g_autofree char *line = g_strdup_printf("%s: %s", title, miss->reason);
        rh_report_append_labelled(out, "near miss", line);
    }
}
