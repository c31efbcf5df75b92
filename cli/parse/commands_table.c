#include "cli/parse/commands_table.h"

const RhCommand *const rh_command_table[] = {&rh_command_plan,       &rh_command_simulate,
                                             &rh_command_serve_plan, &rh_command_serve_simulate,
                                             &rh_command_capacity,   &rh_command_run,
                                             &rh_command_rl_plan,    &rh_command_memory,
                                             &rh_command_collective, &rh_command_sweep,
                                             &rh_command_explain,    &rh_command_check,
                                             &rh_command_show,       &rh_command_compare,
                                             &rh_command_report,     &rh_command_calibrate,
                                             &rh_command_validate,   &rh_command_completions,
                                             &rh_command_help,       NULL};
