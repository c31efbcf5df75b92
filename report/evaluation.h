#pragma once
/* Published runs beside their predictions as text, JSON and Markdown. Every function returns a text
 * the caller frees. */
#include "accuracy/evaluation.h"
#include "accuracy/record.h"

/* `record`: made of these rows. At most 40 lines; `verbose`: every row, worst first. */
char *rh_report_evaluation_text(const RhEvaluation *judged, const RhRecord *record, bool verbose);
char *rh_report_evaluation_json(const RhEvaluation *judged, const GPtrArray *missed);
/* How often the truth lay within a bar of other sources' runs, by table; the odds of memory by what
 * was predicted (`verbose`: of every stack and all kernels). Nothing where there is none. */
void rh_report_evaluation_coverage(GString *out, const RhEvaluation *judged, const RhRecord *record,
                                   bool verbose);
/* A section for a README. */
char *rh_report_evaluation_markdown(const RhEvaluation *judged);
