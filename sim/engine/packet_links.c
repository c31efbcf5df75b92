/* Packets on links, store and forward: links as servers, connections with windows, and the messages
 * cut into packets. The purpose of a message is known to its caller (exec_packet_messages.c). */
#include <gsl/gsl_randist.h>
#include <math.h>
#include <string.h>

#include "sim/engine/packet_links.h"
#include "sim/engine/packet_queue.h"

#define NONE (-1)

typedef struct {
    uint64_t connection;
    RhPackets queue;
} Turn;

typedef struct {
    double bytes_per_s, t_dies_s;
    double t_empty_s; /* time at which the token bucket is full again */
    bool sender;      /* the link leaves a rank, and serves it alone */
    GArray *turns;    /* Turn; one when packets are served first come first served */
    uint32_t next;    /* index of the next turn */
    int32_t serving;  /* message; NONE: idle */
} Server;

/* A connection from one rank to another. */
typedef struct {
    uint64_t key;      /* sender << 32 | receiver */
    int32_t under_way; /* packets */
    GQueue waiting;    /* messages, the first one partly sent */
} Connection;

typedef struct {
    RhMessage what;
    RhLink links[RH_ROUTE_MAX];
    int32_t served[RH_ROUTE_MAX]; /* packets that have left each link */
    int32_t links_count, packets;
    int32_t unsent;         /* packets that wait for the window */
    bool live, told;        /* under way; the caller waits for it */
    Connection *connection; /* borrowed */
    double latency_s;
} Way;

