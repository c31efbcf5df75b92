/* Pairs: which layers of a forward and of a backward run beside each other, and the whole backward
 * of a layer where the schedule otherwise splits it in two. */
#include <string.h>

#include "strategies/train/program/layer_ops.h"

/* --- a whole backward --- */

static void wait_for(RhLayerOp *task, int32_t other)
{
    for (int32_t i = 0; i < task->after_count; i++)
        if (task->after[i] == other)
            return;
    g_assert(task->after_count < RH_PENDING_MAX);
    task->after[task->after_count++] = other;
}

static int32_t last_kernel(const GArray *tasks)
{
    for (int32_t i = (int32_t)tasks->len - 1; i >= 0; i--)
        if (g_array_index(tasks, RhLayerOp, i).lane == RH_LANE_COMPUTE)
            return i;
    return RH_LAYER_OP_ENTRY;
}

/* Added to the numbers of the second pass's calls. */
#define CALLS_BEHIND (RH_LAYER_CALLS_MAX * 100)

/* The task after a pass of `tasks`, whose ENTRY is the pass's last task; collectives also wait for
 * its last kernel. */
static RhLayerOp behind(const RhLayerPass *pass, const RhLayerOp *task)
{
    RhLayerOp moved = *task;
    moved.after_count = 0;
    moved.first_call += CALLS_BEHIND;
    moved.last_call += CALLS_BEHIND;
    for (int32_t i = 0; i < task->after_count; i++) {
        if (task->after[i] != RH_LAYER_OP_ENTRY) {
            wait_for(&moved, task->after[i] + (int32_t)pass->tasks->len);
            continue;
        }
        if (task->lane != RH_LANE_COMPUTE)
            wait_for(&moved, last_kernel(pass->tasks));
        for (int32_t k = 0; k < pass->left_count; k++)
            wait_for(&moved, pass->left[k]);
    }
    return moved;
}

RhLayerPass rh_layer_pass_behind(const RhLayerPass *first, const RhLayerPass *then)
{
    RhLayerPass both = {.tasks = g_array_sized_new(FALSE, FALSE, sizeof(RhLayerOp),
                                                   first->tasks->len + then->tasks->len + 1),
                        .calls = first->calls + RH_LAYER_CALLS_MAX * then->calls};
    g_array_append_vals(both.tasks, first->tasks->data, first->tasks->len);
    for (guint i = 0; i < then->tasks->len; i++) {
        RhLayerOp task = behind(first, &g_array_index(then->tasks, RhLayerOp, i));
        g_array_append_val(both.tasks, task);
    }
    RhLayerOp end = {.lane = RH_LANE_COMPUTE, .after_count = then->left_count};
    memcpy(end.after, then->left, sizeof end.after);
    end = behind(first, &end);
    memcpy(both.left, end.after, sizeof both.left);
    both.left_count = end.after_count;
    return both;
}

/* --- layers beside layers --- */

static bool has_next(const RhPairWalk *w, int which)
{
    return w->done[which] < w->count[which];
}

/* Next layer: the forward's from the first on, the backward's from the last. */
static int32_t next_place(const RhPairWalk *w, int which)
{
    return which == 0 ? w->done[0] : w->count[1] - 1 - w->done[1];
}

static bool at_layer(const RhPairWalk *w, int which)
{
    return has_next(w, which) && w->kinds[which][next_place(w, which)] < RH_LAYER_OP_LAYERS;
}

/* Does the half begin with a layer that runs alone: the embedding of a forward, the head of a
 * backward? */
static bool begins_alone(const RhPairWalk *w, int which)
{
    return has_next(w, which) && w->done[which] == 0 && !at_layer(w, which);
}

bool rh_pair_next(RhPairWalk *w, int32_t *forward, int32_t *backward)
{
    bool both = at_layer(w, 0) && at_layer(w, 1), runs[2] = {both, both};
    if (begins_alone(w, 0) || begins_alone(w, 1))
        runs[1] = !(runs[0] = begins_alone(w, 0));
    else if (!both)
        runs[1] = !(runs[0] = has_next(w, 0)) && has_next(w, 1);
    *forward = runs[0] ? next_place(w, 0) : -1;
    *backward = runs[1] ? next_place(w, 1) : -1;
    w->done[0] += runs[0];
    w->done[1] += runs[1];
    return runs[0] || runs[1];
}
