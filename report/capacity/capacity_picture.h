#pragma once
/* Days against money of clusters and sizes, as SVG: a line for each platform, a point for each size. */
#include "report/capacity/capacity.h"

/* NULL: nothing fits. Caller frees. GPU-hours stand for money where a price is missing. */
char *rh_report_capacity_svg(const RhCapacityAnswer *answer);
