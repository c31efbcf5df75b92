#pragma once
/* What a performance of a program tells, rehearsed or real: the step, why each performer stood
 * still, and the timeline. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "sim/program.h"

/* Why a performer's compute lane stood still. */
typedef enum {
#define ROW(number, name, source, communication) RH_WAIT_##number,
    RH_WAITS(ROW) /* RH_WAIT_COMPUTE, ...: sim/lanes.h */
#undef ROW
    RH_WAIT_LAST,
} RhWait;
/* What waiting for a collective on this lane is called. */
RhWait rh_lane_wait(int32_t lane);
/* What waiting for a message of this lane is called, and for its sender or receiver. */
RhWait rh_lane_transfer(int32_t lane);
RhWait rh_lane_bubble(int32_t lane);
const char *rh_wait_name(RhWait wait);
/* What it comes from, for a tree of costs. */
const char *rh_wait_source(RhWait wait);
bool rh_wait_communicates(RhWait wait);

typedef struct {
    int32_t role;
    int32_t rank;                   /* the representative */
    int32_t ranks_count;            /* how many it stands for */
    double wait_s[RH_WAIT_LAST];    /* sums to step_time_s */
    double kernel_s[RH_PHASE_LAST]; /* kernels of the compute lane by phase, alone on the device:
                                       sums to wait_s[RH_WAIT_COMPUTE] */
    double kernel_flops;            /* of all kernels that ran */
    RhBoundTimes bounds; /* of the compute lane's kernels, stretch included; the rest are gaps */
    double lane_busy_s[RH_LANE_LAST]; /* streams left out */
} RhPerformer;

typedef struct {
    int32_t performer, task;
    double t_start_s, t_end_s;
} RhTaskInterval;

typedef struct {
    char *name; /* owned */
    double busy_frac;
    double bytes;
} RhLinkUse;

#define RH_LINK_SERIES 6
#define RH_LINK_BINS   120

typedef struct {
    double step_time_s; /* mean over steps */
    bool left;          /* before its end: it takes step_time_s at least, and no more is told */
    double jitter_correction_s; /* included in step_time_s */
    int64_t events_count;
    double bytes_total; /* put on links by collectives and messages (payload of flows, each once) */
    double bytes_as_flows; /* of these, moved by SimGrid flows rather than collapsed timers */
    bool approximate;      /* colours were merged */
    char *approximate_why; /* owned, or NULL */
    GArray *performers;    /* RhPerformer */
    GArray *timeline;      /* RhTaskInterval, or empty */
    GArray *links;         /* RhLinkUse, the ten busiest */
    /* double: what share of its rate each of the first RH_LINK_SERIES of these moved (fewer where fewer moved
     * anything), in each of RH_LINK_BINS equal parts of the run. Empty without a timeline, and of packets. */
    GArray *link_loads;
} RhRun;
void rh_run_free(RhRun *run);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhRun, rh_run_free)

RhRun *rh_run_new(void);
/* As bytes, to cross from the process that rehearsed to the one that asked. */
GByteArray *rh_run_pack(const RhRun *run);
/* NULL when the bytes are not a whole run. */
RhRun *rh_run_unpack(const uint8_t *bytes, size_t length);
