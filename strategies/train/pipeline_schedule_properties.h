#pragma once
/* Pipeline profile: the properties of a schedule that do not depend on the cost of slots. It is
 * computed once for every (schedule, p, v, m), for the memory and bounds of all layouts with it.
 *
 * Legend: p stages, v chunks a stage, m micro-batches. */
#include "strategies/train/schedules/schedule.h"

/* Successive chunks of a stage that keep equally many micro-batches. */
typedef struct {
    int32_t end; /* index after the last chunk; the first is the `end` of the run before */
    int32_t kept;
} RhInFlightRun;

/* A candidate at which a stage may reach its memory peak: the running slot, and the number of
 * micro-batches that each of the stage's chunks keeps, run-length encoded. */
typedef struct {
    int32_t chunk;
    RhSlotPass pass;
    int32_t runs_first, runs_count; /* indices into runs */
    int32_t gradients_first;        /* index into gradients, one for each of the stage's chunks */
    int32_t beside;                 /* chunk of the backward of a pair; -1: the slot runs alone */
    int32_t next; /* the stage's next candidate of the same chunk and pass; -1: none */
} RhPeakCandidate;

/* Gradients that a stage holds for a chunk, in ascending order of bytes. */
typedef enum { RH_GRADIENTS_NONE, RH_GRADIENTS_REDUCED, RH_GRADIENTS_SUMMED } RhGradients;

typedef struct {
    const RhPipelineSchedule *schedule;
    int32_t p, v, m;
    int64_t slots_count; /* of one stage */
    /* Memory */
    GArray *candidates;        /* RhPeakCandidate */
    GArray *runs;              /* RhInFlightRun */
    GArray *gradients;         /* uint8_t: RhGradients of chunks; NULL: never freed */
    int32_t *candidates_first; /* p + 1 indices into candidates */
    /* Number of slots by [(stage * v + chunk) * RH_SLOT_PASSES + pass]: before the first slot that
     * is the last backward of its chunk, and after the last slot whose output goes to the stage
     * before. */
    int32_t *before_last, *behind_back;
    int32_t *back_chunk; /* per stage: chunk of the latter slot */
    /* For schedules with pairs, if the whole schedule was walked; else NULL. Number of slots that
     * run alone, indexed as above, and of pairs, [(stage * v + chunk of the forward) * v + chunk of
     * the backward]. */
    int32_t *alone, *pairs;
} RhPipelineProfile;

/* Computes the profile; the caller frees it. `frees`: gradients of a chunk are allocated at its
 * first backward and reduced after its last. */
RhPipelineProfile *rh_pipeline_profile_new(const RhPipelineSchedule *schedule, int32_t p, int32_t v,
                                           int32_t m, bool frees);
/* Computes the profile from a schedule of `walk` micro-batches, at most m. For schedules that
 * settle (schedule.h), four times the number of stages, plus m modulo the number of stages, is
 * exact. */
RhPipelineProfile *rh_pipeline_profile_walked(const RhPipelineSchedule *schedule, int32_t p,
                                              int32_t v, int32_t m, int32_t walk, bool frees);
void rh_pipeline_profile_free(RhPipelineProfile *profile);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhPipelineProfile, rh_pipeline_profile_free)
