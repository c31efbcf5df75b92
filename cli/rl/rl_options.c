#include "cli/rl/rl_options.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "cli/parse/key_value_options.h"
#include "strategies/rl/algorithms/algorithms.h"
#include "strategies/rl/placements/placements.h"

#define BEGUN_MOST   16
#define USEFUL_LEAST 0.05
#define AHEAD_MOST   64
#define TOKENS_MOST  (1 << 26)
#define GROUPS_MOST  (1 << 24) /* samples of a step */

static bool fail_lengths(const char *text, const char *what, GError **error)
{
    return rh_fail(error, RH_ERROR_USAGE,
                   "--lengths %s: %s\nhelp: in=512,out=4k, or in=512,out=4k,sigma=0.8,max=16k for "
                   "answers with a long tail that ends at 16,384 tokens",
                   text, what);
}

static bool read_lengths(const char *text, RhRlJob *job, GError **error)
{
    double in = 0, in_least = 0, out = 0, sigma = 0, most = 0;
    const RhOptionKey keys[] = {
        {"in", "512", RH_QUANTITY_TOKENS, &in},    {"in-min", "100", RH_QUANTITY_TOKENS, &in_least},
        {"out", "4k", RH_QUANTITY_TOKENS, &out},   {"sigma", "0.8", RH_QUANTITY_COUNT, &sigma},
        {"max", "16k", RH_QUANTITY_TOKENS, &most}, {0}};
    g_auto(GStrv) words = g_strsplit(text, ",", -1);
    if (!rh_option_list_read("--lengths", words, keys, error))
        return false;
    if (in < 1 || out < 1 || in > TOKENS_MOST || out > TOKENS_MOST || most > TOKENS_MOST)
        return fail_lengths(text, "in and out are from 1 to 67,108,864 tokens", error);
    if (in_least > in)
        return fail_lengths(text, "in-min is above in", error);
    if (sigma > 4)
        return fail_lengths(text, "sigma, the deviation of the logarithm, is at most 4", error);
    if (rh_rl_median(out, sigma, most) <= 0)
        return fail_lengths(text, "no answers that end at max have the mean out", error);
    job->prompt = (RhLengthRange){(int32_t)(in_least > 0 ? in_least : in), (int32_t)in};
    job->answer = (RhRlAnswers){out, sigma, (int32_t)most};
    return true;
}

static bool read_file(const RhArguments *a, RhRlJob *job, RhRequests **lengths, GError **error)
{
    *lengths = rh_requests_load_any(a->requests, a->skip_bad, a->chars_per_token, error);
    job->lengths = *lengths;
    if (*lengths && (*lengths)->once)
        return rh_fail(error, RH_ERROR_INPUT,
                       "%s: it says nothing of answers\n"
                       "help: columns input_tokens,output_tokens",
                       a->requests);
    return *lengths != NULL;
}

/* Are growing answers asked for with all that they need? */
static bool check_growth(const RhArguments *a, GError **error)
{
    if ((a->grow_to_tokens > 0) != (a->steps > 0))
        return rh_fail(error, RH_ERROR_USAGE,
                       "%s: a run whose answers grow has a last mean and a number of steps\n"
                       "help: --grow-to 8k --steps 300",
                       a->steps > 0 ? "--steps" : "--grow-to");
    if (a->grow_to_tokens > TOKENS_MOST)
        return rh_fail(error, RH_ERROR_USAGE, "--grow-to: at most %d tokens", TOKENS_MOST);
    return a->grow_to_tokens <= 0 || a->lengths ||
           rh_fail(error, RH_ERROR_USAGE,
                   "--grow-to: answers drawn from a file do not grow\n"
                   "help: their mean and deviation in --lengths");
}

