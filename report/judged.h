#pragma once
/* Published runs beside their predictions as text, JSON and Markdown. Every function returns a text
 * the caller frees. */
#include "base/judged.h"

/* At most 40 lines; `verbose`: every row, worst first. */
char *rh_report_judged_text(const RhJudged *judged, bool verbose);
char *rh_report_judged_json(const RhJudged *judged, const GPtrArray *missed);
/* A section for a README. */
char *rh_report_judged_markdown(const RhJudged *judged);
