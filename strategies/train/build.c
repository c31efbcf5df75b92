/* The builder: one role per pipeline stage, its slots in the schedule's order, every slot by its
 * script, every item by its tasks. */
#include "strategies/train/build.h"

#include <string.h>

#include "base/error.h"
#include "sim/collective/collective.h"
#include "strategies/train/cuts/cut.h"
#include "strategies/train/script.h"

/* What the next kernel of a stage waits for, at most: lanes run in order, so the latest task of each
 * stands for those before it (wait_for). */
#define WAITS_MAX RH_LANE_LAST
/* Of one task: all that, the last kernel, and its own list's. */
#define PREDS_MAX (WAITS_MAX + 1 + RH_PENDING_MAX)

/* An algorithm chosen once per group, operation and size. */
typedef struct {
    RhGroupKind group;
    RhOp op;
    double bytes;
    RhRouting routing;
    RhAlgo algo;
} Choice;

typedef struct {
    const RhCase *c;
    const RhLayout *layout;
    const RhPieces *pieces;
    const RhItems *items;
    RhGrid grid;
    RhProgram *program;
    GArray *choices; /* Choice */
    int32_t groups[RH_GROUP_LAST];
    int32_t (*bundles)[RH_SLOT_PASSES]; /* per kind of item: bundle of its first task, -1 unknown */
    int32_t *sends[2], *recvs[2]; /* [backward][model chunk * microbatches + microbatch], or -1 */
    int32_t microbatches;
    /* where we are */
    const RhScript *script;
    int32_t layer, microbatch;
    RhPhase phase;
    int32_t last;               /* last compute task of the role, -1 at first */
    int32_t pending[WAITS_MAX]; /* what the next kernel waits for besides its lane */
    int32_t pending_count;
    GArray *sent[RH_LANE_LAST];   /* int32_t: `last` when each communication was sent for */
    int32_t latest[RH_LANE_LAST]; /* latest communication, -1 */
    GArray *begin;                /* int32_t: communications of the step's beginning */
} Build;

/* --- the skeleton: groups and roles --- */

/* Groups that join stages of such a job, those of the norm apart. */
static uint32_t joining(const RhCase *c)
{
    return (uint32_t)c->model->tied_embeddings << RH_GROUP_TIED;
}

uint32_t rh_train_joining(const RhCase *c)
{
    uint32_t norm = c->stack->gradient_norm ? 1U << RH_GROUP_MODEL | 1U << RH_GROUP_ALL : 0;
    return joining(c) | norm;
}

RhProgram *rh_train_skeleton(const RhCase *c, const RhLayout *l, int32_t groups[RH_GROUP_LAST])
{
    RhProgram *p = rh_program_new(c->job.gpus);
    RhGrid grid = rh_grid(l);
    rh_grid_add_groups(&grid, p, rh_train_joining(c), groups);
    for (int32_t stage = 0; stage < l->pp; stage++) {
        rh_grid_begin_stage(&grid, p, stage);
        rh_program_end_role(p);
    }
    return p;
}

int32_t *rh_train_group_nodes(const RhCase *c, const RhProgram *p, int32_t group, int32_t rank)
{
    const RhGroup *g = rh_program_group(p, group);
    int32_t *nodes = g_new(int32_t, g->size);
    rh_group_members(g, rank, nodes);
    for (int32_t i = 0; i < g->size; i++)
        nodes[i] = rh_platform_node_of(c->platform, rh_program_gpu(p, nodes[i]));
    return nodes;
}

RhAlgo rh_train_algorithm(const RhCase *c, const RhProgram *p, int32_t group, RhOp op, double bytes,
                          const RhRouting *routing)
{
    g_autofree int32_t *nodes = rh_train_group_nodes(c, p, group, 0);
    return rh_collective_choose_routed(op, rh_program_group(p, group)->size, nodes, bytes,
                                       routing->experts > 0 ? routing : NULL, c->platform, NULL);
}

/* The library's choice for this group and size, remembered: a program has few distinct ones. */
static RhAlgo algorithm(Build *b, RhGroupKind group, RhOp op, double bytes,
                        const RhRouting *routing)
{
    for (guint i = 0; i < b->choices->len; i++) {
        const Choice *have = &g_array_index(b->choices, Choice, i);
        if (have->group == group && have->op == op && have->bytes == bytes &&
            memcmp(&have->routing, routing, sizeof *routing) == 0)
            return have->algo;
    }
    Choice made = {group, op, bytes, *routing,
                   rh_train_algorithm(b->c, b->program, b->groups[group], op, bytes, routing)};
    g_array_append_val(b->choices, made);
    return made.algo;
}

