#include "strategies/schedules.h"

#include <stddef.h>

typedef struct {
    const char *title;
    int32_t chunks, copies;
    RhSchedulePurpose purpose;
} Schedule;

#define ROW_NAME(constant, object, name, ...) [RH_PIPELINE_##constant] = name,
#define ROW_SCHEDULE(constant, object, name, title, chunks, copies, purpose)                       \
    [RH_PIPELINE_##constant] = {title, chunks, copies, purpose},

const char *const rh_pipeline_kind_names[] = {"none", RH_PIPELINES(ROW_NAME) NULL};
static const Schedule schedules[] = {RH_PIPELINES(ROW_SCHEDULE)};

const char *rh_pipeline_kind_name(RhPipelineKind kind)
{
    return rh_pipeline_kind_names[kind];
}

const char *rh_pipeline_kind_title(RhPipelineKind kind)
{
    return schedules[kind].title;
}

bool rh_pipeline_kind_chunked(RhPipelineKind kind)
{
    return schedules[kind].chunks != 1;
}

int32_t rh_pipeline_kind_chunks(RhPipelineKind kind)
{
    return schedules[kind].chunks;
}

int32_t rh_pipeline_kind_copies(RhPipelineKind kind)
{
    return schedules[kind].copies;
}

RhSchedulePurpose rh_pipeline_kind_purpose(RhPipelineKind kind)
{
    return schedules[kind].purpose;
}
