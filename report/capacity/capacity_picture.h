#pragma once
/* Draws days against money of clusters and sizes as SVG: a line for each platform, a point for each
 * size. */
#include "report/capacity/capacity.h"

/* Returns the picture, with GPU-hours instead of money where a price is missing; NULL when nothing
 * fits. Caller frees. */
char *rh_report_capacity_svg(const RhCapacityAnswer *answer);
