/* Performing message by message, for platforms whose ranks talk through a network stack: every rank
 * at its own pace (sim/expansion.h), every link a server of packets, store and forward.
 *
 * A message is cut into packets that wait on each link of the route in turn; a link serves one at a
 * time, so each is a timer. What is idle lets a burst through: a token bucket, kept as the time at
 * which the bucket would be full again (GCRA, ITU-T I.371). The receiver has the message the
 * route's latency and its copies after its last packet. A connection has a window of packets under
 * way; a send ends when its last packet is, and a member's step when its sends have ended and its
 * receives have come. SMs are not held. */
#include <gsl/gsl_randist.h>
#include <math.h>
#include <string.h>

#include "sim/engine/exec_private.h"
#include "sim/engine/packets.h"
#include "sim/expansion.h"

#define NONE (-1)

typedef struct {
    uint64_t connection;
    RhPackets queue;
} Turn;

typedef struct {
    double bytes_per_s, t_dies_s;
    double t_empty_s; /* when all that was let through would have passed */
    bool sender;      /* leaves a rank, and serves it alone */
    GArray *turns;    /* Turn; one when first come first served */
    uint32_t next;    /* whose turn */
    int32_t serving;  /* message; NONE = idle */
} Server;

/* From one rank to another. */
typedef struct {
    uint64_t key;      /* sender << 32 | receiver */
    int32_t under_way; /* packets */
    GQueue waiting;    /* messages, the first one partly sent */
} Connection;

typedef struct {
    RhLink links[RH_ROUTE_MAX];
    int32_t served[RH_ROUTE_MAX]; /* packets that have left each link */
    int32_t links_count, packets;
    double bytes;                 /* payload */
    int32_t unsent;               /* packets that wait for the window */
    Connection *connection;       /* borrowed */
    int32_t sender, receiver;     /* actors */
    int32_t send_task, recv_task; /* local to their roles; NONE: a collective's */
    int32_t call, from, to, step; /* members */
    double latency_s, t_post_s;
} Message;

/* One member's way through a collective. */
typedef struct {
    int32_t actor, task; /* NONE: not reached yet */
    int32_t phase, repeat, from, to;
    int32_t step, awaited; /* sends to end and messages to come, of this step */
    uint16_t *arrived;     /* messages, per step */
    double t_start_s;
} Member;

typedef struct {
    const RhExpansion *expansion;
    Member *members;
    int32_t left;
    double launch_s;
} Call;

struct RhExecMessages {
    RhExpansions *expansions;
    Server *servers;           /* per link of the platform */
    GArray *messages;          /* Message */
    GArray *free_messages;     /* int32_t */
    GArray *calls;             /* Call */
    GHashTable *call_of;       /* instance << 32 | ordinal -> index + 1 */
    GHashTable *connections;   /* key -> Connection, owned */
    int32_t window;            /* packets */
    int32_t links_count, base; /* timer slots: base + link, then base + links + message */
    uint8_t **early;           /* per actor and task: came before it was asked for */
    double **t_reached_s;      /* per actor and lane */
    double *link_bytes;
    gsl_rng *rng;
};

/* --- links --- */

static RhPackets *queue_of(const RhExec *x, Server *server, uint64_t connection)
{
    const RhMessages *how = &x->platform->messages;
    bool fair = (server->sender ? how->sender : how->beyond) == RH_SHARING_FAIR;
    uint64_t key = fair ? connection : 0;
    for (uint32_t i = 0; i < server->turns->len; i++)
        if (RH_AT(server->turns, Turn, i)->connection == key)
            return &RH_AT(server->turns, Turn, i)->queue;
    Turn turn = {.connection = key};
    g_array_append_val(server->turns, turn);
    return &RH_AT(server->turns, Turn, server->turns->len - 1)->queue;
}

static Message *message_at(const RhExec *x, int32_t i)
{
    return RH_AT(x->messages->messages, Message, i);
}

static int32_t hop_of(const Message *m, RhLink link)
{
    int32_t hop = 0;
    while (m->links[hop] != link)
        hop++;
    return hop;
}

static double packet_bytes(const RhExec *x, const Message *m, int32_t packet)
{
    const RhMessages *how = &x->platform->messages;
    double left = m->bytes - packet * how->packet_bytes.value;
    return fmin(left, how->packet_bytes.value) + how->header_bytes.value;
}

