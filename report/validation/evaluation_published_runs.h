#pragma once
/* Formats published runs beside their predictions as text, JSON and Markdown. Every function
 * returns a text the caller frees. */
#include "accuracy/error_bar_record.h"
#include "accuracy/evaluation.h"
#include "base/json/json.h"

/* Formats at most 40 lines, or with `verbose` every row, worst first; `record` was made from these
 * rows. */
char *rh_report_evaluation_text(const RhEvaluation *evaluation, const RhRecord *record,
                                bool verbose);
char *rh_report_evaluation_json(const RhEvaluation *evaluation, const GPtrArray *missed);
/* Appends how often measurements lay within error bars from other sources, by table, and the odds
 * of memory by prediction (`verbose`: for every stack and all kernels). Nothing without data. */
void rh_report_evaluation_coverage(GString *out, const RhEvaluation *evaluation,
                                   const RhRecord *record, bool verbose);
/* Appends the errors of a cross-validation by metric and by what was known of the runs; nothing
 * where no run has a group. `rh_put_cross` writes them as JSON. */
void rh_report_cross(GString *out, const RhEvaluation *evaluation);
void rh_put_cross(RhJsonWriter *w, const RhEvaluation *evaluation);
/* Formats a section for a README. */
char *rh_report_evaluation_markdown(const RhEvaluation *evaluation);
