/* Converts operations into a program: a role for every rank, kernels in order on the compute lane,
 * concurrent operations on streams. A stream is used when the operation waits for the stream's last
 * task anyway, so that streams add no order of their own while there are enough of them. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/garray_access.h"
#include "sim/collective/collective.h"
#include "sim/import/imported_trace.h"
#include "sim/map64.h"

#define WIDTH          (1 + RH_STREAMS_MAX) /* lanes of a rank: compute, and streams */
#define PROCESSORS_MAX (RH_STREAMS_MAX / 8)
#define SOURCES_MAX    (RH_STREAMS_MAX / 2)
#define THIN_MAX       32 /* predecessors that are compared in pairs */

typedef struct {
    RhImportedTrace *f;
    const RhPlatform *platform;
    const RhImportedOrder *order;
    RhProgram *p;
    RhMap64 *bundle_of, *algorithm_of;
    int32_t *group_of; /* per team; -1: of one member */
    int32_t *task_of;  /* per op; -1: not yet */
    int32_t *mark_of;  /* per op: the mark of its beginning; -1: none */
    int32_t *recv_of;  /* per op: the task that receives a message without waiting; -1: none */
    /* of the current rank */
    int32_t first;          /* its first task */
    GArray *clocks;         /* int32_t, WIDTH per task: the last task of each lane that it waits
                             * for */
    int32_t length[WIDTH];  /* tasks of a lane */
    double t_free_s[WIDTH]; /* estimated end of its last task */
    int32_t last[WIDTH];    /* its last task */
    int32_t used;           /* lanes so far */
    RhMap64 *lane_of_processor, *lane_of_source, *number_of_source;
    int32_t sources;   /* sources numbered so far */
    bool owned[WIDTH]; /* used by a processor or a source */
} Writer;

/* --- lanes --- */

/* Number of a rank that messages come from, in order of first appearance. */
static int32_t number_of(Writer *w, int32_t source)
{
    int32_t *number = rh_map64_at(w->number_of_source, (uint64_t)source + 1, w->sources);
    w->sources += *number == w->sources;
    return *number;
}

static int32_t *clock_of(const Writer *w, int32_t task)
{
    return &g_array_index(w->clocks, int32_t, (guint)(task - w->first) * WIDTH);
}

static void wait_for_clock(int32_t *own, const int32_t *other)
{
    for (int32_t k = 0; k < WIDTH; k++)
        own[k] = MAX(own[k], other[k]);
}

static int32_t open_lane(Writer *w)
{
    return w->used < WIDTH ? w->used++ : -1;
}

/* Finds a stream whose last task `clock` waits for, or a new one, or the one that is free first. */
static int32_t find_stream(Writer *w, const int32_t *clock)
{
    int32_t soonest = -1;
    for (int32_t k = 1; k < w->used; k++) {
        if (w->owned[k])
            continue;
        if (w->length[k] <= clock[k])
            return k;
        if (soonest < 0 || w->t_free_s[k] < w->t_free_s[soonest])
            soonest = k;
    }
    int32_t fresh = open_lane(w);
    if (fresh >= 0)
        return fresh;
    w->f->queued++;
    return soonest;
}

/* Lane for a processor of the host, or for messages from one rank, which arrive in order. Those
 * beyond the first few share lanes. */
static int32_t lane_of(Writer *w, RhMap64 *lanes, int32_t number, int32_t most)
{
    int32_t *lane = rh_map64_at(lanes, (uint64_t)(number % most) + 1, -1);
    if (*lane < 0) {
        *lane = open_lane(w);
        w->owned[*lane] = true;
    }
    if (number >= most)
        w->f->queued++;
    return *lane;
}

static int32_t choose_lane(Writer *w, const RhImportedOp *o, RhTaskKind kind, const int32_t *clock)
{
    if (kind == RH_TASK_KERNEL && o->kind == RH_IMPORTED_COMPUTE)
        return 0;
    if (kind == RH_TASK_KERNEL)
        return lane_of(w, w->lane_of_processor, o->processor - 1, PROCESSORS_MAX);
    if (kind == RH_TASK_RECV && rh_imported_trace_is_eager(w->f, o))
        return lane_of(w, w->lane_of_source, number_of(w, o->peer), SOURCES_MAX);
    return find_stream(w, clock);
}

