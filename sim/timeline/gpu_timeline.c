#include "sim/timeline/gpu_timeline.h"

#include <string.h>

#include "sim/collective_role_sets.h"

#define NONE (-1)

typedef struct {
    const RhTaskIntervals *x;
    /* [interval]: the last of the intervals on its own rank that its task waited for; or NONE */
    int32_t *cause;
    RhCollectiveRoles *role_sets;
} Course;

/* State of walking one performer's compute lane. */
typedef struct {
    GArray *passes;
    double t_end_s; /* end of the last kernel */
} Walk;

/* --- causes --- */

static const RhTask *task_of(const RhTaskIntervals *x, int32_t span)
{
    return rh_program_task(x->p, rh_task_intervals_at(x, span)->task);
}

/* Finds the cause of each interval. Intervals are in the order in which they ended, so the latest
 * cause has the largest index. */
static void find_causes(Course *c, int32_t performer)
{
    const RhTaskIntervals *x = c->x;
    const RhRole *role = rh_task_intervals_role(x, performer);
    const GArray *spans = x->spans[performer];
    g_autofree int32_t *last = g_new(int32_t, role->tasks_count + 1);
    int32_t of_lane[RH_LANES_MAX];
    memset(last, 0xff, sizeof(int32_t) * ((size_t)role->tasks_count + 1));
    memset(of_lane, 0xff, sizeof of_lane);
    for (guint i = 0; i < spans->len; i++) {
        int32_t span = g_array_index(spans, int32_t, i), latest;
        const RhTask *t = task_of(x, span);
        latest = of_lane[t->lane];
        for (int32_t k = t->preds_first; k < t->preds_first + t->preds_count; k++)
            latest = MAX(latest, last[g_array_index(x->p->preds, int32_t, k) - role->tasks_first]);
        /* a mark passes on its own cause */
        while (latest != NONE && task_of(x, latest)->kind == RH_TASK_MARK)
            latest = c->cause[latest];
        c->cause[span] = latest;
        last[rh_task_intervals_at(x, span)->task - role->tasks_first] = span;
        of_lane[t->lane] = span;
    }
}

/* Returns the interval of `task` on `performer` in the same step as `span`, or NONE. */
static int32_t span_beside(const RhTaskIntervals *x, int32_t span, int32_t performer, int32_t task)
{
    const RhTaskInterval *s = rh_task_intervals_at(x, span);
    int32_t own =
        x->first[s->performer][s->task - rh_task_intervals_role(x, s->performer)->tasks_first];
    int32_t other = x->first[performer][task - rh_task_intervals_role(x, performer)->tasks_first];
    for (; own != span && own != NONE && other != NONE; own = x->next[own])
        other = x->next[other];
    return other;
}

/* Returns the interval at the other end of a message, or NONE. */
static int32_t span_at_peer(const RhTaskIntervals *x, int32_t span)
{
    const RhTask *t = task_of(x, span);
    int32_t peer = t->peer_task < 0
                       ? NONE
                       : rh_task_intervals_peer(x, rh_task_intervals_at(x, span)->performer, t);
    return peer == NONE ? NONE : span_beside(x, span, peer, t->peer_task);
}

/* Time from which the interval's transfer was under way: a receiver may have waited before the
 * message was sent. */
static double t_begun_s(const RhTaskIntervals *x, int32_t span)
{
    const RhTaskInterval *s = rh_task_intervals_at(x, span);
    int32_t sent = task_of(x, span)->kind == RH_TASK_RECV ? span_at_peer(x, span) : NONE;
    double t_sent_s = sent == NONE ? s->t_start_s : rh_task_intervals_at(x, sent)->t_start_s;
    return MIN(MAX(s->t_start_s, t_sent_s), s->t_end_s);
}

static bool waits_for_stages(const Course *c, const RhTask *task)
{
    for (int32_t i = task->preds_first; i < task->preds_first + task->preds_count; i++)
        if (rh_program_task(c->x->p, g_array_index(c->x->p->preds, int32_t, i))->kind ==
            RH_TASK_RECV)
            return true;
    int32_t m = c->role_sets->of[(gsize)task->role * c->x->p->groups->len + (gsize)task->group];
    return m >= 0 && rh_collective_role_set(c->role_sets, m)->roles_count > 1;
}

