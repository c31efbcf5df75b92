/* Simulates iterations of servers on several nodes while other traffic is on their links: caches
 * that go from pool to pool, other servers, jobs beside the service. These are simulated part by
 * part, each its work and then its flows; where no other traffic is, an iteration is one event,
 * which takes equally long. */
#include <math.h>

#include "strategies/serve/service/service_private.h"

#define PART_LEAST_S 1e-3 /* shorter than others' transfers */

static RhServiceTransfer *traffic_of(const RhServiceClock *c, int32_t number)
{
    return c->traffic && c->traffic[number].traffic ? &c->traffic[number] : NULL;
}

/* --- before the first request --- */

static GPtrArray *make_traffic(const RhServiceClock *c)
{
    GPtrArray *traffic = g_ptr_array_new_with_free_func((GDestroyNotify)rh_replica_traffic_free);
    for (int32_t i = 0; i < c->replicas; i++) {
        int32_t inside;
        const RhServicePool *stage = rh_service_stage(c, i, &inside);
        g_ptr_array_add(traffic,
                        rh_replica_traffic_new(stage->iterations, rh_service_first_gpu(c, i)));
    }
    return traffic;
}

static bool *find_shared_links(const GPtrArray *traffic)
{
    bool *meet = g_new0(bool, traffic->len * traffic->len + 1);
    for (guint i = 0; i < traffic->len; i++)
        for (guint k = 0; k < traffic->len; k++) {
            const RhReplicaTraffic *a = g_ptr_array_index(traffic, i),
                                   *b = g_ptr_array_index(traffic, k);
            meet[i * traffic->len + k] = i != k && a && b && rh_replica_traffic_meet(a, b);
        }
    return meet;
}

static bool meets(const RhServiceClock *c, int32_t a, int32_t b)
{
    return c->service->traffic_meets[a * c->replicas + b];
}

void rh_service_traffic_open(RhServiceClock *c)
{
    RhService *s = c->service;
    for (int32_t p = 0; p < s->deployment.pools_count; p++)
        c->replicas += s->stages[p].pool.replicas;
    if (!s->traffic) {
        s->traffic = make_traffic(c);
        s->traffic_meets = find_shared_links(s->traffic);
    }
    bool spans = false, met = c->carrier->shared || s->deployment.pools_count > 1;
    for (int32_t i = 0; i < c->replicas; i++) {
        spans |= g_ptr_array_index(s->traffic, i) != NULL;
        for (int32_t k = 0; k < c->replicas; k++)
            met |= meets(c, i, k);
    }
    if (!spans || !met)
        return;
    c->traffic = g_new0(RhServiceTransfer, c->replicas + 1);
    for (int32_t i = 0; i < c->replicas; i++)
        c->traffic[i].traffic = g_ptr_array_index(s->traffic, i);
}

/* --- parts --- */

/* Latency of an exchange that the iteration's work includes and other traffic counts separately. */
static double counted_s(const RhServiceClock *c, const RhServiceTransfer *w)
{
    const RhPlatform *platform = c->service->serving.platform;
    const GArray *ways = rh_replica_traffic_ways(w->traffic);
    double most_s = 0;
    for (guint i = 0; i < ways->len; i++) {
        const RhReplicaFlow *f = &g_array_index(ways, RhReplicaFlow, i);
        most_s = fmax(most_s, rh_platform_route_latency_s(platform, f->src, f->dst) -
                                  c->carrier->latency_s(c->carrier->self, f->src, f->dst));
    }
    return most_s;
}

/* Number of rounds into which an iteration is divided: at most the number of layers. */
static int32_t count_rounds(const RhServiceClock *c, double iteration_s)
{
    int32_t layers = c->service->serving.model->layers_count, rounds = 1;
    while (2 * rounds * RH_TRAFFIC_PARTS <= layers &&
           iteration_s >= 2 * rounds * RH_TRAFFIC_PARTS * PART_LEAST_S)
        rounds *= 2;
    return rounds;
}

/* Divides the server's latest iteration, which began at t_begin_s. */
static void plan_parts(const RhServiceClock *c, int32_t number, RhServiceTransfer *w,
                       double t_begin_s)
{
    double flows_s = 0, latency_s = c->carrier->shared ? counted_s(c, w) : 0;
    rh_replica_asks(rh_service_replica(c, number), &w->tokens, &w->sequences);
    w->iteration_s = w->t_end_s - t_begin_s;
    rh_replica_traffic_alone(w->traffic, w->iteration_s, w->tokens, w->sequences, w->alone_s);
    w->rounds = count_rounds(c, w->iteration_s);
    for (int i = 0; i < RH_TRAFFIC_PARTS; i++) {
        w->alone_s[i] = w->alone_s[i] / w->rounds + (w->alone_s[i] > 0 ? latency_s : 0);
        flows_s += w->rounds * w->alone_s[i];
    }
    w->work_s = fmax(w->iteration_s - flows_s, 0) / (RH_TRAFFIC_PARTS * w->rounds);
    w->plays = true;
    w->flows = 0;
}

static void schedule_part(RhServiceClock *c, int32_t number, double t_s, RhServiceEvent kind)
{
    c->end_of[number] = rh_events_add(c->events, t_s, kind, number);
}

static void next_part(RhServiceClock *c, int32_t number, RhServiceTransfer *w, double t_s)
{
    w->part++;
    w->left_frac = 1;
    if (w->part < w->rounds * RH_TRAFFIC_PARTS) {
        schedule_part(c, number, t_s + w->work_s, RH_SERVICE_EXCHANGES);
        return;
    }
    rh_replica_prolong(rh_service_replica(c, number), t_s - w->t_end_s);
    schedule_part(c, number, t_s, RH_SERVICE_ENDS);
}

