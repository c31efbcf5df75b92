#pragma once
/* What is drawn in one colour in a Gantt chart, and of what a piece or a wait is. */
#include "report/pictures/colors.h"
#include "sim/gpu_timeline.h"

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
/* Of its kernels, but for those that compute once more; of RH_PIECE_IDLE, of its wait. */
RhGanttInk rh_gantt_ink_of_piece(const RhGpuSegment *piece);
RhGanttInk rh_gantt_ink_of_wait(int wait); /* RhWait */