/* Adds the task after its predecessors; preds may be more than a task can have. */
static int32_t add_task(Writer *w, RhTask task, const RhImportedOp *o, double t_end_s,
                        GArray *preds)
{
    int32_t clock[WIDTH] = {0};
    for (guint i = 0; i < preds->len; i++)
        wait_for_clock(clock, clock_of(w, g_array_index(preds, int32_t, i)));
    int32_t lane = choose_lane(w, o, (RhTaskKind)task.kind, clock);
    if (w->length[lane] > 0)
        wait_for_clock(clock, clock_of(w, w->last[lane]));
    task.lane = (uint8_t)(lane == 0 ? RH_LANE_COMPUTE : RH_LANE_LAST + lane - 1);
    int32_t added =
        rh_program_add_task(w->p, task, RH_ELEMENTS(preds, int32_t), (int32_t)preds->len);
    clock[lane] = ++w->length[lane];
    w->t_free_s[lane] = t_end_s;
    w->last[lane] = added;
    g_array_append_vals(w->clocks, clock, WIDTH);
    return added;
}

static RhTask blank_task(Writer *w, RhTaskKind kind, const char *label)
{
    return (RhTask){.kind = (uint8_t)kind,
                    .layer = -1,
                    .microbatch = -1,
                    .label = rh_program_label(w->p, label),
                    .bundle = -1,
                    .group = -1,
                    .peer_task = -1};
}

/* Joins predecessors by marks where they are more than a task can have. */
static void join_preds(Writer *w, const RhImportedOp *o, GArray *preds)
{
    while (preds->len > UINT8_MAX) {
        guint from = preds->len - UINT8_MAX;
        g_autoptr(GArray) some = g_array_new(FALSE, FALSE, sizeof(int32_t));
        g_array_append_vals(some, &g_array_index(preds, int32_t, from), UINT8_MAX);
        int32_t mark = add_task(w, blank_task(w, RH_TASK_MARK, "join"), o, 0, some);
        g_array_set_size(preds, from);
        g_array_insert_val(preds, 0, mark);
    }
}

/* --- tasks --- */

static int32_t bundle_of(Writer *w, double seconds)
{
    int32_t *known = rh_map64_at(w->bundle_of, rh_bits64(seconds) + 1, -1);
    if (*known < 0)
        *known = rh_program_add_wait(w->p, seconds);
    return *known;
}

static RhAlgo algorithm_of(Writer *w, const RhImportedOp *o, int32_t group)
{
    uint64_t key = rh_mix64((uint64_t)(uint32_t)group << 8 | o->op, rh_bits64(o->bytes) + 1);
    int32_t *known = rh_map64_at(w->algorithm_of, key, -1);
    if (*known >= 0)
        return (RhAlgo)*known;
    int32_t size = rh_program_group(w->p, group)->size;
    g_autofree int32_t *nodes = g_new(int32_t, size);
    rh_group_members(rh_program_group(w->p, group), o->rank, nodes);
    for (int32_t i = 0; i < size; i++)
        nodes[i] = rh_platform_node_of(w->platform, nodes[i]);
    RhAlgo algo = rh_collective_choose((RhOp)o->op, size, nodes, o->bytes, w->platform, NULL);
    *rh_map64_at(w->algorithm_of, key, -1) = (int32_t)algo;
    return algo;
}

static RhTask task_of_op(Writer *w, const RhImportedOp *o)
{
    bool group = o->kind == RH_IMPORTED_COLLECTIVE && w->group_of[o->team] >= 0;
    static const uint8_t kinds[] = {[RH_IMPORTED_NOTHING] = RH_TASK_MARK,
                                    [RH_IMPORTED_COMPUTE] = RH_TASK_KERNEL,
                                    [RH_IMPORTED_HOST] = RH_TASK_KERNEL,
                                    [RH_IMPORTED_SEND] = RH_TASK_SEND,
                                    [RH_IMPORTED_RECV] = RH_TASK_RECV,
                                    [RH_IMPORTED_COPY] = RH_TASK_COPY,
                                    [RH_IMPORTED_COLLECTIVE] = RH_TASK_COLLECTIVE};
    bool alone = o->kind == RH_IMPORTED_COLLECTIVE && !group;
    RhTask t = blank_task(w, alone ? RH_TASK_MARK : (RhTaskKind)kinds[o->kind], o->name);
    if (t.kind == RH_TASK_KERNEL)
        t.bundle = bundle_of(w, rh_imported_trace_compute_s(o, w->platform->device));
    if (t.kind == RH_TASK_SEND || t.kind == RH_TASK_RECV)
        t.peer_delta = o->peer - o->rank;
    if (group) {
        t.op = o->op;
        t.group = w->group_of[o->team];
        t.algo = (uint8_t)algorithm_of(w, o, t.group);
    }
    if (t.kind == RH_TASK_COPY) {
        t.from = o->from;
        t.to = o->to;
    }
    if (t.kind != RH_TASK_KERNEL && t.kind != RH_TASK_MARK)
        t.bytes = o->bytes;
    return t;
}

