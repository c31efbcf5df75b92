/* Gather, then broadcast over NCCL, tensor by tensor one behind the other: every server takes its
 * part of what its GPU receives. */
#include "strategies/rl/transports/transports.h"

static RhWeightTimes times(const RhWeightRoute *route)
{
    double gather_s = rh_weight_gather_s(route), send_s = rh_weight_broadcast_s(route);
    return (RhWeightTimes){.gather_s = gather_s,
                           .send_s = send_s,
                           .sync_s = gather_s + send_s,
                           .pause_s = gather_s + send_s};
}

const RhWeightTransport rh_weight_transport_broadcast = {
    .name = "broadcast", .about = "gathered, then broadcast (NCCL)", .times = times};
