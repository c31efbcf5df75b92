#pragma once
/* `validate --cases FILE`: compares published runs with their predictions. */
#include "cli/parse/parsed_arguments.h"

/* Returns the exit status; sets error when it fails. */
int rh_validate_cases(const RhArguments *a, GError **error) G_GNUC_WARN_UNUSED_RESULT;
