/* Derives the platform of processes that share GPUs. */
#include "platforms/shared_gpus.h"

#include "base/error.h"
#include "base/interned_strings.h"
#include "platforms/devices/generation.h"
#include "platforms/devices/mig_slices.h"
#include "platforms/fabric/wiring.h"

/* Can each device be cut into so many instances? */
static bool has_instances(const RhPlatform *p, const RhGpuClients *clients, GError **error)
{
    for (int32_t i = 0; i < rh_platform_devices_count(p); i++) {
        const RhDevice *d = rh_platform_device((RhPlatform *)p, i);
        RhMigSlices whole = rh_mig_slices_of(d->name);
        if (whole.compute == 0)
            return rh_fail(error, RH_ERROR_USAGE,
                           "sharing=mig: %s cannot be cut into instances\n"
                           "help: `sharing=time`, or a device that can: a30, a100, h100 and later",
                           d->name);
        if (rh_mig_instance(&whole, clients->count).compute == 0)
            return rh_fail(error, RH_ERROR_USAGE,
                           "clients=%d: %s has %d slices, an instance each at most", clients->count,
                           d->name, whole.compute);
    }
    return true;
}

/* Can so many processes run on each device at once? A device of no known generation is not judged. */
static bool has_clients(const RhPlatform *p, const RhGpuClients *clients, GError **error)
{
    for (int32_t i = 0; i < rh_platform_devices_count(p); i++) {
        const RhDevice *d = rh_platform_device((RhPlatform *)p, i);
        const RhGeneration *g = d->generation ? rh_generation_by_name(d->generation) : NULL;
        if (g && g->one_process)
            return rh_fail(error, RH_ERROR_USAGE,
                           "clients=%d: a %s belongs to the one process that opens it\n"
                           "help: `clients=1`",
                           clients->count, d->name);
        if (clients->kind != RH_CLIENTS_MPS || !g)
            continue;
        if (g->mps_clients == 0)
            return rh_fail(
                error, RH_ERROR_USAGE,
                "sharing=mps: %s has no Multi-Process Service, which GPUs of NVIDIA have\n"
                "help: `sharing=time`",
                d->name);
        if (clients->count > g->mps_clients)
            return rh_fail(error, RH_ERROR_USAGE,
                           "clients=%d: an MPS server takes %d processes of one %s at most",
                           clients->count, g->mps_clients, d->name);
    }
    return true;
}

bool rh_platform_can_share(const RhPlatform *p, const RhGpuClients *clients, GError **error)
{
    if (!rh_clients_share(clients))
        return true;
    if (!has_clients(p, clients, error))
        return false;
    if (clients->kind == RH_CLIENTS_MIG && !has_instances(p, clients, error))
        return false;
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

/* Makes the device one of its instances. */
static void cut_device(RhDevice *d, int32_t count)
{
    RhMigSlices whole = rh_mig_slices_of(d->name), own = rh_mig_instance(&whole, count);
    double memory = (double)own.memory / whole.memory;
    int32_t sms = d->sms_count * own.compute / whole.compute;
    for (int t = 0; t < RH_DTYPE_LAST; t++)
        d->peak_flops_per_s[t].value *= (double)sms / d->sms_count;
    d->sms_count = sms;
    d->hbm_bytes.value *= memory;
    d->hbm_bytes_per_s.value *= memory;
    rh_device_refresh(d);
}

static void share_device(RhDevice *d, const RhGpuClients *clients)
{
    double each = 1.0 / clients->count;
    d->clients = *clients;
    if (clients->kind == RH_CLIENTS_MIG)
        cut_device(d, clients->count);
    else
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
    /* Bytes between processes of one GPU are read and written by its memory, whose rate all share;
     * instances do not reach one another's and send through the host (MIG User Guide: no
     * peer-to-peer between instances). */
    bool apart = clients->kind == RH_CLIENTS_MIG;
    const RhFact *by = apart ? &p->host_bytes_per_s : &p->device->hbm_bytes_per_s;
    p->nvlink_bytes_per_s =
        (RhFact){.value = by->value / (apart ? m : 2 * m) / p->nvlink_efficiency_frac.value,
                 .tag = by->tag,
                 .source = rh_intern(apart ? "the GPU's link to the host, shared by its instances"
                                           : "the GPU's memory, read and written, shared by its "
                                             "processes"),
                 .date = by->date};
    p->host_gpus_per_link.value = MAX(p->host_gpus_per_link.value, 1) * m;
    p->price_usd_per_gpu_hour.value /= m;
}
