#pragma once
/* Costs of a study's questions, told from those that were asked: seconds are a product of factors,
 * one for each value of each axis, fitted to the logarithms of what was measured.
 *
 * That knows no command, and learns what a closed form of the work would leave out: what the machine
 * is, and how much a search prunes. A value that was never asked has the factor 1. */
#include "sweep/study.h"

typedef struct RhItemCosts RhItemCosts;
RhItemCosts *rh_item_costs_new(const RhStudy *study);
void rh_item_costs_free(RhItemCosts *costs);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhItemCosts, rh_item_costs_free)
/* Adds what an item took. */
void rh_item_costs_add(RhItemCosts *costs, int32_t item, double seconds);
int32_t rh_item_costs_count(const RhItemCosts *costs);
/* Fits the factors to all that was added. */
void rh_item_costs_fit(RhItemCosts *costs);
/* Returns what an item will take in seconds, as of the last fit; 0 before. */
double rh_item_costs_seconds(const RhItemCosts *costs, int32_t item);
/* Returns the standard deviation of measured over fitted seconds. */
double rh_item_costs_spread(const RhItemCosts *costs);
