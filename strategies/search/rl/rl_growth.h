#pragma once
/* A run of post-training whose answers get longer, as they do while a model learns to reason: which
 * placement takes least time over all of its steps.
 *
 * The mean length grows evenly from the first step to the last. At the first, the middle and the
 * last step everything is planned anew. The best entry of each is then simulated at the other two,
 * with its placement, split and servers and the training layout that is the best there (packed
 * samples differ, and with them micro-batches); the time of all steps with it is Simpson's rule over
 * the three. */
#include "strategies/search/rl/rl_plan.h"

#define RH_RL_GROWTH_POINTS 3

typedef struct {
    double to_tokens; /* mean answer of the last step */
    int64_t steps;
} RhRlGrowthSpec;

typedef struct {
    double answer_tokens;               /* mean at this step */
    RhRlPlan *plan;                     /* owned, but for the first step's: that is the caller's */
    double step_s[RH_RL_GROWTH_POINTS]; /* here, with the best entry of each; 0: it does not fit */
} RhRlGrowthPoint;

typedef struct {
    RhRlGrowthSpec spec;
    RhRlGrowthPoint points[RH_RL_GROWTH_POINTS];
    double run_s[RH_RL_GROWTH_POINTS]; /* all steps with the best entry of each; 0: it does not fit
                                        * somewhere */
    int best;                          /* the quickest of these; -1: none fits everywhere */
} RhRlGrowth;

/* Looks at the growth of a job's answers. `first` is its plan as `options` say it, borrowed, with an
 * entry at least. RH_ERROR_USAGE: no answers have the last mean. RH_ERROR_NO_ANSWER: nothing fits at
 * some step, or time is up. */
bool rh_rl_growth(const RhRlPlanOptions *options, const RhRlGrowthSpec *spec, RhRlPlan *first,
                  RhRlGrowth *out, GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_rl_growth_clear(RhRlGrowth *growth);
/* Returns the best entry at a step. */
const RhRlEntry *rh_rl_growth_entry(const RhRlGrowth *growth, int point);
