#pragma once
/* One fit of steps_fit.c: some of a table's rows, the constants they can tell, and each row's step
 * as a function of those constants, linear about the values they had last: a step is the longest
 * path of its segment graph, so it is linear in times and counts, and in the inverse of rates,
 * between kinks. For calibrate/stacks and for validate/cases, which leaves rows out of a fit. */
#include "calibrate/fit/fit_solve.h"
#include "calibrate/stacks/steps_predict.h"

#define RH_STEP_NIC_KEY    "nic_training_frac"
#define RH_STEP_LINEARISED 6 /* rounds at most */

/* The stack's constants that steps can tell; bounds are physical. */
typedef struct {
    const char *key;
    RhQuantity kind;
    size_t offset; /* of the RhFact in RhStack */
    double low, high;
    double unit; /* what a constant that stands at 0 is nudged by; 0: it never does */
    bool rate;
    bool counted; /* not a matter of fit: what the rows would have it is reported, and it stands */
} RhStepStackConstant;
extern const RhStepStackConstant rh_step_stack_constants[]; /* ended by a row without a key */

typedef struct {
    bool rate;
    double unit, at; /* `at`: the value linearised at */
} RhStepAxis;

typedef struct {
    RhStepModel *model;   /* borrowed */
    const GArray *scales; /* double, borrowed: rehearsed over segment, of every row of the table */
    GArray *rows;         /* guint: the rows fitted to */
    GArray *params;       /* RhFitParam; facts are the model's */
    GArray *axes;         /* RhStepAxis, of each param */
    GArray *weights;      /* double */
    GArray *clusters;     /* uint32_t */
    GArray *base_s;       /* double: step of each row at `axes` */
    GArray *slopes;       /* double: row by row, of each param's axis */
} RhStepTask;

/* Returns whether a row is used in fits: it has a time and is not excluded. */
bool rh_step_takes_part(const RhMeasuredStep *step);
/* Returns the seconds of a row of the table at the model's constants. */
double rh_step_task_predict_s(const RhStepModel *model, const GArray *scales, guint row);

typedef bool (*RhStepKeepFunc)(const RhMeasuredStep *step, const void *which);

/* Makes the fit of the rows that take part and that `keep` (NULL: all) accepts. Constants on which
 * no row depends are left out. Free with rh_step_task_clear. */
RhStepTask rh_step_task_new(RhStepModel *model, const GArray *scales, RhStepKeepFunc keep,
                            const void *which);
/* Returns the fit of those rows of `all` that `keep` accepts, by its linear form, with the facts of
 * `model`, a copy of its model. Constants on which none of them depends are left out. */
RhStepTask rh_step_task_select(const RhStepTask *all, RhStepModel *model, RhStepKeepFunc keep,
                               const void *which);
void rh_step_task_clear(RhStepTask *task);
/* Keeps a constant fixed; `fix` leaves the linear form as it is, `hold` makes it anew. */
void rh_step_task_fix(RhStepTask *task, const RhFact *fact);
void rh_step_task_hold(RhStepTask *task, const RhFact *fact);
/* Fills in constants that no row of the task tells: clocks from the mean of the fitted ones, networks
 * from the stack. */
void rh_step_task_fill_untold(RhStepTask *task);
/* Solves the linear form, then about its solution again until that stays, `rounds` times at most.
 * Leaves the model refreshed. False when it does not converge, or not by the model's deadline. */
bool rh_step_task_solve(RhStepTask *task, int rounds, bool point_alone);
