/* Weights by way of host memory, as MoonshotAI's checkpoint-engine: the trainer's ranks copy their parts
 * to host memory while servers go on; then buckets are broadcast, one while servers take the one before. */
#include "strategies/rl/transports/transports.h"

#define TAKEN_BYTES_PER_S 61e9

static RhWeightTimes times(const RhWeightRoute *route)
{
    RhWeightTimes t = {.handle_s = route->bytes / TAKEN_BYTES_PER_S,
                       .send_s = rh_weight_spread_s(route)};
    double down_s = rh_weight_host_copy_s(route->platform, route->bytes / route->shards);
    const double stages_s[] = {t.handle_s, t.send_s};
    t.pause_s = rh_weight_pipeline_s(route, stages_s, G_N_ELEMENTS(stages_s));
    t.sync_s = down_s + t.pause_s;
    return t;
}

const RhWeightTransport rh_weight_transport_engine = {
    .name = "engine",
    .about = "through host memory and broadcast in buckets (checkpoint-engine)",
    .source =
        "61 GB/s: fitted to GLM-4.5-Air on 8 H800, 3.47 s (MoonshotAI/checkpoint-engine 59a3c4f, "
        "README.md); DeepSeek-V3.1 on 16 and 256 H20 there +15 and -2 %",
    .times = times};
