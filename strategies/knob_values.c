/* Chooses the values of a knob that are tried: the next one, in the usual space and in the whole
 * space (knobs.h). */
#include "strategies/knob_functions.h"
#include "strategies/layer_partition.h"

bool rh_knob_next_in_range(const RhKnob *knob, const RhProblem *c, const RhLayout *l,
                           int32_t *value)
{
    (void)c, (void)l;
    return ++*value <= knob->high;
}

/* Recomputation: none, attention's core, whole layers; then the sums of modules that the stack is
 * known for. */
bool rh_knob_next_recompute(const RhKnob *knob, const RhProblem *c, const RhLayout *l,
                            int32_t *value)
{
    (void)l;
    if (*value < knob->high)
        return ++*value <= knob->high;
    const RhRecompute *known = c->stack->recomputes;
    int32_t i = 0;
    while (*value > knob->high && i < RH_STACK_RECOMPUTES && (int32_t)known[i++] != *value)
        ;
    if (i == RH_STACK_RECOMPUTES || known[i] == RH_RECOMPUTE_NONE)
        return false;
    *value = (int32_t)known[i];
    return true;
}

bool rh_knob_next_tensor(const RhKnob *knob, const RhProblem *c, const RhLayout *l, int32_t *value)
{
    (void)knob, (void)l;
    const RhPlatform *p = c->platform;
    int32_t axis = p->torus_count > 0 ? p->torus[0] : 1; /* neighbours, one behind another */
    return ++*value <= MIN(p->gpus_per_node * axis, c->job.gpus);
}

/* Tokens of a sequence that each rank keeps at least in the usual search for context parallelism.
 * Assumed, to keep the space small: nothing was measured. */
#define CONTEXT_TOKENS_MIN 8192

/* Tiles of a picture in the search, at most: MPI4DL's examples have 4, so twice as many a side.
 * Assumed, to keep the space small. */
#define TILES_MOST 16

static int32_t tiles_most(const RhProblem *c)
{
    return c->stack->tiles ? TILES_MOST : 1;
}

/* Do so many replicas of the layout fill the GPUs, whatever its dp? */
static bool fills_gpus(const RhProblem *c, const RhLayout *l)
{
    return c->job.gpus % rh_layout_replica_ranks(l) == 0;
}

/* Do they with any number of ranks behind the cut stages, up to their own? */
static bool fills_behind(const RhProblem *c, const RhLayout *layout)
{
    RhLayout l = *layout;
    for (l.local_dp = 1; l.local_dp <= l.cp; l.local_dp++)
        if (fills_gpus(c, &l))
            return true;
    return false;
}

/* Can stages of unequal widths fill the GPUs: some first ones on from `least` to `most` tiles each? */
static bool fills_unequally(const RhProblem *c, const RhLayout *layout, int32_t least, int32_t most)
{
    RhLayout l = *layout;
    for (l.cp = MAX(least, 2); l.cp <= most; l.cp++)
        for (l.cp_stages = 1; l.cp_stages < l.pp; l.cp_stages++)
            if (fills_behind(c, &l))
                return true;
    return false;
}

/* Pipeline stages: numbers that divide the GPUs, or whose first stages can have tiles enough for that, up
 * to two more than layers: embedding and head alone. */
bool rh_knob_next_pipeline(const RhKnob *knob, const RhProblem *c, const RhLayout *l,
                           int32_t *value)
{
    (void)knob;
    bool whole = rh_partition_whole(c->model, true) != NULL;
    int32_t most = whole ? 1 : MIN(c->model->layers_count + 2, c->job.gpus / l->tp);
    int32_t tiles = rh_model_sees_pictures(c->model) ? tiles_most(c) : 1;
    RhLayout with = *l;
    while (++*value <= most) {
        with.pp = *value;
        if (c->job.gpus % (l->tp * *value) == 0 || fills_unequally(c, &with, 2, tiles))
            return true;
    }
    return false;
}

