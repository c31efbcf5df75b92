#pragma once
/* What all performers of a role share: successors, indegrees, durations, and which collective of a
 * group each task is. Task numbers here are local to the role. */
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
    double *duration_s;   /* KERNEL, and COPY alone on its links; else 0 */
    double *flops;        /* KERNEL; else 0 */
    RhBoundTimes *bounds; /* KERNEL: of duration_s; else 0 */
    int32_t *ordinal;     /* COLLECTIVE: its number among those of its group; else -1 */
    int32_t *calls_first; /* per group, one more at the end, into calls */
    int32_t *calls;       /* tasks by group and ordinal */
} RhRoleTable;

/* One table per role of the program, kernels taking what the quickest device of the platform takes; or
 * one of its devices, by number. Free with rh_role_tables_free. */
RhRoleTable *rh_role_tables_new(const RhProgram *p, const RhPlatform *platform);
RhRoleTable *rh_role_tables_on(const RhProgram *p, const RhPlatform *platform, int32_t device);
void rh_role_tables_free(RhRoleTable *tables, int32_t count);
