#pragma once
/* A row of a serving table on its way through translation and prediction. Private to
 * validate/serving. */
#include "base/deadline.h"
#include "validate/cases/case_predictions.h"
#include "validate/serving/served_row_conflicts.h"
#include "validate/serving/served_translate.h"

typedef struct {
    double ttft_s, tpot_s, tokens_per_s;
    double rate_in_limits_per_s; /* 0: not asked */
    double ttft_percentiles_s[RH_CASE_PERCENTILES], tpot_percentiles_s[RH_CASE_PERCENTILES];
    double capacity_bytes, peak_bytes;
    double untabled_frac; /* of the kernels' time: without a table */
    bool starved;
} RhServedPrediction;

typedef struct {
    const RhCaseRow *row;
    RhServedCase c;
    RhServedPrediction p;
    char *why;               /* owned: why it is not predicted; NULL */
    const char *cross_group; /* interned: its group of a cross-validation; NULL */
} RhServedRun;

void rh_served_run_clear(void *run); /* of a GArray */
/* Translates run->row by the translator's rules, in place of what the run held. `setups` are of
 * its table. */
void rh_served_run_translate(RhServedTranslator *t, const RhServedSetups *setups, RhServedRun *run);
/* Predicts the runs (RhServedRun) that have no `why`, in child processes. */
void rh_served_runs_predict(GArray *runs, const RhCasesOptions *options, RhDeadline deadline);
