/* Gradients beside collectives. Where a block of ranks straddles nodes, sums of gradients cross links that the
 * block's collectives cross, too, and both get their share: the sums are over before the next kernels could
 * have hidden them.
 *
 * What is claimed: let a stage's path be the kernels of one rank and the collectives of its block, one after
 * another. Behind a call of the gradients' lane both are still to be done: what is left of the path, and the
 * calls from this one on. A collective of the path takes what its own bytes take on a link, and what a sum puts
 * there meanwhile; so all bytes of sums come on top of the path, but for those that move beside kernels. Of one
 * flow these are few: it moves without a pause, so while it moves the path goes on, through kernels (slower, as
 * SMs are held) and through collectives, beside which the flow moves some part of what they do:
 *
 *     seconds of the flow's bytes  >=  kernels / (1 - h) + part x (collectives passed as a whole)
 *
 * where the part is 1 if the link is what slows the flow down, f / (1 - f) if it surely has f of the link. The
 * stretch of the path with the most kernels for that is the worst case. When sums begin later, which they may,
 * less of the path lies beside them, and what does not comes behind. Waiting of the path only adds. */
#include <math.h>

#include "sim/collective/collective.h"
#include "strategies/search/bounds/gradient_interference.h"
#include "strategies/search/bounds/guaranteed_link_share.h"

/* Question about one stage: a member of its block and a link. */
typedef struct {
    RhContention links;
    int32_t stage;
    int32_t *gpus; /* of the block that is followed, which are its ranks */
    int32_t member;
    RhLink link;
    int32_t *flows_at_once[2]; /* as RhGradientFlow.part */
} Ask;

/* --- what a call puts on the link --- */

static double part_of(const Ask *a, int over, int32_t src_gpu, int32_t dst_gpu)
{
    RhContention links = a->links;
    links.flows_at_once = a->flows_at_once[over];
    RhLink route[RH_ROUTE_MAX];
    int n = rh_platform_route(a->links.cache->c->platform, src_gpu, dst_gpu, route);
    double least = rh_contention_least_part(&links, route, n, a->link);
    return least < 0.5 ? least / (1 - least) : 1;
}

/* Rounds in which two flows share the link count as nothing. */
static GArray *flows_of(const Ask *a, const RhSchedule *schedule, const int32_t *gpus)
{
    const RhPlatform *p = a->links.cache->c->platform;
    GArray *found = g_array_new(FALSE, FALSE, sizeof(RhGradientFlow));
    for (guint i = 0; schedule && i < schedule->rounds->len; i++) {
        const RhRound *round = &g_array_index(schedule->rounds, RhRound, i);
        RhGradientFlow sum = {.repeat = round->repeat};
        int32_t crossing = 0;
        for (int32_t f = 0; f < round->flows_count; f++) {
            const RhFlow *flow = &g_array_index(schedule->flows, RhFlow, round->flows_first + f);
            int32_t src = gpus[flow->src], dst = gpus[flow->dst];
            if (!rh_contention_crosses(p, src, dst, a->link))
                continue;
            sum.moving_s = flow->bytes / rh_platform_link_bytes_per_s(p, a->link);
            for (int over = 0; over < 2; over++)
                sum.part[over] = part_of(a, over, src, dst);
            crossing++;
        }
        if (crossing == 1)
            g_array_append_val(found, sum);
    }
    return found;
}

static RhSchedule *schedule_of(const Ask *a, const RhGradientCall *call, int32_t **gpus)
{
    const RhGroupNetwork *net = a->links.net;
    int32_t index = net->groups[call->group];
    const RhGroup *group = rh_program_group(net->skeleton, index);
    *gpus = g_new(int32_t, group->size);
    rh_group_members(group, a->gpus[a->member], *gpus);
    RhRouting none = {0};
    RhCollectiveSpec spec = {.op = (RhOp)call->op, .bytes = call->bytes};
    spec.algo = rh_bound_algorithm(a->links.cache, net, index, spec.op, spec.bytes, &none);
    return rh_schedule_on(&spec, group->size, a->links.cache->c->platform, *gpus, NULL);
}

/* Seconds of sums that surely lie beside collectives, as it were: which link is the best to claim. */
static double fill_calls(const Ask *a, GArray *calls)
{
    double worth = 0;
    for (guint i = 0; i < calls->len; i++) {
        RhGradientCall *call = &g_array_index(calls, RhGradientCall, i);
        g_autofree int32_t *gpus = NULL;
        g_autoptr(RhSchedule) schedule = schedule_of(a, call, &gpus);
        g_clear_pointer(&call->flows, g_array_unref);
        call->flows = flows_of(a, schedule, gpus);
        for (guint k = 0; k < call->flows->len; k++) {
            const RhGradientFlow *flow = &g_array_index(call->flows, RhGradientFlow, k);
            worth += flow->repeat * flow->moving_s * flow->part[1];
        }
    }
    return worth;
}

