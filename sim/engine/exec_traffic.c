/* Collectives and messages: who must arrive, latencies on timers, bytes as flows. */
#include <math.h>
#include <string.h>

#include "sim/engine/exec_private.h"

#define NONE (-1)

/* --- flows --- */

static int32_t flow_new(RhExec *x)
{
    int32_t flow = x->free_flow;
    if (flow == NONE) {
        flow = (int32_t)x->flows->len;
        g_array_set_size(x->flows, x->flows->len + 1);
    } else {
        x->free_flow = RH_AT(x->flows, RhLiveFlow, flow)->next;
    }
    return flow;
}

static void occupy(RhOccupants *link, int32_t flow)
{
    if (link->count == link->room) {
        link->room = link->room ? link->room * 2 : 4;
        link->flows = g_renew(int32_t, link->flows, link->room);
    }
    link->flows[link->count++] = flow;
}

static void leave(RhOccupants *link, int32_t flow)
{
    for (int32_t i = link->count - 1; i >= 0; i--)
        if (link->flows[i] == flow) {
            link->flows[i] = link->flows[--link->count];
            return;
        }
}

static void leave_links(RhExec *x, int32_t flow)
{
    const RhFlowClass *class =
        RH_AT(x->quotient->classes, RhFlowClass, RH_AT(x->flows, RhLiveFlow, flow)->class);
    const RhBridgeHop *hops = RH_AT(x->quotient->hops, RhBridgeHop, class->hops_first);
    for (int32_t h = 0; h < class->hops_count; h++)
        leave(&x->occupants[hops[h].link], flow);
}

/* Hands the last `bytes` of a flow to SimGrid. False when they are less than its grain. */
static bool make_fluid(RhExec *x, int32_t index, double bytes)
{
    RhLiveFlow *flow = RH_AT(x->flows, RhLiveFlow, index);
    double units = bytes * x->units_per_byte;
    if (units < 0.5)
        return false;
    flow->fluid = true;
    x->activities[flow->activity].fluid_count++;
    x->bytes_as_flows += bytes * RH_AT(x->quotient->classes, RhFlowClass, flow->class)->flows_count;
    rh_bridge_flow(flow->class, (uint64_t)llround(units), index);
    return true;
}

/* Is a flow still on the link at this time? Timed ones are only struck off when their phase ends.
 */
static bool is_moving(const RhExec *x, const RhLiveFlow *flow)
{
    return flow->fluid ? !flow->ended : flow->t_end_s > x->t_s;
}

/* Turns the timed flows on the links of `class` into SimGrid's; true when any flow is there. */
static bool revoke_on_links(RhExec *x, const RhFlowClass *class)
{
    bool shared = false;
    const RhBridgeHop *hops = RH_AT(x->quotient->hops, RhBridgeHop, class->hops_first);
    for (int32_t h = 0; h < class->hops_count; h++) {
        const RhOccupants *link = &x->occupants[hops[h].link];
        for (int32_t i = 0; i < link->count; i++) {
            RhLiveFlow *flow = RH_AT(x->flows, RhLiveFlow, link->flows[i]);
            if (!is_moving(x, flow))
                continue;
            shared = true;
            if (!flow->fluid) {
                double rate = RH_AT(x->quotient->classes, RhFlowClass, flow->class)->bytes_per_s;
                make_fluid(x, link->flows[i], (flow->t_end_s - x->t_s) * rate);
            }
        }
    }
    return shared;
}

static void start_flow(RhExec *x, int32_t activity, int32_t class_index, double bytes,
                       double *t_end_s)
{
    const RhFlowClass *class = RH_AT(x->quotient->classes, RhFlowClass, class_index);
    bool shared = revoke_on_links(x, class) || x->options->collapse_disabled;
    int32_t index = flow_new(x);
    RhLiveFlow *flow = RH_AT(x->flows, RhLiveFlow, index);
    *flow = (RhLiveFlow){.class = class_index,
                         .activity = activity,
                         .next = x->activities[activity].flows,
                         .bytes = bytes};
    x->activities[activity].flows = index;
    const RhBridgeHop *hops = RH_AT(x->quotient->hops, RhBridgeHop, class->hops_first);
    for (int32_t h = 0; h < class->hops_count; h++) {
        occupy(&x->occupants[hops[h].link], index);
        x->link_bytes[hops[h].link] +=
            bytes * hops[h].weight *
            RH_AT(x->quotient->links, RhQuotientLink, hops[h].link)->divisor;
    }
    x->bytes_total += bytes * class->flows_count;
    flow->t_end_s = x->t_s + bytes / class->bytes_per_s;
    if (!shared || !make_fluid(x, index, bytes))
        *t_end_s = MAX(*t_end_s, flow->t_end_s);
}

/* --- activities --- */