/* Reasons of an idle time: first `before`, then `wait`. */
typedef struct {
    RhWait before, wait;
    double before_s, rest_s;
    double late_from_s, late_s; /* the part of it when other members of a collective had not
                                 * arrived */
} Booking;

/* Finds from when, and how long, the members of collectives waited for the last one: those of
 * `cause`, and of its predecessors that ended since `t_start_s`. */
static void find_late(const Course *c, int32_t cause, double t_start_s, Booking *b)
{
    int32_t span = cause;
    while (span != NONE && task_of(c->x, span)->kind == RH_TASK_COLLECTIVE &&
           rh_task_intervals_at(c->x, span)->t_end_s > t_start_s) {
        int32_t own = c->cause[span];
        double ready_s =
            own == NONE ? t_start_s : MAX(t_start_s, rh_task_intervals_at(c->x, own)->t_end_s);
        double late_s = MAX(rh_task_intervals_at(c->x, span)->t_start_s - ready_s, 0);
        if (late_s > 0)
            b->late_from_s = ready_s;
        b->late_s += late_s;
        span = own;
    }
}

/* Explains the idle time from `t_start_s` to `t_end_s`, which `cause` ended. */
static Booking explain_idle(const Course *c, int32_t cause, double t_start_s, double t_end_s)
{
    Booking b = {.before = RH_WAIT_BUBBLE, .wait = RH_WAIT_BUBBLE, .rest_s = t_end_s - t_start_s};
    if (cause == NONE)
        return b;
    const RhTask *task = task_of(c->x, cause);
    bool message = task->kind == RH_TASK_SEND || task->kind == RH_TASK_RECV;
    if (task->kind == RH_TASK_COPY)
        b.wait = rh_copy_wait(task);
    else if (task->kind == RH_TASK_KERNEL && rh_lane_on_host(task->lane))
        b.wait = RH_WAIT_HOST;
    if (!message && task->kind != RH_TASK_COLLECTIVE)
        return b;
    b.wait = message ? rh_lane_transfer(task->lane) : rh_lane_wait(task->lane);
    b.before = rh_lane_bubble(task->lane);
    if (message || waits_for_stages(c, task)) {
        double moved_s = rh_task_intervals_at(c->x, cause)->t_end_s - t_begun_s(c->x, cause);
        b.before_s = b.rest_s - MIN(b.rest_s, moved_s);
        b.rest_s -= b.before_s;
    } else {
        find_late(c, cause, t_start_s, &b);
    }
    return b;
}

/* --- passes --- */

static RhGpuSegmentKind kind_of(const RhTask *task)
{
    bool of_batch = task->microbatch >= 0;
    if (of_batch && task->phase == RH_PHASE_FORWARD)
        return RH_SEGMENT_FORWARD;
    if (of_batch && (task->phase == RH_PHASE_BACKWARD || task->phase == RH_PHASE_RECOMPUTE))
        return RH_SEGMENT_BACKWARD;
    return task->phase == RH_PHASE_OPTIMIZER ? RH_SEGMENT_OPTIMIZER : RH_SEGMENT_OTHER;
}

static void add_idle(Walk *w, RhWait wait, bool late, double t_start_s, double t_end_s)
{
    RhGpuSegment idle = {.kind = RH_SEGMENT_IDLE,
                         .late = late,
                         .wait = (uint8_t)wait,
                         .microbatch = NONE,
                         .t_start_s = t_start_s,
                         .t_end_s = t_end_s};
    if (t_end_s > t_start_s)
        g_array_append_val(w->passes, idle);
}

