#pragma once
/* `explain run.json`: which policy, interval, number of spares or storage rate would pay. */
#include "cli/parse/parsed_arguments.h"

/* Is the file a result of `run`? */
bool rh_run_explains(const char *path);
/* Asks the file's question again, changes one thing at a time, and prints what each gains and costs. Returns the exit
 * status; options are those of `explain`, of which questions about a step are refused. */
int rh_run_explain(const RhArguments *arguments, const char *path,
                   GError **error) G_GNUC_WARN_UNUSED_RESULT;
