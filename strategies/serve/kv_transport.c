#include "strategies/serve/kv_transport.h"

#include "sim/fair_share_transfers.h"

typedef struct {
    const RhPlatform *platform;
    RhTransfers *transfers;
} Own;

static double latency_s(void *self, int32_t src, int32_t dst)
{
    return rh_platform_route_latency_s(((const Own *)self)->platform, src, dst);
}

static bool start(void *self, double t_s, int32_t src, int32_t dst, double bytes, int32_t who,
                  GError **error)
{
    (void)error;
    rh_transfers_start(((Own *)self)->transfers, t_s, src, dst, bytes, who);
    return true;
}

static bool run(void *self, double until_s, RhKvTransfer *carried, GError **error)
{
    (void)error;
    RhTransfers *transfers = ((Own *)self)->transfers;
    *carried = (RhKvTransfer){.who = -1, .t_s = rh_transfers_next_s(transfers)};
    if (carried->t_s <= until_s && rh_transfers_count(transfers) > 0)
        carried->who = rh_transfers_end(transfers);
    return true;
}

RhKvTransport rh_kv_transport_own(const RhPlatform *platform)
{
    Own *own = g_new(Own, 1);
    *own = (Own){platform, rh_transfers_new(platform)};
    return (RhKvTransport){.latency_s = latency_s, .start = start, .run = run, .self = own};
}

void rh_kv_transport_clear(RhKvTransport *own)
{
    if (own->self)
        rh_transfers_free(((Own *)own->self)->transfers);
    g_clear_pointer(&own->self, g_free);
}