/* --- tasks --- */

static void wait_for(Build *b, int32_t task)
{
    if (task < 0)
        return;
    uint8_t lane = rh_program_task(b->program, task)->lane;
    for (int32_t i = 0; i < b->pending_count; i++)
        if (rh_program_task(b->program, b->pending[i])->lane == lane) {
            b->pending[i] = MAX(b->pending[i], task);
            return;
        }
    b->pending[b->pending_count++] = task; /* one a lane */
}

static RhTask task_here(const Build *b, RhTaskKind kind, RhLane lane, const char *label)
{
    return (RhTask){.kind = (uint8_t)kind,
                    .lane = (uint8_t)lane,
                    .phase = (uint8_t)b->phase,
                    .layer = (int16_t)b->layer,
                    .microbatch = b->microbatch,
                    .label = rh_program_label(b->program, label),
                    .bundle = -1,
                    .group = -1,
                    .peer_task = -1};
}

static int32_t add_bundle(Build *b, const RhItemTask *task)
{
    g_autoptr(GArray) kernels = g_array_new(FALSE, FALSE, sizeof(RhKernel));
    for (int i = 0; i < RH_PARTS_MAX && task->parts[i]; i++)
        g_array_append_vals(kernels, task->parts[i]->kernels->data, task->parts[i]->kernels->len);
    return rh_program_add_bundle(b->program, (const RhKernel *)(void *)kernels->data,
                                 (int32_t)kernels->len);
}

/* Bundles of a pass are stored when it first runs, in the order of its kernels. */
static int32_t first_bundle(Build *b, int kind, RhSlotPass pass)
{
    if (b->bundles[kind][pass] < 0) {
        const RhItemPass *p = &b->items->pass[kind][pass];
        b->bundles[kind][pass] = (int32_t)b->program->bundles->len;
        for (guint i = 0; i < p->tasks->len; i++) {
            const RhItemTask *task = &g_array_index(p->tasks, RhItemTask, i);
            if (task->lane == RH_LANE_COMPUTE)
                add_bundle(b, task);
        }
    }
    return b->bundles[kind][pass];
}

/* Everything pending, and `last` when `behind_last`, without -1 and doubles. */
static int32_t list_waits(const Build *b, bool behind_last, int32_t *preds)
{
    int32_t count = 0;
    if (behind_last && b->last >= 0)
        preds[count++] = b->last;
    for (int32_t i = 0; i < b->pending_count; i++)
        preds[count++] = b->pending[i];
    return count;
}

static int32_t collective(Build *b, RhLane lane, RhGroupKind group, RhOp op, double bytes,
                          const RhRouting *routing, const char *label, const int32_t *preds,
                          int32_t count)
{
    RhTask task = task_here(b, RH_TASK_COLLECTIVE, lane, label);
    task.op = (uint8_t)op;
    task.algo = (uint8_t)algorithm(b, group, op, bytes, routing);
    if (routing->experts > 0)
        task.volumes = rh_program_add_routing(b->program, routing);
    task.group = b->groups[group];
    task.bytes = bytes;
    return rh_program_add_task(b->program, task, preds, count);
}

/* Adds task i of an item's pass; `ids` are the program's numbers of those before. */
static int32_t item_task(Build *b, const RhItemTask *t, int32_t bundle, const int32_t *ids)
{
    bool kernel = t->lane == RH_LANE_COMPUTE;
    int32_t preds[PREDS_MAX], count = 0; /* ENTRY is in a list once */
    for (int32_t i = 0; i < t->after_count; i++)
        if (t->after[i] == RH_ITEM_ENTRY)
            count += list_waits(b, !kernel, preds + count);
        else
            preds[count++] = ids[t->after[i]];
    if (!kernel)
        return collective(b, t->lane, t->group, t->op, t->bytes, &t->routing, t->label, preds,
                          count);
    RhTask task = task_here(b, RH_TASK_KERNEL, RH_LANE_COMPUTE, t->label);
    task.bundle = bundle;
    return rh_program_add_task(b->program, task, preds, count);
}

static void add_memory(Build *b, RhMemoryUse use, double bytes)
{
    rh_program_add_memory(b->program, RH_MEMORY_TIER_HBM, use, bytes);
}

