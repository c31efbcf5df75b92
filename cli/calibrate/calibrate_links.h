#pragma once
/* The part of `calibrate` for a cluster's links: logs of collectives to a profile. */
#include "cli/parse/parsed_arguments.h"

/* Fits the logs (const char* paths), reports, writes -o FILE.json. Returns the exit status. */
int rh_calibrate_links(const RhArguments *a, const GPtrArray *paths,
                       GError **error) G_GNUC_WARN_UNUSED_RESULT;
