#include "strategies/train/rank_grid.h"

#include <stdlib.h>

#include "strategies/layer_partition.h"
#include "strategies/train/schedules/schedule.h"
#include "strategies/train/train.h"

/* Dimensions by order, from the innermost out. */
static const RhDim orders[RH_ORDER_LAST][RH_DIM_LAST] = {
    [RH_ORDER_NONE] = {RH_DIM_TP, RH_DIM_CP, RH_DIM_DP, RH_DIM_PP},
    [RH_ORDER_TP_DP_PP] = {RH_DIM_TP, RH_DIM_CP, RH_DIM_DP, RH_DIM_PP},
    [RH_ORDER_TP_PP_DP] = {RH_DIM_TP, RH_DIM_CP, RH_DIM_PP, RH_DIM_DP},
};

/* Dimensions of a rank inside its stage, the innermost first. */
static const RhDim digits[] = {RH_DIM_TP, RH_DIM_CP, RH_DIM_DP};

typedef struct {
    const char *label;
    bool of_layers; /* layers communicate in it; in the others, stage programs do */
    bool meets;     /* in every layer all of its ranks wait for each other */
    bool joins;     /* joins stages: ranks of its interval on every stage, or on the two ends
                    * alone */
    bool ends;      /* joins the first stage and the last one */
    bool pairs;     /* joins any two stages that are equally far from either end */
} Kind;

static const Kind kinds[RH_GROUP_LAST] = {
    [RH_GROUP_TENSOR] = {.label = "tp", .of_layers = true, .meets = true},
    [RH_GROUP_HEADS] = {.label = "ulysses", .of_layers = true},
    [RH_GROUP_CONTEXT] = {.label = "cp", .of_layers = true},
    [RH_GROUP_TILES_ACROSS] = {.label = "tiles across", .of_layers = true},
    [RH_GROUP_TILES_DOWN] = {.label = "tiles down", .of_layers = true},
    [RH_GROUP_DATA] = {.label = "dp"},
    [RH_GROUP_SHARD] = {.label = "shard"},
    [RH_GROUP_SAME_SHARE] = {.label = "same share"},
    [RH_GROUP_SECOND_SHARD] = {.label = "hpz"},
    [RH_GROUP_EXPERT_TENSOR] = {.label = "etp", .of_layers = true},
    [RH_GROUP_EXPERT] = {.label = "ep", .of_layers = true},
    [RH_GROUP_EXPERT_DATA] = {.label = "edp"},
    [RH_GROUP_EXPERT_SHARD] = {.label = "expert shard"},
    [RH_GROUP_SAME_EXPERT_SHARE] = {.label = "same expert share"},
    [RH_GROUP_SECOND_EXPERT_SHARD] = {.label = "expert hpz"},
    [RH_GROUP_TWINS] = {.label = "twins"},
    [RH_GROUP_MIRRORED] = {.label = "mirrored", .joins = true, .pairs = true},
    [RH_GROUP_TIED] = {.label = "tied", .joins = true, .ends = true},
    [RH_GROUP_MODEL] = {.label = "model", .joins = true},
    [RH_GROUP_ALL] = {.label = "all", .joins = true},
};

typedef struct {
    int32_t low, size;
} Interval;

/* Ranks that together hold all experts. */
static int32_t expert_ranks(const RhLayout *l)
{
    return rh_train_expert_tensor(l) * l->ep;
}

/* Do experts have groups of their own in which states are sharded? */
static bool experts_share(const RhLayout *l)
{
    return l->shard > 0 && rh_train_spreads_experts(l);
}

/* Returns how many tiles lie beside one another; 1 where they are no square, which no legal layout has. */
static int32_t tiles_across(const RhLayout *l)
{
    return MAX(rh_slice_across(l->slice, l->cp), 1);
}

/* Interval of place values over which a group of this kind extends. Called for millions of layouts,
 * so for one kind at a time. */
