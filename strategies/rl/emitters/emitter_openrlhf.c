/* OpenRLHF: options of its train_ppo_ray. DeepSpeed trains, so layers and experts are not cut, and vLLM's engines have tensor
 * ranks alone. */
#include <string.h>

#include "base/error.h"
#include "strategies/rl/emitters/emitters.h"

static void option(GString *out, const char *key, int64_t value)
{
    g_string_append_printf(out, "--%s %" G_GINT64_FORMAT "\n", key, value);
}

static void flag(GString *out, const char *key, bool is_set)
{
    if (is_set)
        g_string_append_printf(out, "--%s\n", key);
}

static const char *estimator_of(const RhRlAlgorithm *algorithm)
{
    if (algorithm->trained > 1)
        return "gae";
    return strcmp(algorithm->name, "rloo") == 0 ? "rloo" : "group_norm";
}

static void put_trainer(GString *out, const RhRlSetup *s)
{
    const RhLayout *l = s->layout;
    option(out, "actor.num_nodes", rh_rl_nodes(s, s->train_gpus));
    option(out, "actor.num_gpus_per_node", MIN(s->train_gpus, s->node_gpus));
    option(out, "ds.zero_stage", l->zero);
    option(out, "ds.tensor_parallel_size", l->tp);
    option(out, "ds.ring_attn_size", l->cp);
    flag(out, "actor.gradient_checkpointing_enable", l->recompute == RH_RECOMPUTE_FULL);
    flag(out, "ds.packing_samples", true);
    flag(out, "train.dynamic_batch_enable", true);
    option(out, "train.max_tokens_per_gpu", s->packed_tokens / MAX(l->cp, 1));
    option(out, "train.batch_size", rh_rl_update_samples(s->job));
    option(out, "train.max_epochs", s->job->epochs);
    if (!s->job->algorithm->reference || !s->job->reference)
        option(out, "algo.kl.init_coef", 0);
    else
        flag(out, "train.colocate_actor_ref", !s->placement->shares_gpus);
}

static void put_servers(GString *out, const RhRlSetup *s)
{
    const RhPool *pool = s->servers;
    bool shares = s->placement->shares_gpus;
    option(out, "vllm.num_engines", pool->replicas);
    option(out, "vllm.tensor_parallel_size", pool->tp);
    flag(out, "vllm.enable_prefix_caching", true);
    if (pool->memory > 0)
        g_string_append_printf(out, "--vllm.gpu_memory_utilization %g\n", pool->memory / 100.0);
    flag(out, "train.colocate_all", shares);
    flag(out, "vllm.enable_sleep", shares);
    flag(out, "ds.enable_sleep", shares);
    flag(out, "train.async_enable", s->ahead > 0);
    if (s->ahead > 0)
        option(out, "train.async_queue_size", (int64_t)s->ahead);
    flag(out, "train.partial_rollout_enable", s->placement->streams);
}

static bool check(const RhRlSetup *s, GError **error)
{
    const RhLayout *l = s->layout;
    const RhPool *pool = s->servers;
    if (l->pp > 1 || l->ep > 1)
        return rh_fail(error, RH_ERROR_NO_ANSWER,
                       "OpenRLHF trains by DeepSpeed, which cuts no layers or experts here\n"
                       "help: a layout of pp 1 and ep 1, as zero3");
    if (pool->pp > 1 || pool->dp > 1 || pool->ep > 1)
        return rh_fail(
            error, RH_ERROR_NO_ANSWER,
            "OpenRLHF's engines have tensor ranks alone\nhelp: servers of pp 1, dp 1 and ep 1");
    if (s->job->served_log_probs)
        return rh_fail(error, RH_ERROR_NO_ANSWER,
                       "OpenRLHF computes old log-probabilities by the trainer\n"
                       "help: those of the trainer");
    return rh_rl_begins_no_more(s, "OpenRLHF", error) &&
           rh_rl_ahead_is_whole(s, "OpenRLHF", error) && rh_rl_splits_evenly(s, "OpenRLHF", error);
}

static char *words(const RhRlSetup *s, GError **error)
{
    if (!check(s, error))
        return NULL;
    const RhRlJob *job = s->job;
    GString *out = g_string_new("# python3 -m openrlhf.cli.train_ppo_ray\n");
    g_string_append_printf(out, "--actor.model_name_or_path %s\n--algo.advantage.estimator %s\n",
                           s->model, estimator_of(job->algorithm));
    option(out, "rollout.batch_size", job->prompts);
    option(out, "rollout.n_samples_per_prompt", job->samples);
    option(out, "rollout.max_new_tokens", s->longest_answer);
    option(out, "data.max_len", s->longest_prompt + s->longest_answer);
    flag(out, "algo.dynamic_filtering_enable", job->useful_frac < 1);
    put_trainer(out, s);
    put_servers(out, s);
    return g_string_free(out, FALSE);
}

const RhRlEmitter rh_rl_emitter_openrlhf = {
    .name = "openrlhf",
    .checked =
        "read in November 2026 in OpenRLHF/OpenRLHF 3c3be623 (0.11.0), openrlhf/cli/train_ppo_ray.py; not run",
    .words = words};
