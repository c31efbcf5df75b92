#pragma once
/* Results of performing a program, simulated or real: the step time, why each performer was idle,
 * and the timeline. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "sim/program.h"

/* Reason why a performer's compute lane was idle. */
typedef enum {
#define ROW(number, name, source, communication) RH_WAIT_##number,
    RH_WAITS(ROW) /* RH_WAIT_COMPUTE, ...: sim/lanes.h */
#undef ROW
    RH_WAIT_LAST,
} RhWait;
/* Returns the reason for waiting on a collective of this lane. */
RhWait rh_lane_wait(int32_t lane);
/* Returns the reason for waiting on a COPY: bytes on their way, or work of the host. */
static inline RhWait rh_copy_wait(const RhTask *task)
{
    return rh_task_is_host_work(task) ? RH_WAIT_HOST : RH_WAIT_COPY;
}
/* Return the reasons for waiting on a message of this lane: the transfer itself, and the other rank
 * not being ready yet. */
RhWait rh_lane_transfer(int32_t lane);
RhWait rh_lane_bubble(int32_t lane);
const char *rh_wait_name(RhWait wait);
/* Returns the source text of a reason for a cost tree. */
const char *rh_wait_source(RhWait wait);
bool rh_wait_communicates(RhWait wait);

typedef struct {
    int32_t role;
    int32_t rank;                /* the representative */
    int32_t ranks_count;         /* ranks that it represents */
    double wait_s[RH_WAIT_LAST]; /* sums to step_time_s */
    /* kernels of the compute lane by phase, without stretch; sums to wait_s[RH_WAIT_COMPUTE] */
    double kernel_s[RH_PHASE_LAST];
    double kernel_flops; /* of all kernels that ran */
    /* parts of the compute lane's kernel time, stretch included; the rest are gaps */
    RhBoundTimes bounds;
    double lane_busy_s[RH_LANE_LAST]; /* without streams */
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
    bool left;          /* stopped early: step_time_s is a lower bound, other fields are unset */
    double jitter_correction_s; /* included in step_time_s */
    int64_t events_count;
    double bytes_total;    /* payload of collectives and messages, each flow once */
    double bytes_as_flows; /* part moved by SimGrid flows instead of timers */
    bool approximate;      /* colours were merged */
    char *approximate_why; /* owned, or NULL */
    GArray *performers;    /* RhPerformer */
    GArray *timeline;      /* RhTaskInterval; empty unless requested */
    GArray *links;         /* RhLinkUse, the ten busiest */
    /* double: fraction of its rate that each of the first RH_LINK_SERIES links (or fewer, if fewer
     * were used) carried in each of RH_LINK_BINS equal parts of the run. Empty without a timeline,
     * and for packets. */
    GArray *link_loads;
} RhRun;
void rh_run_free(RhRun *run);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhRun, rh_run_free)

RhRun *rh_run_new(void);
/* Serialises a run, to pass it from the child process to its parent. Caller unrefs. */
GByteArray *rh_run_pack(const RhRun *run);
/* Reads a serialised run; NULL when the bytes are not a whole one. */
RhRun *rh_run_unpack(const uint8_t *bytes, size_t length);
