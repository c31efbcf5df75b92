/* Adds the layers of a stage as tasks, with their dependencies. */
#include <string.h>

#include "base/garray_access.h"
#include "sim/collective/collective.h"
#include "strategies/train/program/build_private.h"

/* Algorithm that the library chooses for this group and size; remembered, as a program has few
 * distinct ones. */
static RhAlgo algorithm(RhBuild *b, RhGroupKind group, RhOp op, double bytes,
                        const RhRouting *routing)
{
    for (guint i = 0; i < b->choices->len; i++) {
        const RhChoice *have = &g_array_index(b->choices, RhChoice, i);
        if (have->group == b->groups[group] && have->op == op && have->bytes == bytes &&
            memcmp(&have->routing, routing, sizeof *routing) == 0)
            return have->algo;
    }
    RhChoice made = {
        b->groups[group], op, bytes, *routing,
        rh_train_algorithm(b->sites, b->program, b->groups[group], op, bytes, routing)};
    g_array_append_val(b->choices, made);
    return made.algo;
}

void rh_build_wait_for(RhBuild *b, int32_t task)
{
    if (task < 0)
        return;
    uint8_t lane = rh_program_task(b->program, task)->lane;
    for (int32_t i = 0; i < b->now->pending_count; i++)
        if (rh_program_task(b->program, b->now->pending[i])->lane == lane) {
            b->now->pending[i] = MAX(b->now->pending[i], task);
            return;
        }
    b->now->pending[b->now->pending_count++] = task; /* one per lane */
}

RhTask rh_build_task(const RhBuild *b, RhTaskKind kind, RhLane lane, const char *label)
{
    return (RhTask){.kind = (uint8_t)kind,
                    .lane = (uint8_t)lane,
                    .phase = (uint8_t)b->now->phase,
                    .layer = (int16_t)b->layer,
                    .microbatch = b->now->microbatch,
                    .label = rh_program_label(b->program, label),
                    .bundle = -1,
                    .group = -1,
                    .peer_task = -1};
}

static void add_bundle(RhBuild *b, const RhLayerOp *task)
{
    g_autoptr(GArray) kernels = g_array_new(FALSE, FALSE, sizeof(RhKernel));
    for (int i = 0; i < RH_PARTS_MAX && task->parts[i]; i++)
        g_array_append_vals(kernels, task->parts[i]->kernels, (guint)task->parts[i]->kernels_count);
    rh_program_add_bundle(b->program, RH_ELEMENTS(kernels, RhKernel), (int32_t)kernels->len);
}

/* Number of a list's first bundle. Bundles are stored when the list first runs, in the order of its
 * kernels. */
static int32_t first_bundle(RhBuild *b, GArray *tasks)
{
    int32_t known = GPOINTER_TO_INT(g_hash_table_lookup(b->bundles, tasks));
    if (known > 0)
        return known - 1;
    int32_t first = (int32_t)b->program->bundles->len;
    g_hash_table_insert(b->bundles, tasks, GINT_TO_POINTER(first + 1));
    for (guint i = 0; i < tasks->len; i++) {
        const RhLayerOp *task = &g_array_index(tasks, RhLayerOp, i);
        if (task->lane == RH_LANE_COMPUTE)
            add_bundle(b, task);
    }
    return first;
}

/* Lists everything pending, and `last` when `behind_last`, without -1 and duplicates. */
int32_t rh_build_waits(const RhBuild *b, bool behind_last, int32_t *preds)
{
    int32_t count = 0;
    if (behind_last && b->now->last >= 0)
        preds[count++] = b->now->last;
    for (int32_t i = 0; i < b->now->pending_count; i++)
        preds[count++] = b->now->pending[i];
    return count;
}

typedef struct {
    RhLane lane;
    RhGroupKind group;
    RhOp op;
    double bytes;
    RhRouting routing;
    const char *label;
} Collective;

