#pragma once
/* `simulate --beside FILE`: several jobs on one fabric. */
#include "cli/inputs/inputs.h"

/* Rehearses and prints; the exit status. */
int rh_multi_job_run(const RhArguments *arguments, const RhInputs *inputs, const RhLayout *layout,
                     GError **error) G_GNUC_WARN_UNUSED_RESULT;
