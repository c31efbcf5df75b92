#pragma once
/* Terminal output besides the result: errors, hints, progress. All on stderr. */
#include <stdbool.h>
#include <stdint.h>

#include "cli/parse/option_parser.h"
#include "cli/parse/parsed_arguments.h"

/* Decides colour, hints and progress once, from the options and the environment. */
void rh_terminal_setup(const RhArguments *arguments, const RhCommand *command);
/* Returns the rest of --timeout since the command began in seconds, at least a millisecond; 0
 * without a timeout. */
double rh_terminal_left_s(double timeout_s);
bool rh_terminal_colored(void); /* may stdout carry colour */

/* Prints a message of RH_ERROR: "error: " and its first line, then its note: and help: lines. */
void rh_terminal_error(const char *message);
/* Prints one line, "note: ..." or "warning: ..."; nothing with -q. */
void rh_terminal_hint(const char *line);
/* Lets hints pass, or not, as with -q. Returns whether they were let pass. */
bool rh_terminal_hints(bool shown);

/* Updates the progress line in place on a terminal; elsewhere prints "progress: ..." every ten
 * seconds. `stage` is borrowed for the call. */
void rh_terminal_progress(const char *stage, int64_t done, int64_t total, double best_s,
                          void *unused);
/* Is a line of progress due? */
bool rh_terminal_progress_due(void);
/* Shows a line of progress of another kind by the same rules. */
void rh_terminal_progress_line(const char *line);
void rh_terminal_progress_end(void);
