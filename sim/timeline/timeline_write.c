/* Writes a timeline: tracks, a slice per task, and the additions of sim/timeline/chrome_trace_parts.c. */
#include <gio/gio.h>
#include <string.h>

#include "base/error.h"
#include "base/json/json.h"
#include "sim/timeline/chrome_trace_parts.h"
#include "sim/timeline/timeline_file.h"

#define EVENTS_MAX  2000000
#define CHUNK_BYTES (1 << 20)
/* Shapes of kernels named per bundle. */
#define SHAPES_MAX 4

typedef struct {
    const RhProgram *p;
    const RhRun *run;
    const RhTaskIntervals *index;
    GOutputStream *stream;
    GString *text;
} Writer;

static void append_number(GString *out, double value, const char *format)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    g_string_append(out, g_ascii_formatd(text, sizeof text, format, value));
}

static void append_track(GString *out, int32_t gpu, int32_t track, const char *name)
{
    g_string_append_printf(out,
                           "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,\"tid\":%d,"
                           "\"args\":{\"name\":\"%s\"}},\n"
                           "{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":%d,\"tid\":%d,"
                           "\"args\":{\"sort_index\":%d}},\n",
                           gpu, track, name, gpu, track, track == RH_TRACE_PASSES ? -1 : track);
}

/* Writes the names of the process and of the tracks of lanes that ran anything. */
static void append_tracks(const Writer *w, const RhPerformer *performer, const bool *used)
{
    const RhRole *role = rh_program_role(w->p, performer->role);
    int32_t gpu = rh_program_gpu(w->p, performer->rank);
    g_autofree char *name =
        g_strdup_printf("gpu %d (%s, stands for %d)", gpu, rh_chrome_trace_label(w->p, role->label),
                        performer->ranks_count);
    g_string_append_printf(
        w->text, "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"args\":{\"name\":", gpu);
    rh_chrome_trace_quoted(w->text, name);
    g_string_append(w->text, "}},\n");
    append_track(w->text, gpu, RH_TRACE_PASSES, "micro-batches");
    for (int lane = 0; lane < RH_LANES_MAX; lane++)
        if (used[lane])
            append_track(w->text, gpu, lane, rh_lane_name(lane));
}

static void append_shape(GString *out, const RhKernel *k)
{
    g_string_append(out, rh_kernel_class_name((RhKernelClass)k->cls));
    if (k->cls == RH_KERNEL_GEMM)
        g_string_append_printf(out, " %" G_GINT64_FORMAT "x%" G_GINT64_FORMAT "x%" G_GINT64_FORMAT,
                               k->m, k->n, k->k);
    else if (k->cls == RH_KERNEL_ATTENTION || k->cls == RH_KERNEL_ATTENTION_BACKWARD)
        g_string_append_printf(out,
                               " %dx%" G_GINT64_FORMAT "x%" G_GINT64_FORMAT "x%" G_GINT64_FORMAT,
                               k->heads, k->m, k->n, k->k);
}

/* Writes the FLOPs of a bundle, and the shapes of its largest kinds of kernel: GEMMs and
 * attention. */
static void append_kernels(GString *out, const RhProgram *p, const RhTask *task)
{
    const RhBundle *bundle = &g_array_index(p->bundles, RhBundle, task->bundle);
    g_autoptr(GString) shapes = g_string_new(NULL);
    double flops = 0;
    int named = 0;
    for (int32_t i = 0; i < bundle->count; i++) {
        const RhKernel *k = &g_array_index(p->kernels, RhKernel, bundle->first + i);
        bool large = k->cls == RH_KERNEL_GEMM || k->cls == RH_KERNEL_ATTENTION ||
                     k->cls == RH_KERNEL_ATTENTION_BACKWARD;
        flops += k->flops;
        if (!large || named++ >= SHAPES_MAX)
            continue;
        g_string_append(shapes, shapes->len ? ", " : "");
        append_shape(shapes, k);
    }
    g_string_append(out, ",\"flops\":");
    append_number(out, flops, "%.6g");
    if (shapes->len) {
        g_string_append(out, ",\"kernels\":");
        rh_chrome_trace_quoted(out, shapes->str);
    }
}

static void append_args(GString *out, const RhProgram *p, const RhTaskInterval *s,
                        const char *label)
{
    const RhTask *task = rh_program_task(p, s->task);
    g_string_append_printf(out, ",\"args\":{\"task\":%d,\"label\":", s->task);
    rh_chrome_trace_quoted(out, label);
    if (task->phase != RH_PHASE_NONE)
        g_string_append_printf(out, ",\"phase\":\"%s\"", rh_phase_name((RhPhase)task->phase));
    if (task->microbatch >= 0)
        g_string_append_printf(out, ",\"microbatch\":%d", task->microbatch);
    if (task->layer >= 0)
        g_string_append_printf(out, ",\"layer\":%d", task->layer);
    if (task->kind == RH_TASK_KERNEL && task->bundle >= 0)
        append_kernels(out, p, task);
    if (task->bytes > 0) {
        g_string_append(out, ",\"bytes\":");
        append_number(out, task->bytes, "%.0f");
    }
    if (task->kind == RH_TASK_COLLECTIVE)
        g_string_append_printf(out, ",\"algorithm\":\"%s\"", rh_algo_name((RhAlgo)task->algo));
    g_string_append(out, "}},\n");
}

