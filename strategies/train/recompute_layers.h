#pragma once
/* How few layers a stage may recompute and still fit: earlier stages hold more micro-batches and
 * recompute more (Megatron-LM's --recompute-method block, chosen stage by stage). */
#include "strategies/train/memory.h"

/* Of a layout that leaves it open (RH_AGAIN_LEAST): of every stage as few layers of each chunk, the first
 * ones, as need no more than so many bytes of the platform's first device, and as large a part of other
 * devices; all where that is still too much. Where that is none at all, nothing is recomputed. `block costs`
 * are the layout's. */
void rh_recompute_fewest_layers(const RhModelCost *model_cost, const RhPipelineProfile *profile,
                                double most_bytes, RhLayout *layout);
/* Of a layout whose chunks recompute so many layers each: the most of these for every chunk, which is how frameworks
 * are told that know one number. False where that is all layers. */
bool rh_recompute_evenly(const RhProblem *c, RhLayout *layout);
/* As rh_recompute_fewest_layers, of all that devices have; no effect on any other layout. */
void rh_train_settle(const RhProblem *c, RhLayout *layout);
