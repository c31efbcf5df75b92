#pragma once
/* Gradients beside collectives of blocks that straddle nodes (screen_sums.c), for the segment graph. */
#include "strategies/search/screen.h"

/* Kernels, then a collective that those behind wait for. */
typedef struct {
    double kernels_s, meets_s; /* alone; its bytes on the link */
} RhStretch;

/* Flows of one call, one after another. Beside all that may come, and once the stage's forwards are over, their
 * messages too. */
typedef struct {
    double moving_s, part[2];
    int32_t repeat;
} RhSumFlow;

typedef struct {
    int32_t group, op;
    double bytes;
    GArray *flows; /* RhSumFlow; owned */
} RhSumCall;

/* Of a stage: calls of its script's slots, once each; of every item's pass the path to its last kernel, and to its
 * output. */
typedef struct {
    GArray *calls;                                   /* RhSumCall */
    GArray *paths[RH_ITEM_KINDS][RH_SLOT_PASSES][2]; /* RhStretch; NULL: never runs */
} RhSumsStage;

/* Stages of the net, then of each of its others. */
typedef struct {
    bool replicas_meet; /* each call is one of all replicas of its stage */
    int32_t stages_count;
    RhSumsStage *stages[]; /* NULL: nothing is claimed; owned */
} RhSums;

/* A call of the gradients' lane in a stage's slots: when its compute lane came to it, when all was ready that the
 * call waits for, and how long it takes. */
typedef struct {
    double compute_s, ready_s, seconds;
} RhSumCalled;

static inline bool rh_is_sum(const RhStep *step)
{
    return step->kind == RH_STEP_COMMUNICATE && step->lane == RH_LANE_DP;
}

/* The screen's; NULL where nothing is claimed. */
const RhSums *rh_screen_sums(RhScreen *screen, const RhLayout *layout);
void rh_sums_free(void *sums); /* may be NULL */
/* When the stage has run all its slots and summed all gradients, at the earliest; 0 of NULL. `called`: RhSumCalled,
 * all of them in their order. */
double rh_sums_stage_s(const RhSumsStage *stage, const RhScreen *screen, const RhFlows *flows,
                       const RhSlot *slots, int64_t total, const GArray *called);
