#include "sim/role_task_graph.h"

#include <string.h>

#include "sim/tier_copy.h"

static const RhTask *task_at(const RhProgram *p, const RhRoleTable *r, int32_t i)
{
    return rh_program_task(p, r->tasks_first + i);
}

/* Calls visit(table, before, after) for every edge: explicit predecessors and lane order. */
static void each_edge(const RhProgram *p, RhRoleTable *r,
                      void (*visit)(RhRoleTable *, int32_t, int32_t))
{
    int32_t last_on_lane[RH_LANES_MAX];
    memset(last_on_lane, 0xff, sizeof last_on_lane);
    for (int32_t i = 0; i < r->tasks_count; i++) {
        const RhTask *task = task_at(p, r, i);
        for (int32_t k = 0; k < task->preds_count; k++)
            visit(r, g_array_index(p->preds, int32_t, task->preds_first + k) - r->tasks_first, i);
        if (last_on_lane[task->lane] >= 0)
            visit(r, last_on_lane[task->lane], i);
        last_on_lane[task->lane] = i;
    }
}

static void count_edge(RhRoleTable *r, int32_t before, int32_t after)
{
    r->successors_first[before + 1]++;
    r->indegree[after]++;
}

static void store_edge(RhRoleTable *r, int32_t before, int32_t after)
{
    r->successors[r->successors_first[before]++] = after;
}

static void link_tasks(const RhProgram *p, RhRoleTable *r)
{
    int32_t n = r->tasks_count;
    r->successors_first = g_new0(int32_t, n + 1);
    r->indegree = g_new0(uint16_t, n + 1);
    each_edge(p, r, count_edge);
    for (int32_t i = 0; i < n; i++)
        r->successors_first[i + 1] += r->successors_first[i];
    r->successors = g_new0(int32_t, r->successors_first[n] + 1);
    each_edge(p, r, store_edge);
    memmove(r->successors_first + 1, r->successors_first, sizeof(int32_t) * (size_t)n);
    r->successors_first[0] = 0;
}

static void number_calls(const RhProgram *p, RhRoleTable *r)
{
    int32_t groups = (int32_t)p->groups->len;
    r->ordinal = g_new(int32_t, r->tasks_count + 1);
    r->calls_first = g_new0(int32_t, groups + 2);
    for (int32_t i = 0; i < r->tasks_count; i++) {
        const RhTask *task = task_at(p, r, i);
        r->ordinal[i] = -1;
        if (task->kind == RH_TASK_COLLECTIVE)
            r->ordinal[i] = r->calls_first[task->group + 1]++;
    }
    for (int32_t g = 0; g < groups; g++)
        r->calls_first[g + 1] += r->calls_first[g];
    r->calls = g_new0(int32_t, r->calls_first[groups] + 1);
    for (int32_t i = 0; i < r->tasks_count; i++)
        if (r->ordinal[i] >= 0)
            r->calls[r->calls_first[task_at(p, r, i)->group] + r->ordinal[i]] = i;
}

/* Cost of a bundle on the device. */
typedef struct {
    double seconds, flops;
    RhBoundTimes bounds;
} Cost;

static double flops_of(const RhProgram *p, const RhBundle *bundle)
{
    double sum = 0;
    for (int32_t i = bundle->first; i < bundle->first + bundle->count; i++)
        sum += g_array_index(p->kernels, RhKernel, i).flops;
    return sum;
}

static void cost_tasks(const RhProgram *p, const RhPlatform *platform, const Cost *bundles,
                       const RhRole *role, RhRoleTable *r)
{
    int32_t gpu = rh_program_gpu(p, role->first_rank);
    r->duration_s = g_new0(double, r->tasks_count + 1);
    r->flops = g_new0(double, r->tasks_count + 1);
    r->bounds = g_new0(RhBoundTimes, r->tasks_count + 1);
    for (int32_t i = 0; i < r->tasks_count; i++) {
        const RhTask *task = task_at(p, r, i);
        if (task->kind == RH_TASK_COPY)
            r->duration_s[i] = task->bytes / rh_copy_bytes_per_s(platform, task, gpu);
        if (task->kind != RH_TASK_KERNEL)
            continue;
        r->duration_s[i] = bundles[task->bundle].seconds;
        r->flops[i] = bundles[task->bundle].flops;
        r->bounds[i] = bundles[task->bundle].bounds;
    }
}

/* Shortest time of a bundle on devices [first, end) of the platform. */
static double seconds_of(const RhProgram *p, const RhPlatform *platform, int32_t bundle,
                         int32_t first, int32_t end)
{
    double least = rh_bundle_time_s(p, rh_platform_device(platform, first), bundle);
    for (int32_t i = first + 1; i < end; i++)
        least = MIN(least, rh_bundle_time_s(p, rh_platform_device(platform, i), bundle));
    return least;
}

static RhRoleTable *tables_new(const RhProgram *p, const RhPlatform *platform, int32_t first,
                               int32_t end)
{
    g_autofree Cost *bundles = g_new0(Cost, p->bundles->len + 1);
    for (uint32_t i = 0; i < p->bundles->len; i++)
        bundles[i] = (Cost){seconds_of(p, platform, (int32_t)i, first, end),
                            flops_of(p, &g_array_index(p->bundles, RhBundle, i)),
                            rh_bundle_bounds(p, rh_platform_device(platform, first), (int32_t)i)};
    RhRoleTable *tables = g_new0(RhRoleTable, p->roles->len + 1);
    for (uint32_t i = 0; i < p->roles->len; i++) {
        const RhRole *role = rh_program_role(p, (int32_t)i);
        tables[i].tasks_first = role->tasks_first;
        tables[i].tasks_count = role->tasks_count;
        link_tasks(p, &tables[i]);
        number_calls(p, &tables[i]);
        cost_tasks(p, platform, bundles, role, &tables[i]);
    }
    return tables;
}

RhRoleTable *rh_role_tables_new(const RhProgram *p, const RhPlatform *platform)
{
    return tables_new(p, platform, 0, rh_platform_devices_count(platform));
}

RhRoleTable *rh_role_tables_on(const RhProgram *p, const RhPlatform *platform, int32_t device)
{
    return tables_new(p, platform, device, device + 1);
}

void rh_role_tables_free(RhRoleTable *tables, int32_t count)
{
    for (int32_t i = 0; tables && i < count; i++) {
        RhRoleTable *r = &tables[i];
        void *arrays[] = {r->successors_first, r->successors,  r->indegree,
                          r->duration_s,       r->flops,       r->bounds,
                          r->ordinal,          r->calls_first, r->calls};
        for (size_t k = 0; k < G_N_ELEMENTS(arrays); k++)
            g_free(arrays[k]);
    }
    g_free(tables);
}
