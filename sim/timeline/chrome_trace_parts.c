#include "sim/timeline/chrome_trace_parts.h"

#include <math.h>

#include "base/units.h"
#include "sim/timeline/memory_timeline.h"

static int32_t gpu_of(const RhTaskIntervals *x, int32_t performer)
{
    return rh_program_gpu(x->p, rh_task_intervals_performer(x, performer)->rank);
}

/* --- text --- */

void rh_chrome_trace_quoted(GString *out, const char *text)
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

void rh_chrome_trace_us(GString *out, double t_s)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    g_string_append(out, g_ascii_formatd(text, sizeof text, "%.4f", t_s * 1e6));
}

const char *rh_chrome_trace_label(const RhProgram *p, int32_t label)
{
    return label >= 0 && label < (int32_t)p->labels->len
               ? g_ptr_array_index(p->labels, (guint)label)
               : "task";
}

char *rh_chrome_trace_pass(const RhTask *task)
{
    static const char letters[RH_PHASE_LAST] = {
        [RH_PHASE_FORWARD] = 'F', [RH_PHASE_BACKWARD] = 'B', [RH_PHASE_RECOMPUTE] = 'B'};
    char letter = letters[task->phase];
    return letter && task->microbatch >= 0 ? g_strdup_printf("%c %d", letter, task->microbatch)
                                           : NULL;
}

/* --- passes --- */

static void append_pass(GString *out, int32_t gpu, const char *name, double t_start_s,
                        double t_end_s)
{
    g_string_append(out, "{\"ph\":\"X\",\"name\":");
    rh_chrome_trace_quoted(out, name);
    g_string_append_printf(out, ",\"cat\":\"pass\",\"pid\":%d,\"tid\":%d,\"ts\":", gpu,
                           RH_TRACE_PASSES);
    rh_chrome_trace_us(out, t_start_s);
    g_string_append(out, ",\"dur\":");
    rh_chrome_trace_us(out, t_end_s - t_start_s);
    g_string_append(out, "},\n");
}

/* Text of a task's pass: its micro-batch, or the optimizer's phase. */
static char *pass_or_phase(const RhTask *task)
{
    char *pass = rh_chrome_trace_pass(task);
    if (!pass && task->phase == RH_PHASE_OPTIMIZER)
        pass = g_strdup(rh_phase_name(RH_PHASE_OPTIMIZER));
    return pass;
}

void rh_chrome_trace_passes(GString *out, const RhTaskIntervals *x, int32_t performer)
{
    g_autofree char *name = NULL;
    double t_start_s = 0, t_end_s = 0;
    const GArray *spans = x->spans[performer];
    for (guint i = 0; i < spans->len; i++) {
        const RhTaskInterval *span = rh_task_intervals_at(x, g_array_index(spans, int32_t, i));
        const RhTask *task = rh_program_task(x->p, span->task);
        g_autofree char *own = task->kind == RH_TASK_KERNEL ? pass_or_phase(task) : NULL;
        if (!own)
            continue;
        if (name && g_strcmp0(own, name) != 0) {
            append_pass(out, gpu_of(x, performer), name, t_start_s, t_end_s);
            g_clear_pointer(&name, g_free);
        }
        if (!name) {
            name = g_steal_pointer(&own);
            t_start_s = span->t_start_s;
        }
        t_end_s = span->t_end_s;
    }
    if (name)
        append_pass(out, gpu_of(x, performer), name, t_start_s, t_end_s);
}

/* --- memory --- */

void rh_chrome_trace_memory(GString *out, const RhTaskIntervals *x, int32_t performer)
{
    g_autoptr(GArray) held = rh_memory_timeline_new(x, performer);
    for (guint i = 0; i < held->len; i++) {
        const RhMemorySample *now = &g_array_index(held, RhMemorySample, i);
        char text[G_ASCII_DTOSTR_BUF_SIZE];
        g_string_append_printf(
            out, "{\"ph\":\"C\",\"name\":\"memory GiB\",\"pid\":%d,\"ts\":", gpu_of(x, performer));
        rh_chrome_trace_us(out, now->t_s);
        g_ascii_formatd(text, sizeof text, "%.6g", rh_memory_sample_bytes(now) / RH_GIB_BYTES);
        g_string_append_printf(out, ",\"args\":{\"GiB\":%s}},\n", text);
    }
}

/* --- arrows --- */

static void append_arrow_end(GString *out, const char *phase, int64_t id, int32_t gpu,
                             const RhTask *task, double t_s)
{
    g_string_append_printf(
        out,
        "{\"ph\":%s,\"name\":\"message\",\"cat\":\"message\",\"id\":%" G_GINT64_FORMAT
        ",\"pid\":%d,\"tid\":%d,\"ts\":",
        phase, id, gpu, task->lane);
    rh_chrome_trace_us(out, t_s);
    g_string_append(out, "},\n");
}

void rh_chrome_trace_arrows(GString *out, const RhTaskIntervals *x, int32_t performer,
                            int64_t *arrows)
{
    const RhRole *role = rh_task_intervals_role(x, performer);
    for (int32_t k = 0; k < role->tasks_count; k++) {
        const RhTask *send = rh_program_task(x->p, role->tasks_first + k);
        if (send->kind != RH_TASK_SEND || send->peer_task < 0)
            continue;
        int32_t to = rh_task_intervals_peer(x, performer, send);
        if (to < 0)
            continue;
        const RhTask *recv = rh_program_task(x->p, send->peer_task);
        int32_t from_span = x->first[performer][k],
                to_span =
                    x->first[to][send->peer_task - rh_task_intervals_role(x, to)->tasks_first];
        for (; from_span >= 0 && to_span >= 0;
             from_span = x->next[from_span], to_span = x->next[to_span]) {
            const RhTaskInterval *a = rh_task_intervals_at(x, from_span),
                                 *b = rh_task_intervals_at(x, to_span);
            append_arrow_end(out, "\"s\"", *arrows, gpu_of(x, performer), send, a->t_start_s);
            append_arrow_end(out, "\"f\",\"bp\":\"e\"", (*arrows)++, gpu_of(x, to), recv,
                             fmax(b->t_start_s, b->t_end_s - 1e-9));
        }
    }
}
