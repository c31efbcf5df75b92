/* 1F1B, PipeDream-Flush (Narayanan et al. 2021, arXiv 2104.04473, section 2.2.1): p-1-stage
 * forwards to warm up, then one forward and one backward in turn. At most p-stage micro-batches are
 * in flight. */
#include "strategies/train/schedules/schedule.h"

static void order(int32_t p, int32_t v, int32_t m, int32_t stage, RhSlot *slots)
{
    (void)v;
    int32_t warmup = MIN(p - stage - 1, m);
    int32_t forward = 0, backward = 0, n = 0;
    while (forward < warmup)
        slots[n++] = (RhSlot){.microbatch = forward++};
    while (forward < m) {
        slots[n++] = (RhSlot){.microbatch = forward++};
        slots[n++] = (RhSlot){.microbatch = backward++, .pass = RH_SLOT_BACKWARD};
    }
    while (backward < m)
        slots[n++] = (RhSlot){.microbatch = backward++, .pass = RH_SLOT_BACKWARD};
}

static double bubble_frac(int32_t p, int32_t v, int64_t m, const double *pass_s)
{
    (void)pass_s;
    return (p - 1) / ((double)v * (double)m);
}

const RhPipelineSchedule rh_pipeline_1f1b = {
    .settles = true, .order = order, .bubble = "(pp - 1) / m", .bubble_frac = bubble_frac};
