/* Messages beside collectives. Where a block of ranks straddles nodes, a message that one of its members sends
 * may cross a link that the block's next collective crosses, too. The message begins when the collective
 * before has ended, so the next one begins no sooner than that, and the link is shared.
 *
 * What is claimed: let the collective put b seconds of bytes on the link, one flow at a time, and the message
 * have at least f of the link's rate. Fair shares make f no less than a half where this link is what slows
 * the message down; another of its route, with n flows at most, gives it an n-th. Either the message ends
 * first: then the link has carried all that was left of it besides the b seconds. Or the collective had 1 - f
 * of the link at most, and takes b / (1 - f), which is b f / (1 - f) more. What it takes besides b when
 * alone is taken off, as latencies of the message and of one before it: bytes may move alone meanwhile.
 * All that grows with when the slot before ends, so what is late stays a bound.
 *
 * Held against rehearsals that perform every link; blocks that lie alike are left to screen_time.c. */
#include <math.h>

#include "sim/collective/collective.h"
#include "strategies/search/screen.h"

#define LANE(lane) (UINT32_C(1) << (lane))
#define GPUS_MAX   512 /* their pairs are looked at */

typedef struct {
    RhScreen *screen;
    const RhLayout *l;
    const RhNet *net;
    RhShardCost *shard;
    RhFlows *const *flows;
    int32_t *crowd; /* per link: flows at one time, at most */
    uint32_t lanes; /* that may be busy */
} Links;

/* --- how many flows a link has --- */

typedef struct {
    const Links *links;
    int32_t stage, *most; /* of the calls of one lane, per link */
} LaneCrowd;

static void crowd_call(LaneCrowd *c, const RhCollectiveKey *key)
{
    const GArray *loads = rh_screen_loads(c->links->screen, c->links->net, key);
    for (guint i = 0; loads && i < loads->len; i++) {
        const RhLinkLoad *load = &g_array_index(loads, RhLinkLoad, i);
        c->most[load->link] = MAX(c->most[load->link], load->flows);
    }
}

static void crowd_items(LaneCrowd *c, int lane)
{
    const RhItems *items = rh_screen_items(c->links->shard);
    for (int i = 0; i < RH_ITEM_KINDS * RH_SLOT_PASSES; i++) {
        const GArray *tasks = items->pass[i / RH_SLOT_PASSES][i % RH_SLOT_PASSES].tasks;
        for (guint k = 0; tasks && k < tasks->len; k++) {
            const RhItemTask *task = &g_array_index(tasks, RhItemTask, k);
            RhCollectiveKey key = {c->links->net->id, c->stage,    (int32_t)task->group,
                                   (int32_t)task->op, task->bytes, task->routing};
            if ((int)task->lane == lane)
                crowd_call(c, &key);
        }
    }
}

static void crowd_steps(LaneCrowd *c, int lane)
{
    const GArray *steps = c->links->flows[c->stage]->script->steps;
    for (guint i = 0; i < steps->len; i++) {
        const RhStep *step = &g_array_index(steps, RhStep, i);
        RhCollectiveKey key = {c->links->net->id, c->stage,    step->group,
                               step->op,          step->bytes, {0}};
        if (step->kind == RH_STEP_COMMUNICATE && step->lane == lane)
            crowd_call(c, &key);
    }
}

/* A lane has one collective at a time. */
static void crowd_stage(const Links *links, int32_t stage, int32_t *most)
{
    int32_t count = rh_platform_links_count(links->screen->c->platform);
    for (int lane = RH_LANE_COMPUTE + 1; lane < RH_LANE_LAST; lane++) {
        if (!(links->lanes & LANE(lane)))
            continue;
        LaneCrowd c = {links, stage, most};
        crowd_items(&c, lane);
        crowd_steps(&c, lane);
        for (int32_t i = 0; i < count; i++) {
            links->crowd[i] += most[i];
            most[i] = 0;
        }
    }
}

static int32_t delta_of(const Links *links, int32_t stage, bool back)
{
    int32_t pp = links->l->pp, to = (stage + (back ? pp - 1 : 1)) % pp;
    return (to - stage) * links->net->grid.stride[RH_DIM_PP];
}

static int route_of(const Links *links, int32_t rank, int32_t delta, RhLink out[RH_ROUTE_MAX])
{
    const RhProgram *p = links->net->skeleton;
    return rh_platform_route(links->screen->c->platform, rh_program_gpu(p, rank),
                             rh_program_gpu(p, rank + delta), out);
}

/* One message of every rank to either side. */
static void crowd_messages(const Links *links, int32_t stage)
{
    const RhRole *role = rh_program_role(links->net->skeleton, stage);
    for (int back = 0; back < 2; back++)
        for (int32_t i = 0; i < role->ranks_count; i++) {
            RhLink route[RH_ROUTE_MAX];
            int n = route_of(links, rh_role_rank(role, i), delta_of(links, stage, back), route);
            for (int k = 0; k < n; k++)
                links->crowd[route[k]]++;
        }
}