bool rh_service_traffic_play(const RhServiceClock *c, int32_t number)
{
    const RhServiceTransfer *w = traffic_of(c, number);
    return w && w->plays;
}

bool rh_service_traffic_exchange(RhServiceClock *c, const RhTimedEvent *event, GError **error)
{
    int32_t number = event->who, who = (int32_t)c->requests->list->len + number;
    RhServiceTransfer *w = &c->traffic[number];
    if (c->end_of[number] != event->number)
        return true;
    g_autoptr(GArray) flows = g_array_new(FALSE, FALSE, sizeof(RhReplicaFlow));
    rh_replica_traffic_list(w->traffic, w->iteration_s, w->tokens, w->sequences,
                            w->part % RH_TRAFFIC_PARTS, flows);
    for (guint i = 0; i < flows->len; i++) {
        const RhReplicaFlow *f = &g_array_index(flows, RhReplicaFlow, i);
        if (!c->carrier->start(c->carrier->self, event->t_s, f->src, f->dst,
                               w->left_frac / w->rounds * f->bytes, who, error))
            return false;
    }
    w->flows = (int32_t)flows->len;
    c->flows += w->flows;
    if (w->flows == 0)
        next_part(c, number, w, event->t_s);
    return true;
}

void rh_service_traffic_carried(RhServiceClock *c, int32_t number, double t_s)
{
    if (c->traffic[number].flows_void > 0)
        c->traffic[number].flows_void--;
    else if (--c->traffic[number].flows == 0)
        next_part(c, number, &c->traffic[number], t_s);
}

void rh_service_traffic_fail(RhServiceClock *c, int32_t number)
{
    RhServiceTransfer *w = traffic_of(c, number);
    if (!w)
        return;
    w->flows_void += w->flows;
    w->flows = 0;
    w->plays = false;
}

/* --- servers with common links --- */

/* Continues an iteration part by part from now on, as other traffic is on its server's links. */
static void simulate_parts(RhServiceClock *c, int32_t number, double t_s)
{
    RhServiceTransfer *w = &c->traffic[number];
    RhReplica *r = rh_service_replica(c, number);
    if (w->plays || !rh_replica_busy(r))
        return;
    w->t_end_s = rh_replica_begun_s(r) + rh_replica_cut(r, t_s);
    double at_s = rh_replica_latest_s(r);
    plan_parts(c, number, w, at_s);
    w->left_frac = 1;
    for (w->part = 0; w->part < w->rounds * RH_TRAFFIC_PARTS; w->part++) {
        double flows_s = w->alone_s[w->part % RH_TRAFFIC_PARTS];
        if (t_s <= at_s + w->work_s) {
            schedule_part(c, number, at_s + w->work_s, RH_SERVICE_EXCHANGES);
            return;
        }
        at_s += w->work_s + flows_s;
        if (t_s < at_s) {
            w->left_frac = (at_s - t_s) / flows_s;
            schedule_part(c, number, t_s, RH_SERVICE_EXCHANGES);
            return;
        }
    }
    w->part = w->rounds * RH_TRAFFIC_PARTS - 1; /* over, except for rounding */
    next_part(c, number, w, fmax(t_s, w->t_end_s));
}

void rh_service_traffic_begin(RhServiceClock *c, int32_t number, double t_s)
{
    RhServiceTransfer *w = traffic_of(c, number);
    if (!w)
        return;
    w->plays = false;
    if (!rh_replica_busy(rh_service_replica(c, number)))
        return;
    bool met = c->carrier->shared || w->met > 0;
    for (int32_t i = 0; i < c->replicas; i++)
        if (meets(c, number, i) && rh_replica_busy(rh_service_replica(c, i))) {
            met = true;
            simulate_parts(c, i, t_s);
        }
    if (met)
        simulate_parts(c, number, t_s);
}

/* Is a link of these exchanges on a route between the GPUs of the two pools? */
static bool crosses_transfer(const RhServiceClock *c, const RhReplicaTraffic *traffic,
                             int32_t request)
{
    int32_t from = rh_service_served(c, request)->replica, to = c->request_at[request], inside;
    int32_t ranks = rh_pool_gpus(&rh_service_stage(c, from, &inside)->pool);
    int32_t there = rh_pool_gpus(&rh_service_stage(c, to, &inside)->pool);
    RhLink links[RH_ROUTE_MAX];
    for (int32_t i = 0; i < ranks; i++) {
        int count =
            rh_platform_route(c->service->serving.platform, rh_service_first_gpu(c, from) + i,
                              rh_service_first_gpu(c, to) + i % there, links);
        for (int l = 0; l < count; l++)
            if (rh_replica_traffic_cross(traffic, links[l]))
                return true;
    }
    return false;
}

void rh_service_traffic_met(RhServiceClock *c, int32_t request, double t_s)
{
    for (int32_t i = 0; c->traffic && i < c->replicas; i++)
        if (c->traffic[i].traffic && crosses_transfer(c, c->traffic[i].traffic, request)) {
            c->traffic[i].met++;
            simulate_parts(c, i, t_s);
        }
}

void rh_service_traffic_parted(RhServiceClock *c, int32_t request)
{
    for (int32_t i = 0; c->traffic && i < c->replicas; i++)
        if (c->traffic[i].traffic && crosses_transfer(c, c->traffic[i].traffic, request))
            c->traffic[i].met--;
}
