#include "sim/collective/osu_message_times.h"

#include <math.h>

/* Bytes of a message that says that something has come, or asks for it. */
#define ANSWER_BYTES 8.0

/* Time of one message between two GPUs, by the protocol that the library chooses for its size. */
static RhScheduleTime one_way(const int32_t pair[2], double bytes, const RhPlatform *p)
{
    int32_t node_of[2] = {pair[0] / p->gpus_per_node, pair[1] / p->gpus_per_node};
    RhAlgo algo = rh_collective_choose(RH_OP_SHIFT, 2, node_of, bytes, p, NULL);
    return rh_collective_alone(RH_OP_SHIFT, algo, 2, pair, bytes, p);
}

static double one_way_s(const int32_t pair[2], double bytes, const RhPlatform *p)
{
    RhScheduleTime time = one_way(pair, bytes, p);
    return time.fixed_s + time.moving_s;
}

/* Messages from rank 0 to all others share its links: the longest latency, and the parts one after the other on
 * the slower of the link inside the node and the NIC. */
static double scatter_s(int32_t ranks, const int32_t *gpus, double bytes, const RhPlatform *p)
{
    double part = bytes / ranks, latest_s = 0, moving_s[2] = {0};
    for (int32_t i = 1; i < ranks; i++) {
        RhScheduleTime time = one_way((int32_t[2]){gpus[0], gpus[i]}, part, p);
        bool between = gpus[0] / p->gpus_per_node != gpus[i] / p->gpus_per_node;
        latest_s = fmax(latest_s, time.fixed_s);
        moving_s[between] += time.moving_s;
    }
    return latest_s + fmax(moving_s[0], moving_s[1]);
}

double rh_message_benchmark_s(RhMessageBenchmark benchmark, int32_t ranks, const int32_t *gpus,
                              double bytes, const RhPlatform *platform)
{
    RhPlatform p = *platform; /* a fact alone is changed */
    p.collective_launch_s.value = 0;
    int32_t pair[2] = {gpus[0], gpus[ranks - 1]};
    RhScheduleTime time = one_way(pair, bytes, &p);
    double answer_s = one_way_s(pair, ANSWER_BYTES, &p);
    switch (benchmark) {
    case RH_MESSAGES_LATENCY:
        return time.fixed_s + time.moving_s;
    case RH_MESSAGES_PUT:
    case RH_MESSAGES_GET:
        return time.fixed_s + time.moving_s + answer_s;
    case RH_MESSAGES_BANDWIDTH:
    case RH_MESSAGES_BIDIRECTIONAL: /* links are full duplex */
        return time.moving_s + (time.fixed_s + answer_s) / RH_MESSAGE_WINDOW;
    case RH_MESSAGES_SCATTER:
        return scatter_s(ranks, gpus, bytes, &p);
    case RH_MESSAGES_NONE:
    case RH_MESSAGES_LAST:
        break;
    }
    g_return_val_if_reached(0);
}
