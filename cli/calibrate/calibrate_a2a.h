#pragma once
/* The part of `calibrate` that is about kernels that send tokens to experts and back. */
#include "cli/parse/arguments.h"

/* Fits the tables (paths, const char*), reports, writes -o FILE.json. Exit status. */
int rh_calibrate_exchanges(const RhArguments *a, const GPtrArray *paths, GError **error);
