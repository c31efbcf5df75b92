#pragma once
/* Published runs beside their predictions: every row of a table is translated
 * (validate/cases/cases_translate.h), rehearsed on the folded engine, its memory taken from the closed
 * form. Rows that say the same job are predicted once. */
#include "accuracy/evaluation.h"
#include "validate/cases/cases_table.h"
#include "validate/cross/cross_groups.h"

typedef struct {
    int32_t jobs;     /* processes at once, at least 1; changes nothing but time */
    double timeout_s; /* of the whole; 0: none. Rows that it cuts off are skipped, and say so */
    const char *only; /* rows whose source, model or note holds this; NULL: all */
    RhCrossValidationGroups
        cross; /* predicts each of these groups without what was chosen or fitted on it */
    void (*progress)(const char *what, int32_t done, int32_t total, void *user); /* may be NULL */
    void *user;
} RhCasesOptions;

/* RH_ERROR_INPUT and RH_ERROR_IO of the rules; a row that cannot be said is no error. */
RhEvaluation *rh_cases_judge(const RhCaseTable *table, const RhCasesOptions *options,
                             GError **error) G_GNUC_WARN_UNUSED_RESULT;