/* Calls visit for the flow classes of the phase under way. */
static void each_class(RhExec *x, int32_t activity,
                       void (*visit)(RhExec *, int32_t, int32_t, double *), double *value)
{
    const RhActivity *a = &x->activities[activity];
    const int32_t *colours = a->colours;
    int32_t count = 1; /* a message: its sender's */
    if (a->now.pattern < 0)
        return;
    if (a->meeting >= 0) {
        const RhMeeting *meeting = RH_AT(x->quotient->meetings, RhMeeting, a->meeting);
        colours = RH_AT(x->quotient->colours, int32_t, meeting->colours_first);
        count = meeting->colours_count;
    }
    for (int32_t i = 0; i < count; i++) {
        int64_t cell = (int64_t)a->now.pattern * x->actors_count + colours[i];
        int32_t end = x->quotient->classes_first[cell + 1];
        for (int32_t c = x->quotient->classes_first[cell]; c < end; c++)
            visit(x, activity, c, value);
    }
}

static void take_latency(RhExec *x, int32_t activity, int32_t class_index, double *latency_s)
{
    (void)activity;
    *latency_s = MAX(*latency_s, RH_AT(x->quotient->classes, RhFlowClass, class_index)->latency_s);
}

static void start_class(RhExec *x, int32_t activity, int32_t class_index, double *t_end_s)
{
    const RhTrafficPhase *phase = &x->activities[activity].now;
    double bytes =
        phase->bytes * phase->repeat * RH_AT(x->quotient->classes, RhFlowClass, class_index)->share;
    if (bytes > 0)
        start_flow(x, activity, class_index, bytes, t_end_s);
}

static void arm(RhExec *x, int32_t activity, double t_s)
{
    x->activities[activity].timed = true;
    rh_timers_arm(&x->timers, x->actors_count * RH_LANE_LAST + activity, t_s);
}

static void start_latency(RhExec *x, int32_t activity, double before_s)
{
    double latency_s = 0;
    x->activities[activity].moving = false;
    each_class(x, activity, take_latency, &latency_s);
    arm(x, activity, x->t_s + before_s + latency_s * x->activities[activity].now.repeat);
}

static void start_moving(RhExec *x, int32_t activity)
{
    double t_end_s = -1;
    x->activities[activity].moving = true;
    each_class(x, activity, start_class, &t_end_s);
    if (t_end_s >= 0)
        arm(x, activity, t_end_s);
}

static void hold_sms(RhExec *x, RhActivity *a, int32_t change)
{
    if (!a->holds)
        return;
    const int32_t *colours = a->colours;
    int32_t count = a->colours[0] == a->colours[1] ? 1 : 2;
    if (a->meeting >= 0) {
        const RhMeeting *meeting = RH_AT(x->quotient->meetings, RhMeeting, a->meeting);
        colours = RH_AT(x->quotient->colours, int32_t, meeting->colours_first);
        count = meeting->colours_count;
    }
    for (int32_t i = 0; i < count; i++)
        rh_exec_set_holders(x, colours[i], change);
}

static void finish(RhExec *x, int32_t activity)
{
    RhActivity a = x->activities[activity];
    hold_sms(x, &a, -1);
    g_array_append_val(x->free_activities, activity);
    if (a.meeting < 0) {
        rh_exec_complete(x, a.colours[0], a.tasks[0], a.t_start_s);
        rh_exec_complete(x, a.colours[1], a.tasks[1], a.t_start_s);
        return;
    }
    const RhMeeting *meeting = RH_AT(x->quotient->meetings, RhMeeting, a.meeting);
    const int32_t *colours = RH_AT(x->quotient->colours, int32_t, meeting->colours_first);
    for (int32_t i = 0; i < meeting->colours_count; i++) {
        const RhRoleTable *role = x->actors[colours[i]].role;
        int32_t task = role->calls[role->calls_first[meeting->group] + a.ordinal];
        rh_exec_complete(x, colours[i], task, a.t_start_s);
    }
}

/* The next phase that has flows, or the end. */
static void next_phase(RhExec *x, int32_t activity, double before_s)
{
    RhActivity *a = &x->activities[activity];
    while (a->phase < a->phases_end) {
        a->now = *RH_AT(x->traffic->phases, RhTrafficPhase, a->phase++);
        if (a->now.pattern >= 0) {
            start_latency(x, activity, before_s);
            return;
        }
    }
    if (before_s > 0) {
        a->now.pattern = NONE;
        start_latency(x, activity, before_s);
    } else {
        finish(x, activity);
    }
}

static void end_phase(RhExec *x, int32_t activity)
{
    RhActivity *a = &x->activities[activity];
    for (int32_t flow = a->flows; flow != NONE;) {
        RhLiveFlow *live = RH_AT(x->flows, RhLiveFlow, flow);
        int32_t next = live->next;
        if (!live->fluid)
            leave_links(x, flow);
        live->next = x->free_flow;
        x->free_flow = flow;
        flow = next;
    }
    a->flows = NONE;
    next_phase(x, activity, 0);
}

static void end_phase_if_over(RhExec *x, int32_t activity)
{
    const RhActivity *a = &x->activities[activity];
    if (a->moving && !a->timed && a->fluid_count == 0)
        end_phase(x, activity);
}

/* The latency is over, or all timed flows have ended. A timed flow that became SimGrid's only ends
 * later, so the timer stays right. */
