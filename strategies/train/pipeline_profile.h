#pragma once
/* The shape of a pipeline: what its schedule says whatever the slots cost. Computed once for every
 * (schedule, p, v, m); memory and bounds of all layouts with this shape read it.
 *
 * Legend: p stages, v chunks a stage, m micro-batches. */
#include "strategies/train/schedules/schedule.h"

/* So many micro-batches are kept of each of a stage's chunks in a row. */
typedef struct {
    int32_t end; /* the chunk behind the last; the first begins where the run before ends */
    int32_t kept;
} RhInFlightRun;

/* A moment when a stage may be fullest: a slot, and how many micro-batches of each of the stage's
 * chunks are kept while it runs: of many chunks mostly a few runs. */
typedef struct {
    int32_t chunk;
    RhSlotPass pass;
    int32_t runs_first, runs_count; /* into runs */
    int32_t gradients_first;        /* into gradients, one for each of the stage's chunks */
    int32_t beside; /* of a pair: the chunk that runs backward; -1: the slot runs alone */
    int32_t next;   /* the stage's next moment of the same chunk and pass; -1: none */
} RhPeakCandidate;

/* What a stage has of a chunk's gradients: the more, the more bytes. */
typedef enum { RH_GRADIENTS_NONE, RH_GRADIENTS_REDUCED, RH_GRADIENTS_SUMMED } RhGradients;

typedef struct {
    const RhPipelineSchedule *schedule;
    int32_t p, v, m;
    int64_t slots_count; /* of one stage */
    /* Memory */
    GArray *moments;        /* RhPeakCandidate */
    GArray *runs;           /* RhInFlightRun */
    GArray *gradients;      /* uint8_t: RhGradients of chunks; NULL: they are there all the time */
    int32_t *moments_first; /* p + 1 entries, into moments */
    /* How many slots of each chunk and pass a stage runs, [(stage * v + chunk) * RH_SLOT_PASSES +
     * pass]: before the first one that is its chunk's last of backward, and behind the last one
     * whose output goes to the stage before. */
    int32_t *before_last, *behind_back;
    int32_t *back_chunk; /* per stage: the chunk of that one */
    /* Of a schedule with pairs, if all of it was walked, else NULL: slots that run alone, as above; and
     * pairs, [(stage * v + chunk of the forward) * v + chunk of the backward]. */
    int32_t *alone, *pairs;
} RhPipelineProfile;

/* `frees`: a chunk's gradients come with its first backward and are reduced behind its last. */
RhPipelineProfile *rh_pipeline_profile_new(const RhPipelineSchedule *schedule, int32_t p, int32_t v,
                                           int32_t m, bool frees);
/* The same of the first and last of `walk` micro-batches, at most m: of schedules that settle
 * (schedule.h) four times the stages tell it all, and what is left when the stages divide m. */
RhPipelineProfile *rh_pipeline_profile_walked(const RhPipelineSchedule *schedule, int32_t p,
                                              int32_t v, int32_t m, int32_t walk, bool frees);
void rh_pipeline_profile_free(RhPipelineProfile *profile);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhPipelineProfile, rh_pipeline_profile_free)
