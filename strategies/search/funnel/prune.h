#pragma once
/* What a batch is expected to bring. A layout that its results will beat need not be in it: bounds of the
 * best layouts lie 1 % below their steps in the median (docs/theory/search.md). Only the size of batches hangs on
 * it, never what is proved. Private to this folder. */
#include <glib.h>
#include <stdbool.h>

#include "strategies/search/plan.h"

/* What a step is taken to be over its segment bound; wrong either way it costs time and nothing else. */
#define RH_FORESEEN_OVER_BOUND 1.01

typedef struct {
    RhLayout layout;
    double worth; /* what is not below this is beaten by the layout */
} RhExpectedValue;

/* Adds a layout to a GArray of RhExpectedValue, of whose kind the least worth counts; by itself where
 * `variants`. */
void rh_expect_value(GArray *foreseen, const RhLayout *layout, double worth, bool variants);
/* The K-th least worth; INFINITY while there are fewer. */
double rh_expected_worth(const GArray *foreseen, int32_t k);
/* The worth of the layout's kind; INFINITY where there is none. */
double rh_expected_kind_worth(const GArray *foreseen, const RhLayout *layout);
