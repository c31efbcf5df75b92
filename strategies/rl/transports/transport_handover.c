/* Weights of GPUs that trainer and servers share: the trainer's ranks gather whole tensors, and each
 * server takes its part where it is, through memory that both processes map (CUDA IPC). A tensor takes the
 * same time whatever its size, so mixtures with many experts take long. */
#include "strategies/rl/transports/transports.h"

#define TENSOR_S 0.5e-3

static RhWeightTimes times(const RhWeightRoute *route)
{
    RhWeightTimes t = {.gather_s = rh_weight_gather_s(route),
                       .handle_s = TENSOR_S * (double)route->matrices};
    t.sync_s = t.pause_s = t.gather_s + t.handle_s;
    return t;
}

const RhWeightTransport rh_weight_transport_handover = {
    .name = "handover",
    .about = "gathered on the GPUs that servers share",
    .shared = true,
    .source =
        "0.5 ms a tensor: fitted to Qwen3-30B-A3B, 9.67 s (NVIDIA-NeMo/RL pull request 3294, transfer and "
        "update on B200); Qwen3-235B-A22B there +1 %, Qwen3.5-35B-A3B of mbridge +29 %",
    .times = times};
