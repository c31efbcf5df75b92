#pragma once
/* Times of messages between two ranks, or between one and all others, as the OSU micro-benchmarks count them.
 *
 * Messages are of MPI: no kernel is launched. A message takes the latency of its route and bytes over the rate
 * of its slowest link; those of a window follow one another without a gap, as no platform says one. */
#include "sim/collective/collective.h"

typedef enum {
    RH_MESSAGES_NONE,          /* none: a collective is timed */
    RH_MESSAGES_LATENCY,       /* osu_latency: half of there and back */
    RH_MESSAGES_BANDWIDTH,     /* osu_bw: a window of messages one way, then an answer */
    RH_MESSAGES_BIDIRECTIONAL, /* osu_bibw: windows both ways at once */
    RH_MESSAGES_PUT, /* osu_put_latency: written into the other's memory, until it is known to be there */
    RH_MESSAGES_GET,     /* osu_get_latency: asked for, and read out of the other's memory */
    RH_MESSAGES_SCATTER, /* osu_scatter: rank 0 sends each its part; osu_gather is the way back */
    RH_MESSAGES_LAST
} RhMessageBenchmark;

/* Messages of a window (OSU micro-benchmarks 7.5: WINDOW_SIZE_LARGE). */
#define RH_MESSAGE_WINDOW 64

/* Returns seconds of a message of so many bytes, of a window its part; of a scatter those of the whole, `bytes`
 * being all parts together. All but a scatter look at the first and the last of `gpus` alone. */
double rh_message_benchmark_s(RhMessageBenchmark benchmark, int32_t ranks, const int32_t *gpus,
                              double bytes, const RhPlatform *platform);
