/* Egress: bytes that a rank sends out of its node. Collectives beside one another share its NIC,
 * where what it sends itself goes one byte after another: layers' tokens beside gathers of
 * parameters and sums of gradients, of which the segment graph knows how long each takes alone.
 *
 * Ahead of a run: when parameters are there that it waits for, all that was gathered before is, and
 * what layers sent whose answers kernels waited for. Behind a run: whatever is called behind its
 * start is sent behind its start, and then come the stage's end and optimizer.
 *
 * Which rank? The graph's time of a start is a bound of the rank that is last there, whichever that
 * is, so of every collective the rank counts that sends least. Its own flows alone count, over its
 * own NIC.
 *
 * What is called behind a start? Communication of a stage program behind the runs before. A
 * collective of a layer follows those before it in its lane; in a run whose last one in that lane
 * waits for a kernel of the run, that kernel begins when the compute lane is free. Such a run is an
 * anchor: what runs behind it call begins behind its start.
 *
 * Nothing is claimed where replicas do not lie alike, where two micro-batches take turns on a
 * stage, where ranks talk message by message, and for jobs of which the engine might merge ranks,
 * and links with them. */
#include "sim/collective/collective.h"
#include "sim/engine/symmetry_fold.h"
#include "strategies/search/bounds/bound_cache.h"

struct RhEgress {
    RhBoundCache *cache;
    const RhLayout *l;
    const RhGroupNetwork *net;
    RhShardCost *shard;
    const RhSplit *split;
    RhStageEgress *stages;
};

/* --- one collective --- */

/* Adds what members send over their own NICs. */
static void add_schedule(const RhPlatform *p, const RhSchedule *schedule, const int32_t *gpus,
                         double *sent_s)
{
    for (guint i = 0; i < schedule->rounds->len; i++) {
        const RhRound *round = &g_array_index(schedule->rounds, RhRound, i);
        for (int32_t f = 0; f < round->flows_count; f++) {
            const RhFlow *flow = &g_array_index(schedule->flows, RhFlow, round->flows_first + f);
            RhLink links[RH_ROUTE_MAX];
            int32_t src = gpus[flow->src], dst = gpus[flow->dst];
            if (rh_platform_route_kind(p, src, dst) <= 0)
                continue; /* inside a node, or by another's NIC */
            rh_platform_route(p, src, dst, links);
            sent_s[flow->src] +=
                round->repeat * flow->bytes / rh_platform_link_bytes_per_s(p, links[0]);
        }
    }
}

/* Returns the least time that any rank of the role sends. */
static double least_s(const RhBoundCache *s, const RhProgram *p, int32_t group, int32_t role_index,
                      const RhCollectiveKey *key, RhAlgo algo)
{
    const RhRole *role = rh_program_role(p, role_index);
    const RhGroup *g = rh_program_group(p, group);
    RhCollectiveSpec spec = {
        .op = (RhOp)key->op, .algo = algo, .bytes = key->bytes, .routing = key->routing};
    g_autofree int32_t *gpus = g_new(int32_t, g->size);
    g_autofree double *sent_s = g_new(double, g->size);
    double least = (double)INFINITY;
    for (int32_t i = 0; i < role->ranks_count; i++) {
        if (rh_group_members(g, rh_role_rank(role, i), gpus) != 0)
            continue;
        for (int32_t k = 0; k < g->size; k++) {
            gpus[k] = rh_program_gpu(p, gpus[k]);
            sent_s[k] = 0;
        }
        g_autoptr(RhSchedule) schedule = rh_schedule_on(&spec, g->size, s->c->platform, gpus, NULL);
        add_schedule(s->c->platform, schedule, gpus, sent_s);
        for (int32_t k = 0; k < g->size; k++)
            least = rh_min_d(least, sent_s[k]);
    }
    return isfinite(least) ? least : 0;
}

/* Kept for all bytes where the steps do not depend on them. */
static double collective_s(RhBoundCache *s, const RhGroupNetwork *net, const RhProgram *p,
                           int32_t group, int32_t role, const RhCollectiveKey *asked)
{
    RhCollectiveKey key = *asked;
    RhOp op = (RhOp)asked->op;
    if (group < 0 || asked->bytes <= RH_LATENCY_BYTES)
        return 0;
    RhAlgo algo = rh_bound_algorithm(s, net, net->groups[key.group], op, key.bytes, &key.routing);
    bool linear = !rh_collective_is_pipelined(op, algo);
    key.op = key.op * RH_ALGO_LAST + (int32_t)algo;
    key.bytes = linear ? 0 : key.bytes;
    double *found = g_hash_table_lookup(s->sent, &key);
    if (!found) {
        found = g_new(double, 1);
        *found = least_s(s, p, group, role, asked, algo) / (linear ? asked->bytes : 1);
        g_hash_table_insert(s->sent, g_memdup2(&key, sizeof key), found);
    }
    return linear ? *found * asked->bytes : *found;
}

/* --- layers --- */