static int32_t context_most(const RhProblem *c)
{
    if (rh_model_sees_pictures(c->model))
        return tiles_most(c);
    return (int32_t)CLAMP(c->job.sequence / CONTEXT_TOKENS_MIN, 1, RH_LAYOUT_DEGREE_MAX);
}

static bool context_up_to(const RhProblem *c, const RhLayout *l, int32_t most, int32_t *value)
{
    int32_t gpus = c->job.gpus / (l->tp * l->pp);
    int32_t tiles = rh_model_sees_pictures(c->model) ? MIN(most, tiles_most(c)) : 1;
    while (++*value <= MAX(MIN(gpus, most), tiles))
        if ((*value <= gpus && gpus % *value == 0) ||
            (*value <= tiles && fills_unequally(c, l, *value, *value)))
            return true;
    return false;
}

bool rh_knob_next_context(const RhKnob *knob, const RhProblem *c, const RhLayout *l, int32_t *value)
{
    (void)knob;
    return context_up_to(c, l, context_most(c), value);
}

bool rh_knob_longer_context(const RhKnob *knob, const RhProblem *c, const RhLayout *l,
                            int32_t *value)
{
    (void)knob;
    *value = MAX(*value, context_most(c));
    return context_up_to(c, l, RH_LAYOUT_DEGREE_MAX, value);
}

/* Replicas: the remaining GPUs, where the batch divides among them. */
bool rh_knob_next_data(const RhKnob *knob, const RhProblem *c, const RhLayout *l, int32_t *value)
{
    int32_t rest = (int32_t)(c->job.gpus / rh_layout_replica_ranks(l));
    bool first = *value < knob->low;
    *value = rest;
    return first && rest >= 1 && c->job.global_batch % rest == 0;
}

/* Ulysses: divisors of cp, while a rank has a key-value head of its own, as frameworks repeat
 * none. */
bool rh_knob_next_ulysses(const RhKnob *knob, const RhProblem *c, const RhLayout *l, int32_t *value)
{
    (void)knob;
    while (++*value <= l->cp) {
        bool whole = l->cp % *value == 0;
        for (int k = 0; whole && *value > 1 && k < c->model->kinds_count; k++)
            whole = c->model->kinds[k].kv_heads % (l->tp * *value) == 0;
        if (whole)
            return true;
    }
    return false;
}

/* Slices: of pictures that are cut. */
bool rh_knob_next_slice(const RhKnob *knob, const RhProblem *c, const RhLayout *l, int32_t *value)
{
    bool cut = rh_model_sees_pictures(c->model) && l->cp > 1;
    *value = MAX(*value + 1, cut ? RH_SLICE_SQUARE : RH_SLICE_NONE);
    return *value <= (cut ? knob->high : RH_SLICE_NONE);
}

/* Cut stages: all, or the first ones of a pipeline of pictures. */
bool rh_knob_next_cut_stages(const RhKnob *knob, const RhProblem *c, const RhLayout *l,
                             int32_t *value)
{
    (void)knob;
    bool cut = rh_model_sees_pictures(c->model) && l->cp > 1;
    RhLayout with = *l;
    while (++*value < (cut ? l->pp : 1)) {
        with.cp_stages = *value;
        if (*value == 0 || fills_behind(c, &with))
            return true;
    }
    return false;
}

/* Ranks of a stage behind the cut ones: up to as many as these have, which share out the batch. */
bool rh_knob_next_local_replicas(const RhKnob *knob, const RhProblem *c, const RhLayout *l,
                                 int32_t *value)
{
    (void)knob;
    RhLayout with = *l;
    while (++*value <= (l->cp_stages > 0 ? l->cp : 1)) {
        with.local_dp = *value;
        if (*value == 1 || (fills_gpus(c, &with) && c->job.global_batch % *value == 0))
            return true;
    }
    return false;
}

