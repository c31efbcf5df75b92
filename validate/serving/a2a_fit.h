#pragma once
/* The constants of kernels that send tokens to experts and back (strategies/a2a_backend.h) from measured exchanges: each
 * backend that rows of the tables are of, and each of its ways, by calibrate/fit/fit_solve.h with rh_a2a_backend_s() as the
 * model. A constant is fitted where rows tell it apart: `inter` by rows in a node and of several nodes, `node` by
 * several numbers of nodes, `sm` by several numbers of SMs; the others stay as they are. Sizes are held out by what they
 * are (ranks, tokens, columns, experts), so that the same are held out in every file. */
#include "calibrate/fit/fitted_facts.h"
#include "validate/cases/case_predictions.h"

typedef struct {
    const char *backend; /* static */
    bool combine;
    GArray *facts;       /* RhFittedFact of what was fitted; keys are those of the backend's file */
    GArray *before;      /* double, as they were, one for each fact */
    char *lack;          /* why nothing was fitted; owned; NULL */
    RhFitFigures now[2]; /* of rows fitted to; of those held out, with constants as they are */
    RhFitFigures then[2]; /* and with those fitted */
} RhExchangeFit;

typedef struct {
    double holdout_frac; /* 0 to 0.5 */
    const char *only;    /* rows whose source, model or note holds this; NULL: all */
    const char *source;  /* of the facts: the tables' names */
    int64_t t_end_us;    /* monotonic; 0: none */
} RhExchangesFitOptions;

/* `tables`: RhCaseTable of exchanges. RhExchangeFit, in the order of their first rows; caller unrefs. *skipped: rows of which nothing can be said.
 * RH_ERROR_INPUT: no row can be; RH_ERROR_NO_ANSWER: not in time. */
GArray *rh_exchanges_fit(const GPtrArray *tables, const RhExchangesFitOptions *options,
                         int32_t *skipped, GError **error) G_GNUC_WARN_UNUSED_RESULT;
