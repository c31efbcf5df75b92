#pragma once
/* Finds the tasks of a program behind one term of a cost tree: collectives, messages and kernels,
 * with their times on idle links and devices. */
#include "sim/engine/engine.h"
#include "strategies/train/program/layer_ops.h"

/* Finds a term by its name or a part of it; a known term that the tree lacks is added with 0 s.
 * RH_ERROR_USAGE lists the names. */
const RhCost *rh_term_find(RhCost *costs, const RhProgram *program, const char *word,
                           GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Tasks that a term is made of. */
typedef struct {
    RhWait wait; /* a wait, or RH_WAIT_LAST for kernels of one phase */
    RhPhase phase;
} RhTermTasks;
RhTermTasks rh_term_tasks(const char *name);
/* Returns the role with the most tasks of the subject, which stands for all. */
int32_t rh_term_busiest_role(const RhProgram *p, RhTermTasks subject);

/* Equal collectives or messages. */
typedef struct {
    const RhTask *first;
    int64_t count;
} RhTermMessage;
/* Returns RhTermMessage of the role's tasks, in program order; caller unrefs. */
GArray *rh_term_messages(const RhProgram *p, const RhRole *role, RhTermTasks subject);
/* Returns why a collective runs by its algorithm, caller frees; NULL: no reason is known, or it is
 * another task. */
char *rh_term_algorithm_reason(const RhProgram *p, const RhPlatform *platform, const RhRole *role,
                               const RhTask *task);
/* A message's time on idle links, and the bytes that its busiest member puts on them. */
typedef struct {
    double each_s, wire_bytes;
} RhUncontendedMessage;
RhUncontendedMessage rh_term_uncontended(const RhProgram *p, const RhPlatform *platform,
                                         int32_t role, const RhTask *task);

/* Equal kernels. */
typedef struct {
    RhKernel kernel;
    int64_t count;
    double sum_s;
} RhTermKernel;
/* Returns RhTermKernel of the role's tasks, longest sum first; caller unrefs. */
GArray *rh_term_kernels(const RhProgram *p, const RhDevice *device, const RhRole *role,
                        RhTermTasks subject);

/* Gets the seconds of a layer's kernels in each pass. */
void rh_layer_pass_times(const RhProblem *c, const RhLayout *layout, double pass_s[RH_SLOT_PASSES]);
