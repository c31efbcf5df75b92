#pragma once
/* Gradient buckets: collected layer by layer and class by class, sent when full. Shared by the parallelisms that reduce. */
#include "strategies/train/stage_program.h"

/* Parameters of one rank in a bucket: the stack's size, and never less than its share a replica. */
double rh_bucket_params(const RhProblem *c, const RhLayout *layout, RhParamsClass cls);
/* Where the stack exchanges late, nothing is sent before rh_gradients_end(). */
void rh_gradients_collect(RhStageProgramWriter *w, RhParamsClass cls, double params, RhOp op);
/* Behind the last slot of a chunk: sends what is collected. */
void rh_gradients_close(RhStageProgramWriter *w, RhParamsClass cls, RhOp op);
/* All gradients of the stage are in: where the stack exchanges late they are all-reduced now, bucket by
 * bucket. True where something was sent, for which the optimizer has to wait. */
bool rh_gradients_end(RhStageProgramWriter *w, RhParamsClass cls);
/* Sends `bytes` of gradients for reduction now, from so many buffers (RhInstr). ALL_REDUCE: over all who
 * hold the parameters. REDUCE_SCATTER: to those who share them out. */
void rh_gradients_reduce(RhStageProgramWriter *w, RhParamsClass cls, RhOp op, double bytes,
                         int32_t buffers);
/* Shares of the gradients of so many parameters, summed over the ranks that have the same ones; nothing
 * where nobody has. */
void rh_gradients_sum_shares(RhStageProgramWriter *w, RhParamsClass cls, double params);
