#pragma once
/* The failures of one replication, in order: drawn by the time to the next one, never step by step.
 * Time is that in which the job runs, so that policies that lose different amounts of time meet the same
 * failures; a trace is by the clock. Different streams of one seed are independent. */
#include <gsl/gsl_rng.h>

#include "strategies/run/training_run_spec.h"

/* A generator for one purpose of one replication; others of the same seed are independent. Caller frees. */
gsl_rng *rh_run_rng_new(uint64_t seed, int32_t replication, uint64_t purpose);

typedef struct RhFailureStream RhFailureStream;

RhFailureStream *rh_failure_stream_new(const RhTrainingRun *run, int32_t replication);
void rh_failure_stream_free(RhFailureStream *stream);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhFailureStream, rh_failure_stream_free)

/* Running time until the next failure of a job of `size_frac` of its nodes, from `clock_s` on; HUGE_VAL:
 * none follows. */
double rh_failure_stream_next_s(RhFailureStream *stream, double size_frac, double clock_s);
/* So much running time has passed without a failure. */
void rh_failure_stream_run(RhFailureStream *stream, double size_frac, double time_s);
/* The next failure strikes after the running time that next_s returned; returns its component. */
int32_t rh_failure_stream_strike(RhFailureStream *stream);
/* Was the cause of the last failure missed, so that the restarted job fails again? */
bool rh_failure_stream_missed(RhFailureStream *stream);
/* Draws one of so many nodes. */
guint rh_failure_stream_draw(RhFailureStream *stream, int32_t count);
