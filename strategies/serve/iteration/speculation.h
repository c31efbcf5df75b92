#pragma once
/* Speculative decoding (Leviathan, Kalman and Matias 2023, arXiv 2211.17192): a draft model
 * proposes `draft` tokens of each sequence; one pass of the model verifies them, accepts those
 * before the first wrong one, and adds one of its own. If each proposal is right with probability
 * a, an iteration yields (1 - a^(draft + 1)) / (1 - a) tokens on average (their equation 1). All
 * sequences get equally many tokens in an iteration, rounded up or down such that after i
 * iterations they have floor(i mean). */
#include <math.h>

#include "strategies/serve/deployment.h"

/* Returns the number of tokens of a sequence that an iteration verifies: one, and the proposals. */
static inline int32_t rh_pool_verified(const RhPool *pool)
{
    return 1 + pool->draft;
}

/* Returns the mean number of tokens that an iteration yields per sequence. */
static inline double rh_pool_accepted(const RhPool *pool)
{
    double a = pool->accept / 100.0;
    return pool->draft == 0 ? 1
           : a >= 1         ? rh_pool_verified(pool)
                            : (1 - pow(a, rh_pool_verified(pool))) / (1 - a);
}

/* Returns the number of tokens that the first `iterations` iterations yield. */
static inline int64_t rh_accepted_by(double mean, int64_t iterations)
{
    return mean == 1 ? iterations : (int64_t)floor((double)iterations * mean * (1 + 1e-12));
}
