/* Parts that transports share: collectives of weights on idle links. */
#include "sim/collective/collective.h"
#include "strategies/rl/transports/transports.h"

/* Seconds among these GPUs, by the algorithm that a library would choose, on idle links. */
static double collective_s(const RhWeightRoute *route, RhOp op, int32_t members,
                           const int32_t *gpus)
{
    g_autofree int32_t *nodes = g_new(int32_t, members);
    for (int32_t i = 0; i < members; i++)
        nodes[i] = rh_platform_node_of(route->platform, gpus[i]);
    RhAlgo algo = rh_collective_choose(op, members, nodes, route->bytes, route->platform, NULL);
    return rh_collective_alone_s(op, algo, members, gpus, route->bytes, route->platform);
}

double rh_weight_gather_s(const RhWeightRoute *route)
{
    int32_t members = route->shards;
    g_autofree int32_t *gpus = g_new(int32_t, members);
    for (int32_t i = 0; i < members; i++)
        gpus[i] = i;
    return members > 1 ? collective_s(route, RH_OP_ALL_GATHER, members, gpus) : 0;
}

double rh_weight_broadcast_s(const RhWeightRoute *route)
{
    int32_t members = 1 + route->server_gpus;
    g_autofree int32_t *gpus = g_new(int32_t, members);
    gpus[0] = 0;
    for (int32_t i = 1; i < members; i++)
        gpus[i] = route->server_first + i - 1;
    return collective_s(route, RH_OP_BROADCAST, members, gpus);
}
