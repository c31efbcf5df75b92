#pragma once
/* The deployment that commands of servers mean (server_commands_from_files.h), by the tables of their engines
 * (serving_engine.h): what serve-plan --emit prints is read back as the deployment that it was
 * printed for.
 *
 *     g_autoptr(RhLaunchedDeployment) launch = rh_launched_deployment_load("serve.sh", &error);
 *     rh_launched_deployment_settle(launch, model, platform->device); */
#include "platforms/devices/device.h"
#include "strategies/serve/deployment.h"
#include "strategies/serve/launch/serving_engine.h"
#include "workloads/model.h"

typedef struct {
    const RhEngine *engine;
    RhDeployment deployment;
    char *model; /* as written; NULL: not said */
    const char
        *recipe;     /* of the weights, as --quantization and the model's name say; NULL: 16 bits */
    char *version;   /* of the engine; NULL: not said, which is the latest */
    int32_t servers; /* commands in the file */
    GPtrArray *notes; /* owned char*: what was not read, and what was assumed */
} RhLaunchedDeployment;

/* Reads a file, or FILE#2, its second command. Two commands of which one reads prompts for the other
 * are two pools. RH_ERROR_INPUT with the place of a value that cannot be. */
RhLaunchedDeployment *rh_launched_deployment_load(const char *path,
                                                  GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* The same of a text. */
RhLaunchedDeployment *rh_launched_deployment_parse(const char *name, const char *text,
                                                   GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_launched_deployment_free(RhLaunchedDeployment *launch);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhLaunchedDeployment, rh_launched_deployment_free)

/* Fills in what follows from the model and the device: groups of a dense model are replicas, and
 * limits that no flag says are the engine's defaults of its version. */
void rh_launched_deployment_settle(RhLaunchedDeployment *launch, const RhModel *model,
                                   const RhDevice *device);
