#pragma once
/* The exchange of signs that 1-bit Adam and its successors share. */
#include "strategies/train/codecs/codec.h"

/* Bytes of an fp32 number, of an operation in place, and of one that reads two tensors. */
#define RH_SIGNS_WIDE 4.0
#define RH_SIGNS_PASS (2 * RH_SIGNS_WIDE)
#define RH_SIGNS_PAIR (3 * RH_SIGNS_WIDE)

/* Errors of a parameter, and of one that the rank averages; temporary tensors while an error is made:
 * signs times their scale, and the difference. */
#define RH_SIGNS_KEPT    RH_SIGNS_WIDE
#define RH_SIGNS_WORKING (2 * RH_SIGNS_WIDE)

/* Averages a tensor of fp32 over the ranks by signs. Kernels before and after it move so many bytes a
 * parameter more. */
void rh_signs_exchange(const RhCodecExchange *x, double before_bytes, double after_bytes);
/* Is the layout without shares, as each rank compresses tensors of all its parameters? RH_ERROR_USAGE. */
bool rh_signs_legal(const RhProblem *c, const RhLayout *layout,
                    GError **error) G_GNUC_WARN_UNUSED_RESULT;
