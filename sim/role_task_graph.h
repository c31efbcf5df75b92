#pragma once
/* Tables that all performers of a role share: successors, indegrees, durations, and the ordinal of
 * each task among the collectives of its group. Task numbers here are local to the role. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "platforms/platform.h"
#include "sim/program.h"

typedef struct {
    int32_t tasks_first, tasks_count;
    int32_t *successors_first; /* tasks_count + 1 */
    int32_t *successors;
    uint16_t *indegree;
    double *duration_s;   /* KERNEL; COPY with its links to itself; else 0 */
    double *flops;        /* KERNEL; else 0 */
    RhBoundTimes *bounds; /* KERNEL: parts of duration_s; else 0 */
    int32_t *ordinal;     /* COLLECTIVE: number among the group's; else -1 */
    int32_t *calls_first; /* per group, one more at the end: index into calls */
    int32_t *calls;       /* tasks, by group and ordinal */
} RhRoleTable;

/* Makes one table per role. rh_role_tables_new takes kernel durations from the fastest device of
 * the platform, rh_role_tables_on from the given one. Free with rh_role_tables_free. */
RhRoleTable *rh_role_tables_new(const RhProgram *p, const RhPlatform *platform);
RhRoleTable *rh_role_tables_on(const RhProgram *p, const RhPlatform *platform, int32_t device);
void rh_role_tables_free(RhRoleTable *tables, int32_t count);