/* Edges: once for a layer where pictures are cut. */
bool rh_knob_next_halo(const RhKnob *knob, const RhProblem *c, const RhLayout *l, int32_t *value)
{
    (void)c;
    return ++*value <= (l->slice != RH_SLICE_NONE ? knob->high : 0);
}

/* Keys and values: gathered only without Ulysses, as no framework gathers behind its exchange. */
bool rh_knob_next_keys_and_values(const RhKnob *knob, const RhProblem *c, const RhLayout *l,
                                  int32_t *value)
{
    (void)c;
    return ++*value <= (l->cp > 1 && l->ulysses == 1 ? knob->high : 0);
}

/* Shards: weights over all replicas, or over those of a node, which NVLink joins. */
bool rh_knob_next_shard(const RhKnob *knob, const RhProblem *c, const RhLayout *l, int32_t *value)
{
    int32_t node = c->platform->gpus_per_node / l->tp;
    bool first = *value < knob->low, all = *value == 0;
    bool neighbours = node <= l->cp ? l->cp % MAX(node, 1) == 0
                                    : node % l->cp == 0 && l->dp % (node / l->cp) == 0;
    bool experts_spread = l->ep > 1 || l->etp > 0;
    *value = first ? 0 : node;
    return first || (all && l->zero == 3 && neighbours && !experts_spread && node > 1 &&
                     node < l->cp * l->dp);
}

/* Number of experts in layers that have some; 0: no layer has. */
static int32_t experts_of(const RhModel *model)
{
    int32_t experts = 0;
    for (int k = 0; k < model->kinds_count; k++)
        experts = MAX(experts, model->kinds[k].experts);
    return experts;
}

bool rh_knob_next_expert(const RhKnob *knob, const RhProblem *c, const RhLayout *l, int32_t *value)
{
    (void)knob;
    int32_t experts = experts_of(c->model), most = l->tp * l->cp * l->dp;
    while (++*value <= MIN(MAX(experts, 1), most))
        if (*value == 1 || experts % *value == 0)
            return true;
    return false;
}

/* Expert tensor parallelism: experts are cut like the rest of the layer, or not at all. */
bool rh_knob_next_expert_tensor(const RhKnob *knob, const RhProblem *c, const RhLayout *l,
                                int32_t *value)
{
    (void)knob;
    bool may_differ = l->tp > 1 && l->ep > 1 && experts_of(c->model) > 0;
    return ++*value <= (may_differ ? 1 : 0);
}

bool rh_knob_next_dispatch(const RhKnob *knob, const RhProblem *c, const RhLayout *l,
                           int32_t *value)
{
    bool may_differ = l->ep > 1 && c->platform->messages.sender == RH_SHARING_NONE;
    return ++*value <= (may_differ ? knob->high : 0);
}

/* Micro-batches: every divisor of a replica's samples; the memory stage decides which of them fit.
 * Of the numbers with the same quotient only the largest can be a divisor: 2 sqrt(samples) steps in
 * all. */
bool rh_knob_next_microbatch(const RhKnob *knob, const RhProblem *c, const RhLayout *l,
                             int32_t *value)
{
    int64_t samples = c->job.global_batch / l->dp;
    for (int64_t next = *value + 1; next <= MIN(samples, knob->high); next++) {
        next = samples / (samples / next);
        if (samples % next == 0) {
            *value = (int32_t)MIN(next, (int64_t)knob->high + 1);
            return next <= knob->high;
        }
    }
    return false;
}

bool rh_knob_next_chunks(const RhKnob *knob, const RhProblem *c, const RhLayout *l, int32_t *value)
{
    int32_t only = rh_pipeline_kind_chunks(l->schedule);
    bool first = *value < knob->low;
    *value = only != RH_CHUNKS_ANY ? only : MAX(*value + 1, 2);
    if (only != RH_CHUNKS_ANY && (only == 1 || !first))
        return first;
    return l->pp > 1 && l->pp * *value <= c->model->layers_count + 2;
}

