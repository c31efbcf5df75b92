/* Messages of ranks that are in step. The engine's own colours say which ranks of a stage do everything
 * at one time (sim/engine/symmetry_fold.h): their messages share every link that several of them cross, and none
 * is quicker than that. Colours depend on who communicates with whom and by which steps, not on how
 * often nor, mostly, on how much: a program that does each thing once has those of the whole. */
#include <math.h>
#include <string.h>

#include "sim/collective/collective.h"
#include "strategies/search/bounds/background_message_fold.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wpadded" /* compared by its bytes */
/* A collective of a stage; bytes of 0: its steps are those of any size. Compared as bytes. */
typedef struct {
    int32_t group, op, algo, zero; /* group: RhGroupKind */
    double bytes;
    RhRouting routing;
} Call;
#pragma GCC diagnostic pop

typedef struct {
    RhBoundCache *cache;
    const RhLayout *l;
    const RhGroupNetwork *net;
    uint32_t joined;    /* kinds of groups, rh_train_joined */
    GArray *calls;      /* Call: one stage's behind another's */
    guint *stage_first; /* per stage, one more at the end */
} Calls;

/* --- what each stage calls --- */

/* Returns the operation that stands for `op`: an algorithm between neighbours has the same pairs,
 * whether it sums, gathers or both. */
static RhOp alike(RhOp op, RhAlgo algo)
{
    bool passes = op == RH_OP_ALL_REDUCE || op == RH_OP_REDUCE_SCATTER;
    bool same = rh_collective_is_to_neighbours(op, algo) &&
                rh_collective_is_to_neighbours(RH_OP_ALL_GATHER, algo);
    return passes && same ? RH_OP_ALL_GATHER : op;
}

static void add_once(GArray *calls, guint first, const Call *call)
{
    for (guint i = first; i < calls->len; i++)
        if (memcmp(&g_array_index(calls, Call, i), call, sizeof *call) == 0)
            return;
    g_array_append_vals(calls, call, 1);
}

static void add_call(const Calls *c, GArray *calls, RhGroupKind kind, RhOp op, double bytes,
                     const RhRouting *routing)
{
    int32_t group = c->net->groups[kind];
    if (group < 0 || bytes <= 0)
        return;
    RhAlgo algo = rh_bound_algorithm(c->cache, c->net, group, op, bytes, routing);
    bool any = !rh_collective_is_pipelined(op, algo) && bytes > RH_LATENCY_BYTES;
    Call call = {(int32_t)kind, (int32_t)alike(op, algo), (int32_t)algo, 0, any ? 0 : bytes,
                 *routing};
    add_once(calls, 0, &call);
}

/* Lists the collective calls of a layer's passes, each once. */
static GArray *layer_calls(const Calls *c, const RhLayerPass *passes)
{
    GArray *calls = g_array_new(FALSE, FALSE, sizeof(Call));
    for (int pass = 0; pass < RH_SLOT_PASSES; pass++)
        for (guint i = 0; passes[pass].tasks && i < passes[pass].tasks->len; i++) {
            const RhLayerOp *task = &g_array_index(passes[pass].tasks, RhLayerOp, i);
            if (task->lane != RH_LANE_COMPUTE)
                add_call(c, calls, task->group, task->op, task->bytes, &task->routing);
        }
    return calls;
}

/* Lists the collective calls of a stage program, each once; stored with its communication steps. */
static const GArray *stage_program_calls(const Calls *c, RhCommSteps *flows)
{
    const RhStageProgram *stage_program = flows->stage_program;
    flows = flows->like;
    if (flows->calls)
        return flows->calls;
    flows->calls = g_array_new(FALSE, FALSE, sizeof(Call));
    for (guint i = 0; i < stage_program->steps->len; i++) {
        const RhInstr *step = rh_stage_program_instr(stage_program, (int32_t)i);
        if (step->kind == RH_INSTR_COMMUNICATE)
            add_call(c, flows->calls, (RhGroupKind)step->group, (RhOp)step->op, step->bytes,
                     &(RhRouting){0});
    }
    return flows->calls;
}

static void add_all(Calls *c, guint first, const GArray *calls)
{
    for (guint i = 0; i < calls->len; i++)
        add_once(c->calls, first, &g_array_index(calls, Call, i));
}

