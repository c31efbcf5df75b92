#pragma once
/* The stack's memory reserve from runs that ran out of memory and runs that did not, of the sources
 * that report both: the chance that a run dies is
 *
 *     P = Phi(ln((peak + reserve) / capacity) / spread)
 *
 * with Phi the normal distribution and `peak` the account's without a reserve: whatever the account
 * leaves out makes up `reserve`, and how unlike the runs are `spread`. Maximum likelihood; 95 % by
 * its ratio, over rows as if they were independent. */
#include "calibrate/stacks/steps_predict.h"

typedef struct {
    int32_t ran_count, failed_count; /* rows; 0: nothing to fit */
    double reserve_bytes, low_bytes, high_bytes, spread_frac;
    bool on_bound;
    /* evaluated by peak + reserve > capacity, as the reserve is now and as fitted */
    int32_t caught_before, caught_fitted;   /* of failed_count */
    int32_t refused_before, refused_fitted; /* of ran_count */
} RhStepReserve;

/* Leaves counts 0 when no source has rows of both kinds. */
void rh_steps_reserve(const RhStepModel *model, RhStepReserve *out);
