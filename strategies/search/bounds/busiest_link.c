/* The busiest link. Whatever a step sends over a link goes one byte after another, so no step is
 * shorter than the sum over all collectives and messages of their bytes on one link, over its
 * capacity. Where replicas lie alike the graph's own sums say as much (closed_form.c); where blocks of ranks
 * straddle nodes, their collectives share NICs with the gathers and reductions of other replicas.
 * Behind the last byte comes a stage's end, of which no byte is counted, and its optimizer: every
 * collective and every message is waited for by a kernel of its stage or of the one that receives.
 *
 * Held against a rehearsal that performs every link. The engine merges ranks of more kinds than it
 * can hold, and then links with them: nothing is claimed for jobs that could come to that. */
#include "sim/collective/collective.h"
#include "sim/engine/symmetry_fold.h"
#include "sim/map64.h"
#include "strategies/search/bounds/bound_cache.h"

typedef struct {
    const RhPlatform *platform;
    RhMap64 *place_of_link;
    GArray *loads;  /* RhLinkLoad */
    GArray *counts; /* Count, of each */
    int32_t call, round;
} Loads;

/* Flows of a link at one time: those of a call's fullest round, of all calls together. */
typedef struct {
    int32_t before, most, now; /* of calls before; of this one, in a round; in its latest */
    int32_t call, round;
} Count;

typedef struct {
    RhBoundCache *cache;
    const RhLayout *l;
    const RhGroupNetwork *net;
    double m;
    double *busy_s; /* per link of the platform */
} Sum;

/* --- what one collective, or one message of every rank, puts on links --- */

static Loads loads_begin(const RhBoundCache *s)
{
    return (Loads){s->c->platform,
                   rh_map64_new(),
                   g_array_new(FALSE, FALSE, sizeof(RhLinkLoad)),
                   g_array_new(FALSE, FALSE, sizeof(Count)),
                   0,
                   0};
}

static GArray *loads_end(Loads *loads)
{
    rh_map64_free(loads->place_of_link);
    g_array_unref(loads->counts);
    return loads->loads;
}

static int32_t count(const Loads *loads, int32_t at)
{
    Count *c = &g_array_index(loads->counts, Count, at);
    if (c->call != loads->call)
        *c = (Count){.before = c->before + c->most, .call = loads->call, .round = -1};
    c->now = c->round == loads->round ? c->now + 1 : 1;
    c->round = loads->round;
    c->most = MAX(c->most, c->now);
    return c->before + c->most;
}

static void add_flow(Loads *loads, int32_t src_gpu, int32_t dst_gpu, double bytes)
{
    RhLink links[RH_ROUTE_MAX];
    int n = rh_platform_route(loads->platform, src_gpu, dst_gpu, links);
    for (int k = 0; k < n; k++) {
        int32_t fresh = (int32_t)loads->loads->len;
        int32_t at = *rh_map64_at(loads->place_of_link, (uint64_t)links[k] + 1, fresh);
        if (at == fresh) {
            g_array_append_val(loads->loads, ((RhLinkLoad){links[k], 0, 0}));
            g_array_append_val(loads->counts, ((Count){.call = -1}));
        }
        RhLinkLoad *load = &g_array_index(loads->loads, RhLinkLoad, at);
        load->busy_s += bytes / rh_platform_link_bytes_per_s(loads->platform, links[k]);
        load->flows = count(loads, at);
    }
}

static void add_schedule(Loads *loads, const RhSchedule *schedule, const int32_t *gpus)
{
    loads->call++;
    for (guint i = 0; i < schedule->rounds->len; i++) {
        loads->round = (int32_t)i;
        const RhRound *round = &g_array_index(schedule->rounds, RhRound, i);
        for (int32_t f = 0; f < round->flows_count; f++) {
            const RhFlow *flow = &g_array_index(schedule->flows, RhFlow, round->flows_first + f);
            add_flow(loads, gpus[flow->src], gpus[flow->dst], round->repeat * flow->bytes);
        }
    }
}