static Interval interval_of(const RhLayout *l, RhGroupKind kind)
{
    switch (kind) {
    case RH_GROUP_TENSOR:
        return (Interval){1, l->tp};
    case RH_GROUP_HEADS:
        return (Interval){l->tp, l->ulysses};
    case RH_GROUP_CONTEXT:
        return (Interval){l->tp * l->ulysses, l->cp / l->ulysses};
    case RH_GROUP_TILES_ACROSS:
        return l->slice ? (Interval){l->tp, tiles_across(l)} : (Interval){1, 1};
    case RH_GROUP_TILES_DOWN:
        return l->slice ? (Interval){l->tp * tiles_across(l), l->cp / tiles_across(l)}
                        : (Interval){1, 1};
    case RH_GROUP_DATA:
    case RH_GROUP_MIRRORED:
        return (Interval){l->tp, l->cp * l->dp};
    case RH_GROUP_SHARD:
        return (Interval){l->tp, MAX(l->shard, 1)};
    case RH_GROUP_SAME_SHARE:
        return l->shard > 0 ? (Interval){l->tp * l->shard, l->cp * l->dp / l->shard}
                            : (Interval){1, 1};
    case RH_GROUP_SECOND_SHARD:
        return (Interval){l->tp, MAX(l->hpz, 1)};
    case RH_GROUP_EXPERT_TENSOR:
        return (Interval){1, rh_train_spreads_experts(l) ? rh_train_expert_tensor(l) : 1};
    case RH_GROUP_EXPERT:
        return (Interval){rh_train_expert_tensor(l), l->ep};
    case RH_GROUP_EXPERT_DATA:
        return (Interval){expert_ranks(l), rh_train_spreads_experts(l)
                                               ? l->tp * l->cp * l->dp / expert_ranks(l)
                                               : 1};
    case RH_GROUP_EXPERT_SHARD:
        return experts_share(l) ? (Interval){expert_ranks(l), l->tp * l->shard / expert_ranks(l)}
                                : (Interval){1, 1};
    case RH_GROUP_SAME_EXPERT_SHARE:
        return experts_share(l) ? interval_of(l, RH_GROUP_SAME_SHARE) : (Interval){1, 1};
    case RH_GROUP_SECOND_EXPERT_SHARD:
        return l->hpz > 0 && rh_train_spreads_experts(l)
                   ? (Interval){expert_ranks(l), MAX(l->tp * l->hpz / expert_ranks(l), 1)}
                   : (Interval){1, 1};
    case RH_GROUP_MODEL:
        return (Interval){1, MAX(l->tp, rh_train_spreads_experts(l) ? expert_ranks(l) : 1)};
    case RH_GROUP_TWINS:
        return rh_pipeline_of(l)->crosses ? (Interval){l->tp * l->cp * l->dp / 2, 2}
                                          : (Interval){1, 1};
    case RH_GROUP_ALL:
        return (Interval){1, l->tp * l->cp * l->dp};
    case RH_GROUP_TIED:
    case RH_GROUP_LAST:
    default:
        return (Interval){1, 1};
    }
}

RhGrid rh_grid(const RhLayout *l)
{
    RhGrid g = {
        .extent = {
            [RH_DIM_TP] = l->tp, [RH_DIM_CP] = l->cp, [RH_DIM_DP] = l->dp, [RH_DIM_PP] = l->pp}};
    int32_t stride = 1;
    for (int i = 0; i < RH_DIM_LAST; i++) {
        RhDim dim = orders[l->order][i];
        g.stride[dim] = stride;
        stride *= g.extent[dim];
    }
    for (int kind = 0; kind < RH_GROUP_LAST; kind++) {
        Interval places = interval_of(l, (RhGroupKind)kind);
        g.low[kind] = places.low;
        g.high[kind] = places.low * places.size;
    }
    return g;
}

int32_t rh_part_end(const RhLayout *l, int32_t stage)
{
    int32_t cut = rh_layout_cut_stages(l);
    return stage < cut ? cut : l->pp;
}

/* The layout with the width of a stage; where ranks share out the pictures of a micro-batch, they have
 * the places of context ranks. */
static RhLayout as_wide(const RhLayout *l, int32_t stage)
{
    RhLayout own = *l;
    own.cp_stages = 0;
    own.local_dp = 1;
    if (stage >= rh_layout_cut_stages(l)) {
        own.cp = l->local_dp;
        own.slice = RH_SLICE_NONE;
        own.halo = RH_HALO_STEP;
    }
    return own;
}