/* Does `later` wait for `task`, or is it that task? */
static bool covers(const Writer *w, int32_t later, int32_t task)
{
    int32_t lane = rh_program_task(w->p, task)->lane;
    lane = lane < RH_LANE_LAST ? 0 : lane - RH_LANE_LAST + 1;
    return clock_of(w, task)[lane] <= clock_of(w, later)[lane];
}

/* Removes duplicates, and predecessors that other predecessors wait for. */
static void remove_implied(const Writer *w, GArray *preds)
{
    for (guint i = 0; preds->len <= THIN_MAX && i < preds->len;) {
        bool covered = false;
        for (guint k = 0; !covered && k < preds->len; k++)
            covered = k != i &&
                      covers(w, g_array_index(preds, int32_t, k), g_array_index(preds, int32_t, i));
        if (covered)
            g_array_remove_index_fast(preds, i);
        else
            i++;
    }
}

static void add_waits(Writer *w, int32_t op, GArray *preds)
{
    const RhImportedOp *o = rh_imported_trace_op(w->f, op);
    for (int32_t k = 0; k < o->waits_count; k++) {
        const RhImportedWait *wait =
            &g_array_index(w->f->waits, RhImportedWait, o->waits_first + k);
        int32_t task = wait->begins ? w->mark_of[wait->on] : w->task_of[wait->on];
        if (task >= 0)
            g_array_append_val(preds, task);
    }
}

/* Adds an operation with its dependencies as tasks; if it has a mark of its beginning, the mark has
 * waited for them. */
static void put_step(Writer *w, RhImportedStep step)
{
    const RhImportedOp *o = rh_imported_trace_op(w->f, step.op);
    double t_end_s = w->order->t_end_s[step.op];
    g_autoptr(GArray) preds = g_array_new(FALSE, FALSE, sizeof(int32_t));
    if (step.what == RH_IMPORTED_ARRIVAL) {
        w->recv_of[step.op] = add_task(w, task_of_op(w, o), o, t_end_s, preds);
        return;
    }
    if (w->mark_of[step.op] >= 0)
        g_array_append_val(preds, w->mark_of[step.op]);
    else
        add_waits(w, step.op, preds);
    bool lands = step.what == RH_IMPORTED_END && w->recv_of[step.op] >= 0;
    if (lands)
        g_array_append_val(preds, w->recv_of[step.op]);
    remove_implied(w, preds);
    join_preds(w, o, preds);
    bool nothing = step.what == RH_IMPORTED_END && o->kind == RH_IMPORTED_NOTHING;
    if (nothing && preds->len <= 1) { /* its successors wait for its only predecessor, or for
                                       * nothing */
        w->task_of[step.op] = preds->len ? g_array_index(preds, int32_t, 0) : -1;
        return;
    }
    if (step.what == RH_IMPORTED_BEGIN)
        w->mark_of[step.op] = add_task(w, blank_task(w, RH_TASK_MARK, "begins"), o, 0, preds);
    else
        w->task_of[step.op] =
            add_task(w, lands ? blank_task(w, RH_TASK_MARK, "received") : task_of_op(w, o), o,
                     t_end_s, preds);
}

static void put_rank(Writer *w, int32_t rank)
{
    RhStride alike = {1, MAX(w->f->alike_count, 1)};
    g_autofree char *label =
        w->f->alike_count > 1 ? g_strdup("all ranks") : g_strdup_printf("rank %d", rank);
    rh_program_begin_role(w->p, label, rank, &alike, w->f->alike_count > 1 ? 1 : 0);
    w->first = (int32_t)w->p->tasks->len;
    g_array_set_size(w->clocks, 0);
    memset(w->length, 0, sizeof w->length);
    rh_map64_clear(w->lane_of_processor);
    rh_map64_clear(w->lane_of_source);
    rh_map64_clear(w->number_of_source);
    w->sources = 0;
    memset(w->owned, 0, sizeof w->owned);
    w->used = 1;
    const GArray *steps = w->order->steps[rank];
    for (guint i = 0; i < steps->len; i++)
        put_step(w, g_array_index(steps, RhImportedStep, i));
    rh_program_end_role(w->p);
}

/* --- groups of ranks --- */

