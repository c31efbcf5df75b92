/* GEMS (Jain et al. 2020, SC20, "GEMS: GPU-Enabled Memory-Aware Model-Parallelism System for
 * Distributed DNN Training"; github.com/OSU-Nowlab/MPI4DL 998d9ad, src/torchgems/gems_master.py): two
 * copies of the model in one pipeline, whose stages lie in opposite order: stage s has part s of the
 * first copy and part p-1-s of the second. A stage runs forward and backward of a micro-batch of the
 * first copy, then of the second, whose forward fills the time in which the first copy's gradients
 * are elsewhere; so the activations of one micro-batch are kept at a time, and the parameters of two
 * parts. At the end of the step ranks s and p-1-s sum the gradients of the part that both hold
 * (parallelism/mirrored_copies.c). m counts the micro-batches of each copy, GEMS's `times`. */
#include "strategies/train/schedules/schedule.h"

static void order(int32_t p, int32_t v, int32_t m, int32_t stage, RhSlot *slots)
{
    (void)p, (void)v, (void)stage;
    for (int32_t i = 0; i < 2 * m; i++)
        for (int32_t back = 0; back < 2; back++)
            slots[2 * i + back] = (RhSlot){.microbatch = i / 2,
                                           .chunk = i % 2,
                                           .pass = back ? RH_SLOT_BACKWARD : RH_SLOT_FORWARD};
}

/* A step takes 2 m (p (F + B) - (p - 1) min) + (p - 1) min, where min is the less of F and B: from a
 * copy's first forward to the other copy's, p slots of each kind pass, but p - 1 of the shorter
 * ones lie beside the other copy's. */
static double bubble_frac(int32_t p, int32_t v, int64_t m, const double *pass_s)
{
    double f = pass_s[RH_SLOT_FORWARD],
           b = pass_s[RH_SLOT_BACKWARD_DATA] + pass_s[RH_SLOT_BACKWARD_WEIGHT];
    return (p - 1) * (MAX(f, b) + MIN(f, b) / (v * (double)m)) / (f + b);
}

const RhPipelineSchedule rh_pipeline_gems = {
    .turns = true,
    .mirrors = true,
    .order = order,
    .bubble = "(pp - 1) (max(F, B) + min(F, B) / (2 m)) / (F + B), m of each copy",
    .bubble_frac = bubble_frac};
