#pragma once
/* The memory of the fullest GPU over a step, by what it holds, as SVG. */
#include "sim/memory_timeline.h"

/* `capacity_bytes` is drawn as a line. Caller frees. Needs a run with a timeline. */
char *rh_report_memory_svg(const RhTaskIntervals *spans, double capacity_bytes);
