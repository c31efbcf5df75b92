#include "cli/command_dispatch.h"

#include <stdio.h>

#include "base/error.h"
#include "cli/hard_timeout.h"
#include "cli/output/output_file.h"
#include "cli/output/terminal.h"
#include "cli/rehearse_mpi_rank.h"

int rh_exit_status(const GError *error)
{
    if (error->domain != RH_ERROR)
        return 70;
    switch ((RhErrorCode)error->code) {
    case RH_ERROR_NO_ANSWER:
    case RH_ERROR_REFUSED:
        return 1;
    case RH_ERROR_USAGE:
        return 2;
    case RH_ERROR_INPUT:
    case RH_ERROR_IO:
        return 3;
    case RH_ERROR_NONE:
    case RH_ERROR_INTERNAL:
        break;
    }
    return 70;
}

int rh_run_command(const RhCommand *command, int count, char **words, GError **error)
{
    g_auto(RhArguments) arguments = {0};
    if (!rh_options_parse(command, count, words, &arguments, error))
        return 2;
    if (arguments.help_short || arguments.help_long) {
        g_autofree char *text =
            arguments.help_long ? rh_options_help_long(command) : rh_options_help_short(command);
        fputs(text, stdout);
        return 0;
    }
    if (!rh_job_rank_begin(command, &arguments, error) ||
        !rh_outputs_spare_inputs(&arguments, error))
        return 2;
    rh_terminal_setup(&arguments, command);
    rh_hard_timeout_begin(arguments.timeout_s);
    return command->run(&arguments, error);
}
