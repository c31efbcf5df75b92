/* Reduce-scatter by recursive halving, then all-gather by recursive doubling (Rabenseifner 2004;
 * Thakur et al. 2005). Members beyond a power of two are folded in and out (doubling.c). */
#include "sim/collective/algorithm_interface.h"

/* Adds a step in which every working place of every team sends a block of its team's chunks to the
 * place `distance` away: its own block, or the one that that place keeps. */
static void add_exchange(RhScheduleBuilder *b, int32_t teams, int32_t distance, bool reduce)
{
    int32_t size = b->members / teams, power = rh_power_below(size);
    int32_t chunks = b->schedule->chunks_count / teams;
    rh_schedule_round(b, 1);
    for (int32_t w = 0; w < power; w++)
        for (int32_t j = 0; j < teams; j++) {
            int32_t partner = w ^ distance, block = (reduce ? partner : w) / distance * distance;
            rh_schedule_flow(b, rh_working_place(size, w) * teams + j,
                             rh_working_place(size, partner) * teams + j,
                             j * chunks + block * (chunks / power), distance * (chunks / power),
                             reduce);
        }
}

void rh_halve_and_double(RhScheduleBuilder *b, int32_t teams)
{
    int32_t power = rh_power_below(b->members / teams);
    rh_fold_places(b, teams, true);
    for (int32_t distance = power / 2; distance >= 1; distance /= 2)
        add_exchange(b, teams, distance, true);
    for (int32_t distance = 1; distance < power; distance *= 2)
        add_exchange(b, teams, distance, false);
    rh_fold_places(b, teams, false);
}

static void generate(RhScheduleBuilder *b, RhOp op)
{
    g_assert(op == RH_OP_ALL_REDUCE);
    rh_schedule_chunks(b, rh_power_below(b->members));
    rh_halve_and_double(b, 1);
}

static void cost(RhLoads *l, RhOp op, double bytes)
{
    int32_t n = l->at.members, power = rh_power_below(n), inside = rh_places_inside(l);
    g_assert(op == RH_OP_ALL_REDUCE);
    rh_loads_add_all(l, n > power ? 2 : 0, bytes);
    for (int32_t distance = 1; distance < power; distance *= 2) {
        rh_loads_add(l, 2, bytes / power * distance, bytes / power * distance,
                     distance < inside ? 0 : l->at.per_node);
        rh_loads_reach(l, distance);
    }
}

const RhAlgorithm rh_algorithm_rabenseifner = {
    .name = "rabenseifner",
    .ops = RH_BIT(ALL_REDUCE),
    .mpi = RH_BIT(ALL_REDUCE),
    .generate = generate,
    .cost = cost,
};
