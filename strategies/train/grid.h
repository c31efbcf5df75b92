#pragma once
/* The grid of ranks: dimensions with extents and strides, and the groups made from them. Nothing
 * else knows in which order ranks are numbered.
 *
 * A stage's ranks have *places*: tensor parallelism innermost, then context, then data, whatever
 * their numbers. A group is an interval of place values, [low, high): ranks whose places differ in
 * those digits alone. So the groups of one division of a stage nest: tp, cp and dp are [1, tp),
 * [tp, tp cp), [tp cp, tp cp dp); ulysses ends inside the second. Experts divide the same ranks another way: [1, etp),
 * [etp, etp ep), [etp ep, tp cp dp). A group that joins stages has one place of each: [1, 1). */
#include "sim/program.h"
#include "strategies/layout.h"
#include "strategies/problem.h"

typedef enum { RH_DIM_TP, RH_DIM_CP, RH_DIM_DP, RH_DIM_PP, RH_DIM_LAST } RhDim;

/* Who takes part in a collective. */
typedef enum {
    RH_GROUP_TENSOR,  /* tp */
    RH_GROUP_HEADS,   /* ulysses: context ranks that share out heads */
    RH_GROUP_CONTEXT, /* cp / ulysses: those that have other tokens of the same heads */
    RH_GROUP_DATA,    /* dp x cp: all that hold the same parameters, but for experts */
    /* Of these, where ZeRO's shares do not go over all: the ranks that share out states, those that
     * have the same share, and those over which weights are shared out a second time. */
    RH_GROUP_SHARD,
    RH_GROUP_SAME_SHARE,
    RH_GROUP_SECOND_SHARD,
    /* Where experts are spread: the ranks that have parts of the same ones, those that have them
     * all, and those that have the same. */
    RH_GROUP_EXPERT_TENSOR,
    RH_GROUP_EXPERT,
    RH_GROUP_EXPERT_DATA,
    RH_GROUP_EXPERT_SHARD,        /* of these the ones that share out states, and */
    RH_GROUP_SAME_EXPERT_SHARE,   /* those that have the same share */
    RH_GROUP_SECOND_EXPERT_SHARD, /* ... and those over which weights are shared out a second time */
    RH_GROUP_TWINS,               /* two replicas that feed one pipeline from both its ends */
    RH_GROUP_TIED,                /* first and last stage: both hold a tied model's matrix */
    RH_GROUP_MODEL, /* of all stages, the ranks that hold one replica of the model between them */
    RH_GROUP_ALL,   /* every rank */
    RH_GROUP_LAST
} RhGroupKind;

/* Parameters by who holds the same ones and sums their gradients. */
typedef enum { RH_PARAMS_COMMON, RH_PARAMS_EXPERTS, RH_PARAMS_LAST } RhParamsClass;
typedef struct {
    double of[RH_PARAMS_LAST];
} RhParamCounts;

typedef struct {
    int32_t extent[RH_DIM_LAST], stride[RH_DIM_LAST];
    int32_t low[RH_GROUP_LAST], high[RH_GROUP_LAST]; /* intervals of place values */
} RhGrid;

RhGrid rh_grid(const RhLayout *layout);
/* May the layout's step depend on the order of its ranks? It does not where a replica's part of a stage fills whole nodes
 * that are all alike: then orders name the same nodes differently. */
bool rh_train_orders_differ(const RhProblem *c, const RhLayout *layout);
/* Do ranks of several stages meet in groups of this kind? A stage calls such kinds at the end of its
 * step alone, and all stages in the order of RhGroupKind: so none waits for another in a ring. */
bool rh_group_joins_stages(RhGroupKind kind);
bool rh_group_meets_all_stages(RhGroupKind kind); /* not the first and the last one alone */
/* Ranks of one stage; and how many of them a group of this kind has. */
int32_t rh_grid_stage_ranks(const RhGrid *grid);
int32_t rh_grid_group_size(const RhGrid *grid, RhGroupKind kind);
/* Has every group of this kind members in every block of a stage? Else different blocks may have
 * different ones. */
