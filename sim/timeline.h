#pragma once
/* A run's timeline as gzipped Chrome trace JSON (opens in Perfetto): one track per GPU and lane.
 * At most 2,000,000 events; more is RH_ERROR_INPUT with the number and how to get fewer. */
#include "sim/run.h"

bool rh_timeline_write(const RhProgram *p, const RhRun *run, const char *path, GError **error);
