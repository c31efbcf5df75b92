/* Derives the platform of processes that share GPUs. */
#include "platforms/shared_gpus.h"

#include "base/error.h"
#include "base/interned_strings.h"
#include "platforms/fabric/wiring.h"

bool rh_platform_can_share(const RhPlatform *p, const RhGpuClients *clients, GError **error)
{
    if (!rh_clients_share(clients))
        return true;
    if (clients->kind == RH_CLIENTS_MPS && clients->count > RH_CLIENTS_MAX)
        return rh_fail(error, RH_ERROR_USAGE,
                       "clients=%d: an MPS server takes %d processes of a GPU at most",
                       clients->count, RH_CLIENTS_MAX);
    if (p->inside)
        return rh_fail(error, RH_ERROR_USAGE,
                       "clients=%d: GPUs of %s are not on one switch, where processes of one GPU "
                       "cannot be told apart yet\nhelp: a platform without \"%s\"",
                       clients->count, p->name, p->inside->name);
    if (p->link_changes->len > 0 || p->gpu_speeds->len > 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "clients=%d: not beside single links or GPUs that are changed\n"
                       "help: leave those settings out",
                       clients->count);
    return true;
}

static void share_device(RhDevice *d, const RhGpuClients *clients)
{
    double each = 1.0 / clients->count;
    d->clients = *clients;
    d->hbm_bytes.value *= each;
    d->power_w.value *= each;
    d->power_limit_w.value *= each;
}

void rh_platform_share(RhPlatform *p, const RhGpuClients *clients)
{
    if (!rh_clients_share(clients))
        return;
    int32_t m = clients->count;
    for (int32_t i = 0; i < rh_platform_devices_count(p); i++)
        share_device(rh_platform_device(p, i), clients);
    p->island_gpus = m;
    p->inside = &rh_wiring_islands;
    p->island_bytes_per_s = p->nvlink_bytes_per_s;
    p->gpus_per_node *= m;
    /* bytes between processes of one GPU are read and written by its memory, whose rate all share */
    double memory = p->device->hbm_bytes_per_s.value / (2 * m);
    p->nvlink_bytes_per_s = (RhFact){
        .value = memory / p->nvlink_efficiency_frac.value,
        .tag = p->device->hbm_bytes_per_s.tag,
        .source = rh_intern("the GPU's memory, read and written, in equal shares of its processes"),
        .date = p->device->hbm_bytes_per_s.date};
    p->host_gpus_per_link.value = MAX(p->host_gpus_per_link.value, 1) * m;
    p->price_usd_per_gpu_hour.value /= m;
}
