#include "sim/collective/collective_benchmark.h"

#include <math.h>

#include "base/units.h"
#include "platforms/fabric/nccl_protocol.h"

double rh_collective_bus_factor(RhOp op, int32_t ranks)
{
    double others_frac = (double)(ranks - 1) / ranks;
    return op == RH_OP_ALL_REDUCE ? 2 * others_frac
           : op == RH_OP_ALL_GATHER || op == RH_OP_REDUCE_SCATTER || op == RH_OP_ALL_TO_ALL
               ? others_frac
               : 1;
}

double rh_benchmark_bus_factor(const RhCollectiveBenchmark *benchmark)
{
    double others_frac = (double)(benchmark->ranks - 1) / benchmark->ranks;
    return benchmark->messages == RH_MESSAGES_BIDIRECTIONAL ? 2
           : benchmark->messages == RH_MESSAGES_SCATTER     ? others_frac
           : benchmark->op == RH_OP_BARRIER
               ? 0
               : rh_collective_bus_factor(benchmark->op, benchmark->ranks);
}

/* --- bounds --- */

/* Bytes that cross a part's border in one direction at least, for each byte of the buffer, when the
 * ranks lie in so many equal parts (nodes; or single ranks). */
static double crossing_frac(RhOp op, int32_t ranks, int32_t parts)
{
    double each = (double)ranks / parts;
    return op == RH_OP_BARRIER      ? 0
           : op == RH_OP_ALL_TO_ALL ? each * (ranks - each) / ranks
                                    : rh_collective_bus_factor(op, parts);
}

static bool in_switch(const RhCollectiveBenchmark *benchmark, const RhPlatform *p)
{
    return benchmark->op == RH_OP_ALL_REDUCE && benchmark->ranks / benchmark->nodes > 2 &&
           p->nvlink_protocols[RH_PROTOCOL_NVLS].efficiency_frac.value > 0;
}

/* Sums in the switch spare an all-reduce the way back: each rank sends its buffer, and gets the
 * sum. */
static double inside_frac(const RhCollectiveBenchmark *benchmark, int32_t ranks,
                          const RhPlatform *p)
{
    return in_switch(benchmark, p) ? 1 : crossing_frac(benchmark->op, ranks, ranks);
}

static double inside_s(const RhCollectiveBenchmark *benchmark, double bytes, const RhPlatform *p)
{
    int32_t each = benchmark->ranks / benchmark->nodes;
    return each > 1 ? bytes * inside_frac(benchmark, each, p) / p->nvlink_bytes_per_s.value : 0;
}

/* A shift crosses a node's border on one NIC. */
static int32_t border_nics(const RhCollectiveBenchmark *benchmark, const RhPlatform *p)
{
    int32_t each = benchmark->ranks / benchmark->nodes;
    return benchmark->op == RH_OP_SHIFT
               ? 1
               : MAX(MIN(p->nics_per_node, each * p->nics_per_node / p->gpus_per_node), 1);
}

/* Sums in the switches spare an all-reduce the way back between nodes, too. */
static double between_frac(const RhCollectiveBenchmark *benchmark, const RhPlatform *p)
{
    return benchmark->op == RH_OP_ALL_REDUCE && rh_protocol_of(p, RH_PROTOCOL_SHARP, true)
               ? 1
               : crossing_frac(benchmark->op, benchmark->ranks, benchmark->nodes);
}

static double between_s(const RhCollectiveBenchmark *benchmark, double bytes, const RhPlatform *p)
{
    if (benchmark->nodes < 2)
        return 0;
    return bytes * between_frac(benchmark, p) /
           (border_nics(benchmark, p) * p->nic_bytes_per_s.value);
}

char *rh_collective_bound_text(const RhCollectiveBenchmark *benchmark, const RhPlatform *p)
{
    bool between = between_s(benchmark, 1, p) > inside_s(benchmark, 1, p);
    int32_t nics = border_nics(benchmark, p);
    double rate = between ? nics * p->nic_bytes_per_s.value : p->nvlink_bytes_per_s.value;
    g_autofree char *text = rh_quantity_format(rate, RH_QUANTITY_BYTES_PER_S, 3);
    return between && benchmark->messages != RH_MESSAGES_NONE ? g_strdup_printf("a NIC, %s", text)
           : between
               ? g_strdup_printf("%d NIC%s of a node, %s together; bus bandwidth counts what stays "
                                 "inside a node, too",
                                 nics, nics > 1 ? "s" : "", text)
               : g_strdup_printf("the links of a GPU inside a node, %s each way%s", text,
                                 in_switch(benchmark, p) ? ", sums in the switch" : "");
}

