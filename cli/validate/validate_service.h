#pragma once
/* `validate --cases RESULT.json -p PLATFORM --from LAUNCH`: what a benchmark of a server measured,
 * beside the prediction of the same requests on the same deployment. */
#include "cli/parse/commands.h"

/* Is the file the result of a benchmark of a server? */
bool rh_validate_is_service(const char *path);
int rh_validate_service(const RhArguments *arguments, GError **error) G_GNUC_WARN_UNUSED_RESULT;
