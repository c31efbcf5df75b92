#include "strategies/serve/service_beside_jobs.h"

#include <math.h>

#include "base/error.h"
#include "base/serialize.h"
#include "strategies/serve/replica/replica_internode_flows.h"

/* --- routes of its messages --- */

typedef struct {
    int32_t src, dst; /* GPUs of the service */
} Way;

static int32_t replicas_before(const RhDeployment *d, int32_t pool)
{
    return pool > 0 ? d->pools[0].replicas : 0;
}

/* Lists transfers of caches, in the order of sources, then of targets. */
static void list_moves(const RhDeployment *d, GArray *routes)
{
    const RhPool *from = &d->pools[0], *to = &d->pools[1];
    int32_t senders = d->pools_count > 1 ? rh_pool_gpus(from) : 0, there = rh_pool_gpus(to);
    for (int32_t r = 0; senders > 0 && r < from->replicas; r++)
        for (int32_t i = 0; i < senders; i++)
            for (int32_t target = 0; target < to->replicas; target++) {
                int32_t first = rh_deployment_first_gpu(d, replicas_before(d, 1) + target);
                Way way = {rh_deployment_first_gpu(d, r) + i, first + i % there};
                g_array_append_val(routes, way);
            }
}

static void add_way(GArray *routes, Way way)
{
    for (guint i = 0; i < routes->len; i++) {
        const Way *known = &g_array_index(routes, Way, i);
        if (known->src == way.src && known->dst == way.dst)
            return;
    }
    g_array_append_val(routes, way);
}

/* Lists transfers of caches, and the exchanges of servers on several nodes. */
static GArray *list_ways(const RhDeployment *d, const RhService *service)
{
    GArray *routes = g_array_new(FALSE, FALSE, sizeof(Way));
    list_moves(d, routes);
    for (int32_t p = 0; p < d->pools_count; p++)
        for (int32_t i = 0; i < d->pools[p].replicas; i++) {
            int32_t first = rh_deployment_first_gpu(d, replicas_before(d, p) + i);
            g_autoptr(RhReplicaTraffic) traffic =
                rh_replica_traffic_new(rh_service_iterations(service, p), first);
            const GArray *own = traffic ? rh_replica_traffic_ways(traffic) : NULL;
            for (guint w = 0; own && w < own->len; w++) {
                const RhReplicaFlow *flow = &g_array_index(own, RhReplicaFlow, w);
                add_way(routes, (Way){flow->src, flow->dst});
            }
        }
    return routes;
}

static const Way *way_at(const GArray *routes, guint i)
{
    return &g_array_index(routes, Way, i);
}

static int32_t add_message(RhProgram *p, RhTaskKind kind, RhLane lane, int32_t delta, double bytes)
{
    RhTask task = {.kind = (uint8_t)kind,
                   .lane = (uint8_t)lane,
                   .layer = -1,
                   .microbatch = -1,
                   .label = rh_program_label(p, "keys and values"),
                   .bundle = -1,
                   .group = -1,
                   .peer_task = -1,
                   .peer_delta = delta,
                   .bytes = bytes};
    return rh_program_add_task(p, task, NULL, 0);
}

/* Makes the program: a role for each GPU, with its sends and receives. */
static RhProgram *ways_program(const RhBackgroundService *g, const GArray *routes, int32_t *sends,
                               double bytes)
{
    int32_t gpus = rh_deployment_gpus(&g->deployment);
    g_autofree int32_t *recvs = g_new0(int32_t, routes->len + 1);
    RhProgram *p = rh_program_new(gpus);
    for (int32_t gpu = 0; gpu < gpus; gpu++) {
        rh_program_begin_role(p, "server", gpu, NULL, 0);
        for (guint i = 0; i < routes->len; i++) {
            const Way *way = way_at(routes, i);
            if (way->src == gpu)
                sends[i] =
                    add_message(p, RH_TASK_SEND, RH_LANE_SEND_NEXT, way->dst - way->src, bytes);
            else if (way->dst == gpu)
                recvs[i] =
                    add_message(p, RH_TASK_RECV, RH_LANE_RECV_PREV, way->src - way->dst, bytes);
        }
        rh_program_end_role(p);
    }
    for (guint i = 0; i < routes->len; i++)
        rh_program_match(p, sends[i], recvs[i]);
    int32_t each = g->fabric->gpus_per_node;
    p->gpu_of_rank = g_new(int32_t, gpus + 1);
    for (int32_t gpu = 0; gpu < gpus; gpu++)
        p->gpu_of_rank[gpu] = g->nodes[gpu / each] * each + gpu % each;
    return p;
}

static double longest_bytes(const RhBackgroundService *g, const RhService *service)
{
    int32_t longest = 1;
    for (guint i = 0; i < g->requests->list->len; i++)
        longest = MAX(longest, g_array_index(g->requests->list, RhRequest, i).input_tokens);
    const RhIterations *iterations = rh_service_iterations(service, 0);
    return rh_iterations_token_bytes(iterations) * longest +
           rh_iterations_sequence_bytes(iterations);
}

/* --- messages --- */

typedef struct {
    const RhBackgroundService *background;
    RhJobSimulation *stage;
    GHashTable *send_of; /* src * gpus + dst -> 1 + send */
    int32_t gpus;
    double t_s;     /* of the session, in the service's time */
    GArray *landed; /* RhKvTransfer: arrived, not reported yet */
} Carriage;

/* Latency before a message: none, as the engine's own messages include it. */
static double latency_s(void *self, int32_t src, int32_t dst)
{
    (void)self, (void)src, (void)dst;
    return 0;
}