/* Adds the idle time from the last kernel to `t_s`, inside the pass or after it. */
static void add_gap(const Course *c, Walk *w, int32_t cause, double t_s, RhGpuSegment *inside)
{
    if (t_s <= w->t_end_s)
        return;
    Booking b = explain_idle(c, cause, w->t_end_s, t_s);
    if (inside) {
        inside->wait_s[b.before] += b.before_s;
        inside->wait_s[b.wait] += b.rest_s;
        inside->late_s += b.late_s;
        return;
    }
    double t_rest_s = w->t_end_s + b.before_s;
    add_idle(w, b.before, false, w->t_end_s, t_rest_s);
    if (b.late_s > 0) {
        add_idle(w, b.wait, false, t_rest_s, b.late_from_s);
        add_idle(w, b.wait, true, b.late_from_s, b.late_from_s + b.late_s);
        t_rest_s = b.late_from_s + b.late_s;
    }
    add_idle(w, b.wait, false, t_rest_s, t_s);
}

static void add_kernel(const Course *c, Walk *w, int32_t span)
{
    const RhTaskInterval *s = rh_task_intervals_at(c->x, span);
    const RhTask *task = task_of(c->x, span);
    RhGpuSegmentKind kind = kind_of(task);
    RhGpuSegment *open =
        w->passes->len ? &g_array_index(w->passes, RhGpuSegment, w->passes->len - 1) : NULL;
    bool same = open && open->kind == kind && open->microbatch == task->microbatch;
    add_gap(c, w, c->cause[span], s->t_start_s, same ? open : NULL);
    if (same) {
        open->t_end_s = s->t_end_s;
    } else {
        RhGpuSegment pass = {.kind = (uint8_t)kind,
                             .microbatch = task->microbatch,
                             .t_start_s = s->t_start_s,
                             .t_end_s = s->t_end_s};
        g_array_append_val(w->passes, pass);
    }
    if (task->phase == RH_PHASE_RECOMPUTE)
        g_array_index(w->passes, RhGpuSegment, w->passes->len - 1).recompute_s +=
            s->t_end_s - s->t_start_s;
    w->t_end_s = s->t_end_s;
}

static GArray *passes_of(const Course *c, int32_t performer, double t_end_s)
{
    const GArray *spans = c->x->spans[performer];
    Walk w = {.passes = g_array_new(FALSE, FALSE, sizeof(RhGpuSegment))};
    for (guint i = 0; i < spans->len; i++) {
        int32_t span = g_array_index(spans, int32_t, i);
        const RhTask *task = task_of(c->x, span);
        if (task->kind == RH_TASK_KERNEL && task->lane == RH_LANE_COMPUTE)
            add_kernel(c, &w, span);
    }
    if (spans->len) { /* the last task's pass first, then the others */
        int32_t last = g_array_index(spans, int32_t, spans->len - 1);
        double t_last_s = rh_task_intervals_at(c->x, last)->t_end_s;
        add_gap(c, &w, last, t_last_s, NULL);
        add_idle(&w, RH_WAIT_END, false, MAX(t_last_s, w.t_end_s), t_end_s);
    }
    return w.passes;
}

/* --- critical path --- */

/* Index in another role of the same call of a group: roles that take part together make the same
 * calls in the same order. */
static int32_t call_of_role(const RhProgram *p, const RhTask *call, int32_t task, int32_t role)
{
    int32_t own = rh_role_next_call(p, call->role, call->group,
                                    rh_program_role(p, call->role)->tasks_first),
            other = rh_role_next_call(p, role, call->group, rh_program_role(p, role)->tasks_first);
    while (own != NONE && own != task && other != NONE) {
        own = rh_role_next_call(p, call->role, call->group, own + 1);
        other = rh_role_next_call(p, role, call->group, other + 1);
    }
    return other;
}

