/* An average over ranks in which a parameter is a sign. A rank adds the error of its last step and packs
 * the signs of the sum; every rank gets its share of all signs (all-to-all), averages it, adds its own
 * error, packs the signs of that and sends them to all (all-gather). So n parameters travel as n/8 bytes
 * twice, with a scale for each rank: 1/16 of an all-reduce of n numbers of 16 bits.
 *
 * Bytes moved are those of DeepSpeed's implementation, in which each operation is a kernel of its own
 * over fp32 tensors (compressed_allreduce of deepspeed/runtime/comm/nccl.py, deepspeedai/DeepSpeed at
 * 84be8319): counted, not measured. */
#include "strategies/train/codecs/signs.h"

#include "base/error.h"

#define WIDE RH_SIGNS_WIDE
#define PASS RH_SIGNS_PASS
#define PAIR RH_SIGNS_PAIR
#define BIT  (1.0 / 8) /* a sign as it travels */

/* Bytes a parameter of: sum with the error; its norm; sign, + 1, to bool, to float, - 0.5, x 2, x scale,
 * and the difference that is the next error; sign, + 1, to bool, packed, stacked. */
#define ADDED  PAIR
#define NORM   WIDE
#define ERROR  (5 * PASS + (WIDE + 1) + (1 + WIDE) + PAIR)
#define PACKED (2 * PASS + (WIDE + 1) + (1 + BIT) + 2 * BIT)
#define SIGNS  (ADDED + NORM + ERROR + PACKED)
/* Of: bits to bytes, to float, - 0.5, x 2, x scale. */
#define UNPACKED (BIT + 1 + 1 + WIDE + 3 * PASS)

void rh_signs_exchange(const RhCodecExchange *x, double before_bytes, double after_bytes)
{
    double n = x->params, own = n / x->ranks, scales = WIDE * x->ranks;
    rh_codec_run(x, (before_bytes + SIGNS) * n, "compress momentum");
    rh_codec_send(x, RH_OP_ALL_TO_ALL, BIT * n, "signs to their owners");
    rh_codec_send(x, RH_OP_ALL_GATHER, scales, "scales");
    rh_codec_run(x, (UNPACKED + WIDE) * n + (WIDE + SIGNS) * own, "average momentum");
    rh_codec_send(x, RH_OP_ALL_GATHER, BIT * n, "gather signs");
    rh_codec_send(x, RH_OP_ALL_GATHER, scales, "scales");
    rh_codec_run(x, (2 * BIT + UNPACKED + PASS + after_bytes) * n, "unpack momentum");
}

bool rh_signs_legal(const RhProblem *c, const RhLayout *l, GError **error)
{
    (void)c;
    if (l->zero == 0)
        return true;
    return rh_fail(error, RH_ERROR_USAGE,
                   "codec=%s with zero=%d: every replica compresses the whole momentum, and has it "
                   "with zero=0 alone\nhelp: `zero=0`",
                   rh_codec_names[l->codec], l->zero);
}
