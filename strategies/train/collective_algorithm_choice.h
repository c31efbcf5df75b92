#pragma once
/* Choice of algorithm for a training job's collectives, as the library makes it from the placement
 * of a group's instances. */
#include "sim/collective/collective.h"
#include "strategies/training_problem.h"

/* Cache of the sites of groups of one problem; groups with the same members share a site across
 * layouts. */
typedef struct RhAlgorithmSites RhAlgorithmSites;

/* Returns an empty cache, which borrows the problem. */
RhAlgorithmSites *rh_algorithm_sites_new(const RhProblem *c);
void rh_algorithm_sites_free(RhAlgorithmSites *sites);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhAlgorithmSites, rh_algorithm_sites_free)

/* Returns the algorithm for all instances of the program's group, with ranks on the GPUs of their
 * numbers: the library's choice for the first instance or, if another instance cannot run it, for
 * that one. If some instances lie inside a node and others do not, it is the plain variant
 * (rh_collective_plain). `routing` without experts: tokens are not sent only once. */
RhAlgo rh_train_algorithm(RhAlgorithmSites *sites, const RhProgram *p, int32_t group, RhOp op,
                          double bytes, const RhRouting *routing);
