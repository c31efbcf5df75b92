#pragma once
/* Minimal recomputation: chooses for each stage the least number of layers to recompute such that
 * it fits. Earlier stages hold more micro-batches and recompute more (Megatron-LM's
 * --recompute-method block, chosen stage by stage). */
#include "strategies/train/memory/memory.h"

/* Sets the recomputed layers of a layout that leaves them open (RH_RECOMPUTED_FEWEST): for every stage
 * the least number of first layers of each chunk such that it needs at most `most_bytes` of the
 * platform's first device and the same fraction of other devices; all layers if even that is too
 * much; recomputation off if no stage needs any. `model_cost` is the layout's. */
void rh_recompute_fewest_layers(const RhModelCost *model_cost, const RhPipelineProfile *profile,
                                double most_bytes, RhLayout *layout);
/* Sets all chunks to the largest number of layers that any of them recomputes, for frameworks that
 * accept a single number. Returns false if that is all layers. */
bool rh_recompute_evenly(const RhProblem *c, RhLayout *layout);
/* Applies rh_recompute_fewest_layers with the full memory of the devices; does not change layouts
 * without RH_RECOMPUTED_FEWEST. */
void rh_train_settle(const RhProblem *c, RhLayout *layout);
