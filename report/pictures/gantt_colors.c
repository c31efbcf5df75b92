#include "report/pictures/gantt_colors.h"

static const struct {
    const char *name;
    RhColor color;
} rows[RH_GANTT_INKS] = {
    [RH_GANTT_FORWARD] = {"forward", RH_COLOR_FORWARD},
    [RH_GANTT_RECOMPUTE] = {"recomputation", RH_COLOR_RECOMPUTE},
    [RH_GANTT_BACKWARD] = {"backward", RH_COLOR_BACKWARD},
    [RH_GANTT_TENSOR] = {"tensor parallel", RH_COLOR_TENSOR},
    [RH_GANTT_CONTEXT] = {"context parallel", RH_COLOR_CONTEXT},
    [RH_GANTT_EXPERT] = {"expert parallel", RH_COLOR_EXPERT},
    [RH_GANTT_DATA] = {"data parallel", RH_COLOR_DATA},
    [RH_GANTT_BUBBLE] = {"pipeline bubble", RH_COLOR_IDLE},
    [RH_GANTT_TRANSFER] = {"transfers", RH_COLOR_TRANSFER},
    [RH_GANTT_END] = {"waiting for the slower", RH_COLOR_SLOWER},
    [RH_GANTT_OPTIMIZER] = {"optimizer", RH_COLOR_OPTIMIZER},
    [RH_GANTT_OTHERS] = {"everything else", RH_COLOR_OTHER},
};

const char *rh_gantt_ink_name(RhGanttInk ink)
{
    return rows[ink].name;
}

RhColor rh_gantt_ink_color(RhGanttInk ink)
{
    return rows[ink].color;
}

RhGanttInk rh_gantt_ink_of_wait(int wait)
{
    switch ((RhWait)wait) {
    case RH_WAIT_TP:
        return RH_GANTT_TENSOR;
    case RH_WAIT_CP:
        return RH_GANTT_CONTEXT;
    case RH_WAIT_EP:
        return RH_GANTT_EXPERT;
    case RH_WAIT_DP:
        return RH_GANTT_DATA;
    case RH_WAIT_BUBBLE:
        return RH_GANTT_BUBBLE;
    case RH_WAIT_PIPELINE_TRANSFER:
        return RH_GANTT_TRANSFER;
    case RH_WAIT_END:
    case RH_WAIT_JITTER:
        return RH_GANTT_END;
    case RH_WAIT_COMPUTE:
    case RH_WAIT_STRETCH:
    case RH_WAIT_TIED:
    case RH_WAIT_NORM:
    case RH_WAIT_COPY:
    case RH_WAIT_COLLECTIVES:
    case RH_WAIT_MESSAGES:
    case RH_WAIT_OTHERS:
    case RH_WAIT_HOST:
    case RH_WAIT_LAST:
    default:
        return RH_GANTT_OTHERS;
    }
}

RhGanttInk rh_gantt_ink_of_segment(const RhGpuSegment *segment)
{
    switch ((RhGpuSegmentKind)segment->kind) {
    case RH_SEGMENT_FORWARD:
        return RH_GANTT_FORWARD;
    case RH_SEGMENT_BACKWARD:
        return RH_GANTT_BACKWARD;
    case RH_SEGMENT_OPTIMIZER:
        return RH_GANTT_OPTIMIZER;
    case RH_SEGMENT_IDLE:
        return segment->late ? RH_GANTT_END : rh_gantt_ink_of_wait(segment->wait);
    case RH_SEGMENT_OTHER:
    case RH_SEGMENT_LAST:
    default:
        return RH_GANTT_OTHERS;
    }
}
