#pragma once
/* How long to work between two checkpoints: closed forms, and a search.
 *
 * mu  mean time between failures, exponential     T  work between two checkpoints
 * C   time that a checkpoint takes                D  downtime after a failure: nothing runs or fails
 * R   restart; a failure in it begins it again
 *
 * Expected time of a period:  E = (mu + D) e^(R/mu) (e^((T+C)/mu) - 1)     (Aupy et al. 2013)
 * Young's period sqrt(2 C mu) + C, Daly's sqrt(2 C (mu + D + R)) + C, both with the checkpoint. */
#include <stdbool.h>

typedef struct {
    double mtbf_s, write_s, down_s, restart_s;
} RhIntervalProblem;

/* Expected time of `work_s` of work and its checkpoint; INFINITY beyond what a double holds. */
double rh_interval_expected_s(const RhIntervalProblem *p, double work_s);
/* Share of the time that is work that counts. */
double rh_interval_goodput_frac(const RhIntervalProblem *p, double work_s);
/* Work between two checkpoints, without the checkpoint. */
double rh_interval_young_s(const RhIntervalProblem *p);
double rh_interval_daly_s(const RhIntervalProblem *p);
/* The best by the expected time: it has one minimum. */
double rh_interval_best_s(const RhIntervalProblem *p);
/* Time that each failure may cost, all in all, for a goodput: mu (1/g - 1). */
double rh_interval_lost_most_s(double mtbf_s, double goodput_frac);
