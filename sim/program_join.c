#include "sim/program_join.h"

#include "base/error.h"

#define RANKS_MAX (1 << 24)

static int64_t common_multiple(int64_t a, int64_t b)
{
    int64_t x = a, y = b;
    while (y) {
        int64_t rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}

/* First rank at or after `from` that is to every group of the program as rank 0 is. */
static int64_t next_origin(const RhProgram *p, int64_t from)
{
    int64_t unit = 1;
    for (uint32_t g = 0; g < p->groups->len; g++) {
        unit = common_multiple(unit, MAX(rh_program_group(p, (int32_t)g)->lap, 1));
        for (int32_t k = 0; k < rh_program_group(p, (int32_t)g)->spans_count; k++) {
            unit = common_multiple(unit, rh_group_period(rh_program_group(p, (int32_t)g), k));
            if (unit > RANKS_MAX)
                return INT64_MAX;
        }
    }
    return (from + unit - 1) / unit * unit;
}

static int32_t relabel(RhProgram *out, const RhProgram *p, int32_t label)
{
    bool known = label >= 0 && label < (int32_t)p->labels->len;
    return known ? rh_program_label(out, g_ptr_array_index(p->labels, (guint)label)) : label;
}

static void add_groups(RhProgram *out, const RhProgram *p)
{
    for (uint32_t g = 0; g < p->groups->len; g++) {
        RhGroup group = *rh_program_group(p, (int32_t)g);
        group.label = relabel(out, p, group.label);
        g_array_append_val(out->groups, group);
    }
}

static void add_volumes(RhProgram *out, const RhProgram *p)
{
    for (uint32_t i = 0; i < p->volumes->len; i++) {
        const RhVolumes *v = &g_array_index(p->volumes, RhVolumes, i);
        RhVolumes moved = *v;
        moved.first = (int32_t)out->shares->len;
        g_array_append_vals(out->shares, p->shares->data + sizeof(double) * (gsize)v->first,
                            (guint)v->count);
        g_array_append_val(out->volumes, moved);
    }
}

static void add_bundles(RhProgram *out, const RhProgram *p, const RhDevice *device)
{
    for (uint32_t b = 0; b < p->bundles->len; b++) {
        RhBundle wait = {.seconds = rh_bundle_time_s(p, device, (int32_t)b)};
        g_array_append_val(out->bundles, wait);
    }
}

/* Offsets of a part's indices. */
typedef struct {
    int32_t groups, bundles, preds, volumes;
} Shift;

static void add_tasks(RhProgram *out, const RhProgram *p, const RhJoinedProgram *at, Shift shift)
{
    for (uint32_t i = 0; i < p->preds->len; i++) {
        int32_t pred = g_array_index(p->preds, int32_t, i) + at->tasks_first;
        g_array_append_val(out->preds, pred);
    }
    for (uint32_t i = 0; i < p->tasks->len; i++) {
        RhTask task = *rh_program_task(p, (int32_t)i);
        task.role += at->roles_first;
        task.label = relabel(out, p, task.label);
        task.preds_first += shift.preds;
        task.bundle += task.bundle >= 0 ? shift.bundles : 0;
        task.group += task.group >= 0 ? shift.groups : 0;
        task.volumes += task.volumes > 0 ? shift.volumes : 0;
        task.peer_task += task.peer_task >= 0 ? at->tasks_first : 0;
        g_array_append_val(out->tasks, task);
    }
}

static void add_roles(RhProgram *out, const RhProgram *p, const RhJoinedProgram *at)
{
    for (uint32_t r = 0; r < p->roles->len; r++) {
        RhRole role = *rh_program_role(p, (int32_t)r);
        role.label = relabel(out, p, role.label);
        role.first_rank += at->ranks_first;
        role.tasks_first += at->tasks_first;
        role.memory_first = role.memory_count = 0;
        g_array_append_val(out->roles, role);
    }
}

static void add_part(RhProgram *out, const RhProgram *p, const RhDevice *device,
                     RhJoinedProgram *at)
{
    Shift shift = {(int32_t)out->groups->len, (int32_t)out->bundles->len, (int32_t)out->preds->len,
                   (int32_t)out->volumes->len};
    at->roles_first = (int32_t)out->roles->len;
    at->roles_count = (int32_t)p->roles->len;
    at->tasks_first = (int32_t)out->tasks->len;
    add_groups(out, p);
    add_volumes(out, p);
    add_bundles(out, p, device);
    add_tasks(out, p, at, shift);
    add_roles(out, p, at);
}

RhProgram *rh_program_join(const RhJoinPart *parts, int32_t count, const RhDevice *device,
                           RhJoinedProgram *out, GError **error)
{
    int64_t ranks = 0;
    for (int32_t i = 0; i < count; i++) {
        int64_t first = next_origin(parts[i].program, ranks);
        if (first > RANKS_MAX - parts[i].program->ranks_count) {
            rh_fail(error, RH_ERROR_INPUT, "%d jobs have more ranks together than %d", count,
                    RANKS_MAX);
            return NULL;
        }
        out[i].ranks_first = (int32_t)first;
        out[i].ranks_count = parts[i].program->ranks_count;
        ranks = first + parts[i].program->ranks_count;
    }
    RhProgram *joined = rh_program_new((int32_t)ranks);
    joined->gpu_of_rank = g_new0(int32_t, ranks + 1);
    for (int32_t i = 0; i < count; i++) {
        const RhProgram *p = parts[i].program;
        for (int32_t r = 0; r < p->ranks_count; r++)
            joined->gpu_of_rank[out[i].ranks_first + r] =
                parts[i].gpu_of_rank ? parts[i].gpu_of_rank[r] : rh_program_gpu(p, r);
        add_part(joined, p, device, &out[i]);
    }
    return joined;
}
