#pragma once
/* The closed loop on a GPU: the kernels of a step (step_kernel_lists.h) are timed one by one and as a
 * whole, and compared with what the device model says of them.
 *
 * A step is predicted as the sum of its kernels; communication is left out on both sides. */
#include "accuracy/validation_suite_results.h"
#include "platforms/platform.h"

typedef struct {
    const char *platform; /* whose device predicts, "h200-sxm:1x1"; NULL: the samples' own device */
    const char *profile;  /* laid over it; NULL: none */
    const char *from;     /* folder of NAME.raw.csv, samples of the lists; NULL: measure */
    const char *kernels;  /* rehearse-kernels, or that for processors, to measure with */
    bool on_processor;    /* the steps for a processor, and not those for a GPU */
    const char *keep_folder; /* lists and samples are left there; NULL: thrown away */
    const char *only;        /* steps whose name holds this text; NULL: all */
    void (*progress)(const char *what, int32_t done, int32_t total, void *user); /* may be NULL */
    void *user;
} RhStepOptions;

/* Groups: a kernel class each, and "step". A step without a file is skipped, with its reason.
 * RH_ERROR_IO, RH_ERROR_INPUT with FILE:LINE. */
RhValidation *rh_step_validate(const RhStepOptions *options,
                               GError **error) G_GNUC_WARN_UNUSED_RESULT;
