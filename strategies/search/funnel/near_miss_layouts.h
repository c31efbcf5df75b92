#pragma once
/* Layouts that resemble one another, and layouts that all but fit. Private to this folder. */
#include "strategies/search/funnel/layout_store.h"
#include "strategies/search/plan.h"

/* Are two layouts of one kind, that is, do they differ in nothing but rank order and the number of
 * model chunks (with its schedule)? */
bool rh_layout_same_kind(const RhLayout *a, const RhLayout *b);

/* Are the layouts of one kind, ignoring which layers are recomputed? */
bool rh_layout_same_but_recomputed(const RhLayout *a, const RhLayout *b);

/* Share of the memory limit by which a near miss may exceed it. */
#define RH_NEAR_FRAC 0.05

/* Adds up to three near misses that would beat the best entry to plan->near_misses: the quickest by
 * their bounds, one of each tp, pp and dp. */
void rh_near_misses(const RhProblem *c, RhBoundCache *cache, const RhLayoutStore *space,
                    double most_bytes, RhPlan *plan);
void rh_near_miss_free(void *miss);
