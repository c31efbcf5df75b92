#pragma once
/* The part of `calibrate` that is about a software stack: published steps to its constants. */
#include "cli/parse/arguments.h"

/* Fits the table at `path`, reports, writes -o FILE.json. Exit status. */
int rh_calibrate_steps(const RhArguments *a, const char *path, GError **error);
