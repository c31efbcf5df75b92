#pragma once
/* The subcommands: one row each, in its own file, and where the option layer finds them. */
#include <stdio.h>

#include "cli/parse/options_shared.h"

extern const RhCommand rh_command_plan, rh_command_simulate, rh_command_serve_plan,
    rh_command_serve_simulate, rh_command_explain, rh_command_check, rh_command_show,
    rh_command_run, rh_command_collective, rh_command_compare, rh_command_report,
    rh_command_capacity, rh_command_calibrate, rh_command_validate, rh_command_completions,
    rh_command_help, rh_command_memory, rh_command_sweep, rh_command_rl_plan;

/* All of them in the order of the help, NULL-terminated; set by main(), empty before. */
extern const RhCommand *const *rh_commands;
const RhCommand *rh_command_by_name(const char *name); /* NULL when unknown */
/* `rehearse help`. */
void rh_help_commands(FILE *to);
/* RH_ERROR_USAGE: says what is near. */
bool rh_command_fail_unknown(const char *name, GError **error);
