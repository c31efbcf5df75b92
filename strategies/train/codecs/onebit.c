/* 1-bit Adam in its compression stage: the variance is frozen, and replicas average their momentum
 * instead of gradients, a sign for each parameter and one scale for all (Tang et al. 2021, arXiv
 * 2102.02888, algorithm 1). A rank adds the error of its last step and packs the signs of the sum;
 * every rank gets its share of all signs (all-to-all), averages it, adds its own error, packs the
 * signs of that and sends them to all (all-gather). So n parameters travel as n/8 bytes twice, 1/16
 * of an all-reduce of n numbers of 16 bits.
 *
 * Bytes moved are those of DeepSpeed's implementation, in which each operation is a kernel of its own
 * over fp32 tensors (compressed_allreduce of deepspeed/runtime/comm/nccl.py, deepspeedai/DeepSpeed at
 * 84be8319): counted, not measured. */
#include "base/error.h"
#include "strategies/train/codecs/codec.h"

#define WIDE   4.0        /* an fp32 number */
#define BIT    (1.0 / 8)  /* a sign as it travels */
#define RANGED (2 * WIDE) /* an operation in place, or out of one tensor into another */

/* Bytes a parameter of: sum + error; its norm; sign, + 1, to bool, to float, - 0.5, x 2, x scale, and
 * the difference that is the next error; sign, + 1, to bool, packed, stacked. */
#define ADDED  (3 * WIDE)
#define NORM   WIDE
#define ERROR  (5 * RANGED + (WIDE + 1) + (1 + WIDE) + 3 * WIDE)
#define PACKED (2 * RANGED + (WIDE + 1) + (1 + BIT) + 2 * BIT)
/* Of: bits to bytes, to float, - 0.5, x 2, x scale. */
#define UNPACKED (BIT + 1 + 1 + WIDE + 3 * RANGED)

static void exchange(const RhCodecExchange *x)
{
    double n = x->params, own = n / x->ranks, scales = WIDE * x->ranks;
    double compress = ADDED + NORM + ERROR + PACKED;
    rh_codec_run(x, compress * n, "compress momentum");
    rh_codec_send(x, RH_OP_ALL_TO_ALL, BIT * n, "signs to their owners");
    rh_codec_send(x, RH_OP_ALL_GATHER, scales, "scales");
    rh_codec_run(x, (UNPACKED + WIDE) * n + (WIDE + compress) * own, "average momentum");
    rh_codec_send(x, RH_OP_ALL_GATHER, BIT * n, "gather signs");
    rh_codec_send(x, RH_OP_ALL_GATHER, scales, "scales");
    rh_codec_run(x, (2 * BIT + UNPACKED + RANGED) * n, "unpack momentum");
}

static bool legal(const RhProblem *c, const RhLayout *l, GError **error)
{
    (void)c;
    if (l->zero == 0)
        return true;
    return rh_fail(
        error, RH_ERROR_USAGE,
        "codec=onebit with zero=%d: every replica compresses the whole momentum, and has "
        "it with zero=0 alone\nhelp: `zero=0`",
        l->zero);
}

/* Largest while the next error is made: signs times their scale, and the difference. */
const RhCodec rh_codec_onebit = {.legal = legal,
                                 .exchange = exchange,
                                 .kept_bytes = WIDE,
                                 .owner_kept_bytes = WIDE,
                                 .working_bytes = 2 * WIDE};