/* --- links that slow nobody down --- */

/* Of routes that cross each link, the capacity of their first links, or last. */
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

/* --- what a message does to the next collective --- */

/* The part of the link that the message has at least; 0: it does not cross the link. */
static double least_part(const Links *links, const RhLink *route, int count, RhLink link)
{
    const RhPlatform *p = links->screen->c->platform;
    double capacity = rh_platform_link_bytes_per_s(p, link), part = 0.5;
    bool crosses = false;
    for (int k = 0; k < count; k++) {
        double other = rh_platform_link_bytes_per_s(p, route[k]);
        crosses = crosses || route[k] == link;
        if (route[k] != link && !links->screen->ample[route[k]])
            part = rh_earlier(part, other / MAX(1, links->crowd[route[k]]) / capacity);
    }
    return crosses ? part : 0;
}

static bool is_crossed(const RhPlatform *p, int32_t src_gpu, int32_t dst_gpu, RhLink link)
{
    RhLink route[RH_ROUTE_MAX];
    int n = rh_platform_route(p, src_gpu, dst_gpu, route);
    for (int k = 0; k < n; k++)
        if (route[k] == link)
            return true;
    return false;
}

/* Bytes that the task's collective over these GPUs puts on the link, in seconds. NAN: none, or flows of one
 * phase share the link with one another. */
static double on_link_s(const Links *links, const RhItemTask *task, const int32_t *gpus,
                        int32_t size, RhLink link)
{
    const RhPlatform *p = links->screen->c->platform;
    if (rh_grid_group_size(&links->net->grid, task->group) != size ||
        task->bytes <= RH_LATENCY_BYTES)
        return (double)NAN;
    RhAlgo algo = rh_screen_algorithm(links->screen, links->net, links->net->groups[task->group],
                                      task->op, task->bytes, &task->routing);
    g_autoptr(RhSchedule) schedule =
        rh_schedule_on(task->op, algo, size, p, gpus, task->bytes, NULL, NULL);
    double bytes = 0;
    for (guint i = 0; schedule && i < schedule->phases->len; i++) {
        const RhStepPhase *phase = &g_array_index(schedule->phases, RhStepPhase, i);
        int32_t crossing = 0;
        for (int32_t f = 0; f < phase->flows_count; f++) {
            const RhFlow *flow = &g_array_index(schedule->flows, RhFlow, phase->flows_first + f);
            if (is_crossed(p, gpus[flow->src], gpus[flow->dst], link)) {
                bytes += phase->repeat * flow->bytes;
                crossing++;
            }
        }
        if (crossing > 1)
            return (double)NAN;
    }
    return bytes > 0 ? bytes / rh_platform_link_bytes_per_s(p, link) : (double)NAN;
}

/* Of all collectives that may come next. False: of one of them nothing is known. */
static bool take_tasks(const Links *links, int32_t stage, const int32_t *gpus, int32_t size,
                       RhLink link, double part, RhShare *share)
{
    const RhItems *items = rh_screen_items(links->shard);
    for (int i = 0; i < RH_ITEM_KINDS * RH_SLOT_PASSES; i++) {
        int kind = i / RH_SLOT_PASSES;
        const GArray *tasks = items->pass[kind][i % RH_SLOT_PASSES].tasks;
        bool here = (kind != RH_ITEM_EMBEDDING || stage == 0) &&
                    (kind != RH_ITEM_HEAD || stage == links->l->pp - 1);
        for (guint k = 0; here && tasks && k < tasks->len; k++) {
            const RhItemTask *task = &g_array_index(tasks, RhItemTask, k);
            if (task->lane != RH_LANE_TP)
                continue;
            double moving_s = on_link_s(links, task, gpus, size, link);
            if (isnan(moving_s))
                return false;
            double alone_s =
                rh_screen_block_s(links->screen, links->net, links->net->placement[stage], task);
            share->most_s = rh_earlier(share->most_s, moving_s * part / (1 - part));
            share->fixed_s = rh_later(share->fixed_s, alone_s - moving_s);
        }
    }
    return share->most_s < (double)INFINITY;
}

static double worth_s(const Links *links, const RhShare *share)
{
    return rh_share_s(share, links->shard->pieces->least_message_bytes);
}

