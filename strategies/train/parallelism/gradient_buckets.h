#pragma once
/* Gradient buckets: gradients are collected layer by layer and class by class, and sent when a
 * bucket is full. Shared by the parallelisms that reduce gradients. */
#include "strategies/train/program/stage_program.h"

/* Returns the number of parameters of one rank at which a bucket is closed: the stack's bytes, else
 * its number, at least its minimum per replica. */
double rh_bucket_params(const RhProblem *c, const RhLayout *layout, RhParamsClass cls);
/* Adds the gradients of a layer to the bucket of their class, which is sent if it is full then, or has been
 * open for the stack's cycle. If the stack exchanges late, nothing is sent before
 * rh_gradients_end(). */
void rh_gradients_collect(RhStageProgramWriter *w, RhParamsClass cls, const RhStageLayer *layer,
                          RhOp op);
/* Sends the collected gradients after the last slot of a chunk. */
void rh_gradients_close(RhStageProgramWriter *w, RhParamsClass cls, RhOp op);
/* All-reduces all gradients of the stage, bucket by bucket, if the stack exchanges late. Returns
 * whether anything was sent, for which the optimizer has to wait. */
bool rh_gradients_end(RhStageProgramWriter *w, RhParamsClass cls);
/* Reduces `bytes` of gradients from `buffers` buffers (RhInstr): ALL_REDUCE over all ranks with the
 * same parameters, REDUCE_SCATTER over those that shard them. */
void rh_gradients_reduce(RhStageProgramWriter *w, RhParamsClass cls, RhOp op, double bytes,
                         int32_t buffers);
/* Sums the shards of the gradients of `params` parameters over the ranks with the same shard, if
 * there are several. */
void rh_gradients_sum_shares(RhStageProgramWriter *w, RhParamsClass cls, double params);