/* Serves the next packet, if any waits and the link is idle. */
static void serve(RhExec *x, RhLink link)
{
    Server *server = &x->messages->servers[link];
    for (uint32_t tried = 0; server->serving == NONE && tried < server->turns->len; tried++) {
        Turn *turn = RH_AT(server->turns, Turn, server->next);
        server->next = (server->next + 1) % server->turns->len;
        if (turn->queue.count == 0)
            continue;
        server->serving = rh_packets_take(&turn->queue);
        const Message *m = message_at(x, server->serving);
        double bytes = packet_bytes(x, m, m->served[hop_of(m, link)]);
        double burst_s = x->platform->messages.burst_bytes.value / server->bytes_per_s;
        server->t_empty_s = fmax(server->t_empty_s, x->t_s - burst_s) + bytes / server->bytes_per_s;
        x->messages->link_bytes[link] += bytes;
        if (server->t_empty_s <= server->t_dies_s) /* else the packet never leaves, nor any other */
            rh_timers_arm(&x->timers, x->messages->base + link, fmax(x->t_s, server->t_empty_s));
    }
}

static void enqueue(RhExec *x, int32_t message, int32_t hop, int32_t packets)
{
    const Message *m = message_at(x, message);
    Server *server = &x->messages->servers[m->links[hop]];
    rh_packets_put(queue_of(x, server, m->connection->key), message, packets);
    serve(x, m->links[hop]);
}

/* --- connections --- */

static Connection *connection_at(const RhExec *x, uint64_t key)
{
    Connection *c = g_hash_table_lookup(x->messages->connections, GSIZE_TO_POINTER(key));
    if (!c) {
        c = g_new0(Connection, 1);
        c->key = key;
        g_hash_table_insert(x->messages->connections, GSIZE_TO_POINTER(key), c);
    }
    return c;
}

static guint connection_hash(gconstpointer key)
{
    return (guint)rh_mix64(GPOINTER_TO_SIZE(key), 0);
}

static void connection_free(gpointer data)
{
    g_queue_clear(&((Connection *)data)->waiting);
    g_free(data);
}

static void sent(RhExec *x, int32_t message);

/* Fills the window from the messages that wait for it. */
static void send_on(RhExec *x, Connection *c)
{
    while (!g_queue_is_empty(&c->waiting) && c->under_way < x->messages->window) {
        int32_t message = GPOINTER_TO_INT(g_queue_peek_head(&c->waiting));
        Message *m = message_at(x, message);
        int32_t packets = MIN(m->unsent, x->messages->window - c->under_way);
        c->under_way += packets;
        m->unsent -= packets;
        bool last = m->unsent == 0;
        if (last)
            g_queue_pop_head(&c->waiting);
        enqueue(x, message, 0, packets);
        if (last)
            sent(x, message);
    }
}

/* The last packet is in: the receiver has the message a latency later. */
static void land(RhExec *x, int32_t message)
{
    RhExecMessages *all = x->messages;
    rh_timers_arm(&x->timers, all->base + all->links_count + message,
                  x->t_s + message_at(x, message)->latency_s);
}

static void packet_leaves(RhExec *x, RhLink link)
{
    Server *server = &x->messages->servers[link];
    int32_t message = server->serving;
    Message *m = message_at(x, message);
    int32_t hop = hop_of(m, link), last = m->links_count - 1;
    server->serving = NONE;
    m->served[hop]++;
    x->events_count++;
    if (hop < last) {
        enqueue(x, message, hop + 1, 1);
    } else {
        if (m->served[hop] == m->packets)
            land(x, message);
        m->connection->under_way--;
        send_on(x, m->connection);
    }
    serve(x, link);
}

/* --- messages --- */

static int32_t message_new(RhExec *x)
{
    RhExecMessages *all = x->messages;
    if (all->free_messages->len > 0) {
        int32_t i = *RH_AT(all->free_messages, int32_t, all->free_messages->len - 1);
        g_array_set_size(all->free_messages, all->free_messages->len - 1);
        return i;
    }
    g_array_set_size(all->messages, all->messages->len + 1);
    rh_timers_grow(&x->timers, all->base + all->links_count + (int32_t)all->messages->len);
    return (int32_t)all->messages->len - 1;
}

/* Does the first link of a route serve its sender alone? A NIC may be shared. */
static bool is_own(const RhPlatform *platform, RhLink first)
{
    bool nvlink = first < 2 * rh_platform_gpus(platform);
    return nvlink || platform->nics_per_node == platform->gpus_per_node;
}

/* The latency of one message: its mean is `latency_s`. */
static double noisy(const RhExec *x, double latency_s)
{
    double noise_s = fmin(x->platform->messages.noise_s.value, latency_s);
    if (noise_s <= 0)
        return latency_s;
    return latency_s - noise_s + gsl_ran_exponential(x->messages->rng, noise_s);
}