static void note_call(GArray *calls, const RhInstr *step)
{
    RhGradientCall call = {step->group, step->op, step->bytes, NULL};
    for (guint i = 0; i < calls->len; i++) {
        const RhGradientCall *known = &g_array_index(calls, RhGradientCall, i);
        if (known->group == call.group && known->op == call.op && known->bytes == call.bytes)
            return;
    }
    g_array_append_val(calls, call);
}

static void call_clear(void *call)
{
    g_clear_pointer(&((RhGradientCall *)call)->flows, g_array_unref);
}

/* Returns the reductions of the stage; NULL if there are none or one depends on an earlier step. */
static GArray *calls_of(const Ask *a)
{
    const GArray *steps = a->links.flows[a->stage]->stage_program->steps;
    GArray *calls = g_array_new(FALSE, FALSE, sizeof(RhGradientCall));
    g_array_set_clear_func(calls, call_clear);
    bool plain = true;
    for (guint i = 0; i < steps->len; i++) {
        const RhInstr *step = &g_array_index(steps, RhInstr, i);
        if (!rh_is_gradient_reduction(step) || a->links.net->groups[step->group] < 0)
            continue;
        plain = plain && step->ahead == 0;
        if (step->bytes > RH_LATENCY_BYTES)
            note_call(calls, step);
    }
    if (plain && calls->len > 0)
        return calls;
    g_array_unref(calls);
    return NULL;
}

/* --- paths through layers --- */

typedef struct {
    double end_s;
    int32_t from; /* the task that it waits for longest; -1: none */
    bool enters;  /* it waits for all before the layer */
} Reached;

static double task_s(const Ask *a, const RhLayerOp *task)
{
    double sum = 0;
    if (task->lane != RH_LANE_COMPUTE)
        return rh_bound_block_s(a->links.cache, a->links.net, a->links.net->placement[a->stage],
                                task);
    for (int i = 0; i < RH_PARTS_MAX && task->parts[i]; i++)
        sum += task->parts[i]->seconds;
    return sum;
}

static void wait_for(const Reached *all, int32_t i, Reached *here)
{
    if (i >= 0 && (here->from < 0 || all[i].end_s > all[here->from].end_s))
        here->from = i;
}

/* The last kernel, -1 where there is none. */
static int32_t walk(const Ask *a, const RhLayerPass *pass, Reached *all)
{
    int32_t last[RH_LANE_LAST];
    for (int lane = 0; lane < RH_LANE_LAST; lane++)
        last[lane] = -1;
    for (int32_t i = 0; i < (int32_t)pass->tasks->len; i++) {
        const RhLayerOp *task = &g_array_index(pass->tasks, RhLayerOp, i);
        Reached here = {0, -1, false};
        wait_for(all, last[task->lane], &here);
        for (int32_t k = 0; k < task->after_count; k++) {
            here.enters = here.enters || task->after[k] == RH_LAYER_OP_ENTRY;
            if (task->after[k] != RH_LAYER_OP_ENTRY)
                wait_for(all, task->after[k], &here);
        }
        here.end_s = (here.from >= 0 ? all[here.from].end_s : 0) + task_s(a, task);
        all[i] = here;
        last[task->lane] = i;
    }
    return last[RH_LANE_COMPUTE];
}

static void add_stretch(GArray *path, double kernels_s, double meets_s)
{
    RhGradientInterval *last =
        path->len > 0 ? &g_array_index(path, RhGradientInterval, path->len - 1) : NULL;
    if (last && last->meets_s == 0) {
        last->kernels_s += kernels_s;
        last->meets_s = meets_s;
        return;
    }
    g_array_append_val(path, ((RhGradientInterval){kernels_s, meets_s}));
}

/* Returns the path to a task; NULL if a task on it is unknown. */
static GArray *path_to(const Ask *a, const RhLayerPass *pass, const Reached *all, int32_t end)
{
    g_autoptr(GArray) order = g_array_new(FALSE, FALSE, sizeof(int32_t));
    g_autoptr(GArray) path = g_array_new(FALSE, FALSE, sizeof(RhGradientInterval));
    int32_t first = end;
    for (int32_t i = end; i >= 0; i = all[i].from) {
        g_array_append_val(order, i);
        first = i;
    }
    if (end < 0 || !all[first].enters)
        return NULL;
    for (guint i = order->len; i-- > 0;) {
        const RhLayerOp *task =
            &g_array_index(pass->tasks, RhLayerOp, g_array_index(order, int32_t, i));
        if (task->lane == RH_LANE_COMPUTE) {
            add_stretch(path, task_s(a, task), 0);
            continue;
        }
        double on_link_s =
            task->lane != RH_LANE_TP
                ? (double)NAN
                : rh_contention_on_link_s(&a->links, task, a->gpus, a->links.net->block, a->link);
        if (isnan(on_link_s))
            return NULL;
        add_stretch(path, 0, on_link_s);
    }
    return g_steal_pointer(&path);
}

