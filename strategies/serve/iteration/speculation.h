#pragma once
/* Speculative decoding (Leviathan, Kalman and Matias 2023, arXiv 2211.17192): a drafter guesses `draft` tokens
 * of each sequence, one pass of the model judges them all, and takes those before the first that is wrong,
 * and one of its own. Where each guess is right with probability a, an iteration gives
 * (1 - a^(draft + 1)) / (1 - a) tokens in the mean (their equation 1). All sequences are given as many in an
 * iteration, in turn the whole numbers next to the mean, so that after i iterations they have floor(i mean). */
#include <math.h>

#include "strategies/serve/deployment.h"

/* Tokens that a sequence goes through in an iteration: one, and the guesses. */
static inline int32_t rh_pool_verified(const RhPool *pool)
{
    return 1 + pool->draft;
}

/* Tokens that an iteration gives in the mean. */
static inline double rh_pool_accepted(const RhPool *pool)
{
    double a = pool->accept / 100.0;
    return pool->draft == 0 ? 1
           : a >= 1         ? rh_pool_verified(pool)
                            : (1 - pow(a, rh_pool_verified(pool))) / (1 - a);
}

/* Of so many iterations from the first. */
static inline int64_t rh_accepted_by(double mean, int64_t iterations)
{
    return mean == 1 ? iterations : (int64_t)floor((double)iterations * mean * (1 + 1e-12));
}
