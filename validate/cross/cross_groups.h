#pragma once
/* Groups of measured runs that are predicted without what was chosen or fitted on them: the folds of a
 * cross-validation. */
#include <glib.h>

typedef enum {
    RH_CROSS_NONE,
    RH_CROSS_MODEL_GPU,      /* a model on a device: what a user meets who brings either anew */
    RH_CROSS_ENGINE_VERSION, /* a server, or a training stack */
    RH_CROSS_SOURCE,         /* who published it */
    RH_CROSS_DEVICE,
    RH_CROSS_LAST,
} RhCrossValidationGroups;

const char *rh_cross_by_name(RhCrossValidationGroups by); /* "model+gpu" */
/* Returns NONE for an unknown name. */
RhCrossValidationGroups rh_cross_by_parse(const char *name);
const char *rh_cross_by_choices(void); /* "model+gpu, engine-version, ..." */

typedef struct {
    const char *model, *device, *software, *source;
} RhCrossRun;
/* Returns the name of a run's group, interned. */
const char *rh_cross_group_name(RhCrossValidationGroups by, const RhCrossRun *of);
