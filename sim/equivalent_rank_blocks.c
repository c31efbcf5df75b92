#include "sim/equivalent_rank_blocks.h"

/* Extent of the groups' spans over neighbours; 1 when there is none or they differ. */
static int32_t common_extent(const RhProgram *p, const bool *group_used)
{
    int32_t block = 1;
    for (uint32_t g = 0; g < p->groups->len; g++) {
        const RhGroup *group = rh_program_group(p, (int32_t)g);
        for (int32_t i = 0; group_used[g] && i < group->spans_count; i++) {
            if (group->spans[i].stride != 1 || group->spans[i].extent == 1)
                continue;
            if (block > 1 && block != group->spans[i].extent)
                return 1;
            block = group->spans[i].extent;
        }
    }
    return block;
}

static bool spans_keep(const RhGroup *group, int32_t block)
{
    if (group->origin % block != 0 || group->lap % block != 0 || group->held % block != 0)
        return false;
    for (int32_t i = 0; i < group->spans_count; i++) {
        RhStride span = group->spans[i];
        bool own = span.stride == 1 && span.extent == block;
        if (span.extent > 1 && !own && span.stride % block != 0)
            return false;
        if (span.extent > 1 && rh_group_period(group, i) % block != 0)
            return false;
    }
    return true;
}

/* Is the platform symmetric within blocks: a NIC for each GPU, or one for all of a block that no
 * GPU's traffic reaches through another one; the same for host links; and no mesh or island's edge
 * between them? */
static bool platform_keeps(const RhPlatform *p, int32_t block)
{
    int32_t each = p->gpus_per_node, nics = p->nics_per_node;
    int32_t sharers = MAX(1, (int32_t)p->host_gpus_per_link.value);
    if (p->mesh.gpus > 0 || (p->island_gpus > 0 && p->island_gpus % block != 0))
        return false;
    if (each % block != 0 || p->link_changes->len + p->gpu_speeds->len > 0 ||
        (sharers > 1 && sharers % block != 0))
        return false;
    bool rails = p->tiers_count > 0 && p->tiers[p->tiers_count - 1].rail_optimised;
    return p->nodes_count == 1 || nics == each ||
           (!rails && nics > 0 && each % nics == 0 && each / nics % block == 0);
}

static bool ranks_keep(const RhProgram *p, const int32_t *role_of_rank, int32_t block)
{
    if (p->ranks_count % block != 0)
        return false;
    for (int32_t first = 0; first < p->ranks_count; first += block) {
        int32_t gpu = rh_program_gpu(p, first);
        if (gpu % block != 0)
            return false;
        for (int32_t place = 1; place < block; place++)
            if (role_of_rank[first + place] != role_of_rank[first] ||
                rh_program_gpu(p, first + place) != gpu + place)
                return false;
    }
    return true;
}

int32_t rh_blocks_find(const RhProgram *p, const RhPlatform *platform, const int32_t *role_of_rank,
                       const bool *group_used)
{
    int32_t block = common_extent(p, group_used);
    if (block == 1 || !platform_keeps(platform, block) || !ranks_keep(p, role_of_rank, block))
        return 1;
    for (uint32_t g = 0; g < p->groups->len; g++)
        if (group_used[g] && !spans_keep(rh_program_group(p, (int32_t)g), block))
            return 1;
    return block;
}

/* Members between neighbours of a block; 0 when the group holds one place of each. */
static int32_t step_of(const RhGroup *group, int32_t block)
{
    int32_t step = 1;
    for (int32_t i = 0; i < group->spans_count; i++) {
        if (group->spans[i].stride == 1 && group->spans[i].extent == block)
            return step;
        step *= group->spans[i].extent;
    }
    return 0;
}

bool rh_blocks_whole(const RhGroup *group, int32_t block)
{
    return step_of(group, block) > 0;
}

int32_t rh_blocks_turned(const RhGroup *group, int32_t block, int32_t member)
{
    int32_t step = step_of(group, block), place = member / step % block;
    return member + ((place + 1) % block - place) * step;
}

int32_t rh_common_divisor(int32_t a, int32_t b)
{
    while (b) {
        int32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static bool is_whole(const RhRole *role, int32_t block)
{
    bool neighbours = false;
    if (role->first_rank % block != 0)
        return false;
    for (int32_t i = 0; i < role->spans_count; i++) {
        RhStride span = role->spans[i];
        if (span.stride == 1 && span.extent % block == 0)
            neighbours = true;
        else if (span.extent > 1 && span.stride % block != 0)
            return false;
    }
    return neighbours;
}

int32_t rh_blocks_beside(const RhProgram *p, const RhPlatform *platform, const RhGroup *group,
                         const RhRole *role)
{
    int32_t block = platform->gpus_per_node;
    for (int32_t i = 0; i < group->spans_count; i++)
        if (group->spans[i].extent > 1)
            block = rh_common_divisor(block, group->spans[i].stride);
    bool lies = !p->gpu_of_rank && platform_keeps(platform, block);
    return lies && is_whole(role, block) ? block : 1;
}
