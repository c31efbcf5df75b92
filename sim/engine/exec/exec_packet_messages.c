/* Performs message by message, for platforms whose ranks communicate through a network stack: every
 * rank at its own pace (sim/collective_expansion.h), every link a server of packets, store and forward. A
 * message is cut into packets that wait on each link of the route in turn; a link serves one at a
 * time, so each is a timer. An idle link lets a burst through: a token bucket, kept as the time at
 * which the bucket would be full again (GCRA, ITU-T I.371). The receiver has the message the
 * route's latency and its copies after its last packet. A connection has a window of packets under
 * way; a send ends when its last packet is under way, and a member's step when its sends have ended
 * and its receives have arrived. No SMs are held. */
#include <math.h>
#include <string.h>

#include "sim/collective_expansion.h"
#include "sim/engine/packet_links.h"

#define NONE (-1)

/* State of one member in a collective. */
typedef struct {
    int32_t actor, task; /* NONE: not reached yet */
    RhExpansionPlace at;
    int32_t awaited;   /* sends that must end and messages that must arrive in this step */
    uint16_t *arrived; /* messages that arrived, per step */
    double t_start_s;
} Member;

typedef struct {
    const RhExpansion *expansion; /* NULL: free */
    gpointer key;                 /* in call_of */
    int32_t job;
    Member *members;
    int32_t left;
    double launch_s;
} Call;

struct RhExecMessages {
    RhExpansions *expansions;
    GArray *calls;        /* Call */
    GArray *free_calls;   /* int32_t */
    GHashTable *call_of;  /* instance << 32 | ordinal -> index + 1 */
    uint8_t **early;      /* per actor and task: messages that arrived before their receive */
    double **t_reached_s; /* per actor and lane */
};

/* --- collectives --- */

static int32_t steps_of(const RhExpansion *e)
{
    int32_t steps = 0;
    for (int32_t k = 0; k < (int32_t)e->schedule->rounds->len; k++)
        steps += rh_expansion_round(e, k)->repeat;
    return steps;
}

static Call *call_at(const RhExec *x, int32_t i)
{
    return RH_AT(x->messages->calls, Call, i);
}

static int32_t call_new(RhExec *x, const RhTask *task, const RhExpansion *e, int32_t job,
                        gpointer key)
{
    RhExecMessages *all = x->messages;
    int32_t members = e->schedule->members, steps = steps_of(e);
    Call call = {.expansion = e,
                 .key = key,
                 .job = job,
                 .members = g_new0(Member, members),
                 .left = members,
                 .launch_s =
                     members > 1 && task->bytes > 0 ? x->platform->collective_launch_s.value : 0};
    for (int32_t m = 0; m < members; m++)
        call.members[m] = (Member){
            .actor = NONE, .at = rh_expansion_begin(e, m), .arrived = g_new0(uint16_t, steps + 1)};
    int32_t index = (int32_t)all->calls->len;
    if (all->free_calls->len > 0) {
        index = *RH_AT(all->free_calls, int32_t, all->free_calls->len - 1);
        g_array_set_size(all->free_calls, all->free_calls->len - 1);
    } else {
        g_array_set_size(all->calls, all->calls->len + 1);
    }
    *call_at(x, index) = call;
    g_hash_table_insert(all->call_of, key, GINT_TO_POINTER(index + 1));
    return index;
}

static void call_end(RhExec *x, int32_t index)
{
    Call *call = call_at(x, index);
    for (int32_t m = 0; m < call->expansion->schedule->members; m++)
        g_free(call->members[m].arrived);
    g_free(call->members);
    g_hash_table_remove(x->messages->call_of, call->key);
    call->expansion = NULL;
    g_array_append_val(x->messages->free_calls, index);
}

/* Returns the number of events before the member's step is over, plus one. */
static int32_t awaited_in_step(const RhExpansion *e, const Member *m, int32_t own)
{
    int32_t awaited = 1 - m->arrived[m->at.step];
    for (int32_t i = m->at.from; i < m->at.to; i++) {
        const RhFlow *flow = rh_expansion_flow(e, i);
        awaited += (flow->dst == own) + (flow->src == own);
    }
    return awaited;
}

