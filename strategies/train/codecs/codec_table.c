/* The table of codecs, and the buffers of a layout's one. */
#include "strategies/train/codecs/codec.h"

#define ROW_CODEC(constant, object, ...) [RH_CODEC_##constant] = &rh_codec_##object,

static const RhCodec *const codecs[RH_CODEC_LAST] = {RH_CODECS(ROW_CODEC)};

const RhCodec *rh_codec_of(const RhLayout *l)
{
    return codecs[l->codec];
}

bool rh_codec_acts(const RhProblem *c, const RhLayout *l, RhParamsClass cls)
{
    return l->codec != RH_CODEC_NONE && rh_params_exchanged(c, l, cls);
}

double rh_codec_kept_bytes(const RhProblem *c, const RhLayout *l, const RhStates *states)
{
    const RhCodec *codec = rh_codec_of(l);
    double sum = 0;
    for (int cls = 0; codec && cls < RH_PARAMS_LAST; cls++)
        if (rh_codec_acts(c, l, (RhParamsClass)cls))
            sum += states->params.of[cls] *
                   (codec->kept_bytes +
                    codec->owner_kept_bytes / rh_params_replicas(l, (RhParamsClass)cls));
    return sum;
}

double rh_codec_working_bytes(const RhProblem *c, const RhLayout *l, const RhStates *states)
{
    const RhCodec *codec = rh_codec_of(l);
    double most = 0;
    for (int cls = 0; codec && cls < RH_PARAMS_LAST; cls++)
        if (rh_codec_acts(c, l, (RhParamsClass)cls))
            most = MAX(most, codec->working_bytes * states->params.of[cls]);
    return most;
}
