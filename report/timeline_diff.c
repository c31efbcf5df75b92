#include "report/timeline_diff.h"

#include <math.h>

#include "base/text/text_table.h"
#include "base/units.h"

#define ROWS_MAX 20

static void append_answer(GString *out, const RhTimelineDiff *o)
{
    g_autofree char *a = rh_quantity_format(o->a_end_s, RH_QUANTITY_S, 4);
    g_autofree char *b = rh_quantity_format(o->b_end_s, RH_QUANTITY_S, 4);
    double off = o->a_end_s > 0 ? o->b_end_s / o->a_end_s - 1 : 0;
    double start = o->a_end_s > 0 ? o->median_start_error_s / o->a_end_s : 0;
    g_string_append_printf(out, "B ends after %s, A after %s: %+.1f %%\n", b, a, 100 * off);
    g_string_append_printf(out, "%d tasks in both; half of them start within %.2f %% of the step\n",
                           o->common_count, 100 * start);
    if (o->a_only_count + o->b_only_count > 0)
        g_string_append_printf(out,
                               "%d tasks in A alone, %d in B alone: perhaps not the same "
                               "program\n",
                               o->a_only_count, o->b_only_count);
}

static void append_part(GString *out, const RhTimelineDiff *o)
{
    if (!o->parted) {
        g_string_append_printf(out, "no task starts off by more than %.0f %% of the step\n",
                               100 * RH_OVERLAY_PARTED);
        return;
    }
    g_string_append_printf(
        out, "they part first at \"%s\", task %d of GPU %d: %.2f ms in A, %.2f ms in B\n",
        o->a_part.name, o->a_part.task, o->a_part.gpu, 1e3 * o->a_part.t_start_s,
        1e3 * o->b_part.t_start_s);
}

char *rh_report_timeline_diff_text(const RhTimelineDiff *o)
{
    GString *out = g_string_new(NULL);
    g_autoptr(RhTable) table = rh_table_new("<>>>>>");
    append_answer(out, o);
    append_part(out, o);
    rh_table_rowf(table, "task|count|A, mean|B, mean|longer in B|starts later in B");
    for (guint i = 0; i < o->rows->len && i < ROWS_MAX; i++) {
        const RhTimelineDiffRow *row = &g_array_index(o->rows, RhTimelineDiffRow, i);
        rh_table_rowf(table, "%s|%d|%.3f ms|%.3f ms|%+.3f ms|%+.2f ms", row->name, row->count,
                      1e3 * row->a_duration_s, 1e3 * row->b_duration_s,
                      1e3 * (row->b_duration_s - row->a_duration_s), 1e3 * row->late_s);
    }
    if (o->common_count > 0) {
        g_string_append_c(out, '\n');
        rh_table_append(table, out, "");
    }
    return g_string_free(out, FALSE);
}