static bool add_paths(const Ask *a, const RhLayerPass *pass, GArray *paths[2])
{
    if (!pass->tasks)
        return true;
    g_autofree Reached *all = g_new0(Reached, pass->tasks->len + 1);
    int32_t last = walk(a, pass, all), out = last;
    for (int32_t i = 0; i < pass->left_count; i++)
        if (pass->left[i] != RH_LAYER_OP_ENTRY && last >= 0 &&
            all[pass->left[i]].end_s > all[out].end_s)
            out = pass->left[i];
    paths[0] = path_to(a, pass, all, last);
    paths[1] = out == last && paths[0] ? g_array_ref(paths[0]) : path_to(a, pass, all, out);
    return paths[0] && paths[1];
}

static void stage_free(RhGradientStage *s)
{
    if (!s)
        return;
    for (int i = 0; i < RH_LAYER_OP_KINDS * RH_SLOT_PASSES * 2; i++)
        g_clear_pointer(&s->paths[i / 2 / RH_SLOT_PASSES][i / 2 % RH_SLOT_PASSES][i % 2],
                        g_array_unref);
    g_array_unref(s->calls);
    g_free(s);
}

/* Fills the paths of the layers that the stage has. */
static bool fill_paths(const Ask *a, RhGradientStage *s)
{
    const RhLayerOps *items = rh_bound_layer_ops(a->links.shard);
    const GArray *own = a->links.flows[a->stage]->stage_program->items;
    bool here[RH_LAYER_OP_KINDS] = {false}, known = true;
    for (guint i = 0; i < own->len; i++)
        here[g_array_index(own, RhStageLayer, i).kind] = true;
    for (int kind = 0; kind < RH_LAYER_OP_KINDS; kind++)
        for (int pass = 0; here[kind] && pass < RH_SLOT_PASSES; pass++)
            known = known && add_paths(a, &items->pass[kind][pass], s->paths[kind][pass]);
    return known;
}

/* --- which link --- */

/* The first collective of the layers crosses it. */
static bool meets_on(const Ask *a)
{
    const RhLayerOps *items = rh_bound_layer_ops(a->links.shard);
    for (int i = 0; i < RH_LAYER_OP_KINDS * RH_SLOT_PASSES; i++) {
        const GArray *tasks = items->pass[i / RH_SLOT_PASSES][i % RH_SLOT_PASSES].tasks;
        for (guint k = 0; tasks && k < tasks->len; k++) {
            const RhLayerOp *task = &g_array_index(tasks, RhLayerOp, k);
            if (task->lane == RH_LANE_TP)
                return !isnan(rh_contention_on_link_s(&a->links, task, a->gpus, a->links.net->block,
                                                      a->link));
        }
    }
    return false;
}

/* Tries every link on the routes between the member and others of its block; keeps the one with the
 * most worth in `best`. */
static void try_links(Ask *a, GArray *calls, Ask *best, double *most)
{
    const RhPlatform *p = a->links.cache->c->platform;
    for (int32_t i = 0; i < 2 * a->links.net->block; i++) {
        int32_t here = a->gpus[a->member], other = a->gpus[i / 2];
        RhLink route[RH_ROUTE_MAX];
        int n = here == other
                    ? 0
                    : rh_platform_route(p, i % 2 ? here : other, i % 2 ? other : here, route);
        for (int k = 0; k < n; k++) {
            a->link = route[k];
            if (a->link == best->link || !meets_on(a))
                continue;
            double worth = fill_calls(a, calls);
            if (worth > *most) {
                *most = worth;
                *best = *a;
            }
        }
    }
}

/* Computes the interference of one stage; NULL if there is none. `calm`: flows per link without
 * messages ahead, to and from the stage's ranks. */
static RhGradientStage *stage_new(const RhContention *links, int32_t *calm, int32_t stage)
{
    int32_t size = links->net->block;
    g_autofree int32_t *gpus = g_new(int32_t, size);
    for (int32_t i = 0; i < size; i++)
        gpus[i] =
            rh_program_gpu(links->net->skeleton,
                           rh_grid_rank(&links->net->grid, stage, links->net->followed * size + i));
    Ask ask = {.links = *links,
               .stage = stage,
               .gpus = gpus,
               .link = -1,
               .flows_at_once = {links->flows_at_once, calm}},
        best = ask;
    GArray *calls = calls_of(&ask);
    double most = 0;
    for (ask.member = 0; calls && ask.member < size; ask.member++)
        try_links(&ask, calls, &best, &most);
    if (!calls)
        return NULL;
    RhGradientStage *s = g_new0(RhGradientStage, 1);
    s->calls = calls;
    if (most > 0) {
        fill_calls(&best, calls);
        if (fill_paths(&best, s))
            return s;
    }
    stage_free(s);
    return NULL;
}