bool rh_grid_group_meets_blocks(const RhGrid *grid, RhGroupKind kind);
/* May a group begin or end at this place value? */
bool rh_grid_divides(const RhLayout *layout, int32_t value);
/* The rank at a place of a stage. */
int32_t rh_grid_rank(const RhGrid *grid, int32_t stage, int32_t place);
/* Places that hold ranks in a row, from any that is a multiple of so many on. */
int32_t rh_grid_row(const RhGrid *grid);
/* A stage falls into blocks of so many places: what a layer's tasks communicate stays in one. */
int32_t rh_grid_block(const RhGrid *grid);
/* Between the same places of two blocks that follow one another; do a block's places lie side by
 * side? */
int32_t rh_grid_block_stride(const RhGrid *grid);
bool rh_grid_block_is_solid(const RhGrid *grid);
/* Do all ranks of a block wait for one another in every layer? */
bool rh_grid_block_meets(const RhGrid *grid);
/* Do some ranks of a block communicate in layers without the others? */
bool rh_grid_block_parts(const RhGrid *grid);
/* Do ranks of some blocks of a stage communicate behind or ahead of layers without those of the others? */
bool rh_grid_blocks_part(const RhGrid *grid);

/* Who holds the same parameters of a class, and how many they are. */
RhGroupKind rh_params_group(RhParamsClass cls);
int32_t rh_params_replicas(const RhLayout *layout, RhParamsClass cls);
/* Do they exchange gradients and parameters in a step? */
bool rh_params_exchanged(const RhProblem *c, const RhLayout *layout, RhParamsClass cls);
/* Of these the ones among whom ZeRO shares states out, how many they are, and who have the same share. */
RhGroupKind rh_params_shard_group(const RhLayout *layout, RhParamsClass cls);
int32_t rh_params_shards(const RhLayout *layout, RhParamsClass cls);
/* Those among whom weights are shared out a second time (hpz), and how many they are: 0, where the first shares are as near, or
 * there are no second ones; 1: each has its weights whole. */
RhGroupKind rh_params_second_group(RhParamsClass cls);
int32_t rh_params_second_shards(const RhLayout *layout, RhParamsClass cls);
/* Among how many the optimizer's are; whether who has the same share shares these out besides. */
int32_t rh_params_optimizer_shards(const RhLayout *layout, RhParamsClass cls);
bool rh_params_outer(const RhLayout *layout, RhParamsClass cls);
/* The layout's degree of ZeRO, or 1 for a class that is shared out over groups alone. */
int32_t rh_params_degree(const RhLayout *layout, RhParamsClass cls);
RhGroupKind rh_params_same_share_group(RhParamsClass cls);
/* The degree of ZeRO by which a class is shared out: 0 where those of a group all hold other parameters. */
int32_t rh_params_zero(const RhProblem *c, const RhLayout *layout, RhParamsClass cls);
static inline double rh_param_counts_sum(const RhParamCounts *held)
{
    return held->of[RH_PARAMS_COMMON] + held->of[RH_PARAMS_EXPERTS];
}
static inline void rh_param_counts_add(RhParamCounts *sum, const RhParamCounts *held)
{
    for (int cls = 0; cls < RH_PARAMS_LAST; cls++)
        sum->of[cls] += held->of[cls];
}

/* Whose gradients' squares make up the norm: those of all ranks where replicas share them out. */
RhGroupKind rh_norm_group(const RhLayout *layout);

/* Adds every group of more than one member to the program; -1 for the others. `joining`: which of
 * those that join stages are wanted, bits of RhGroupKind. */
void rh_grid_add_groups(const RhGrid *grid, RhProgram *p, uint32_t joining,
                        int32_t groups[RH_GROUP_LAST]);
/* The same for a program of one block alone, its ranks numbered by place: -1 for groups that layers
 * do not communicate in. */
void rh_grid_add_block_groups(const RhGrid *grid, RhProgram *p, int32_t groups[RH_GROUP_LAST]);
/* Begins the role of a stage. */
void rh_grid_begin_stage(const RhGrid *grid, RhProgram *p, int32_t stage);
