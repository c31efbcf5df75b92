/* GPipe (Huang et al. 2019, arXiv 1811.06965): all forwards, then all backwards, last micro-batch
 * first. */
#include "strategies/train/schedules/schedule.h"

static void order(int32_t p, int32_t v, int32_t m, int32_t stage, RhSlot *slots)
{
    (void)p, (void)v, (void)stage;
    for (int32_t i = 0; i < m; i++) {
        slots[i] = (RhSlot){.microbatch = i};
        slots[m + i] = (RhSlot){.microbatch = m - 1 - i, .pass = RH_SLOT_BACKWARD};
    }
}

static double bubble_frac(int32_t p, int32_t v, int64_t m, const double *pass_s)
{
    (void)pass_s;
    return (p - 1) / ((double)v * (double)m);
}

const RhPipelineSchedule rh_pipeline_gpipe = {
    .order = order, .bubble = "(pp - 1) / m", .bubble_frac = bubble_frac};
