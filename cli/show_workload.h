#pragma once
/* `rehearse show workloads [NAME]`. */
#include "cli/arguments.h"

bool rh_show_workloads(const RhArguments *arguments, const char *name, GError **error);