/* Every instance of the group in the stage by its own steps, as the engine performs it. */
static GArray *collective_loads(const RhBoundCache *s, const RhGroupNetwork *net, int32_t group,
                                const RhCollectiveKey *key)
{
    const RhProgram *p = net->skeleton;
    const RhRole *role = rh_program_role(p, key->stage);
    const RhGroup *g = rh_program_group(p, group);
    RhCollectiveSpec spec = {.op = (RhOp)key->op, .bytes = key->bytes, .routing = key->routing};
    spec.algo = rh_train_algorithm(s->sites, p, group, spec.op, spec.bytes, &spec.routing);
    Loads loads = loads_begin(s);
    g_autofree int32_t *gpus = g_new(int32_t, g->size);
    for (int32_t i = 0; i < role->ranks_count; i++) {
        int32_t rank = rh_role_rank(role, i);
        if (rh_group_members(g, rank, gpus) != 0)
            continue;
        for (int32_t k = 0; k < g->size; k++)
            gpus[k] = rh_program_gpu(p, gpus[k]);
        g_autoptr(RhSchedule) schedule = rh_schedule_on(&spec, g->size, s->c->platform, gpus, NULL);
        add_schedule(&loads, schedule, gpus);
    }
    return loads_end(&loads);
}

double rh_bound_busiest_s(const RhBoundCache *s, const RhGroupNetwork *net, int32_t group,
                          const RhCollectiveKey *key)
{
    g_autoptr(GArray) loads = collective_loads(s, net, group, key);
    double busiest_s = 0;
    for (guint i = 0; i < loads->len; i++)
        busiest_s = rh_max_d(busiest_s, g_array_index(loads, RhLinkLoad, i).busy_s);
    return busiest_s;
}

/* A message of every rank of a stage to the same rank of another. */
static GArray *message_loads(const RhBoundCache *s, const RhGroupNetwork *net, int32_t stage,
                             int32_t to, double bytes)
{
    const RhProgram *p = net->skeleton;
    const RhRole *role = rh_program_role(p, stage);
    int32_t delta = rh_program_role(p, to)->first_rank - role->first_rank;
    Loads loads = loads_begin(s);
    for (int32_t i = 0; i < role->ranks_count; i++) {
        int32_t rank = rh_role_rank(role, i);
        add_flow(&loads, rh_program_gpu(p, rank), rh_program_gpu(p, rank + delta), bytes);
    }
    return loads_end(&loads);
}

/* --- sums over a step --- */

static void add(Sum *s, const GArray *loads, double times)
{
    for (guint i = 0; i < loads->len; i++) {
        const RhLinkLoad *load = &g_array_index(loads, RhLinkLoad, i);
        s->busy_s[load->link] += times * load->busy_s;
    }
}

const GArray *rh_bound_loads(const RhBoundCache *s, const RhGroupNetwork *net,
                             const RhCollectiveKey *key)
{
    int32_t group = net->groups[key->group];
    if (group < 0 || key->bytes <= RH_LATENCY_BYTES)
        return NULL;
    GArray *found = g_hash_table_lookup(s->loads, key);
    if (!found) {
        found = collective_loads(s, net, group, key);
        g_hash_table_insert(s->loads, g_memdup2(key, sizeof *key), found);
    }
    return found;
}

static void add_collective(Sum *s, const RhCollectiveKey *key, double times)
{
    const GArray *loads = rh_bound_loads(s->cache, s->net, key);
    if (loads)
        add(s, loads, times);
}

static void add_item(Sum *s, int32_t stage, const RhLayerPass *passes, double times)
{
    for (int pass = 0; pass < RH_SLOT_PASSES; pass++) {
        const GArray *tasks = passes[pass].tasks;
        for (guint i = 0; tasks && i < tasks->len; i++) {
            const RhLayerOp *task = &g_array_index(tasks, RhLayerOp, i);
            RhCollectiveKey key = {s->net->id,        stage,       (int32_t)task->group,
                                   (int32_t)task->op, task->bytes, task->routing};
            if (task->lane != RH_LANE_COMPUTE)
                add_collective(s, &key, times);
        }
    }
}

static void add_items(Sum *s, int32_t stage, const RhLayerOps *items, const RhSplit *split)
{
    for (int32_t c = 0; c < s->l->vpp; c++) {
        int32_t g = rh_pipeline_model_chunk(rh_pipeline_of(s->l), s->l->pp, stage, c);
        for (int kind = 0; kind < RH_LAYER_OP_LAYERS; kind++)
            add_item(s, stage, items->pass[kind], s->m * split->kinds[g][kind]);
        if (rh_pipeline_begins(rh_pipeline_of(s->l), s->l->pp, g))
            add_item(s, stage, items->pass[RH_LAYER_EMBEDDING], s->m);
        if (rh_pipeline_ends(rh_pipeline_of(s->l), s->l->pp, s->l->vpp, g))
            add_item(s, stage, items->pass[RH_LAYER_HEAD], s->m);
    }
}

