/* How much of a link a flow surely has. Fair shares of a link that slows it down, or of another of its route,
 * which has so many flows at one time at most: a lane has one collective at a time, and a message goes to either
 * side. Links that carry all that may come to them slow nobody down. */
#include "strategies/search/bounds/guaranteed_link_share.h"

#include <math.h>

#include "base/hash.h"
#include "sim/collective/collective.h"

/* --- how many flows a link has --- */

typedef struct {
    const RhContention *links;
    int32_t stage, *most; /* of the calls of one lane, per link */
    GArray *kinds;        /* uint64_t: of calls that are counted */
} LaneCrowd;

static uint64_t kind_of(const GArray *loads)
{
    uint64_t h = 0;
    for (guint i = 0; i < loads->len; i++) {
        const RhLinkLoad *load = &g_array_index(loads, RhLinkLoad, i);
        h = rh_mix64(h, (uint64_t)load->link << 32 | (uint64_t)load->flows);
    }
    return h;
}

/* Adds a call's flows to the most per link of its lane. Groups side by side may be at different
 * calls, so calls over different links add up. */
static void crowd_call(LaneCrowd *c, const RhCollectiveKey *key)
{
    const GArray *loads = rh_bound_loads(c->links->cache, c->links->net, key);
    uint64_t kind = loads ? kind_of(loads) : 0;
    for (guint i = 0; i < c->kinds->len; i++)
        if (g_array_index(c->kinds, uint64_t, i) == kind)
            return;
    g_array_append_val(c->kinds, kind);
    for (guint i = 0; loads && i < loads->len; i++) {
        const RhLinkLoad *load = &g_array_index(loads, RhLinkLoad, i);
        c->most[load->link] += load->flows;
    }
}

static void crowd_items(LaneCrowd *c, int lane)
{
    const RhLayerOps *items = rh_bound_layer_ops(c->links->shard);
    for (int i = 0; i < RH_LAYER_OP_KINDS * RH_SLOT_PASSES; i++) {
        const GArray *tasks = items->pass[i / RH_SLOT_PASSES][i % RH_SLOT_PASSES].tasks;
        for (guint k = 0; tasks && k < tasks->len; k++) {
            const RhLayerOp *task = &g_array_index(tasks, RhLayerOp, k);
            RhCollectiveKey key = {c->links->net->id, c->stage,    (int32_t)task->group,
                                   (int32_t)task->op, task->bytes, task->routing};
            if ((int)task->lane == lane)
                crowd_call(c, &key);
        }
    }
}

static void crowd_steps(LaneCrowd *c, int lane)
{
    const GArray *steps = c->links->flows[c->stage]->stage_program->steps;
    for (guint i = 0; i < steps->len; i++) {
        const RhInstr *step = &g_array_index(steps, RhInstr, i);
        RhCollectiveKey key = {c->links->net->id, c->stage,    step->group,
                               step->op,          step->bytes, {0}};
        if (step->kind == RH_INSTR_COMMUNICATE && step->lane == lane)
            crowd_call(c, &key);
    }
}

/* A lane has one collective at a time. */
static void crowd_stage(const RhContention *links, uint32_t lanes, int32_t stage, int32_t *most)
{
    int32_t count = rh_platform_links_count(links->cache->c->platform);
    for (int lane = RH_LANE_COMPUTE + 1; lane < RH_LANE_LAST; lane++) {
        if (!(lanes & RH_LANE_BIT(lane)))
            continue;
        g_autoptr(GArray) kinds = g_array_new(FALSE, FALSE, sizeof(uint64_t));
        LaneCrowd c = {links, stage, most, kinds};
        crowd_items(&c, lane);
        crowd_steps(&c, lane);
        for (int32_t i = 0; i < count; i++) {
            links->flows_at_once[i] += most[i];
            most[i] = 0;
        }
    }
}

