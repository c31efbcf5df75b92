/* Times of loading samples. */
#include "strategies/sample_loading.h"

#include <math.h>
#include <string.h>

#include "base/error.h"

static const char *const PLACES[RH_LOADER_LAST] = {"host", "dpu"};

/* Cores that load for one rank: its workers, at most its share of the node's. */
static double cores_of_rank(const RhSampleLoader *loader, double cores, int32_t ranks)
{
    double share = cores > 0 ? cores / ranks : HUGE_VAL;
    if (loader->place == RH_LOADER_DPU && loader->workers == 0)
        return share;
    return MIN(share, MAX(loader->workers, 1));
}

double rh_loading_s(const RhSampleLoader *loader, const RhPlatform *p, const RhLoaderWork *work)
{
    if (loader->sample_s <= 0)
        return 0;
    int32_t ranks = MAX(work->ranks, 1);
    double core_s = work->samples * loader->sample_s;
    if (loader->place == RH_LOADER_HOST)
        return core_s / cores_of_rank(loader, p->host_cores.value, ranks);
    double nics = p->nic_bytes_per_s.value * p->nic_efficiency_frac.value * p->nics_per_node;
    double sent_s = work->samples * work->sample_bytes * ranks / nics;
    return MAX(core_s / p->dpu_core_frac.value / cores_of_rank(loader, p->dpu_cores.value, ranks),
               sent_s);
}

bool rh_loader_check(const RhSampleLoader *loader, const RhPlatform *p, GError **error)
{
    if (loader->sample_s <= 0 && rh_loads_beside(loader))
        return rh_fail(error, RH_ERROR_USAGE,
                       "loader.workers, loader.on: how long a core takes for a sample is not said\n"
                       "help: `loader.sample=8ms`");
    if (loader->sample_s <= 0)
        return true;
    if (loader->place == RH_LOADER_DPU && (p->dpu_cores.value <= 0 || p->dpu_core_frac.value <= 0))
        return rh_fail(
            error, RH_ERROR_USAGE,
            "loader.on=dpu: nodes of %s have no DPU\nhelp: give it dpu.cores, of a node, "
            "and dpu.core_speed, of one of them over the host's; or loader.on=host",
            p->name);
    bool trains_on_cores = g_strcmp0(p->device->generation, "cpu") == 0;
    if (trains_on_cores && loader->place == RH_LOADER_HOST && loader->workers > 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "loader.workers=%d: the cores of %s train, none is left beside them\n"
                       "help: loader.workers=0 loads before each step, loader.on=dpu beside it",
                       loader->workers, p->name);
    return true;
}

bool rh_loader_place_by_name(const char *name, RhLoaderPlace *place)
{
    for (int i = 0; i < RH_LOADER_LAST; i++)
        if (strcmp(PLACES[i], name) == 0) {
            *place = (RhLoaderPlace)i;
            return true;
        }
    return false;
}
