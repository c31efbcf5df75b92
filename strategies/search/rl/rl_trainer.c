/* Finds the best training layout on so many GPUs for a step's batch, and times it. */
#include <math.h>

#include "base/error.h"
#include "strategies/search/plan.h"
#include "strategies/search/rehearsals/build_by_deadline.h"
#include "strategies/search/rehearsals/run_metrics.h"
#include "strategies/search/rl/rl_plan.h"

#define TOKENS_STEP 256 /* lengths of packed samples are multiples of it */
#define GAP_FRAC    0.01

/* Cuts an update's tokens into packed samples: as many on every GPU, none longer than the pack and
 * none shorter than the longest sample of a mean update, which is not cut: the rank that has it
 * decides when an update ends. */
static void pack(const RhRlPlanOptions *o, const RhRlTokens *tokens, RhJob *job)
{
    double all =
        (double)rh_rl_update_samples(o->job) * (tokens->prompt + tokens->answer + tokens->tools);
    double longest = (double)tokens->update_longest;
    double most = fmax(o->pack_tokens > 0 ? (double)o->pack_tokens : 2 * longest, longest);
    int64_t batch = job->gpus * (int64_t)fmax(ceil(all / (job->gpus * most)), 1);
    while (batch > 1 && all / (double)batch < longest / 2)
        batch = (batch + 1) / 2;
    double sequence = fmax(all / (double)batch, longest);
    job->global_batch = batch;
    job->sequence = (int64_t)ceil(sequence / TOKENS_STEP) * TOKENS_STEP;
    job->documents = tokens->documents;
    rh_documents_settle(&job->documents, job->sequence, o->job->seed);
}

static bool find_layout(const RhRlPlanOptions *o, const RhProblem *c, RhRlTrainer *out,
                        GError **error)
{
    RhPlanOptions options = {.top = 1,
                             .gap_frac = GAP_FRAC,
                             .risk_frac = RH_RISK_FRAC,
                             .quick = true,
                             .best_alone = true,
                             .jobs = o->jobs,
                             .timeout_s = o->timeout_s};
    g_autoptr(RhPlan) plan = rh_plan(c, &options, error);
    if (!plan)
        return false;
    if (plan->entries->len == 0)
        return rh_fail(error, RH_ERROR_NO_ANSWER, "no training layout fits in memory on %d GPUs",
                       c->job.gpus);
    const RhRehearsal *best = g_ptr_array_index(plan->entries, 0);
    out->layout = best->layout;
    return true;
}

static bool read_layout(const RhRlPlanOptions *o, const RhProblem *c, RhRlTrainer *out,
                        GError **error)
{
    out->layout = rh_train_default(c);
    g_auto(GStrv) words = g_strsplit(o->layout, ",", -1);
    for (char **w = words; *w; w++)
        if (!rh_train_change(c, &out->layout, *w, error))
            return false;
    rh_train_complete(c, &out->layout);
    out->layout = rh_train_canonical(c, &out->layout);
    return rh_train_legal(c, &out->layout, error);
}

/* Seconds of the forward passes alone. */
static bool time_forward(const RhProblem *c, const RhLayout *layout, const RhEngineOptions *options,
                         double *out_s, GError **error)
{
    RhProblem forward = *c;
    forward.job.forward_only = true;
    g_autoptr(RhProgram) program = NULL;
    g_autoptr(RhRun) run = rh_rehearse_by_deadline(&forward, layout, options, &program, error);
    if (run)
        *out_s = run->step_time_s * rh_straggler_factor(c);
    return run != NULL;
}

static bool time_steps(const RhRlPlanOptions *o, const RhProblem *c, RhRlTrainer *out,
                       GError **error)
{
    RhEngineOptions options = {.seed = o->job->seed, .steps = 1, .timeout_s = o->timeout_s};
    g_autoptr(RhRehearsal) r = rh_rehearse(c, &out->layout, &options, NULL, NULL, error);
    double forward_s = 0;
    if (!r || !time_forward(c, &out->layout, &options, &forward_s, error))
        return false;
    out->update_s = r->step_time_s;
    out->forward_s = forward_s * (double)rh_rl_updates(o->job) / o->job->epochs;
    out->weights_bytes = r->memory.at_peak_bytes[RH_MEMORY_WEIGHTS];
    out->states_bytes =
        r->memory.at_peak_bytes[RH_MEMORY_WEIGHTS] + r->memory.at_peak_bytes[RH_MEMORY_OPTIMIZER];
    out->peak_bytes = r->memory.peak_bytes;
    out->capacity_bytes = r->memory_capacity_bytes;
    out->error_frac = r->bar ? r->error_frac : 0;
    out->mfu_frac = r->mfu_frac;
    out->fits = r->fits;
    return r->fits || rh_fail(error, RH_ERROR_NO_ANSWER,
                              "the training layout does not fit in memory on %d GPUs", out->gpus);
}

bool rh_rl_trainer_find(const RhRlPlanOptions *o, const RhRlTokens *tokens, int32_t gpus,
                        RhRlTrainer *out, GError **error)
{
    RhProblem c = *o->problem;
    c.job.gpus = gpus;
    pack(o, tokens, &c.job);
    *out = (RhRlTrainer){.gpus = gpus, .sequence = c.job.sequence, .batch = c.job.global_batch};
    return (o->layout ? read_layout(o, &c, out, error) : find_layout(o, &c, out, error)) &&
           time_steps(o, &c, out, error);
}
