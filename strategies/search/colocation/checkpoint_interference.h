#pragma once
/* Checkpoints as flows on the fabric: alone, as they are written first and read at a restart, and beside a training
 * step, as they are written to the storage. There the checkpoint begins anew as long as the step lasts, so that what is
 * told holds wherever in the step it begins. */
#include "sim/engine/engine.h"
#include "strategies/run/checkpoint_times.h"
#include "strategies/train/train.h"

/* Everything is borrowed. */
typedef struct {
    const RhProblem *c;
    const RhLayout *layout; /* settled */
    const RhCheckpointSetup *setup;
    double step_s;        /* of the step alone, roughly: no more is written than takes as long */
    int64_t microbatches; /* of rh_checkpoint_beside_microbatches(), at least 1 */
    int32_t processes;    /* at least 1 */
} RhCheckpointInterference;

typedef struct {
    double step_alone_s, step_beside_s;
    double alone_s, beside_s; /* until all bytes that are written are there */
    double bytes;             /* of these: of the checkpoint, or what a step has time for */
} RhCheckpointInterferenceTimes;

/* Program of a checkpoint: every GPU's share of the bytes, between two tiers of memory. Caller frees. */
RhProgram *rh_checkpoint_program(int32_t gpus, double bytes, RhMemoryTier from, RhMemoryTier to);
/* Rehearses the copies of a checkpoint while no step runs, and sets their times: from the GPUs to what is written
 * first, from there to the storage (as many times longer as `setup` says steps make it), and back to the GPUs from the
 * storage and from the drives. Where all nodes are alike these are the closed form's (rh_checkpoint_times). Fails like
 * rh_rehearse_isolated. */
bool rh_checkpoint_alone(const RhProblem *c, const RhCheckpointSetup *setup,
                         const RhEngineOptions *options, RhCheckpointTimes *times,
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Returns how many micro-batches of a step may be rehearsed message by message: all of a short step, else an even number;
 * 0: not two, or the layout has no program. A step grows by the same for each micro-batch, beside a checkpoint as
 * alone, so steps of these and of half as many tell that of all. */
int64_t rh_checkpoint_beside_microbatches(const RhProblem *c, const RhLayout *layout);
/* Fails like rh_multi_job_rehearse. On nodes of several devices the step is that of the first one. */
bool rh_checkpoint_beside(const RhCheckpointInterference *ask, const RhEngineOptions *options,
                          RhCheckpointInterferenceTimes *out,
                          GError **error) G_GNUC_WARN_UNUSED_RESULT;
