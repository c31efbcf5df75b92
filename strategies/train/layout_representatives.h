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

/* Completes a given layout and makes it canonical; RH_ERROR_USAGE where it is not legal. */
bool rh_train_settle_layout(const RhProblem *c, RhLayout *layout,
                            GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Returns whether a layout is legal on a machine with exactly its ranks, with an open dp set to the
 * number of replicas that its experts need; false names the fact that no number of replicas
 * changes. */
bool rh_train_fits_some_machine(const RhProblem *c, const RhLayout *layout,
                                GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Returns the knobs that put what a device holds from step to step into its host's memory with
 * RH_PLACE_HOST, in the order in which they help, NULL-terminated. */
const RhKnob *const *rh_train_host_knobs(void);
