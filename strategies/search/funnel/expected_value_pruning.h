#pragma once
/* Pruning by expected value: a layout that the results of a batch will probably beat need not be
 * in it, since bounds of the best layouts lie 1 % below their steps in the median
 * (docs/theory/search.md). It affects the size of batches, never the proof. Private to this
 * folder. */
#include <glib.h>
#include <stdbool.h>

#include "strategies/search/plan.h"

/* Expected ratio of a step to its segment bound; a wrong value costs only time. */
#define RH_FORESEEN_OVER_BOUND 1.01

typedef struct {
    RhLayout layout;
    double worth; /* what is not below this is beaten by the layout */
} RhExpectedValue;

/* Adds a layout to a GArray of RhExpectedValue, of whose kind the least worth counts; by itself
 * where `variants`. */
void rh_expect_value(GArray *foreseen, const RhLayout *layout, double worth, bool variants);
/* Returns the K-th least worth; INFINITY if there are fewer. */
double rh_expected_worth(const GArray *foreseen, int32_t k);
/* Returns the worth of the layout's kind; INFINITY if there is none. */
double rh_expected_kind_worth(const GArray *foreseen, const RhLayout *layout);
