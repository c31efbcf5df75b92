#pragma once
/* `show platforms --from-machine [FILE...]`: a platform file from what tools say of a machine. */
#include <glib.h>
#include <stdbool.h>

#include "cli/parse/parsed_arguments.h"

/* Prints the file, or writes it to the one -o. Without files asks the tools of this machine. */
bool rh_show_machine(const RhArguments *arguments, GError **error) G_GNUC_WARN_UNUSED_RESULT;
