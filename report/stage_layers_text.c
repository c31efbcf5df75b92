/* Writes how many layers each pipeline stage holds. */
#include "base/garray_access.h"
#include "report/report.h"
#include "strategies/layer_partition.h"

#define CHUNKS_LISTED 16

/* Appends "11 10 10 9"; of more than CHUNKS_LISTED "11, 10 (26 times), 9". */
static void append_counts(GString *out, const int32_t *layers, int32_t count)
{
    bool same = true;
    for (int32_t i = 1; i < count; i++)
        same &= layers[i] == layers[0];
    for (int32_t i = 0; i < count && count <= CHUNKS_LISTED && !same; i++)
        g_string_append_printf(out, "%s%d", i ? " " : "", layers[i]);
    if (count <= CHUNKS_LISTED && !same)
        return;
    for (int32_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && layers[next] == layers[i];)
            next++;
        g_string_append_printf(out, "%s%d", i ? ", " : "", layers[i]);
        if (next - i == count && count > 1)
            g_string_append(out, " each");
        else if (next - i > 1)
            g_string_append_printf(out, " (%d times)", next - i);
    }
}

char *rh_report_layout_title(const RhProblem *c, const RhLayout *layout)
{
    int32_t chunks = layout->pp * layout->vpp;
    g_autofree char *title = rh_layout_title(layout);
    if (layout->pp == 1)
        return g_steal_pointer(&title);
    g_autofree int32_t *layers = g_new0(int32_t, chunks);
    rh_partition_layers(c, layout, layers);
    GString *out = g_string_new(title);
    g_string_append(out, layout->vpp > 1 ? "; layers per model chunk: " : "; layers per stage: ");
    append_counts(out, layers, chunks);
    return g_string_free(out, FALSE);
}