RhLayout rh_part_layout(const RhProblem *c, const RhLayout *l, int32_t stage)
{
    RhLayout own = as_wide(l, stage);
    int32_t layers[G_N_ELEMENTS(own.stage_layers)];
    if (stage >= rh_layout_cut_stages(l)) {
        own.cp = 1;
        own.dp *= l->local_dp;
        own.microbatch /= l->local_dp;
    }
    if (l->cp_stages == 0 || l->partition != RH_PARTITION_WORK)
        return own;
    rh_partition_layers(c, l, layers); /* by all stages' widths */
    own.partition = RH_PARTITION_EVEN;
    own.stage_layers_count = l->pp;
    for (int32_t g = 0; g < l->pp; g++)
        own.stage_layers[g] = (int16_t)layers[g];
    return own;
}

RhGrid rh_part_grid(const RhLayout *l, int32_t stage)
{
    RhLayout own = as_wide(l, stage);
    RhGrid g = rh_grid(&own);
    if (l->cp_stages == 0)
        return g;
    g.lap = g.stride[RH_DIM_DP] = (int32_t)rh_layout_replica_ranks(l);
    g.stride[RH_DIM_PP] = own.tp * own.cp;
    g.origin = rh_layout_cut_stages(l) * l->tp * (l->cp - own.cp); /* 0 for the cut stages */
    return g;
}

bool rh_train_orders_differ(const RhProblem *c, const RhLayout *l)
{
    RhGrid g = rh_grid(l);
    int32_t each = c->platform->gpus_per_node,
            block = MIN(g.stride[RH_DIM_DP], g.stride[RH_DIM_PP]);
    if (rh_stages_unequal(l))
        return true; /* one of them alone has the parts of a replica side by side */
    if (l->pp == 1 || l->dp == 1)
        return false;
    return block % each != 0 ||
           !rh_platform_nodes_alike(c->platform, (c->job.gpus + each - 1) / each);
}

bool rh_group_joins_stages(RhGroupKind kind)
{
    return kinds[kind].joins;
}

bool rh_group_meets_all_stages(RhGroupKind kind)
{
    return kinds[kind].joins && !kinds[kind].ends && !kinds[kind].pairs;
}

bool rh_group_pairs_stages(RhGroupKind kind)
{
    return kinds[kind].pairs;
}

int32_t rh_grid_pair(const RhGrid *g, int32_t stage)
{
    return MIN(stage, g->extent[RH_DIM_PP] - 1 - stage);
}

int32_t rh_train_expert_tensor(const RhLayout *layout)
{
    return layout->etp > 0 ? layout->etp : layout->tp;
}

RhSlice rh_train_slice(const RhProblem *c, const RhLayout *l)
{
    if (l->cp == 1)
        return RH_SLICE_NONE;
    if (l->slice != RH_SLICE_NONE || !rh_model_sees_pictures(c->model))
        return l->slice;
    return rh_slice_across(RH_SLICE_SQUARE, l->cp) > 0 ? RH_SLICE_SQUARE : RH_SLICE_HORIZONTAL;
}

bool rh_train_spreads_experts(const RhLayout *layout)
{
    return layout->ep > 1 || rh_train_expert_tensor(layout) != layout->tp;
}

bool rh_train_shares_in_groups(const RhLayout *layout)
{
    return layout->shard > 0 || layout->hpz > 0;
}

bool rh_train_copies(const RhLayout *layout)
{
    return layout->offload > 0 || layout->states != RH_PLACE_DEVICE;
}

bool rh_train_scatters(const RhProblem *c, const RhLayout *layout)
{
    return c->stack->scatters_messages && !layout->sequence_parallel && layout->tp > 1 &&
           layout->pp > 1;
}

bool rh_grid_divides(const RhLayout *l, int32_t value)
{
    int64_t low = 1, extents[] = {l->tp, l->cp, l->dp}; /* in the order of `digits` */
    for (size_t i = 0; i < G_N_ELEMENTS(extents); i++) {
        int64_t high = low * extents[i];
        if (value <= high)
            return value % low == 0 && high % value == 0;
        low = high;
    }
    return false;
}

int32_t rh_grid_stage_ranks(const RhGrid *g)
{
    int32_t ranks = 1;
    for (size_t i = 0; i < G_N_ELEMENTS(digits); i++)
        ranks *= g->extent[digits[i]];
    return ranks;
}

int32_t rh_grid_group_size(const RhGrid *g, RhGroupKind kind)
{
    return g->high[kind] / g->low[kind];
}

