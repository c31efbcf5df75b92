/* verl: words of its configuration that decide cost. Megatron trains where layers or experts are cut
 * or states are not wholly sharded, else FSDP2. */
#include <string.h>

#include "base/error.h"
#include "strategies/rl/emitters/emitters.h"

#define ACTOR    "actor_rollout_ref.actor."
#define MEGATRON ACTOR "megatron."
#define ROLLOUT  "actor_rollout_ref.rollout."

static void put(GString *out, const char *key, int64_t value)
{
    g_string_append_printf(out, "%s=%" G_GINT64_FORMAT "\n", key, value);
}

static void put_word(GString *out, const char *key, const char *value)
{
    g_string_append_printf(out, "%s=%s\n", key, value);
}

static void put_bool(GString *out, const char *key, bool value)
{
    put_word(out, key, value ? "True" : "False");
}

static bool is_fsdp(const RhRlSetup *s)
{
    const RhLayout *l = s->layout;
    return l->zero == 3 && l->tp == 1 && l->pp == 1 && l->ep == 1;
}

static void put_trainer(GString *out, const RhRlSetup *s)
{
    const RhLayout *l = s->layout;
    put_word(out, ACTOR "strategy", is_fsdp(s) ? "fsdp2" : "megatron");
    put_bool(out, ACTOR "use_dynamic_bsz", true);
    put(out, ACTOR "ppo_max_token_len_per_gpu", s->packed_tokens / MAX(l->cp, 1));
    if (is_fsdp(s)) {
        put(out, ACTOR "ulysses_sequence_parallel_size", l->cp);
        put_bool(out, ACTOR "fsdp_config.param_offload", s->placement->shares_gpus);
        put_bool(out, ACTOR "fsdp_config.optimizer_offload", s->placement->shares_gpus);
        return;
    }
    put(out, MEGATRON "tensor_model_parallel_size", l->tp);
    put(out, MEGATRON "pipeline_model_parallel_size", l->pp);
    if (l->vpp > 1)
        put(out, MEGATRON "virtual_pipeline_model_parallel_size", l->vpp);
    put(out, MEGATRON "context_parallel_size", l->cp);
    put(out, MEGATRON "expert_model_parallel_size", l->ep);
    put_bool(out, MEGATRON "use_distributed_optimizer", l->zero > 0);
    put_bool(out, MEGATRON "param_offload", s->placement->shares_gpus);
    put_bool(out, MEGATRON "optimizer_offload", s->placement->shares_gpus);
}

static void put_servers(GString *out, const RhRlSetup *s)
{
    const RhPool *pool = s->servers;
    put_word(out, ROLLOUT "name", s->server);
    put(out, ROLLOUT "tensor_model_parallel_size", pool->tp);
    put(out, ROLLOUT "pipeline_model_parallel_size", pool->pp);
    put(out, ROLLOUT "data_parallel_size", pool->dp);
    put(out, ROLLOUT "expert_parallel_size", pool->ep);
    if (pool->batch > 0)
        put(out, ROLLOUT "max_num_seqs", pool->batch);
    put_bool(out, ROLLOUT "enable_prefix_caching", true);
    if (s->job->served_log_probs)
        put_bool(out, ROLLOUT "calculate_log_probs", true);
}

static void put_nodes(GString *out, const RhRlSetup *s, const char *prefix, int32_t gpus)
{
    g_autofree char *nodes = g_strconcat(prefix, "nnodes", NULL),
                    *each = g_strconcat(prefix, "n_gpus_per_node", NULL);
    put(out, nodes, MAX(gpus / s->node_gpus, 1));
    put(out, each, MIN(gpus, s->node_gpus));
}

static void put_places(GString *out, const RhRlSetup *s)
{
    const RhRlJob *job = s->job;
    put_nodes(out, s, "trainer.", s->train_gpus);
    if (s->placement->shares_gpus)
        return;
    put_bool(out, "actor_rollout_ref.hybrid_engine", false);
    put_nodes(out, s, s->placement->streams ? "rollout." : ROLLOUT, s->server_gpus);
    if (!s->placement->streams)
        return;
    g_string_append_printf(out, "async_training.staleness_threshold=%g\n", s->ahead);
    put(out, "async_training.require_batches", 1);
    put(out, "async_training.trigger_parameter_sync_step", rh_rl_updates(job) / job->epochs);
    put_bool(out, "async_training.partial_rollout", true);
}

static const char *program_of(const RhRlPlacement *p)
{
    if (p->shares_gpus)
        return "verl.trainer.main_ppo";
    return p->streams ? "verl.experimental.fully_async_policy.fully_async_main"
                      : "verl.experimental.one_step_off_policy.main_ppo";
}

static bool check_split(const RhRlSetup *s, GError **error)
{
    int32_t node = s->node_gpus, whole = MAX(s->train_gpus / node, 1) * node;
    if (s->placement->shares_gpus ||
        (rh_rl_nodes_even(s->train_gpus, node) && rh_rl_nodes_even(s->server_gpus, node)))
        return true;
    return rh_fail(error, RH_ERROR_NO_ANSWER,
                   "verl takes as many GPUs of every node, and of %d and %d some nodes of %d GPUs "
                   "would have fewer\nhelp: %d GPUs that train",
                   s->train_gpus, s->server_gpus, node, whole);
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
    if (!check_split(s, error))
        return NULL;
    const char *estimator = strcmp(job->algorithm->name, "ppo") == 0 ? "gae" : job->algorithm->name;
    GString *out = g_string_new(NULL);
    g_string_append_printf(out, "# python3 -m %s\n", program_of(s->placement));
    put_word(out, "actor_rollout_ref.model.path", s->model);
    put_word(out, "algorithm.adv_estimator", estimator);
    put_bool(out, ACTOR "use_kl_loss", job->algorithm->reference && job->reference);
    put(out, "data.train_batch_size", s->placement->streams ? 0 : job->prompts);
    put(out, "data.max_prompt_length", s->longest_prompt);
    put(out, "data.max_response_length", s->longest_answer);
    put(out, ROLLOUT "n", job->samples);
    put(out, ACTOR "ppo_mini_batch_size", rh_rl_update_samples(job) / job->samples);
    put(out, ACTOR "ppo_epochs", job->epochs);
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
