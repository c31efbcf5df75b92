#pragma once
/* Draws predicted against measured values as SVG, with logarithmic axes and a colour per table. */
#include "accuracy/evaluation.h"

/* Draws the rows with a time that count as measurements, with title and description for screen
 * readers. Caller frees. */
char *rh_report_scatter_svg(const RhEvaluation *evaluation);
