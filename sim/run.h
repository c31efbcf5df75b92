#pragma once
/* What a performance of a program tells, rehearsed or real: the step, why each performer stood
 * still, and the timeline. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "sim/program.h"

/* Why a performer's compute lane stood still. */
typedef enum {
    RH_WAIT_COMPUTE, /* not waiting: kernels ran */
    RH_WAIT_STRETCH, /* kernels ran slower: SMs held by communication */
    RH_WAIT_TP,
    RH_WAIT_CP,
    RH_WAIT_EP,
    RH_WAIT_DP,
    RH_WAIT_PIPELINE_TRANSFER, /* a pipeline message in flight */
    RH_WAIT_BUBBLE,            /* waiting for another stage to compute */
    RH_WAIT_COPY,
    RH_WAIT_JITTER, /* a folded run's: kernels start once the slower ones of its ranks are there */
    RH_WAIT_END,    /* done early: waiting for the slowest rank at the end of the step */
    RH_WAIT_LAST,
} RhWait;
const char *rh_wait_name(RhWait wait);

typedef struct {
    int32_t role;
    int32_t rank;                   /* the representative */
    int32_t ranks_count;            /* how many it stands for */
    double wait_s[RH_WAIT_LAST];    /* sums to step_time_s */
    double kernel_s[RH_PHASE_LAST]; /* kernels of the compute lane by phase, alone on the device:
                                       sums to wait_s[RH_WAIT_COMPUTE] */
    double kernel_flops;            /* of all kernels that ran */
    double lane_busy_s[RH_LANE_LAST];
} RhPerformer;

typedef struct {
    int32_t performer, task;
    double t_start_s, t_end_s;
} RhSpanOfTime;

typedef struct {
    char *name; /* owned */
    double busy_frac;
    double bytes;
} RhLinkUse;

typedef struct {
    double step_time_s;         /* mean over steps */
    double jitter_correction_s; /* included in step_time_s */
    int64_t events_count;
    double bytes_total; /* put on links by collectives and messages (payload of flows, each once) */
    double bytes_as_flows; /* of these, moved by SimGrid flows rather than collapsed timers */
    bool approximate;      /* colours were merged */
    char *approximate_why; /* owned, or NULL */
    GArray *performers;    /* RhPerformer */
    GArray *timeline;      /* RhSpanOfTime, or empty */
    GArray *links;         /* RhLinkUse, the ten busiest */
} RhRun;
void rh_run_free(RhRun *run);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhRun, rh_run_free)

RhRun *rh_run_new(void);
/* As bytes, to cross from the process that rehearsed to the one that asked. */
GByteArray *rh_run_pack(const RhRun *run);
/* NULL when the bytes are not a whole run. */
RhRun *rh_run_unpack(const uint8_t *bytes, size_t length);
