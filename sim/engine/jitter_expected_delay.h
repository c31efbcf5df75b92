#pragma once
/* Adds the effect of jitter to a folded run. Its performers are means of the ranks they represent,
 * and each task carries the spread of those ranks about the mean. A collective waits for its
 * slowest member, and only tasks that wait for the collective are delayed. docs/develop/engine.md
 * has the model. */
#include <stdint.h>

#include "sim/program.h"
#include "sim/role_task_graph.h"

/* Return the expectation and the variance of the largest of n standard normal numbers; 0 and 1 for
 * n <= 1. */
double rh_jitter_expected_max(int32_t n);
double rh_jitter_variance_of_max(int32_t n);

/* Spread of every task end in the current step. */
typedef struct RhJitter RhJitter;

/* Makes the state of a run; borrows the program and its roles. */
RhJitter *rh_jitter_new(const RhProgram *p, const RhRoleTable *roles, double jitter_frac,
                        int32_t actors_count);
void rh_jitter_free(RhJitter *j);
/* Returns how much later in seconds the ranks start a task whose mean ready time is t_s. */
double rh_jitter_late_s(RhJitter *j, int32_t actor, int32_t role, int32_t task, double t_s);
/* Records the end of a task. */
void rh_jitter_end(RhJitter *j, int32_t actor, int32_t role, int32_t task, double t_s);
