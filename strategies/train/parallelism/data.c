/* Data parallelism: replicas sum their gradients. They are all-reduced in buckets after the last
 * backward of each chunk, beside the following slots; the bucket is the stack's. Gradients travel
 * in the stack's main width. For the changes that sharding makes see
 * zero.c, for exchanges in place of these sums compressed_exchange.c. */
#include "strategies/train/codecs/codec.h"
#include "strategies/train/parallelism/gradient_buckets.h"
#include "strategies/train/parallelism/parallelism.h"

static bool acts(const RhStageProgramWriter *w, int cls)
{
    const RhLayout *l = w->stage_program->layout;
    const RhProblem *c = w->stage_program->model_cost->c;
    return rh_params_exchanged(c, l, (RhParamsClass)cls) &&
           rh_params_zero(c, l, (RhParamsClass)cls) == 0 &&
           !rh_codec_acts(c, l, (RhParamsClass)cls);
}

static void after_layer(RhStageProgramWriter *w, const RhSlotKind *slot, int32_t item)
{
    const RhStageLayer *layer = rh_stage_program_layer(w->stage_program, item);
    for (int cls = 0; cls < RH_PARAMS_LAST; cls++)
        if (acts(w, cls) && slot->last && rh_slot_ends(slot->pass))
            rh_gradients_collect(w, (RhParamsClass)cls, layer, RH_OP_ALL_REDUCE);
}

static void close(RhStageProgramWriter *w, const RhSlotKind *slot)
{
    for (int cls = 0; cls < RH_PARAMS_LAST; cls++)
        if (acts(w, cls) && slot->last && rh_slot_ends(slot->pass))
            rh_gradients_close(w, (RhParamsClass)cls, RH_OP_ALL_REDUCE);
}

static void end(RhStageProgramWriter *w)
{
    for (int cls = 0; cls < RH_PARAMS_LAST; cls++)
        if (acts(w, cls) && rh_gradients_end(w, (RhParamsClass)cls))
            rh_stage_program_wait(w, RH_LANE_DP);
}

const RhParallelism rh_parallelism_data = {
    .name = "dp", .after_layer = after_layer, .close = close, .end = end};
