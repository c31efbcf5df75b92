#pragma once
/* Results of a fit in a profile (platforms/profile.h): facts, and the errors of the fit. */
#include "base/json/json.h"
#include "calibrate/fit/fit_rows.h"

typedef struct {
    char *key; /* path of `--set` */
    RhQuantity kind;
    RhFact fact;
    bool on_bound; /* the data want it beyond what the form allows */
} RhFittedFact;

/* Makes an array of RhFittedFact, which it owns; caller unrefs. */
GArray *rh_fitted_facts_new(void);
/* Formats a value of the fact: "3.2us", "0.67". Caller frees. */
char *rh_fitted_value_text(const RhFittedFact *f, double value);
/* "nic.latency": {"value": ..., "low": ..., "high": ..., "tag": ..., "source": ..., "date": ...} */
void rh_fitted_fact_put(RhJsonWriter *w, const RhFittedFact *f);
/* null without rows. */
void rh_fit_figures_put(RhJsonWriter *w, const char *key, const RhFitFigures *f);