bool rh_rl_words_job(const RhArguments *a, RhRlJob *job, RhRequests **lengths, GError **error)
{
    const RhRlAlgorithm *algorithm = rh_rl_algorithm_by_name(a->algorithm);
    if (!algorithm)
        return rh_fail_unknown(error, "training algorithm", a->algorithm, rh_rl_algorithm_names());
    *job = (RhRlJob){.algorithm = algorithm,
                     .prompts = (int32_t)a->prompts,
                     .samples = a->samples > 0 ? (int32_t)a->samples : algorithm->samples,
                     .minibatch = (int32_t)a->minibatch,
                     .epochs = (int32_t)a->epochs,
                     .reference = !a->reference_disabled,
                     .served_log_probs = a->served_log_probs,
                     .reward_s = a->reward_s,
                     .sandboxes = (int32_t)a->sandboxes,
                     .turns = (int32_t)a->turns,
                     .tool_s = a->tool_s,
                     .tool_tokens = (int32_t)a->tool_tokens,
                     .begun_frac = a->begun_frac,
                     .useful_frac = a->useful_frac,
                     .seed = (uint64_t)a->seed};
    if (rh_rl_step_samples(job) > GROUPS_MOST)
        return rh_fail(error, RH_ERROR_USAGE,
                       "--prompts %d: with %d samples each a step has more than %d", job->prompts,
                       job->samples, GROUPS_MOST);
    if (job->begun_frac < 1 || job->begun_frac > BEGUN_MOST || job->useful_frac < USEFUL_LEAST)
        return rh_fail(
            error, RH_ERROR_USAGE,
            "%s: a batch begins with 1 to %d times the prompts, and at least %g %% of them "
            "are useful",
            job->useful_frac < USEFUL_LEAST ? "--useful" : "--begin", BEGUN_MOST,
            100 * USEFUL_LEAST);
    if (job->sandboxes > 0 && job->reward_s <= 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "--sandboxes %d: rewards take no time\nhelp: --reward 2s", job->sandboxes);
    if (job->turns > 1 && job->begun_frac > 1)
        return rh_fail(error, RH_ERROR_USAGE,
                       "--begin: answers of several turns are not dropped in the middle\n"
                       "help: leave out --begin or --turns");
    if (job->turns == 1 && (job->tool_s > 0 || job->tool_tokens > 0))
        return rh_fail(error, RH_ERROR_USAGE,
                       "--tool-wait and --tool-tokens: an answer of one turn asks no tool\n"
                       "help: --turns 4");
    if (job->tool_tokens * (double)job->turns > TOKENS_MOST)
        return rh_fail(error, RH_ERROR_USAGE, "--tool-tokens: more than %d tokens in all turns",
                       TOKENS_MOST);
    if (job->minibatch > rh_rl_step_samples(job))
        return rh_fail(error, RH_ERROR_USAGE,
                       "--minibatch %d: a step has %" G_GINT64_FORMAT " samples\n"
                       "help: leave it out for one update a step",
                       job->minibatch, rh_rl_step_samples(job));
    return check_growth(a, error) &&
           (a->lengths ? read_lengths(a->lengths, job, error) : read_file(a, job, lengths, error));
}

static bool read_deployment(const RhArguments *a, RhRlPlanOptions *o, GError **error)
{
    o->given = rh_deployment_default();
    RhPool *pool = &o->given.pools[0];
    pool->tp = pool->pp = pool->ep = pool->dp = pool->replicas = 0;
    if (a->generate && !rh_deployment_parse(a->generate, &o->given, error)) {
        g_prefix_error(error, "--generate: ");
        return false;
    }
    if (o->given.pools_count > 1 || pool->replicas > 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "--generate %s: replicas follow from the GPUs, and answers are made in one "
                       "pool\nhelp: --generate server=sglang,tp4",
                       a->generate);
    return true;
}

bool rh_rl_words_search(const RhArguments *a, RhRlPlanOptions *o, GError **error)
{
    bool any = strcmp(a->placement, "any") == 0;
    o->only = any ? NULL : rh_rl_placement_by_name(a->placement);
    if (!any && !o->only)
        return rh_fail_unknown(error, "placement", a->placement, rh_rl_placement_names());
    o->transport = rh_weight_transport_by_name(a->transport);
    if (!o->transport || o->transport->shared)
        return rh_fail_unknown(error, "weight transport", a->transport,
                               rh_weight_transport_names());
    o->sent = a->sent ? rh_recipe_by_name(a->sent) : NULL;
    if (rh_arguments_given(a, "--changed") && o->transport != &rh_weight_transport_delta)
        return rh_fail(error, RH_ERROR_USAGE,
                       "--changed: --transport %s sends all weights\nhelp: --transport delta",
                       o->transport->name);
    o->changed_frac = a->changed_frac;
    o->ahead = a->ahead;
    if (o->ahead > AHEAD_MOST)
        return rh_fail(error, RH_ERROR_USAGE, "--ahead %g: at most %d steps", o->ahead, AHEAD_MOST);
    if (o->ahead > 0 && o->only && !o->only->streams)
        return rh_fail(error, RH_ERROR_USAGE,
                       "--ahead: it is of asynchronous placements, not of %s\n"
                       "help: --placement async",
                       o->only->name);
    if (a->begun_frac > 1 && o->only && o->only->streams)
        return rh_fail(error, RH_ERROR_USAGE,
                       "--begin: %s has no batches of which some answers could be dropped\n"
                       "help: --placement one-off",
                       o->only->name);
    if (a->restart_s > 0 && a->mtbf_s <= 0)
        return rh_fail(error, RH_ERROR_USAGE, "--restart: no server fails\nhelp: --mtbf 10h");
    o->train_gpus = (int32_t)a->train_gpus;
    o->pack_tokens = (int64_t)a->pack_tokens;
    o->layout = a->strategy;
    RhLayout words = rh_layout_default();
    if (o->layout && !rh_layout_parse(o->layout, &words, error)) {
        g_prefix_error(error, "-s: ");
        return false;
    }
    return read_deployment(a, o, error);
}
