#pragma once
/* `validate --cases their.log -w ... -p ... -s ...`: a log of a training run beside the prediction
 * of its layout. */
#include "cli/parse/commands.h"

int rh_validate_log(const RhArguments *arguments, GError **error) G_GNUC_WARN_UNUSED_RESULT;
