#pragma once
/* `calibrate --run-was 73s plan.json#1`, or `--from` a training log: what one measured run tells. */
#include "cli/parse/commands.h"

/* Is one run asked for: by --run-was, or by a log of one? */
bool rh_calibrate_is_run(const RhArguments *arguments);
int rh_calibrate_run(const RhArguments *arguments, GError **error) G_GNUC_WARN_UNUSED_RESULT;