static bool add_group(Writer *w, int32_t team, GError **error)
{
    const char *name = w->f->teams->pdata[team];
    int32_t ranks = w->p->ranks_count, call = -1;
    g_autoptr(GArray) members = g_array_new(FALSE, FALSE, sizeof(int32_t));
    for (guint i = 0; i < w->f->ops->len; i++) {
        const RhImportedOp *o = rh_imported_trace_op(w->f, (int32_t)i);
        if (o->kind != RH_IMPORTED_COLLECTIVE || o->team != team || o->call != 0)
            continue;
        for (int32_t k = 0; k < MAX(w->f->alike_count, 1); k++) {
            int32_t member = o->rank + k;
            g_array_append_val(members, member);
        }
        call = (int32_t)i;
    }
    RhStride spans[RH_STRIDES_MAX] = {{0}};
    int32_t periods[RH_STRIDES_MAX] = {0};
    w->group_of[team] = -1;
    if (members->len < 2)
        return true;
    int32_t n = rh_imported_trace_spans(RH_ELEMENTS(members, int32_t), (int32_t)members->len, ranks,
                                        spans, periods);
    if (n < 0)
        return rh_imported_trace_fail(
            w->f, call,
            "groups are of ranks at one distance, or of a box of such, as cuts of "
            "a grid of ranks are",
            error, "the ranks of group \"%s\" follow no pattern", name);
    w->group_of[team] = rh_program_add_group(w->p, *name ? name : "all ranks", spans, n);
    for (int32_t k = 0; k < n; k++)
        rh_program_space_group(w->p, w->group_of[team], k, periods[k]);
    return true;
}

/* --- the whole program --- */

static bool check_room(const RhImportedTrace *f, const RhPlatform *platform, GError **error)
{
    int32_t ranks = MAX(f->ranks_count, f->alike_count);
    return ranks <= rh_platform_gpus(platform) ||
           rh_fail(error, RH_ERROR_INPUT, "%s: the program has %d ranks, %s has %d GPUs",
                   (const char *)g_ptr_array_index(f->files, 0), ranks, platform->name,
                   rh_platform_gpus(platform));
}

static bool put_all(Writer *w, GError **error)
{
    for (guint t = 0; t < w->f->teams->len; t++)
        if (!add_group(w, (int32_t)t, error))
            return false;
    for (int32_t r = 0; r < w->f->ranks_count; r++)
        put_rank(w, r);
    for (guint i = 0; i < w->f->ops->len; i++) {
        int32_t mate = rh_imported_trace_op(w->f, (int32_t)i)->mate;
        if (rh_imported_trace_op(w->f, (int32_t)i)->kind == RH_IMPORTED_SEND)
            rh_program_match(w->p, w->task_of[i],
                             w->recv_of[mate] >= 0 ? w->recv_of[mate] : w->task_of[mate]);
    }
    return rh_program_check(w->p, error);
}

RhProgram *rh_imported_trace_program(RhImportedTrace *f, const RhPlatform *platform, GError **error)
{
    if (!check_room(f, platform, error))
        return NULL;
    g_autoptr(RhImportedOrder) order = rh_imported_trace_order(f, platform, error);
    if (!order)
        return NULL;
    g_autoptr(RhProgram) p = rh_program_new(MAX(f->ranks_count, f->alike_count));
    g_autoptr(RhMap64) bundles = rh_map64_new(), algorithms = rh_map64_new();
    g_autoptr(GArray) clocks = g_array_new(FALSE, FALSE, sizeof(int32_t));
    g_autofree int32_t *groups = g_new0(int32_t, f->teams->len + 1);
    g_autofree int32_t *tasks = g_new(int32_t, f->ops->len + 1);
    g_autofree int32_t *marks = g_new(int32_t, f->ops->len + 1);
    memset(tasks, 0xff, sizeof(int32_t) * (f->ops->len + 1));
    memset(marks, 0xff, sizeof(int32_t) * (f->ops->len + 1));
    g_autofree int32_t *recvs = g_memdup2(marks, sizeof(int32_t) * (f->ops->len + 1));
    g_autoptr(RhMap64) processors = rh_map64_new(), sources = rh_map64_new();
    g_autoptr(RhMap64) numbers = rh_map64_new();
    Writer w = {.f = f,
                .platform = platform,
                .order = order,
                .p = p,
                .bundle_of = bundles,
                .algorithm_of = algorithms,
                .group_of = groups,
                .task_of = tasks,
                .mark_of = marks,
                .recv_of = recvs,
                .lane_of_processor = processors,
                .lane_of_source = sources,
                .number_of_source = numbers,
                .clocks = clocks};
    f->queued = 0;
    return put_all(&w, error) ? g_steal_pointer(&p) : NULL;
}
