#include "report/pictures/gantt_bar_path.h"

struct RhBarPath {
    GString *path, *labels;
    int64_t at; /* end of the last box */
    int32_t count;
    int32_t run_from, run_to; /* labels of boxes of one label each, not yet written */
};

RhBarPath *rh_bar_path_new(void)
{
    RhBarPath *boxes = g_new0(RhBarPath, 1);
    boxes->path = g_string_new(NULL);
    boxes->labels = g_string_new(NULL);
    return boxes;
}

void rh_bar_path_free(RhBarPath *boxes)
{
    if (boxes == NULL)
        return;
    g_string_free(boxes->path, TRUE);
    g_string_free(boxes->labels, TRUE);
    g_free(boxes);
}

static void write_run(RhBarPath *boxes)
{
    const char *gap = boxes->labels->len ? " " : "";
    if (boxes->run_from != boxes->run_to)
        g_string_append_printf(boxes->labels, "%s%d-%d", gap, boxes->run_from, boxes->run_to);
    else
        g_string_append_printf(boxes->labels, "%s%d", gap, boxes->run_from);
}

static void add_label(RhBarPath *boxes, int32_t label)
{
    if (boxes->count && boxes->run_from >= 0 && label == boxes->run_to + 1) {
        boxes->run_to = label;
        return;
    }
    if (boxes->count)
        write_run(boxes);
    boxes->run_from = boxes->run_to = label;
}

void rh_bar_path_add(RhBarPath *boxes, int64_t from, int64_t to, int32_t label)
{
    from = MAX(from, boxes->at);
    to = MAX(to, from + 1);
    if (boxes->count == 0)
        g_string_append_printf(boxes->path, "M%" G_GINT64_FORMAT " 1", from);
    else if (from > boxes->at)
        g_string_append_printf(boxes->path, "V1h%" G_GINT64_FORMAT, from - boxes->at);
    if (boxes->count == 0 || from > boxes->at)
        g_string_append(boxes->path, "V0");
    g_string_append_printf(boxes->path, "h%" G_GINT64_FORMAT, to - from);
    add_label(boxes, label);
    boxes->at = to;
    boxes->count++;
}

void rh_bar_path_take(RhBarPath *boxes, GString *labels, GString *path)
{
    if (boxes->count == 0)
        return;
    write_run(boxes);
    g_string_append(boxes->path, "V1");
    g_string_append_len(labels, boxes->labels->str, (gssize)boxes->labels->len);
    g_string_append_len(path, boxes->path->str, (gssize)boxes->path->len);
    g_string_truncate(boxes->labels, 0);
    g_string_truncate(boxes->path, 0);
    boxes->at = 0;
    boxes->count = 0;
}
