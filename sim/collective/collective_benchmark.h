#pragma once
/* Time of a collective by its size, as a benchmark of the library would report it: the algorithm
 * that the library chooses for each size, its time on otherwise idle links, and a bound.
 *
 *     RhCollectiveBenchmark benchmark = {RH_OP_ALL_REDUCE, 64, 8};      64 ranks on 8 nodes, side by side
 *     RhCollectivePoint point = rh_collective_point(&benchmark, 1e9, platform); */
#include "sim/collective/osu_message_times.h"
#include "sim/collective/overlap_benchmark.h"

/* A collective and its callers: ranks fill the first nodes of the platform, equally many on each. */
typedef struct {
    RhOp op;
    int32_t ranks, nodes;
    RhMessageBenchmark messages; /* in place of a collective; `op` is a shift then */
    bool non_blocking;           /* also beside computing: RhCollectivePoint.overlap */
    int32_t tests;               /* calls of MPI_Test while computing */
    double call_s; /* of every call beside the library, as a binding of another language takes */
} RhCollectiveBenchmark;

typedef struct {
    double bytes; /* as RhTask.bytes */
    RhAlgo algo;
    double seconds; /* launch included */
    double
        bound_s; /* what the links take at their data-sheet rates, without latency; 0: one rank */
    char *why;   /* of the algorithm; owned */
    RhComputeOverlap overlap; /* of a non-blocking call */
} RhCollectivePoint;

/* Returns bus bandwidth over algorithm bandwidth as nccl-tests count them (NVIDIA/nccl-tests,
 * doc/PERFORMANCE.md): the bytes on a rank's link for each byte of the buffer. */
double rh_collective_bus_factor(RhOp op, int32_t ranks);
/* Returns that of what a benchmark times: both directions of messages that go both ways. */
double rh_benchmark_bus_factor(const RhCollectiveBenchmark *benchmark);
/* Returns the time of one size. The caller clears it. */
RhCollectivePoint rh_collective_point(const RhCollectiveBenchmark *benchmark, double bytes,
                                      const RhPlatform *platform);
void rh_collective_point_clear(RhCollectivePoint *point);
/* Returns the rate at which a link, or a node's NICs together, bound the call: "8 NICs of a node,
 * 400 GB/s". Caller frees. */
char *rh_collective_bound_text(const RhCollectiveBenchmark *benchmark, const RhPlatform *platform);
