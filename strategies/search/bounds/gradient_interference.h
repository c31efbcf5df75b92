#pragma once
/* Gradients beside collectives of blocks that straddle nodes (gradient_interference.c), for the segment graph. */
#include "strategies/search/bounds/bound_cache.h"

/* Kernels, then a collective that those behind wait for. */
typedef struct {
    double kernels_s, meets_s; /* alone; its bytes on the link */
} RhGradientInterval;

/* Flows of one call, one after another. Beside all that may come, and once the stage's forwards are over, their
 * messages too. */
typedef struct {
    double moving_s, part[2];
    int32_t repeat;
} RhGradientFlow;

typedef struct {
    int32_t group, op;
    double bytes;
    GArray *flows; /* RhGradientFlow; owned */
} RhGradientCall;

/* Of a stage: calls of its stage program's slots, once each; of every layer's pass the path to its last kernel, and to its
 * output. */
typedef struct {
    GArray *calls;                                       /* RhGradientCall */
    GArray *paths[RH_LAYER_OP_KINDS][RH_SLOT_PASSES][2]; /* RhGradientInterval; NULL: never runs */
} RhGradientStage;

/* Stages of the net, then of each of its others. */
typedef struct {
    bool replicas_meet; /* each call is one of all replicas of its stage */
    int32_t stages_count;
    RhGradientStage *stages[]; /* NULL: nothing is claimed; owned */
} RhGradientInterference;

/* A call of the gradients' lane in a stage's slots: when its compute lane came to it, when all was ready that the
 * call waits for, and how long it takes. */
typedef struct {
    double compute_s, ready_s, seconds;
} RhGradientCalled;

static inline bool rh_is_gradient_reduction(const RhInstr *step)
{
    return step->kind == RH_INSTR_COMMUNICATE && step->lane == RH_LANE_DP;
}

/* The bound cache's; NULL where nothing is claimed. */
const RhGradientInterference *rh_bound_gradient_interference(RhBoundCache *cache,
                                                             const RhLayout *layout);
void rh_gradient_interference_free(void *sums); /* may be NULL */
/* When the stage has run all its slots and summed all gradients, at the earliest; 0 of NULL. `called`: RhGradientCalled,
 * all of them in their order. */
double rh_gradient_stage_s(const RhGradientStage *stage, const RhBoundCache *cache,
                           const RhCommSteps *flows, const RhSlot *slots, int64_t total,
                           const GArray *called);
