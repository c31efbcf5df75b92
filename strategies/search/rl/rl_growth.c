#include "strategies/search/rl/rl_growth.h"

#include "base/error.h"
#include "strategies/rl/placements/placements.h"

const RhRlEntry *rh_rl_growth_entry(const RhRlGrowth *growth, int point)
{
    return &g_array_index(growth->points[point].plan->entries, RhRlEntry, 0);
}

/* Plans a job whose mean answer is another; with the placement, the split and the servers of `entry`
 * (may be NULL) alone. */
static RhRlPlan *planned(const RhRlPlanOptions *options, double answer_tokens,
                         const RhRlEntry *entry, RhDeadline deadline, GError **error)
{
    RhRlJob job = *options->job;
    RhRlPlanOptions o = *options;
    job.answer.mean = answer_tokens;
    o.job = &job;
    o.failures = NULL;
    if (deadline.t_end_us)
        o.timeout_s = MAX(rh_deadline_left_s(deadline), 1e-3);
    if (entry) {
        o.only = entry->placement;
        o.ahead = entry->placement->streams ? entry->ahead : 0;
        o.train_gpus = entry->placement->shares_gpus ? 0 : entry->trainer.gpus;
        o.given = entry->servers.deployment;
        o.given.pools[0].replicas = 0; /* follow from the GPUs */
    }
    return rh_rl_plan(&o, error);
}

/* Sets the time of a step at `point` with the best entry of `other`. Returns false for an error that
 * is not that it does not fit. */
static bool simulate_elsewhere(const RhRlPlanOptions *options, RhRlGrowth *g, int point, int other,
                               RhDeadline deadline, GError **error)
{
    GError *failure = NULL;
    g_autoptr(RhRlPlan) plan = planned(options, g->points[point].answer_tokens,
                                       rh_rl_growth_entry(g, other), deadline, &failure);
    if (plan && plan->entries->len > 0)
        g->points[point].step_s[other] = g_array_index(plan->entries, RhRlEntry, 0).step.step_s;
    else if (plan)
        return rh_fail(error, RH_ERROR_NO_ANSWER, "the time ended while answers' growth was tried");
    if (failure && !g_error_matches(failure, RH_ERROR, RH_ERROR_NO_ANSWER)) {
        g_propagate_error(error, failure);
        return false;
    }
    g_clear_error(&failure);
    return true;
}

static bool plan_point(const RhRlPlanOptions *options, RhRlGrowthPoint *point, RhDeadline deadline,
                       GError **error)
{
    point->plan = planned(options, point->answer_tokens, NULL, deadline, error);
    if (!point->plan) {
        g_prefix_error(error, "answers of %.0f tokens in the mean: ", point->answer_tokens);
        return false;
    }
    return point->plan->entries->len > 0 ||
           rh_fail(error, RH_ERROR_NO_ANSWER, "the time ended while answers' growth was tried");
}

/* Sums each entry's steps over the run, and chooses the quickest. */
static void sum_up(RhRlGrowth *g)
{
    g->best = -1;
    for (int k = 0; k < RH_RL_GROWTH_POINTS; k++) {
        double begin_s = g->points[0].step_s[k], middle_s = g->points[1].step_s[k],
               end_s = g->points[2].step_s[k];
        if (begin_s <= 0 || middle_s <= 0 || end_s <= 0)
            continue;
        g->run_s[k] = (double)g->spec.steps * (begin_s + 4 * middle_s + end_s) / 6;
        if (g->best < 0 || g->run_s[k] < g->run_s[g->best])
            g->best = k;
    }
}

bool rh_rl_growth(const RhRlPlanOptions *options, const RhRlGrowthSpec *spec, RhRlPlan *first,
                  RhRlGrowth *out, GError **error)
{
    const RhRlAnswers *a = &options->job->answer;
    if (rh_rl_median(spec->to_tokens, a->sigma, a->most) <= 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "growing to %.0f tokens: no answers that end at %d tokens have this mean\n"
                       "help: a larger limit of an answer, or a smaller mean",
                       spec->to_tokens, a->most);
    RhDeadline deadline = rh_deadline_in(options->timeout_s);
    *out = (RhRlGrowth){.spec = *spec};
    for (int i = 0; i < RH_RL_GROWTH_POINTS; i++) {
        RhRlGrowthPoint *point = &out->points[i];
        point->answer_tokens =
            a->mean + (spec->to_tokens - a->mean) * i / (RH_RL_GROWTH_POINTS - 1);
        if (i == 0)
            point->plan = first;
        else if (!plan_point(options, point, deadline, error))
            return false;
        point->step_s[i] = rh_rl_growth_entry(out, i)->step.step_s;
    }
    for (int i = 0; i < RH_RL_GROWTH_POINTS; i++)
        for (int k = 0; k < RH_RL_GROWTH_POINTS; k++)
            if (k != i && !simulate_elsewhere(options, out, i, k, deadline, error))
                return false;
    sum_up(out);
    return true;
}

void rh_rl_growth_clear(RhRlGrowth *growth)
{
    for (int i = 1; i < RH_RL_GROWTH_POINTS; i++)
        rh_rl_plan_free(growth->points[i].plan);
    *growth = (RhRlGrowth){0};
}