static RhMemoryUse kept_as(const RhItem *item)
{
    return item->kind == RH_ITEM_HEAD ? RH_MEMORY_LOGITS : RH_MEMORY_ACTIVATIONS;
}

static double working_bytes(const RhItem *item, RhSlotPass pass)
{
    return pass == RH_SLOT_FORWARD ? item->bytes.forward : item->bytes.backward;
}

/* An item keeps what it needs from its forward until its last backward, and works with more while a
 * pass of it runs. */
static void hold_item(Build *b, const RhItem *item, RhSlotPass pass)
{
    if (pass == RH_SLOT_FORWARD)
        add_memory(b, kept_as(item), item->bytes.kept);
    add_memory(b, RH_MEMORY_RECOMPUTE, working_bytes(item, pass));
}

static void release_item(Build *b, const RhItem *item, RhSlotPass pass)
{
    add_memory(b, RH_MEMORY_RECOMPUTE, -working_bytes(item, pass));
    if (rh_slot_ends(pass))
        add_memory(b, kept_as(item), -item->bytes.kept);
}

/* Repeats an item's tasks here. */
static void run_item(Build *b, int32_t index, RhSlotPass slot_pass)
{
    const RhItem *item = rh_script_item(b->script, index);
    const RhItemPass *pass = &b->items->pass[item->kind][slot_pass];
    RhPhase own = b->phase;
    int32_t bundle = first_bundle(b, item->kind, slot_pass), last = b->last;
    g_autofree int32_t *ids = g_new(int32_t, pass->tasks->len + 1);
    int32_t entry[WAITS_MAX + 1], entry_count;
    b->layer = item->layer;
    hold_item(b, item, slot_pass);
    for (guint i = 0; i < pass->tasks->len; i++) {
        const RhItemTask *task = &g_array_index(pass->tasks, RhItemTask, i);
        b->phase = task->phase != RH_PHASE_NONE ? task->phase : own;
        ids[i] = item_task(b, task, bundle, ids);
        if (task->lane == RH_LANE_COMPUTE) {
            last = ids[i];
            bundle++;
        }
    }
    entry_count = list_waits(b, false, entry);
    b->pending_count = 0;
    for (int32_t i = 0; i < pass->left_count; i++)
        if (pass->left[i] != RH_ITEM_ENTRY)
            wait_for(b, ids[pass->left[i]]);
        else
            for (int32_t k = 0; k < entry_count; k++)
                wait_for(b, entry[k]);
    release_item(b, item, slot_pass);
    b->last = last;
    b->phase = own;
}

static void communicate(Build *b, const RhStep *step)
{
    GArray *sent = b->sent[step->lane];
    RhPhase own = b->phase;
    int32_t preds[PREDS_MAX], count = 0;
    if (step->ahead == 0)
        count = list_waits(b, true, preds);
    else if ((int32_t)sent->len >= step->ahead &&
             g_array_index(sent, int32_t, sent->len - (guint)step->ahead) >= 0)
        preds[count++] = g_array_index(sent, int32_t, sent->len - (guint)step->ahead);
    b->phase = (RhPhase)step->phase;
    int32_t task = collective(b, (RhLane)step->lane, (RhGroupKind)step->group, (RhOp)step->op,
                              step->bytes, &(RhRouting){0}, step->label, preds, count);
    b->phase = own;
    g_array_append_val(sent, b->last);
    b->latest[step->lane] = task;
    if (b->microbatch < 0)
        g_array_append_val(b->begin, task);
}

/* A kernel of no item, behind everything pending. */
static void run_kernel(Build *b, const RhKernel *kernel, const char *label)
{
    RhTask task = task_here(b, RH_TASK_KERNEL, RH_LANE_COMPUTE, label);
    task.bundle = rh_program_add_bundle(b->program, kernel, 1);
    b->last = rh_program_add_task(b->program, task, b->pending, b->pending_count);
    b->pending_count = 0;
}

static void run_steps(Build *b, RhSteps steps)
{
    for (int32_t i = steps.first; i < steps.first + steps.count; i++) {
        const RhStep *step = rh_script_step(b->script, i);
        if (step->kind == RH_STEP_RUN)
            run_item(b, step->item, (RhSlotPass)step->pass);
        else if (step->kind == RH_STEP_KERNEL)
            run_kernel(b, rh_script_kernel(b->script, step), step->label);
        else if (step->kind == RH_STEP_COMMUNICATE)
            communicate(b, step);
        else
            wait_for(b, step->begin_index >= 0 ? g_array_index(b->begin, int32_t, step->begin_index)
                                               : b->latest[step->lane]);
    }
}

