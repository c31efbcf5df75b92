/* Interleaved 1F1B (Narayanan et al. 2021, arXiv 2104.04473, section 2.2.2): every stage holds v
 * chunks of the model and takes p micro-batches through one chunk before the next; the bubble
 * shrinks by v. m must be a multiple of p. With pairs a forward runs beside each backward, for which
 * stages are one forward further ahead (Megatron-Core, `overlap_moe_expert_parallel_comm`, from 0.14 on:
 * pipeline_parallel/schedules.py and combined_1f1b.py). */
#include "strategies/train/schedules/schedule.h"

/* The i-th forward (or backward) that a stage runs: its micro-batch and chunk. */
static RhSlot slot_at(int32_t p, int32_t v, int32_t i, bool backward)
{
    int32_t round = i / (p * v), within = i % (p * v);
    int32_t chunk = within / p;
    return (RhSlot){.microbatch = round * p + within % p,
                    .chunk = backward ? v - 1 - chunk : chunk,
                    .pass = backward ? RH_SLOT_BACKWARD : RH_SLOT_FORWARD};
}

static void fill(int32_t p, int32_t v, int32_t m, int32_t stage, bool pairs, RhSlot *slots)
{
    int32_t total = m * v;
    int32_t warmup = MIN((p - stage - 1) * 2 + (v - 1) * p + pairs, total);
    int32_t forward = 0, backward = 0, n = 0;
    while (forward < warmup)
        slots[n++] = slot_at(p, v, forward++, false);
    while (forward < total) {
        slots[n] = slot_at(p, v, forward++, false);
        slots[n++].beside = pairs;
        slots[n++] = slot_at(p, v, backward++, true);
    }
    while (backward < total)
        slots[n++] = slot_at(p, v, backward++, true);
}

static void order(int32_t p, int32_t v, int32_t m, int32_t stage, RhSlot *slots)
{
    fill(p, v, m, stage, false, slots);
}

static void order_in_pairs(int32_t p, int32_t v, int32_t m, int32_t stage, RhSlot *slots)
{
    fill(p, v, m, stage, true, slots);
}

static double bubble_frac(int32_t p, int32_t v, int64_t m, const double *pass_s)
{
    (void)pass_s;
    return (p - 1) / ((double)v * (double)m);
}

static const RhPipelineSchedule in_pairs = {.in_rounds = true,
                                            .pairs = true,
                                            .settles = true,
                                            .order = order_in_pairs,
                                            .bubble = "(pp - 1) / (vpp x m)",
                                            .bubble_frac = bubble_frac};
const RhPipelineSchedule rh_pipeline_interleaved = {.in_rounds = true,
                                                    .settles = true,
                                                    .order = order,
                                                    .bubble = "(pp - 1) / (vpp x m)",
                                                    .bubble_frac = bubble_frac,
                                                    .paired = &in_pairs};
