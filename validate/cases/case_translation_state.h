#pragma once
/* A row on its way to something that can be predicted: what is known of it, and why it cannot be, once
 * that is so. Private to the translators. */
#include "accuracy/evaluation.h"
#include "validate/cases/cases_word_rules.h"

typedef struct {
    const RhCaseRow *row;
    const RhCaseValues *said;
    char *why; /* owned; set once something cannot be said */
} RhCaseTranslation;

/* Return false, so that `return rh_case_give_up(...)` reads well; the second tells the first line of what a
 * reader said, and frees it. */
bool rh_case_give_up(RhCaseTranslation *way, const char *format, ...) G_GNUC_PRINTF(2, 3);
bool rh_case_give_up_with(RhCaseTranslation *way, const char *what, GError *local);
/* Returns the provenance of a row by the rules, or by the column: whether it is a measurement. */
RhProvenance rh_case_standing(const RhCaseTranslation *way);

static inline const char *rh_case_says(const RhCaseTranslation *way, RhCaseAspect aspect)
{
    return way->said->says[aspect];
}
static inline const char *rh_case_cell(const RhCaseTranslation *way, RhCaseColumn column)
{
    return way->row->text[column];
}
/* Returns all stand-ins of a row as text; NULL: none. Caller frees. */
char *rh_case_stands_in(const RhCaseTranslation *way);
