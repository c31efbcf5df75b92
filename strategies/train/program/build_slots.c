/* Adds the slots of a stage in the schedule's order, and the messages between them. */
#include "strategies/train/parallelism/parallelism.h"
#include "strategies/train/program/build_private.h"

/* --- messages between stages --- */

/* Adds a message's sending or receiving end, to or from the stage `other`, between a model chunk
 * and the next, or back; where stages of two widths meet, a call of the exchange between all of a
 * replica's ranks of both. */
static int32_t message(RhBuild *b, RhTaskKind kind, RhLane lane, int32_t other, int32_t chunk,
                       bool back)
{
    static const char *const labels[2][2] = {{"receive activations", "receive gradients"},
                                             {"send activations", "send gradients"}};
    const char *label = labels[kind == RH_TASK_SEND][back];
    RhTask task = rh_build_task(b, kind, lane, label);
    task.layer = -1;
    if (MIN(other, b->stage_program->stage) == b->join_stage) {
        task.kind = RH_TASK_COLLECTIVE;
        task.op = RH_OP_ALL_TO_ALL;
        task.algo = RH_ALGO_DIRECT;
        task.group = b->join[back].group;
        task.volumes = b->join[back].volumes;
        task.bytes = b->join[back].bytes;
    } else {
        task.peer_delta = (other - b->stage_program->stage) * b->grid.stride[RH_DIM_PP];
        task.bytes = rh_boundary_message_bytes(&b->messages[chunk], back);
    }
    int32_t preds[RH_BUILD_PREDS_MAX], count = 0;
    if (kind == RH_TASK_SEND) {
        count = rh_build_waits(b, true, preds);
        b->now->pending_count = 0;
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

/* Stage of the model chunk after g, or before it; -1 where there is none, or it is this stage: then
 * the order of slots suffices. */
static int32_t stage_beside(const RhBuild *b, int32_t g, bool on)
{
    int32_t other = on ? g + 1 : g - 1, pp = b->layout->pp;
    if (other < 0 || other >= pp * b->layout->vpp)
        return -1;
    int32_t stage = rh_pipeline_stage(rh_pipeline_of(b->layout), pp, other);
    return stage == b->stage_program->stage ? -1 : stage;
}

/* Is the output of model chunk g, or its gradient, exchanged with that of the twin? It would stay
 * on the stage otherwise. */
static bool crosses(const RhBuild *b, int32_t g, bool on)
{
    int32_t other = on ? g + 1 : g - 1, chunks = b->layout->pp * b->layout->vpp;
    return rh_pipeline_of(b->layout)->crosses && other >= 0 && other < chunks &&
           stage_beside(b, g, on) < 0;
}

/* Exchanges outputs with the twin: each has the input of the other one's next chunk, or of the one
 * before. */
static void exchange_with_twin(RhBuild *b, const RhSlot *slot, int32_t g)
{
    bool back = rh_slot_goes_back(slot->pass);
    int32_t to = back ? g - 1 : g + 1;
    b->recvs[back][to * b->microbatches + slot->microbatch] =
        rh_build_exchange(b, rh_train_send_lane(rh_pipeline_of(b->layout), slot), RH_GROUP_TWINS,
                          RH_OP_SHIFT, rh_boundary_message_bytes(&b->messages[MIN(g, to)], back),
                          back ? "exchange gradients" : "exchange activations");
}

/* Receives a slot's input. Gradients of weights stay on the stage: nothing is received or sent. */
static void receive_input(RhBuild *b, const RhSlot *slot, int32_t g)
{
    bool back = rh_slot_goes_back(slot->pass);
    int32_t from = stage_beside(b, g, back);
    if (slot->pass != RH_SLOT_BACKWARD_WEIGHT && crosses(b, g, back))
        rh_build_wait_for(b, b->recvs[back][g * b->microbatches + slot->microbatch]);
    if (slot->pass == RH_SLOT_BACKWARD_WEIGHT || from < 0)
        return;
    RhLane lane = rh_train_receive_lane(rh_pipeline_of(b->layout), slot);
    int32_t task = message(b, RH_TASK_RECV, lane, from, back ? g : g - 1, back);
    b->recvs[back][g * b->microbatches + slot->microbatch] = task;
    rh_build_wait_for(b, task);
}

static void send_output(RhBuild *b, const RhSlot *slot, int32_t g)
{
    bool back = rh_slot_goes_back(slot->pass);
    int32_t to = stage_beside(b, g, !back);
    if (slot->pass != RH_SLOT_BACKWARD_WEIGHT && crosses(b, g, !back))
        exchange_with_twin(b, slot, g);
    if (slot->pass == RH_SLOT_BACKWARD_WEIGHT || to < 0)
        return;
    b->sends[back][g * b->microbatches + slot->microbatch] =
        message(b, RH_TASK_SEND, rh_train_send_lane(rh_pipeline_of(b->layout), slot), to,
                back ? g - 1 : g, back);
}

void rh_build_match(RhBuild *b)
{
    int32_t chunks = b->layout->pp * b->layout->vpp;
    for (int32_t g = 0; g + 1 < chunks; g++)
        for (int32_t m = 0; m < b->microbatches; m++) {
            int32_t here = g * b->microbatches + m, next = here + b->microbatches;
            if (b->sends[0][here] < 0 || g == b->join_stage)
                continue; /* the next chunk is on this stage, or there is a call of both */
            rh_program_match(b->program, b->sends[0][here], b->recvs[0][next]);
            if (!b->c->job.forward_only)
                rh_program_match(b->program, b->sends[1][next], b->recvs[1][here]);
        }
}

/* --- slots --- */

/* Runs only the chunk's layers, in the order of the pass. */
static void run_layers(RhBuild *b, const RhSlot *slot)
{
    const int32_t *first = b->stage_program->chunk_layers + slot->chunk;
    for (int32_t k = 0, count = first[1] - first[0]; k < count; k++)
        rh_build_layer(b, slot->pass == RH_SLOT_FORWARD ? first[0] + k : first[1] - 1 - k,
                       slot->pass);
}

static int32_t begin_slot(RhBuild *b, const RhSlot *slot)
{
    int32_t g = rh_pipeline_model_chunk(rh_pipeline_of(b->layout), b->layout->pp,
                                        b->stage_program->stage, slot->chunk);
    b->now->microbatch = slot->microbatch;
    b->layer = -1;
    b->now->phase = rh_slot_phase(slot->pass);
    receive_input(b, slot, g);
    return g;
}

static void run_slot(RhBuild *b, const RhSlot *slot, const RhSlotKind *kind)
{
    int32_t g = begin_slot(b, slot);
    RhInstrRange steps = rh_stage_program_slot(b->stage_program, kind);
    if (steps.count == 0)
        run_layers(b, slot);
    else
        rh_build_instrs(b, steps);
    send_output(b, slot, g);
}

/* Remaining steps of a slot that runs beside another; the pair's loop runs its layers. */
typedef struct {
    RhBuildHalf *half;
    RhInstrRange steps; /* not performed yet */
} Beside;

/* Performs the steps before the slot's next layer. */
static void run_to_layer(RhBuild *b, Beside *beside)
{
    b->now = beside->half;
    b->layer = -1;
    while (beside->steps.count > 0) {
        const RhInstr *step = rh_stage_program_instr(b->stage_program, beside->steps.first);
        beside->steps.first++;
        beside->steps.count--;
        if (step->kind == RH_INSTR_RUN)
            return;
        rh_build_instr(b, step);
    }
}

static void run_pair_layers(RhBuild *b, const RhSlot *slots, Beside *beside)
{
    RhPairWalk walk = rh_stage_program_pair(b->stage_program, slots[0].chunk, slots[1].chunk);
    const int32_t *first = b->stage_program->chunk_layers;
    for (int32_t f, k; rh_pair_next(&walk, &f, &k);) {
        const RhStageLayer *ahead = NULL, *back = NULL;
        if (f >= 0) {
            run_to_layer(b, &beside[0]);
            ahead = rh_stage_program_layer(b->stage_program, first[slots[0].chunk] + f);
        }
        if (k >= 0) {
            for (int32_t i = 1; i <= slots[0].beside; i++)
                run_to_layer(b, &beside[i]);
            back = rh_stage_program_layer(b->stage_program, first[slots[1].chunk] + k);
        }
        if (ahead && back)
            rh_build_layers_overlapped(b, ahead, back);
        else
            rh_build_layer_of_pair(b, ahead ? ahead : back, back != NULL);
    }
    for (int32_t i = 0; i <= slots[0].beside; i++)
        run_to_layer(b, &beside[i]);
}

/* Runs a forward beside a whole backward: each waits for its own input, and the next slot for
 * both. */
static void run_pair(RhBuild *b, const RhSlot *slots, const RhSlotKind *kinds)
{
    int32_t g[2];
    Beside beside[3];
    b->half[1] = b->half[0];
    for (int which = 0; which < 2; which++) {
        b->now = &b->half[which];
        g[which] = begin_slot(b, &slots[which]);
    }
    for (int32_t i = 0; i <= slots[0].beside; i++)
        beside[i] = (Beside){&b->half[i > 0], rh_stage_program_slot(b->stage_program, &kinds[i])};
    run_pair_layers(b, slots, beside);
    for (int which = 0; which < 2; which++) {
        b->now = &b->half[which];
        b->layer = -1;
        send_output(b, &slots[which], g[which]);
    }
    b->now = b->half;
    b->now->last = MAX(b->half[0].last, b->half[1].last);
    for (int32_t i = 0; i < b->half[1].pending_count; i++)
        rh_build_wait_for(b, b->half[1].pending[i]);
}

/* --- allocation of gradients --- */

static void hold_gradients(RhBuild *b, int32_t chunk, double bytes)
{
    rh_build_memory(b, RH_MEMORY_GRADIENTS, bytes - b->gradients[chunk]);
    b->gradients[chunk] = bytes;
}

/* Bytes of a chunk's gradients on this rank: while micro-batches are summed, or once they are
 * reduced. */
static double gradient_bytes(const RhBuild *b, int32_t chunk, bool reduced)
{
    double bytes = 0;
    for (int cls = 0; cls < RH_PARAMS_LAST; cls++) {
        RhShares shares = rh_parallelism_shares(b->c, b->layout, (RhParamsClass)cls);
        double params = 0;
        for (int32_t i = b->stage_program->chunk_layers[chunk];
             i < b->stage_program->chunk_layers[chunk + 1]; i++)
            params += rh_stage_program_layer(b->stage_program, i)->params.of[cls];
        bytes += rh_gradient_bytes(b->c) * params / (reduced ? shares.reduced : shares.gradients);
    }
    return bytes;
}

/* Allocates gradients before the slots that run at once, or frees them after these. */
static void settle_gradients(RhBuild *b, const RhSlotKind *kinds, int32_t count, bool behind)
{
    for (int32_t k = 0; k < count && b->c->stack->frees_gradients; k++)
        if (rh_slot_ends(kinds[k].pass) && (behind ? kinds[k].last : kinds[k].first))
            hold_gradients(b, kinds[k].chunk, gradient_bytes(b, kinds[k].chunk, behind));
}

void rh_build_gradients_free(RhBuild *b)
{
    for (int32_t chunk = 0; chunk < b->layout->vpp; chunk++)
        hold_gradients(b, chunk, 0);
}

/* Keeps the slots of forward passes alone; returns how many there are. */
static int64_t keep_forward(RhSlot *slots, int64_t total)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < total; i++)
        if (slots[i].pass == RH_SLOT_FORWARD) {
            slots[kept] = slots[i];
            slots[kept++].beside = 0;
        }
    return kept;
}

void rh_build_slots(RhBuild *b)
{
    const RhLayout *l = b->layout;
    const RhPipelineSchedule *schedule = rh_pipeline_of(l);
    int64_t total = rh_pipeline_slots_count(schedule, l->vpp, b->microbatches);
    g_autofree RhSlot *slots = g_new(RhSlot, total);
    g_autofree int32_t *done = g_new0(int32_t, (gsize)l->vpp * RH_SLOT_PASSES);
    schedule->order(l->pp, l->vpp, b->microbatches, b->stage_program->stage, slots);
    if (b->c->job.forward_only)
        total = keep_forward(slots, total);
    for (int64_t i = 0; i < total; i += 1 + slots[i].beside) {
        RhSlotKind kinds[3];
        for (int32_t k = 0; k <= slots[i].beside; k++)
            kinds[k] = rh_slot_kind_next(&slots[i + k], b->microbatches, done);
        settle_gradients(b, kinds, 1 + slots[i].beside, false);
        (slots[i].beside ? run_pair : run_slot)(b, &slots[i], kinds);
        settle_gradients(b, kinds, 1 + slots[i].beside, true);
    }
}
