#pragma once
/* Tells what the measured time of one run says of a prediction.
 *
 * One number cannot say which of many constants is off. So each of four causes is changed alone,
 * and the layout rehearsed again, until the step takes the measured time: by how much kernels,
 * links, one GPU that the others wait for, or the host would have to differ; or that even at its
 * limit the cause cannot explain it. What is then kept is one scale of the kernels' rates. */
#include "sim/engine/engine.h"
#include "strategies/train/train.h"

typedef enum {
    RH_CAUSE_KERNELS, /* rates of compute and memory, times a factor */
    RH_CAUSE_LINKS,   /* rates of NVLink, NICs and the fabric, times a factor */
    RH_CAUSE_WAITING, /* the speed of one GPU, which the others wait for */
    RH_CAUSE_HOST,    /* seconds of launching after each kernel */
    RH_CAUSE_CAUSES,
} RhMeasuredCause;

typedef struct {
    bool explains;
    double value;   /* factor, speed or seconds at which the step takes the measured time */
    double now;     /* of the prediction: 1, or the seconds after each kernel */
    double share_s; /* of the predicted step: its part */
    double
        reached_s; /* the nearest step that the cause alone can make, where it does not explain */
} RhMeasuredCauseAnswer;

typedef struct {
    double measured_s, predicted_s;
    RhMeasuredCauseAnswer causes[RH_CAUSE_CAUSES];
    double
        together_s; /* the step with every cause at its limit, where none explains it alone; else 0 */
    double
        scale; /* of the kernels' rates: by their own time, else by the step's; 0: none explains it */
    bool by_kernels; /* the first */
    /* the scaled constants of the device */
    double clock_frac, memory_frac;
    const char *stack, *model; /* interned */
} RhMeasuredRun;

typedef struct {
    const RhProblem *c;
    const RhPlatform *hardware; /* as described, whose view by the stack is c->platform */
    const RhLayout *layout;
    double measured_s;
    /* of one GPU, where a trace tells them apart: the time in which kernels compute, measured and
     * predicted; 0: the step alone is known */
    double kernels_s, predicted_kernels_s;
    double timeout_s; /* of the whole; 0: none */
    void (*progress)(const char *what, int32_t done, int32_t total, void *user); /* may be NULL */
} RhMeasuredRunQuestion;

/* Does one cause alone explain the measured time? */
bool rh_measured_run_explained(const RhMeasuredRun *run);
/* RH_ERROR_INPUT for hardware of several devices; the errors of rehearsals. */
bool rh_measured_run_explain(const RhMeasuredRunQuestion *question, RhMeasuredRun *out,
                             GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* The profile with the scale; NULL where kernels do not explain the run. `source` is what the
 * measured time was, `date` "2026-11". Caller frees. */
char *rh_measured_run_profile(const RhMeasuredRun *run, const RhPlatform *hardware,
                              const char *source, const char *date);
const char *rh_measured_cause_name(RhMeasuredCause cause);
