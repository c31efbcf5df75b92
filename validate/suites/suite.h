#pragma once
/* Suites of programs that are rehearsed, and performed for real in the network lab.
 *
 * Calibrated on the star (ping-pong alone), evaluated everywhere. Predictions are made before anything
 * is measured. */
#include "accuracy/validation_suite_results.h"
#include "sim/program_result.h"

typedef struct {
    const char *perform; /* the rehearse-perform binary */
    const char *smpi;    /* rehearse-perform-smpi, for the controls */
    bool controls;       /* SMPI predicts too, and MPI's own collectives are measured beside ours */
    const char *lab_folder;  /* validate/lab of the source tree */
    const char *keep_folder; /* programs, traces and ping-pongs are left there; NULL: thrown away */
    const char *only;        /* cases whose name holds this text; NULL: all */
    int32_t runs;            /* measured steps of each program */
    void (*progress)(const char *what, int32_t done, int32_t total, void *user); /* may be NULL */
    void *user;
} RhSuiteOptions;

/* RH_ERROR_USAGE with the names when there is no such suite. */
bool rh_suite_known(const char *name, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Cases that could not be run are in the result, skipped, with their reason. RH_ERROR_USAGE for an
 * unknown suite, RH_ERROR_INPUT or RH_ERROR_IO when not even the predictions could be made. */
RhValidation *rh_suite_run(const char *name, const RhSuiteOptions *options,
                           GError **error) G_GNUC_WARN_UNUSED_RESULT;
