#pragma once
/* Runs a program under mpirun in the lab (validate/lab). */
#include <glib.h>
#include <stdbool.h>

#include "platforms/platform.h"

/* Time for a ping-pong of sixteen ranks, disturbed steps repeated. */
#define RH_LAB_PING_S 300

/* NULL when the lab can be built here ("root" or "user namespace" in *how, owned); else the reason,
 * owned. */
char *rh_lab_obstacle(const char *lab_folder, char **how);
/* Runs argv (NULL-ended) under mpirun on this machine alone, without a lab. As rh_lab_run. */
bool rh_local_run(int32_t ranks, int32_t seconds, const char *const *argv, char **output,
                  GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Builds the network of `platform` and runs argv (NULL-ended) there, one rank per host, for at most
 * `seconds`, making the lab and all for at most `timeout_s` (0: no limit). *output: what it said on
 * both streams, owned. RH_ERROR_IO when it could not be started or ended with another status than
 * 0; RH_ERROR_NO_ANSWER after timeout_s. */
bool rh_lab_run(const char *lab_folder, const RhPlatform *platform, int32_t seconds,
                double timeout_s, const char *const *argv, char **output,
                GError **error) G_GNUC_WARN_UNUSED_RESULT;
