#include "validate/cross/cross_groups.h"

#include <string.h>

#include "base/interned_strings.h"

static const char *const names[RH_CROSS_LAST] = {"", "model+gpu", "engine-version", "source",
                                                 "device"};

const char *rh_cross_by_name(RhCrossValidationGroups by)
{
    return names[by];
}

RhCrossValidationGroups rh_cross_by_parse(const char *name)
{
    for (int by = RH_CROSS_NONE + 1; by < RH_CROSS_LAST; by++)
        if (g_strcmp0(name, names[by]) == 0)
            return (RhCrossValidationGroups)by;
    return RH_CROSS_NONE;
}

const char *rh_cross_by_choices(void)
{
    return "model+gpu, engine-version, source, device";
}

const char *rh_cross_group_name(RhCrossValidationGroups by, const RhCrossRun *of)
{
    g_autofree char *pair = g_strdup_printf("%s on %s", of->model, of->device);
    const char *by_kind[RH_CROSS_LAST] = {"", pair, of->software, of->source, of->device};
    return rh_intern(by_kind[by]);
}
