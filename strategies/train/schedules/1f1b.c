/* 1F1B, PipeDream-Flush (Narayanan et al. 2021, arXiv 2104.04473, section 2.2.1): p-1-stage
 * forwards to warm up, then one forward and one backward in turn. At most p-stage micro-batches are
 * in flight. With pairs the forward runs beside the backward: the last stage has to be a forward ahead
 * for that, and each stage before it two more, since gradients come a pair later than a backward. */
#include "strategies/train/schedules/schedule.h"

static void fill(int32_t warmup, int32_t m, int32_t beside, RhSlot *slots)
{
    int32_t forward = 0, backward = 0, n = 0;
    while (forward < MIN(warmup, m))
        slots[n++] = (RhSlot){.microbatch = forward++};
    while (forward < m) {
        slots[n++] = (RhSlot){.microbatch = forward++, .beside = beside};
        slots[n++] = (RhSlot){.microbatch = backward++, .pass = RH_SLOT_BACKWARD};
    }
    while (backward < m)
        slots[n++] = (RhSlot){.microbatch = backward++, .pass = RH_SLOT_BACKWARD};
}

static void order(int32_t p, int32_t v, int32_t m, int32_t stage, RhSlot *slots)
{
    (void)v;
    fill(p - stage - 1, m, 0, slots);
}

static void order_in_pairs(int32_t p, int32_t v, int32_t m, int32_t stage, RhSlot *slots)
{
    (void)v;
    fill(2 * (p - stage - 1) + 1, m, 1, slots);
}

static double bubble_frac(int32_t p, int32_t v, int64_t m, const double *pass_s)
{
    (void)pass_s;
    return (p - 1) / ((double)v * (double)m);
}

static const RhPipelineSchedule in_pairs = {.pairs = true,
                                            .settles = true,
                                            .order = order_in_pairs,
                                            .bubble = "(pp - 1) / m",
                                            .bubble_frac = bubble_frac};
const RhPipelineSchedule rh_pipeline_1f1b = {.settles = true,
                                             .order = order,
                                             .bubble = "(pp - 1) / m",
                                             .bubble_frac = bubble_frac,
                                             .paired = &in_pairs};
