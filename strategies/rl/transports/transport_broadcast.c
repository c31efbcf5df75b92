/* Gather, then broadcast over NCCL, tensor by tensor one behind the other: every server takes its
 * part of what its GPU receives. One rank makes all tensors whole, which takes longer than links do. */
#include "strategies/rl/transports/transports.h"

#define HANDLED_BYTES_PER_S 5.2e9

static RhWeightTimes times(const RhWeightRoute *route)
{
    RhWeightTimes t = {.gather_s = rh_weight_gather_s(route),
                       .handle_s = route->bytes / HANDLED_BYTES_PER_S,
                       .send_s = rh_weight_broadcast_s(route, route->bytes)};
    t.sync_s = t.pause_s = t.gather_s + t.handle_s + t.send_s;
    return t;
}

const RhWeightTransport rh_weight_transport_broadcast = {
    .name = "broadcast",
    .about = "gathered, then broadcast (NCCL)",
    .source =
        "5.2 GB/s: fitted to Qwen2.5-32B on 16:16 H100 without offloading, 14.2 s (verl 1dda039b9, "
        "docs/advance/delta_weight_sync.md); its 72B +9 %, other trainers from 1.9 to 9 GB/s",
    .times = times};
