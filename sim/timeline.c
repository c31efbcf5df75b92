#include "sim/timeline.h"

#include <gio/gio.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"

#define EVENTS_MAX 2000000

static const char *label_text(const RhProgram *p, int32_t label)
{
    return label >= 0 && label < (int32_t)p->labels->len
               ? g_ptr_array_index(p->labels, (guint)label)
               : "task";
}

static void append_quoted(GString *out, const char *text)
{
    g_string_append_c(out, '"');
    for (const char *c = text; *c; c++) {
        if (*c == '"' || *c == '\\')
            g_string_append_printf(out, "\\%c", *c);
        else if ((unsigned char)*c < 0x20)
            g_string_append_printf(out, "\\u%04x", (unsigned)*c);
        else
            g_string_append_c(out, *c);
    }
    g_string_append_c(out, '"');
}

/* Locale-free, with the digits asked for. */
static void append_number(GString *out, double value, const char *format)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    g_string_append(out, g_ascii_formatd(text, sizeof text, format, value));
}

static void append_track_names(GString *out, const RhProgram *p, const RhPerformer *performer)
{
    const RhRole *role = rh_program_role(p, performer->role);
    int32_t gpu = rh_program_gpu(p, performer->rank);
    g_autofree char *name = g_strdup_printf("gpu %d (%s, stands for %d)", gpu,
                                            label_text(p, role->label), performer->ranks_count);
    g_string_append_printf(
        out, "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"args\":{\"name\":", gpu);
    append_quoted(out, name);
    g_string_append(out, "}},\n");
    for (int lane = 0; lane < RH_LANE_LAST; lane++)
        g_string_append_printf(out,
                               "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,\"tid\":%d,"
                               "\"args\":{\"name\":\"%s\"}},\n",
                               gpu, lane, rh_lane_name((RhLane)lane));
}

static void append_event(GString *out, const RhProgram *p, const RhRun *run, const RhSpanOfTime *s)
{
    const RhTask *task = rh_program_task(p, s->task);
    const RhPerformer *performer = &g_array_index(run->performers, RhPerformer, s->performer);
    g_string_append(out, "{\"ph\":\"X\",\"name\":");
    append_quoted(out, label_text(p, task->label));
    g_string_append_printf(out, ",\"cat\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":",
                           rh_task_kind_name((RhTaskKind)task->kind),
                           rh_program_gpu(p, performer->rank), task->lane);
    append_number(out, s->t_start_s * 1e6, "%.4f");
    g_string_append(out, ",\"dur\":");
    append_number(out, (s->t_end_s - s->t_start_s) * 1e6, "%.4f");
    g_string_append_printf(out, ",\"args\":{\"task\":%d,\"layer\":%d,\"microbatch\":%d,\"bytes\":",
                           s->task, task->layer, task->microbatch);
    append_number(out, task->bytes, "%.0f");
    g_string_append(out, "}},\n");
}

static bool append_all(GString *chunk, GOutputStream *stream, bool force, GError **error)
{
    if (!force && chunk->len < 1 << 20)
        return true;
    bool ok = g_output_stream_write_all(stream, chunk->str, chunk->len, NULL, NULL, error);
    g_string_truncate(chunk, 0);
    return ok;
}

