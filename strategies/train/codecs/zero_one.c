/* 0/1 Adam in a step in which replicas meet: what they have added up since the last one is averaged by
 * signs (Lu et al. 2022, arXiv 2202.06009, algorithm 1); in the steps between nothing is exchanged, which
 * phases of a run say. Passes beside those of Adam are counted in deepspeed/runtime/fp16/onebit/zoadam.py
 * (microsoft/DeepSpeed at 0628e182), each operation a kernel over fp32. */
#include "strategies/train/codecs/signs.h"

#define WIDE RH_SIGNS_WIDE
#define PASS RH_SIGNS_PASS
#define PAIR RH_SIGNS_PAIR

/* The update is added to the sum (x rate, +) and the sum taken back from the weights (x -1, +), then it is
 * multiplied by the root of the variance + epsilon. */
#define BEFORE ((PASS + PAIR) + (PASS + PAIR) + (2 * PASS + PAIR))
/* Copied; momentum anew (to 0, / the sum of rates, +); divided by the root + epsilon, added to the weights;
 * the sum to 0. */
#define AFTER (PASS + (WIDE + PASS + PAIR) + (2 * PASS + PAIR) + PAIR + WIDE)

static void exchange(const RhCodecExchange *x)
{
    rh_signs_exchange(x, BEFORE, AFTER);
}

/* The sum of updates is kept beside errors. */
const RhCodec rh_codec_zero_one = {.legal = rh_signs_legal,
                                   .exchange = exchange,
                                   .kept_bytes = RH_SIGNS_KEPT + WIDE,
                                   .owner_kept_bytes = RH_SIGNS_KEPT,
                                   .working_bytes = RH_SIGNS_WORKING};
