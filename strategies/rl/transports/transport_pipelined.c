/* Gather and broadcast in buckets, one bucket on its way while the next is gathered, as
 * MoonshotAI's checkpoint-engine and verl's engine of that name do. */
#include <math.h>

#include "strategies/rl/transports/transports.h"

#define BUCKET_BYTES 4294967296.0 /* 3 to 8 GiB in checkpoint-engine's README: 4 GiB */

static RhWeightTimes times(const RhWeightRoute *route)
{
    double gather_s = rh_weight_gather_s(route), send_s = rh_weight_broadcast_s(route);
    double first_frac = fmin(BUCKET_BYTES / route->bytes, 1);
    double sync_s = fmax(gather_s, send_s) + first_frac * fmin(gather_s, send_s);
    return (RhWeightTimes){
        .gather_s = gather_s, .send_s = send_s, .sync_s = sync_s, .pause_s = sync_s};
}

const RhWeightTransport rh_weight_transport_pipelined = {
    .name = "pipelined",
    .about = "gathered and broadcast in buckets that overlap (checkpoint engine)",
    .times = times};
