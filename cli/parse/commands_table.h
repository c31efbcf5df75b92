#pragma once
/* The table of subcommands, which main() hands to the option layer (rh_commands). */
#include "cli/parse/commands.h"

/* All of them in the order of the help, NULL-terminated. */
extern const RhCommand *const rh_command_table[];
