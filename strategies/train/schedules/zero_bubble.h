#pragma once
/* What ZB-H1 and ZB-H2 have in common (Qi et al. 2024, arXiv 2401.10241, section 3). */
#include "strategies/train/schedules/schedule.h"

/* Stage s of p runs `ahead` (p - 1 - s) forwards at first, then a forward and a backward in turn, and
 * lets gradients of weights lag behind by `ahead` s micro-batches: so every stage keeps as many, 1 +
 * ahead (p - 1). What lags behind fills the end. */
void rh_zero_bubble_order(int32_t ahead, int32_t p, int32_t m, int32_t stage, RhSlot *slots);
