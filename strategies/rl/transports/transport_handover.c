/* Weights of GPUs that trainer and servers share: the trainer's ranks gather whole tensors, and each
 * server takes its part where it is, through memory that both processes map (CUDA IPC). */
#include "strategies/rl/transports/transports.h"

static RhWeightTimes times(const RhWeightRoute *route)
{
    double gather_s = rh_weight_gather_s(route);
    return (RhWeightTimes){.gather_s = gather_s, .sync_s = gather_s, .pause_s = gather_s};
}

const RhWeightTransport rh_weight_transport_handover = {
    .name = "handover",
    .about = "gathered on the GPUs that servers share",
    .shared = true,
    .times = times};
