#pragma once
/* Gradient buckets: collected item by item, sent when full. Shared by the cuts that reduce. */
#include "strategies/train/script.h"

/* Parameters of one rank in a bucket: the stack's size, and never less than its share a replica. */
double rh_bucket_params(const RhCase *c, const RhLayout *layout);
void rh_gradients_collect(RhScriptWriter *w, double params, RhOp op);
void rh_gradients_flush(RhScriptWriter *w, RhOp op);
/* Sends `bytes` of gradients for reduction now, from so many buffers (RhStep). */
void rh_gradients_reduce(RhScriptWriter *w, RhOp op, double bytes, int32_t buffers);
