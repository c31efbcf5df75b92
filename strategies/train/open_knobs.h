#pragma once
/* Layouts of which some knobs are open yet (search/space.h): layouts that stand in for all that may become of them. */
#include "strategies/train/train.h"

/* With this cut, in few chunks, nothing shared out, nothing recomputed: one of which a layer's tasks can be made. */
RhLayout rh_train_plain_cut(const RhLayout *cut, RhOrder order);
/* With states shared out over all replicas at each degree of ZeRO that the stack runs in such a pipeline, the highest
 * first: no choice of shares holds less than the least of them. Returns how many. */
#define RH_TRAIN_DEGREES 4
int32_t rh_train_shared_most(const RhProblem *c, const RhLayout *layout,
                             RhLayout out[RH_TRAIN_DEGREES]);
