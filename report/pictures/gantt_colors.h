#pragma once
/* Colour classes of a Gantt chart, and the classes of segments and waits. */
#include "report/pictures/colors.h"
#include "sim/timeline/gpu_timeline.h"

typedef enum {
    RH_GANTT_FORWARD,
    RH_GANTT_RECOMPUTE, /* first in its pass */
    RH_GANTT_BACKWARD,
    RH_GANTT_TENSOR,
    RH_GANTT_CONTEXT,
    RH_GANTT_EXPERT,
    RH_GANTT_DATA,
    RH_GANTT_BUBBLE,
    RH_GANTT_TRANSFER,
    RH_GANTT_END,
    RH_GANTT_OPTIMIZER,
    RH_GANTT_OTHERS,
    RH_GANTT_INKS
} RhGanttInk;

const char *rh_gantt_ink_name(RhGanttInk ink); /* "tensor parallel" */
RhColor rh_gantt_ink_color(RhGanttInk ink);
/* Returns the class of a segment's kernels without recomputation, or of an idle segment's wait. */
RhGanttInk rh_gantt_ink_of_segment(const RhGpuSegment *segment);
RhGanttInk rh_gantt_ink_of_wait(int wait); /* RhWait */
