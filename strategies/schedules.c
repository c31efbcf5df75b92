#include "strategies/schedules.h"

#include <stddef.h>

typedef struct {
    const char *title;
    bool chunked;
} Schedule;

#define ROW_NAME(constant, object, name, title, chunked) [RH_SCHEDULE_##constant] = name,
#define ROW_SCHEDULE(constant, object, name, title, chunked)                                       \
    [RH_SCHEDULE_##constant] = {title, chunked},

const char *const rh_schedule_kind_names[] = {"none", RH_SCHEDULES(ROW_NAME) NULL};
static const Schedule schedules[] = {RH_SCHEDULES(ROW_SCHEDULE)};

const char *rh_schedule_kind_name(RhScheduleKind kind)
{
    return rh_schedule_kind_names[kind];
}

const char *rh_schedule_kind_title(RhScheduleKind kind)
{
    return schedules[kind].title;
}

bool rh_schedule_kind_chunked(RhScheduleKind kind)
{
    return schedules[kind].chunked;
}