static void add_stage(Calls *c, GArray *const *of_kind, RhCommSteps *flows)
{
    bool kinds[RH_LAYER_OP_KINDS] = {false};
    guint first = c->calls->len;
    for (guint i = 0; i < flows->stage_program->items->len; i++)
        kinds[rh_stage_program_layer(flows->stage_program, (int32_t)i)->kind] = true;
    for (int kind = 0; kind < RH_LAYER_OP_KINDS; kind++)
        if (kinds[kind])
            add_all(c, first, of_kind[kind]);
    add_all(c, first, stage_program_calls(c, flows));
}

static void calls_free(Calls *c)
{
    g_array_unref(c->calls);
    g_free(c->stage_first);
}

static Calls calls_of(RhBoundCache *cache, const RhLayout *l, const RhGroupNetwork *net,
                      RhShardCost *shard, RhCommSteps *const *flows)
{
    Calls c = {.cache = cache,
               .l = l,
               .net = net,
               .joined = rh_train_joined(shard->model_cost, l),
               .calls = g_array_new(FALSE, FALSE, sizeof(Call)),
               .stage_first = g_new0(guint, l->pp + 1)};
    GArray *of_kind[RH_LAYER_OP_KINDS];
    for (int kind = 0; kind < RH_LAYER_OP_KINDS; kind++)
        of_kind[kind] = layer_calls(&c, rh_bound_layer_ops(shard)->pass[kind]);
    for (int32_t stage = 0; stage < l->pp; stage++) {
        add_stage(&c, of_kind, flows[stage]);
        c.stage_first[stage + 1] = c.calls->len;
    }
    for (int kind = 0; kind < RH_LAYER_OP_KINDS; kind++)
        g_array_unref(of_kind[kind]);
    return c;
}

/* Has the last stage messages for the first one? */
static bool wraps(const RhLayout *l)
{
    return l->vpp > 1 && !rh_pipeline_of(l)->turns;
}

/* Equal where the programs that do each thing once are. */
static GBytes *key_of(const Calls *c)
{
    int32_t ints[] = {c->net->id, wraps(c->l), (int32_t)c->joined};
    g_autoptr(GByteArray) key = g_byte_array_new();
    g_byte_array_append(key, (const guint8 *)ints, sizeof ints);
    g_byte_array_append(key, (const guint8 *)c->stage_first,
                        (guint)((size_t)(c->l->pp + 1) * sizeof *c->stage_first));
    g_byte_array_append(key, (const guint8 *)c->calls->data, c->calls->len * (guint)sizeof(Call));
    return g_byte_array_free_to_bytes(g_steal_pointer(&key));
}

/* --- the program that does each thing once --- */

#define ANY_BYTES 1e6 /* more than latency alone */

static const RhTask nothing = {
    .layer = -1, .microbatch = -1, .bundle = -1, .group = -1, .peer_task = -1};

/* The neighbour's distance; 0 where the stage has no message for it. */
static int32_t distance(const Calls *c, int32_t stage, bool back)
{
    int32_t pp = c->l->pp, stride = c->net->grid.stride[RH_DIM_PP];
    bool ends = stage == (back ? 0 : pp - 1);
    if (pp == 1 || (ends && !wraps(c->l)))
        return 0;
    return ends ? (back ? pp - 1 : 1 - pp) * stride : back ? -stride : stride;
}

static void add_message(RhProgram *p, RhTaskKind kind, RhLane lane, int32_t delta)
{
    RhTask task = nothing;
    task.kind = (uint8_t)kind;
    task.lane = (uint8_t)lane;
    task.peer_delta = delta;
    task.bytes = 1;
    if (delta != 0)
        rh_program_add_task(p, task, NULL, 0);
}

