/* One slot of a stage: receive, the chunk's items forward or backward, send; and what it allocates
 * and frees. Sends run beside the kernels on lanes of their own; a kernel waits for its receive. */
#include "strategies/train/emit.h"

static int32_t model_chunk(const RhEmit *e, const RhSlot *slot)
{
    return slot->chunk * e->layout->pp + e->stage;
}

/* Ranks from stage s to the stage that holds model chunk g +- 1. */
static int32_t delta_to(const RhEmit *e, int32_t chunk)
{
    return (chunk % e->layout->pp - e->stage) * e->stride_pp;
}

/* A message of model chunk g: its sending or receiving end. */
static int32_t message(RhEmit *e, RhTaskKind kind, RhLane lane, int32_t delta, const char *label)
{
    RhTask task = {.kind = (uint8_t)kind,
                   .lane = (uint8_t)lane,
                   .phase = (uint8_t)e->phase,
                   .layer = -1,
                   .microbatch = e->microbatch,
                   .label = rh_program_label(e->program, label),
                   .bundle = -1,
                   .group = -1,
                   .peer_task = -1,
                   .peer_delta = delta,
                   .bytes = e->pieces->message_bytes};
    int32_t preds[RH_PENDING_MAX + 1], count = 0;
    if (kind == RH_TASK_SEND) {
        preds[count++] = e->last;
        for (int32_t i = 0; i < e->pending_count; i++)
            preds[count++] = e->pending[i];
        e->pending_count = 0;
    }
    return rh_program_add_task(e->program, task, preds, count);
}

static void receive(RhEmit *e, const RhSlot *slot)
{
    int32_t g = model_chunk(e, slot), chunks = e->layout->pp * e->layout->vpp;
    int32_t from = slot->backward ? g + 1 : g - 1;
    if (from < 0 || from >= chunks)
        return;
    int32_t task =
        message(e, RH_TASK_RECV, slot->backward ? RH_LANE_RECV_NEXT : RH_LANE_RECV_PREV,
                delta_to(e, from), slot->backward ? "receive gradients" : "receive activations");
    e->recvs[slot->backward][g * e->microbatches + slot->microbatch] = task;
    rh_emit_wait_for(e, task);
}

static void send(RhEmit *e, const RhSlot *slot)
{
    int32_t g = model_chunk(e, slot), chunks = e->layout->pp * e->layout->vpp;
    int32_t to = slot->backward ? g - 1 : g + 1;
    if (to < 0 || to >= chunks)
        return;
    e->sends[slot->backward][g * e->microbatches + slot->microbatch] =
        message(e, RH_TASK_SEND, slot->backward ? RH_LANE_SEND_PREV : RH_LANE_SEND_NEXT,
                delta_to(e, to), slot->backward ? "send gradients" : "send activations");
}

static void item_forward(RhEmit *e, int32_t i)
{
    const RhItem *item = &e->items[i];
    rh_emit_params_needed(e, i);
    if (item->block == RH_BLOCK_EMBEDDING)
        rh_emit_embedding_forward(e);
    else if (item->block == RH_BLOCK_HEAD)
        rh_emit_head_forward(e);
    else
        rh_emit_layer_forward(e, item->layer, true);
}

static void item_backward(RhEmit *e, int32_t i)
{
    const RhItem *item = &e->items[i];
    if (e->layout->zero == 3)
        rh_emit_params_needed(e, i);
    if (item->block == RH_BLOCK_EMBEDDING)
        rh_emit_embedding_backward(e);
    else if (item->block == RH_BLOCK_HEAD)
        rh_emit_head_backward(e);
    else
        rh_emit_layer_backward(e, item->layer);
    rh_emit_gradients_ready(e, i);
}

static void forward(RhEmit *e, const RhSlot *slot)
{
    const RhStageMemory *m = &e->memory;
    rh_program_add_memory(e->program, RH_MEMORY_TIER_HBM, RH_MEMORY_ACTIVATIONS,
                          m->activations_bytes[slot->chunk]);
    rh_program_add_memory(e->program, RH_MEMORY_TIER_HBM, RH_MEMORY_LOGITS,
                          m->logits_bytes[slot->chunk]);
    rh_program_add_memory(e->program, RH_MEMORY_TIER_HBM, RH_MEMORY_RECOMPUTE,
                          m->forward_bytes[slot->chunk]);
    for (int32_t i = e->chunk_items[slot->chunk]; i < e->chunk_items[slot->chunk + 1]; i++)
        item_forward(e, i);
    send(e, slot);
    rh_program_add_memory(e->program, RH_MEMORY_TIER_HBM, RH_MEMORY_RECOMPUTE,
                          -m->forward_bytes[slot->chunk]);
}

static void backward(RhEmit *e, const RhSlot *slot)
{
    const RhStageMemory *m = &e->memory;
    rh_program_add_memory(e->program, RH_MEMORY_TIER_HBM, RH_MEMORY_RECOMPUTE,
                          m->backward_bytes[slot->chunk]);
    for (int32_t i = e->chunk_items[slot->chunk + 1] - 1; i >= e->chunk_items[slot->chunk]; i--)
        item_backward(e, i);
    send(e, slot);
    if (e->reduces)
        rh_emit_gradients_flush(e);
    rh_program_add_memory(e->program, RH_MEMORY_TIER_HBM, RH_MEMORY_RECOMPUTE,
                          -m->backward_bytes[slot->chunk]);
    rh_program_add_memory(e->program, RH_MEMORY_TIER_HBM, RH_MEMORY_ACTIVATIONS,
                          -m->activations_bytes[slot->chunk]);
    rh_program_add_memory(e->program, RH_MEMORY_TIER_HBM, RH_MEMORY_LOGITS,
                          -m->logits_bytes[slot->chunk]);
}

void rh_emit_slot(RhEmit *e, const RhSlot *slot, bool last_backward_of_chunk)
{
    e->microbatch = slot->microbatch;
    e->layer = -1;
    e->phase = slot->backward ? RH_PHASE_BACKWARD : RH_PHASE_FORWARD;
    e->reduces = last_backward_of_chunk;
    receive(e, slot);
    if (slot->backward)
        backward(e, slot);
    else
        forward(e, slot);
}