/* --- messages between stages --- */

/* A message's sending or receiving end, from or to the stage `other`. */
static int32_t message(Build *b, RhTaskKind kind, RhLane lane, int32_t other, const char *label)
{
    RhTask task = task_here(b, kind, lane, label);
    task.layer = -1;
    task.peer_delta = (other - b->script->stage) * b->grid.stride[RH_DIM_PP];
    task.bytes = b->pieces->message_bytes;
    int32_t preds[PREDS_MAX], count = 0;
    if (kind == RH_TASK_SEND) {
        count = list_waits(b, true, preds);
        b->pending_count = 0;
    }
    return rh_program_add_task(b->program, task, preds, count);
}

static bool is_turned(const RhPipelineSchedule *schedule, const RhSlot *slot)
{
    return schedule->turns && slot->chunk % 2;
}

RhLane rh_train_send_lane(const RhPipelineSchedule *schedule, const RhSlot *slot)
{
    bool back = rh_slot_goes_back(slot->pass);
    if (is_turned(schedule, slot))
        return back ? RH_LANE_TURNED_SEND_NEXT : RH_LANE_TURNED_SEND_PREV;
    return back ? RH_LANE_SEND_PREV : RH_LANE_SEND_NEXT;
}

RhLane rh_train_receive_lane(const RhPipelineSchedule *schedule, const RhSlot *slot)
{
    bool back = rh_slot_goes_back(slot->pass);
    if (is_turned(schedule, slot))
        return back ? RH_LANE_TURNED_RECV_PREV : RH_LANE_TURNED_RECV_NEXT;
    return back ? RH_LANE_RECV_NEXT : RH_LANE_RECV_PREV;
}

/* The stage whose model chunk is one on from g, or one back; -1 where there is none, or it is this
 * one: the order of its slots says all. */
static int32_t stage_beside(const Build *b, int32_t g, bool on)
{
    int32_t other = on ? g + 1 : g - 1, pp = b->layout->pp;
    if (other < 0 || other >= pp * b->layout->vpp)
        return -1;
    int32_t stage = rh_pipeline_stage(rh_pipeline_schedule(b->layout->schedule), pp, other);
    return stage == b->script->stage ? -1 : stage;
}

/* Gradients of weights stay where they are: nothing comes in, nothing goes out. */
static void receive(Build *b, const RhSlot *slot, int32_t g)
{
    bool back = rh_slot_goes_back(slot->pass);
    int32_t from = stage_beside(b, g, back);
    if (slot->pass == RH_SLOT_BACKWARD_WEIGHT || from < 0)
        return;
    RhLane lane = rh_train_receive_lane(rh_pipeline_schedule(b->layout->schedule), slot);
    int32_t task =
        message(b, RH_TASK_RECV, lane, from, back ? "receive gradients" : "receive activations");
    b->recvs[back][g * b->microbatches + slot->microbatch] = task;
    wait_for(b, task);
}

static void send(Build *b, const RhSlot *slot, int32_t g)
{
    bool back = rh_slot_goes_back(slot->pass);
    int32_t to = stage_beside(b, g, !back);
    if (slot->pass == RH_SLOT_BACKWARD_WEIGHT || to < 0)
        return;
    b->sends[back][g * b->microbatches + slot->microbatch] = message(
        b, RH_TASK_SEND, rh_train_send_lane(rh_pipeline_schedule(b->layout->schedule), slot), to,
        back ? "send gradients" : "send activations");
}

static void match_messages(Build *b)
{
    int32_t chunks = b->layout->pp * b->layout->vpp;
    for (int32_t g = 0; g + 1 < chunks; g++)
        for (int32_t m = 0; m < b->microbatches; m++) {
            int32_t here = g * b->microbatches + m, next = here + b->microbatches;
            if (b->sends[0][here] < 0)
                continue; /* on one stage */
            rh_program_match(b->program, b->sends[0][here], b->recvs[0][next]);
            rh_program_match(b->program, b->sends[1][next], b->recvs[1][here]);
        }
}

/* --- slots --- */

/* Nothing but the chunk's items, in the order of the pass. */
static void run_items(Build *b, const RhSlot *slot)
{
    const int32_t *first = b->script->chunk_items + slot->chunk;
    for (int32_t k = 0, count = first[1] - first[0]; k < count; k++)
        run_item(b, slot->pass == RH_SLOT_FORWARD ? first[0] + k : first[1] - 1 - k, slot->pass);
}

