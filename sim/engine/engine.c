#include "sim/engine/engine.h"

#include "base/error.h"
#include "sim/engine/exec.h"

RhRun *rh_engine_run(const RhProgram *p, const RhPlatform *platform, const RhEngineOptions *options,
                     GError **error)
{
    g_return_val_if_fail(p && platform && options, NULL);
    bool packets = platform->messages.sender != RH_SHARING_NONE;
    g_autoptr(RhTraffic) traffic = rh_traffic_new(p, platform, error);
    if (!traffic)
        return NULL;
    g_autoptr(RhFold) fold = rh_fold_new(traffic, options->unfolded || packets, error);
    if (!fold)
        return NULL;
    g_autoptr(RhQuotient) quotient = rh_quotient_new(traffic, fold);
    RhExecInput input = {traffic, fold, quotient, options};
    return rh_exec_run(&input, error);
}
