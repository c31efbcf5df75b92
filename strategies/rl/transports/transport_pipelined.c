/* Gather, hand-over and broadcast in buckets, one bucket on its way while the next is gathered, as
 * verl's checkpoint engine over NCCL does. */
#include "strategies/rl/transports/transports.h"

#define HANDLED_BYTES_PER_S 16.6e9

static RhWeightTimes times(const RhWeightRoute *route)
{
    RhWeightTimes t = {.gather_s = rh_weight_gather_s(route),
                       .handle_s = route->bytes / HANDLED_BYTES_PER_S,
                       .send_s = rh_weight_broadcast_s(route, route->bytes)};
    const double stages_s[] = {t.gather_s, t.handle_s, t.send_s};
    t.sync_s = t.pause_s = rh_weight_pipeline_s(route, stages_s, G_N_ELEMENTS(stages_s));
    return t;
}

const RhWeightTransport rh_weight_transport_pipelined = {
    .name = "pipelined",
    .about = "gathered and broadcast in buckets that overlap (verl's checkpoint engine)",
    .source =
        "16.6 GB/s: fitted between Qwen3-30B-A3B on 16:16 H20, 4.38 s, and Qwen3-235B-A22B on 64:64, "
        "23.7 s (verl 1dda039b9, docs/advance/fully_async.md), which are 13.9 and 19.8 GB/s",
    .times = times};
