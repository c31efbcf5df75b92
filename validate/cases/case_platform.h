#pragma once
/* Finds the platform of a row of a table of runs, as the row's stack drives it. */
#include "calibrate/stacks/steps_predict.h"
#include "strategies/software_stack.h"
#include "validate/cases/case_translation_state.h"

/* Constants that are laid over those of stacks and devices. */
typedef struct {
    const RhStepModel *fitted; /* NULL: none */
    const char *name;          /* tells them from others; "": none */
} RhStepConstants;

/* Returns a platform with enough nodes for the row's job, kept in `platforms` (text -> RhPlatform, both
 * owned). NULL, with the reason in `way`, when the row does not say enough. */
RhPlatform *rh_case_platform(RhCaseTranslation *way, const RhStack *stack,
                             const RhStepConstants *constants, GHashTable *platforms);
