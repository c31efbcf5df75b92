/* Computes the remaining path of each task: the longest path from its start to the end of the step,
 * with every collective and message at its time on idle links. Sharing of links and SMs and waits
 * for others only add to this lower bound. */
#include "sim/engine/exec/exec_private.h"

typedef struct {
    int32_t actor, task;
} Item;

/* State of the walk from the ends of the step back to its beginnings. */
typedef struct {
    RhExec *x;
    uint16_t **successors_left; /* per actor and task */
    int32_t **before_on_lane;   /* per actor and task; -1: none */
    uint16_t **arrived;         /* per call and ordinal: members whose successors are all done */
    GArray *ready;              /* Item */
} Walk;

static void pass_on(Walk *w, int32_t actor, int32_t task, double remaining_s)
{
    RhActor *a = &w->x->actors[actor];
    a->remaining_s[task] = MAX(a->remaining_s[task], remaining_s);
    if (--w->successors_left[actor][task] == 0) {
        Item item = {actor, task};
        g_array_append_val(w->ready, item);
    }
}

/* Sets the remaining path of a task; that of its predecessors is at least as long plus their own
 * time. */
static void settle_task(Walk *w, int32_t actor, int32_t task, double remaining_s)
{
    const RhExec *x = w->x;
    RhActor *a = &x->actors[actor];
    const RhTask *t = rh_actor_task(x, a, task);
    a->remaining_s[task] = remaining_s;
    for (int32_t k = 0; k < t->preds_count; k++)
        pass_on(w, actor,
                g_array_index(x->program->preds, int32_t, t->preds_first + k) -
                    a->role->tasks_first,
                remaining_s);
    if (w->before_on_lane[actor][task] >= 0)
        pass_on(w, actor, w->before_on_lane[actor][task], remaining_s);
}

static void settle_collective(Walk *w, Item item, const RhTask *t)
{
    RhExec *x = w->x;
    const RhActor *a = &x->actors[item.actor];
    int32_t at =
        x->quotient->call_of[(size_t)item.actor * x->program->groups->len + (size_t)t->group];
    int32_t ordinal = a->role->ordinal[item.task];
    const RhCollectiveCall *call = RH_AT(x->quotient->calls, RhCollectiveCall, at);
    if (++w->arrived[at][ordinal] < call->colours_count)
        return;
    const int32_t *colours = RH_AT(x->quotient->colours, int32_t, call->colours_first);
    int32_t kind = x->traffic->kind_of_task[a->role->tasks_first + item.task];
    int32_t plan = rh_exec_comm_collective(x, at, kind);
    double behind_s = 0;
    for (int pass = 0; pass < 2; pass++) /* compare, then set */
        for (int32_t i = 0; i < call->colours_count; i++) {
            const RhActor *b = &x->actors[colours[i]];
            int32_t task = b->role->calls[b->role->calls_first[t->group] + ordinal];
            if (pass == 0)
                behind_s = MAX(behind_s, b->remaining_s[task]);
            else
                settle_task(w, colours[i], task,
                            RH_AT(x->comm_plans, RhCommPlan, plan)->total_s + behind_s);
        }
}

static double message_s(RhExec *x, int32_t sender, int32_t send)
{
    const RhActor *a = &x->actors[sender];
    int32_t peer = x->traffic->kind_of_task[a->role->tasks_first + send];
    int32_t pattern = RH_AT(x->traffic->peers, RhPeer, peer)->pattern;
    int32_t plan = rh_exec_comm_message(x, sender, pattern, rh_actor_task(x, a, send)->bytes);
    return RH_AT(x->comm_plans, RhCommPlan, plan)->total_s;
}