static int32_t add_collective(RhBuild *b, const Collective *c, const int32_t *preds, int32_t count)
{
    RhTask task = rh_build_task(b, RH_TASK_COLLECTIVE, c->lane, c->label);
    task.op = (uint8_t)c->op;
    task.algo = (uint8_t)algorithm(b, c->group, c->op, c->bytes, &c->routing);
    if (c->routing.experts > 0)
        task.volumes = rh_program_add_routing(b->program, &c->routing);
    task.group = b->groups[c->group];
    task.bytes = c->bytes;
    return rh_program_add_task(b->program, task, preds, count);
}

int32_t rh_build_exchange(RhBuild *b, RhLane lane, RhGroupKind group, RhOp op, double bytes,
                          const char *label)
{
    int32_t preds[RH_BUILD_PREDS_MAX], count = rh_build_waits(b, true, preds);
    b->now->pending_count = 0;
    Collective c = {.lane = lane, .group = group, .op = op, .bytes = bytes, .label = label};
    return add_collective(b, &c, preds, count);
}

/* Adds task i of a layer's pass; `ids` are the program's numbers of the earlier ones. */
static int32_t layer_task(RhBuild *b, const RhLayerOp *t, int32_t bundle, const int32_t *ids)
{
    bool kernel = t->lane == RH_LANE_COMPUTE;
    int32_t preds[RH_BUILD_PREDS_MAX], count = 0; /* ENTRY occurs once in a list */
    for (int32_t i = 0; i < t->after_count; i++)
        if (t->after[i] == RH_LAYER_OP_ENTRY)
            count += rh_build_waits(b, !kernel, preds + count);
        else
            preds[count++] = ids[t->after[i]];
    if (!kernel)
        return add_collective(
            b, &(Collective){t->lane, t->group, t->op, t->bytes, t->routing, t->label}, preds,
            count);
    RhTask task = rh_build_task(b, RH_TASK_KERNEL, RH_LANE_COMPUTE, t->label);
    task.bundle = bundle;
    return rh_program_add_task(b->program, task, preds, count);
}

void rh_build_memory(RhBuild *b, RhMemoryUse use, double bytes)
{
    rh_program_add_memory(b->program, RH_MEMORY_TIER_HBM, use, bytes);
}

static RhMemoryUse kept_as(const RhStageLayer *item)
{
    return item->kind == RH_LAYER_HEAD ? RH_MEMORY_LOGITS : RH_MEMORY_ACTIVATIONS;
}

static double working_bytes(const RhStageLayer *item, RhSlotPass pass)
{
    return pass == RH_SLOT_FORWARD ? item->bytes.forward : item->bytes.backward;
}

/* Records the memory of a layer: it keeps bytes from its forward until its last backward, and works
 * with more while a pass of it runs. */
static void hold_layer(RhBuild *b, const RhStageLayer *item, RhSlotPass pass)
{
    if (pass == RH_SLOT_FORWARD)
        rh_build_memory(b, kept_as(item), item->bytes.kept);
    if (pass == RH_SLOT_FORWARD && item->away_bytes > 0)
        rh_program_add_memory(b->program, RH_MEMORY_TIER_HOST, RH_MEMORY_ACTIVATIONS,
                              item->away_bytes);
    rh_build_memory(b, RH_MEMORY_RECOMPUTE, working_bytes(item, pass));
}

static void release_item(RhBuild *b, const RhStageLayer *item, RhSlotPass pass)
{
    rh_build_memory(b, RH_MEMORY_RECOMPUTE, -working_bytes(item, pass));
    if (rh_slot_ends(pass))
        rh_build_memory(b, kept_as(item), -item->bytes.kept);
    if (rh_slot_ends(pass) && item->away_bytes > 0)
        rh_program_add_memory(b->program, RH_MEMORY_TIER_HOST, RH_MEMORY_ACTIVATIONS,
                              -item->away_bytes);
}

/* Sets the pending tasks after a list: some of its own, or still those that were pending before. */
static void set_pending(RhBuild *b, const int32_t *left, int32_t left_count, const int32_t *ids)
{
    int32_t entry[RH_BUILD_WAITS_MAX + 1], entry_count = rh_build_waits(b, false, entry);
    b->now->pending_count = 0;
    for (int32_t i = 0; i < left_count; i++)
        if (left[i] != RH_LAYER_OP_ENTRY)
            rh_build_wait_for(b, ids[left[i]]);
        else
            for (int32_t k = 0; k < entry_count; k++)
                rh_build_wait_for(b, entry[k]);
}

