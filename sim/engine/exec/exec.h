#pragma once
/* The executor: performs folded programs. It counts predecessors down, times kernels, matches
 * members and peers, and hands bytes to SimGrid. One per process, as the bridge requires. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "sim/engine/engine.h"
#include "sim/engine/folded_network.h"
#include "sim/engine/program_flows.h"
#include "sim/engine/session.h"
#include "sim/engine/symmetry_fold.h"
#include "sim/program_join.h"

/* Inputs of the executor, all borrowed; they must outlive it. */
typedef struct {
    const RhTraffic *traffic; /* of the joined program */
    const RhFold *fold;
    const RhFoldedNetwork *quotient;
    const RhEngineOptions *options;
    const RhJoinedProgram *jobs;
    int32_t jobs_count;
} RhExecInput;

typedef struct RhExec RhExec;

/* Returns whether a platform's traffic can be folded; packets need every rank. */
bool rh_exec_folds(const RhPlatform *platform);
RhExec *rh_exec_new(const RhExecInput *input, GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_exec_free(RhExec *x); /* NULL is fine */
double rh_exec_clock_s(const RhExec *x);
bool rh_exec_is_under_way(const RhExec *x, int32_t job);

/* Starts an idle job at t_s and repeats it back to back, `steps` times in all (0: until cancelled).
 */
void rh_exec_submit(RhExec *x, int32_t job, double t_s, int32_t steps, bool tell_steps);
/* Sends a message; its `send` is a task of the joined program. */
bool rh_exec_post(RhExec *x, const RhSessionMessage *message,
                  GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Stops a job; packets that have left a rank still travel on. */
void rh_exec_cancel(RhExec *x, int32_t job);
/* Runs until an event, until_s, or until nothing is left to happen; in the latter two cases *event
 * is of kind NONE. If a job cannot finish, RH_ERROR_INTERNAL names the task that is stuck. */
bool rh_exec_run(RhExec *x, double until_s, RhSessionEvent *event,
                 GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Resets the counts; from now on kernels of folded runs have the jitter of the options. */
void rh_exec_begin_jitter(RhExec *x);

/* Returns the lower bound of the step at which it was stopped (RhEngineOptions.cutoff_s); else 0.
 */
double rh_exec_least_s(const RhExec *x);
int32_t rh_exec_steps_done(const RhExec *x, int32_t job);
/* Returns the results since the counts were reset, in ranks, roles and tasks of the joined program.
 * Caller frees. */
RhRun *rh_exec_report(RhExec *x, int32_t job);
double rh_exec_link_bytes(RhExec *x, int32_t job, int32_t link); /* a quotient link */
int64_t rh_exec_link_met(const RhExec *x, int32_t link);