static void run_slot(Build *b, const RhSlot *slot, const RhSlotKind *kind)
{
    int32_t g = rh_pipeline_model_chunk(rh_pipeline_schedule(b->layout->schedule), b->layout->pp,
                                        b->script->stage, slot->chunk);
    b->microbatch = slot->microbatch;
    b->layer = -1;
    b->phase = rh_slot_phase(slot->pass);
    receive(b, slot, g);
    RhSteps steps = rh_script_slot(b->script, kind);
    if (steps.count == 0)
        run_items(b, slot);
    else
        run_steps(b, steps);
    send(b, slot, g);
}

static void run_slots(Build *b)
{
    const RhLayout *l = b->layout;
    const RhPipelineSchedule *schedule = rh_pipeline_schedule(l->schedule);
    int64_t total = rh_pipeline_slots_count(schedule, l->vpp, b->microbatches);
    g_autofree RhSlot *slots = g_new(RhSlot, total);
    g_autofree int32_t *done = g_new0(int32_t, (gsize)l->vpp * RH_SLOT_PASSES);
    schedule->order(l->pp, l->vpp, b->microbatches, b->script->stage, slots);
    for (int64_t i = 0; i < total; i++) {
        RhSlotKind kind = rh_slot_kind_next(&slots[i], b->microbatches, done);
        run_slot(b, &slots[i], &kind);
    }
}

/* --- stages --- */

/* What communication needs besides: of each lane and class of parameters, the largest step's buffers; and a message
 * from each side. */
static double buffer_bytes(const Build *b)
{
    double most[RH_LANE_LAST][RH_PARAMS_LAST] = {{0}};
    double sum = b->layout->pp > 1 ? 2 * b->pieces->message_bytes : 0;
    for (guint i = 0; i < b->script->steps->len; i++) {
        const RhStep *step = rh_script_step(b->script, (int32_t)i);
        bool experts = step->group == rh_params_group(RH_PARAMS_EXPERTS);
        double *have = &most[step->lane][experts ? RH_PARAMS_EXPERTS : RH_PARAMS_COMMON];
        if (step->kind == RH_STEP_COMMUNICATE)
            *have = MAX(*have, step->buffers * step->bytes);
    }
    for (int lane = 0; lane < RH_LANE_LAST; lane++)
        for (int cls = 0; cls < RH_PARAMS_LAST; cls++)
            sum += most[lane][cls];
    return sum;
}

/* What the stage holds from step to step. */
static void hold_states(Build *b)
{
    const RhStack *stack = b->c->stack;
    for (int cls = 0; cls < RH_PARAMS_LAST; cls++) {
        double params = b->script->states.params.of[cls];
        RhShares shares = rh_cut_shares(b->layout, (RhParamsClass)cls);
        if (params <= 0)
            continue;
        add_memory(b, RH_MEMORY_WEIGHTS, RH_WEIGHT_BYTES * params / shares.weights);
        if (shares.again > 0)
            add_memory(b, RH_MEMORY_WEIGHTS, RH_WEIGHT_BYTES * params / shares.again);
        add_memory(b, RH_MEMORY_GRADIENTS, rh_gradient_bytes(b->c) * params / shares.gradients);
        add_memory(b, RH_MEMORY_OPTIMIZER,
                   rh_optimizer_state_bytes(b->c) * params / shares.optimizer);
    }
    if (b->script->states.frozen > 0)
        add_memory(b, RH_MEMORY_WEIGHTS, RH_WEIGHT_BYTES * b->script->states.frozen);
    double copies = b->c->job.recipe->weight_copy_bytes * b->script->states.linear;
    if (copies > 0)
        add_memory(b, RH_MEMORY_WEIGHTS, copies);
    add_memory(b, RH_MEMORY_COMMUNICATION, buffer_bytes(b));
    add_memory(b, RH_MEMORY_RESERVE, stack->reserve_bytes.value);
}

static void begin_step(Build *b)
{
    b->last = -1;
    b->pending_count = 0;
    b->layer = b->microbatch = -1;
    b->phase = RH_PHASE_PARAMETER;
    g_array_set_size(b->begin, 0);
    for (int lane = 0; lane < RH_LANE_LAST; lane++) {
        g_array_set_size(b->sent[lane], 0);
        b->latest[lane] = -1;
    }
    run_steps(b, b->script->begin);
}