static bool write_events(GOutputStream *stream, const RhProgram *p, const RhRun *run,
                         GError **error)
{
    g_autoptr(GString) chunk = g_string_new("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
    for (uint32_t i = 0; i < run->performers->len; i++)
        append_track_names(chunk, p, &g_array_index(run->performers, RhPerformer, i));
    for (uint32_t i = 0; i < run->timeline->len; i++) {
        append_event(chunk, p, run, &g_array_index(run->timeline, RhSpanOfTime, i));
        if (!append_all(chunk, stream, false, error))
            return false;
    }
    g_string_append(chunk, "{\"ph\":\"M\",\"name\":\"trace_end\",\"pid\":0}]}\n");
    return append_all(chunk, stream, true, error) && g_output_stream_close(stream, NULL, error);
}

static bool write_file(const char *path, const RhProgram *p, const RhRun *run, GError **error)
{
    g_autoptr(GFile) file = g_file_new_for_path(path);
    g_autoptr(GFileOutputStream) raw =
        g_file_replace(file, NULL, FALSE, G_FILE_CREATE_REPLACE_DESTINATION, NULL, error);
    if (!raw)
        return false;
    g_autoptr(GZlibCompressor) gzip = g_zlib_compressor_new(G_ZLIB_COMPRESSOR_FORMAT_GZIP, 6);
    g_autoptr(GOutputStream) stream =
        g_converter_output_stream_new(G_OUTPUT_STREAM(raw), G_CONVERTER(gzip));
    return write_events(stream, p, run, error);
}

bool rh_timeline_write(const RhProgram *p, const RhRun *run, const char *path, GError **error)
{
    if (run->timeline->len > EVENTS_MAX)
        return rh_fail(error, RH_ERROR_INPUT,
                       "the timeline holds %u events; at most %d can be written\n"
                       "help: rehearse fewer micro-batches or layers, or one step",
                       run->timeline->len, EVENTS_MAX);
    g_autoptr(GError) local = NULL;
    g_autofree char *temporary = g_strdup_printf("%s.part", path);
    g_autoptr(GFile) from = g_file_new_for_path(temporary);
    g_autoptr(GFile) to = g_file_new_for_path(path);
    if (write_file(temporary, p, run, &local) &&
        g_file_move(from, to, G_FILE_COPY_OVERWRITE, NULL, NULL, NULL, &local))
        return true;
    g_file_delete(from, NULL, NULL);
    return rh_fail(error, RH_ERROR_IO, "cannot write the timeline %s: %s", path, local->message);
}

/* --- reading --- */

#define READ_MAX ((gsize)64 << 20)

static GByteArray *read_gzip(const char *path, GError **error)
{
    g_autoptr(GError) local = NULL;
    g_autoptr(GFile) file = g_file_new_for_path(path);
    g_autoptr(GFileInputStream) raw = g_file_read(file, NULL, &local);
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    if (!raw) {
        rh_fail(error, RH_ERROR_IO, "%s", local->message);
        return NULL;
    }
    g_autoptr(GZlibDecompressor) gunzip = g_zlib_decompressor_new(G_ZLIB_COMPRESSOR_FORMAT_GZIP);
    g_autoptr(GInputStream) stream =
        g_converter_input_stream_new(G_INPUT_STREAM(raw), G_CONVERTER(gunzip));
    guint8 chunk[1 << 16];
    gssize count;
    while ((count = g_input_stream_read(stream, chunk, sizeof chunk, NULL, &local)) > 0 &&
           bytes->len <= READ_MAX)
        g_byte_array_append(bytes, chunk, (guint)count);
    if (count == 0)
        return g_steal_pointer(&bytes);
    rh_fail(error, RH_ERROR_INPUT, "%s: %s", path,
            local ? local->message : "the timeline is longer than 64 MiB");
    return NULL;
}

/* A whole event; tracks' names and the like are passed over. */
static void read_event(RhJson *doc, const RhJsonNode *node, GArray *events)
{
    const RhJsonNode *args = rh_json_object_or_null(doc, node, "args");
    if (strcmp(rh_json_string_or(doc, node, "ph", ""), "X") == 0 && args) {
        RhTimelineEvent e = {.name = rh_json_string(doc, node, "name")};
        e.gpu = (int32_t)rh_json_int(doc, node, "pid", 0, INT32_MAX);
        e.lane = (int32_t)rh_json_int(doc, node, "tid", 0, RH_LANE_LAST - 1);
        e.task = (int32_t)rh_json_int(doc, args, "task", 0, INT32_MAX);
        e.t_start_s = 1e-6 * rh_json_number(doc, node, "ts", -1e15, 1e15);
        e.t_end_s = e.t_start_s + 1e-6 * rh_json_number(doc, node, "dur", -1e15, 1e15);
        g_array_append_val(events, e);
    }
    rh_json_consume_all(doc, node);
}

GArray *rh_timeline_read(const char *path, GError **error)
{
    g_autoptr(GByteArray) bytes = read_gzip(path, error);
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
