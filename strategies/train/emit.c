#include "strategies/train/emit.h"

#include <string.h>

static int32_t merged_bundle(RhEmit *e, const RhMerged *wanted)
{
    for (guint i = 0; i < e->merged->len; i++) {
        const RhMerged *have = &g_array_index(e->merged, RhMerged, i);
        if (memcmp(have->parts, wanted->parts, sizeof(have->parts)) == 0)
            return have->bundle;
    }
    g_autoptr(GArray) kernels = g_array_new(FALSE, FALSE, sizeof(RhKernel));
    for (int i = 0; i < RH_PARTS_MAX && wanted->parts[i]; i++)
        g_array_append_vals(kernels, wanted->parts[i]->kernels->data,
                            wanted->parts[i]->kernels->len);
    RhMerged added = *wanted;
    added.bundle = kernels->len == 0
                       ? -1
                       : rh_program_add_bundle(e->program, (const RhKernel *)(void *)kernels->data,
                                               (int32_t)kernels->len);
    g_array_append_val(e->merged, added);
    return added.bundle;
}

static RhTask task_here(const RhEmit *e, RhTaskKind kind, RhLane lane, const char *label)
{
    return (RhTask){.kind = (uint8_t)kind,
                    .lane = (uint8_t)lane,
                    .phase = (uint8_t)e->phase,
                    .layer = (int16_t)e->layer,
                    .microbatch = e->microbatch,
                    .label = rh_program_label(e->program, label),
                    .bundle = -1,
                    .group = -1,
                    .peer_task = -1};
}

void rh_emit_wait_for(RhEmit *e, int32_t task)
{
    if (task < 0)
        return;
    g_assert(e->pending_count < RH_PENDING_MAX);
    e->pending[e->pending_count++] = task;
}

void rh_emit_compute(RhEmit *e, const char *label, const RhPiece *const *parts)
{
    RhMerged wanted = {.bundle = -1};
    for (int i = 0; parts[i]; i++)
        wanted.parts[i] = parts[i];
    RhTask task = task_here(e, RH_TASK_KERNEL, RH_LANE_COMPUTE, label);
    task.bundle = merged_bundle(e, &wanted);
    if (task.bundle < 0)
        return;
    e->last = rh_program_add_task(e->program, task, e->pending, e->pending_count);
    e->pending_count = 0;
}

int32_t rh_emit_collective(RhEmit *e, RhLane lane, RhOp op, double bytes, const char *label)
{
    int32_t group = lane == RH_LANE_TP ? e->tp_group : e->dp_group;
    if (group < 0 || bytes <= 0)
        return -1;
    RhTask task = task_here(e, RH_TASK_COLLECTIVE, lane, label);
    task.op = (uint8_t)op;
    task.algo = (uint8_t)rh_emit_algorithm(e, group, op, bytes);
    task.group = group;
    task.bytes = bytes;
    int32_t preds[RH_PENDING_MAX + 1], count = 0;
    preds[count++] = e->last;
    for (int32_t i = 0; i < e->pending_count; i++)
        preds[count++] = e->pending[i];
    return rh_program_add_task(e->program, task, preds, count);
}
