#pragma once
/* Performs folded programs: counts predecessors down, times kernels, brings members and peers
 * together, and hands bytes to SimGrid. One per process (the bridge's rule). */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "sim/engine/engine.h"
#include "sim/engine/fold.h"
#include "sim/engine/folded_network.h"
#include "sim/engine/session.h"
#include "sim/engine/traffic.h"
#include "sim/program_join.h"

/* Borrowed, and to outlive the executor. */
typedef struct {
    const RhTraffic *traffic; /* of the joined program */
    const RhFold *fold;
    const RhFoldedNetwork *quotient;
    const RhEngineOptions *options;
    const RhJoined *jobs;
    int32_t jobs_count;
} RhExecInput;

typedef struct RhExec RhExec;

/* Does a platform's traffic fold? Packets are performed rank by rank. */
bool rh_exec_folds(const RhPlatform *platform);
RhExec *rh_exec_new(const RhExecInput *input, GError **error);
void rh_exec_free(RhExec *x); /* NULL is fine */
double rh_exec_clock_s(const RhExec *x);
bool rh_exec_is_under_way(const RhExec *x, int32_t job);

/* Begins at t_s, and again when a step has ended, `steps` times in all. The job is idle. */
void rh_exec_submit(RhExec *x, int32_t job, double t_s, int32_t steps, bool tell_steps);
/* A parcel leaves; its `send` is of the joined program. */
bool rh_exec_post(RhExec *x, const RhSessionMessage *parcel, GError **error);
/* Drops what is under way; packets that have left a rank still pass. */
void rh_exec_cancel(RhExec *x, int32_t job);
/* Until an event, or until_s, or nothing is left to happen: then *event is of kind NONE. With jobs
 * under way and nothing left, RH_ERROR_INTERNAL names the task that is stuck. */
bool rh_exec_run(RhExec *x, double until_s, RhSessionEvent *event, GError **error);
/* Starts the counts anew; from now on folded kernels spread by the jitter of the options. */
void rh_exec_begin_jitter(RhExec *x);

/* What the step takes at least, where that was enough to know (RhEngineOptions.enough_s); else 0. */
double rh_exec_least_s(const RhExec *x);
int32_t rh_exec_steps_done(const RhExec *x, int32_t job);
/* Since its counts began; ranks, roles and tasks of the joined program. Caller frees. */
RhRun *rh_exec_report(RhExec *x, int32_t job);
double rh_exec_link_bytes(RhExec *x, int32_t job, int32_t link); /* a quotient link */
int64_t rh_exec_link_met(const RhExec *x, int32_t link);
