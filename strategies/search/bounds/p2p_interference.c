/* Messages beside collectives. Where a block of ranks straddles nodes, a message that one of its members sends
 * may cross a link that the block's next collective crosses, too. The message begins when the collective
 * before has ended, or kernels that wait for it have, and the next one, which every member calls behind these
 * kernels, begins no sooner than that: the link is shared.
 *
 * What is claimed: let the collective put b seconds of bytes on the link, one flow at a time, and the message d,
 * of which it has at least f of the link's rate. Fair shares make f no less than a half where this link is what
 * slows the message down; another of its route, with n flows at most, gives it an n-th. Either the message ends
 * first: then the link has carried b + d since the message began, whichever of these bytes came first, and the
 * collective, which takes a seconds alone, ends as if it had begun b + d - a behind the message's beginning. Or
 * it had 1 - f of the link at most, and takes b / (1 - f), which is b f / (1 - f) more; off this goes what it
 * takes besides b when alone, and latencies of the message and of one before it: bytes may move alone meanwhile.
 * All that grows with when the slot before ends, so what is late stays a bound.
 *
 * Held against rehearsals that perform every link; blocks that lie alike are left to collective_times.c. */
#include <math.h>

#include "strategies/search/bounds/guaranteed_link_share.h"

/* --- what a message does to the next collective --- */

/* A message of a member over a link. */
typedef struct {
    const RhContention *links;
    int32_t stage;
    const int32_t *gpus; /* of the block */
    RhLink link;
    double part; /* of the link, that the message has at least */
    double latency_s;
} Message;

/* Adds a task to the least effect of the message; returns false if nothing is known of it. */
static bool take_task(const Message *m, const RhLayerOp *task, RhP2pInterference *share)
{
    const RhGroupNetwork *net = m->links->net;
    if (task->lane != RH_LANE_TP)
        return true;
    double moving_s = rh_contention_on_link_s(m->links, task, m->gpus, net->block, m->link);
    if (isnan(moving_s))
        return false;
    double fixed_s =
        rh_bound_block_s(m->links->cache, net, net->placement[m->stage], task) - moving_s;
    double most_s = moving_s * m->part / (1 - m->part) - fixed_s - 2 * m->latency_s;
    share->most_s = rh_min_d(share->most_s, most_s);
    share->fixed_s = rh_max_d(share->fixed_s, fixed_s);
    return true;
}

static bool take_items(const Message *m, RhP2pInterference *share)
{
    const RhLayerOps *items = rh_bound_layer_ops(m->links->shard);
    bool known = true;
    for (int i = 0; i < RH_LAYER_OP_KINDS * RH_SLOT_PASSES; i++) {
        int kind = i / RH_SLOT_PASSES;
        const GArray *tasks = items->pass[kind][i % RH_SLOT_PASSES].tasks;
        const RhPipelineSchedule *schedule = rh_pipeline_of(m->links->l);
        bool last = m->stage == m->links->l->pp - 1;
        bool here = (kind != RH_LAYER_EMBEDDING || m->stage == 0 || schedule->mirrors) &&
                    (kind != RH_LAYER_HEAD || last || schedule->mirrors);
        for (guint k = 0; here && known && tasks && k < tasks->len; k++)
            known = take_task(m, &g_array_index(tasks, RhLayerOp, k), share);
    }
    return known;
}

/* Adds what passes gather before their layers. */
static bool take_steps(const Message *m, RhP2pInterference *share)
{
    const RhStageProgram *stage_program = m->links->flows[m->stage]->stage_program;
    bool known = true;
    for (int32_t i = 0; known && i < (int32_t)stage_program->steps->len; i++) {
        const RhInstr *step = rh_stage_program_instr(stage_program, i);
        RhLayerOp task = {.lane = (RhLane)step->lane,
                          .group = (RhGroupKind)step->group,
                          .op = (RhOp)step->op,
                          .bytes = step->bytes};
        if (step->kind == RH_INSTR_COMMUNICATE && task.lane == RH_LANE_TP)
            known = take_task(m, &task, share);
    }
    return known;
}

/* Adds all collectives that may come next; returns false if nothing is known of one. */
static bool take_all(const Message *m, RhP2pInterference *share)
{
    return take_items(m, share) && take_steps(m, share) && share->most_s < (double)INFINITY;
}

