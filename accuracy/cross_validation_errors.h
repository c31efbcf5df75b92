#pragma once
/* Errors of a cross-validation by group of runs: each group (RhEvaluatedRun.cross_group) was predicted without
 * what was chosen or fitted on it, and weighs the same whatever its number of runs. */
#include "accuracy/evaluation.h"

/* A set of runs by what was known of them when they were predicted. */
typedef enum {
    RH_STRATUM_ALL,
    RH_STRATUM_FLAGS_KNOWN,
    RH_STRATUM_FLAGS_DEFAULTED,
    RH_STRATUM_VERSION_KNOWN,
    RH_STRATUM_VERSION_UNKNOWN,
    RH_STRATUM_SPECULATION_KNOWN,
    RH_STRATUM_SPECULATION_UNKNOWN,
    RH_STRATUM_TABLED,
    RH_STRATUM_UNTABLED,
    RH_STRATUM_LAST,
} RhStratum;
const char *rh_stratum_name(RhStratum stratum); /* "launch flags known" */

typedef struct {
    int32_t rows, groups;
    /* over groups: median and mean of each group's median |error|, and the largest of them */
    double median_frac, mean_frac, worst_frac;
    const char *worst; /* interned: that group; NULL: there is none */
    double row_median_frac;
    double mean_abs_log; /* mean of |ln(predicted / measured)| over groups of each group's mean */
    int32_t barred_rows, barred_groups;
    double
        coverage_frac; /* runs within their error bar, each group weighing the same; NAN: no bar */
} RhGroupErrors;

/* Computes the errors of measured runs with a group, of one metric (NULL: step times) and stratum. */
RhGroupErrors rh_group_errors(const RhEvaluation *evaluation, const char *metric,
                              RhStratum stratum);
/* Returns the metrics of runs with a group, in order of appearance, NULL-terminated, a step time as
 * "step_time"; caller g_frees the array alone. */
const char **rh_group_errors_metrics(const RhEvaluation *evaluation);

/* Returns the smallest error that holds `share` of the runs of a further group, each group weighing
 * the same: the quantile share * (G + 1) / G of the G groups' errors, as of conformal prediction;
 * NAN where fewer than RH_GROUPS_LEAST groups speak. `errors` and `groups` (interned names) are
 * parallel. */
#define RH_GROUPS_LEAST 4
double rh_group_quantile(const double *errors, const char *const *groups, size_t count,
                         double share);
