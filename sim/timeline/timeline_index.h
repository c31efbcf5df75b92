#pragma once
/* Index of a run's timeline by performer and task. The program and the run are borrowed. */
#include "sim/program_result.h"

typedef struct {
    const RhProgram *p;
    const RhRun *run;
    /* [performer][task - role's first]: its interval of the first step, or -1 */
    int32_t **first;
    int32_t *next;       /* [interval]: the same task's interval of the next step, or -1 */
    GArray **spans;      /* [performer]: int32_t intervals in the order of recording */
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
/* Returns the name of the performer's role, such as "stage 3". */
const char *rh_task_intervals_role_name(const RhTaskIntervals *x, int32_t performer);
/* Returns the performer at the other end of a SEND or RECV, or the one that represents it; -1 when
 * none was simulated. */
int32_t rh_task_intervals_peer(const RhTaskIntervals *x, int32_t performer, const RhTask *message);
