/* ZB-H2 (Qi et al. 2024, "Zero Bubble Pipeline Parallelism", arXiv 2401.10241, section 3.2): ZB-H1
 * with twice as many forwards before the first backward, and weights delayed by twice as much. A
 * stage keeps up to 2 p - 1 micro-batches; with passes of F, B and W seconds it idles (p - 1) (F +
 * B - 2 W) between its first slot and its last, nothing where all three are equal. The stages are
 * apart by a forward each: the paper lets them continue like that into the next step, with
 * optimizers that do not wait for one another. A step that begins and ends for all together loses
 * (p - 1) F by that. */
#include "strategies/train/schedules/zero_bubble.h"

static void order(int32_t p, int32_t v, int32_t m, int32_t stage, RhSlot *slots)
{
    (void)v;
    rh_zero_bubble_order(2, p, m, stage, slots);
}

static double bubble_frac(int32_t p, int32_t v, int64_t m, const double *pass_s)
{
    (void)v;
    double f = pass_s[RH_SLOT_FORWARD], b = pass_s[RH_SLOT_BACKWARD_DATA],
           w = pass_s[RH_SLOT_BACKWARD_WEIGHT];
    return (p - 1) * MAX(f, f + b - 2 * w) / ((double)m * (f + b + w));
}

const RhPipelineSchedule rh_pipeline_zb_h2 = {.splits_backward = true,
                                              .settles = true,
                                              .order = order,
                                              .bubble =
                                                  "(pp - 1) max(F, F + B - 2 W) / (m (F + B + W))",
                                              .bubble_frac = bubble_frac};
