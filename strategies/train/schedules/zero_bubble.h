#pragma once
/* Order of slots shared by ZB-H1 and ZB-H2 (Qi et al. 2024, arXiv 2401.10241, section 3). */
#include "strategies/train/schedules/schedule.h"

/* Fills the slots of stage s of p: `ahead` (p - 1 - s) forwards, then forwards and backwards in
 * turn, while weight gradients lag by `ahead` s micro-batches. Every stage thus keeps 1 + `ahead`
 * (p - 1) micro-batches, and the delayed weight gradients fill the end. */
void rh_zero_bubble_order(int32_t ahead, int32_t p, int32_t m, int32_t stage, RhSlot *slots);