/* Advances the session to this time, or to the next arrival of a message. */
static bool advance_session(Carriage *c, double until_s, GError **error)
{
    RhSessionEvent event;
    double start_s = c->background->t_start_s;
    if (!rh_job_stage_run(c->stage, start_s + until_s, &event, error))
        return false;
    c->t_s = event.t_s - start_s;
    RhKvTransfer carried = {event.who, c->t_s};
    if (event.kind == RH_EVENT_SENT)
        g_array_append_val(c->landed, carried);
    return true;
}

static bool start_message(void *self, double t_s, int32_t src, int32_t dst, double bytes,
                          int32_t who, GError **error)
{
    Carriage *c = self;
    while (c->t_s < t_s) {
        guint landed = c->landed->len;
        if (!advance_session(c, t_s, error))
            return false;
        if (c->landed->len == landed)
            c->t_s = t_s;
    }
    gpointer send = g_hash_table_lookup(c->send_of, GINT_TO_POINTER(src * c->gpus + dst));
    RhSessionMessage message = {.send = GPOINTER_TO_INT(send) - 1, .bytes = bytes, .who = who};
    return rh_job_stage_post(c->stage, message, error);
}

static bool perform_service(void *self, double until_s, RhKvTransfer *carried, GError **error)
{
    Carriage *c = self;
    *carried = (RhKvTransfer){.who = -1, .t_s = until_s};
    if (c->landed->len == 0 && !advance_session(c, until_s, error))
        return false;
    if (c->landed->len > 0) {
        *carried = g_array_index(c->landed, RhKvTransfer, 0);
        g_array_remove_index(c->landed, 0);
    }
    return true;
}

/* --- in a child process --- */

static RhProgram *build_program(void *user, GError **error)
{
    const RhBackgroundService *g = user;
    g_autoptr(RhService) service = rh_service_new(&g->serving, &g->deployment, error);
    if (!service) {
        rh_service_room(&g->serving, &g->deployment, error);
        return NULL;
    }
    g_autoptr(GArray) all = list_ways(&g->deployment, service);
    g_autofree int32_t *sends = g_new0(int32_t, all->len + 1);
    return ways_program(g, all, sends, longest_bytes(g, service));
}

static GHashTable *number_sends(const RhBackgroundService *g, const RhService *service)
{
    GHashTable *send_of = g_hash_table_new(NULL, NULL);
    g_autoptr(GArray) all = list_ways(&g->deployment, service);
    g_autofree int32_t *sends = g_new0(int32_t, all->len + 1);
    g_autoptr(RhProgram) p = ways_program(g, all, sends, 1);
    for (guint i = 0; i < all->len; i++) {
        const Way *way = way_at(all, i);
        int32_t key = way->src * p->ranks_count + way->dst;
        g_hash_table_insert(send_of, GINT_TO_POINTER(key), GINT_TO_POINTER(1 + sends[i]));
    }
    return send_of;
}

static GByteArray *play(RhJobSimulation *stage, void *user, GError **error)
{
    const RhBackgroundService *g = user;
    g_autoptr(RhService) service = rh_service_new(&g->serving, &g->deployment, error);
    if (!service)
        return NULL;
    Carriage c = {.background = g,
                  .stage = stage,
                  .send_of = number_sends(g, service),
                  .gpus = rh_deployment_gpus(&g->deployment),
                  .t_s = -g->t_start_s,
                  .landed = g_array_new(FALSE, FALSE, sizeof(RhKvTransfer))};
    RhKvTransport carrier = {.latency_s = latency_s,
                             .start = start_message,
                             .run = perform_service,
                             .shared = true,
                             .self = &c};
    RhClient client = g->client;
    client.carrier = &carrier;
    g_autoptr(RhServiceResult) result = rh_service_run(service, g->requests, &client, error);
    g_hash_table_destroy(c.send_of);
    g_array_unref(c.landed);
    if (!result)
        return NULL;
    GByteArray *out = g_byte_array_new();
    rh_pack_array(out, result->served, sizeof(RhRequestRecord));
    g_array_unref(g_steal_pointer(&result->served));
    rh_pack(out, result, sizeof *result);
    return out;
}

/* --- in the calling process --- */

bool rh_background_service_check(const RhBackgroundService *g, GError **error)
{
    int32_t each = g->fabric->gpus_per_node;
    int32_t nodes = (rh_deployment_gpus(&g->deployment) + each - 1) / each;
    if (nodes == g->nodes_count)
        return true;
    return rh_fail(error, RH_ERROR_INPUT,
                   "%s: its deployment is of %d GPUs, which are on %d nodes, not %d", g->name,
                   rh_deployment_gpus(&g->deployment), nodes, g->nodes_count);
}

RhMultiJobService rh_background_service(const RhBackgroundService *background)
{
    return (RhMultiJobService){build_program, play, (void *)background};
}

RhServiceResult *rh_background_service_answer(const GByteArray *answer)
{
    RhUnpack in = {answer->data, answer->data + answer->len, true};
    g_autoptr(RhServiceResult) result = g_new0(RhServiceResult, 1);
    GArray *served = g_array_new(FALSE, FALSE, sizeof(RhRequestRecord));
    rh_unpack_array(&in, served, sizeof(RhRequestRecord));
    rh_unpack(&in, result, sizeof *result);
    result->works = result->moves = NULL;
    result->served = served;
    return in.whole ? g_steal_pointer(&result) : NULL;
}
