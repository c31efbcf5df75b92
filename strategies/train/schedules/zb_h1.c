/* ZB-H1, zero bubble by hand (Qi et al. 2024, "Zero Bubble Pipeline Parallelism", section 3.1):
 * backward is split into gradients of the inputs, which the stage before waits for, and gradients
 * of the weights, which nothing waits for and which fill the bubble. Stage s delays the weights by
 * s micro-batches, so that every stage keeps as many activations as stage 0 does under 1F1B: p.
 * With passes of F, B and W seconds the bubble is (p - 1) (F + B - W), a third of 1F1B's when all
 * three are equal. */
#include "strategies/train/schedules/zero_bubble.h"

static RhSlot slot(RhSlotPass pass, int32_t microbatch)
{
    return (RhSlot){.microbatch = microbatch, .pass = pass};
}

void rh_zero_bubble_order(int32_t ahead, int32_t p, int32_t m, int32_t stage, RhSlot *slots)
{
    int32_t forward = 0, data = 0, weight = 0, n = 0;
    for (int32_t warmup = MIN(ahead * (p - stage - 1), m); forward < warmup;)
        slots[n++] = slot(RH_SLOT_FORWARD, forward++);
    while (forward < m) {
        slots[n++] = slot(RH_SLOT_FORWARD, forward++);
        slots[n++] = slot(RH_SLOT_BACKWARD_DATA, data++);
        if (data - weight > ahead * stage)
            slots[n++] = slot(RH_SLOT_BACKWARD_WEIGHT, weight++);
    }
    while (data < m) { /* weights while the next gradients are on their way */
        slots[n++] = slot(RH_SLOT_BACKWARD_DATA, data++);
        slots[n++] = slot(RH_SLOT_BACKWARD_WEIGHT, weight++);
    }
    while (weight < m)
        slots[n++] = slot(RH_SLOT_BACKWARD_WEIGHT, weight++);
}

static void order(int32_t p, int32_t v, int32_t m, int32_t stage, RhSlot *slots)
{
    (void)v;
    rh_zero_bubble_order(1, p, m, stage, slots);
}

static double bubble_frac(int32_t p, int32_t v, int64_t m, const double *pass_s)
{
    (void)v;
    double f = pass_s[RH_SLOT_FORWARD], b = pass_s[RH_SLOT_BACKWARD_DATA],
           w = pass_s[RH_SLOT_BACKWARD_WEIGHT];
    return (p - 1) * (f + b - w) / ((double)m * (f + b + w));
}

const RhPipelineSchedule rh_pipeline_zb_h1 = {.splits_backward = true,
                                              .settles = true,
                                              .order = order,
                                              .bubble = "(pp - 1) (F + B - W) / (m (F + B + W))",
                                              .bubble_frac = bubble_frac};
