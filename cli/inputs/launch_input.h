#pragma once
/* --from FILE: a training launch of the user's stands for the options that it says. */
#include "cli/parse/parsed_arguments.h"
#include "strategies/launch/launch_read.h"

/* Reads the file of --from and returns the options that it stands for, "--name" and a value each,
 * NULL-ended; the words are owned by the caller. What is given already is left out. RH_ERROR_INPUT. */
char **rh_launch_input_words(RhArguments *arguments, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Prints hints: what the file was read as, and what of it is not known. */
void rh_launch_input_tell(const RhArguments *arguments);
/* Returns the file as text: "a Megatron-LM launch script: 16 GPUs ...", and a note a line behind it;
 * caller frees. */
char *rh_launch_input_about(const RhLaunchFile *file, const char *path);
