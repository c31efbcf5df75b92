/* 1-bit Adam in its compression stage: the variance is frozen, and replicas average their momentum
 * instead of gradients, by signs (Tang et al. 2021, arXiv 2102.02888, algorithm 1). */
#include "strategies/train/codecs/signs.h"

static void exchange(const RhCodecExchange *x)
{
    rh_signs_exchange(x, 0, 0);
}

const RhCodec rh_codec_onebit = {.legal = rh_signs_legal,
                                 .exchange = exchange,
                                 .kept_bytes = RH_SIGNS_KEPT,
                                 .owner_kept_bytes = RH_SIGNS_KEPT,
                                 .working_bytes = RH_SIGNS_WORKING};
