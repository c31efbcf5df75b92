#pragma once
/* Several programs as one: what performs a program then performs jobs that share a fabric.
 *
 * Every part keeps its roles, groups, tasks and ranks, numbered on from those of the parts before;
 * ranks between two parts belong to nobody, so that the strided patterns of groups stay true.
 * Kernels become waits of the time they take on the device, and memory is left out: the parts tell
 * both. */
#include "sim/program.h"

typedef struct {
    const RhProgram *program;
    const int32_t *gpu_of_rank; /* one per rank; NULL: as the program says */
} RhJoinPart;

/* Where a part went. */
typedef struct {
    int32_t ranks_first, ranks_count;
    int32_t roles_first, roles_count;
    int32_t tasks_first;
} RhJoined;

/* The joined program, and in out[count] where the parts are. RH_ERROR_INPUT when their ranks are
 * too many to number. */
RhProgram *rh_program_join(const RhJoinPart *parts, int32_t count, const RhDevice *device,
                           RhJoined *out, GError **error);
