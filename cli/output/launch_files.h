#pragma once
/* --emit: what starts a layout, behind the answers of plan and simulate. */
#include "cli/inputs/inputs.h"
#include "cli/parse/options.h"

/* A layout and the number of its row in the answer; 0: it is the only one. */
typedef struct {
    const RhLayout *layout;
    guint row;
} RhLaunchFiles;

/* --emit, --save, --save-interval, --load, --preflight. */
extern const RhOption rh_options_launch[];
/* RH_ERROR_USAGE: words about a script where none is asked for. */
bool rh_launch_files_check(const RhArguments *arguments, GError **error);
/* --stack, or where it is not given the stack of the framework that is to be started; NULL: the platform's usual one. */
const char *rh_launch_files_stack(const RhArguments *arguments);
/* Where --stack names another stack than the framework's own: says so, ahead of the answer. */
void rh_launch_files_print_stack(const RhArguments *arguments, const RhInputs *inputs);
/* Prints what starts the first of the layouts that the framework can run, and why not those before; nothing without
 * --emit. RH_ERROR_USAGE: it can run none. */
bool rh_launch_files_print(const RhArguments *arguments, const RhInputs *inputs,
                           const RhLaunchFiles *rows, guint count, GError **error);