/* Returns the lanes of the tasks that a task waits for, as bits. */
static uint32_t lanes_before(const RhLayerPass *pass, const RhLayerOp *task)
{
    uint32_t lanes = 0;
    for (int32_t k = 0; k < task->after_count; k++)
        if (task->after[k] != RH_LAYER_OP_ENTRY)
            lanes |= 1u << g_array_index(pass->tasks, RhLayerOp, task->after[k]).lane;
    return lanes;
}

static RhLayerEgress item_sent(RhBoundCache *s, const RhGroupNetwork *net, const RhPlacement *at,
                               const RhLayerPass *pass)
{
    RhLayerEgress sent = {0};
    uint32_t behind = 0; /* lanes whose latest waits for a kernel */
    for (guint i = 0; pass->tasks && i < pass->tasks->len; i++) {
        const RhLayerOp *task = &g_array_index(pass->tasks, RhLayerOp, i);
        uint32_t lane = 1u << task->lane;
        uint32_t after = lanes_before(pass, task);
        if (task->lane == RH_LANE_COMPUTE) {
            sent.awaited |= after;
            continue;
        }
        RhCollectiveKey key = {~at->id,           0,           (int32_t)task->group,
                               (int32_t)task->op, task->bytes, task->routing};
        double seconds = collective_s(s, net, at->program, at->groups[task->group], 0, &key);
        sent.seconds += seconds;
        sent.lanes |= seconds > 0 ? lane : 0;
        behind = after & 1u << RH_LANE_COMPUTE ? behind | lane : behind & ~lane;
    }
    sent.anchored = behind;
    return sent;
}

static const RhLayerEgress (*items_of(const RhEgress *s, int32_t stage))[RH_SLOT_PASSES]
{
    const RhPlacement *at = s->net->placement[stage];
    RhLayerEgress(*items)[RH_SLOT_PASSES] = g_hash_table_lookup(s->shard->sent, at);
    if (items)
        return items;
    const RhLayerOps *all = rh_bound_layer_ops(s->shard);
    items = g_malloc0(RH_LAYER_OP_KINDS * sizeof *items);
    for (int kind = 0; kind < RH_LAYER_OP_KINDS; kind++)
        for (int pass = 0; pass < RH_SLOT_PASSES; pass++)
            items[kind][pass] = item_sent(s->cache, s->net, at, &all->pass[kind][pass]);
    g_hash_table_insert(s->shard->sent, (void *)(uintptr_t)at, items);
    return items;
}

/* --- a stage --- */

typedef struct {
    const RhEgress *s;
    const RhCommSteps *flows;
    const RhLayerEgress (*items)[RH_SLOT_PASSES];
    GArray *runs;   /* RhRunEgress */
    uint32_t lanes; /* in which layers send anything */
    int32_t stage;
} Stage;

static double step_s(const Stage *t, const RhInstr *step)
{
    const RhGroupNetwork *net = t->s->net;
    RhGroupKind kind = (RhGroupKind)step->group;
    if (step->kind != RH_INSTR_COMMUNICATE || step->ahead > 0 || rh_group_joins_stages(kind))
        return 0;
    int32_t stage = net->alike[t->stage];
    RhCollectiveKey key = {net->id, stage, (int32_t)kind, step->op, step->bytes, {0}};
    return collective_s(t->s->cache, net, net->skeleton, net->groups[kind], stage, &key);
}

/* A run of several layers one after another. */
static void add_run(const Stage *t, const RhLayerEgress *sum)
{
    RhRunEgress run = {.item_s = sum->seconds,
                       .anchored = (sum->anchored & t->lanes) == t->lanes,
                       .awaited = (sum->awaited & t->lanes) == t->lanes};
    g_array_append_val(t->runs, run);
}

static void add_layers(const Stage *t, const RhSlot *slot)
{
    const RhEgress *s = t->s;
    int32_t g = rh_pipeline_model_chunk(rh_pipeline_of(s->l), s->l->pp, t->stage, slot->chunk);
    RhLayerEgress sum = {0};
    for (int k = 0; k < RH_LAYER_OP_LAYERS; k++) {
        const RhLayerEgress *item = &t->items[k][slot->pass];
        double times = s->split->kinds[g][k];
        sum.seconds += times * item->seconds;
        sum.anchored |= times > 0 ? item->anchored : 0;
        sum.awaited |= times > 0 ? item->awaited : 0;
    }
    add_run(t, &sum);
}

/* Adds the runs of a slot in the order in which the graph performs them; communication of a stage
 * program is added to the run before it. */
static void add_slot(const Stage *t, const RhSlot *slot, const RhSlotKind *kind)
{
    const RhStageProgram *stage_program = t->flows->stage_program;
    RhInstrRange steps = rh_stage_program_slot(stage_program, kind);
    if (steps.count == 0)
        add_layers(t, slot);
    for (int32_t i = steps.first; i < steps.first + steps.count; i++) {
        const RhInstr *step = rh_stage_program_instr(stage_program, i);
        if (step->kind == RH_INSTR_RUN)
            add_run(t,
                    &t->items[rh_stage_program_layer(stage_program, step->item)->kind][step->pass]);
        else if (t->runs->len > 0)
            g_array_index(t->runs, RhRunEgress, t->runs->len - 1).behind_s += step_s(t, step);
    }
}

