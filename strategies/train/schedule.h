#pragma once
/* Pipeline schedules: in which order a stage runs its micro-batches. One file per schedule, one
 * table. Legend: p stages, v chunks per stage, m micro-batches. Chunk c of stage s is chunk c*p + s
 * of the model. */
#include "strategies/layout.h"

typedef struct {
    int32_t microbatch;
    int32_t chunk; /* of the stage: 0 .. v-1 */
    bool backward;
} RhSlot;

typedef struct {
    const char *name;
    const char *about;
    /* Fills the 2*m*v slots of one stage. */
    void (*order)(int32_t p, int32_t v, int32_t m, int32_t stage, RhSlot *slots);
} RhPipelineSchedule;

const RhPipelineSchedule *rh_pipeline_schedule(RhScheduleKind kind);

#define RH_SCHEDULE_OBJECT(constant, object, ...)                                                  \
    extern const RhPipelineSchedule rh_schedule_##object;
RH_SCHEDULES(RH_SCHEDULE_OBJECT)
#undef RH_SCHEDULE_OBJECT
