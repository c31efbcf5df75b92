#pragma once
/* The constants of a server (its host's and clients' share of an iteration) from published serving runs.
 *
 * Rows of the table that this server ran are served as for validation, over and over while constants change
 * (validate/coordinate_descent.h): the mean loss of the rows (validate/serving/served_constants.h) is to be least. A share
 * of the rows takes no part in it, every second one or every fifth, and is what the fit is evaluated by. Deterministic.
 *
 * Intervals: where errors' logarithms are Laplace's, the likelihood of n rows whose mean error is m goes with m^-n; a
 * constant's 95 % interval is where m stays below the least times exp(1.92 / n), all others held. */
#include "validate/cases/case_predictions.h"
#include "validate/serving/served_constants.h"

typedef struct {
    const char *key; /* of the server's file; static */
    bool fraction;   /* of a rate; else s */
    double before, value, low, high;
    bool determined;          /* else no row tells it, and it is as it was */
    bool low_open, high_open; /* the interval goes on beyond what was looked at */
} RhServedConstant;

/* Errors of a figure, of rows that were fitted to or held out. */
typedef struct {
    RhErrorStatistics before, fitted;
} RhServedErrors;

typedef struct {
    const char *server;                                              /* interned */
    int32_t fitted_count, held_out_count, skipped_count, runs_count; /* rows; services played */
    int32_t constants_count;
    RhServedConstant constants[RH_SERVED_CONSTANTS_MAX];
    RhServedErrors tpot[2], ttft[2], throughput[2]; /* of rows fitted to; of those held out */
} RhServedFit;

typedef struct {
    const char *server;  /* name; NULL: the one of all rows */
    const char *only;    /* rows whose source, model or note holds this; NULL: all */
    double holdout_frac; /* 0 to 0.5 */
    double timeout_s;    /* 0: none */
    void (*progress)(const char *what, int32_t done, int32_t total, void *user); /* may be NULL */
    void *user;
} RhServedFitOptions;

/* RH_ERROR_USAGE: no row, or rows of several servers and none named; RH_ERROR_NO_ANSWER: not in time; else as
 * rh_served_judge. Caller frees. */
RhServedFit *rh_served_fit(const RhCaseTable *table, const RhServedFitOptions *options,
                           GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_served_fit_free(RhServedFit *fit);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhServedFit, rh_served_fit_free)
