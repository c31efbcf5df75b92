#pragma once
/* The part of `calibrate` for a software stack: published steps to its constants. */
#include "cli/parse/parsed_arguments.h"

/* Fits the table at `path`, reports, writes -o FILE.json. Returns the exit status. */
int rh_calibrate_steps(const RhArguments *a, const char *path,
                       GError **error) G_GNUC_WARN_UNUSED_RESULT;
