/* Parts that transports share: collectives of weights on idle links. */
#include <math.h>

#include "sim/collective/collective.h"
#include "strategies/rl/transports/transports.h"

#define CHUNK_BYTES  524288.0     /* NCCL's default buffer of 4 MiB per channel in its 8 slots */
#define BUCKET_BYTES 4294967296.0 /* 3 to 8 GiB in checkpoint-engine's README: 4 GiB */

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

/* Seconds of an all-gather of all bytes among so many GPUs from `first` on. */
static double all_gather_s(const RhWeightRoute *route, int32_t first, int32_t members)
{
    g_autofree int32_t *gpus = g_new(int32_t, members);
    for (int32_t i = 0; i < members; i++)
        gpus[i] = first + i;
    return members > 1 ? collective_s(route, RH_OP_ALL_GATHER, members, gpus) : 0;
}

double rh_weight_gather_s(const RhWeightRoute *route)
{
    return all_gather_s(route, 0, route->shards);
}

double rh_weight_spread_s(const RhWeightRoute *route)
{
    return all_gather_s(route, route->server_first, route->server_gpus);
}

/* Seconds of a message between two GPUs. */
static double hop_s(const RhWeightRoute *route, int32_t src, int32_t dst, double bytes)
{
    const int32_t pair[] = {src, dst};
    return rh_collective_alone_s(RH_OP_BROADCAST, RH_ALGO_RING, 2, pair, bytes, route->platform);
}

/* NCCL's broadcast is a chain in chunks: all bytes over its slowest hop, which leaves a node if any
 * does, and a chunk over each of the others. (A schedule of few chunks, as collectives have them,
 * would fill a chain of many GPUs for longer than the bytes take.) */
double rh_weight_broadcast_s(const RhWeightRoute *route, double bytes)
{
    const RhPlatform *p = route->platform;
    int32_t end = route->server_first + route->server_gpus, last = 0;
    double slowest_s = 0, fill_s = 0;
    for (int32_t gpu = route->server_first; gpu < end; last = gpu++) {
        bool leaves = rh_platform_node_of(p, last) != rh_platform_node_of(p, gpu);
        if (leaves || slowest_s <= 0)
            slowest_s = fmax(slowest_s, hop_s(route, last, gpu, bytes));
        fill_s += hop_s(route, last, gpu, CHUNK_BYTES);
    }
    return slowest_s + fill_s;
}

double rh_weight_pipeline_s(const RhWeightRoute *route, const double *stages_s, int32_t count)
{
    double slowest_s = 0, sum_s = 0, first_frac = fmin(BUCKET_BYTES / route->bytes, 1);
    for (int32_t i = 0; i < count; i++) {
        slowest_s = fmax(slowest_s, stages_s[i]);
        sum_s += stages_s[i];
    }
    return slowest_s + first_frac * (sum_s - slowest_s);
}

double rh_weight_host_copy_s(const RhPlatform *p, double bytes)
{
    double sharers = fmax(p->host_gpus_per_link.value, 1);
    return p->host_bytes_per_s.value > 0 ? bytes * sharers / p->host_bytes_per_s.value : 0;
}
