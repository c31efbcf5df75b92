#pragma once
/* Translates hints into command-line options. Code below cli/ does not know the command line, so
 * its messages contain terms in backquotes: `zero<=1`, `dtype=bf16`, `moments=bf16`. */

#include "cli/parse/option_parser.h"

/* Returns the message with its terms as options of the command (NULL: plan): --limit 'zero<=1',
 * --dtype bf16, --set moments=bf16; where a layout is given by -s alone, "zero<=1 in -s". Other text
 * in backquotes is unchanged. Caller frees. */
char *rh_hint_options(const char *message, const RhCommand *command);
