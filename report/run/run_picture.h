#pragma once
/* Draws where the time of a run goes, as SVG. */
#include "report/run/run_over_time.h"

/* A bar for each part of the mean time, with its duration and share. Caller frees. */
char *rh_report_run_time_svg(const RhRunAnswer *answer);