/* Partitions: every one that gives a different split. */
bool rh_knob_next_partition(const RhKnob *knob, const RhProblem *c, const RhLayout *l,
                            int32_t *value)
{
    (void)knob;
    if (++*value == RH_PARTITION_EVEN)
        return true;
    if (l->pp == 1 || c->stack->even_stages)
        return false;
    for (; *value < RH_PARTITION_LAST; ++*value)
        if (rh_partition_is_new(c, l, (RhPartition)*value))
            return true;
    return false;
}

static bool has_experts(const RhModel *model)
{
    for (int k = 0; k < model->kinds_count; k++)
        if (model->kinds[k].experts > 0)
            return true;
    return false;
}

static bool tries_schedule(const RhModel *model, RhPipelineKind kind)
{
    RhSchedulePurpose purpose = rh_pipeline_kind_purpose(kind);
    return purpose == RH_FOR_ALL || (purpose == RH_FOR_EXPERTS && has_experts(model)) ||
           (purpose == RH_FOR_PICTURES && rh_model_sees_pictures(model));
}

bool rh_knob_next_schedule(const RhKnob *knob, const RhProblem *c, const RhLayout *l,
                           int32_t *value)
{
    (void)l;
    do
        ++*value;
    while (*value <= knob->high && !tries_schedule(c->model, (RhPipelineKind)*value));
    return *value <= knob->high;
}

/* --- values of the whole space --- */

/* Tokens of a sequence that each rank keeps at least in the search for more context ranks. Assumed:
 * published layouts keep 2,048 and more, and exchanges of fewer cannot hide behind attention. */
#define WIDER_CONTEXT_TOKENS_MIN 2048

static int32_t wider_context_most(const RhProblem *c)
{
    if (rh_model_sees_pictures(c->model))
        return tiles_most(c);
    return (int32_t)CLAMP(c->job.sequence / WIDER_CONTEXT_TOKENS_MIN, 1, RH_LAYOUT_DEGREE_MAX);
}

bool rh_knob_wider_context(const RhKnob *knob, const RhProblem *c, const RhLayout *l,
                           int32_t *value)
{
    (void)knob;
    return context_up_to(c, l, wider_context_most(c), value);
}

/* Sets the smallest degree that leaves fewer tokens than the usual search's, in place of
 * replicas. */
bool rh_knob_context_of_few_tokens(const RhProblem *c, RhLayout *l, int32_t step)
{
    int32_t ranks = l->cp * l->dp, value = wider_context_most(c);
    if (step > 0 || !context_up_to(c, l, ranks, &value) || ranks % value != 0)
        return false;
    l->cp = value;
    l->dp = ranks / value;
    return true;
}

/* Percentages of offload: one layer in 10, 5, 4, 3, 2, or every one. Transfers then spread evenly
 * over the layers: Transformer Engine gives the copy of each offloaded layer as many layers as
 * there are for one, rounded down (NVIDIA/TransformerEngine d0067d0d,
 * transformer_engine/pytorch/cpu_offload_v1.py:357, layer_window_map). */
static const int32_t offload_percents[] = {10, 20, 25, 33, 50, 100};

/* Sets offload in place of all recomputation, which it is meant to replace. */
bool rh_knob_offload_instead(const RhProblem *c, RhLayout *l, int32_t step)
{
    (void)c;
    if (l->recompute == RH_RECOMPUTE_NONE || step >= (int32_t)G_N_ELEMENTS(offload_percents))
        return false;
    l->recompute = RH_RECOMPUTE_NONE;
    l->recomputed_layers_count = 0;
    l->offload = offload_percents[step];
    return true;
}

/* Recomputation: none; every combination of the model's modules that can be recomputed; whole
 * layers last. */
