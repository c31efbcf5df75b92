#pragma once
/* Distinct shapes of the matrices that layers train, for buffers that a framework holds once per
 * shape. */
#include "strategies/train/block_cost.h"

/* Returns the shapes, read off the matrix products of weight gradients. */
RhWeightShapes rh_weight_shapes_of(const RhModelCost *model_cost);
