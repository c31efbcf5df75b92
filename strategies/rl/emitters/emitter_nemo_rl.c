/* NeMo-RL: words that override its configuration on the command line. Megatron Core trains where layers or experts are cut
 * or states are not wholly sharded, else its DTensor backend. */
#include <string.h>

#include "base/error.h"
#include "strategies/rl/emitters/emitters.h"

#define POLICY   "policy."
#define MEGATRON POLICY "megatron_cfg."
#define DTENSOR  POLICY "dtensor_cfg."
#define SERVERS  POLICY "generation."

static void put_megatron(GString *out, const RhLayout *l)
{
    rh_rl_put(out, MEGATRON "tensor_model_parallel_size", l->tp);
    rh_rl_put(out, MEGATRON "pipeline_model_parallel_size", l->pp);
    rh_rl_put(out, MEGATRON "context_parallel_size", l->cp);
    rh_rl_put(out, MEGATRON "expert_model_parallel_size", l->ep);
    rh_rl_put_bool(out, MEGATRON "sequence_parallel", l->tp > 1 && l->sequence_parallel);
    rh_rl_put_bool(out, MEGATRON "activation_checkpointing", l->recompute == RH_RECOMPUTE_FULL);
    rh_rl_put_bool(out, MEGATRON "optimizer.use_distributed_optimizer", l->zero > 0);
}

static void put_trainer(GString *out, const RhRlSetup *s)
{
    const RhLayout *l = s->layout;
    bool sharded = rh_rl_is_sharded(l);
    rh_rl_put(out, POLICY "train_global_batch_size", rh_rl_update_samples(s->job));
    rh_rl_put(out, POLICY "train_micro_batch_size", 1);
    rh_rl_put(out, POLICY "max_total_sequence_length", s->longest_prompt + s->longest_answer);
    rh_rl_put_bool(out, POLICY "sequence_packing.enabled", true);
    rh_rl_put(out, POLICY "sequence_packing.train_mb_tokens", s->packed_tokens);
    rh_rl_put_bool(out, MEGATRON "enabled", !sharded);
    rh_rl_put_bool(out, DTENSOR "enabled", sharded);
    if (!sharded) {
        put_megatron(out, l);
        return;
    }
    rh_rl_put(out, DTENSOR "context_parallel_size", l->cp);
    rh_rl_put_bool(out, DTENSOR "activation_checkpointing", l->recompute == RH_RECOMPUTE_FULL);
}

static void put_servers(GString *out, const RhRlSetup *s)
{
    const RhPool *pool = s->servers;
    bool shares = s->placement->shares_gpus;
    rh_rl_put_word(out, SERVERS "backend", s->server);
    rh_rl_put(out, SERVERS "max_new_tokens", s->longest_answer);
    rh_rl_put(out, SERVERS "vllm_cfg.tensor_parallel_size", pool->tp);
    rh_rl_put(out, SERVERS "vllm_cfg.pipeline_parallel_size", pool->pp);
    rh_rl_put(out, SERVERS "vllm_cfg.expert_parallel_size", pool->ep);
    rh_rl_put_bool(out, SERVERS "vllm_cfg.async_engine", s->ahead > 0);
    if (pool->memory > 0)
        g_string_append_printf(out, SERVERS "vllm_cfg.gpu_memory_utilization=%g\n",
                               pool->memory / 100.0);
    if (pool->batch > 0)
        rh_rl_put(out, "++" SERVERS "vllm_kwargs.max_num_seqs", pool->batch);
    rh_rl_put_bool(out, SERVERS "colocated.enabled", shares);
    if (shares)
        return;
    rh_rl_put(out, SERVERS "colocated.resources.num_nodes", rh_rl_nodes(s, s->server_gpus));
    rh_rl_put(out, SERVERS "colocated.resources.gpus_per_node", MIN(s->server_gpus, s->node_gpus));
}

static void put_algorithm(GString *out, const RhRlSetup *s)
{
    const RhRlJob *job = s->job;
    bool reference = job->algorithm->reference && job->reference;
    rh_rl_put(out, "grpo.num_prompts_per_step", job->prompts);
    rh_rl_put(out, "grpo.num_generations_per_prompt", job->samples);
    rh_rl_put_bool(out, "grpo.use_leave_one_out_baseline",
                   strcmp(job->algorithm->name, "rloo") == 0);
    rh_rl_put_bool(out, "grpo.use_dynamic_sampling", job->useful_frac < 1);
    if (!reference) {
        rh_rl_put(out, "loss_fn.reference_policy_kl_penalty", 0);
        rh_rl_put_bool(out, "++grpo.skip_reference_policy_logprobs_calculation", true);
    }
    rh_rl_put_bool(out, "loss_fn.force_on_policy_ratio", job->served_log_probs);
    if (s->ahead <= 0)
        return;
    rh_rl_put_bool(out, "loss_fn.use_importance_sampling_correction", true);
    rh_rl_put_bool(out, "grpo.async_grpo.enabled", true);
    rh_rl_put(out, "grpo.async_grpo.max_trajectory_age_steps", (int64_t)s->ahead);
    rh_rl_put_bool(out, "grpo.async_grpo.in_flight_weight_updates", s->placement->streams);
}

static bool check(const RhRlSetup *s, GError **error)
{
    const RhRlJob *job = s->job;
    if (job->algorithm->trained > 1)
        return rh_fail(error, RH_ERROR_NO_ANSWER,
                       "words of NeMo-RL are those of its GRPO, which trains no critic");
    if (job->epochs > 1)
        return rh_fail(error, RH_ERROR_NO_ANSWER, "NeMo-RL goes once through a step's samples");
    if (job->served_log_probs && rh_rl_updates(job) > 1)
        return rh_fail(error, RH_ERROR_NO_ANSWER,
                       "NeMo-RL leaves out old log-probabilities in steps of one update alone\n"
                       "help: one update a step");
    return rh_rl_begins_no_more(s, "NeMo-RL", error) && rh_rl_ahead_is_whole(s, "NeMo-RL", error) &&
           rh_rl_splits_evenly(s, "NeMo-RL", error);
}

static char *words(const RhRlSetup *s, GError **error)
{
    if (!check(s, error))
        return NULL;
    int32_t gpus = s->placement->shares_gpus ? s->train_gpus : s->train_gpus + s->server_gpus;
    GString *out = g_string_new("# uv run examples/run_grpo.py --config "
                                "examples/configs/grpo_math_1B_megatron.yaml\n");
    rh_rl_put_word(out, POLICY "model_name", s->model);
    put_algorithm(out, s);
    put_trainer(out, s);
    put_servers(out, s);
    rh_rl_put(out, "cluster.num_nodes", rh_rl_nodes(s, gpus));
    rh_rl_put(out, "cluster.gpus_per_node", MIN(gpus, s->node_gpus));
    return g_string_free(out, FALSE);
}

const RhRlEmitter rh_rl_emitter_nemo_rl = {
    .name = "nemo-rl",
    .checked =
        "read in November 2026 in NVIDIA-NeMo/RL 7ea279abf, examples/configs/grpo_math_1B.yaml, recipes of "
        "its folder performance and docs/guides/async-grpo.md and dapo.md; not run",
    .words = words};
