#include "sim/trace.h"

#include <math.h>

struct RhTraceIndex {
    const RhProgram *p;
    const RhRun *run;
    int32_t **first;     /* [performer][task - role's first]: its span of the first step, or -1 */
    int32_t *next;       /* [span]: the same task's span of the next step, or -1 */
    GArray **spans;      /* [performer]: int32_t spans in the order they were recorded */
    int32_t *of_role;    /* [role]: a performer of it, or -1 */
    GHashTable *of_rank; /* rank -> performer + 1 */
};

static const RhSpanOfTime *span_at(const RhTraceIndex *x, int32_t span)
{
    return &g_array_index(x->run->timeline, RhSpanOfTime, span);
}

static const RhPerformer *performer_at(const RhTraceIndex *x, int32_t performer)
{
    return &g_array_index(x->run->performers, RhPerformer, performer);
}

static const RhRole *role_of(const RhTraceIndex *x, int32_t performer)
{
    return rh_program_role(x->p, performer_at(x, performer)->role);
}

static int32_t gpu_of(const RhTraceIndex *x, int32_t performer)
{
    return rh_program_gpu(x->p, performer_at(x, performer)->rank);
}

static void index_performers(RhTraceIndex *x)
{
    for (int32_t i = (int32_t)x->run->performers->len - 1; i >= 0; i--) {
        const RhPerformer *performer = performer_at(x, i);
        int32_t tasks = role_of(x, i)->tasks_count;
        x->of_role[performer->role] = i;
        g_hash_table_insert(x->of_rank, GINT_TO_POINTER(performer->rank), GINT_TO_POINTER(i + 1));
        x->first[i] = g_new(int32_t, tasks + 1);
        for (int32_t k = 0; k <= tasks; k++)
            x->first[i][k] = -1;
        x->spans[i] = g_array_new(FALSE, FALSE, sizeof(int32_t));
    }
}

RhTraceIndex *rh_trace_index_new(const RhProgram *p, const RhRun *run)
{
    RhTraceIndex *x = g_new0(RhTraceIndex, 1);
    *x = (RhTraceIndex){.p = p,
                        .run = run,
                        .first = g_new0(int32_t *, run->performers->len + 1),
                        .next = g_new(int32_t, run->timeline->len + 1),
                        .spans = g_new0(GArray *, run->performers->len + 1),
                        .of_role = g_new(int32_t, p->roles->len + 1),
                        .of_rank = g_hash_table_new(NULL, NULL)};
    for (guint i = 0; i < p->roles->len; i++)
        x->of_role[i] = -1;
    index_performers(x);
    for (int32_t i = (int32_t)run->timeline->len - 1; i >= 0; i--) {
        const RhSpanOfTime *span = span_at(x, i);
        int32_t *first =
            &x->first[span->performer][span->task - role_of(x, span->performer)->tasks_first];
        x->next[i] = *first;
        *first = i;
    }
    for (int32_t i = 0; i < (int32_t)run->timeline->len; i++)
        g_array_append_val(x->spans[span_at(x, i)->performer], i);
    return x;
}

void rh_trace_index_free(RhTraceIndex *x)
{
    if (!x)
        return;
    for (guint i = 0; i < x->run->performers->len; i++) {
        g_free(x->first[i]);
        g_array_unref(x->spans[i]);
    }
    g_hash_table_unref(x->of_rank);
    g_free(x->first);
    g_free(x->next);
    g_free(x->spans);
    g_free(x->of_role);
    g_free(x);
}

/* --- text --- */

void rh_trace_quoted(GString *out, const char *text)
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

void rh_trace_us(GString *out, double t_s)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    g_string_append(out, g_ascii_formatd(text, sizeof text, "%.4f", t_s * 1e6));
}

const char *rh_trace_label(const RhProgram *p, int32_t label)
{
    return label >= 0 && label < (int32_t)p->labels->len
               ? g_ptr_array_index(p->labels, (guint)label)
               : "task";
}

char *rh_trace_pass(const RhTask *task)
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
    rh_trace_quoted(out, name);
    g_string_append_printf(out, ",\"cat\":\"pass\",\"pid\":%d,\"tid\":%d,\"ts\":", gpu,
                           RH_TRACE_PASSES);
    rh_trace_us(out, t_start_s);
    g_string_append(out, ",\"dur\":");
    rh_trace_us(out, t_end_s - t_start_s);
    g_string_append(out, "},\n");
}

/* A micro-batch's kernels, or the optimizer's. */
static char *pass_or_phase(const RhTask *task)
{
    char *pass = rh_trace_pass(task);
    if (!pass && task->phase == RH_PHASE_OPTIMIZER)
        pass = g_strdup(rh_phase_name(RH_PHASE_OPTIMIZER));
    return pass;
}

