/* Interleaved 1F1B (Narayanan et al. 2021, arXiv 2104.04473, section 2.2.2): every stage holds v
 * chunks of the model and takes p micro-batches through one chunk before the next; the bubble
 * shrinks by v. m must be a multiple of p. */
#include "strategies/train/schedules/schedule.h"

/* The i-th forward (or backward) a stage runs: which micro-batch through which chunk. */
static RhSlot slot_at(int32_t p, int32_t v, int32_t i, bool backward)
{
    int32_t round = i / (p * v), within = i % (p * v);
    int32_t chunk = within / p;
    return (RhSlot){.microbatch = round * p + within % p,
                    .chunk = backward ? v - 1 - chunk : chunk,
                    .pass = backward ? RH_SLOT_BACKWARD : RH_SLOT_FORWARD};
}

static void order(int32_t p, int32_t v, int32_t m, int32_t stage, RhSlot *slots)
{
    int32_t total = m * v;
    int32_t warmup = MIN((p - stage - 1) * 2 + (v - 1) * p, total);
    int32_t forward = 0, backward = 0, n = 0;
    while (forward < warmup)
        slots[n++] = slot_at(p, v, forward++, false);
    while (forward < total) {
        slots[n++] = slot_at(p, v, forward++, false);
        slots[n++] = slot_at(p, v, backward++, true);
    }
    while (backward < total)
        slots[n++] = slot_at(p, v, backward++, true);
}

static double bubble_frac(int32_t p, int32_t v, int64_t m, const double *pass_s)
{
    (void)pass_s;
    return (p - 1) / ((double)v * (double)m);
}

const RhPipelineSchedule rh_pipeline_interleaved = {.in_rounds = true,
                                                    .settles = true,
                                                    .order = order,
                                                    .bubble = "(pp - 1) / (vpp x m)",
                                                    .bubble_frac = bubble_frac};
