#pragma once
/* Draws the utilisation of the busiest links over a step as SVG. */
#include "sim/program_result.h"

/* Returns the picture; NULL where the run has no link loads. Caller frees. */
char *rh_report_links_svg(const RhRun *run);
