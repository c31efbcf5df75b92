/* AReaL: words of its configuration. Its bound of answers under way, consumer_batch_size x (max_head_offpolicyness + 1), is
 * the one of rl_step.h. */
#include "base/error.h"
#include "strategies/rl/emitters/emitters.h"

static void put_trainer(GString *out, const RhRlSetup *s)
{
    const RhLayout *l = s->layout;
    if (rh_rl_is_sharded(l))
        g_string_append_printf(out, "actor.backend=fsdp:d%dc%d\n", l->dp, l->cp);
    else
        g_string_append_printf(out, "actor.backend=megatron:d%dp%dt%dc%de%d\n", l->dp, l->pp, l->tp,
                               l->cp, l->ep);
    rh_rl_put(out, "actor.mb_spec.max_tokens_per_mb", s->packed_tokens);
    rh_rl_put(out, "actor.ppo_n_minibatches", rh_rl_updates(s->job));
    rh_rl_put_bool(out, "actor.gradient_checkpointing", l->recompute == RH_RECOMPUTE_FULL);
    rh_rl_put_bool(out, "actor.recompute_logprob", !s->job->served_log_probs);
    rh_rl_put_bool(out, "actor.use_decoupled_loss", !s->job->served_log_probs);
    bool reference = s->job->algorithm->reference && s->job->reference;
    rh_rl_put_word(out, "actor.kl_ctl", reference ? "0.1" : "0");
}

static void put_servers(GString *out, const RhRlSetup *s)
{
    const RhPool *pool = s->servers;
    bool sglang = g_str_has_prefix(s->server, "sglang");
    int32_t groups = (int32_t)(s->job->prompts * (s->ahead + 1));
    g_string_append_printf(out, "rollout.backend=%s:d%dt%dp%d\n", sglang ? "sglang" : "vllm",
                           pool->replicas, pool->tp, pool->pp);
    rh_rl_put(out, "rollout.consumer_batch_size", s->job->prompts);
    rh_rl_put(out, "rollout.max_concurrent_rollouts", groups);
    rh_rl_put(out, "rollout.max_head_offpolicyness", (int64_t)s->ahead);
    if (pool->batch > 0)
        rh_rl_put(out, sglang ? "sglang.max_running_requests" : "vllm.max_num_seqs", pool->batch);
    if (!sglang)
        rh_rl_put_bool(out, "vllm.no_enable_prefix_caching", false);
    rh_rl_put(out, sglang ? "sglang.context_length" : "vllm.max_model_len",
              s->longest_prompt + s->longest_answer);
}

static bool check(const RhRlSetup *s, GError **error)
{
    const RhRlJob *job = s->job;
    if (s->placement->shares_gpus)
        return rh_fail(error, RH_ERROR_NO_ANSWER,
                       "words of AReaL are for GPUs apart\nhelp: an asynchronous placement");
    if (job->algorithm->trained > 1 || job->epochs > 1)
        return rh_fail(
            error, RH_ERROR_NO_ANSWER,
            "words of AReaL are for a policy alone and one pass through a step's samples");
    if (s->servers->dp > 1 || s->servers->ep > 1)
        return rh_fail(error, RH_ERROR_NO_ANSWER,
                       "AReaL's servers are replicas of tensor and pipeline ranks\n"
                       "help: servers of dp 1 and ep 1");
    return rh_rl_begins_no_more(s, "AReaL", error) && rh_rl_ahead_is_whole(s, "AReaL", error) &&
           rh_rl_splits_evenly(s, "AReaL", error);
}

static char *words(const RhRlSetup *s, GError **error)
{
    if (!check(s, error))
        return NULL;
    const RhRlJob *job = s->job;
    int32_t gpus = s->train_gpus + s->server_gpus;
    GString *out = g_string_new("# python3 examples/math/gsm8k_rl.py --config "
                                "examples/math/gsm8k_grpo.yaml\n");
    rh_rl_put_word(out, "actor.path", s->model);
    rh_rl_put(out, "gconfig.n_samples", job->samples);
    rh_rl_put(out, "gconfig.max_new_tokens", s->longest_answer);
    rh_rl_put(out, "train_dataset.batch_size", job->prompts);
    rh_rl_put(out, "train_dataset.max_length", s->longest_prompt);
    put_trainer(out, s);
    put_servers(out, s);
    rh_rl_put(out, "cluster.n_nodes", rh_rl_nodes(s, gpus));
    rh_rl_put(out, "cluster.n_gpus_per_node", MIN(gpus, s->node_gpus));
    return g_string_free(out, FALSE);
}

const RhRlEmitter rh_rl_emitter_areal = {
    .name = "areal",
    .checked =
        "read in November 2026 in inclusionAI/AReaL 4aef98d8d (1.0.4), areal/api/cli_args.py, "
        "docs/en/reference/alloc_mode.md and examples/math/gsm8k_grpo.yaml; not run",
    .words = words};
