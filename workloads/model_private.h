#pragma once
/* Between model.c (the shape) and model_load.c (files, catalogue). Private to workloads/. */
#include "workloads/families.h"

/* One thing wrong with a shape: the field to blame, what, and how to mend it (may be NULL). */
typedef struct {
    size_t offset;
    char *text, *help;
} RhShapeProblem;

/* Fills what follows from other fields (head_size, kv_heads, ffn, an unused window, and what the
 * family's operators know), then checks. The messages name fields as `names` does. GArray of
 * RhShapeProblem, owned by the caller. */
GArray *rh_config_resolve(const RhFamily *family, RhConfig *config, const RhField *names);

/* A model of the resolved shape; the window slides from layer `window_from` on. */
RhModel *rh_model_new(const char *name, const RhFamily *family, const RhConfig *config);
/* Says for every layer whether it slides. */
void rh_model_set_kinds(RhModel *model, const RhConfig *config, const bool *sliding);
