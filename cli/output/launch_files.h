#pragma once
/* --emit: launch files of a layout, after the answers of plan and simulate. */
#include "cli/inputs/inputs.h"
#include "cli/parse/option_parser.h"

/* A layout and the number of its row in the answer; 0: the only one. */
typedef struct {
    const RhLayout *layout;
    guint row;
} RhLaunchFiles;

/* --emit, --save, --save-interval, --load, --preflight. */
extern const RhOption rh_options_launch[];
/* Checks the options. RH_ERROR_USAGE: options of a script without --emit. */
bool rh_launch_files_check(const RhArguments *arguments, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Returns --stack, by default the stack of the framework of --emit; NULL: the platform's default.
 */
const char *rh_launch_files_stack(const RhArguments *arguments);
/* Prints a hint before the answer if --stack is not the framework's own stack. */
void rh_launch_files_print_stack(const RhArguments *arguments, const RhInputs *inputs);
/* Prints the launch files of the first layout that the framework can run, and why it cannot run
 * earlier ones; nothing without --emit. RH_ERROR_USAGE: it can run none. */
bool rh_launch_files_print(const RhArguments *arguments, const RhInputs *inputs,
                           const RhLaunchFiles *rows, guint count,
                           GError **error) G_GNUC_WARN_UNUSED_RESULT;
