/* 1-bit LAMB in its compression stage: momentum by signs, as in 1-bit Adam, and a second variance out of
 * the gradients that follow from two momenta, by which the frozen step sizes of layers are scaled (Li et
 * al. 2021, arXiv 2104.06069). Passes beside those of Adam are counted in deepspeed/runtime/fp16/onebit/
 * lamb.py (microsoft/DeepSpeed at 0a849d56), each operation a kernel over fp32. */
#include "strategies/train/codecs/signs.h"

#define WIDE RH_SIGNS_WIDE
#define PASS RH_SIGNS_PASS
#define PAIR RH_SIGNS_PAIR

/* The momentum of the last step kept aside, and this one's scaled. */
#define BEFORE (2 * PASS)
/* Scaled back; gradients (x beta, the difference, / (1 - beta)); variance (x beta, + the square); norm of
 * the update (square, sum); its root + epsilon; ratio of both variances and its largest; the norm of the
 * update before the decay. */
#define AFTER                                                                                      \
    (PASS + (2 * PASS + PAIR) + (PASS + PAIR) + (PASS + WIDE) + 2 * PASS + (PAIR + WIDE) +         \
     (PASS + WIDE))

static void exchange(const RhCodecExchange *x)
{
    rh_signs_exchange(x, BEFORE, AFTER);
}

/* The second variance is kept, and the last momentum while signs are packed. */
const RhCodec rh_codec_onebit_lamb = {.legal = rh_signs_legal,
                                      .exchange = exchange,
                                      .kept_bytes = RH_SIGNS_KEPT + WIDE,
                                      .owner_kept_bytes = RH_SIGNS_KEPT,
                                      .working_bytes = RH_SIGNS_WORKING + WIDE};
