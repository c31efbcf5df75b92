#pragma once
/* Formats the comparison of two timelines as text; caller frees. */
#include "sim/timeline/timeline_diff.h"

char *rh_report_timeline_diff_text(const RhTimelineDiff *o);
