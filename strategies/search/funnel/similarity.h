#pragma once
/* Layouts that resemble one another, and layouts that all but fit. Private to this folder. */
#include "strategies/search/funnel/layout_store.h"
#include "strategies/search/plan.h"

/* Two layouts are of one kind when nothing but rank order and the number of model chunks (with its
 * schedule) tells them apart. */
bool rh_layout_same_kind(const RhLayout *a, const RhLayout *b);

/* Are the layouts of one kind, ignoring which layers are recomputed? */
bool rh_layout_same_but_recomputed(const RhLayout *a, const RhLayout *b);

/* A layout is a near miss when it needs at most this much more than there is. */
#define RH_NEAR_FRAC 0.05

/* The up to three quickest (by their bound) near misses that would beat the best entry, one of each
 * tp, pp and dp, into plan->near_misses. */
void rh_near_misses(const RhProblem *c, RhBoundCache *cache, const RhLayoutStore *space,
                    double most_bytes, RhPlan *plan);
void rh_near_miss_free(void *miss);