static double worth_s(const RhContention *links, const RhP2pInterference *share)
{
    return rh_p2p_interference_s(share, links->shard->model_cost->least_message_bytes);
}

/* Returns the effect of the message and link, of all members, that delay the group longest. */
static RhP2pInterference share_of(const RhContention *links, int32_t stage, bool back)
{
    const RhPlatform *p = links->cache->c->platform;
    int32_t size = links->net->block;
    g_autofree int32_t *gpus = g_new(int32_t, size);
    RhP2pInterference best = {0, 0, 0};
    for (int32_t i = 0; i < size; i++)
        gpus[i] = rh_grid_rank(&links->net->grid, stage, links->net->followed * size + i);
    for (int32_t i = 0; i < size; i++) {
        RhLink route[RH_ROUTE_MAX];
        int32_t to = gpus[i] + rh_contention_delta(links, stage, back);
        int n = rh_platform_route(p, gpus[i], to, route);
        double latency_s = rh_platform_route_latency_s(p, gpus[i], to);
        for (int k = 0; k < n; k++) {
            Message m = {links, stage, gpus, route[k], 0, latency_s};
            m.part = rh_contention_least_part(links, route, n, route[k]);
            RhP2pInterference share = {1 / rh_platform_link_bytes_per_s(p, route[k]),
                                       (double)INFINITY, 0};
            if (!take_all(&m, &share))
                continue;
            if (worth_s(links, &share) > worth_s(links, &best))
                best = share;
        }
    }
    return best;
}

/* --- all stages --- */

int32_t rh_p2p_interference_count(const RhLayout *l)
{
    return RH_STANDS * 2 * l->pp;
}

static void fill(const RhContention *links, RhP2pInterference *shares)
{
    for (int32_t i = 0; i < 2 * links->l->pp; i++)
        shares[i] = share_of(links, i / 2, i % 2);
}

/* Replicas do anything meanwhile where no forward is to come. While one is, there are no gradients of the last
 * micro-batch; once a backward has run, all chunks of the model have, and their parameters are there. */
static RhP2pInterference *shares_new(RhBoundCache *cache, const RhLayout *l,
                                     const RhGroupNetwork *net, RhShardCost *shard)
{
    RhContention links = rh_contention_new(cache, l, net, shard);
    int32_t each = rh_p2p_interference_count(l);
    RhP2pInterference *shares = g_new(RhP2pInterference, (net->others_count + 1) * each);
    bool known = rh_contention_is_calm(l, links.flows);
    uint32_t calm = known ? RH_LANES_OF_ITEMS : RH_LANES_ALL;
    uint32_t lanes[RH_STANDS] = {[RH_STAND_DRAINS] = RH_LANES_ALL,
                                 [RH_STAND_FILLS] = calm | RH_LANE_BIT(RH_LANE_GATHER),
                                 [RH_STAND_AMIDST] = calm};
    for (int i = 0; i < RH_STANDS; i++) {
        rh_contention_fill(&links, lanes[i]);
        for (int32_t n = 0; n <= net->others_count; n++) {
            links.net = n == 0 ? net : &net->others[n - 1];
            fill(&links, shares + n * each + i * 2 * l->pp);
        }
        links.net = net;
    }
    g_free(links.flows_at_once);
    return shares;
}

double rh_p2p_interference_s(const RhP2pInterference *with, double bytes)
{
    return rh_min_d(with->s_per_byte * bytes - with->fixed_s, with->most_s);
}

const RhP2pInterference *rh_bound_p2p_interference(RhBoundCache *cache, const RhLayout *l)
{
    const RhGroupNetwork *net = rh_bound_network(cache, l);
    if (l->pp == 1 || !rh_contention_is_claimed(cache, l, net))
        return NULL;
    RhShardCost *shard = rh_bound_shard(cache, l);
    const RhCommStepSet *set = rh_bound_comm_step_set(cache, l);
    RhP2pInterference *found = g_hash_table_lookup(shard->shares, set);
    if (!found && rh_bound_layer_ops(shard)->pairs_count == 0) {
        found = shares_new(cache, l, net, shard);
        g_hash_table_insert(shard->shares, (void *)(uintptr_t)set, found);
    }
    return found;
}
