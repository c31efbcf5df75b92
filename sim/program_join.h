#pragma once
/* Joins several programs into one, so that whatever performs a program can perform jobs that share
 * a fabric.
 *
 * Every part keeps its roles, groups, tasks and ranks, renumbered to follow those of the parts
 * before. Rank numbers between two parts may be unused, so that the strided patterns of groups stay
 * valid. Kernels become waits of their duration on the device, and memory is left out: both are in
 * the parts' own programs. */
#include "sim/program.h"

typedef struct {
    const RhProgram *program;
    const int32_t *gpu_of_rank; /* one per rank; NULL: the program's own map */
} RhJoinPart;

/* Index ranges of a part in the joined program. */
typedef struct {
    int32_t ranks_first, ranks_count;
    int32_t roles_first, roles_count;
    int32_t tasks_first;
} RhJoinedProgram;

/* Returns the joined program, and in out[count] the index ranges of its parts. RH_ERROR_INPUT when
 * they have too many ranks to number. */
RhProgram *rh_program_join(const RhJoinPart *parts, int32_t count, const RhDevice *device,
                           RhJoinedProgram *out, GError **error) G_GNUC_WARN_UNUSED_RESULT;
