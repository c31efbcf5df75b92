#pragma once
/* Simulates the same programs and MPI calls with SimGrid's SMPI, as a control beside the rehearsal.
 *
 * SMPI gets favourable conditions: the platform's links less packet headers, the fitted latency on
 * every route, its own factors disabled, and the eager limit of the real runs. */
#include <glib.h>
#include <stdbool.h>

#include "platforms/platform.h"

/* Platform file of SimGrid: a host r0, r1 ... per rank, every pair's route. Caller frees.
 * RH_ERROR_INPUT when the platform has no messages. */
char *rh_smpi_platform(const RhPlatform *platform, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Runs argv (NULL-ended; argv[0] is rehearse-perform-smpi) under smpirun, one rank per GPU; its
 * files go to `folder`. RH_ERROR_IO when it could not be started or ended with another status than
 * 0. */
bool rh_smpi_run(const RhPlatform *platform, const char *folder, const char *const *argv,
                 GError **error) G_GNUC_WARN_UNUSED_RESULT;