bool rh_knob_wider_recompute(const RhKnob *knob, const RhProblem *c, const RhLayout *l,
                             int32_t *value)
{
    (void)l;
    uint32_t modules = rh_model_modules(c->model), next = (uint32_t)*value;
    if (*value < 0) {
        *value = RH_RECOMPUTE_NONE;
        return true;
    }
    if (next == RH_RECOMPUTE_FULL)
        return false;
    do /* the next larger subset of the modules */
        next = (next - modules) & modules;
    while (next != 0 && rh_recompute_repeats(next));
    *value = next != 0 ? (int32_t)next : RH_RECOMPUTE_FULL;
    (void)knob;
    return true;
}

/* Recomputed layers: all, or as few as fit. */
bool rh_knob_wider_again(const RhKnob *knob, const RhProblem *c, const RhLayout *l, int32_t *value)
{
    (void)knob, (void)c;
    if (*value < RH_RECOMPUTED_FEWEST) {
        *value = l->recompute == RH_RECOMPUTE_FULL ? RH_RECOMPUTED_FEWEST : 0;
        return true;
    }
    return ++*value <= 0;
}

/* Sequence parallelism: off for single ranks, and where the stack has none. On, the same bytes are
 * exchanged in twice as many collectives, and norms and residuals are cut, too: off is quicker
 * where messages are small. */
bool rh_knob_wider_sequence_parallel(const RhKnob *knob, const RhProblem *c, const RhLayout *l,
                                     int32_t *value)
{
    (void)knob;
    return ++*value <= (l->tp > 1 && c->stack->sequence_parallel);
}

/* Shards: over all replicas, or over those of one node, which NVLink joins, of four nodes, of
 * sixteen ... */
bool rh_knob_wider_shard(const RhKnob *knob, const RhProblem *c, const RhLayout *l, int32_t *value)
{
    int32_t replicas = l->cp * l->dp, node = MAX(1, c->platform->gpus_per_node / l->tp);
    bool experts_spread = l->ep > 1 || l->etp > 0;
    if (*value < knob->low) {
        *value = 0;
        return true;
    }
    if (l->zero == 0 || experts_spread)
        return false;
    do
        *value = *value == 0 ? node : 4 * *value;
    while (*value < replicas && (*value == 1 || replicas % *value != 0 || *value % l->cp != 0));
    return *value < replicas;
}

bool rh_knob_wider_outer(const RhKnob *knob, const RhProblem *c, const RhLayout *l, int32_t *value)
{
    (void)knob, (void)c;
    return ++*value <= (l->zero == 3 && l->shard > 0 ? 1 : 0);
}

/* Second shards over the replicas of a node. */
bool rh_knob_wider_secondary(const RhKnob *knob, const RhProblem *c, const RhLayout *l,
                             int32_t *value)
{
    int32_t node = MAX(1, c->platform->gpus_per_node / l->tp);
    bool first = *value < knob->low;
    bool more = *value == 0 && l->zero == 3 && c->stack->second_shards && node > 1;
    *value = first ? 0 : node;
    return first || more;
}

/* Kernels that may run while tokens travel to experts. */
bool rh_knob_wider_overlap(const RhKnob *knob, const RhProblem *c, const RhLayout *l,
                           int32_t *value)
{
    (void)c;
    return ++*value <= (l->ep > 1 || l->etp > 0 ? knob->high : 0);
}

/* Schedules that the stack runs. */
bool rh_knob_wider_schedule(const RhKnob *knob, const RhProblem *c, const RhLayout *l,
                            int32_t *value)
{
    do
        ++*value;
    while (*value <= knob->high && (l->pp == 1 ? *value != RH_PIPELINE_1F1B
                                               : !rh_stack_runs(c->stack, (RhPipelineKind)*value)));
    return *value <= knob->high;
}

/* Codecs change what is computed: none is tried unasked. */
bool rh_knob_wider_codec(const RhKnob *knob, const RhProblem *c, const RhLayout *l, int32_t *value)
{
    (void)c, (void)l;
    bool first = *value < knob->low;
    *value = knob->low;
    return first;
}
