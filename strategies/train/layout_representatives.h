#pragma once
/* Layouts with open knobs (search/space.h): returns complete layouts that represent all
 * completions. */
#include "strategies/knobs.h"
#include "strategies/train/train.h"

/* Returns a complete layout of this cut with few chunks, without sharding and recomputation, from
 * which a layer's tasks can be made. */
RhLayout rh_train_plain_cut(const RhLayout *cut, RhOrder order);
/* Gets the layouts with states sharded over all replicas, for each degree of ZeRO that the stack
 * supports in such a pipeline, highest first; returns their number. No sharding holds less than the
 * least of them. */
#define RH_TRAIN_DEGREES 4
int32_t rh_train_shared_most(const RhProblem *c, const RhLayout *layout,
                             RhLayout out[RH_TRAIN_DEGREES]);

/* Returns the knobs that put what a device holds from step to step into its host's memory with
 * RH_PLACE_HOST, in the order in which they help, NULL-terminated. */
const RhKnob *const *rh_train_host_knobs(void);
