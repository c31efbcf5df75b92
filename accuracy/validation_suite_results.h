#pragma once
/* Validation cases: measurements beside predictions, with statistics over them.
 *
 * Plain data. An error is (predicted - measured) / measured. A case that could not be evaluated
 * keeps its reason in `skipped` and counts in no statistic. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Other predictors of the same case, for comparison. */
typedef enum {
    RH_CONTROL_FLUID,      /* links shared max-min fairly, collectives in lockstep */
    RH_CONTROL_ALPHA_BETA, /* no sharing: latency + bytes / bandwidth, longest path */
    RH_CONTROL_SMPI,       /* the same program and MPI calls, simulated by SimGrid's SMPI */
    RH_CONTROL_LAST,
} RhControl;
const char *rh_control_name(RhControl control);

typedef struct {
    char *id;           /* owned: "iteration: dp8 zero1 on lab-star" */
    const char *group;  /* "collective", "pattern", "iteration", "layout": unit of evaluation */
    const char *source; /* name of the platform or table of the measurement */
    const char *metric; /* "step_time" */
    double measured, predicted;      /* seconds */
    double spread_frac;              /* spread of the measurement: (largest - smallest) / median */
    double control[RH_CONTROL_LAST]; /* predictions of the other predictors; 0: none */
    /* measured with MPI's own collectives instead of the schedule; 0: not measured */
    double library_s;
    double start_error_frac; /* median error of task starts over the step; < 0: none */
    char *outcome; /* owned; how the run ended where there is no time on either side, or NULL */
    char *skipped; /* owned; reason why it could not be evaluated, or NULL */
} RhValidationCase;

typedef struct {
    char *suite, *made_on;  /* owned: "mpi-quick"; machine and libraries */
    GArray *cases;          /* RhValidationCase */
    GPtrArray *missed;      /* owned texts: acceptance thresholds that were missed */
    GPtrArray *notes;       /* owned texts: calibration, and untested parts */
    int32_t launches_count; /* number of real runs */
} RhValidation;

RhValidation *rh_validation_new(const char *suite);
void rh_validation_free(RhValidation *v);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhValidation, rh_validation_free)

typedef struct {
    int32_t count, skipped_count; /* cases with a time; cases that were not performed */
    double median_abs_error_frac, mape_frac, p90_abs_error_frac, worst_abs_error_frac, bias_frac;
    const char *worst_id;     /* borrowed; NULL when there is no case */
    double spearman, kendall; /* rank correlation over the group; NAN below 3 */
    double regret_frac;       /* time lost by choosing the case of least prediction */
    double control_mape_frac[RH_CONTROL_LAST]; /* NAN: no predicted case */
    double start_error_frac;                   /* median over cases; < 0: none */
    double spread_frac;                        /* median over cases */
} RhValidationFigures;

/* Computes the statistics over the cases of a group (NULL: all). */
RhValidationFigures rh_validation_figures(const RhValidation *v, const char *group);
/* Returns the group names in order of first appearance, NULL-terminated; caller g_frees the array
 * alone. */
const char **rh_validation_groups(const RhValidation *v);
static inline double rh_validation_error_frac(const RhValidationCase *c)
{
    return (c->predicted - c->measured) / c->measured;
}