RhGroupKind rh_params_group(RhParamsClass cls)
{
    return cls == RH_PARAMS_EXPERTS ? RH_GROUP_EXPERT_DATA : RH_GROUP_DATA;
}

int32_t rh_params_replicas(const RhLayout *layout, RhParamsClass cls)
{
    return interval_of(layout, rh_params_group(cls)).size;
}

int32_t rh_params_replicas_most(const RhLayout *layout)
{
    int32_t most = 1;
    for (int cls = 0; cls < RH_PARAMS_LAST; cls++)
        most = MAX(most, rh_params_replicas(layout, (RhParamsClass)cls));
    return most;
}

bool rh_params_exchanged(const RhProblem *c, const RhLayout *l, RhParamsClass cls)
{
    return !c->job.accumulates && rh_params_replicas(l, cls) > 1 &&
           rh_pipeline_kind_copies(l->schedule) == 1;
}

static RhGroupKind inner_group(RhParamsClass cls)
{
    return cls == RH_PARAMS_EXPERTS ? RH_GROUP_EXPERT_SHARD : RH_GROUP_SHARD;
}

/* Are states sharded over the outer groups, and nothing inside of them? */
static bool outer_alone(const RhLayout *l, RhParamsClass cls)
{
    return l->outer && interval_of(l, inner_group(cls)).size == 1;
}

RhGroupKind rh_params_shard_group(const RhLayout *layout, RhParamsClass cls)
{
    bool over_all = layout->shard == 0 || outer_alone(layout, cls);
    return over_all ? rh_params_group(cls) : inner_group(cls);
}

bool rh_params_outer(const RhLayout *layout, RhParamsClass cls)
{
    return layout->outer && rh_params_shard_group(layout, cls) == inner_group(cls);
}

int32_t rh_params_degree(const RhLayout *layout, RhParamsClass cls)
{
    return outer_alone(layout, cls) ? MIN(layout->zero, 1) : layout->zero;
}

int32_t rh_params_optimizer_shards(const RhLayout *layout, RhParamsClass cls)
{
    if (layout->zero == 0)
        return 1;
    return layout->outer ? rh_params_replicas(layout, cls) : rh_params_shards(layout, cls);
}

RhGroupKind rh_params_same_share_group(RhParamsClass cls)
{
    return cls == RH_PARAMS_EXPERTS ? RH_GROUP_SAME_EXPERT_SHARE : RH_GROUP_SAME_SHARE;
}

int32_t rh_params_zero(const RhProblem *c, const RhLayout *l, RhParamsClass cls)
{
    return rh_params_exchanged(c, l, cls) && rh_params_shards(l, cls) > 1 ? rh_params_degree(l, cls)
                                                                          : 0;
}

int32_t rh_params_shards(const RhLayout *layout, RhParamsClass cls)
{
    return interval_of(layout, rh_params_shard_group(layout, cls)).size;
}

RhGroupKind rh_params_second_group(RhParamsClass cls)
{
    return cls == RH_PARAMS_EXPERTS ? RH_GROUP_SECOND_EXPERT_SHARD : RH_GROUP_SECOND_SHARD;
}

int32_t rh_params_second_shards(const RhLayout *layout, RhParamsClass cls)
{
    if (layout->hpz == 0 || rh_params_degree(layout, cls) < 3)
        return 0;
    int32_t size = interval_of(layout, rh_params_second_group(cls)).size;
    return size < rh_params_shards(layout, cls) ? size : 0;
}

int32_t rh_train_copy_ranks(const RhLayout *l)
{
    int32_t common = l->tp * (l->zero == 3 ? rh_params_shards(l, RH_PARAMS_COMMON) : 1);
    int32_t experts = l->ep * rh_train_expert_tensor(l) *
                      (l->zero == 3 ? rh_params_shards(l, RH_PARAMS_EXPERTS) : 1);
    return l->pp * MAX(common, l->ep > 1 ? experts : 1);
}

int32_t rh_train_replicas(const RhLayout *layout)
{
    return rh_params_replicas(layout, RH_PARAMS_COMMON);
}

bool rh_grid_group_meets_blocks(const RhGrid *g, RhGroupKind kind)
{
    return g->low[kind] <= rh_grid_block(g) && g->high[kind] == rh_grid_stage_ranks(g);
}

