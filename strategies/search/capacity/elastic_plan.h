#pragma once
/* Layouts of a job that has lost nodes: planned beforehand for the sizes at which it may go on, with the batch that
 * it has. A size that no layout divides leaves nodes idle: the next smaller one that has a layout stands for it. */
#include "strategies/search/plan.h"

typedef struct {
    int32_t nodes; /* that the layout uses */
    double step_s;
    RhLayout layout;
} RhElasticSize;

/* Plans for 1, 2, 4 ... nodes fewer than the job has, to at least `missing` and never below half of it: RhElasticSize,
 * larger ones first, none twice. Sizes of which nothing fits, or that `options->timeout_s` leaves no time for, are
 * left out. Caller frees with g_array_unref. */
GArray *rh_elastic_plan(const RhProblem *c, int32_t missing, const RhPlanOptions *options);
