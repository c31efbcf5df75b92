#pragma once
/* Draws the memory of the fullest GPU over a step as SVG, by use. */
#include "sim/timeline/memory_timeline.h"

/* Returns the picture, with a line at `capacity_bytes`; the run must have a timeline. Caller frees.
 */
char *rh_report_memory_svg(const RhTaskIntervals *spans, double capacity_bytes);