int32_t rh_grid_rank(const RhGrid *g, int32_t stage, int32_t place)
{
    int32_t rank = g->origin + stage * g->stride[RH_DIM_PP];
    for (size_t i = 0; i < G_N_ELEMENTS(digits); i++) {
        rank += place % g->extent[digits[i]] * g->stride[digits[i]];
        place /= g->extent[digits[i]];
    }
    return rank;
}

int32_t rh_grid_row(const RhGrid *g)
{
    int32_t row = 1;
    for (size_t i = 0; i < G_N_ELEMENTS(digits) && g->stride[digits[i]] == row; i++)
        row *= g->extent[digits[i]];
    return row;
}

int32_t rh_grid_block(const RhGrid *g)
{
    int32_t block = 1;
    for (int kind = 0; kind < RH_GROUP_LAST; kind++)
        if (kinds[kind].of_layers)
            block = MAX(block, g->high[kind]);
    return block;
}

int32_t rh_grid_block_stride(const RhGrid *g)
{
    int32_t block = rh_grid_block(g);
    return block < rh_grid_stage_ranks(g) ? rh_grid_rank(g, 0, block) : g->stride[RH_DIM_PP];
}

bool rh_grid_block_is_solid(const RhGrid *g)
{
    int32_t block = rh_grid_block(g);
    return rh_grid_rank(g, 0, block - 1) == block - 1;
}

bool rh_grid_block_meets(const RhGrid *g)
{
    int32_t block = rh_grid_block(g);
    bool meets = block == 1;
    for (int kind = 0; kind < RH_GROUP_LAST; kind++)
        meets |= kinds[kind].meets && g->low[kind] == 1 && g->high[kind] == block;
    return meets;
}

bool rh_grid_block_parts(const RhGrid *g)
{
    int32_t block = rh_grid_block(g);
    bool parts = false;
    for (int kind = 0; kind < RH_GROUP_LAST; kind++)
        parts |= kinds[kind].of_layers && rh_grid_group_size(g, kind) > 1 &&
                 rh_grid_group_size(g, kind) < block;
    return parts;
}

bool rh_grid_blocks_part(const RhGrid *g)
{
    int32_t block = rh_grid_block(g), ranks = rh_grid_stage_ranks(g);
    bool part = false;
    for (int kind = 0; kind < RH_GROUP_LAST; kind++)
        part |= !kinds[kind].of_layers && !kinds[kind].joins && rh_grid_group_size(g, kind) > 1 &&
                g->high[kind] > block && g->high[kind] < ranks;
    return part;
}

/* Spans of an interval of place values, without those of one rank. */
static int32_t spans_of(const RhGrid *g, int32_t low, int32_t high, RhStride *out)
{
    int32_t n = 0, value = 1; /* place value of the digit */
    for (size_t i = 0; i < G_N_ELEMENTS(digits); i++) {
        int32_t extent = g->extent[digits[i]];
        int32_t from = MAX(low, value), to = MIN(high, value * extent);
        if (to > from)
            out[n++] = (RhStride){g->stride[digits[i]] * (from / value), to / from};
        value *= extent;
    }
    return n;
}
G_STATIC_ASSERT(G_N_ELEMENTS(digits) + 1 <= RH_STRIDES_MAX); /* and one over stages */

RhGroupKind rh_norm_group(const RhLayout *layout)
{
    return layout->zero >= 1 ? RH_GROUP_ALL : RH_GROUP_MODEL;
}

/* Adds groups of the first and the last stage, which repeat with the stages whatever lies between
 * the two. */
static int32_t add_ends(const RhGrid *g, RhProgram *p, const char *label)
{
    int32_t stages = g->extent[RH_DIM_PP], stride = g->stride[RH_DIM_PP];
    if (stages == 1)
        return -1;
    RhStride ends = {(stages - 1) * stride, 2};
    int32_t group = rh_program_add_group(p, label, &ends, 1);
    rh_program_space_group(p, group, 0, stages * stride);
    return group;
}

