/* Optimizer states in the host's memory: gradients go there, the host updates weights, and these come
 * back (ZeRO-Offload: Ren et al. 2021, arXiv 2101.06840, section 4). With ZeRO-2 and 3, where no rank
 * keeps gradients, those of a layer leave in every micro-batch behind their reduction, in fp32 in the
 * last one; sums of earlier micro-batches come back for the device to add to, which adds quicker
 * (DeepSpeed v0.19.5, stage_1_and_2.py: async_accumulate_grad_in_cpu_via_gpu,
 * async_inplace_copy_grad_to_fp32_buffer_from_gpu; stage3.py: partition_grads). While a layer's
 * gradients are on their way the next layer runs; before the one after that starts, they are gone.
 * With ZeRO-0 and 1 gradients are summed on the device and leave when the optimizer runs, as those of
 * Megatron-LM's HybridDeviceOptimizer do. The host updates the layers one behind another, reading and
 * writing what a device's optimizer does, at the rate of the memory that it shares with the node's
 * other ranks, and a layer's weights go back while the next one is updated. States on drives are read
 * ahead of that, gradients with them, when the layer before is done, and written behind it
 * (ZeRO-Infinity: Rajbhandari et al. 2021, arXiv 2104.07857, section 5.2.2). Where gradients are clipped
 * it waits for their norm, else it begins with the first that are there. */
#include "base/error.h"
#include "strategies/train/parallelism/parallelism.h"

/* Parameters of a layer's class that the host updates for this rank. */
static double share_of(const RhStageProgramWriter *w, int32_t item, int cls)
{
    const RhStageProgram *s = w->stage_program;
    return rh_states_away_frac(s->layout) * rh_stage_program_layer(s, item)->params.of[cls] /
           s->shares[cls].optimizer;
}

static RhInstr copy(RhLane lane, RhMemoryTier from, RhMemoryTier to, RhParamsClass cls,
                    int32_t item)
{
    return (RhInstr){.lane = (uint8_t)lane,
                     .from = (uint8_t)from,
                     .to = (uint8_t)to,
                     .group = (uint8_t)rh_params_group(cls),
                     .phase = RH_PHASE_OPTIMIZER,
                     .item = item,
                     .begin_index = -1};
}

/* Copies between the host and its drives. */
static void move(RhStageProgramWriter *w, bool out, int32_t item, int cls, const char *label,
                 double bytes, uint32_t after)
{
    RhInstr step = copy(out ? RH_LANE_DRIVES_OUT : RH_LANE_DRIVES_IN,
                        out ? RH_MEMORY_TIER_HOST : RH_MEMORY_TIER_NVME,
                        out ? RH_MEMORY_TIER_NVME : RH_MEMORY_TIER_HOST, (RhParamsClass)cls, item);
    step.label = label;
    step.bytes = bytes;
    step.after = after;
    rh_stage_program_copy(w, step);
}

static void send_gradients(RhStageProgramWriter *w, int32_t item, int cls, double bytes,
                           int16_t buffers, uint32_t after)
{
    RhInstr out =
        copy(RH_LANE_STATES_OUT, RH_MEMORY_TIER_HBM, RH_MEMORY_TIER_HOST, (RhParamsClass)cls, item);
    out.label = "offload gradients";
    out.phase = RH_PHASE_GRADIENT;
    out.bytes = bytes;
    out.buffers = buffers;
    out.after = after;
    rh_stage_program_copy(w, out);
}

/* Brings back the sum of earlier micro-batches. */
static void load_sums(RhStageProgramWriter *w, int32_t item, int cls, double bytes)
{
    RhInstr in =
        copy(RH_LANE_STATES_IN, RH_MEMORY_TIER_HOST, RH_MEMORY_TIER_HBM, (RhParamsClass)cls, item);
    in.label = "load gradients";
    in.phase = RH_PHASE_GRADIENT;
    in.bytes = bytes;
    in.buffers = 1;
    rh_stage_program_copy(w, in);
}

/* Sends updated weights to where they are from step to step, behind the host's work on them. */
static void store_weights(RhStageProgramWriter *w, int32_t item, int cls, double bytes)
{
    const RhLayout *l = w->stage_program->layout;
    RhInstr in =
        copy(RH_LANE_STATES_IN, RH_MEMORY_TIER_HOST, RH_MEMORY_TIER_HBM, (RhParamsClass)cls, item);
    in.label = "load weights";
    in.phase = RH_PHASE_PARAMETER;
    in.bytes = bytes;
    in.after = RH_LANE_BIT(RH_LANE_HOST);
    if (l->weights == RH_PLACE_DEVICE)
        rh_stage_program_copy(w, in);
    else if (l->weights == RH_PLACE_NVME)
        move(w, true, item, cls, "store weights", bytes, RH_LANE_BIT(RH_LANE_HOST));
}

