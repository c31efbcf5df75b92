#pragma once
/* Predicted against measured as a picture: SVG, both axes logarithmic, a colour per table. */
#include "accuracy/evaluation.h"

/* Rows with a time that count as measurements; a title and a description for who does not see it. Caller
 * frees. */
char *rh_report_scatter_svg(const RhEvaluation *judged);
