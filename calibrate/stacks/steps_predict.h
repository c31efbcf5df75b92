#pragma once
/* Published steps through the model: a stack's constants, and the clocks of the devices, as facts
 * that may be varied; the steps they predict. */
#include "base/deadline.h"
#include "calibrate/stacks/published_steps.h"

#define RH_STEP_DEVICES_MAX  8
#define RH_STEP_NETWORKS_MAX 8

/* The clock that a device sustains in training: one fact for all the platforms that hold it. */
typedef struct {
    const char *device; /* interned */
    RhFact clock_frac;
} RhStepClock;

/* Fraction of the NICs' bandwidth that the runs of one source, or of one of its tables, reached,
 * where the file attributes it to them ("# network.NAME=why") and not to the stack. */
typedef struct {
    const char *name; /* interned: SOURCE, or SOURCE/TABLE */
    RhFact nic_frac;
} RhStepNetwork;

/* Constants under variation, initialised from the stack and the device files. */
typedef struct {
    const RhMeasuredSteps *steps;
    RhStack stack; /* constants; attention and norms are each row's own */
    int32_t clocks_count;
    RhStepClock clocks[RH_STEP_DEVICES_MAX];
    int32_t networks_count;
    RhStepNetwork networks[RH_STEP_NETWORKS_MAX];
    GPtrArray *views; /* RhPlatform*, owned: the stack's view of each of the table's platforms, then
                         each network's */
    RhDeadline deadline; /* zero: never; once it has come, no answer of the model means anything */
    double *longest_s;   /* owned, of each row: how long its segment graph took; 0: not known */
} RhStepModel;

/* RH_ERROR_USAGE for an unknown stack, RH_ERROR_INPUT for more devices than there is room for. */
RhStepModel *rh_step_model_new(const RhMeasuredSteps *steps, const char *stack,
                               GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Returns a copy with the constants' present values and the deadline. Caller frees. */
RhStepModel *rh_step_model_copy(const RhStepModel *model);
void rh_step_model_free(RhStepModel *model);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhStepModel, rh_step_model_free)
/* Copies the constants that steps can tell into a stack. */
void rh_step_model_copy_constants(RhStack *stack, const RhStack *from);
/* After a fact has changed. */
void rh_step_model_refresh(RhStepModel *model);
/* Seconds of a row of the table by its segment graph: a lower bound of its rehearsal, within 2 % of
 * it. After the deadline 1, at once: with a deadline a row whose graph is not known to be quick is
 * worked out in a process of its own, which can be ended. */
double rh_step_model_segment_s(const RhStepModel *model, const RhMeasuredStep *step);
/* Seconds and peak by a rehearsal, in a process of its own. False with what the engine says. */
bool rh_step_model_rehearse(const RhStepModel *model, const RhMeasuredStep *step, double *seconds,
                            GError **error) G_GNUC_WARN_UNUSED_RESULT;
double rh_step_model_peak_bytes(const RhStepModel *model, const RhMeasuredStep *step);
/* Returns the clock of a device of the table, or NULL. */
RhStepClock *rh_step_model_clock(RhStepModel *model, const char *device);
