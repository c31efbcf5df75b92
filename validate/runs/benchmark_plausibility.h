#pragma once
/* Judges what a benchmark says that it measured of a server, before a prediction stands beside it. */
#include "platforms/devices/device.h"
#include "validate/runs/service_result.h"
#include "workloads/model.h"
#include "workloads/precision_recipe.h"

/* Returns what no run can have measured (char*, owned): percentiles in the wrong order, tokens and
 * requests that contradict each other, more products than the data sheets of `gpus` devices allow.
 * Empty: nothing. */
GPtrArray *rh_service_findings(const RhServiceResultFile *figures, const RhModel *model,
                               const RhRecipe *recipe, const RhDevice *device, int32_t gpus);
