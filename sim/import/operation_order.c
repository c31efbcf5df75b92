/* Orders all operations so that each comes after its predecessors, over all ranks; messages and
 * collectives end at one place for all that take part. Lanes filled in this order cannot block each
 * other. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/heap.h"
#include "sim/import/imported_trace.h"

#define RING_MAX 6 /* operations of a cycle that are named */

typedef struct {
    double t_s;
    int32_t op;
} Ready;

typedef struct {
    const RhImportedTrace *f;
    const RhPlatform *platform;
    RhImportedOrder *out;
    GArray *heap;      /* Ready */
    int32_t *waits;    /* per op: waits left */
    double *t_ready_s; /* per op: latest end of its predecessors */
    bool *reached;     /* per op: popped */
    int32_t *after;    /* per wait, by predecessor: indices into f->waits */
    int32_t *after_first;
    double *free_s;         /* per rank: when its GPU is free */
    int32_t *arrived;       /* per call: members that have arrived */
    int32_t *calls_first;   /* per team, one more at the end: into arrived */
    int32_t *size;          /* per team: members */
    int32_t *members;       /* per call: ops, as they arrive */
    int32_t *members_first; /* per call */
    int32_t done;
} Order;

double rh_imported_trace_compute_s(const RhImportedOp *op, const RhDevice *device)
{
    if (op->seconds >= 0)
        return op->seconds;
    const RhDeviceCurves *c = &device->curves;
    double flops_per_s =
        device->peak_flops_per_s[RH_DTYPE_BF16].value * c->gemm_peak_frac[RH_DTYPE_BF16].value;
    double bytes_per_s = device->hbm_bytes_per_s.value * c->memory_peak_frac.value;
    return fmax(flops_per_s > 0 ? op->flops / flops_per_s : 0,
                bytes_per_s > 0 ? op->bytes / bytes_per_s : 0);
}

/* --- heap: the earliest first, then by order in the files --- */

static inline bool is_earlier(const Ready *a, const Ready *b)
{
    return a->t_s < b->t_s || (a->t_s == b->t_s && a->op < b->op);
}

RH_HEAP(ready_heap, Ready, is_earlier)

/* --- reaching operations --- */

static void emit_step(Order *o, int32_t op, RhImportedWhat what)
{
    RhImportedStep step = {op, (uint8_t)what};
    g_array_append_val(o->out->steps[rh_imported_trace_op(o->f, op)->rank], step);
}

static void release(Order *o, int32_t op, bool begins, double t_s)
{
    for (int32_t k = o->after_first[op]; k < o->after_first[op + 1]; k++) {
        const RhImportedWait *wait = &g_array_index(o->f->waits, RhImportedWait, o->after[k]);
        if (wait->begins != begins)
            continue;
        o->t_ready_s[wait->op] = fmax(o->t_ready_s[wait->op], t_s);
        if (--o->waits[wait->op] == 0)
            ready_heap_push(o->heap, (Ready){o->t_ready_s[wait->op], wait->op});
    }
}

static void end_op(Order *o, int32_t op, double t_s)
{
    emit_step(o, op, RH_IMPORTED_END);
    o->out->t_end_s[op] = t_s;
    o->done++;
    release(o, op, false, t_s);
}

/* Time of a message: latency, and bytes over the slowest link of the idle route. */
static double message_s(const Order *o, const RhImportedOp *send)
{
    RhLink links[RH_ROUTE_MAX];
    int hops = rh_platform_route(o->platform, send->rank, send->peer, links);
    double slowest = HUGE_VAL;
    for (int i = 0; i < hops; i++)
        slowest = fmin(slowest, rh_platform_link_bytes_per_s(o->platform, links[i]));
    return rh_platform_route_latency_s(o->platform, send->rank, send->peer) + send->bytes / slowest;
}

/* Reaches an eager message: a send ends without its receive; the receive when both its predecessors
 * and the message have arrived. */
static void reach_eager(Order *o, int32_t op)
{
    const RhImportedOp *x = rh_imported_trace_op(o->f, op);
    int32_t mate = x->mate, send = x->kind == RH_IMPORTED_SEND ? op : mate;
    int32_t recv = send == op ? mate : op;
    if (send == op) {
        emit_step(o, recv, RH_IMPORTED_ARRIVAL);
        end_op(o, send, o->t_ready_s[send] + message_s(o, x));
    }
    if (o->reached[mate])
        end_op(o, recv, fmax(o->t_ready_s[recv], o->out->t_end_s[send]));
}

