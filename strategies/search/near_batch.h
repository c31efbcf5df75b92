#pragma once
/* Batches near the one that was asked for, which more of the GPUs divide: 512 samples of 48 GPUs rule out layouts that 480
 * and 528 have, and these layouts alone are looked for. */
#include "strategies/search/plan.h"

typedef struct {
    int64_t batch;
    RhRehearsal *r;   /* owned: the best of the layouts that are looked for; NULL: none gains */
    double gain_frac; /* more tokens a second than the plan's best; 0: none gains */
} RhNearBatch;

#define RH_NEAR_BATCH_FRAC 0.15 /* so far from the batch they are looked for: of 7 samples, 8 */
#define RH_NEAR_BATCH_GAIN 0.02 /* and worth a word from this gain on */

/* The multiples just below and above, 0 where there is none within reach, of the GPUs, or of a half, a quarter and so on of
 * them: of the first that has one. Both 0 where the batch is such a multiple itself. */
void rh_near_batches(int64_t batch, int32_t gpus, int64_t *below, int64_t *above);
/* RhNearBatch of them, planned with the same constraints; ascending, maybe none (`best` NULL: none). What cannot be planned,
 * or not in the time, is left out. The caller unrefs. */
GArray *rh_near_batches_beside(const RhProblem *c, const RhPlanOptions *options,
                               const RhRehearsal *best);
/* Beside a plan's best; none of a plan that has none that fits surely, or ran out of time. */
GArray *rh_near_batches_plan(const RhProblem *c, const RhPlanOptions *options, const RhPlan *plan);
