#pragma once
/* Steps of many micro-batches, told by rehearsals of few. Once a schedule has filled its stages
 * it repeats itself: each further round of micro-batches adds the same seconds, bytes and
 * joules. A step of m micro-batches therefore takes what one of two rounds takes and, for every
 * micro-batch more, its share of what a third round adds. Measured over layouts of a 70B model
 * on 64 GPUs, 256 micro-batches: within 1e-8 of the whole rehearsal in most, 7e-4 in the worst
 * (tests/strategies/search/rehearsals/steady_state_test.c holds drawn layouts to it). */
#include "sim/run.h"
#include "strategies/train/train.h"

/* How far a told step may be from the whole rehearsal. */
#define RH_STEADY_APART_FRAC 1.5e-3
/* A step of fewer tasks is rehearsed whole as quickly. */
#define RH_STEADY_TASKS_LEAST 3e4

/* A rehearsal request: a layout, and the number of micro-batches of its step; 0: all of the job. */
typedef struct {
    RhLayout layout;
    int64_t microbatches;
} RhRehearsalNote;
/* An RhBuildNoteFunc: `user` is the RhProblem. */
RhProgram *rh_rehearsal_build(const void *note, void *user,
                              GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Micro-batches of both rehearsals; `whole`: of the step itself. */
typedef struct {
    int64_t first, second, whole;
} RhSteadyStateParts;
/* False: both together would have more than half of the step's micro-batches. */
bool rh_steady_state_parts(const RhProblem *c, const RhLayout *layout, RhSteadyStateParts *out);
/* The whole step's run, without a timeline; caller's. */
RhRun *rh_steady_state_run(const RhRun *first, const RhRun *second, RhSteadyStateParts parts);
