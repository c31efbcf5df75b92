#pragma once
/* The table of subcommands. */
#include <stdio.h>

#include "cli/parse/options.h"

/* The help of --seq, which inputs.c repeats where the option is missing. */
#define RH_SEQUENCE_ABOUT "tokens of one sample, 8k being 8192; a picture is one"

extern const RhOption rh_options_inputs[], rh_options_job[], rh_options_shared[];
extern const RhOption rh_options_help[];       /* -h and --help: of every command, the last */
extern const RhOption rh_options_terminal[];   /* of commands that need no more: -q and --color */
extern const RhOption rh_options_clusters[];   /* inputs of several clusters */
extern const RhOption rh_options_served[];     /* inputs of a service */
extern const RhOption rh_options_requests[];   /* serve_requests.c */
extern const RhOption rh_options_deployment[]; /* serve_query.c */

extern const RhCommand rh_command_plan, rh_command_simulate, rh_command_serve_plan,
    rh_command_serve_simulate, rh_command_explain, rh_command_check, rh_command_show,
    rh_command_compare, rh_command_report, rh_command_capacity, rh_command_calibrate,
    rh_command_validate, rh_command_completions, rh_command_help;

/* All of them in the order of the help, NULL-ended. */
extern const RhCommand *const rh_commands[];
const RhCommand *rh_command_by_name(const char *name); /* NULL when unknown */
/* How inputs are written, as lines. */
extern const char rh_help_inputs[];
/* `rehearse help`. */
void rh_help_commands(FILE *to);
/* RH_ERROR_USAGE: says what is near. */
bool rh_command_fail_unknown(const char *name, GError **error);
