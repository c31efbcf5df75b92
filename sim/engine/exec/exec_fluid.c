/* Collectives and messages as fluid flows: arrivals of members, latencies on timers, bytes as
 * flows. */
#include <string.h>

#include "sim/engine/exec/exec_private.h"

#define NONE (-1)

/* --- activities --- */

static const RhCommPlan *plan_of(const RhExec *x, const RhActivity *a)
{
    return RH_AT(x->comm_plans, RhCommPlan, a->plan);
}

static void arm(RhExec *x, int32_t activity, double t_s)
{
    x->activities[activity].timed = true;
    rh_timers_arm(&x->timers, x->transport_slot + activity, t_s);
}

static void hold_sms(RhExec *x, RhActivity *a, int32_t change)
{
    if (!a->holds)
        return;
    const int32_t *colours = a->colours;
    int32_t count = a->colours[0] == a->colours[1] ? 1 : 2;
    if (a->call >= 0) {
        const RhCollectiveCall *call = RH_AT(x->quotient->calls, RhCollectiveCall, a->call);
        colours = RH_AT(x->quotient->colours, int32_t, call->colours_first);
        count = call->colours_count;
    }
    for (int32_t i = 0; i < count; i++)
        rh_exec_set_holders(x, colours[i], change);
}

static void finish(RhExec *x, int32_t activity)
{
    RhActivity a = x->activities[activity];
    hold_sms(x, &a, -1);
    rh_exec_note_transfer(x, &a);
    x->activities[activity].live = false;
    x->free_activities[x->free_count++] = activity;
    if (a.message > 0) {
        rh_exec_tell(x, RH_EVENT_SENT, plan_of(x, &a)->job, a.message - 1);
        return;
    }
    if (a.call < 0) {
        rh_exec_complete(x, a.colours[0], a.tasks[0], a.t_start_s);
        if (a.tasks[1] != NONE)
            rh_exec_complete(x, a.colours[1], a.tasks[1], a.t_start_s);
        return;
    }
    const RhCollectiveCall *call = RH_AT(x->quotient->calls, RhCollectiveCall, a.call);
    const int32_t *colours = RH_AT(x->quotient->colours, int32_t, call->colours_first);
    for (int32_t i = 0; i < call->colours_count; i++) {
        const RhRoleTable *role = x->actors[colours[i]].role;
        int32_t task = role->calls[role->calls_first[call->group] + a.ordinal];
        rh_exec_complete(x, colours[i], task, a.t_start_s);
    }
}

static void start_round(RhExec *x, int32_t activity)
{
    RhActivity *a = &x->activities[activity];
    a->moving = false;
    if (a->round == plan_of(x, a)->rounds_end)
        finish(x, activity);
    else
        arm(x, activity, x->t_s + RH_AT(x->comm_rounds, RhCommRound, a->round)->latency_s);
}

static void start_moving(RhExec *x, int32_t activity)
{
    RhActivity *a = &x->activities[activity];
    const RhTrafficRound *round = &RH_AT(x->comm_rounds, RhCommRound, a->round)->what;
    double t_end_s = -1;
    a->moving = true;
    RhClassRange range = rh_exec_classes(x, plan_of(x, a), round->pattern);
    for (int32_t class = range.first; class < range.end; class ++) {
        double share = RH_AT(x->quotient->classes, RhFlowClass, class)->share;
        double bytes = round->bytes * round->repeat * share;
        if (bytes > 0)
            rh_exec_flow_start(x, activity, class, bytes, &t_end_s);
    }
    if (t_end_s >= 0)
        arm(x, activity, t_end_s);
}

static void end_round_if_over(RhExec *x, int32_t activity)
{
    RhActivity *a = &x->activities[activity];
    if (!a->moving || a->timed || a->fluid_count > 0)
        return;
    rh_exec_flows_end(x, activity);
    a->round++;
    start_round(x, activity);
}

/* Starts an activity. On idle links one timer stands for all rounds; another flow on any of them
 * brings the rounds back. */
static void start_activity(RhExec *x, int32_t activity)
{
    RhActivity *a = &x->activities[activity];
    const RhCommPlan *plan = plan_of(x, a);
    a->whole = plan->disjoint && !x->options->collapse_disabled && rh_exec_links_idle(x, plan);
    if (!a->whole) {
        start_round(x, activity);
        return;
    }
    a->t_end_s = x->t_s + plan->total_s;
    rh_exec_occupy_whole(x, activity);
    arm(x, activity, a->t_end_s);
}

