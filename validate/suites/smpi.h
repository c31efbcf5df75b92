#pragma once
/* The same programs and the same MPI calls, simulated by SimGrid's SMPI: a control beside our own
 * rehearsal.
 *
 * SMPI gets its best: the links of the platform less the headers of packets, our fitted latency on
 * every route, its own factors switched off, and the eager limit of the real runs. */
#include <glib.h>
#include <stdbool.h>

#include "platforms/platform.h"

/* Platform file of SimGrid: a host r0, r1 ... per rank, every pair's route. Caller frees.
 * RH_ERROR_INPUT when the platform has no messages. */
char *rh_smpi_platform(const RhPlatform *platform, GError **error);
/* Runs argv (NULL-ended; argv[0] is rehearse-perform-smpi) under smpirun, one rank per GPU; its
 * files go to `folder`. RH_ERROR_IO when it could not be started or ended with another status than
 * 0. */
bool rh_smpi_run(const RhPlatform *platform, const char *folder, const char *const *argv,
                 GError **error);
