/* Activations in the host's memory: what a layer keeps, or a share of it, is copied out over the
 * host link after its forward and back ahead of its backward, beside the kernels of its neighbours.
 * While a layer's copy is on its way out, the next layer runs; before the one after that starts,
 * the copy has ended and its memory is free. In backward, a layer comes back while the layer after
 * it runs. So a device has memory for one layer's share on its way out and one on its way in,
 * beside that of the running layer (torchtune's OffloadActivations lets a few tensors be on their
 * way instead). The activations of the embedding and the head stay, and the last layer's where the
 * head follows it, since their backward comes next. */
#include "base/error.h"
#include "strategies/train/parallelism/parallelism.h"

static void before_layer(RhStageProgramWriter *w, const RhSlotKind *slot, int32_t item)
{
    const RhStageProgram *s = w->stage_program;
    double bytes = rh_stage_program_layer(s, item)->away_bytes;
    if (s->layout->offload == 0)
        return;
    rh_stage_program_wait_before(w, RH_LANE_COPY_OUT);
    if (slot->pass == RH_SLOT_FORWARD || bytes <= 0)
        return;
    rh_stage_program_copy(w, (RhInstr){.lane = RH_LANE_COPY_IN,
                                       .phase = RH_PHASE_BACKWARD,
                                       .bytes = bytes,
                                       .item = item,
                                       .label = "load activations",
                                       .ahead = 1,
                                       .buffers = 1,
                                       .from = RH_MEMORY_TIER_HOST,
                                       .to = RH_MEMORY_TIER_HBM,
                                       .begin_index = -1});
    rh_stage_program_wait(w, RH_LANE_COPY_IN);
}

static void after_layer(RhStageProgramWriter *w, const RhSlotKind *slot, int32_t item)
{
    if (slot->pass == RH_SLOT_FORWARD)
        rh_stage_program_copy(
            w, (RhInstr){.lane = RH_LANE_COPY_OUT,
                         .phase = RH_PHASE_FORWARD,
                         .bytes = rh_stage_program_layer(w->stage_program, item)->away_bytes,
                         .item = item,
                         .label = "offload activations",
                         .buffers = 1,
                         .from = RH_MEMORY_TIER_HBM,
                         .to = RH_MEMORY_TIER_HOST,
                         .begin_index = -1});
}

static bool legal(const RhProblem *c, const RhLayout *l, GError **error)
{
    (void)c;
    if (l->offload == 0)
        return true;
    if (rh_pipeline_of(l)->splits_backward || rh_pipeline_of(l)->pairs)
        return rh_fail(
            error, RH_ERROR_USAGE,
            "activations=%d and schedule=%s%s: activations come back for a whole backward that "
            "runs by itself\nhelp: 1f1b, interleaved or gpipe",
            l->offload, rh_pipeline_kind_name(l->schedule),
            l->overlap == RH_OVERLAP_PAIRS ? ", epoverlap=pairs" : "");
    return true;
}

const RhParallelism rh_parallelism_activation_offload = {.name = "activations",
                                                         .legal = legal,
                                                         .before_layer = before_layer,
                                                         .after_layer = after_layer};
