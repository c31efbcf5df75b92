#pragma once
/* Costs of a study's questions: an estimate of the work of each, corrected by what was measured.
 *
 * Before anything is measured there is the estimate alone, of which the order counts. Measured seconds
 * are fitted to a power of the estimate times factors, one for each value of each axis, so what a
 * closed form leaves out is learnt: what the machine is, and how much a search prunes. A value that
 * was never asked has the factor 1, and so keeps what the estimate says of it. Who makes the estimate
 * knows the commands; this does not. */
#include "sweep/study.h"

#define RH_ITEM_ESTIMATES_MAX 1000 /* questions; of more, the others are told by their values */

/* Returns the work of a question in any unit, all alike; 0: not known. */
typedef double (*RhItemWork)(const RhStudyItem *item, void *user);

typedef struct RhItemCosts RhItemCosts;
/* `work` may be NULL: all questions are taken to be alike until they are measured. */
RhItemCosts *rh_item_costs_new(const RhStudy *study, RhItemWork work, void *user);
void rh_item_costs_free(RhItemCosts *costs);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhItemCosts, rh_item_costs_free)
/* Adds what an item took. */
void rh_item_costs_add(RhItemCosts *costs, int32_t item, double seconds);
int32_t rh_item_costs_count(const RhItemCosts *costs);
/* Fits the factors to all that was added. */
void rh_item_costs_fit(RhItemCosts *costs);
/* Returns what an item will take in seconds, as of the last fit; before, its estimated work. */
double rh_item_costs_seconds(const RhItemCosts *costs, int32_t item);
/* Returns the standard deviation of measured over fitted seconds; 0 before a fit. */
double rh_item_costs_spread(const RhItemCosts *costs);