static void add_tasks(const Calls *c, RhProgram *p, const int32_t *groups, int32_t stage)
{
    for (guint i = c->stage_first[stage]; i < c->stage_first[stage + 1]; i++) {
        const Call *call = &g_array_index(c->calls, Call, i);
        RhTask task = nothing;
        task.kind = RH_TASK_COLLECTIVE;
        task.lane = RH_LANE_TP;
        task.group = groups[call->group];
        task.op = (uint8_t)call->op;
        task.algo = (uint8_t)call->algo;
        task.bytes = call->bytes > 0 ? call->bytes : ANY_BYTES;
        task.volumes = call->routing.experts > 0 ? rh_program_add_routing(p, &call->routing) : 0;
        rh_program_add_task(p, task, NULL, 0);
    }
    add_message(p, RH_TASK_SEND, RH_LANE_SEND_NEXT, distance(c, stage, false));
    add_message(p, RH_TASK_SEND, RH_LANE_SEND_PREV, distance(c, stage, true));
    add_message(p, RH_TASK_RECV, RH_LANE_RECV_PREV, distance(c, stage, true));
    add_message(p, RH_TASK_RECV, RH_LANE_RECV_NEXT, distance(c, stage, false));
}

static RhProgram *each_once(const Calls *c)
{
    RhProgram *p = rh_program_new(c->cache->c->job.gpus);
    int32_t groups[RH_GROUP_LAST];
    rh_grid_add_groups(&c->net->grid, p, c->joined, groups);
    for (int32_t stage = 0; stage < c->l->pp; stage++) {
        rh_grid_begin_stage(&c->net->grid, p, stage);
        add_tasks(c, p, groups, stage);
        rh_program_end_role(p);
    }
    return p;
}

/* --- messages --- */

static RhFoldTask fold_task(const Calls *c)
{
    int32_t *to = g_new(int32_t, 2 * (size_t)c->l->pp);
    for (int32_t i = 0; i < 2 * c->l->pp; i++)
        to[i] = distance(c, i / 2, i % 2);
    return (RhFoldTask){.program = each_once(c),
                        .stages = c->l->pp,
                        .distance = to,
                        .deadline = c->cache->deadline};
}

static RhLinkCost *hops_new(const Calls *c, GBytes *key)
{
    RhFoldTask task;
    if (!rh_background_fold_end(c->cache, key, &task)) {
        rh_open_fold_forget(c->cache); /* two at a time: this one, and the next candidate's */
        task = fold_task(c);
        rh_fold_task_run(c->cache, &task);
    }
    return rh_fold_task_take(c->cache, &task);
}

/* Copies, too, tell ranks apart. */
static bool may_claim(const RhBoundCache *cache, const RhLayout *l)
{
    return l->pp > 1 && !rh_train_copies(l) && !rh_deadline_passed(cache->deadline) &&
           cache->c->platform->messages.sender == RH_SHARING_NONE;
}

const RhLinkCost *rh_bound_messages(RhBoundCache *cache, const RhLayout *l)
{
    const RhGroupNetwork *net = rh_bound_network(cache, l);
    RhShardCost *shard = rh_bound_shard(cache, l);
    const RhCommStepSet *set = rh_bound_comm_step_set(cache, l);
    void *found = NULL;
    if (!may_claim(cache, l) || g_hash_table_lookup_extended(shard->messages, set, NULL, &found))
        return found;
    Calls calls = calls_of(cache, l, net, shard, set->of_stage);
    GBytes *key = key_of(&calls);
    if (g_hash_table_lookup_extended(cache->messages, key, NULL, &found))
        g_bytes_unref(key);
    else
        g_hash_table_insert(cache->messages, key, found = hops_new(&calls, key));
    g_hash_table_insert(shard->messages, (void *)(uintptr_t)set, found);
    calls_free(&calls);
    return found;
}

void rh_bound_expect_messages(RhBoundCache *cache, const RhLayout *l)
{
    if (rh_stages_unequal(l) || rh_background_fold_runs(cache) || !may_claim(cache, l))
        return;
    const RhGroupNetwork *net = rh_bound_network(cache, l);
    RhShardCost *shard = rh_bound_shard(cache, l);
    const RhCommStepSet *set = rh_bound_comm_step_set(cache, l);
    if (shard->messages && g_hash_table_contains(shard->messages, set))
        return;
    Calls calls = calls_of(cache, l, net, shard, set->of_stage);
    g_autoptr(GBytes) key = key_of(&calls);
    if (!g_hash_table_contains(cache->messages, key))
        rh_background_fold_begin(cache, key, fold_task(&calls));
    calls_free(&calls);
}
