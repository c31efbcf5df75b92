#pragma once
/* `capacity` of a service: --requests or --lengths in place of --tokens. */
#include "cli/parse/parsed_arguments.h"

/* Exit status, as a command's. */
int rh_capacity_service(const RhArguments *arguments, GError **error) G_GNUC_WARN_UNUSED_RESULT;
