#include "strategies/train/schedules/schedule.h"

#define ROW(constant, object, ...) [RH_PIPELINE_##constant] = &rh_pipeline_##object,
static const RhPipelineSchedule *const schedules[RH_PIPELINE_LAST] = {RH_PIPELINES(ROW)};

const RhPipelineSchedule *rh_pipeline_schedule(RhPipelineKind kind)
{
    g_return_val_if_fail(kind > RH_PIPELINE_NONE && kind < RH_PIPELINE_LAST, NULL);
    return schedules[kind];
}

const RhPipelineSchedule *rh_pipeline_of(const RhLayout *l)
{
    const RhPipelineSchedule *schedule = rh_pipeline_schedule(l->schedule);
    return l->overlap == RH_OVERLAP_PAIRS && schedule->paired ? schedule->paired : schedule;
}
