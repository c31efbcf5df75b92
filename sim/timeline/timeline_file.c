#include "sim/timeline/timeline_file.h"

#include <string.h>

#include "base/json/json.h"
#include "base/text/gzip_file.h"

#define READ_MAX ((gsize)64 << 20)

/* Reads a task's slice; names of tracks, passes, counters and arrows are skipped. */
static void read_event(RhJson *doc, const RhJsonNode *node, GArray *events)
{
    const RhJsonNode *args = rh_json_object_or_null(doc, node, "args");
    bool slice = strcmp(rh_json_string_or(doc, node, "ph", ""), "X") == 0;
    if (slice && args && rh_json_has(args, "task")) {
        RhTimelineEvent e = {.name = rh_json_string(doc, node, "name")};
        e.name = rh_json_string_or(doc, args, "label", e.name);
        e.gpu = (int32_t)rh_json_int(doc, node, "pid", 0, INT32_MAX);
        e.lane = (int32_t)rh_json_int(doc, node, "tid", 0, RH_LANES_MAX - 1);
        e.task = (int32_t)rh_json_int(doc, args, "task", 0, INT32_MAX);
        e.t_start_s = 1e-6 * rh_json_number(doc, node, "ts", -1e15, 1e15);
        e.t_end_s = e.t_start_s + 1e-6 * rh_json_number(doc, node, "dur", -1e15, 1e15);
        g_array_append_val(events, e);
    }
    rh_json_consume_all(doc, node);
}

GArray *rh_timeline_read(const char *path, GError **error)
{
    g_autoptr(GByteArray) bytes = rh_bytes_load(path, READ_MAX, error);
    g_autoptr(RhJson) doc =
        bytes ? rh_json_parse(path, (const char *)bytes->data, bytes->len, error) : NULL;
    return doc ? rh_timeline_parse(doc, error) : NULL;
}

GArray *rh_timeline_parse(RhJson *doc, GError **error)
{
    g_autoptr(GArray) events = g_array_new(FALSE, FALSE, sizeof(RhTimelineEvent));
    const RhJsonNode *root = rh_json_root(doc);
    const RhJsonNode *list = rh_json_array(doc, root, "traceEvents");
    rh_json_consume(doc, root, "displayTimeUnit");
    for (const RhJsonNode *node = list ? rh_json_first(list) : NULL; node;
         node = rh_json_next(node))
        read_event(doc, node, events);
    return rh_json_finish(doc, error) ? g_steal_pointer(&events) : NULL;
}