void rh_trace_passes(GString *out, const RhTraceIndex *x, int32_t performer)
{
    g_autofree char *name = NULL;
    double t_start_s = 0, t_end_s = 0;
    const GArray *spans = x->spans[performer];
    for (guint i = 0; i < spans->len; i++) {
        const RhSpanOfTime *span = span_at(x, g_array_index(spans, int32_t, i));
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

typedef struct {
    double t_s, bytes;
    int32_t order;
} Change;

static int by_time(gconstpointer a, gconstpointer b)
{
    const Change *x = a, *y = b;
    return x->t_s < y->t_s ? -1 : x->t_s > y->t_s ? 1 : x->order - y->order;
}

/* What a step allocates again; the rest lies there from the first. */
static bool is_of_step(RhMemoryUse use)
{
    return use == RH_MEMORY_ACTIVATIONS || use == RH_MEMORY_RECOMPUTE || use == RH_MEMORY_LOGITS ||
           use == RH_MEMORY_COMMUNICATION;
}

/* When the step's span of the event's task begins; the end of it all behind the last task. */
static void add_changes(GArray *changes, const RhTraceIndex *x, int32_t performer,
                        const RhMemoryEvent *event)
{
    const RhRole *role = role_of(x, performer);
    int32_t local = event->at_task - role->tasks_first;
    int32_t span = local < role->tasks_count ? x->first[performer][local] : -1;
    for (; span >= 0; span = x->next[span]) {
        Change change = {span_at(x, span)->t_start_s, event->bytes, (int32_t)changes->len};
        g_array_append_val(changes, change);
        if (!is_of_step((RhMemoryUse)event->use))
            break;
    }
}

void rh_trace_memory(GString *out, const RhTraceIndex *x, int32_t performer)
{
    const RhRole *role = role_of(x, performer);
    g_autoptr(GArray) changes = g_array_new(FALSE, FALSE, sizeof(Change));
    for (int32_t i = 0; i < role->memory_count; i++) {
        const RhMemoryEvent *event =
            &g_array_index(x->p->memory, RhMemoryEvent, role->memory_first + i);
        if (event->tier == RH_MEMORY_TIER_HBM)
            add_changes(changes, x, performer, event);
    }
    g_array_sort(changes, by_time);
    double sum = 0;
    for (guint i = 0; i < changes->len; i++) {
        const Change *change = &g_array_index(changes, Change, i);
        sum += change->bytes;
        if (i + 1 < changes->len && g_array_index(changes, Change, i + 1).t_s == change->t_s)
            continue;
        g_string_append_printf(
            out, "{\"ph\":\"C\",\"name\":\"memory GiB\",\"pid\":%d,\"ts\":", gpu_of(x, performer));
        rh_trace_us(out, change->t_s);
        char text[G_ASCII_DTOSTR_BUF_SIZE];
        g_ascii_formatd(text, sizeof text, "%.6g", sum / 1073741824.0);
        g_string_append_printf(out, ",\"args\":{\"GiB\":%s}},\n", text);
    }
}

/* --- arrows --- */

static int32_t receiver_of(const RhTraceIndex *x, int32_t performer, const RhTask *send)
{
    int32_t rank = performer_at(x, performer)->rank + send->peer_delta;
    int32_t found = GPOINTER_TO_INT(g_hash_table_lookup(x->of_rank, GINT_TO_POINTER(rank)));
    return found ? found - 1 : x->of_role[rh_program_task(x->p, send->peer_task)->role];
}

static void append_arrow_end(GString *out, const char *phase, int64_t id, int32_t gpu,
                             const RhTask *task, double t_s)
{
    g_string_append_printf(
        out,
        "{\"ph\":%s,\"name\":\"message\",\"cat\":\"message\",\"id\":%" G_GINT64_FORMAT
        ",\"pid\":%d,\"tid\":%d,\"ts\":",
        phase, id, gpu, task->lane);
    rh_trace_us(out, t_s);
    g_string_append(out, "},\n");
}

void rh_trace_arrows(GString *out, const RhTraceIndex *x, int32_t performer, int64_t *arrows)
{
    const RhRole *role = role_of(x, performer);
    for (int32_t k = 0; k < role->tasks_count; k++) {
        const RhTask *send = rh_program_task(x->p, role->tasks_first + k);
        if (send->kind != RH_TASK_SEND || send->peer_task < 0)
            continue;
        int32_t to = receiver_of(x, performer, send);
        if (to < 0)
            continue;
        const RhTask *recv = rh_program_task(x->p, send->peer_task);
        int32_t from_span = x->first[performer][k],
                to_span = x->first[to][send->peer_task - role_of(x, to)->tasks_first];
        for (; from_span >= 0 && to_span >= 0;
             from_span = x->next[from_span], to_span = x->next[to_span]) {
            const RhSpanOfTime *a = span_at(x, from_span), *b = span_at(x, to_span);
            append_arrow_end(out, "\"s\"", *arrows, gpu_of(x, performer), send, a->t_start_s);
            append_arrow_end(out, "\"f\",\"bp\":\"e\"", (*arrows)++, gpu_of(x, to), recv,
                             fmax(b->t_start_s, b->t_end_s - 1e-9));
        }
    }
}
