#pragma once
/* Two timelines laid over each other, as text; caller frees. */
#include "sim/timeline_diff.h"

char *rh_report_timeline_diff_text(const RhTimelineDiff *o);
