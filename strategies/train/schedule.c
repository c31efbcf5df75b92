#include "strategies/train/schedule.h"

static const RhPipelineSchedule *const schedules[RH_SCHEDULE_LAST] = {
    [RH_SCHEDULE_GPIPE] = &rh_schedule_gpipe,
    [RH_SCHEDULE_1F1B] = &rh_schedule_1f1b,
    [RH_SCHEDULE_INTERLEAVED] = &rh_schedule_interleaved,
};

const RhPipelineSchedule *rh_pipeline_schedule(RhScheduleKind kind)
{
    g_return_val_if_fail(kind > RH_SCHEDULE_NONE && kind < RH_SCHEDULE_LAST, NULL);
    return schedules[kind];
}
