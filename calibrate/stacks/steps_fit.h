#pragma once
/* Fits a stack's constants, and the clocks that devices sustain in training, to published steps.
 *
 * The model is the predicted step itself: the segment graph, times what a rehearsal of that row
 * adds to it (rehearsed again at what was found, until it stays). Loss, solver and intervals are
 * fit_solve.h's, from the stack's present values; a cluster is a group of rows that err together
 * (published_steps.h). How far off it is on others' runs is told by rows held out: by groups in five folds,
 * and each source by constants fitted without it (a clock that only that source knows is then the
 * mean of the others). docs/theory/stacks.md. */
#include "base/deadline.h"
#include "base/units.h"
#include "calibrate/fit/fit_rows.h"
#include "calibrate/stacks/memory_reserve_fit.h"

#define RH_STEPS_FOLDS 5

typedef struct {
    const char *key; /* "kernel_gap_s" */
    const char *of;  /* interned: the device or the source that it is a fact of; NULL: the stack */
    RhQuantity kind;
    double before;   /* as stack and device file have it */
    RhFact fact;     /* value fitted and 95 % interval; of kept ones, with all constants free */
    bool on_bound;   /* the rows want it beyond */
    bool determined; /* false: no row that was fitted depends on it; value as before */
    bool counted; /* what it stands for is counted, not fitted: it stays, whatever the rows ask */
    bool kept;    /* counted, or `before` lies in the interval: it stays, and the others are fitted
                     beside it */
    const RhFact *at; /* NULL after the fit */
} RhStepConstant;

/* Predictions of a row by different constants, in seconds; 0: not predicted. */
typedef struct {
    const RhMeasuredStep *step;
    double before_s, fitted_s;
    double held_out_s;   /* fit without its group */
    double source_out_s; /* fit without its source */
} RhStepPrediction;

typedef struct {
    const RhMeasuredSteps *steps;
    const char *stack;
    GArray *constants;   /* RhStepConstant */
    GArray *predictions; /* RhStepPrediction, of every row with a time, in the table's order */
    int32_t rows_count, groups_count, sources_count; /* fitted to */
    int32_t rehearsed_count;
    RhStepReserve reserve; /* memory, apart from the fit of times */
    GPtrArray *notes;      /* owned texts */
} RhStepsFit;

typedef struct {
    bool segments_alone; /* no rehearsals: the bound stands for the step */
    RhDeadline deadline; /* zero: never */
    void (*progress)(const char *stage, int64_t done, int64_t total, double best_s, void *user);
} RhStepsFitOptions;

/* RH_ERROR_USAGE for an unknown stack; RH_ERROR_INPUT when the rows cannot determine the constants:
 * too few that differ, or too few groups; RH_ERROR_NO_ANSWER when the deadline comes. Caller frees;
 * `steps` outlives it. */
RhStepsFit *rh_steps_fit(const RhMeasuredSteps *steps, const char *stack,
                         const RhStepsFitOptions *options,
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_steps_fit_free(RhStepsFit *fit);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhStepsFit, rh_steps_fit_free)

/* Errors of the rows of a source (NULL: all) that took part (`apart` NULL) or are apart for that
 * reason, by the prediction at `offset` of RhStepPrediction. Clear with rh_fit_figures_clear. */
void rh_steps_figures(const RhStepsFit *fit, const char *source, const char *apart, size_t offset,
                      RhFitFigures *figures);
/* The document of `-o FILE.json`. Caller frees. */
char *rh_steps_fit_json(const RhStepsFit *fit);