static void reach_message(Order *o, int32_t op)
{
    const RhImportedOp *x = rh_imported_trace_op(o->f, op);
    if (rh_imported_trace_is_eager(o->f, x)) {
        reach_eager(o, op);
        return;
    }
    if (!o->reached[x->mate])
        return;
    double t_s =
        fmax(o->t_ready_s[op], o->t_ready_s[x->mate]) +
        message_s(o, x->kind == RH_IMPORTED_SEND ? x : rh_imported_trace_op(o->f, x->mate));
    int32_t mate = x->mate;
    end_op(o, MIN(op, mate), t_s);
    end_op(o, MAX(op, mate), t_s);
}

/* Reaches a collective: the last member ends it for all; bytes over the slowest link between the
 * first two. */
static void reach_call(Order *o, int32_t op)
{
    const RhImportedOp *x = rh_imported_trace_op(o->f, op);
    int32_t call = o->calls_first[x->team] + x->call, size = o->size[x->team];
    int32_t *there = o->members + o->members_first[call];
    there[o->arrived[call]++] = op;
    if (o->arrived[call] < size)
        return;
    double t_s = 0;
    for (int32_t i = 0; i < size; i++)
        t_s = fmax(t_s, o->t_ready_s[there[i]]);
    if (size > 1) {
        RhImportedOp hop = *rh_imported_trace_op(o->f, there[0]);
        hop.peer = rh_imported_trace_op(o->f, there[1])->rank;
        t_s += message_s(o, &hop);
    }
    for (int32_t i = 0; i < size; i++)
        end_op(o, there[i], t_s);
}

static void reach_op(Order *o, Ready next)
{
    const RhImportedOp *x = rh_imported_trace_op(o->f, next.op);
    double *free_s = &o->free_s[x->rank];
    o->reached[next.op] = true;
    if (o->out->marked[next.op]) {
        emit_step(o, next.op, RH_IMPORTED_BEGIN);
        release(o, next.op, true, next.t_s);
    }
    switch ((RhImportedKind)x->kind) {
    case RH_IMPORTED_COMPUTE:
        *free_s = fmax(*free_s, next.t_s) + rh_imported_trace_compute_s(x, o->platform->device);
        end_op(o, next.op, *free_s);
        break;
    case RH_IMPORTED_SEND:
    case RH_IMPORTED_RECV:
        reach_message(o, next.op);
        break;
    case RH_IMPORTED_COLLECTIVE:
        reach_call(o, next.op);
        break;
    case RH_IMPORTED_NOTHING:
    case RH_IMPORTED_HOST:
    case RH_IMPORTED_COPY:
        end_op(o, next.op, next.t_s + fmax(0, x->seconds));
        break;
    }
}

/* --- deadlocks --- */

/* An operation that `op`, which is not done, waits for; itself where there is none. */
static int32_t awaited(const Order *o, int32_t op)
{
    const RhImportedOp *x = rh_imported_trace_op(o->f, op);
    for (int32_t k = x->waits_first; k < x->waits_first + x->waits_count; k++) {
        const RhImportedWait *wait = &g_array_index(o->f->waits, RhImportedWait, k);
        if (wait->begins ? !o->reached[wait->on] : isnan(o->out->t_end_s[wait->on]))
            return wait->on;
    }
    if (x->mate >= 0 && !o->reached[x->mate])
        return x->mate;
    for (guint i = 0; x->kind == RH_IMPORTED_COLLECTIVE && i < o->f->ops->len; i++) {
        const RhImportedOp *other = rh_imported_trace_op(o->f, (int32_t)i);
        if (other->kind == x->kind && other->team == x->team && other->call == x->call &&
            !o->reached[i])
            return (int32_t)i;
    }
    return op;
}

static bool fail_stuck(const Order *o, GError **error)
{
    int32_t op = 0;
    while (!isnan(o->out->t_end_s[op]))
        op++;
    g_autofree bool *seen = g_new0(bool, o->f->ops->len + 1);
    for (; !seen[op]; op = awaited(o, op)) /* walk into the cycle */
        seen[op] = true;
    g_autoptr(GString) ring = g_string_new(NULL);
    int32_t at = op, shown = 0;
    do {
        g_autofree char *name = rh_imported_trace_name(o->f, at);
        if (shown++ < RING_MAX)
            g_string_append_printf(ring, "%s%s", shown > 1 ? ", which waits for " : "", name);
        at = awaited(o, at);
    } while (at != op);
    g_autofree char *first = rh_imported_trace_name(o->f, op);
    return rh_imported_trace_fail(o->f, op, NULL, error,
                                  "operations wait for each other: %s%s, which waits for %s",
                                  ring->str, shown > RING_MAX ? ", ..." : "", first);
}