/* Adds the tasks here, each in its own half of the current micro-batch or of a pair. `last`:
 * receives the last kernel of each half. */
static int32_t *run_tasks(RhBuild *b, GArray *tasks, const int32_t *layers, int32_t *last)
{
    int32_t *ids = g_new(int32_t, tasks->len + 1), bundle = first_bundle(b, tasks);
    RhBuildHalf *first = b->now;
    for (guint i = 0; i < tasks->len; i++) {
        const RhLayerOp *task = &g_array_index(tasks, RhLayerOp, i);
        b->now = first + task->half;
        b->layer = layers[task->half];
        RhPhase own = b->now->phase;
        if (task->phase != RH_PHASE_NONE)
            b->now->phase = task->phase;
        ids[i] = layer_task(b, task, bundle, ids);
        b->now->phase = own;
        if (task->lane == RH_LANE_COMPUTE) {
            last[task->half] = ids[i];
            bundle++;
        }
    }
    b->now = first;
    return ids;
}

static void run_pass(RhBuild *b, const RhStageLayer *item, const RhLayerPass *pass)
{
    int32_t last = b->now->last;
    g_autofree int32_t *ids = run_tasks(b, pass->tasks, &item->layer, &last);
    set_pending(b, pass->left, pass->left_count, ids);
    b->now->last = last;
}

void rh_build_layer(RhBuild *b, int32_t index, RhSlotPass slot_pass)
{
    const RhStageLayer *item = rh_stage_program_layer(b->stage_program, index);
    hold_layer(b, item, slot_pass);
    run_pass(b, item, &b->items->pass[item->kind][slot_pass]);
    release_item(b, item, slot_pass);
}

void rh_build_layer_of_pair(RhBuild *b, const RhStageLayer *item, bool back)
{
    RhSlotPass pass = back ? RH_SLOT_BACKWARD : RH_SLOT_FORWARD;
    b->now = &b->half[back];
    hold_layer(b, item, pass);
    run_pass(b, item,
             back ? &b->items->whole[item->kind] : &b->items->pass[item->kind][RH_SLOT_FORWARD]);
    release_item(b, item, pass);
}

void rh_build_layers_overlapped(RhBuild *b, const RhStageLayer *ahead, const RhStageLayer *back)
{
    const RhLayerPassPair *pair = &b->items->pair[ahead->kind][back->kind];
    int32_t layers[] = {ahead->layer, back->layer}, last[] = {b->half[0].last, b->half[1].last};
    hold_layer(b, ahead, RH_SLOT_FORWARD);
    hold_layer(b, back, RH_SLOT_BACKWARD);
    b->now = b->half;
    g_autofree int32_t *ids = run_tasks(b, pair->tasks, layers, last);
    for (int which = 0; which < 2; which++) {
        b->now = &b->half[which];
        set_pending(b, pair->half[which].left, pair->half[which].left_count, ids);
        b->now->last = last[which];
    }
    release_item(b, ahead, RH_SLOT_FORWARD);
    release_item(b, back, RH_SLOT_BACKWARD);
}

/* Adds the latest tasks of the lanes that an instruction waits for, those that are not listed yet. */
static int32_t add_latest(const RhBuild *b, uint32_t lanes, int32_t *preds, int32_t count)
{
    for (int lane = 0; lane < RH_LANE_LAST; lane++) {
        int32_t task = lanes & RH_LANE_BIT(lane) ? b->latest[lane] : -1;
        for (int32_t i = 0; i < count && task >= 0; i++)
            if (preds[i] == task)
                task = -1;
        if (task >= 0)
            preds[count++] = task;
    }
    return count;
}

