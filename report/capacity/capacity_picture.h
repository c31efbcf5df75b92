#pragma once
/* Draws time against money of clusters and sizes as SVG: a line for each platform, a point for each
 * size. Both return NULL when there is nothing to draw; the caller frees. */
#include "report/capacity/capacity.h"
#include "report/capacity/capacity_service.h"

/* Training: days, and GPU-hours instead of money where a price is missing. */
char *rh_report_capacity_svg(const RhCapacityAnswer *answer);
/* Serving: time to the answer, and GPUs instead of money a token where a price is missing. */
char *rh_report_service_capacity_svg(const RhServiceCapacity *answer);