/* Sets both ends of a message, which end together. */
static void settle_message(Walk *w, Item item, const RhTask *t)
{
    RhExec *x = w->x;
    int32_t other = rh_exec_peer(x, &x->actors[item.actor], t);
    const RhActor *b = other < 0 ? NULL : &x->actors[other];
    int32_t task = b ? t->peer_task - b->role->tasks_first : -1;
    if (task < 0 || task >= b->role->tasks_count ||
        rh_exec_peer(x, b, rh_actor_task(x, b, task)) != item.actor)
        /* its remaining path stays that of its own successors, which is shorter */
        return;
    w->successors_left[item.actor][item.task] = UINT16_MAX; /* marks it as arrived */
    if (w->successors_left[other][task] != UINT16_MAX)
        return;
    bool sends = t->kind == RH_TASK_SEND;
    double behind_s = MAX(x->actors[item.actor].remaining_s[item.task], b->remaining_s[task]);
    behind_s += message_s(x, sends ? item.actor : other, sends ? item.task : task);
    settle_task(w, item.actor, item.task, behind_s);
    settle_task(w, other, task, behind_s);
}

static void settle_item(Walk *w, Item item)
{
    RhExec *x = w->x;
    const RhActor *a = &x->actors[item.actor];
    const RhTask *t = rh_actor_task(x, a, item.task);
    double own_s = a->role->duration_s[item.task];
    if (t->kind == RH_TASK_COLLECTIVE) {
        settle_collective(w, item, t);
        return;
    }
    if (t->kind == RH_TASK_SEND || t->kind == RH_TASK_RECV) {
        settle_message(w, item, t);
        return;
    }
    if (t->kind == RH_TASK_COPY)
        own_s = message_s(x, item.actor, item.task);
    else if (t->kind == RH_TASK_KERNEL && !rh_lane_on_host(t->lane))
        own_s /= a->own_speed;
    settle_task(w, item.actor, item.task, a->remaining_s[item.task] + own_s);
}

static void begin_actor(Walk *w, int32_t actor)
{
    RhActor *a = &w->x->actors[actor];
    int32_t n = a->role->tasks_count, last[RH_LANES_MAX];
    a->remaining_s = g_new0(double, n + 1);
    w->successors_left[actor] = g_new(uint16_t, n + 1);
    w->before_on_lane[actor] = g_new(int32_t, n + 1);
    for (int32_t lane = 0; lane < RH_LANES_MAX; lane++)
        last[lane] = -1;
    for (int32_t task = 0; task < n; task++) {
        int32_t lane = rh_actor_task(w->x, a, task)->lane;
        int32_t count = a->role->successors_first[task + 1] - a->role->successors_first[task];
        w->before_on_lane[actor][task] = last[lane];
        last[lane] = task;
        w->successors_left[actor][task] = (uint16_t)MIN(count, UINT16_MAX - 1);
        if (count == 0) {
            Item item = {actor, task};
            g_array_append_val(w->ready, item);
        }
    }
}

void rh_exec_find_remaining_paths(RhExec *x)
{
    uint32_t calls = x->quotient->calls->len;
    g_autoptr(GArray) ready = g_array_new(FALSE, FALSE, sizeof(Item));
    Walk w = {.x = x, .ready = ready};
    w.successors_left = g_new0(uint16_t *, x->actors_count + 1);
    w.before_on_lane = g_new0(int32_t *, x->actors_count + 1);
    w.arrived = rh_exec_new_arrivals(x);
    for (int32_t i = 0; i < x->actors_count; i++)
        begin_actor(&w, i);
    while (ready->len > 0) {
        Item item = *RH_AT(ready, Item, ready->len - 1);
        g_array_set_size(ready, ready->len - 1);
        settle_item(&w, item);
    }
    for (int32_t i = 0; i < x->actors_count; i++) {
        g_free(w.successors_left[i]);
        g_free(w.before_on_lane[i]);
    }
    for (uint32_t m = 0; m < calls; m++)
        g_free(w.arrived[m]);
    g_free(w.successors_left);
    g_free(w.before_on_lane);
    g_free(w.arrived);
}
