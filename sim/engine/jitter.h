#pragma once
/* What jitter adds to a folded run: members that synchronise wait for the slowest of them, so a
 * stretch of kernels before a synchronisation of n ranks takes the expected largest of n normal
 * deviations longer. */
#include <stdint.h>

#include "sim/program.h"
#include "sim/roles.h"

/* Expected largest of n standard normal numbers; 0 for n <= 1. */
double rh_jitter_expected_max(int32_t n);

/* Factor of each kernel, per role and task (1 for others). */
double **rh_jitter_scale_new(const RhProgram *p, const RhRoleTable *roles, double jitter_frac);
void rh_jitter_scale_free(double **scale, int32_t roles_count);
