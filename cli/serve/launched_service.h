#pragma once
/* `--from FILE`: model, number format and deployment of a command that starts a server. */
#include "cli/inputs/inputs.h"
#include "strategies/serve/launch/deployment_from_commands.h"

/* Reads the file of --from into *launch, which the caller frees, with the keys of -s over its own,
 * and fills in the model and the format that are not given by options of their own. Without --from
 * *launch is NULL. RH_ERROR_INPUT, RH_ERROR_USAGE. */
bool rh_launched_service_read(const RhArguments *arguments, RhArguments *words,
                              RhLaunchedDeployment **launch,
                              GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Settles the deployment for the loaded model and platform, and prints what was not read. */
void rh_launched_service_settle(RhLaunchedDeployment *launch, const RhInputs *inputs);
/* Appends what a file starts and how to simulate it, for `check`. RH_ERROR_INPUT. */
bool rh_launched_service_check(const char *path, GString *notes,
                               GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Does the file start a server? */
bool rh_launched_service_is(const char *path);
