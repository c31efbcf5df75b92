#pragma once
/* Which matrices layers train, by their shapes: what a framework holds of each shape once. */
#include "strategies/train/pieces.h"

/* Read off the products that make weights' gradients. */
RhMatrices rh_matrices_of(const RhPieces *pieces);
