#pragma once
/* Timeline of every GPU of a run: passes of micro-batches and the waits between and inside them,
 * classified as in RhPerformer.wait_s; and the critical path of the simulated step. */
#include "sim/timeline/timeline_index.h"

typedef enum {
    RH_SEGMENT_IDLE, /* no kernel runs: `wait` is the reason */
    RH_SEGMENT_FORWARD,
    RH_SEGMENT_BACKWARD, /* including recomputation */
    RH_SEGMENT_OPTIMIZER,
    RH_SEGMENT_OTHER, /* kernels of no micro-batch */
    RH_SEGMENT_LAST,
} RhGpuSegmentKind;

typedef struct {
    uint8_t kind, wait; /* RhGpuSegmentKind; RhWait of RH_SEGMENT_IDLE */
    bool late;          /* idle because another member of a collective came later: a straggler */
    int32_t microbatch; /* -1 = none */
    double t_start_s, t_end_s;
    /* waits between the kernels of the pass; 0 for RH_SEGMENT_IDLE */
    double wait_s[RH_WAIT_LAST];
    double late_s;      /* part of wait_s spent waiting for stragglers */
    double recompute_s; /* time of kernels that recompute activations */
} RhGpuSegment;

/* A task of the critical path: it began when the one before it had ended. */
typedef struct {
    int32_t performer;
    /* RH_WAIT_COMPUTE for a kernel, the kind of transfer for a message, ... */
    RhWait wait;
    double t_start_s, t_end_s;
} RhCriticalStep;

typedef struct {
    GPtrArray *passes; /* [performer]: GArray of RhGpuSegment in order of time, without gaps */
    GArray *chain;     /* RhCriticalStep, in order of time */
} RhGpuTimeline;

/* Builds the timeline of a run that recorded its tasks (RhEngineOptions.timeline). */
RhGpuTimeline *rh_gpu_timeline_new(const RhTaskIntervals *spans);
void rh_gpu_timeline_free(RhGpuTimeline *timeline);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhGpuTimeline, rh_gpu_timeline_free)