/* Updates a layer's parameters on the host. */
static void update(RhStageProgramWriter *w, int32_t item, int cls)
{
    const RhProblem *c = w->stage_program->model_cost->c;
    bool drives = w->stage_program->layout->states == RH_PLACE_NVME;
    double share = share_of(w, item, cls), state = rh_optimizer_state_bytes(c);
    RhInstr work =
        copy(RH_LANE_HOST, RH_MEMORY_TIER_HOST, RH_MEMORY_TIER_HOST, (RhParamsClass)cls, item);
    work.label = "optimizer on the host";
    work.bytes = rh_optimizer_bytes(c) * share;
    work.after = RH_LANE_BIT(RH_LANE_STATES_OUT) | (drives ? RH_LANE_BIT(RH_LANE_DRIVES_IN) : 0);
    if (drives)
        move(w, false, item, cls, "load states", (state + RH_MASTER_BYTES) * share,
             RH_LANE_BIT(RH_LANE_HOST));
    rh_stage_program_copy(w, work);
    if (drives)
        move(w, true, item, cls, "store states", state * share, RH_LANE_BIT(RH_LANE_HOST));
    store_weights(w, item, cls, rh_weight_bytes(c) * share);
}

static bool leaves(const RhStageProgramWriter *w, int cls)
{
    return rh_gradients_leave(w->stage_program->model_cost->c, w->stage_program->layout,
                              (RhParamsClass)cls);
}

/* Does the host update a layer as soon as its gradients are there? */
static bool updates_early(const RhStageProgramWriter *w, int cls)
{
    return leaves(w, cls) && !w->stage_program->model_cost->c->stack->gradient_norm;
}

static void before_layer(RhStageProgramWriter *w, const RhSlotKind *slot, int32_t item)
{
    (void)item;
    if (w->stage_program->layout->states != RH_PLACE_DEVICE && rh_slot_ends(slot->pass) &&
        (leaves(w, RH_PARAMS_COMMON) || leaves(w, RH_PARAMS_EXPERTS)))
        rh_stage_program_wait_before(w, RH_LANE_STATES_OUT);
}

static void after_layer(RhStageProgramWriter *w, const RhSlotKind *slot, int32_t item)
{
    const RhStageProgram *s = w->stage_program;
    double width = rh_gradient_bytes(s->model_cost->c);
    for (int cls = 0; cls < RH_PARAMS_LAST; cls++) {
        double share = share_of(w, item, cls);
        if (!rh_slot_ends(slot->pass) || !leaves(w, cls) || share <= 0)
            continue;
        uint32_t behind = RH_LANE_BIT(RH_LANE_DP);
        if (!slot->first) {
            load_sums(w, item, cls, width * share);
            behind |= RH_LANE_BIT(RH_LANE_STATES_IN);
        }
        send_gradients(w, item, cls, (slot->last ? RH_MASTER_BYTES : width) * share, 2, behind);
        if (slot->last && s->layout->states == RH_PLACE_NVME)
            move(w, true, item, cls, "store gradients", RH_MASTER_BYTES * share,
                 RH_LANE_BIT(RH_LANE_STATES_OUT));
        if (slot->last && updates_early(w, cls))
            update(w, item, cls);
    }
}

static void end(RhStageProgramWriter *w)
{
    const RhStageProgram *s = w->stage_program;
    double width = rh_gradient_bytes(s->model_cost->c);
    for (int32_t item = 0; item < (int32_t)s->items->len; item++)
        for (int cls = 0; cls < RH_PARAMS_LAST; cls++) {
            double share = share_of(w, item, cls);
            if (share <= 0 || updates_early(w, cls))
                continue;
            if (!leaves(w, cls))
                send_gradients(w, item, cls, width * share, 0, 0);
            update(w, item, cls);
        }
}

static bool legal(const RhProblem *c, const RhLayout *l, GError **error)
{
    if (l->states == RH_PLACE_DEVICE)
        return true;
    if (c->platform->host_memory_bytes_per_s.value <= 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "states=host: nothing says how quick the memory of %s's hosts is, which "
                       "their optimizer reads and writes\n"
                       "help: give it host.memory_bandwidth, of a node's sockets together",
                       c->platform->name);
    if (l->states == RH_PLACE_NVME && l->zero < 3)
        return rh_fail(error, RH_ERROR_USAGE,
                       "states=nvme: states are shared out before they leave for drives, and "
                       "gradients leave behind them\nhelp: `zero=3`");
    if (l->states == RH_PLACE_NVME && c->platform->nvme_bytes_per_s.value <= 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "states=nvme: %s has no drives\n"
                       "help: give it nvme.bandwidth, of a node and direction",
                       c->platform->name);
    if (c->stack->frees_gradients || c->stack->casts_masters)
        return rh_fail(error, RH_ERROR_USAGE,
                       "states=host: the stack %s keeps the optimizer's states on the device here\n"
                       "help: the stacks bare, megatron and deepspeed send them to the host",
                       c->stack->name);
    return true;
}

const RhParallelism rh_parallelism_state_offload = {.name = "states",
                                                    .legal = legal,
                                                    .before_layer = before_layer,
                                                    .after_layer = after_layer,
                                                    .end = end};
