/* The table of algorithms. */
#include "sim/collective/algorithm_interface.h"

#define ROW(number, row) [RH_ALGO_##number] = &rh_algorithm_##row,
static const RhAlgorithm *const rows[RH_ALGO_LAST] = {RH_ALGORITHMS(ROW)};
#undef ROW

const RhAlgorithm *rh_algorithm(RhAlgo algo)
{
    return algo > RH_ALGO_NONE && algo < RH_ALGO_LAST ? rows[algo] : NULL;
}

const char *rh_algo_name(RhAlgo algo)
{
    return rh_algorithm(algo) ? rows[algo]->name : "none";
}

bool rh_collective_supports(RhOp op, RhAlgo algo)
{
    return op > RH_OP_NONE && op < RH_OP_LAST && rh_algorithm(algo) &&
           (rows[algo]->ops & (1U << op)) != 0;
}

bool rh_collective_is_pipelined(RhOp op, RhAlgo algo)
{
    return (rh_algorithm(algo)->pipelined & 1U << op) != 0;
}

bool rh_collective_is_to_neighbours(RhOp op, RhAlgo algo)
{
    return rh_algorithm(algo) && (rows[algo]->neighbours & (1U << op)) != 0;
}