int32_t rh_contention_delta(const RhContention *links, int32_t stage, bool back)
{
    int32_t pp = links->l->pp, to = (stage + (back ? pp - 1 : 1)) % pp;
    return (to - stage) * links->net->grid.stride[RH_DIM_PP];
}

static int route_of(const RhContention *links, int32_t rank, int32_t delta,
                    RhLink out[RH_ROUTE_MAX])
{
    const RhProgram *p = links->net->skeleton;
    return rh_platform_route(links->cache->c->platform, rh_program_gpu(p, rank),
                             rh_program_gpu(p, rank + delta), out);
}

/* Adds one message of every rank in either direction. */
static void crowd_messages(const RhContention *links, int32_t stage)
{
    const RhRole *role = rh_program_role(links->net->skeleton, stage);
    for (int back = 0; back < 2; back++)
        for (int32_t i = 0; i < role->ranks_count; i++) {
            RhLink route[RH_ROUTE_MAX];
            int n = route_of(links, rh_role_rank(role, i), rh_contention_delta(links, stage, back),
                             route);
            for (int k = 0; k < n; k++)
                links->flows_at_once[route[k]]++;
        }
}

/* --- links that slow nobody down --- */

/* Sum of the capacities of the first links, or last, of the routes that cross each link. */
typedef struct {
    GHashTable *seen; /* pairs of links */
    double *bytes_per_s;
} Ends;

static void ends_add(const RhPlatform *p, Ends *ends, RhLink link, RhLink end)
{
    gint64 pair = (gint64)link << 32 | (gint64)end;
    if (g_hash_table_contains(ends->seen, &pair))
        return;
    g_hash_table_add(ends->seen, g_memdup2(&pair, sizeof pair));
    ends->bytes_per_s[link] += rh_platform_link_bytes_per_s(p, end);
}

static void ends_add_routes(const RhPlatform *p, int32_t gpus, Ends *first, Ends *last)
{
    for (int32_t src = 0; src < gpus; src++)
        for (int32_t dst = 0; dst < gpus; dst++) {
            RhLink route[RH_ROUTE_MAX];
            int n = src == dst ? 0 : rh_platform_route(p, src, dst, route);
            for (int k = 1; k + 1 < n; k++) {
                ends_add(p, first, route[k], route[0]);
                ends_add(p, last, route[k], route[n - 1]);
            }
        }
}

/* A link that carries all that may come to it, or that may leave it, changes no fair share: with a little
 * more it would never be full, and fair shares do not jump as capacities grow. */
static bool *ample_new(const RhPlatform *p, int32_t gpus)
{
    int32_t count = rh_platform_links_count(p);
    bool *ample = g_new0(bool, count + 1);
    g_autofree double *in = g_new0(double, count + 1), *out = g_new0(double, count + 1);
    Ends first = {g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL), in};
    Ends last = {g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL), out};
    ends_add_routes(p, gpus, &first, &last);
    for (int32_t i = 0; i < count; i++) {
        double least = in[i] < out[i] ? in[i] : out[i];
        ample[i] = least > 0 && rh_platform_link_bytes_per_s(p, i) >= least * (1 - 1e-9);
    }
    g_hash_table_destroy(first.seen);
    g_hash_table_destroy(last.seen);
    return ample;
}

/* --- of one link --- */

double rh_contention_least_part(const RhContention *links, const RhLink *route, int count,
                                RhLink link)
{
    const RhPlatform *p = links->cache->c->platform;
    double capacity = rh_platform_link_bytes_per_s(p, link), part = 0.5;
    bool crosses = false;
    for (int k = 0; k < count; k++) {
        double other = rh_platform_link_bytes_per_s(p, route[k]);
        crosses = crosses || route[k] == link;
        if (route[k] != link && !links->cache->ample[route[k]])
            part = rh_min_d(part, other / MAX(1, links->flows_at_once[route[k]]) / capacity);
    }
    return crosses ? part : 0;
}