static void end_step(Build *b)
{
    b->phase = RH_PHASE_OPTIMIZER;
    b->layer = b->microbatch = -1;
    run_steps(b, b->script->end);
    RhKernel kernel = rh_optimizer_kernel(b->c, b->layout, &b->script->states);
    run_kernel(b, &kernel, "optimizer");
}

static void run_stage(Build *b, int32_t stage)
{
    g_autoptr(RhScript) script = rh_script_new(b->pieces, b->layout, stage);
    b->script = script;
    rh_grid_begin_stage(&b->grid, b->program, stage);
    hold_states(b);
    begin_step(b);
    run_slots(b);
    end_step(b);
    rh_program_end_role(b->program);
}

static double tasks_of(const RhPieces *pieces, const RhItems *items, const RhLayout *l)
{
    int64_t m = rh_train_microbatches(pieces->c, l);
    double sum = 0;
    for (int32_t stage = 0; stage < l->pp; stage++) {
        g_autoptr(RhScript) script = rh_script_new(pieces, l, stage);
        sum += rh_script_tasks(script, items, m);
    }
    return sum;
}

double rh_train_tasks(const RhCase *c, const RhLayout *l)
{
    g_autoptr(RhPieces) pieces = rh_pieces_new(c, l);
    g_autoptr(RhItems) items = rh_items_new(l, pieces);
    return tasks_of(pieces, items, l);
}

static bool small_enough(double tasks, GError **error)
{
    if (tasks > RH_TRAIN_TASKS_MAX)
        return rh_fail(
            error, RH_ERROR_USAGE,
            "this step has about %.0f million tasks, more than a rehearsal holds\nhelp: fewer "
            "micro-batches (a larger mb, a smaller global batch)",
            tasks / 1e6);
    return true;
}

static void build_begin(Build *b, const RhCase *c)
{
    size_t messages = (size_t)b->layout->pp * (size_t)b->layout->vpp * (size_t)b->microbatches;
    int32_t *ends = g_new(int32_t, 4 * messages);
    memset(ends, -1, 4 * messages * sizeof(int32_t));
    b->sends[0] = ends;
    b->sends[1] = ends + messages;
    b->recvs[0] = ends + 2 * messages;
    b->recvs[1] = ends + 3 * messages;
    b->bundles = g_malloc(sizeof(*b->bundles) * RH_ITEM_KINDS);
    memset(b->bundles, -1, sizeof(*b->bundles) * RH_ITEM_KINDS);
    b->choices = g_array_new(FALSE, FALSE, sizeof(Choice));
    b->begin = g_array_new(FALSE, FALSE, sizeof(int32_t));
    for (int lane = 0; lane < RH_LANE_LAST; lane++)
        b->sent[lane] = g_array_new(FALSE, FALSE, sizeof(int32_t));
    b->program = rh_program_new(c->job.gpus);
    b->program->kernel_gap_s = c->stack->kernel_gap_s.value;
    b->program->gap_source = c->stack->kernel_gap_s.source;
    uint32_t norm = (uint32_t)c->stack->gradient_norm << rh_norm_group(b->layout);
    uint32_t others = rh_tied_params(b->pieces, b->layout) > 0 ? joining(c) : 0;
    rh_grid_add_groups(&b->grid, b->program, others | norm, b->groups);
}

static void build_end(Build *b)
{
    g_free(b->sends[0]);
    g_free(b->bundles);
    g_array_unref(b->choices);
    g_array_unref(b->begin);
    for (int lane = 0; lane < RH_LANE_LAST; lane++)
        g_array_unref(b->sent[lane]);
}

RhProgram *rh_train_build(const RhCase *c, const RhLayout *layout, GError **error)
{
    g_autoptr(RhPieces) pieces = rh_pieces_new(c, layout);
    g_autoptr(RhItems) items = rh_items_new(layout, pieces);
    if (!small_enough(tasks_of(pieces, items, layout), error))
        return NULL;
    Build b = {.c = c,
               .layout = layout,
               .pieces = pieces,
               .items = items,
               .grid = rh_grid(layout),
               .microbatches = (int32_t)rh_train_microbatches(c, layout)};
    build_begin(&b, c);
    for (int32_t stage = 0; stage < layout->pp; stage++)
        run_stage(&b, stage);
    match_messages(&b);
    build_end(&b);
    return b.program;
}