static void add_steps(Sum *s, int32_t stage, const RhStageProgram *stage_program,
                      RhInstrRange steps, double times)
{
    for (int32_t i = steps.first; times > 0 && i < steps.first + steps.count; i++) {
        const RhInstr *step = rh_stage_program_instr(stage_program, i);
        RhCollectiveKey key = {s->net->id, stage, step->group, step->op, step->bytes, {0}};
        if (step->kind == RH_INSTR_COMMUNICATE)
            add_collective(s, &key, times);
    }
}

static void add_script(Sum *s, int32_t stage, const RhStageProgram *stage_program)
{
    add_steps(s, stage, stage_program, stage_program->begin, 1);
    for (int32_t chunk = 0; chunk < s->l->vpp; chunk++)
        for (int pass = 0; pass < RH_SLOT_PASSES; pass++)
            for (int place = 0; place < 4; place++) {
                RhSlotKind kind = {chunk, (RhSlotPass)pass, place & 2, place & 1};
                double often = place == 0 ? s->m - 2 : (s->m > 1) == (place < 3);
                add_steps(s, stage, stage_program, rh_stage_program_slot(stage_program, &kind),
                          often);
            }
}

/* Returns the bytes of a micro-batch's messages from a stage to another: forward to the next chunk
 * of the model, back to the one before. */
static double bytes_between(const RhLayout *l, const RhBoundaryMessage *messages, int32_t stage,
                            int32_t other)
{
    const RhPipelineSchedule *schedule = rh_pipeline_of(l);
    int32_t chunks = l->pp * l->vpp;
    double bytes = 0;
    for (int32_t c = 0; c < l->vpp; c++) {
        int32_t g = rh_pipeline_model_chunk(schedule, l->pp, stage, c);
        if (g > 0 && rh_pipeline_stage(schedule, l->pp, g - 1) == other)
            bytes += messages[g - 1].back;
        if (g + 1 < chunks && rh_pipeline_stage(schedule, l->pp, g + 1) == other)
            bytes += messages[g].forward;
    }
    return bytes;
}

static void add_messages(Sum *s, const RhModelCost *model_cost, const RhSplit *split)
{
    int32_t pp = s->l->pp;
    g_autofree RhBoundaryMessage *messages =
        rh_model_cost_messages_new(model_cost, split->layers, split->chunks);
    for (int32_t stage = 0; pp > 1 && stage < pp; stage++)
        for (int side = 0; side < (pp > 2 ? 2 : 1); side++) {
            int32_t to = (stage + (side ? pp - 1 : 1)) % pp;
            double bytes = bytes_between(s->l, messages, stage, to);
            g_autoptr(GArray) loads = message_loads(s->cache, s->net, stage, to, bytes);
            add(s, loads, s->m);
        }
}

bool rh_bound_may_merge(RhBoundCache *cache, const RhLayout *l)
{
    int32_t gpus = cache->c->job.gpus;
    return gpus > RH_FOLD_COLOURS_MAX ||
           rh_bound_tasks(cache, l) / l->pp * gpus > RH_FOLD_TASKS_MAX;
}

double rh_bound_links_s(RhBoundCache *cache, const RhLayout *l)
{
    const RhProblem *c = cache->c;
    const RhGroupNetwork *net = rh_bound_network(cache, l);
    if (net->uniform || rh_bound_may_merge(cache, l))
        return 0;
    RhShardCost *shard = rh_bound_shard(cache, l);
    const RhSplit *split = rh_bound_split(cache, l);
    RhCommSteps *const *flows = rh_bound_comm_steps(cache, l);
    int32_t links = rh_platform_links_count(c->platform);
    g_autofree double *busy_s = g_new0(double, links + 1);
    Sum s = {cache, l, net, (double)rh_train_microbatches(c, l), busy_s};
    double busiest_s = 0, end_s = (double)INFINITY;
    for (int32_t stage = 0; stage < l->pp; stage++) {
        add_items(&s, stage, rh_bound_layer_ops(shard), split);
        add_script(&s, stage, flows[stage]->stage_program);
        end_s = rh_min_d(end_s, flows[stage]->sums.end_s + flows[stage]->sums.optimizer_s);
    }
    add_messages(&s, shard->model_cost, split);
    for (int32_t i = 0; i < links; i++)
        busiest_s = rh_max_d(busiest_s, busy_s[i]);
    return busiest_s + end_s;
}
