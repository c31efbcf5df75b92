#pragma once
/* Draws a step as a Gantt chart: a row for each simulated GPU with passes of micro-batches at full
 * height and reasons for waiting at half height, and the critical path. */
#include "sim/timeline/gpu_timeline.h"

/* Returns the chart as SVG; the run must have a timeline. Caller frees. */
char *rh_report_gantt_svg(const RhTaskIntervals *spans, const RhGpuTimeline *timeline);
/* Returns JSON for a page's tables: seconds of each row and of the critical path by reason. Caller
 * frees. */
char *rh_report_gpu_timeline_json(const RhTaskIntervals *spans, const RhGpuTimeline *timeline);
