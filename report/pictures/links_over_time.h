#pragma once
/* How busy the busiest links are over a step, as SVG. */
#include "sim/run.h"

/* NULL where the run has no loads of links. Caller frees. */
char *rh_report_links_svg(const RhRun *run);
