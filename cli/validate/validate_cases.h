#pragma once
/* rehearse validate --cases FILE: published runs beside their predictions. */
#include "cli/parse/arguments.h"

/* Exit status; error when it fails. */
int rh_validate_cases(const RhArguments *a, GError **error);
