#pragma once
/* Computes the effect of 10 % more or less of each constant of the platform and the stack on a
 * step, by the objective of its plan, the plan that would then be best, and the value from which
 * another plan is. */
#include "strategies/search/explain/replan.h"

#define RH_SENSITIVITY_LEAST_FRAC 5e-5 /* smaller effects count as none */

/* Effect of a 10 % change of a constant on a step, by the objective of its plan. */
typedef struct {
    const char *key; /* key of --set */
    RhFact fact;
    RhQuantity kind;
    double less_frac, more_frac;  /* relative change of the objective; NAN: value not allowed */
    int64_t less_rank, more_rank; /* rank of the plan that is then the best */
    bool less_wins, more_wins;    /* the best plan changes */
    /* Thresholds beyond which another plan is the best, if within a factor of ten. */
    bool wins_below, wins_above;
    double below_value, above_value;
    int64_t below_rank, above_rank;
} RhSensitivity;

/* A layout outside the file's plans that could become the best. */
typedef struct {
    int64_t rank; /* follows the ranks of the file */
    RhLayout layout;
    double step_time_s;
    RhEnergy energy;
    double peak_bytes;
} RhAlternative;

typedef struct {
    const RhProblem *c;
    const RhPlatform *hardware; /* as described, without what the stack changes */
    const RhRecordedPlan *recorded;
    int64_t rank;         /* of the plan that is studied */
    const GArray *rivals; /* RhAlternative */
} RhSensitivityRequest;

/* Returns RhSensitivity, the largest effects first, without those of no effect. Effects are
 * computed for the objective of the plan from the file's values, scaled as lower bounds change
 * (perturbed_estimate.h); the plans of the file and the rivals can become the best, if they fit. Caller
 * unrefs. NULL when a rehearsal fails. */
GArray *rh_sensitivity(const RhSensitivityRequest *request,
                       GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Returns the best layouts of a search by lower bounds that are not in the file: RhAlternative, caller
 * unrefs; NULL and an error of the rehearsals. */
GArray *rh_sensitivity_rivals(const RhProblem *c, const RhRecordedPlan *recorded,
                              GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Returns the larger of the effects of more and of less, as a fraction. */
double rh_sensitivity_size(const RhSensitivity *sensitivity);