/* --- construction --- */

static void link_waits(Order *o)
{
    guint count = o->f->waits->len;
    o->after_first = g_new0(int32_t, o->f->ops->len + 2);
    o->after = g_new(int32_t, count + 1);
    for (guint i = 0; i < count; i++) {
        const RhImportedWait *wait = &g_array_index(o->f->waits, RhImportedWait, i);
        o->after_first[wait->on + 2]++;
        o->waits[wait->op]++;
        o->out->marked[wait->on] = o->out->marked[wait->on] || wait->begins;
    }
    for (guint i = 0; i < o->f->ops->len; i++)
        o->after_first[i + 2] += o->after_first[i + 1];
    for (guint i = 0; i < count; i++)
        o->after[o->after_first[g_array_index(o->f->waits, RhImportedWait, i).on + 1]++] =
            (int32_t)i;
}

/* Counts the members and calls of each team: in a checked program all members make equally many. */
static void count_members(Order *o)
{
    guint teams = o->f->teams->len;
    o->size = g_new0(int32_t, teams + 1);
    o->calls_first = g_new0(int32_t, teams + 2);
    for (guint i = 0; i < o->f->ops->len; i++) {
        const RhImportedOp *x = rh_imported_trace_op(o->f, (int32_t)i);
        if (x->kind != RH_IMPORTED_COLLECTIVE)
            continue;
        o->size[x->team] += x->call == 0;
        o->calls_first[x->team + 1] = MAX(o->calls_first[x->team + 1], x->call + 1);
    }
    for (guint t = 0; t < teams; t++)
        o->calls_first[t + 1] += o->calls_first[t];
    o->arrived = g_new0(int32_t, o->calls_first[teams] + 1);
    o->members_first = g_new0(int32_t, o->calls_first[teams] + 1);
    int32_t room = 0;
    for (guint t = 0; t < teams; t++)
        for (int32_t k = o->calls_first[t]; k < o->calls_first[t + 1]; k++, room += o->size[t])
            o->members_first[k] = room;
    o->members = g_new0(int32_t, room + 1);
}

static RhImportedOrder *order_new(const RhImportedTrace *f)
{
    RhImportedOrder *out = g_new0(RhImportedOrder, 1);
    out->ranks_count = f->ranks_count;
    out->steps = g_new0(GArray *, f->ranks_count + 1);
    for (int32_t r = 0; r < f->ranks_count; r++)
        out->steps[r] = g_array_new(FALSE, FALSE, sizeof(RhImportedStep));
    out->t_end_s = g_new(double, f->ops->len + 1);
    for (guint i = 0; i < f->ops->len; i++)
        out->t_end_s[i] = (double)NAN;
    out->marked = g_new0(bool, f->ops->len + 1);
    return out;
}

RhImportedOrder *rh_imported_trace_order(const RhImportedTrace *f, const RhPlatform *platform,
                                         GError **error)
{
    g_autoptr(RhImportedOrder) out = order_new(f);
    Order o = {.f = f, .platform = platform, .out = out};
    o.heap = g_array_new(FALSE, FALSE, sizeof(Ready));
    o.waits = g_new0(int32_t, f->ops->len + 1);
    o.t_ready_s = g_new0(double, f->ops->len + 1);
    o.reached = g_new0(bool, f->ops->len + 1);
    o.free_s = g_new0(double, f->ranks_count + 1);
    link_waits(&o);
    count_members(&o);
    for (int32_t i = 0; i < (int32_t)f->ops->len; i++)
        if (o.waits[i] == 0)
            ready_heap_push(o.heap, (Ready){0, i});
    while (o.heap->len > 0)
        reach_op(&o, ready_heap_remove(o.heap, 0));
    bool whole = o.done == (int32_t)f->ops->len || fail_stuck(&o, error);
    void *blocks[] = {o.waits,   o.t_ready_s, o.reached,     o.after,   o.after_first,  o.free_s,
                      o.arrived, o.size,      o.calls_first, o.members, o.members_first};
    for (size_t i = 0; i < G_N_ELEMENTS(blocks); i++)
        g_free(blocks[i]);
    g_array_unref(o.heap);
    return whole ? g_steal_pointer(&out) : NULL;
}

void rh_imported_trace_order_free(RhImportedOrder *order)
{
    if (!order)
        return;
    for (int32_t r = 0; r < order->ranks_count; r++)
        g_array_unref(order->steps[r]);
    g_free(order->steps);
    g_free(order->t_end_s);
    g_free(order->marked);
    g_free(order);
}
