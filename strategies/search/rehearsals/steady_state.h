#pragma once
/* Steps of many micro-batches, extrapolated from rehearsals of few. Once a schedule has filled its
 * stages it repeats itself: each further round of micro-batches adds the same seconds, bytes and
 * joules. A step of m micro-batches therefore takes the time of one of two rounds and, for every
 * further micro-batch, its share of the time that a third round adds. Measured over layouts of a
 * 70B model on 64 GPUs, 256 micro-batches: within 1e-8 of the whole rehearsal in most, 7e-4 in the
 * worst (tests/strategies/search/rehearsals/steady_state_test.c checks drawn layouts). */
#include "sim/program_result.h"
#include "strategies/train/train.h"

/* Largest relative difference allowed between an extrapolated step and the whole rehearsal. */
#define RH_STEADY_APART_FRAC 1.5e-3
/* Number of tasks below which a step is rehearsed whole, as that is as quick. */
#define RH_STEADY_TASKS_LEAST 3e4

/* A rehearsal request: a layout, and the number of micro-batches of its step; 0: all of the job. */
typedef struct {
    RhLayout layout;
    int64_t microbatches;
} RhRehearsalNote;
/* Builds the program of an RhRehearsalNote (an RhBuildNoteFunc); `user` is the RhProblem. */
RhProgram *rh_rehearsal_build(const void *note, void *user,
                              GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Numbers of micro-batches of both rehearsals, and `whole`, of the step itself. */
typedef struct {
    int64_t first, second, whole;
} RhSteadyStateParts;
/* Computes the parts; returns false if both together have more than half of the step's micro-
 * batches. */
bool rh_steady_state_parts(const RhProblem *c, const RhLayout *layout, RhSteadyStateParts *out);
/* Returns the extrapolated run of the whole step, without a timeline; the caller frees it. */
RhRun *rh_steady_state_run(const RhRun *first, const RhRun *second, RhSteadyStateParts parts);
