#pragma once
/* The part of `calibrate` for all-to-all kernels of experts. */
#include "cli/parse/parsed_arguments.h"

/* Fits the tables (paths, const char*), reports, writes -o FILE.json. Returns the exit status. */
int rh_calibrate_exchanges(const RhArguments *a, const GPtrArray *paths,
                           GError **error) G_GNUC_WARN_UNUSED_RESULT;
