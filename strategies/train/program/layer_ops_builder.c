/* Appends tasks to a list of layer operations, for the parts of a layer and the parallelisms. */
#include "strategies/train/program/layer_ops.h"

static RhLane lane_of(const RhLayerOpsBuilder *w, int32_t task)
{
    return g_array_index(w->tasks, RhLayerOp, task).lane;
}

void rh_layer_ops_wait_for(RhLayerOpsBuilder *w, int32_t task)
{
    if (task < 0)
        return;
    RhLane lane = lane_of(w, task);
    for (int32_t i = 0; i < w->pending_count; i++)
        if (w->pending[i] != RH_LAYER_OP_ENTRY && lane_of(w, w->pending[i]) == lane) {
            w->pending[i] = MAX(w->pending[i], task);
            return;
        }
    w->pending[w->pending_count++] = task; /* one per lane, and ENTRY */
}

/* Returns the number of this call of the builder. */
static int32_t next_call(RhLayerOpsBuilder *w)
{
    if (w->phase != RH_PHASE_RECOMPUTE)
        return w->calls++;
    return RH_LAYER_CALLS_MAX * (1 + (int32_t)w->block) + w->again_calls++;
}

static int32_t add_task(RhLayerOpsBuilder *w, const RhLayerOp *task)
{
    g_array_append_vals(w->tasks, task, 1);
    return (int32_t)w->tasks->len - 1;
}

static bool has_kernels(const RhKernelSequence *const *parts)
{
    for (int i = 0; i < RH_PARTS_MAX && parts[i]; i++)
        if (parts[i]->kernels_count > 0)
            return true;
    return false;
}

static int parts_count(const RhLayerOp *task)
{
    int count = 0;
    while (count < RH_PARTS_MAX && task->parts[count])
        count++;
    return count;
}

/* Appends the parts of `task` to those of `into`; false when there is no room. */
static bool append_parts(RhLayerOp *into, const RhLayerOp *task)
{
    int have = parts_count(into), more = parts_count(task);
    if (have + more > RH_PARTS_MAX)
        return false;
    memcpy(into->parts + have, task->parts, sizeof(*task->parts) * (size_t)more);
    into->last_call = task->last_call;
    return true;
}

/* The previous task, if it is a kernel of the same block and phase and nothing is awaited. */
static RhLayerOp *same_kernel(RhLayerOpsBuilder *w, const char *label)
{
    if (w->tasks->len == 0 || w->last != (int32_t)w->tasks->len - 1 || w->pending_count > 0)
        return NULL;
    RhLayerOp *before = &g_array_index(w->tasks, RhLayerOp, w->last);
    return before->phase == w->phase && strcmp(before->label, label) == 0 ? before : NULL;
}

void rh_layer_ops_kernels(RhLayerOpsBuilder *w, const char *label,
                          const RhKernelSequence *const parts[static RH_PARTS_MAX])
{
    int32_t call = next_call(w);
    if (!has_kernels(parts))
        return;
    RhLayerOp task = {.label = label,
                      .phase = w->phase,
                      .after_count = w->pending_count,
                      .first_call = call,
                      .last_call = call};
    memcpy(task.parts, parts, sizeof task.parts);
    RhLayerOp *before = same_kernel(w, label);
    if (before && append_parts(before, &task))
        return;
    memcpy(task.after, w->pending, sizeof task.after);
    w->last = add_task(w, &task);
    w->pending_count = 0;
}

int32_t rh_layer_ops_collective(RhLayerOpsBuilder *w, RhLane lane, RhGroupKind group, RhOp op,
                                double bytes, const char *label)
{
    int32_t call = next_call(w);
    if (bytes <= 0)
        return -1;
    RhLayerOp task = {.label = label,
                      .phase = w->phase,
                      .lane = lane,
                      .op = op,
                      .group = group,
                      .bytes = bytes,
                      .after = {w->last},
                      .after_count = 1,
                      .first_call = call,
                      .last_call = call};
    for (int32_t i = 0; i < w->pending_count; i++)
        if (w->pending[i] != w->last)
            task.after[task.after_count++] = w->pending[i];
    return add_task(w, &task);
}

void rh_layer_ops_ring_step(RhLayerOpsBuilder *w, const RhRingStep *ring, const char *label,
                            const RhKernelSequence *part)
{
    if (part->exchange.step == 0) {
        w->steps_from = w->last;
        w->step_brings = -1;
    }
    int32_t last = w->last;
    w->last = w->steps_from;
    int32_t next =
        rh_layer_ops_collective(w, ring->lane, ring->group, RH_OP_SHIFT, ring->bytes, ring->label);
    w->last = last;
    rh_layer_ops_wait_for(w, w->step_brings);
    rh_layer_ops_kernels(w, label, RH_PARTS(part));
    w->step_brings = next;
}

void rh_layer_ops_route(RhLayerOpsBuilder *w, int32_t collective, const RhRouting *routing)
{
    if (collective >= 0)
        g_array_index(w->tasks, RhLayerOp, collective).routing = *routing;
}

void rh_layer_ops_continue_after(RhLayerOpsBuilder *w, int32_t collective)
{
    if (collective < 0)
        return;
    w->pending_count = 0;
    rh_layer_ops_wait_for(w, collective);
}

/* Joins the kernels of a layer in which no parallelism acts: they run back to back, as one task per
 * phase. */
void rh_layer_ops_merge_kernels(GArray *tasks, const char *label)
{
    guint kept = 0;
    for (guint i = 0; i < tasks->len; i++)
        if (g_array_index(tasks, RhLayerOp, i).lane != RH_LANE_COMPUTE)
            return;
    for (guint i = 0; i < tasks->len; i++) {
        RhLayerOp *task = &g_array_index(tasks, RhLayerOp, i);
        RhLayerOp *into = kept ? &g_array_index(tasks, RhLayerOp, kept - 1) : NULL;
        task->label = label;
        if (!into || into->phase != task->phase || !append_parts(into, task))
            g_array_index(tasks, RhLayerOp, kept++) = *task;
    }
    g_array_set_size(tasks, kept);
}