/* Of the messages of all members and of the links of each the one that keeps the group back longest. */
static RhShare share_of(const Links *links, int32_t stage, bool back)
{
    const RhPlatform *p = links->screen->c->platform;
    int32_t size = links->net->block;
    g_autofree int32_t *gpus = g_new(int32_t, size);
    RhShare best = {0, 0, 0};
    for (int32_t i = 0; i < size; i++)
        gpus[i] = rh_grid_rank(&links->net->grid, stage, links->net->followed * size + i);
    for (int32_t i = 0; i < size; i++) {
        RhLink route[RH_ROUTE_MAX];
        int32_t to = gpus[i] + delta_of(links, stage, back);
        int n = rh_platform_route(p, gpus[i], to, route);
        double latency_s = rh_platform_route_latency_s(p, gpus[i], to);
        for (int k = 0; k < n; k++) {
            RhShare share = {1 / rh_platform_link_bytes_per_s(p, route[k]), (double)INFINITY, 0};
            double part = least_part(links, route, n, route[k]);
            if (!take_tasks(links, stage, gpus, size, route[k], part, &share))
                continue;
            share.fixed_s += 2 * latency_s;
            if (worth_s(links, &share) > worth_s(links, &best))
                best = share;
        }
    }
    return best;
}

/* --- all stages --- */

static bool is_claimed(RhScreen *s, const RhLayout *l, const RhNet *net)
{
    const RhPlatform *p = s->c->platform;
    return s->c->job.gpus <= GPUS_MAX && l->pp > 1 && net->block > 1 && !net->uniform &&
           !rh_train_copies(l) && p->messages.sender == RH_SHARING_NONE &&
           p->link_changes->len == 0 && !p->outside && p->mesh.gpus == 0 &&
           !rh_deadline_passed(s->deadline) && !rh_screen_may_merge(s, l);
}

/* Are parameters gathered at the step's beginning alone, and gradients summed behind the last micro-batch's
 * passes alone, by all replicas together? */
static bool has_calm(const RhLayout *l, RhFlows *const *flows)
{
    for (int32_t stage = 0; stage < l->pp; stage++)
        for (int lane = RH_LANE_DP; lane < RH_LANE_SEND_NEXT; lane++) {
            const RhFlows *f = flows[stage];
            bool begins = lane != RH_LANE_GATHER && f->begin.lane_s[lane] > 0;
            if (begins || f->every.lane_s[lane] > 0 || f->first.lane_s[lane] > 0)
                return false;
        }
    return !rh_train_shares_in_groups(l);
}

static void fill(Links *links, uint32_t lanes, RhShare *shares)
{
    int32_t count = rh_platform_links_count(links->screen->c->platform);
    g_autofree int32_t *crowd = g_new0(int32_t, count + 1), *most = g_new0(int32_t, count + 1);
    links->crowd = crowd;
    links->lanes = lanes;
    for (int32_t stage = 0; stage < links->l->pp; stage++) {
        crowd_stage(links, stage, most);
        crowd_messages(links, stage);
    }
    for (int32_t i = 0; i < 2 * links->l->pp; i++)
        shares[i] = share_of(links, i / 2, i % 2);
}

static RhShare *shares_new(RhScreen *screen, const RhLayout *l, const RhNet *net,
                           RhShardCost *shard)
{
    Links links = {screen, l, net, shard, rh_screen_flows(screen, l), NULL, 0};
    RhShare *shares = g_new(RhShare, RH_CALM_LAST * 2 * l->pp);
    uint32_t all = LANE(RH_LANE_LAST) - 1, calm = LANE(RH_LANE_DP) - 1;
    bool known = has_calm(l, links.flows);
    if (!screen->ample)
        screen->ample = ample_new(screen->c->platform, screen->c->job.gpus);
    fill(&links, all, shares);
    fill(&links, known ? calm | LANE(RH_LANE_GATHER) : all, shares + RH_CALM_GATHERS * 2 * l->pp);
    fill(&links, known ? calm : all, shares + RH_CALM * 2 * l->pp);
    return shares;
}

/* While a forward is to come, there are no gradients of the last micro-batch; once a backward has run, all
 * chunks of the model have, and their parameters are there. */
RhCalm rh_share_calm(const RhSlot *slots, int64_t at, int64_t total)
{
    bool behind = false;
    for (int64_t i = at + 1; slots && i < total && !behind; i++)
        behind = slots[i].pass == RH_SLOT_FORWARD;
    for (int64_t i = at; behind && i >= 0; i--)
        if (rh_slot_goes_back(slots[i].pass))
            return RH_CALM;
    return behind ? RH_CALM_GATHERS : RH_CALM_NOT;
}

double rh_share_s(const RhShare *with, double bytes)
{
    return rh_earlier(with->s_per_byte * bytes, with->most_s) - with->fixed_s;
}

const RhShare *rh_screen_shares(RhScreen *screen, const RhLayout *l)
{
    const RhNet *net = rh_screen_net(screen, l);
    if (!is_claimed(screen, l, net))
        return NULL;
    RhShardCost *shard = rh_screen_shard(screen, l);
    const RhFlowSet *set = rh_screen_flow_set(screen, l);
    RhShare *found = g_hash_table_lookup(shard->shares, set);
    if (!found && rh_screen_items(shard)->pairs_count == 0) {
        found = shares_new(screen, l, net, shard);
        g_hash_table_insert(shard->shares, (void *)(uintptr_t)set, found);
    }
    return found;
}
