#include "strategies/train/schedules/schedule.h"

#define ROW(constant, object, ...) [RH_SCHEDULE_##constant] = &rh_schedule_##object,
static const RhPipelineSchedule *const schedules[RH_SCHEDULE_LAST] = {RH_SCHEDULES(ROW)};

const RhPipelineSchedule *rh_pipeline_schedule(RhScheduleKind kind)
{
    g_return_val_if_fail(kind > RH_SCHEDULE_NONE && kind < RH_SCHEDULE_LAST, NULL);
    return schedules[kind];
}
