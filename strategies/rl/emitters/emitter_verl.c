/* verl: words of its configuration that decide cost. Megatron trains where layers or experts are cut
 * or states are not wholly sharded, else FSDP2. */
#include <string.h>

#include "base/error.h"
#include "strategies/rl/emitters/emitters.h"

#define ACTOR    "actor_rollout_ref.actor."
#define MEGATRON ACTOR "megatron."
#define ROLLOUT  "actor_rollout_ref.rollout."

static void put_trainer(GString *out, const RhRlSetup *s)
{
    const RhLayout *l = s->layout;
    rh_rl_put_word(out, ACTOR "strategy", rh_rl_is_sharded(s->layout) ? "fsdp2" : "megatron");
    rh_rl_put_bool(out, ACTOR "use_dynamic_bsz", true);
    rh_rl_put(out, ACTOR "ppo_max_token_len_per_gpu", s->packed_tokens / MAX(l->cp, 1));
    if (rh_rl_is_sharded(s->layout)) {
        rh_rl_put(out, ACTOR "ulysses_sequence_parallel_size", l->cp);
        rh_rl_put_bool(out, ACTOR "fsdp_config.param_offload", s->placement->shares_gpus);
        rh_rl_put_bool(out, ACTOR "fsdp_config.optimizer_offload", s->placement->shares_gpus);
        return;
    }
    rh_rl_put(out, MEGATRON "tensor_model_parallel_size", l->tp);
    rh_rl_put(out, MEGATRON "pipeline_model_parallel_size", l->pp);
    if (l->vpp > 1)
        rh_rl_put(out, MEGATRON "virtual_pipeline_model_parallel_size", l->vpp);
    rh_rl_put(out, MEGATRON "context_parallel_size", l->cp);
    rh_rl_put(out, MEGATRON "expert_model_parallel_size", l->ep);
    rh_rl_put_bool(out, MEGATRON "use_distributed_optimizer", l->zero > 0);
    rh_rl_put_bool(out, MEGATRON "param_offload", s->placement->shares_gpus);
    rh_rl_put_bool(out, MEGATRON "optimizer_offload", s->placement->shares_gpus);
}

static void put_servers(GString *out, const RhRlSetup *s)
{
    const RhPool *pool = s->servers;
    rh_rl_put_word(out, ROLLOUT "name", s->server);
    rh_rl_put(out, ROLLOUT "tensor_model_parallel_size", pool->tp);
    rh_rl_put(out, ROLLOUT "pipeline_model_parallel_size", pool->pp);
    rh_rl_put(out, ROLLOUT "data_parallel_size", pool->dp);
    rh_rl_put(out, ROLLOUT "expert_parallel_size", pool->ep);
    if (pool->batch > 0)
        rh_rl_put(out, ROLLOUT "max_num_seqs", pool->batch);
    rh_rl_put_bool(out, ROLLOUT "enable_prefix_caching", true);
    if (s->job->served_log_probs)
        rh_rl_put_bool(out, ROLLOUT "calculate_log_probs", true);
}

static void put_nodes(GString *out, const RhRlSetup *s, const char *prefix, int32_t gpus)
{
    g_autofree char *nodes = g_strconcat(prefix, "nnodes", NULL),
                    *each = g_strconcat(prefix, "n_gpus_per_node", NULL);
    rh_rl_put(out, nodes, MAX(gpus / s->node_gpus, 1));
    rh_rl_put(out, each, MIN(gpus, s->node_gpus));
}

static void put_places(GString *out, const RhRlSetup *s)
{
    const RhRlJob *job = s->job;
    put_nodes(out, s, "trainer.", s->train_gpus);
    if (s->placement->shares_gpus)
        return;
    rh_rl_put_bool(out, "actor_rollout_ref.hybrid_engine", false);
    put_nodes(out, s, s->placement->streams ? "rollout." : ROLLOUT, s->server_gpus);
    if (!s->placement->streams)
        return;
    g_string_append_printf(out, "async_training.staleness_threshold=%g\n", s->ahead);
    rh_rl_put(out, "async_training.require_batches", 1);
    rh_rl_put(out, "async_training.trigger_parameter_sync_step", rh_rl_updates(job) / job->epochs);
    rh_rl_put_bool(out, "async_training.partial_rollout", true);
}

static const char *program_of(const RhRlPlacement *p)
{
    if (p->shares_gpus)
        return "verl.trainer.main_ppo";
    return p->streams ? "verl.experimental.fully_async_policy.fully_async_main"
                      : "verl.experimental.one_step_off_policy.main_ppo";
}

static char *words(const RhRlSetup *s, GError **error)
{
    const RhRlJob *job = s->job;
    if (s->placement->ahead_least == 0 && !s->placement->shares_gpus) {
        rh_fail(error, RH_ERROR_NO_ANSWER, "verl has no trainer and servers apart in turns");
        return NULL;
    }
    if (rh_rl_update_samples(job) % job->samples != 0) {
        rh_fail(error, RH_ERROR_NO_ANSWER, "verl's minibatches are of whole groups of %d samples",
                job->samples);
        return NULL;
    }
    if (!rh_rl_begins_no_more(s, "verl", error) || !rh_rl_splits_evenly(s, "verl", error))
        return NULL;
    const char *name = job->algorithm->name;
    const char *estimator =
        job->algorithm->trained > 1 ? "gae" : (strcmp(name, "rloo") == 0 ? "rloo" : "grpo");
    GString *out = g_string_new(NULL);
    g_string_append_printf(out, "# python3 -m %s\n", program_of(s->placement));
    rh_rl_put_word(out, "actor_rollout_ref.model.path", s->model);
    rh_rl_put_word(out, "algorithm.adv_estimator", estimator);
    rh_rl_put_bool(out, ACTOR "use_kl_loss", job->algorithm->reference && job->reference);
    rh_rl_put(out, "data.train_batch_size", s->placement->streams ? 0 : job->prompts);
    rh_rl_put(out, "data.max_prompt_length", s->longest_prompt);
    rh_rl_put(out, "data.max_response_length", s->longest_answer);
    rh_rl_put(out, ROLLOUT "n", job->samples);
    rh_rl_put(out, ACTOR "ppo_mini_batch_size", rh_rl_update_samples(job) / job->samples);
    rh_rl_put(out, ACTOR "ppo_epochs", job->epochs);
    if (job->useful_frac < 1)
        rh_rl_put_bool(out, "algorithm.filter_groups.enable", true);
    put_trainer(out, s);
    put_servers(out, s);
    put_places(out, s);
    return g_string_free(out, FALSE);
}

const RhRlEmitter rh_rl_emitter_verl = {
    .name = "verl",
    .checked = "read in November 2026 in verl's rollout.yaml, actor.yaml, megatron.yaml and the "
               "shells of one_step_off_policy and fully_async_policy; not run",
    .words = words};
