#pragma once
/* Gradient reductions that share links with collectives of blocks that straddle nodes, for the
 * segment graph. */
#include "strategies/search/bounds/bound_cache.h"

/* Kernels followed by a collective that later kernels wait for. */
typedef struct {
    double kernels_s; /* without contention */
    double meets_s;   /* bytes of the collective on the link */
} RhGradientInterval;

/* Successive flows of one call, with their minimum share of the link: beside all other traffic, and
 * beside what remains once the stage's forwards and their messages are over. */
typedef struct {
    double moving_s, part[2];
    int32_t repeat;
} RhGradientFlow;

typedef struct {
    int32_t group, op;
    double bytes;
    GArray *flows; /* RhGradientFlow; owned */
} RhGradientCall;

/* Gradient reductions of a stage: distinct calls in the slots of its stage program; and for each
 * pass of a layer the path to its last kernel and the path to its output. */
typedef struct {
    GArray *calls;                                       /* RhGradientCall */
    GArray *paths[RH_LAYER_OP_KINDS][RH_SLOT_PASSES][2]; /* RhGradientInterval; NULL: never runs */
} RhGradientStage;

/* Gradient reductions of all stages of the network, followed by those of each of its others. */
typedef struct {
    bool replicas_meet; /* every call includes all replicas of its stage */
    int32_t stages_count;
    RhGradientStage *stages[]; /* NULL: no bound; owned */
} RhGradientInterference;

/* A call of the gradient lane in a stage's slots: the time at which the compute lane reached it,
 * the time at which its input was ready, and its duration. */
typedef struct {
    double compute_s, ready_s, seconds;
} RhGradientCalled;

static inline bool rh_is_gradient_reduction(const RhInstr *step)
{
    return step->kind == RH_INSTR_COMMUNICATE && step->lane == RH_LANE_DP;
}

/* Returns the gradient reductions of a layout, owned by the bound cache; NULL: no bound. */
const RhGradientInterference *rh_bound_gradient_interference(RhBoundCache *cache,
                                                             const RhLayout *layout);
void rh_gradient_interference_free(void *sums); /* may be NULL */
/* Returns the earliest time at which the stage has run all its slots and reduced all gradients; 0
 * if `stage` is NULL. `called`: all RhGradientCalled in order. */
double rh_gradient_stage_s(const RhGradientStage *stage, const RhBoundCache *cache,
                           const RhCommSteps *flows, const RhSlot *slots, int64_t total,
                           const GArray *called);
