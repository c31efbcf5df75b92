#pragma once
/* The spans of a run's timeline, found by performer and task. Everything but the index is borrowed. */
#include "sim/run.h"

typedef struct {
    const RhProgram *p;
    const RhRun *run;
    int32_t **first;     /* [performer][task - role's first]: its span of the first step, or -1 */
    int32_t *next;       /* [span]: the same task's span of the next step, or -1 */
    GArray **spans;      /* [performer]: int32_t spans in the order they were recorded */
    int32_t *of_role;    /* [role]: a performer of it, or -1 */
    GHashTable *of_rank; /* rank -> performer + 1 */
} RhTaskIntervals;

RhTaskIntervals *rh_task_intervals_new(const RhProgram *p, const RhRun *run);
void rh_task_intervals_free(RhTaskIntervals *spans);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhTaskIntervals, rh_task_intervals_free)

static inline const RhTaskInterval *rh_task_intervals_at(const RhTaskIntervals *x, int32_t span)
{
    return &g_array_index(x->run->timeline, RhTaskInterval, span);
}
static inline const RhPerformer *rh_task_intervals_performer(const RhTaskIntervals *x,
                                                             int32_t performer)
{
    return &g_array_index(x->run->performers, RhPerformer, performer);
}
static inline const RhRole *rh_task_intervals_role(const RhTaskIntervals *x, int32_t performer)
{
    return rh_program_role(x->p, rh_task_intervals_performer(x, performer)->role);
}
/* "stage 3". */
const char *rh_task_intervals_role_name(const RhTaskIntervals *x, int32_t performer);
/* The performer at the other end of a SEND or RECV, or one that stands for it; -1: none was performed. */
int32_t rh_task_intervals_peer(const RhTaskIntervals *x, int32_t performer, const RhTask *message);