static int32_t cause_at_collective(const Course *c, int32_t span)
{
    const RhTaskIntervals *x = c->x;
    const RhTaskInterval *s = rh_task_intervals_at(x, span);
    const RhTask *t = task_of(x, span);
    int32_t m = c->role_sets->of[(gsize)t->role * x->p->groups->len + (gsize)t->group];
    int32_t latest = NONE;
    for (int32_t i = 0; m >= 0 && i < rh_collective_role_set(c->role_sets, m)->roles_count; i++) {
        int32_t role =
            rh_role_of_collective(c->role_sets, rh_collective_role_set(c->role_sets, m), i);
        int32_t task = role == t->role ? NONE : call_of_role(x->p, t, s->task, role);
        int32_t other = task == NONE || x->of_role[role] < 0
                            ? NONE
                            : span_beside(x, span, x->of_role[role], task);
        latest = other == NONE ? latest : MAX(latest, c->cause[other]);
    }
    return latest;
}

/* The last to end of the intervals that this one waited for, on its rank or on other members'. */
static int32_t critical_predecessor(const Course *c, int32_t span)
{
    const RhTask *t = task_of(c->x, span);
    int32_t own = c->cause[span];
    if (t->kind == RH_TASK_SEND || t->kind == RH_TASK_RECV)
        return MAX(own,
                   span_at_peer(c->x, span) == NONE ? NONE : c->cause[span_at_peer(c->x, span)]);
    return t->kind == RH_TASK_COLLECTIVE ? MAX(own, cause_at_collective(c, span)) : own;
}

static RhWait name_of(const RhTask *task)
{
    switch ((RhTaskKind)task->kind) {
    case RH_TASK_COLLECTIVE:
        return rh_lane_wait(task->lane);
    case RH_TASK_SEND:
    case RH_TASK_RECV:
        return rh_lane_transfer(task->lane);
    case RH_TASK_COPY:
        return rh_copy_wait(task);
    case RH_TASK_KERNEL:
        return rh_lane_on_host(task->lane) ? RH_WAIT_HOST : RH_WAIT_COMPUTE;
    case RH_TASK_NONE:
    case RH_TASK_MARK:
    case RH_TASK_LAST:
    default:
        return RH_WAIT_BUBBLE;
    }
}

static GArray *chain_of(const Course *c)
{
    GArray *chain = g_array_new(FALSE, FALSE, sizeof(RhCriticalStep));
    for (int32_t span = (int32_t)c->x->run->timeline->len - 1; span != NONE;
         span = critical_predecessor(c, span)) {
        const RhTaskInterval *s = rh_task_intervals_at(c->x, span);
        RhCriticalStep link = {s->performer, name_of(task_of(c->x, span)), t_begun_s(c->x, span),
                               s->t_end_s};
        g_array_append_val(chain, link);
    }
    for (guint i = 0; i < chain->len / 2; i++) {
        RhCriticalStep *a = &g_array_index(chain, RhCriticalStep, i),
                       *b = &g_array_index(chain, RhCriticalStep, chain->len - 1 - i), kept = *a;
        *a = *b;
        *b = kept;
    }
    return chain;
}

RhGpuTimeline *rh_gpu_timeline_new(const RhTaskIntervals *x)
{
    Course c = {.x = x,
                .cause = g_new(int32_t, x->run->timeline->len + 1),
                .role_sets = rh_collective_roles_new(x->p, NULL)};
    RhGpuTimeline *timeline = g_new0(RhGpuTimeline, 1);
    timeline->passes = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
    double t_end_s = x->run->timeline->len
                         ? rh_task_intervals_at(x, (int32_t)x->run->timeline->len - 1)->t_end_s
                         : 0;
    for (int32_t i = 0; c.role_sets && i < (int32_t)x->run->performers->len; i++)
        find_causes(&c, i);
    for (int32_t i = 0; c.role_sets && i < (int32_t)x->run->performers->len; i++)
        g_ptr_array_add(timeline->passes, passes_of(&c, i, t_end_s));
    timeline->chain = c.role_sets && x->run->timeline->len
                          ? chain_of(&c)
                          : g_array_new(FALSE, FALSE, sizeof(RhCriticalStep));
    rh_collective_roles_free(c.role_sets);
    g_free(c.cause);
    return timeline;
}

void rh_gpu_timeline_free(RhGpuTimeline *timeline)
{
    if (!timeline)
        return;
    g_ptr_array_unref(timeline->passes);
    g_array_unref(timeline->chain);
    g_free(timeline);
}
