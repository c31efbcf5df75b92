#pragma once
/* The part of `calibrate` for a serving engine: published runs to its constants. */
#include "cli/parse/parsed_arguments.h"

/* Fits the table at `path`, reports, writes -o FILE.json. Returns the exit status. */
int rh_calibrate_served(const RhArguments *a, const char *path,
                        GError **error) G_GNUC_WARN_UNUSED_RESULT;
