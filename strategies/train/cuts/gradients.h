#pragma once
/* Gradient buckets: collected item by item and class by class, sent when full. Shared by the cuts that reduce. */
#include "strategies/train/script.h"

/* Parameters of one rank in a bucket: the stack's size, and never less than its share a replica. */
double rh_bucket_params(const RhCase *c, const RhLayout *layout, RhParamsClass cls);
/* Where the stack exchanges late, nothing is sent before rh_gradients_end(). */
void rh_gradients_collect(RhScriptWriter *w, RhParamsClass cls, double params, RhOp op);
/* Behind the last slot of a chunk: sends what is collected. */
void rh_gradients_close(RhScriptWriter *w, RhParamsClass cls, RhOp op);
/* All gradients of the stage are in: where the stack exchanges late they are all-reduced now, bucket by
 * bucket. True where something was sent, for which the optimizer has to wait. */
bool rh_gradients_end(RhScriptWriter *w, RhParamsClass cls);
/* Sends `bytes` of gradients for reduction now, from so many buffers (RhStep). ALL_REDUCE: over all who
 * hold the parameters. REDUCE_SCATTER: to those who share them out. */
void rh_gradients_reduce(RhScriptWriter *w, RhParamsClass cls, RhOp op, double bytes,
                         int32_t buffers);
/* Shares of the gradients of so many parameters, summed over the ranks that have the same ones; nothing
 * where nobody has. */
void rh_gradients_sum_shares(RhScriptWriter *w, RhParamsClass cls, double params);
