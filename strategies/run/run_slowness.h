#pragma once
/* Slowness of the steps of one replication: jitter, a slow GPU that all wait for, pauses. */
#include "strategies/run/training_run_spec.h"

typedef struct RhRunSlowness RhRunSlowness;

RhRunSlowness *rh_run_slowness_new(const RhTrainingRun *run, int32_t replication);
void rh_run_slowness_free(RhRunSlowness *slowness);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhRunSlowness, rh_run_slowness_free)

/* By how much a step is longer now. */
double rh_run_slowness_times(const RhRunSlowness *slowness, double t_s);
bool rh_run_slowness_is_slow(const RhRunSlowness *slowness, double t_s);
/* Time of the next change; HUGE_VAL: none follows. */
double rh_run_slowness_next_s(const RhRunSlowness *slowness, double t_s);
/* The change that is due: a slow GPU begins or ends, or a pause, whose length is returned (0: none). */
double rh_run_slowness_change(RhRunSlowness *slowness, double t_s);
/* When the slow GPU is found; HUGE_VAL: there is none, or it is never found. */
double rh_run_slowness_found_s(const RhRunSlowness *slowness);
void rh_run_slowness_remove(RhRunSlowness *slowness);
