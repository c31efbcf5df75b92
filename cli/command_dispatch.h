#pragma once
/* Runs one command in this process: of the command line, or an item of a sweep. */
#include "cli/parse/option_parser.h"

/* Reads the words, without program and command, and answers. Returns the exit status; with an error,
 * that is rh_exit_status(). */
int rh_run_command(const RhCommand *command, int count, char **words,
                   GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Returns the exit status of docs/guide/cli.md for an error of ours or of GLib's. */
int rh_exit_status(const GError *error);
