#pragma once
/* Order of slots and bubble, shared by DualPipe and DualPipeV. */
#include "strategies/train/schedules/schedule.h"

#define RH_DUALPIPE_BUBBLE "(pp - 1) (F&B + B - 2 W) / (2 m (F + B + W)), F&B at most F + B + W"

void rh_dualpipe_order(int32_t p, int32_t v, int32_t m, int32_t stage, RhSlot *slots);
double rh_dualpipe_bubble_frac(int32_t p, int32_t v, int64_t m,
                               const double pass_s[RH_SLOT_PASSES]);
