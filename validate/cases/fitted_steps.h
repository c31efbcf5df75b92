#pragma once
/* Rows of calibrate/data/published-steps.csv that take part in its fit, by job and layout. */
#include "calibrate/stacks/steps_linear_fit.h"
#include "validate/cases/cases_translate.h"

typedef struct {
    RhMeasuredSteps *steps; /* owned; NULL: the table is not installed */
    GHashTable *jobs;       /* text -> GPtrArray of const RhMeasuredStep* */
} RhFittedSteps;

RhFittedSteps rh_fitted_steps_load(void);
void rh_fitted_steps_clear(RhFittedSteps *f);
/* Returns the row that a translated row is; NULL: none that took part. */
const RhMeasuredStep *rh_fitted_step(const RhFittedSteps *f, const RhTranslated *t);
