#pragma once
/* Money against time to the answer as a picture: SVG, a line per platform, a point per number of GPUs. */
#include "report/capacity/capacity_service.h"

/* With a title and a description for who does not see it. Caller frees. NULL: nothing keeps the levels. */
char *rh_report_service_capacity_svg(const RhServiceCapacity *answer);
