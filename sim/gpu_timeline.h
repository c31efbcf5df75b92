#pragma once
/* What every GPU of a run did when: passes of micro-batches and the waits between and inside them, booked
 * as the rehearsal books them (RhPerformer.wait_s); and the chain of tasks that the step's end hung on. */
#include "sim/task_intervals.h"

typedef enum {
    RH_PIECE_IDLE, /* no kernel of any pass: `wait` says why */
    RH_PIECE_FORWARD,
    RH_PIECE_BACKWARD, /* what it recomputes included */
    RH_PIECE_OPTIMIZER,
    RH_PIECE_OTHER, /* kernels of no micro-batch */
    RH_PIECE_LAST,
} RhGpuSegmentKind;

typedef struct {
    uint8_t kind, wait; /* RhGpuSegmentKind; RhWait of RH_PIECE_IDLE */
    bool late;          /* idle because another member of a collective came later: a straggler */
    int32_t microbatch; /* -1 = none */
    double t_start_s, t_end_s;
    /* inside the pass, between its kernels; nothing of RH_PIECE_IDLE */
    double wait_s[RH_WAIT_LAST];
    double late_s;      /* what of wait_s was waiting for members that came later */
    double recompute_s; /* of its kernels, those that compute once more what was not kept */
} RhGpuSegment;

/* What the end of the step hung on: tasks of a performer, each begun when the one before had ended. */
typedef struct {
    int32_t performer;
    /* what it is booked on: RH_WAIT_COMPUTE of kernels, a transfer's name of messages, ... */
    RhWait wait;
    double t_start_s, t_end_s;
} RhCriticalStep;

typedef struct {
    GPtrArray *passes; /* [performer]: GArray of RhGpuSegment in order of time, without gaps */
    GArray *chain;     /* RhCriticalStep in order of time */
} RhGpuTimeline;

/* Needs a run with a timeline. */
RhGpuTimeline *rh_gpu_timeline_new(const RhTaskIntervals *spans);
void rh_gpu_timeline_free(RhGpuTimeline *timeline);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhGpuTimeline, rh_gpu_timeline_free)