static void resume_moving(RhExec *x, int32_t activity, const RhCommRound *round, double t_move_s)
{
    RhActivity *a = &x->activities[activity];
    a->moving = true;
    RhClassRange range = rh_exec_classes(x, plan_of(x, a), round->what.pattern);
    for (int32_t class = range.first; class < range.end; class ++) {
        double share = RH_AT(x->quotient->classes, RhFlowClass, class)->share;
        double bytes = round->what.bytes * round->what.repeat * share;
        if (bytes > 0)
            rh_exec_flow_resume(x, activity, class, bytes, t_move_s);
    }
    arm(x, activity, t_move_s + round->move_s);
}

void rh_exec_materialise(RhExec *x, int32_t activity)
{
    RhActivity *a = &x->activities[activity];
    const RhCommPlan *plan = plan_of(x, a);
    double t_s = a->t_start_s;
    rh_exec_leave_whole(x, activity);
    a->whole = false;
    for (a->round = plan->rounds_first; a->round < plan->rounds_end; a->round++) {
        const RhCommRound *round = RH_AT(x->comm_rounds, RhCommRound, a->round);
        double t_move_s = t_s + round->latency_s;
        t_s = t_move_s + round->move_s;
        if (x->t_s < t_move_s) {
            a->moving = false;
            arm(x, activity, t_move_s);
            return;
        }
        if (x->t_s < t_s) {
            resume_moving(x, activity, round, t_move_s);
            return;
        }
        rh_exec_comm_account(x, plan, round, 1);
    }
    a->round--; /* at its very end: the timer is due */
    a->moving = true;
    arm(x, activity, x->t_s);
}

/* Handles an activity's timer: the whole activity, its latency, or all timed flows have ended. A
 * timed flow that became SimGrid's only ends later, so the timer stays right. */
static void activity_due(RhExec *x, int32_t activity)
{
    RhActivity *a = &x->activities[activity];
    a->timed = false;
    if (a->whole) {
        rh_exec_leave_whole(x, activity);
        RH_AT(x->comm_plans, RhCommPlan, a->plan)->performed_whole++;
        finish(x, activity);
        return;
    }
    if (!a->moving)
        start_moving(x, activity);
    end_round_if_over(x, activity);
}

void rh_exec_flow_done(RhExec *x, int32_t flow)
{
    int32_t activity = RH_AT(x->flows, RhActiveFlow, flow)->activity;
    rh_exec_flow_leave(x, flow);
    x->activities[activity].fluid_count--;
    end_round_if_over(x, activity);
}

/* --- arrivals --- */

static int32_t activity_new(RhExec *x, RhActivity activity)
{
    int32_t index = x->free_activities[--x->free_count];
    activity.flows = NONE;
    activity.round = RH_AT(x->comm_plans, RhCommPlan, activity.plan)->rounds_first;
    activity.t_start_s = x->t_s;
    activity.live = true;
    activity.holds = activity.holds && !x->options->sm_sharing_disabled;
    x->activities[index] = activity;
    hold_sms(x, &activity, 1);
    return index;
}

static void start_collective(RhExec *x, int32_t call_index, int32_t ordinal, int32_t kind)
{
    const RhCollectiveCall *call = RH_AT(x->quotient->calls, RhCollectiveCall, call_index);
    const int32_t *colours = RH_AT(x->quotient->colours, int32_t, call->colours_first);
    for (int32_t i = 0; i < call->colours_count; i++) {
        const RhRoleTable *role = x->actors[colours[i]].role;
        int32_t task = role->calls[role->calls_first[call->group] + ordinal];
        x->actors[colours[i]].state[task] = RH_STATE_RUNNING;
    }
    RhActivity activity = {.plan = rh_exec_comm_collective(x, call_index, kind),
                           .call = call_index,
                           .ordinal = ordinal,
                           .holds = RH_AT(x->traffic->kinds, RhTrafficKind, kind)->bytes > 0};
    start_activity(x, activity_new(x, activity));
}

static void arrive_at_collective(RhExec *x, int32_t actor, int32_t task)
{
    const RhActor *a = &x->actors[actor];
    const RhTask *t = rh_actor_task(x, a, task);
    int32_t call = x->quotient->call_of[(size_t)actor * x->program->groups->len + (size_t)t->group];
    int32_t ordinal = a->role->ordinal[task];
    int32_t needed = RH_AT(x->quotient->calls, RhCollectiveCall, call)->colours_count;
    if (++x->arrived[call][ordinal] == needed)
        start_collective(x, call, ordinal, x->traffic->kind_of_task[a->role->tasks_first + task]);
}