static void communicate(RhBuild *b, const RhInstr *step)
{
    GArray *sent = b->sent[step->lane];
    RhPhase own = b->now->phase;
    int32_t preds[RH_BUILD_PREDS_MAX], count = 0;
    if (step->ahead == 0)
        count = rh_build_waits(b, true, preds);
    else if ((int32_t)sent->len >= step->ahead &&
             g_array_index(sent, int32_t, sent->len - (guint)step->ahead) >= 0)
        preds[count++] = g_array_index(sent, int32_t, sent->len - (guint)step->ahead);
    count = add_latest(b, step->after, preds, count);
    b->now->phase = (RhPhase)step->phase;
    Collective c = {.lane = (RhLane)step->lane,
                    .group = (RhGroupKind)step->group,
                    .op = (RhOp)step->op,
                    .bytes = step->bytes,
                    .label = step->label};
    int32_t task = add_collective(b, &c, preds, count);
    b->now->phase = own;
    g_array_append_val(sent, b->now->last);
    b->latest[step->lane] = task;
    if (b->now->microbatch < 0)
        g_array_append_val(b->begin, task);
}

/* Adds a copy, or work of the host, after the pending tasks and the lanes that it names; of
 * activations on the way back after the copy out, and once there is memory for it. */
static void add_copy(RhBuild *b, const RhInstr *step)
{
    bool out = step->lane == RH_LANE_COPY_OUT, back = step->lane == RH_LANE_COPY_IN;
    GArray *sent = b->sent[step->lane];
    RhTask task = rh_build_task(b, RH_TASK_COPY, (RhLane)step->lane, step->label);
    int32_t preds[RH_BUILD_PREDS_MAX], count = 0;
    int32_t none = -1,
            *way_out =
                out || back ? &b->copies[step->item * b->microbatches + b->now->microbatch] : &none;
    task.from = step->from;
    task.to = step->to;
    task.phase = step->phase;
    task.layer = (int16_t)rh_stage_program_layer(b->stage_program, step->item)->layer;
    task.bytes = step->bytes;
    if (step->ahead == 0)
        count = rh_build_waits(b, true, preds);
    else if ((int32_t)sent->len >= step->ahead &&
             g_array_index(sent, int32_t, sent->len - (guint)step->ahead) >= 0)
        preds[count++] = g_array_index(sent, int32_t, sent->len - (guint)step->ahead);
    if (back)
        preds[count++] = *way_out;
    count = add_latest(b, step->after, preds, count);
    int32_t id = rh_program_add_task(b->program, task, preds, count);
    if (out)
        *way_out = id;
    g_array_append_val(sent, b->now->last);
    b->before[step->lane] = b->latest[step->lane];
    b->latest[step->lane] = id;
}

/* Adds a kernel that belongs to no layer, after everything pending. */
void rh_build_kernel(RhBuild *b, const RhKernel *kernel, const char *label)
{
    RhTask task = rh_build_task(b, RH_TASK_KERNEL, RH_LANE_COMPUTE, label);
    task.bundle = rh_program_add_bundle(b->program, kernel, 1);
    b->now->last = rh_program_add_task(b->program, task, b->now->pending, b->now->pending_count);
    b->now->pending_count = 0;
}

void rh_build_instr(RhBuild *b, const RhInstr *step)
{
    if (step->kind == RH_INSTR_RUN)
        rh_build_layer(b, step->item, (RhSlotPass)step->pass);
    else if (step->kind == RH_INSTR_KERNEL)
        rh_build_kernel(b, rh_stage_program_kernel(b->stage_program, step), step->label);
    else if (step->kind == RH_INSTR_COMMUNICATE)
        communicate(b, step);
    else if (step->kind == RH_INSTR_COPY)
        add_copy(b, step);
    else if (step->begin_index >= 0)
        rh_build_wait_for(b, g_array_index(b->begin, int32_t, step->begin_index));
    else
        rh_build_wait_for(b, (step->ahead > 0 ? b->before : b->latest)[step->lane]);
}

void rh_build_instrs(RhBuild *b, RhInstrRange steps)
{
    for (int32_t i = steps.first; i < steps.first + steps.count; i++)
        rh_build_instr(b, rh_stage_program_instr(b->stage_program, i));
}