/* --- times --- */

/* Ranks up to which every flow of a collective is looked at; with more its closed form is taken,
 * as an all-to-all among 8,192 took 16 s. */
#define RANKS_WALKED 2048

static double estimate_s(RhOp op, RhAlgo algo, int32_t ranks, const int32_t *node_of, double bytes,
                         const RhPlatform *platform)
{
    return rh_collective_launch_s(op, algo, ranks, node_of, platform) +
           rh_collective_estimate_s(op, algo, ranks, node_of, bytes, platform);
}

/* Bytes of a message, or of a scatter what leaves the first rank, at the data sheet's rate. */
static double messages_bound_s(const RhCollectiveBenchmark *benchmark, double bytes,
                               const RhPlatform *p)
{
    int32_t ranks = benchmark->ranks, each = ranks / benchmark->nodes;
    bool scatters = benchmark->messages == RH_MESSAGES_SCATTER;
    double inside = scatters ? (double)(each - 1) / ranks : benchmark->nodes < 2 ? 1 : 0;
    double between = scatters ? (double)(ranks - each) / ranks : benchmark->nodes < 2 ? 0 : 1;
    return bytes * fmax(inside / p->nvlink_bytes_per_s.value, between / p->nic_bytes_per_s.value);
}

/* Adds what calls take beside the library: one of a collective or of half a round trip. The calls of a
 * window run while the messages before them are on their way. */
static double with_call_s(const RhCollectiveBenchmark *benchmark, double seconds)
{
    bool window = benchmark->messages == RH_MESSAGES_BANDWIDTH ||
                  benchmark->messages == RH_MESSAGES_BIDIRECTIONAL;
    return window ? fmax(seconds, benchmark->call_s) : seconds + benchmark->call_s;
}

RhCollectivePoint rh_collective_point(const RhCollectiveBenchmark *benchmark, double bytes,
                                      const RhPlatform *platform)
{
    int32_t each = benchmark->ranks / benchmark->nodes;
    g_autofree int32_t *gpus = g_new(int32_t, benchmark->ranks);
    g_autofree int32_t *node_of = g_new(int32_t, benchmark->ranks);
    for (int32_t i = 0; i < benchmark->ranks; i++) {
        node_of[i] = i / each;
        gpus[i] = node_of[i] * platform->gpus_per_node + i % each;
    }
    RhCollectivePoint point = {.bytes = bytes};
    if (benchmark->messages != RH_MESSAGES_NONE) {
        point.algo = RH_ALGO_DIRECT;
        point.why = g_strdup("direct: messages are not parted");
        point.seconds =
            with_call_s(benchmark, rh_message_benchmark_s(benchmark->messages, benchmark->ranks,
                                                          gpus, bytes, platform));
        point.bound_s = messages_bound_s(benchmark, bytes, platform);
        point.overlap = (RhComputeOverlap){point.seconds, point.seconds, 1}; /* NICs move them */
        return point;
    }
    point.algo =
        rh_collective_choose(benchmark->op, benchmark->ranks, node_of, bytes, platform, &point.why);
    point.seconds =
        benchmark->ranks > RANKS_WALKED
            ? estimate_s(benchmark->op, point.algo, benchmark->ranks, node_of, bytes, platform)
            : rh_collective_alone_s(benchmark->op, point.algo, benchmark->ranks, gpus, bytes,
                                    platform);
    point.seconds = with_call_s(benchmark, point.seconds);
    point.bound_s =
        fmax(inside_s(benchmark, bytes, platform), between_s(benchmark, bytes, platform));
    RhCollectiveSpec call = {.op = benchmark->op, .algo = point.algo, .bytes = bytes};
    if (benchmark->non_blocking)
        point.overlap =
            rh_collective_overlap(&call, benchmark->ranks, gpus, benchmark->tests, platform);
    return point;
}

void rh_collective_point_clear(RhCollectivePoint *point)
{
    g_free(point->why);
    point->why = NULL;
}