static void arrive_at_message(RhExec *x, int32_t actor, int32_t task)
{
    const RhActor *a = &x->actors[actor];
    const RhTask *t = rh_actor_task(x, a, task);
    int32_t other = rh_exec_peer(x, a, t);
    if (other < 0)
        return;
    const RhRoleTable *role = x->actors[other].role;
    int32_t other_task = t->peer_task - role->tasks_first;
    if (t->peer_task < 0 || other_task < 0 || other_task >= role->tasks_count ||
        x->actors[other].state[other_task] != RH_STATE_ARRIVED)
        return;
    bool sends = t->kind == RH_TASK_SEND;
    int32_t sender = sends ? actor : other, send = sends ? task : other_task;
    int32_t peer = x->traffic->kind_of_task[x->actors[sender].role->tasks_first + send];
    int32_t pattern = RH_AT(x->traffic->peers, RhPeer, peer)->pattern;
    RhActivity activity = {.plan = rh_exec_comm_message(x, sender, pattern, t->bytes),
                           .call = NONE,
                           .colours = {sender, sends ? other : actor},
                           .tasks = {send, sends ? other_task : task},
                           .holds = t->bytes > 0};
    x->actors[actor].state[task] = RH_STATE_RUNNING;
    x->actors[other].state[other_task] = RH_STATE_RUNNING;
    start_activity(x, activity_new(x, activity));
}

/* Starts a copy. Copy engines hold no SMs. */
static void start_copy(RhExec *x, int32_t actor, int32_t task)
{
    const RhActor *a = &x->actors[actor];
    int32_t peer = x->traffic->kind_of_task[a->role->tasks_first + task];
    int32_t pattern = RH_AT(x->traffic->peers, RhPeer, peer)->pattern;
    double bytes = rh_actor_task(x, a, task)->bytes;
    RhActivity activity = {.plan = rh_exec_comm_message(x, actor, pattern, bytes),
                           .call = NONE,
                           .colours = {actor, actor},
                           .tasks = {task, NONE}};
    a->state[task] = RH_STATE_RUNNING;
    start_activity(x, activity_new(x, activity));
}

static void arrive_at_communication(RhExec *x, int32_t actor, int32_t task)
{
    int kind = rh_actor_task(x, &x->actors[actor], task)->kind;
    if (kind == RH_TASK_COLLECTIVE)
        arrive_at_collective(x, actor, task);
    else if (kind == RH_TASK_COPY)
        start_copy(x, actor, task);
    else
        arrive_at_message(x, actor, task);
}

/* --- messages from outside --- */

static void grow_activities(RhExec *x)
{
    int32_t room = 2 * x->activities_room + 8;
    x->activities = g_renew(RhActivity, x->activities, room + 1);
    x->free_activities = g_renew(int32_t, x->free_activities, room + 1);
    rh_timers_grow(&x->timers, x->transport_slot + room);
    for (int32_t i = room - 1; i >= x->activities_room; i--) {
        x->activities[i] = (RhActivity){.live = false};
        x->free_activities[x->free_count++] = i;
    }
    x->activities_room = room;
}

/* Starts a message from outside. Network cards read and write it by themselves: no SMs. */
static void post_message(RhExec *x, const RhSessionMessage *message)
{
    const RhTask *send = rh_program_task(x->program, message->send);
    int32_t rank = rh_program_role(x->program, send->role)->first_rank;
    int32_t sender = x->fold->colour_of_rank[rank];
    int32_t peer = x->traffic->kind_of_task[message->send];
    int32_t pattern = RH_AT(x->traffic->peers, RhPeer, peer)->pattern;
    if (x->free_count == 0)
        grow_activities(x);
    RhActivity activity = {.plan = rh_exec_comm_message(x, sender, pattern, message->bytes),
                           .call = NONE,
                           .colours = {sender, sender},
                           .tasks = {NONE, NONE},
                           .message = 1 + message->who};
    start_activity(x, activity_new(x, activity));
}

/* --- life --- */

static int32_t activities_most(const RhExec *x)
{
    return x->actors_count * x->lanes; /* each occupies a lane */
}