double rh_exec_messages_reaction_s(const RhExec *x)
{
    double mean_s = x->platform->messages.reaction_s.value;
    return mean_s > 0 ? gsl_ran_exponential(x->messages->rng, mean_s) : 0;
}

/* Sends `what` (bytes and what it is for) from rank src to rank dst. */
static void post(RhExec *x, Message what, int32_t src, int32_t dst, double launch_s)
{
    RhExecMessages *all = x->messages;
    int32_t from = rh_program_gpu(x->program, src), to = rh_program_gpu(x->program, dst);
    int32_t index = message_new(x);
    what.links_count = rh_platform_route(x->platform, from, to, what.links);
    what.packets = (int32_t)fmax(1, ceil(what.bytes / x->platform->messages.packet_bytes.value));
    what.connection = connection_at(x, (uint64_t)(uint32_t)src << 32 | (uint32_t)dst);
    what.latency_s = launch_s + noisy(x, rh_platform_route_latency_s(x->platform, from, to));
    if (x->platform->messages.copy_bytes_per_s.value > 0)
        what.latency_s += what.bytes / x->platform->messages.copy_bytes_per_s.value;
    what.t_post_s = x->t_s;
    what.unsent = what.packets;
    x->bytes_total += what.bytes;
    *message_at(x, index) = what;
    if (what.links_count > 0) {
        all->servers[what.links[0]].sender = is_own(x->platform, what.links[0]);
        g_queue_push_tail(&what.connection->waiting, GINT_TO_POINTER(index));
        send_on(x, what.connection);
    } else {
        land(x, index);
        sent(x, index);
    }
}

/* --- collectives --- */

static int32_t steps_of(const RhExpansion *e)
{
    int32_t steps = 0;
    for (int32_t k = 0; k < (int32_t)e->schedule->phases->len; k++)
        steps += rh_expansion_step_phase(e, k)->repeat;
    return steps;
}

static int32_t call_new(RhExec *x, const RhTask *task, const RhExpansion *e)
{
    int32_t members = e->schedule->members, steps = steps_of(e);
    Call call = {.expansion = e,
                 .members = g_new0(Member, members),
                 .left = members,
                 .launch_s =
                     members > 1 && task->bytes > 0 ? x->platform->collective_launch_s.value : 0};
    for (int32_t m = 0; m < members; m++)
        call.members[m] = (Member){.actor = NONE,
                                   .phase = NONE,
                                   .to = e->first[m],
                                   .arrived = g_new0(uint16_t, steps + 1)};
    g_array_append_val(x->messages->calls, call);
    return (int32_t)x->messages->calls->len - 1;
}

static void call_clear(Call *call)
{
    for (int32_t m = 0; call->members && m < call->expansion->schedule->members; m++)
        g_free(call->members[m].arrived);
    g_clear_pointer(&call->members, g_free);
}

static Call *call_at(const RhExec *x, int32_t i)
{
    return RH_AT(x->messages->calls, Call, i);
}

/* What must happen before the member's step is over, and one more. */
static int32_t awaited_in_step(const RhExpansion *e, const Member *m, int32_t own)
{
    int32_t awaited = 1 - m->arrived[m->step];
    for (int32_t i = m->from; i < m->to; i++) {
        const RhFlow *flow = rh_expansion_flow(e, i);
        awaited += (flow->dst == own) + (flow->src == own);
    }
    return awaited;
}

/* Sends the member's flows of the step. True when nothing is awaited. */
static bool post_step(RhExec *x, int32_t index, int32_t own)
{
    Member *m = &call_at(x, index)->members[own];
    const Member member = *m;
    const RhExpansion *e = call_at(x, index)->expansion;
    double launch_s = member.step == 0 ? call_at(x, index)->launch_s : 0;
    m->awaited = awaited_in_step(e, m, own);
    for (int32_t i = member.from; i < member.to; i++) {
        const RhFlow *flow = rh_expansion_flow(e, i);
        if (flow->src != own)
            continue;
        int32_t dst = e->members[flow->dst];
        Message message = {.bytes = flow->bytes,
                           .sender = member.actor,
                           .receiver = x->fold->colour_of_rank[dst],
                           .send_task = NONE,
                           .recv_task = NONE,
                           .call = index,
                           .from = own,
                           .to = flow->dst,
                           .step = member.step};
        post(x, message, e->members[own], dst, launch_s);
    }
    return --call_at(x, index)->members[own].awaited == 0;
}