void rh_exec_activity_due(RhExec *x, int32_t activity)
{
    x->activities[activity].timed = false;
    if (!x->activities[activity].moving)
        start_moving(x, activity);
    end_phase_if_over(x, activity);
}

void rh_exec_flow_done(RhExec *x, int32_t flow)
{
    RhLiveFlow *live = RH_AT(x->flows, RhLiveFlow, flow);
    live->ended = true;
    leave_links(x, flow);
    x->activities[live->activity].fluid_count--;
    end_phase_if_over(x, live->activity);
}

/* --- arrivals --- */

static int32_t activity_new(RhExec *x, RhActivity activity)
{
    int32_t index = g_array_index(x->free_activities, int32_t, x->free_activities->len - 1);
    g_array_set_size(x->free_activities, x->free_activities->len - 1);
    activity.flows = NONE;
    activity.t_start_s = x->t_s;
    activity.holds = activity.holds && !x->options->sm_sharing_disabled;
    x->activities[index] = activity;
    hold_sms(x, &activity, 1);
    return index;
}

static void start_collective(RhExec *x, int32_t meeting_index, int32_t ordinal, int32_t kind)
{
    const RhMeeting *meeting = RH_AT(x->quotient->meetings, RhMeeting, meeting_index);
    const RhTrafficKind *what = RH_AT(x->traffic->kinds, RhTrafficKind, kind);
    const RhTrafficSchedule *schedule =
        RH_AT(x->traffic->schedules, RhTrafficSchedule, what->schedules_first + meeting->shape);
    const int32_t *colours = RH_AT(x->quotient->colours, int32_t, meeting->colours_first);
    for (int32_t i = 0; i < meeting->colours_count; i++) {
        const RhRoleTable *role = x->actors[colours[i]].role;
        int32_t task = role->calls[role->calls_first[meeting->group] + ordinal];
        x->actors[colours[i]].state[task] = RH_STATE_RUNNING;
    }
    RhActivity activity = {.meeting = meeting_index,
                           .ordinal = ordinal,
                           .phase = schedule->phases_first,
                           .phases_end = schedule->phases_first + schedule->phases_count,
                           .holds = what->bytes > 0};
    next_phase(x, activity_new(x, activity), x->platform->collective_launch_s.value);
}

static void arrive_at_collective(RhExec *x, int32_t actor, int32_t task)
{
    const RhActor *a = &x->actors[actor];
    const RhTask *t = rh_actor_task(x, a, task);
    int32_t meeting =
        x->quotient->meeting_of[(size_t)actor * x->program->groups->len + (size_t)t->group];
    int32_t ordinal = a->role->ordinal[task];
    int32_t needed = RH_AT(x->quotient->meetings, RhMeeting, meeting)->colours_count;
    if (++x->arrived[meeting][ordinal] == needed)
        start_collective(x, meeting, ordinal,
                         x->traffic->kind_of_task[a->role->tasks_first + task]);
}

/* The colour at the other end; -1 when there is none. */
static int32_t peer_actor(const RhExec *x, const RhActor *actor, const RhTask *task)
{
    int32_t rank = actor->rank + task->peer_delta;
    return rank >= 0 && rank < x->program->ranks_count ? x->fold->colour_of_rank[rank] : NONE;
}

static void arrive_at_message(RhExec *x, int32_t actor, int32_t task)
{
    const RhActor *a = &x->actors[actor];
    const RhTask *t = rh_actor_task(x, a, task);
    int32_t other = peer_actor(x, a, t);
    if (other < 0)
        return;
    const RhRoleTable *role = x->actors[other].role;
    int32_t other_task = t->peer_task - role->tasks_first;
    if (t->peer_task < 0 || other_task < 0 || other_task >= role->tasks_count ||
        x->actors[other].state[other_task] != RH_STATE_ARRIVED)
        return;
    bool sends = t->kind == RH_TASK_SEND;
    int32_t sender = sends ? actor : other, send = sends ? task : other_task;
    RhActivity activity = {.meeting = NONE,
                           .colours = {sender, sends ? other : actor},
                           .tasks = {send, sends ? other_task : task},
                           .holds = t->bytes > 0};
    const RhPeer *peer =
        RH_AT(x->traffic->peers, RhPeer,
              x->traffic->kind_of_task[x->actors[sender].role->tasks_first + send]);
    x->actors[actor].state[task] = RH_STATE_RUNNING;
    x->actors[other].state[other_task] = RH_STATE_RUNNING;
    activity.now = (RhTrafficPhase){.pattern = peer->pattern, .repeat = 1, .bytes = t->bytes};
    start_latency(x, activity_new(x, activity), 0);
}

void rh_exec_arrive(RhExec *x, int32_t actor, int32_t task)
{
    x->actors[actor].state[task] = RH_STATE_ARRIVED;
    if (rh_actor_task(x, &x->actors[actor], task)->kind == RH_TASK_COLLECTIVE)
        arrive_at_collective(x, actor, task);
    else
        arrive_at_message(x, actor, task);
}
