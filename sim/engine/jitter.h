#pragma once
/* What jitter adds to a folded run. Its performers are means of the ranks they stand for; with each
 * task goes how far those ranks spread about the mean. Where members meet, the slowest of them is
 * waited for, and only what then waits for the collective is held up. docs/develop/engine.md has the
 * model. */
#include <stdint.h>

#include "sim/program.h"
#include "sim/role_table.h"

/* Expected largest of n standard normal numbers, and its variance; 0 and 1 for n <= 1. */
double rh_jitter_expected_max(int32_t n);
double rh_jitter_variance_of_max(int32_t n);

/* The spread of every task end of a step under way. */
typedef struct RhJitter RhJitter;

/* Borrows the program and its roles. */
RhJitter *rh_jitter_new(const RhProgram *p, const RhRoleTable *roles, double jitter_frac,
                        int32_t actors_count);
void rh_jitter_free(RhJitter *j);
/* The task is ready at t_s in the mean: how much later its ranks start it. */
double rh_jitter_late_s(RhJitter *j, int32_t actor, int32_t role, int32_t task, double t_s);
/* The task has ended. */
void rh_jitter_end(RhJitter *j, int32_t actor, int32_t role, int32_t task, double t_s);