static void append_slice(const Writer *w, const RhTaskInterval *s)
{
    const RhTask *task = rh_program_task(w->p, s->task);
    const RhPerformer *performer = &g_array_index(w->run->performers, RhPerformer, s->performer);
    const char *label = rh_chrome_trace_label(w->p, task->label);
    g_autofree char *pass = rh_chrome_trace_pass(task);
    g_autofree char *name = pass ? g_strdup_printf("%s %s", label, pass) : g_strdup(label);
    g_string_append(w->text, "{\"ph\":\"X\",\"name\":");
    rh_chrome_trace_quoted(w->text, name);
    g_string_append_printf(w->text, ",\"cat\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":",
                           rh_task_kind_name((RhTaskKind)task->kind),
                           rh_program_gpu(w->p, performer->rank), task->lane);
    rh_chrome_trace_us(w->text, s->t_start_s);
    g_string_append(w->text, ",\"dur\":");
    rh_chrome_trace_us(w->text, s->t_end_s - s->t_start_s);
    append_args(w->text, w->p, s, label);
}

static bool send_on(Writer *w, bool force, GError **error)
{
    if (!force && w->text->len < CHUNK_BYTES)
        return true;
    bool ok = g_output_stream_write_all(w->stream, w->text->str, w->text->len, NULL, NULL, error);
    g_string_truncate(w->text, 0);
    return ok;
}

static void append_all_tracks(const Writer *w)
{
    g_autofree bool(*used)[RH_LANES_MAX] = g_malloc0_n(w->run->performers->len + 1, sizeof *used);
    for (uint32_t i = 0; i < w->run->timeline->len; i++) {
        const RhTaskInterval *s = &g_array_index(w->run->timeline, RhTaskInterval, i);
        used[s->performer][rh_program_task(w->p, s->task)->lane] = true;
    }
    for (uint32_t i = 0; i < w->run->performers->len; i++)
        append_tracks(w, &g_array_index(w->run->performers, RhPerformer, i), used[i]);
}

static bool write_events(Writer *w, GError **error)
{
    int64_t arrows = 0;
    g_string_append(w->text, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
    append_all_tracks(w);
    for (uint32_t i = 0; i < w->run->timeline->len; i++) {
        append_slice(w, &g_array_index(w->run->timeline, RhTaskInterval, i));
        if (!send_on(w, false, error))
            return false;
    }
    for (int32_t i = 0; i < (int32_t)w->run->performers->len; i++) {
        rh_chrome_trace_passes(w->text, w->index, i);
        rh_chrome_trace_memory(w->text, w->index, i);
        rh_chrome_trace_arrows(w->text, w->index, i, &arrows);
        if (!send_on(w, false, error))
            return false;
    }
    g_string_append(w->text, "{\"ph\":\"M\",\"name\":\"trace_end\",\"pid\":0}]}\n");
    return send_on(w, true, error) && g_output_stream_close(w->stream, NULL, error);
}

/* Writes into memory, as a file is written whole (base/text/text_input.c). */
static bool write_memory(GOutputStream *raw, const RhProgram *p, const RhRun *run, GError **error)
{
    g_autoptr(GZlibCompressor) gzip = g_zlib_compressor_new(G_ZLIB_COMPRESSOR_FORMAT_GZIP, 6);
    g_autoptr(GOutputStream) stream = g_converter_output_stream_new(raw, G_CONVERTER(gzip));
    g_autoptr(RhTaskIntervals) index = rh_task_intervals_new(p, run);
    g_autoptr(GString) text = g_string_new(NULL);
    Writer w = {p, run, index, stream, text};
    return write_events(&w, error);
}

bool rh_timeline_write(const RhProgram *p, const RhRun *run, const char *path, GError **error)
{
    if (run->timeline->len > EVENTS_MAX)
        return rh_fail(error, RH_ERROR_INPUT,
                       "the timeline holds %u events; at most %d can be written\n"
                       "help: rehearse fewer micro-batches or layers, or one step",
                       run->timeline->len, EVENTS_MAX);
    g_autoptr(GOutputStream) raw = g_memory_output_stream_new_resizable();
    GMemoryOutputStream *bytes = G_MEMORY_OUTPUT_STREAM(raw);
    return write_memory(raw, p, run, error) &&
           rh_file_write(path, g_memory_output_stream_get_data(bytes),
                         g_memory_output_stream_get_data_size(bytes), error);
}
