#pragma once
/* The grid of ranks: dimensions with extents and strides, and the groups made from them. No other
 * file knows in which order ranks are numbered.
 *
 * A stage's ranks have *places*: tensor parallelism innermost, then context, then data, whatever
 * their numbers. A group is an interval of place values, [low, high): ranks whose places differ
 * only in those digits. The groups of one division of a stage therefore nest: tp, cp and dp are
 * [1, tp), [tp, tp cp), [tp cp, tp cp dp); ulysses ends inside the second. Experts divide the same
 * ranks in another way: [1, etp), [etp, etp ep), [etp ep, tp cp dp). A group that joins stages has
 * one place of each: [1, 1).
 *
 * Stages may be of unequal widths (cpstages). A pipeline then has *parts*, runs of stages of one
 * width, and a part has a layout and a grid of its own: extents, strides, and the rank from which
 * it counts. What happens inside a stage asks its part's; what joins stages knows both. A replica's
 * ranks are consecutive, part behind part: so the ranks that meet where two parts join are a run of
 * them, and a group inside a stage repeats with the ranks of a replica (RhGroup.lap). */
#include "sim/program.h"
#include "strategies/layout.h"
#include "strategies/training_problem.h"

typedef enum { RH_DIM_TP, RH_DIM_CP, RH_DIM_DP, RH_DIM_PP, RH_DIM_LAST } RhDim;

/* Kinds of groups: the ranks that take part in a collective. */
typedef enum {
    RH_GROUP_TENSOR,       /* tp */
    RH_GROUP_HEADS,        /* ulysses: context ranks that divide the heads */
    RH_GROUP_CONTEXT,      /* cp / ulysses: ranks with different tokens of the same heads */
    RH_GROUP_TILES_ACROSS, /* context ranks whose tiles of a picture lie beside one another */
    RH_GROUP_TILES_DOWN,   /* below one another */
    RH_GROUP_DATA,         /* dp x cp: all ranks with the same parameters except experts */
    /* Subgroups of RH_GROUP_DATA if ZeRO does not shard over all of it: ranks that shard states,
     * ranks with the same shard, and ranks of the second shard of weights (hpZ). */
    RH_GROUP_SHARD,
    RH_GROUP_SAME_SHARE,
    RH_GROUP_SECOND_SHARD,
    /* Groups of spread experts: ranks that divide the same experts, ranks that hold all experts
     * together, and ranks with the same experts. */
    RH_GROUP_EXPERT_TENSOR,
    RH_GROUP_EXPERT,
    RH_GROUP_EXPERT_DATA,
    /* Subgroups of RH_GROUP_EXPERT_DATA, as for RH_GROUP_DATA above. */
    RH_GROUP_EXPERT_SHARD,
    RH_GROUP_SAME_EXPERT_SHARE,
    RH_GROUP_SECOND_EXPERT_SHARD,
    RH_GROUP_TWINS, /* two replicas that feed one pipeline from both its ends */
    /* Stages that hold the same parts of two copies of the model, one from either end: a group of
     * its own for each pair of stages. */
    RH_GROUP_MIRRORED,
    RH_GROUP_TIED,  /* first and last stage, which both hold the matrix of a tied model */
    RH_GROUP_MODEL, /* ranks of all stages that together hold one replica of the model */
    RH_GROUP_ALL,   /* every rank */
    RH_GROUP_LAST
} RhGroupKind;

/* Classes of parameters, by the group that holds the same ones and sums their gradients. */
typedef enum { RH_PARAMS_COMMON, RH_PARAMS_EXPERTS, RH_PARAMS_LAST } RhParamsClass;
typedef struct {
    double of[RH_PARAMS_LAST];
} RhParamCounts;

typedef struct {
    int32_t extent[RH_DIM_LAST], stride[RH_DIM_LAST];
    int32_t low[RH_GROUP_LAST], high[RH_GROUP_LAST]; /* intervals of place values */
    /* Where stages are of unequal widths: the ranks of a replica, and how many of them lie before
     * stage 0 if all stages were of this width; else 0. */
    int32_t lap, origin;
} RhGrid;

/* Returns the grid of a layout whose stages are alike. */
RhGrid rh_grid(const RhLayout *layout);
/* Returns the first stage of the next part after this one's; pp: there is none. */
int32_t rh_part_end(const RhLayout *layout, int32_t stage);
/* Returns the layout that the ranks of a stage have: the whole one's, layers dealt out as there, with
 * the stage's width and all stages alike. Returns the stage's grid. */
RhLayout rh_part_layout(const RhProblem *c, const RhLayout *layout, int32_t stage);
RhGrid rh_part_grid(const RhLayout *layout, int32_t stage);
/* Can the layout's step depend on the order of its ranks? It cannot if a replica's part of a stage
 * fills whole nodes that are all alike: then orders name the same nodes differently. */
bool rh_train_orders_differ(const RhProblem *c, const RhLayout *layout);
/* Do groups of this kind have ranks of several stages? A stage calls such groups only at the end of
 * its step, and all stages in the order of RhGroupKind, so that they do not wait in a cycle. */
