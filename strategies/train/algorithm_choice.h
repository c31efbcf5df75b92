#pragma once
/* Which algorithm a training job's collectives take: the library's choice by where a group's instances lie. */
#include "sim/collective/collective.h"
#include "strategies/problem.h"

/* Sites of the groups that were asked for, of one case: groups of the same members share theirs, whatever their
 * layout. */
typedef struct RhAlgorithmSites RhAlgorithmSites;

/* Borrows the case. */
RhAlgorithmSites *rh_algorithm_sites_new(const RhProblem *c);
void rh_algorithm_sites_free(RhAlgorithmSites *sites);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhAlgorithmSites, rh_algorithm_sites_free)

/* One algorithm for all instances of the program's group, on GPUs by their ranks' numbers, whose steps each of them can run: the library's choice for
 * the first one, unless another lies too unevenly for it; at the pace of the platform's line, where some lie inside a
 * node and others do not. `routing` of no experts: nothing is sent once. */
RhAlgo rh_train_algorithm(RhAlgorithmSites *sites, const RhProgram *p, int32_t group, RhOp op,
                          double bytes, const RhRouting *routing);
