#include "sim/tier_copy.h"

#include <math.h>

#include "base/error.h"

int rh_copy_route(const RhPlatform *platform, const RhTask *copy, int32_t gpu,
                  RhLink links[RH_COPY_LINKS_MAX])
{
    int count = 0;
    int32_t node = rh_platform_node_of(platform, gpu);
    if (rh_task_is_host_work(copy)) {
        links[count++] = rh_platform_memory_link(platform, node);
        return count;
    }
    if (copy->from == RH_MEMORY_TIER_STORAGE)
        count += rh_platform_storage_route(platform, gpu, false, links);
    if (copy->from == RH_MEMORY_TIER_NVME)
        links[count++] = rh_platform_nvme_link(platform, node, false);
    if (copy->from == RH_MEMORY_TIER_HBM || copy->to == RH_MEMORY_TIER_HBM)
        links[count++] = rh_platform_host_link(platform, gpu, copy->from == RH_MEMORY_TIER_HBM);
    if (copy->to == RH_MEMORY_TIER_NVME)
        links[count++] = rh_platform_nvme_link(platform, node, true);
    if (copy->to == RH_MEMORY_TIER_STORAGE)
        count += rh_platform_storage_route(platform, gpu, true, links + count);
    return count;
}

double rh_copy_bytes_per_s(const RhPlatform *platform, const RhTask *copy, int32_t gpu)
{
    RhLink links[RH_COPY_LINKS_MAX];
    double least = HUGE_VAL;
    for (int i = rh_copy_route(platform, copy, gpu, links); i-- > 0;)
        least = fmin(least, rh_platform_link_bytes_per_s(platform, links[i]));
    return least;
}

static bool uses(const RhTask *t, RhMemoryTier tier)
{
    return t->kind == RH_TASK_COPY && (t->from == tier || t->to == tier);
}

bool rh_copies_possible(const RhProgram *p, const RhPlatform *platform, GError **error)
{
    bool drives = platform->nvme_bytes_per_s.value > 0,
         storage = platform->storage.bytes_per_s.value > 0,
         hosts = platform->host_memory_bytes_per_s.value > 0;
    for (guint i = 0; i < p->tasks->len && !(drives && storage && hosts); i++) {
        const RhTask *t = rh_program_task(p, (int32_t)i);
        if (!hosts && rh_task_is_host_work(t))
            return rh_fail(error, RH_ERROR_INPUT,
                           "task %u is work of the host, and %s does not say how quick its memory "
                           "is\nhelp: give it host.memory_bandwidth, of a node's sockets together",
                           i, platform->name);
        if (!drives && uses(t, RH_MEMORY_TIER_NVME))
            return rh_fail(error, RH_ERROR_INPUT,
                           "task %u copies between tiers of memory, and %s has no drives\n"
                           "help: give it nvme.bandwidth, of a node and direction",
                           i, platform->name);
        if (!storage && uses(t, RH_MEMORY_TIER_STORAGE))
            return rh_fail(error, RH_ERROR_INPUT,
                           "task %u copies between tiers of memory, and %s has no storage\n"
                           "help: give it storage.bandwidth, of all servers together",
                           i, platform->name);
    }
    return true;
}
