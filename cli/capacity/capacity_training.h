#pragma once
/* `capacity` of training: the words of the question, cells of platforms, formats, batches and sizes, the answer. */
#include "cli/parse/parsed_arguments.h"

/* Exit status; 2 and 3 with an error. */
int rh_capacity_training(const RhArguments *arguments, GError **error) G_GNUC_WARN_UNUSED_RESULT;