/* Adds the groups of each pair of stages that are equally far from either end. */
static int32_t add_pairs(const RhGrid *g, RhProgram *p, int kind)
{
    int32_t stages = g->extent[RH_DIM_PP], stride = g->stride[RH_DIM_PP], first = -1;
    for (int32_t s = 0; s < stages / 2; s++) {
        RhStride spans[RH_STRIDES_MAX];
        int32_t count = spans_of(g, g->low[kind], g->high[kind], spans);
        spans[count] = (RhStride){(stages - 1 - 2 * s) * stride, 2};
        int32_t group = rh_program_add_group(p, kinds[kind].label, spans, count + 1);
        rh_program_space_group(p, group, count, stages * stride);
        rh_program_shift_group(p, group, s * stride);
        first = s == 0 ? group : first;
    }
    return first;
}

static int nearer(const void *left, const void *right)
{
    return ((const RhStride *)left)->stride < ((const RhStride *)right)->stride ? -1 : 1;
}

/* Adds groups over all stages, with members in the order of their ranks, as a library numbers
 * them. */
static int32_t add_all_stages(const RhGrid *g, RhProgram *p, int kind)
{
    RhStride spans[RH_STRIDES_MAX];
    int32_t count = spans_of(g, g->low[kind], g->high[kind], spans);
    if (g->extent[RH_DIM_PP] > 1)
        spans[count++] = (RhStride){g->stride[RH_DIM_PP], g->extent[RH_DIM_PP]};
    qsort(spans, (size_t)count, sizeof *spans, nearer);
    return count ? rh_program_add_group(p, kinds[kind].label, spans, count) : -1;
}

void rh_grid_add_groups(const RhGrid *g, RhProgram *p, uint32_t joining,
                        int32_t groups[RH_GROUP_LAST])
{
    for (int kind = 0; kind < RH_GROUP_LAST; kind++) {
        RhStride spans[RH_STRIDES_MAX];
        int32_t count = spans_of(g, g->low[kind], g->high[kind], spans);
        if (!kinds[kind].joins)
            groups[kind] = count ? rh_program_add_group(p, kinds[kind].label, spans, count) : -1;
        else if ((joining >> kind & 1) == 0)
            groups[kind] = -1;
        else if (kinds[kind].pairs)
            groups[kind] = add_pairs(g, p, kind);
        else
            groups[kind] =
                kinds[kind].ends ? add_ends(g, p, kinds[kind].label) : add_all_stages(g, p, kind);
    }
}

void rh_grid_add_stage_groups(const RhGrid *g, RhProgram *p, int32_t stage,
                              int32_t groups[RH_GROUP_LAST])
{
    rh_grid_add_groups(g, p, 0, groups);
    for (int kind = 0; kind < RH_GROUP_LAST; kind++)
        if (groups[kind] >= 0) {
            rh_program_shift_group(p, groups[kind], rh_grid_rank(g, stage, 0));
            rh_program_lap_group(p, groups[kind], g->lap, g->stride[RH_DIM_PP]);
        }
}

int32_t rh_grid_add_join(const RhLayout *l, RhProgram *p, int32_t stage, const char *label)
{
    RhGrid g = rh_part_grid(l, stage), next = rh_part_grid(l, stage + 1);
    int32_t ranks = g.stride[RH_DIM_PP] + next.stride[RH_DIM_PP];
    RhStride span = {l->tp, ranks / l->tp};
    int32_t group = rh_program_add_group(p, label, &span, 1);
    rh_program_shift_group(p, group, rh_grid_rank(&g, stage, 0));
    rh_program_lap_group(p, group, g.lap, ranks);
    return group;
}

void rh_grid_add_block_groups(const RhGrid *g, RhProgram *p, int32_t groups[RH_GROUP_LAST])
{
    for (int kind = 0; kind < RH_GROUP_LAST; kind++) {
        RhStride span = {g->low[kind], g->high[kind] / g->low[kind]};
        bool inside = kinds[kind].of_layers && span.extent > 1;
        groups[kind] = inside ? rh_program_add_group(p, kinds[kind].label, &span, 1) : -1;
    }
}

void rh_grid_begin_stage(const RhGrid *g, RhProgram *p, int32_t stage)
{
    g_autofree char *name = g_strdup_printf("stage %d", stage);
    RhStride spans[RH_STRIDES_MAX];
    int32_t count = spans_of(g, 1, rh_grid_stage_ranks(g), spans);
    rh_program_begin_role(p, name, rh_grid_rank(g, stage, 0), spans, count);
}