/* --- all stages --- */

void rh_gradient_interference_free(void *data)
{
    RhGradientInterference *sums = data;
    for (int32_t i = 0; sums && i < sums->stages_count; i++)
        stage_free(sums->stages[i]);
    g_free(sums);
}

/* Returns flows per link without messages ahead to and from the stage's ranks; where a schedule
 * turns, messages go both ways and are kept. */
static int32_t *calm_new(const RhContention *links, int32_t stage)
{
    const RhRole *role = rh_program_role(links->net->skeleton, stage);
    int32_t count = rh_platform_links_count(links->cache->c->platform), pp = links->l->pp;
    int32_t *calm = g_memdup2(links->flows_at_once, (size_t)(count + 1) * sizeof *calm);
    if (pp == 1 || rh_pipeline_of(links->l)->turns)
        return calm;
    int32_t to = rh_contention_delta(links, stage, false),
            from = rh_contention_delta(links, (stage + pp - 1) % pp, false);
    for (int32_t i = 0; i < 2 * role->ranks_count; i++) {
        RhLink route[RH_ROUTE_MAX];
        int32_t rank = rh_role_rank(role, i / 2), src = i % 2 ? rank - from : rank;
        int n = rh_platform_route(links->cache->c->platform, src, i % 2 ? rank : rank + to, route);
        for (int k = 0; k < n; k++)
            calm[route[k]]--;
    }
    return calm;
}

static bool is_of_all(const RhGroupNetwork *net, const RhInstr *step)
{
    int32_t all = rh_grid_group_size(&net->grid, RH_GROUP_DATA);
    return !rh_is_gradient_reduction(step) || step->group == RH_GROUP_DATA ||
           (step->group == RH_GROUP_SHARD && rh_grid_group_size(&net->grid, RH_GROUP_SHARD) == all);
}

static bool replicas_meet(const RhGroupNetwork *net, RhCommSteps *const *flows)
{
    bool meet = true;
    for (int32_t stage = 0; flows[stage]; stage++)
        for (guint i = 0; meet && i < flows[stage]->stage_program->steps->len; i++)
            meet = is_of_all(net, &g_array_index(flows[stage]->stage_program->steps, RhInstr, i));
    return meet;
}

/* Computes the interference of all stages. In a calm job no parameters are gathered after a
 * backward, and the norm waits for all sums. */
static RhGradientInterference *sums_new(RhBoundCache *cache, const RhLayout *l,
                                        const RhGroupNetwork *net, RhShardCost *shard)
{
    int32_t count = (net->others_count + 1) * l->pp;
    RhGradientInterference *sums =
        g_malloc0(sizeof *sums + (size_t)count * sizeof(RhGradientStage *));
    RhContention links = rh_contention_new(cache, l, net, shard);
    uint32_t never = RH_LANE_BIT(RH_LANE_NORM);
    if (rh_contention_is_calm(l, links.flows))
        never |= RH_LANE_BIT(RH_LANE_GATHER);
    sums->replicas_meet = replicas_meet(net, links.flows);
    sums->stages_count = count;
    rh_contention_fill(&links, RH_LANES_ALL & ~never);
    for (int32_t i = 0; i < count; i++) {
        links.net = i < l->pp ? net : &net->others[i / l->pp - 1];
        g_autofree int32_t *calm = calm_new(&links, i % l->pp);
        sums->stages[i] = stage_new(&links, calm, i % l->pp);
    }
    g_free(links.flows_at_once);
    return sums;
}

const RhGradientInterference *rh_bound_gradient_interference(RhBoundCache *cache, const RhLayout *l)
{
    const RhGroupNetwork *net = rh_bound_network(cache, l);
    if (!rh_contention_is_claimed(cache, l, net))
        return NULL;
    RhShardCost *shard = rh_bound_shard(cache, l);
    const RhCommStepSet *set = rh_bound_comm_step_set(cache, l);
    RhGradientInterference *found = g_hash_table_lookup(shard->sums, set);
    if (!found && rh_bound_layer_ops(shard)->pairs_count == 0) {
        found = sums_new(cache, l, net, shard);
        g_hash_table_insert(shard->sums, (void *)(uintptr_t)set, found);
    }
    return found;
}