/* To the next repetition, or the next phase that concerns the member. False at the end. */
static bool next_step(const RhExpansion *e, int32_t own, Member *m)
{
    int32_t phases = (int32_t)e->schedule->phases->len;
    if (m->phase >= 0) {
        m->step++;
        if (++m->repeat < rh_expansion_step_phase(e, m->phase)->repeat)
            return true;
    }
    for (m->phase++, m->repeat = 0; m->phase < phases; m->phase++) {
        rh_expansion_phase(e, own, m->phase, &m->from, &m->to);
        if (m->to > m->from && rh_expansion_step_phase(e, m->phase)->repeat > 0)
            return true;
        m->step += rh_expansion_step_phase(e, m->phase)->repeat;
    }
    return false;
}

static void member_ends(RhExec *x, int32_t index, int32_t own)
{
    Call *call = call_at(x, index);
    Member m = call->members[own];
    if (--call->left == 0)
        call_clear(call);
    rh_exec_complete(x, m.actor, m.task, m.t_start_s);
}

/* Goes on while nothing is missing. */
static void advance(RhExec *x, int32_t index, int32_t own)
{
    for (;;) {
        Member *m = &call_at(x, index)->members[own];
        if (!next_step(call_at(x, index)->expansion, own, m)) {
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
        advance(x, index, own);
}

static bool arrive_at_collective(RhExec *x, int32_t actor, int32_t task)
{
    RhExecMessages *all = x->messages;
    const RhActor *a = &x->actors[actor];
    const RhTask *t = rh_actor_task(x, a, task);
    int32_t own;
    const RhExpansion *e = rh_expansion_get(all->expansions, t, a->rank, &own, NULL);
    g_return_val_if_fail(e != NULL, false); /* rh_traffic_new has made the same schedules */
    uint64_t instance = (uint32_t)x->traffic->groups[t->group].instance_of_rank[a->rank];
    gpointer key = GSIZE_TO_POINTER(instance << 32 | (uint32_t)a->role->ordinal[task]);
    int32_t index = GPOINTER_TO_INT(g_hash_table_lookup(all->call_of, key)) - 1;
    if (index < 0) {
        index = call_new(x, t, e);
        g_hash_table_insert(all->call_of, key, GINT_TO_POINTER(index + 1));
    }
    Member *m = &call_at(x, index)->members[own];
    m->actor = actor;
    m->task = task;
    m->t_start_s = x->t_s;
    advance(x, index, own);
    return true;
}

/* --- arrivals --- */

static void send(RhExec *x, int32_t actor, int32_t task)
{
    const RhActor *a = &x->actors[actor];
    const RhTask *t = rh_actor_task(x, a, task);
    int32_t dst = a->rank + t->peer_delta;
    int32_t receiver = x->fold->colour_of_rank[dst];
    Message message = {.bytes = t->bytes,
                       .sender = actor,
                       .receiver = receiver,
                       .send_task = task,
                       .recv_task = t->peer_task - x->actors[receiver].role->tasks_first,
                       .call = NONE};
    post(x, message, a->rank, dst, 0);
}

/* All of it is under way. */
static void sent(RhExec *x, int32_t message)
{
    const Message m = *message_at(x, message);
    if (m.call == NONE)
        rh_exec_complete(x, m.sender, m.send_task, m.t_post_s);
    else
        one_less(x, m.call, m.from);
}

void rh_exec_messages_arrive(RhExec *x, int32_t actor, int32_t task)
{
    RhExecMessages *all = x->messages;
    const RhTask *t = rh_actor_task(x, &x->actors[actor], task);
    all->t_reached_s[actor][t->lane] = x->t_s;
    if (t->kind == RH_TASK_COLLECTIVE)
        arrive_at_collective(x, actor, task);
    else if (t->kind == RH_TASK_SEND)
        send(x, actor, task);
    else if (all->early[actor][task])
        rh_exec_complete(x, actor, task, x->t_s);
}

static void received(RhExec *x, const Message *m)
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

static void deliver(RhExec *x, int32_t index)
{
    Message m = *message_at(x, index);
    g_array_append_val(x->messages->free_messages, index);
    if (m.call == NONE) {
        received(x, &m);
        return;
    }
    Member *member = &call_at(x, m.call)->members[m.to];
    member->arrived[m.step]++;
    if (member->actor != NONE && member->step == m.step)
        one_less(x, m.call, m.to);
}

void rh_exec_messages_due(RhExec *x, int32_t slot)
{
    RhExecMessages *all = x->messages;
    int32_t at = slot - all->base;
    if (at < all->links_count) {
        packet_leaves(x, at);
        return;
    }
    deliver(x, at - all->links_count);
}

/* --- life --- */

int32_t rh_exec_messages_slots(const RhPlatform *platform)
{
    return rh_platform_links_count(platform);
}

RhExecMessages *rh_exec_messages_new(const RhExec *x, int32_t base)
{
    RhExecMessages *all = g_new0(RhExecMessages, 1);
    all->base = base;
    all->rng = gsl_rng_alloc(gsl_rng_mt19937);
    gsl_rng_set(all->rng, (unsigned long)(rh_mix64(x->options->seed + 29, 0) & 0xffffffffU));
    all->links_count = rh_platform_links_count(x->platform);
    all->expansions = rh_expansions_new(x->program, x->platform);
    all->messages = g_array_new(FALSE, TRUE, sizeof(Message));
    all->free_messages = g_array_new(FALSE, FALSE, sizeof(int32_t));
    all->calls = g_array_new(FALSE, FALSE, sizeof(Call));
    all->call_of = g_hash_table_new(g_direct_hash, g_direct_equal);
    all->connections =
        g_hash_table_new_full(connection_hash, g_direct_equal, NULL, connection_free);
    const RhMessages *how = &x->platform->messages;
    all->window =
        how->window_bytes.value > 0
            ? (int32_t)fmin(fmax(1, how->window_bytes.value / how->packet_bytes.value), INT32_MAX)
            : INT32_MAX;
    all->link_bytes = g_new0(double, all->links_count + 1);
    all->servers = g_new0(Server, all->links_count + 1);
    for (RhLink l = 0; l < all->links_count; l++)
        all->servers[l] = (Server){.bytes_per_s = rh_platform_link_bytes_per_s(x->platform, l),
                                   .t_dies_s = rh_platform_link_dies_s(x->platform, l),
                                   .t_empty_s = -HUGE_VAL,
                                   .turns = g_array_new(FALSE, TRUE, sizeof(Turn)),
                                   .serving = NONE};
    all->early = g_new0(uint8_t *, x->actors_count + 1);
    all->t_reached_s = g_new0(double *, x->actors_count + 1);
    for (int32_t i = 0; i < x->actors_count; i++) {
        all->early[i] = g_new0(uint8_t, x->actors[i].role->tasks_count + 1);
        all->t_reached_s[i] = g_new0(double, RH_LANE_LAST);
    }
    return all;
}

void rh_exec_messages_begin_step(RhExec *x)
{
    RhExecMessages *all = x->messages;
    g_hash_table_remove_all(all->call_of);
    for (uint32_t i = 0; i < all->calls->len; i++)
        call_clear(call_at(x, (int32_t)i));
    g_array_set_size(all->calls, 0);
    for (int32_t i = 0; i < x->actors_count; i++)
        memset(all->early[i], 0, (size_t)x->actors[i].role->tasks_count);
}

double rh_exec_messages_link_bytes(const RhExec *x, RhLink link)
{
    return x->messages->link_bytes[link];
}

void rh_exec_messages_forget(RhExec *x)
{
    memset(x->messages->link_bytes, 0, sizeof(double) * (size_t)x->messages->links_count);
}

void rh_exec_messages_free(RhExec *x)
{
    RhExecMessages *all = x->messages;
    if (!all)
        return;
    rh_exec_messages_begin_step(x);
    for (RhLink l = 0; l < all->links_count; l++) {
        for (uint32_t i = 0; i < all->servers[l].turns->len; i++)
            g_free(RH_AT(all->servers[l].turns, Turn, i)->queue.batches);
        g_array_unref(all->servers[l].turns);
    }
    for (int32_t i = 0; i < x->actors_count; i++) {
        g_free(all->early[i]);
        g_free(all->t_reached_s[i]);
    }
    GArray *arrays[] = {all->messages, all->free_messages, all->calls};
    for (size_t i = 0; i < G_N_ELEMENTS(arrays); i++)
        g_array_unref(arrays[i]);
    void *blocks[] = {all->early, all->t_reached_s, all->servers, all->link_bytes};
    for (size_t i = 0; i < G_N_ELEMENTS(blocks); i++)
        g_free(blocks[i]);
    gsl_rng_free(all->rng);
    g_hash_table_destroy(all->call_of);
    g_hash_table_destroy(all->connections);
    rh_expansions_free(all->expansions);
    g_free(all);
}
