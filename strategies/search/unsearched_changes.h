#pragma once
/* Unsearched changes: values of knobs that a search tries only on request, and number formats of
 * the job, with the gain that each alone would bring to the first row of a plan. */
#include "strategies/search/plan.h"
#include "strategies/search/rehearsals/rehearsal_queue.h"

typedef struct {
    const char *key;  /* a knob's, "gradients", "moments" or "dtype"; static, as the next */
    const char *text; /* RhKnob.outside, "another number format" */
    bool numerics;    /* it changes what is computed */
    char
        *change; /* owned: "recompute=none", "dtype=fp8"; NULL: the first row has no place for it */
    char *beside;     /* owned: what had to change along with it, so that it fits; NULL: nothing */
    char *limit;      /* owned: why the search leaves it out, although the framework may run it;
                       * NULL: it is only dear to search */
    char *why;        /* owned: what keeps the first row from it; NULL: nothing is known to */
    bool cannot;      /* its framework or another rule refuses the first row with it */
    RhRehearsal *r;   /* owned: the first row with it; NULL: not rehearsed */
    double gain_frac; /* of the first row's step; below 0: it takes longer */
} RhUnsearched;

/* RhUnsearched, knobs of layouts first; what the plan was asked for by a constraint is left out.
 * `told`: each is rehearsed where it is legal and fits as surely as a row. None for a plan
 * without rows. The caller unrefs. */
GArray *rh_unsearched_new(const RhProblem *c, const RhPlanOptions *options, const RhPlan *plan,
                          bool told);

/* Trials of a row that is about to be the first. They run in the queue while the caller goes on,
 * and end with what rh_unsearched_new returns; the case and the options are borrowed. They are
 * begun anew where the plan has another first row in the end. */
typedef struct RhUnsearchedTrials RhUnsearchedTrials;
RhUnsearchedTrials *rh_unsearched_begin(const RhProblem *c, const RhPlanOptions *options,
                                        const RhRehearsal *best, bool unsafe,
                                        RhRehearsalQueue *queue, RhDeadline deadline);
GArray *rh_unsearched_end(RhUnsearchedTrials *trials, const RhPlan *plan);
void rh_unsearched_free(RhUnsearchedTrials *trials);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhUnsearchedTrials, rh_unsearched_free)