/* Returns, for each communication at the stage's beginning, the time of sending it and all before
 * it. */
static double *gathered_new(const Stage *t)
{
    RhInstrRange begin = t->flows->stage_program->begin;
    double *gathered = g_new0(double, begin.count + 1), sum = 0;
    for (int32_t i = begin.first, count = 0; i < begin.first + begin.count; i++) {
        const RhInstr *step = rh_stage_program_instr(t->flows->stage_program, i);
        sum += step_s(t, step);
        if (step->kind == RH_INSTR_COMMUNICATE)
            gathered[count++] = sum;
    }
    return gathered;
}

static uint32_t lanes_of(const RhLayerEgress (*items)[RH_SLOT_PASSES])
{
    uint32_t lanes = 0;
    for (int kind = 0; kind < RH_LAYER_OP_KINDS; kind++)
        for (int pass = 0; pass < RH_SLOT_PASSES; pass++)
            lanes |= items[kind][pass].lanes;
    return lanes;
}

static void stage_init(const RhEgress *s, int32_t stage, const RhCommSteps *flows,
                       const RhSlot *slots, int64_t total)
{
    g_autofree int32_t *done = g_new0(int32_t, s->l->vpp * RH_SLOT_PASSES);
    int32_t m = (int32_t)rh_train_microbatches(s->cache->c, s->l);
    Stage t = {.s = s, .flows = flows, .items = items_of(s, stage), .stage = stage};
    t.runs = g_array_sized_new(FALSE, FALSE, sizeof(RhRunEgress), (guint)total);
    t.lanes = lanes_of(t.items);
    for (int64_t i = 0; i < total; i++) {
        RhSlotKind kind = rh_slot_kind_next(&slots[i], m, done);
        add_slot(&t, &slots[i], &kind);
    }
    s->stages[stage] = (RhStageEgress){.runs = t.runs, .gathered_s = gathered_new(&t)};
}

/* --- all stages --- */

/* Colours are ranks of a block of a stage at most, where blocks lie alike. */
static bool may_merge(const RhEgress *s)
{
    double ranks = rh_min_d(s->cache->c->job.gpus, (double)s->l->pp * s->net->block);
    return ranks > RH_FOLD_COLOURS_MAX ||
           rh_bound_tasks(s->cache, s->l) / s->l->pp * ranks > RH_FOLD_TASKS_MAX;
}

RhEgress *rh_egress_new(RhBoundCache *cache, const RhLayout *l, const RhChunkTimeTable *spans)
{
    const RhGroupNetwork *net = rh_bound_network(cache, l);
    RhEgress s = {cache, l, net, rh_bound_shard(cache, l), rh_bound_split(cache, l), NULL};
    if (!net->uniform || spans->pairs || cache->c->platform->messages.sender != RH_SHARING_NONE ||
        lanes_of(items_of(&s, 0)) == 0 || may_merge(&s))
        return NULL;
    s.stages = g_new0(RhStageEgress, l->pp);
    return g_memdup2(&s, sizeof s);
}

RhStageEgress *rh_egress_stage(RhEgress *s, int32_t stage, const RhSlot *slots, int64_t total)
{
    stage_init(s, stage, rh_bound_comm_steps(s->cache, s->l)[stage], slots, total);
    return &s->stages[stage];
}

void rh_egress_run(RhStageEgress *stage, double start_s)
{
    RhRunEgress *run = &g_array_index(stage->runs, RhRunEgress, stage->next++);
    run->start_s = start_s;
    if (run->awaited)
        stage->over_s = stage->called_s;
    stage->called_s += run->item_s;
}

/* Returns the latest bound: the start of each anchor, and all that is sent from it on by runs and
 * stage programs. */
double rh_egress_s(const RhEgress *s)
{
    RhCommSteps *const *flows = rh_bound_comm_steps(s->cache, s->l);
    double latest = 0;
    for (int32_t stage = 0; stage < s->l->pp; stage++) {
        const GArray *runs = s->stages[stage].runs;
        double behind_s = flows[stage]->sums.end_s + flows[stage]->sums.optimizer_s;
        for (guint i = runs->len; i-- > 0;) {
            const RhRunEgress *run = &g_array_index(runs, RhRunEgress, i);
            behind_s += run->behind_s;
            if (run->anchored)
                latest = rh_max_d(latest, run->start_s + behind_s);
            behind_s += run->item_s;
        }
    }
    return latest;
}

void rh_egress_free(RhEgress *s)
{
    for (int32_t stage = 0; s && stage < s->l->pp; stage++) {
        g_clear_pointer(&s->stages[stage].runs, g_array_unref);
        g_free(s->stages[stage].gathered_s);
    }
    g_free(s ? s->stages : NULL);
    g_free(s);
}