bool rh_group_joins_stages(RhGroupKind kind);
/* Do groups of this kind have ranks of all stages, not only of the first and the last? */
bool rh_group_meets_all_stages(RhGroupKind kind);
/* Do groups of this kind join two stages, equally far from either end; and the number of a stage's
 * pair, the outermost's being 0? */
bool rh_group_pairs_stages(RhGroupKind kind);
int32_t rh_grid_pair(const RhGrid *grid, int32_t stage);
/* Return the number of ranks of one stage, and of a group of this kind. */
int32_t rh_grid_stage_ranks(const RhGrid *grid);
int32_t rh_grid_group_size(const RhGrid *grid, RhGroupKind kind);
/* Does every group of this kind have members in every block of a stage? If not, different blocks
 * may have different groups. */
bool rh_grid_group_meets_blocks(const RhGrid *grid, RhGroupKind kind);
/* May a group begin or end at this place value? */
bool rh_grid_divides(const RhLayout *layout, int32_t value);
/* Returns the rank at a place of a stage. */
int32_t rh_grid_rank(const RhGrid *grid, int32_t stage, int32_t place);
/* Returns the number of consecutive places, from any multiple of it on, that hold consecutive
 * ranks. */
int32_t rh_grid_row(const RhGrid *grid);
/* Returns the number of places of a block: ranks of a stage inside which a layer communicates. */
int32_t rh_grid_block(const RhGrid *grid);
/* Returns the difference of ranks between the same places of two successive blocks. */
int32_t rh_grid_block_stride(const RhGrid *grid);
/* Are a block's places consecutive ranks? */
bool rh_grid_block_is_solid(const RhGrid *grid);
/* Do all ranks of a block wait for one another in every layer? */
bool rh_grid_block_meets(const RhGrid *grid);
/* Does any collective inside a layer involve only part of the block? */
bool rh_grid_block_parts(const RhGrid *grid);
/* Does any collective before or after a layer involve only some of a stage's blocks? */
bool rh_grid_blocks_part(const RhGrid *grid);

/* Return the group that holds the same parameters of a class, and its size. */
RhGroupKind rh_params_group(RhParamsClass cls);
int32_t rh_params_replicas(const RhLayout *layout, RhParamsClass cls);
/* Returns the largest number of replicas that any class of parameters has. */
int32_t rh_params_replicas_most(const RhLayout *layout);
/* Does this group exchange gradients and parameters in a step? */
bool rh_params_exchanged(const RhProblem *c, const RhLayout *layout, RhParamsClass cls);
/* Return the subgroup over which ZeRO shards states, and its size. */
RhGroupKind rh_params_shard_group(const RhLayout *layout, RhParamsClass cls);
int32_t rh_params_shards(const RhLayout *layout, RhParamsClass cls);
/* Return the subgroup of the second shard of weights (hpZ), and its size: 0: hpZ not used, or no
 * closer than the primary shard; 1: full copy per rank. */
RhGroupKind rh_params_second_group(RhParamsClass cls);
int32_t rh_params_second_shards(const RhLayout *layout, RhParamsClass cls);
/* Returns the number of shards of the optimizer states. */
int32_t rh_params_optimizer_shards(const RhLayout *layout, RhParamsClass cls);
/* Are optimizer states sharded further among ranks with the same shard? */
bool rh_params_outer(const RhLayout *layout, RhParamsClass cls);
/* Returns the layout's degree of ZeRO, at most 1 if a class is sharded only between groups
 * (outer). */
int32_t rh_params_degree(const RhLayout *layout, RhParamsClass cls);
RhGroupKind rh_params_same_share_group(RhParamsClass cls);
/* Returns the degree of ZeRO that applies to a class; 0: its states are not sharded. */
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

/* Returns the group that sums the squares of gradients for their norm: all ranks if ZeRO shards
 * states, else one replica of the model. */
RhGroupKind rh_norm_group(const RhLayout *layout);

/* Adds every group of more than one member to the program; the others get index -1. `joining`:
 * kinds that join stages to add, bits of RhGroupKind. Of RH_GROUP_MIRRORED it is the outermost
 * pair's; those of the pairs inside follow. */
void rh_grid_add_groups(const RhGrid *grid, RhProgram *p, uint32_t joining,
                        int32_t groups[RH_GROUP_LAST]);
/* Adds the groups of one block to a program of its ranks, numbered by place; groups in which layers
 * do not communicate get index -1. */
void rh_grid_add_block_groups(const RhGrid *grid, RhProgram *p, int32_t groups[RH_GROUP_LAST]);
/* Adds the groups of a stage among stages of unequal widths. */
void rh_grid_add_stage_groups(const RhGrid *grid, RhProgram *p, int32_t stage,
                              int32_t groups[RH_GROUP_LAST]);
/* Adds the group of a replica's ranks of a stage and the next, in the order of their places. */
int32_t rh_grid_add_join(const RhLayout *layout, RhProgram *p, int32_t stage, const char *label);
/* Begins the role of a stage. */
void rh_grid_begin_stage(const RhGrid *grid, RhProgram *p, int32_t stage);
