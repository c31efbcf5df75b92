#pragma once
/* Draws money against time to the answer as SVG, with a line per platform and a point per number of
 * GPUs. */
#include "report/capacity/capacity_service.h"

/* Returns the picture, with title and description for screen readers; NULL when nothing meets the
 * levels. Caller frees. */
char *rh_report_service_capacity_svg(const RhServiceCapacity *answer);