bool rh_contention_crosses(const RhPlatform *p, int32_t src_gpu, int32_t dst_gpu, RhLink link)
{
    RhLink route[RH_ROUTE_MAX];
    int n = rh_platform_route(p, src_gpu, dst_gpu, route);
    for (int k = 0; k < n; k++)
        if (route[k] == link)
            return true;
    return false;
}

double rh_contention_on_link_s(const RhContention *links, const RhLayerOp *task,
                               const int32_t *gpus, int32_t size, RhLink link)
{
    const RhPlatform *p = links->cache->c->platform;
    if (rh_grid_group_size(&links->net->grid, task->group) != size ||
        task->bytes <= RH_LATENCY_BYTES)
        return (double)NAN;
    RhCollectiveSpec spec = {.op = task->op, .bytes = task->bytes};
    spec.algo = rh_bound_algorithm(links->cache, links->net, links->net->groups[task->group],
                                   task->op, task->bytes, &task->routing);
    g_autoptr(RhSchedule) schedule = rh_schedule_on(&spec, size, p, gpus, NULL);
    double bytes = 0;
    for (guint i = 0; schedule && i < schedule->rounds->len; i++) {
        const RhRound *round = &g_array_index(schedule->rounds, RhRound, i);
        int32_t crossing = 0;
        for (int32_t f = 0; f < round->flows_count; f++) {
            const RhFlow *flow = &g_array_index(schedule->flows, RhFlow, round->flows_first + f);
            if (rh_contention_crosses(p, gpus[flow->src], gpus[flow->dst], link)) {
                bytes += round->repeat * flow->bytes;
                crossing++;
            }
        }
        if (crossing > 1)
            return (double)NAN;
    }
    return bytes > 0 ? bytes / rh_platform_link_bytes_per_s(p, link) : (double)NAN;
}

/* --- all stages --- */

#define GPUS_MAX 512 /* their pairs are looked at */

bool rh_contention_is_claimed(RhBoundCache *s, const RhLayout *l, const RhGroupNetwork *net)
{
    const RhPlatform *p = s->c->platform;
    return s->c->job.gpus <= GPUS_MAX && net->block > 1 && !net->uniform && !rh_train_copies(l) &&
           p->messages.sender == RH_SHARING_NONE && !p->outside && p->mesh.gpus == 0 &&
           !rh_deadline_passed(s->deadline) && !rh_bound_may_merge(s, l);
}

bool rh_contention_is_calm(const RhLayout *l, RhCommSteps *const *flows)
{
    for (int32_t stage = 0; stage < l->pp; stage++)
        for (int lane = RH_LANE_DP; lane < RH_LANE_SEND_NEXT; lane++) {
            const RhCommSteps *f = flows[stage];
            bool begins = lane != RH_LANE_GATHER && f->begin.lane_s[lane] > 0;
            if (begins || f->every.lane_s[lane] > 0 || f->first.lane_s[lane] > 0)
                return false;
        }
    return !rh_train_shares_in_groups(l);
}

RhContention rh_contention_new(RhBoundCache *cache, const RhLayout *l, const RhGroupNetwork *net,
                               RhShardCost *shard)
{
    if (!cache->ample)
        cache->ample = ample_new(cache->c->platform, cache->c->job.gpus);
    return (RhContention){cache, l, net, shard, rh_bound_comm_steps(cache, l), NULL};
}

void rh_contention_fill(RhContention *links, uint32_t lanes)
{
    int32_t count = rh_platform_links_count(links->cache->c->platform);
    g_autofree int32_t *most = g_new0(int32_t, count + 1);
    g_free(links->flows_at_once);
    links->flows_at_once = g_new0(int32_t, count + 1);
    for (int32_t stage = 0; stage < links->l->pp; stage++) {
        crowd_stage(links, lanes, stage, most);
        if (links->l->pp > 1)
            crowd_messages(links, stage);
    }
}