struct RhPacketLinks {
    Server *servers;         /* per link of the platform */
    GArray *ways;            /* Way, one per message */
    GArray *free_ways;       /* int32_t */
    GHashTable *connections; /* key -> Connection, owned */
    int32_t window;          /* packets */
    int32_t links_count;     /* timer slots: links, then links + message */
    double *link_bytes;      /* per job and link */
    int64_t *met;            /* per link: packets that found another job's there */
    gsl_rng *rng;
    RhMessageEvents events;
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

static Way *way_at(const RhExec *x, int32_t i)
{
    return RH_AT(x->packets->ways, Way, i);
}

static int32_t hop_of(const Way *m, RhLink link)
{
    int32_t hop = 0;
    while (m->links[hop] != link)
        hop++;
    return hop;
}

static int32_t job_of(const RhExec *x, const Way *m)
{
    return x->actors[m->what.sender].job;
}

static double packet_bytes(const RhExec *x, const Way *m, int32_t packet)
{
    const RhMessages *how = &x->platform->messages;
    double left = m->what.bytes - packet * how->packet_bytes.value;
    return fmin(left, how->packet_bytes.value) + how->header_bytes.value;
}

/* Serves the next packet, if any waits and the link is idle. */
static void serve_next_packet(RhExec *x, RhLink link)
{
    Server *server = &x->packets->servers[link];
    for (uint32_t tried = 0; server->serving == NONE && tried < server->turns->len; tried++) {
        Turn *turn = RH_AT(server->turns, Turn, server->next);
        server->next = (server->next + 1) % server->turns->len;
        if (turn->queue.count == 0)
            continue;
        server->serving = rh_packets_take(&turn->queue);
        const Way *m = way_at(x, server->serving);
        double bytes = packet_bytes(x, m, m->served[hop_of(m, link)]);
        double burst_s = x->platform->messages.burst_bytes.value / server->bytes_per_s;
        server->t_empty_s = fmax(server->t_empty_s, x->t_s - burst_s) + bytes / server->bytes_per_s;
        x->packets->link_bytes[job_of(x, m) * x->packets->links_count + link] += bytes;
        if (server->t_empty_s <= server->t_dies_s) /* otherwise neither this nor any later packet
                                                    * leaves */
            rh_timers_arm(&x->timers, x->transport_slot + link, fmax(x->t_s, server->t_empty_s));
    }
}

/* Counts a packet that finds another job's on the link. */
static void count_contention(RhExec *x, const Way *m, const Server *server, RhLink link)
{
    if (x->jobs_count > 1 && server->serving != NONE &&
        job_of(x, way_at(x, server->serving)) != job_of(x, m))
        x->packets->met[link]++;
}

static void enqueue(RhExec *x, int32_t message, int32_t hop, int32_t packets)
{
    const Way *m = way_at(x, message);
    Server *server = &x->packets->servers[m->links[hop]];
    count_contention(x, m, server, m->links[hop]);
    rh_packets_put(queue_of(x, server, m->connection->key), message, packets);
    serve_next_packet(x, m->links[hop]);
}

/* --- connections --- */

static Connection *connection_at(const RhExec *x, uint64_t key)
{
    Connection *c = g_hash_table_lookup(x->packets->connections, GSIZE_TO_POINTER(key));
    if (!c) {
        c = g_new0(Connection, 1);
        c->key = key;
        g_hash_table_insert(x->packets->connections, GSIZE_TO_POINTER(key), c);
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

static void tell_sent(RhExec *x, int32_t message)
{
    RhMessage what = way_at(x, message)->what;
    if (way_at(x, message)->told)
        x->packets->events.sent(x, &what);
}

/* Fills the window from the messages that wait for it. */
static void send_on(RhExec *x, Connection *c)
{
    while (!g_queue_is_empty(&c->waiting) && c->under_way < x->packets->window) {
        int32_t message = GPOINTER_TO_INT(g_queue_peek_head(&c->waiting));
        Way *m = way_at(x, message);
        int32_t packets = MIN(m->unsent, x->packets->window - c->under_way);
        c->under_way += packets;
        m->unsent -= packets;
        bool last = m->unsent == 0;
        if (last)
            g_queue_pop_head(&c->waiting);
        enqueue(x, message, 0, packets);
        if (last)
            tell_sent(x, message);
    }
}

/* Handles the last packet of a message: the receiver has the message a latency later. */
static void last_packet_arrived(RhExec *x, int32_t message)
{
    RhPacketLinks *all = x->packets;
    rh_timers_arm(&x->timers, x->transport_slot + all->links_count + message,
                  x->t_s + way_at(x, message)->latency_s);
}

static void packet_leaves(RhExec *x, RhLink link)
{
    Server *server = &x->packets->servers[link];
    int32_t message = server->serving;
    Way *m = way_at(x, message);
    int32_t hop = hop_of(m, link), last = m->links_count - 1;
    server->serving = NONE;
    m->served[hop]++;
    x->events_count++;
    if (hop < last) {
        enqueue(x, message, hop + 1, 1);
    } else {
        if (m->served[hop] == m->packets)
            last_packet_arrived(x, message);
        m->connection->under_way--;
        send_on(x, m->connection);
    }
    serve_next_packet(x, link);
}

/* --- messages --- */

static int32_t way_new(RhExec *x)
{
    RhPacketLinks *all = x->packets;
    if (all->free_ways->len > 0) {
        int32_t i = *RH_AT(all->free_ways, int32_t, all->free_ways->len - 1);
        g_array_set_size(all->free_ways, all->free_ways->len - 1);
        return i;
    }
    g_array_set_size(all->ways, all->ways->len + 1);
    rh_timers_grow(&x->timers, x->transport_slot + all->links_count + (int32_t)all->ways->len);
    return (int32_t)all->ways->len - 1;
}

/* Does the first link of a route serve its sender alone? A NIC may be shared. */
static bool is_own(const RhPlatform *platform, RhLink first)
{
    bool nvlink = first < 2 * rh_platform_gpus(platform);
    return nvlink || platform->nics_per_node == platform->gpus_per_node;
}

/* Latency of one message, drawn with the mean `latency_s`. */
static double noisy_latency_s(const RhExec *x, double latency_s)
{
    double noise_s = fmin(x->platform->messages.noise_s.value, latency_s);
    if (noise_s <= 0)
        return latency_s;
    return latency_s - noise_s + gsl_ran_exponential(x->packets->rng, noise_s);
}

double rh_packet_links_reaction_s(const RhExec *x)
{
    double mean_s = x->platform->messages.reaction_s.value;
    return mean_s > 0 ? gsl_ran_exponential(x->packets->rng, mean_s) : 0;
}

void rh_packet_links_post(RhExec *x, RhMessage what, int32_t src, int32_t dst, double launch_s)
{
    int32_t from = rh_program_gpu(x->program, src), to = rh_program_gpu(x->program, dst);
    int32_t index = way_new(x);
    what.t_post_s = x->t_s;
    Way way = {.what = what,
               .live = true,
               .told = true,
               .connection = connection_at(x, (uint64_t)(uint32_t)src << 32 | (uint32_t)dst)};
    way.links_count = rh_platform_route(x->platform, from, to, way.links);
    way.packets = way.unsent =
        (int32_t)fmax(1, ceil(what.bytes / x->platform->messages.packet_bytes.value));
    way.latency_s =
        launch_s + noisy_latency_s(x, rh_platform_route_latency_s(x->platform, from, to));
    if (x->platform->messages.copy_bytes_per_s.value > 0)
        way.latency_s += what.bytes / x->platform->messages.copy_bytes_per_s.value;
    x->jobs[x->actors[what.sender].job].bytes_total += what.bytes;
    *way_at(x, index) = way;
    if (way.links_count > 0) {
        x->packets->servers[way.links[0]].sender = is_own(x->platform, way.links[0]);
        g_queue_push_tail(&way.connection->waiting, GINT_TO_POINTER(index));
        send_on(x, way.connection);
    } else {
        last_packet_arrived(x, index);
        tell_sent(x, index);
    }
}

static void arrived(RhExec *x, int32_t index)
{
    Way *way = way_at(x, index);
    RhMessage what = way->what;
    bool told = way->told;
    way->live = false;
    g_array_append_val(x->packets->free_ways, index);
    if (told)
        x->packets->events.landed(x, &what);
}

void rh_packet_links_due(RhExec *x, int32_t slot)
{
    if (slot < x->packets->links_count)
        packet_leaves(x, slot);
    else
        arrived(x, slot - x->packets->links_count);
}

void rh_packet_links_cancel(RhExec *x, int32_t actors_first, int32_t actors_end)
{
    for (uint32_t i = 0; i < x->packets->ways->len; i++) {
        Way *way = way_at(x, (int32_t)i);
        if (way->live && way->what.sender >= actors_first && way->what.sender < actors_end)
            way->told = false;
    }
}

double rh_packet_links_link_bytes(const RhExec *x, int32_t job, RhLink link)
{
    return x->packets->link_bytes[job * x->packets->links_count + link];
}

int64_t rh_packet_links_link_met(const RhExec *x, RhLink link)
{
    return x->packets->met[link];
}

void rh_packet_links_forget(RhExec *x)
{
    memset(x->packets->link_bytes, 0,
           sizeof(double) * (size_t)(x->jobs_count * x->packets->links_count));
}

/* --- life --- */

RhPacketLinks *rh_packet_links_new(const RhExec *x, RhMessageEvents events)
{
    RhPacketLinks *all = g_new0(RhPacketLinks, 1);
    all->events = events;
    all->rng = gsl_rng_alloc(gsl_rng_mt19937);
    gsl_rng_set(all->rng, (unsigned long)(rh_mix64(x->options->seed + 29, 0) & 0xffffffffU));
    all->links_count = rh_platform_links_count(x->platform);
    all->ways = g_array_new(FALSE, TRUE, sizeof(Way));
    all->free_ways = g_array_new(FALSE, FALSE, sizeof(int32_t));
    all->connections =
        g_hash_table_new_full(connection_hash, g_direct_equal, NULL, connection_free);
    const RhMessages *how = &x->platform->messages;
    all->window =
        how->window_bytes.value > 0
            ? (int32_t)fmin(fmax(1, how->window_bytes.value / how->packet_bytes.value), INT32_MAX)
            : INT32_MAX;
    all->link_bytes = g_new0(double, x->jobs_count * all->links_count + 1);
    all->met = g_new0(int64_t, all->links_count + 1);
    all->servers = g_new0(Server, all->links_count + 1);
    for (RhLink l = 0; l < all->links_count; l++)
        all->servers[l] = (Server){.bytes_per_s = rh_platform_link_bytes_per_s(x->platform, l),
                                   .t_dies_s = rh_platform_link_dies_s(x->platform, l),
                                   .t_empty_s = -HUGE_VAL,
                                   .turns = g_array_new(FALSE, TRUE, sizeof(Turn)),
                                   .serving = NONE};
    return all;
}

void rh_packet_links_free(RhPacketLinks *packets)
{
    if (!packets)
        return;
    for (RhLink l = 0; l < packets->links_count; l++) {
        for (uint32_t i = 0; i < packets->servers[l].turns->len; i++)
            g_free(RH_AT(packets->servers[l].turns, Turn, i)->queue.batches);
        g_array_unref(packets->servers[l].turns);
    }
    g_array_unref(packets->ways);
    g_array_unref(packets->free_ways);
    g_free(packets->servers);
    g_free(packets->link_bytes);
    g_free(packets->met);
    gsl_rng_free(packets->rng);
    g_hash_table_destroy(packets->connections);
    g_free(packets);
}
