#pragma once
/* Predictions beside measurements: the cases, and what may be said of them together.
 *
 * Plain data. An error is (predicted - measured) / measured. A case that could not be judged keeps
 * its reason in `skipped` and counts in no figure. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Other predictors of the same case, for comparison. */
typedef enum {
    RH_CONTROL_FLUID,      /* links shared max-min fairly, collectives in lockstep */
    RH_CONTROL_ALPHA_BETA, /* no sharing at all: latency + bytes / bandwidth, longest path */
    RH_CONTROL_SMPI,       /* the same program and MPI calls, simulated by SimGrid's SMPI */
    RH_CONTROL_LAST,
} RhControl;
const char *rh_control_name(RhControl control);

typedef struct {
    char *id;           /* owned: "iteration: dp8 zero1 on lab-star" */
    const char *group;  /* "collective", "pattern", "iteration", "layout": judged together */
    const char *source; /* where it was measured: a platform's name, a table's */
    const char *metric; /* "step_time" */
    double measured, predicted;      /* seconds */
    double spread_frac;              /* of the measurement: (largest - smallest) / median */
    double control[RH_CONTROL_LAST]; /* predictions of the same; 0: none */
    double library_s; /* measured with MPI's own collectives in place of the schedule; 0: not */
    double start_error_frac; /* median error of tasks' starts, share of the step; < 0: none */
    char *outcome; /* owned; NULL, or how it ended where no time can be judged, both sides alike */
    char *skipped; /* owned; NULL, or why it could not be judged */
} RhValidationCase;

typedef struct {
    char *suite, *made_on;  /* owned: "mpi-quick"; machine and libraries */
    GArray *cases;          /* RhValidationCase */
    GPtrArray *missed;      /* owned texts: bars that were not met */
    GPtrArray *notes;       /* owned texts: calibration, what was not tested */
    int32_t launches_count; /* of real runs */
} RhValidation;

RhValidation *rh_validation_new(const char *suite);
void rh_validation_free(RhValidation *v);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhValidation, rh_validation_free)

typedef struct {
    int32_t count, skipped_count; /* judged by their time; not performed */
    double median_abs_error_frac, mape_frac, p90_abs_error_frac, worst_abs_error_frac, bias_frac;
    const char *worst_id;     /* borrowed; NULL when nothing was judged */
    double spearman, kendall; /* of measured and predicted, over the group; NAN below 3 */
    double regret_frac;       /* time lost by taking the case predicted fastest */
    double control_mape_frac[RH_CONTROL_LAST]; /* NAN: predicted no case */
    double start_error_frac;                   /* median over cases; < 0: none */
    double spread_frac;                        /* median over cases */
} RhValidationFigures;

/* Over the cases of a group (NULL: all). */
RhValidationFigures rh_validation_figures(const RhValidation *v, const char *group);
/* Group names in order of first appearance, NULL-ended; caller g_frees the array alone. */
const char **rh_validation_groups(const RhValidation *v);
static inline double rh_validation_error_frac(const RhValidationCase *c)
{
    return (c->predicted - c->measured) / c->measured;
}
