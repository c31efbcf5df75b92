#pragma once
/* Formats validations as text, JSON and Markdown. Every function returns a text the caller frees.
 */
#include "accuracy/validation_suite_results.h"

/* Formats every case if `verbose`, else the worst of each group. */
char *rh_report_validation_text(const RhValidation *v, bool verbose);
char *rh_report_validation_json(const RhValidation *v);
/* Formats a section for a README: figures of each group and the worst rows. */
char *rh_report_validation_markdown(const RhValidation *v);
