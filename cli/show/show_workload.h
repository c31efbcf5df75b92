#pragma once
/* `rehearse show workloads [NAME]`. */
#include "cli/parse/parsed_arguments.h"

bool rh_show_workloads(const RhArguments *arguments, const char *name,
                       GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* One workload, with --set applied, or all of them: RhModel, caller frees. */
GPtrArray *rh_show_workloads_items(const RhArguments *a, const char *name,
                                   GError **error) G_GNUC_WARN_UNUSED_RESULT;
