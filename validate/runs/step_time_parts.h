#pragma once
/* Where the time of a step goes on one GPU, by class of kernels, as a profiler's trace and a
 * rehearsal both can say it. */
#include "sim/program_result.h"
#include "strategies/training_problem.h"

typedef enum {
    RH_PART_GEMM,
    RH_PART_ATTENTION, /* fused, and scans of linear mixers */
    RH_PART_MEMORY,    /* all other kernels: norms, activations, casts, the optimizer */
    RH_PART_COPY,      /* by copy engines: between tiers of memory, and inside one */
    RH_PART_ALL_REDUCE,
    RH_PART_ALL_GATHER,
    RH_PART_REDUCE_SCATTER,
    RH_PART_ALL_TO_ALL,
    RH_PART_SEND_RECV,
    RH_PART_COLLECTIVE, /* others: broadcast, barrier */
    RH_PART_LAST
} RhStepPart;

typedef struct {
    double busy_s[RH_PART_LAST]; /* sums of durations, hidden behind each other or not */
    /* these four add up to step_s: a kernel that computes runs; none does, but one that communicates;
     * neither does, but a copy; nothing runs */
    double compute_s, exposed_s, copies_s, idle_s;
    double step_s;
} RhStepParts;

const char *rh_step_part_name(RhStepPart part); /* "GEMM", "all-reduce" */
static inline bool rh_step_part_communicates(RhStepPart part)
{
    return part >= RH_PART_ALL_REDUCE;
}

/* Parts of a rehearsed step on the GPU of `rank`, or one like it; -1: of the first stage. The run
 * recorded its tasks. A transfer lasts from when both ends are ready: waiting for them counts as
 * exposed, as a kernel of NCCL runs meanwhile. */
RhStepParts rh_step_parts_of_run(const RhProblem *c, const RhProgram *program, const RhRun *run,
                                 int32_t rank);
/* Appends both as a table, with the part that differs most. */
void rh_step_parts_append(GString *out, const RhStepParts *measured, const RhStepParts *predicted);
