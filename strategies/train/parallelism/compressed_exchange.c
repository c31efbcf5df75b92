/* Compressed exchange: replicas exchange what the layout's codec makes of their gradients when a step
 * has ended, in place of their sums beside backward (train/codecs/). */
#include "strategies/train/codecs/codec.h"
#include "strategies/train/parallelism/parallelism.h"

static bool legal(const RhProblem *c, const RhLayout *l, GError **error)
{
    const RhCodec *codec = rh_codec_of(l);
    return !codec || !codec->legal || codec->legal(c, l, error);
}

static void exchange_all(RhStageProgramWriter *w)
{
    const RhStageProgram *s = w->stage_program;
    const RhCodec *codec = rh_codec_of(s->layout);
    for (int cls = 0; cls < RH_PARAMS_LAST; cls++) {
        RhCodecExchange x = {w, (RhParamsClass)cls, s->states.params.of[cls],
                             rh_params_replicas(s->layout, (RhParamsClass)cls)};
        if (x.params > 0 && rh_codec_acts(s->model_cost->c, s->layout, x.cls))
            codec->exchange(&x);
    }
}

const RhParallelism rh_parallelism_compressed_exchange = {
    .name = "codec", .legal = legal, .end = exchange_all};
