#pragma once
/* The trees of a forest (platforms/devices/decision_forest.h) from what is left over of measured times.
 *
 * Gradient boosting (Friedman 2001): each tree is fitted to what those before it leave over, and three
 * tenths of what it says are taken; the leaf whose split gains most is split next, until there are `leaves`. A point
 * weighs 1 / |what is left of it|, as in the fit of surfaces, so that outliers do not pull. */
#include "platforms/devices/decision_forest.h"

typedef struct {
    const float *x; /* [count][features] */
    const double *value;
    size_t count;
    int features;
    int trees, leaves; /* at most; a tree that has nothing to split is the last */
} RhForestPoints;

/* Fits a forest, without trees if there are no points. Caller frees. */
RhForest *rh_fit_forest(const RhForestPoints *points);