/* Sends the member's flows of the step; true when nothing is awaited. */
static bool post_step(RhExec *x, int32_t index, int32_t own)
{
    Member *m = &call_at(x, index)->members[own];
    const Member member = *m;
    const RhExpansion *e = call_at(x, index)->expansion;
    double launch_s = member.at.step == 0 ? call_at(x, index)->launch_s : 0;
    m->awaited = awaited_in_step(e, m, own);
    for (int32_t i = member.at.from; i < member.at.to; i++) {
        const RhFlow *flow = rh_expansion_flow(e, i);
        if (flow->src != own)
            continue;
        int32_t dst = e->members[flow->dst];
        RhMessage message = {.bytes = flow->bytes,
                             .sender = member.actor,
                             .receiver = x->fold->colour_of_rank[dst],
                             .send_task = NONE,
                             .recv_task = NONE,
                             .call = index,
                             .from = own,
                             .to = flow->dst,
                             .step = member.at.step};
        rh_packet_links_post(x, message, e->members[own], dst, launch_s);
    }
    return --call_at(x, index)->members[own].awaited == 0;
}

static void member_ends(RhExec *x, int32_t index, int32_t own)
{
    Call *call = call_at(x, index);
    Member m = call->members[own];
    if (--call->left == 0)
        call_end(x, index);
    rh_exec_complete(x, m.actor, m.task, m.t_start_s);
}

/* Advances the member as long as nothing is awaited. */
static void advance_member(RhExec *x, int32_t index, int32_t own)
{
    for (;;) {
        Member *m = &call_at(x, index)->members[own];
        if (!rh_expansion_next(call_at(x, index)->expansion, own, &m->at)) {
            member_ends(x, index, own);
            return;
        }
        if (!post_step(x, index, own))
            return;
    }
}

static void one_less(RhExec *x, int32_t index, int32_t own)
{
    if (--call_at(x, index)->members[own].awaited == 0)
        advance_member(x, index, own);
}

static bool arrive_at_collective(RhExec *x, int32_t actor, int32_t task)
{
    RhExecMessages *all = x->messages;
    const RhActor *a = &x->actors[actor];
    const RhTask *t = rh_actor_task(x, a, task);
    int32_t own;
    const RhExpansion *e = rh_expansion_get(all->expansions, t, a->rank, &own, NULL);
    g_return_val_if_fail(e != NULL, false); /* rh_traffic_new() has made the same schedules */
    uint64_t instance = (uint32_t)x->traffic->groups[t->group].instance_of_rank[a->rank];
    gpointer key = GSIZE_TO_POINTER(instance << 32 | (uint32_t)a->role->ordinal[task]);
    int32_t index = GPOINTER_TO_INT(g_hash_table_lookup(all->call_of, key)) - 1;
    if (index < 0)
        index = call_new(x, t, e, a->job, key);
    Member *m = &call_at(x, index)->members[own];
    m->actor = actor;
    m->task = task;
    m->t_start_s = x->t_s;
    advance_member(x, index, own);
    return true;
}

/* --- arrivals --- */

static void start_send(RhExec *x, int32_t actor, int32_t task)
{
    const RhActor *a = &x->actors[actor];
    const RhTask *t = rh_actor_task(x, a, task);
    int32_t dst = a->rank + t->peer_delta;
    int32_t receiver = x->fold->colour_of_rank[dst];
    RhMessage message = {.bytes = t->bytes,
                         .sender = actor,
                         .receiver = receiver,
                         .send_task = task,
                         .recv_task = t->peer_task - x->actors[receiver].role->tasks_first,
                         .call = NONE};
    rh_packet_links_post(x, message, a->rank, dst, 0);
}

static void message_sent(RhExec *x, const RhMessage *m)
{
    if (m->call == NONE)
        rh_exec_complete(x, m->sender, m->send_task, m->t_post_s);
    else
        one_less(x, m->call, m->from);
}

static void arrive(RhExec *x, int32_t actor, int32_t task)
{
    RhExecMessages *all = x->messages;
    const RhTask *t = rh_actor_task(x, &x->actors[actor], task);
    all->t_reached_s[actor][t->lane] = x->t_s;
    if (t->kind == RH_TASK_COLLECTIVE)
        arrive_at_collective(x, actor, task);
    else if (t->kind == RH_TASK_SEND)
        start_send(x, actor, task);
    else if (all->early[actor][task])
        rh_exec_complete(x, actor, task, x->t_s);
}

