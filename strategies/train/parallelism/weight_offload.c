/* Weights in the host's memory or on its drives: of every layer a rank's share is copied to the device ahead
 * of its forward and again ahead of its backward, as far ahead as ZeRO-3 gathers, which the gather waits for
 * (ZeRO-3 Offload and ZeRO-Infinity: Rajbhandari et al. 2021, arXiv 2104.07857, section 6.1: each rank's link
 * carries its share, so that all of them together bring a layer in). The host's optimizer writes weights where
 * they are, and nothing goes back. */
#include "base/error.h"
#include "strategies/train/parallelism/parallelism.h"

static bool stage_has(const RhStageProgram *s, int cls)
{
    return s->states.params.of[cls] > 0 || s->states.frozen.of[cls] > 0;
}

static void before_layer(RhStageProgramWriter *w, const RhSlotKind *slot, int32_t item)
{
    const RhStageProgram *s = w->stage_program;
    const RhStageLayer *layer = rh_stage_program_layer(s, item);
    int32_t ahead = s->model_cost->c->stack->prefetch_layers, classes = 0;
    if (s->layout->weights == RH_PLACE_DEVICE || slot->pass == RH_SLOT_BACKWARD_WEIGHT)
        return;
    for (int cls = 0; cls < RH_PARAMS_LAST; cls++)
        classes += stage_has(s, cls);
    for (int cls = 0; cls < RH_PARAMS_LAST; cls++)
        rh_stage_program_copy(
            w, (RhInstr){.lane = RH_LANE_WEIGHTS_IN,
                         .from = s->layout->weights == RH_PLACE_NVME ? RH_MEMORY_TIER_NVME
                                                                     : RH_MEMORY_TIER_HOST,
                         .to = RH_MEMORY_TIER_HBM,
                         .group = (uint8_t)rh_params_group((RhParamsClass)cls),
                         .phase = RH_PHASE_PARAMETER,
                         .bytes = rh_layer_gather_bytes(s->model_cost->c, layer->params.of[cls],
                                                        layer->weights.of[cls], layer->layer >= 0) /
                                  s->shares[cls].weights,
                         .label = "load weights",
                         .item = item,
                         .ahead = (int16_t)(ahead * classes),
                         .buffers = (int16_t)(ahead + 1),
                         .begin_index = -1});
    rh_stage_program_wait(w, RH_LANE_WEIGHTS_IN);
}

static bool legal(const RhProblem *c, const RhLayout *l, GError **error)
{
    const char *place = l->weights == RH_PLACE_NVME ? "nvme" : "host";
    if (l->weights == RH_PLACE_DEVICE)
        return true;
    if (l->zero < 3 || l->states == RH_PLACE_DEVICE || l->states_percent < 100 || l->hpz > 0)
        return rh_fail(
            error, RH_ERROR_USAGE,
            "params=%s: shares of weights leave the device with zero=3 alone, whole, and "
            "behind the optimizer's states\nhelp: `zero=3,states=%s`, without hosted and "
            "hpz",
            place, place);
    if (c->job.recipe->weight_copy_bytes > 0 || rh_holds_narrow(c))
        return rh_fail(
            error, RH_ERROR_USAGE,
            "params=%s: copies of weights in fp8 or narrower stay on the device, which is "
            "not simulated\nhelp: `dtype=bf16`",
            place);
    if (l->weights == RH_PLACE_NVME && c->platform->nvme_bytes_per_s.value <= 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "params=nvme: %s has no drives\n"
                       "help: give it nvme.bandwidth, of a node and direction",
                       c->platform->name);
    return true;
}

const RhParallelism rh_parallelism_weight_offload = {
    .name = "weights", .legal = legal, .before_layer = before_layer};
