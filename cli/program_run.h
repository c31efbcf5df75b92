#pragma once
/* `simulate --program`: rehearses a program from a file. */
#include <glib.h>

#include "cli/parse/parsed_arguments.h"

/* Returns the exit status; sets error when it fails. */
int rh_program_run(const RhArguments *arguments, GError **error) G_GNUC_WARN_UNUSED_RESULT;