static void open_fluid(RhExec *x)
{
    int32_t activities = x->activities_room = activities_most(x);
    x->activities = g_new0(RhActivity, activities + 1);
    x->free_activities = g_new(int32_t, activities + 1);
    for (int32_t i = activities - 1; i >= 0; i--)
        x->free_activities[x->free_count++] = i;
    x->comm_plans = g_array_new(FALSE, FALSE, sizeof(RhCommPlan));
    x->moves = g_array_new(FALSE, FALSE, sizeof(RhLinkTransfer));
    x->comm_rounds = g_array_new(FALSE, FALSE, sizeof(RhCommRound));
    x->comm_links = g_array_new(FALSE, FALSE, sizeof(int32_t));
    x->comm_plan_of = rh_map64_new();
    x->flows = g_array_new(FALSE, TRUE, sizeof(RhActiveFlow));
    x->free_flow = NONE;
    x->met = g_new0(int64_t, x->quotient->links->len + 1);
    x->occupants = g_new0(RhOccupants, x->quotient->links->len + 1);
    x->link_plans = g_new0(RhLinkLatest, x->quotient->links->len + 1);
    x->link_bytes = g_new0(double, (size_t)x->jobs_count * x->quotient->links->len + 1);
}

/* Adds collectives that ran as one timer to the counts. */
static void account_timed_rounds(RhExec *x)
{
    for (uint32_t i = 0; i < x->comm_plans->len; i++) {
        RhCommPlan *plan = RH_AT(x->comm_plans, RhCommPlan, i);
        for (int32_t k = plan->rounds_first; k < plan->rounds_end; k++)
            rh_exec_comm_account(x, plan, RH_AT(x->comm_rounds, RhCommRound, k),
                                 (double)plan->performed_whole);
        plan->performed_whole = 0;
    }
}

static void forget(RhExec *x)
{
    memset(x->link_bytes, 0,
           sizeof *x->link_bytes * (size_t)x->jobs_count * x->quotient->links->len);
    for (uint32_t i = 0; i < x->comm_plans->len; i++)
        RH_AT(x->comm_plans, RhCommPlan, i)->performed_whole = 0;
    g_array_set_size(x->moves, 0);
}

static double link_bytes(const RhExec *x, int32_t job, int32_t link)
{
    return x->link_bytes[(size_t)job * x->quotient->links->len + (size_t)link];
}

static int64_t link_met(const RhExec *x, int32_t link)
{
    return x->met[link];
}

static void drop(RhExec *x, int32_t activity)
{
    RhActivity *a = &x->activities[activity];
    if (a->whole)
        rh_exec_leave_whole(x, activity);
    for (int32_t i = a->flows; i != NONE; i = RH_AT(x->flows, RhActiveFlow, i)->next) {
        const RhActiveFlow *flow = RH_AT(x->flows, RhActiveFlow, i);
        if (flow->fluid && !flow->ended)
            rh_bridge_cancel(i);
    }
    rh_exec_flows_end(x, activity);
    rh_timers_disarm(&x->timers, x->transport_slot + activity);
    a->live = false;
    x->free_activities[x->free_count++] = activity;
}

static void cancel(RhExec *x, int32_t job)
{
    for (int32_t i = 0; i < x->activities_room; i++)
        if (x->activities[i].live &&
            RH_AT(x->comm_plans, RhCommPlan, x->activities[i].plan)->job == job)
            drop(x, i);
}

static void close_fluid(RhExec *x)
{
    for (uint32_t l = 0; l < x->quotient->links->len; l++)
        g_free(x->occupants[l].ids);
    g_free(x->occupants);
    g_free(x->link_plans);
    g_free(x->activities);
    g_free(x->free_activities);
    g_free(x->link_bytes);
    g_free(x->met);
    GArray *arrays[] = {x->flows, x->moves, x->comm_plans, x->comm_rounds, x->comm_links};
    for (size_t i = 0; i < G_N_ELEMENTS(arrays); i++)
        g_array_unref(arrays[i]);
    rh_map64_free(x->comm_plan_of);
}

const RhTransport rh_transport_fluid = {
    .slots = activities_most,
    .open = open_fluid,
    .cancel = cancel,
    .arrive = arrive_at_communication,
    .post = post_message,
    .due = activity_due,
    .account = account_timed_rounds,
    .forget = forget,
    .link_bytes = link_bytes,
    .link_met = link_met,
    .close = close_fluid,
    .shares_copies = true,
};
