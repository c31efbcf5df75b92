#pragma once
/* Finds the model of a row of a table of runs, with the sizes that the row gives. */
#include "validate/cases/case_translation_state.h"
#include "workloads/model.h"

/* Returns the model of a row, kept in `models` (text -> RhModel, both owned), or the row's own. `key`
 * receives a text that tells it from others; caller frees. NULL, with the reason in `way`, when the row
 * does not say enough. */
const RhModel *rh_case_model(RhCaseTranslation *way, GHashTable *models, char **key);
