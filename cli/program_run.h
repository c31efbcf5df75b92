#pragma once
/* `simulate --program`: a program from a file, rehearsed. */
#include <glib.h>

#include "cli/parse/arguments.h"

/* The exit status; error when it fails. */
int rh_program_run(const RhArguments *arguments, GError **error);
