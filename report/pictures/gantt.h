#pragma once
/* A step as a picture: a row for each GPU that was performed, passes of micro-batches at full height, why it
 * stood still at half height, and the chain that the step's end hung on. */
#include "sim/gpu_timeline.h"

/* Caller frees. Needs a run with a timeline. */
char *rh_report_gantt_svg(const RhTaskIntervals *spans, const RhGpuTimeline *timeline);
/* What a page makes tables of: seconds of each row by what they went on, and of the chain. Caller frees. */
char *rh_report_gpu_timeline_json(const RhTaskIntervals *spans, const RhGpuTimeline *timeline);
