#pragma once
/* Which matrices layers train, by their shapes: what a framework holds of each shape once. */
#include "strategies/train/block_cost.h"

/* Read off the products that make weights' gradients. */
RhWeightShapes rh_weight_shapes_of(const RhModelCost *model_cost);