static void received(RhExec *x, const RhMessage *m)
{
    RhExecMessages *all = x->messages;
    const RhActor *a = &x->actors[m->receiver];
    all->early[m->receiver][m->recv_task] = true;
    if (a->state[m->recv_task] != RH_STATE_ARRIVED)
        return;
    double t_reached_s = all->t_reached_s[m->receiver][rh_actor_task(x, a, m->recv_task)->lane];
    rh_exec_complete_moved(x, m->receiver, m->recv_task, t_reached_s,
                           x->t_s - fmax(t_reached_s, m->t_post_s));
}

static void message_landed(RhExec *x, const RhMessage *m)
{
    if (m->call == NONE) {
        received(x, m);
        return;
    }
    Member *member = &call_at(x, m->call)->members[m->to];
    member->arrived[m->step]++;
    if (member->actor != NONE && member->at.step == m->step)
        one_less(x, m->call, m->to);
}

/* --- life --- */

static int32_t timer_slots(const RhExec *x)
{
    return rh_platform_links_count(x->platform); /* one per link; messages add theirs as they
                                                  * come */
}

static void open_messages(RhExec *x)
{
    RhExecMessages *all = x->messages = g_new0(RhExecMessages, 1);
    x->packets = rh_packet_links_new(x, (RhMessageEvents){message_sent, message_landed});
    all->expansions = rh_expansions_new(x->program, x->platform);
    all->calls = g_array_new(FALSE, FALSE, sizeof(Call));
    all->free_calls = g_array_new(FALSE, FALSE, sizeof(int32_t));
    all->call_of = g_hash_table_new(g_direct_hash, g_direct_equal);
    all->early = g_new0(uint8_t *, x->actors_count + 1);
    all->t_reached_s = g_new0(double *, x->actors_count + 1);
    for (int32_t i = 0; i < x->actors_count; i++) {
        all->early[i] = g_new0(uint8_t, x->actors[i].role->tasks_count + 1);
        all->t_reached_s[i] = g_new0(double, x->lanes);
    }
}

static void begin_step(RhExec *x, int32_t job)
{
    for (int32_t i = x->jobs[job].actors_first; i < x->jobs[job].actors_end; i++)
        memset(x->messages->early[i], 0, (size_t)x->actors[i].role->tasks_count);
}

static void cancel(RhExec *x, int32_t job)
{
    for (uint32_t i = 0; i < x->messages->calls->len; i++)
        if (call_at(x, (int32_t)i)->expansion && call_at(x, (int32_t)i)->job == job)
            call_end(x, (int32_t)i);
    rh_packet_links_cancel(x, x->jobs[job].actors_first, x->jobs[job].actors_end);
}

static double link_bytes(const RhExec *x, int32_t job, int32_t link)
{
    return rh_packet_links_link_bytes(x, job, RH_AT(x->quotient->links, RhFoldedLink, link)->link);
}

static int64_t link_met(const RhExec *x, int32_t link)
{
    return rh_packet_links_link_met(x, RH_AT(x->quotient->links, RhFoldedLink, link)->link);
}

static void close_messages(RhExec *x)
{
    RhExecMessages *all = x->messages;
    for (int32_t i = 0; i < x->jobs_count; i++)
        cancel(x, i);
    for (int32_t i = 0; i < x->actors_count; i++) {
        g_free(all->early[i]);
        g_free(all->t_reached_s[i]);
    }
    g_array_unref(all->calls);
    g_array_unref(all->free_calls);
    g_free(all->early);
    g_free(all->t_reached_s);
    g_hash_table_destroy(all->call_of);
    rh_expansions_free(all->expansions);
    rh_packet_links_free(x->packets);
    g_free(all);
}

const RhTransport rh_transport_packets = {
    .slots = timer_slots,
    .open = open_messages,
    .begin_step = begin_step,
    .cancel = cancel,
    .reaction_s = rh_packet_links_reaction_s,
    .arrive = arrive,
    .due = rh_packet_links_due,
    .forget = rh_packet_links_forget,
    .link_bytes = link_bytes,
    .link_met = link_met,
    .close = close_messages,
    .links_die = true,
};
