#pragma once
/* The least of a function of a few numbers, all above 0, by coordinate descent: that one is made larger or smaller by
 * a factor which helps most, while any does; factors shrink; then by a simplex of their
 * logarithms, for knobs that make up for one another. Deterministic; knows nothing of what it fits. */
#include <stdint.h>

typedef struct {
    const char *name; /* static */
    double value;     /* where to begin, and what came of it; above 0 */
    double low, high; /* bounds, both above 0 */
} RhDescentKnob;

/* Finite; lower is better. Reads the knobs' values. */
typedef double (*RhDescentLoss)(const RhDescentKnob *knobs, void *user);

/* The loss that was reached. At most so many moves with each factor, ten times as many of the simplex. */
double rh_descend(RhDescentKnob *knobs, int32_t count, int32_t moves, RhDescentLoss loss,
                  void *user);
