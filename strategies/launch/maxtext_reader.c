/* Reads MaxText's settings. Names are those of v0.2.4, as in what is written (maxtext.c), and of
 * releases before it. */
#include <string.h>

#include "strategies/launch/readers.h"

/* Ranks along each axis of the mesh, inside a slice and among slices; -1 is the rest. */
enum {
    JOB_ICI = RH_JOB_FIELD_OWN, /* by Axis */
    JOB_DCN = JOB_ICI + 8,
    JOB_REPEATS = JOB_DCN + 8, /* of a pipeline */
    JOB_STAGE_MICROBATCHES,
    JOB_STAGE_LAYERS,
    JOB_SHARED,
    JOB_ULYSSES, /* 1: ulysses, 2: all gather, 3: ring */
};
typedef enum {
    AXIS_DATA,
    AXIS_STAGE,
    AXIS_FSDP,
    AXIS_SEQUENCE,
    AXIS_CONTEXT,
    AXIS_TENSOR,
    AXIS_EXPERT,
    AXIS_LAST
} Axis;

#define AXIS(axis, text)                                                                           \
    {.name = "ici_" text "_parallelism", .job = JOB_ICI + (axis)},                                 \
    {                                                                                              \
        .name = "dcn_" text "_parallelism", .job = JOB_DCN + (axis)                                \
    }

/* Keeps the batch of a device, which may be a fraction. */
static void read_device_batch(RhLaunchReading *r, const char *text)
{
    g_free(r->texts[0]);
    r->texts[0] = g_strdup(text);
}

static void read_policy(RhLaunchReading *r, const char *text)
{
    static const struct {
        const char *policy;
        uint32_t modules;
    } policies[] = {
        {"none", RH_RECOMPUTE_NONE},
        {"full", RH_RECOMPUTE_FULL},
        {"minimal_with_context", RH_RECOMPUTE_NORM},
        {"minimal_flash", RH_RECOMPUTE_NORM},
        {"minimal", RH_RECOMPUTE_NORM | RH_RECOMPUTE_CORE},
        {"save_dot_with_context_except_mlp", RH_RECOMPUTE_NORM | RH_RECOMPUTE_FFN},
        {"save_dot_except_mlp", RH_RECOMPUTE_NORM | RH_RECOMPUTE_CORE | RH_RECOMPUTE_FFN},
        {"save_dot_except_mlpwi", RH_RECOMPUTE_NORM | RH_RECOMPUTE_CORE | RH_RECOMPUTE_FFN}};
    for (size_t i = 0; i < G_N_ELEMENTS(policies); i++)
        if (strcmp(policies[i].policy, text) == 0) {
            r->layout.recompute = (RhRecompute)policies[i].modules;
            r->given |= RH_KNOB_BIT(recompute);
            return;
        }
    r->layout.recompute = RH_RECOMPUTE_FULL;
    r->given |= RH_KNOB_BIT(recompute);
    rh_launch_tell(r, "remat_policy %s is simulated as full", text);
}

static void read_context(RhLaunchReading *r, const char *text)
{
    r->job[JOB_ULYSSES] = strcmp(text, "ulysses") == 0 ? 1 : strcmp(text, "ring") == 0 ? 3 : 2;
}

static void read_quantization(RhLaunchReading *r, const char *text)
{
    static const char *const names[][2] = {{"te_fp8_delayedscaling", "fp8"},
                                           {"te_fp8_currentscaling", "fp8-current"},
                                           {"te_mxfp8", "mxfp8"},
                                           {"te_nvfp4", "nvfp4"},
                                           {"fp8", "fp8-current"},
                                           {"nanoo_fp8", "fp8-current"},
                                           {"fp8_full", "fp8-current"}};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        if (strcmp(names[i][0], text) == 0)
            r->dtype = names[i][1];
    if (!r->dtype && *text)
        rh_launch_tell(r, "the format %s is simulated as bf16", text);
}

static void read_gradients(RhLaunchReading *r, const char *text)
{
    if (strcmp(text, "bfloat16") == 0)
        g_ptr_array_add(r->sets, g_strdup("gradients=bf16"));
}

static void read_model(RhLaunchReading *r, const char *text)
{
    g_free(r->texts[1]);
    r->texts[1] = g_strdup(text);
}

static void read_capacity(RhLaunchReading *r, const char *text)
{
    if (g_ascii_strtod(text, NULL) > 0)
        g_ptr_array_add(r->sets, g_strdup_printf("experts_capacity=%s", text));
}

static void read_block(RhLaunchReading *r, const char *text)
{
    bool gpt = strcmp(text, "gpt3") == 0;
    r->sizes[RH_SIZE_RMS] = !gpt;
    r->sizes[RH_SIZE_GATED] = !gpt;
    r->sizes[RH_SIZE_ROTARY] = !gpt;
}

static void read_scale(RhLaunchReading *r, const char *text)
{
    if (strcmp(text, "1") != 0)
        rh_launch_tell(r, "global_parameter_scale %s makes the model larger: say it with -w", text);
}

static void read_tied(RhLaunchReading *r, const char *text)
{
    r->sizes[RH_SIZE_TIED] = rh_launch_read_switch(text);
}

/* Ranks along an axis; the rest of the GPUs is 0 until all others are known. */
static int64_t degree_of(const RhLaunchReading *r, int axis)
{
    int64_t inside = r->job[JOB_ICI + axis], among = r->job[JOB_DCN + axis];
    return rh_launch_times(MAX(inside, 1), MAX(among, 1));
}

static void take_mesh(RhLaunchReading *r)
{
    int64_t tensor = degree_of(r, AXIS_TENSOR), stages = degree_of(r, AXIS_STAGE);
    int64_t context = rh_launch_times(degree_of(r, AXIS_CONTEXT), degree_of(r, AXIS_SEQUENCE));
    int64_t expert = degree_of(r, AXIS_EXPERT), fsdp = degree_of(r, AXIS_FSDP);
    int64_t data = degree_of(r, AXIS_DATA);
    bool rest = r->job[JOB_ICI + AXIS_FSDP] == -1; /* where nothing is said, too */
    rh_launch_store(r, RH_ROW_KNOB(tp), tensor);
    rh_launch_store(r, RH_ROW_KNOB(pp), stages);
    rh_launch_store(r, RH_ROW_KNOB(cp), context);
    rh_launch_store(r, RH_ROW_KNOB(ep), expert);
    bool shares = fsdp > 1 || rest || context > 1 || expert > 1;
    rh_launch_store(r, RH_ROW_KNOB(zero), shares ? 3 : r->job[JOB_SHARED] == 1 ? 1 : 0);
    if (shares && !rest && data > 1)
        rh_launch_store(r, RH_ROW_KNOB(shard),
                        rh_launch_times(fsdp, rh_launch_times(context, expert)));
    bool auto_data = r->job[JOB_DCN + AXIS_DATA] == -1;
    if (!rest && !auto_data && r->job[RH_JOB_FIELD_GPUS] < 0)
        r->job[RH_JOB_FIELD_GPUS] = rh_launch_times(
            rh_launch_times(rh_launch_times(tensor, stages), rh_launch_times(context, expert)),
            rh_launch_times(fsdp, data));
    if (context > 1)
        rh_launch_store(r, RH_ROW_KNOB(kv),
                        r->job[JOB_ULYSSES] == 3 || r->job[JOB_ULYSSES] == 1 ? RH_CONTEXT_RING
                                                                             : RH_CONTEXT_GATHER);
    if (context > 1 && r->job[JOB_ULYSSES] == 1)
        rh_launch_store(r, RH_ROW_KNOB(ulysses), context);
}

/* Works out batches: a device's share of the samples of a micro-step. */
static void take_batches(RhLaunchReading *r)
{
    double said = r->texts[0] ? g_ascii_strtod(r->texts[0], NULL) : 1;
    double each = said > 0 && said < 1e6 ? said : 1;
    RhLayout *l = &r->layout;
    int64_t ranks = MAX(rh_launch_times(rh_launch_times(l->tp, l->pp), l->cp), 1),
            accumulation = MAX(r->job[RH_JOB_FIELD_ACCUMULATION], 1);
    int64_t samples = (int64_t)(each * (double)ranks + 1e-9); /* of a replica */
    int64_t gpus = r->job[RH_JOB_FIELD_GPUS];
    int64_t all = gpus > 0 ? (int64_t)((double)gpus * each + 1e-9) : 0;
    if (gpus > 0 && gpus / ranks > 0)
        samples = all / (gpus / ranks);
    if (l->pp > 1) {
        int64_t rounds = MAX(r->job[JOB_STAGE_MICROBATCHES], l->pp);
        rh_launch_store(r, RH_ROW_KNOB(microbatch), MAX(samples / rounds, 1));
        r->job[RH_JOB_FIELD_ACCUMULATION] = rounds;
        rh_launch_store(r, RH_ROW_KNOB(schedule), RH_PIPELINE_GPIPE);
    } else {
        rh_launch_store(r, RH_ROW_KNOB(microbatch), MAX(samples, 1));
        r->job[RH_JOB_FIELD_ACCUMULATION] = accumulation;
    }
    if (samples < 1)
        rh_launch_tell(r, "less than a sample for each replica is simulated as one");
}

/* Names of models, by their names in the catalogue. */
static void take_model(RhLaunchReading *r)
{
    static const char *const names[][2] = {{"llama2-", "llama-2-"},
                                           {"llama3.1-", "llama-3.1-"},
                                           {"llama3-", "llama-3.1-"},
                                           {"llama3.2-", "llama-3.2-"},
                                           {"llama3.3-", "llama-3.1-"},
                                           {"gemma2-", "gemma-2-"},
                                           {"gemma3-", "gemma-3-"},
                                           {"mistral-", "mistral-"},
                                           {"mixtral-", "mixtral-"},
                                           {"deepseek3-671b", "deepseek-v3"},
                                           {"deepseek2-16b", "deepseek-v2-lite"},
                                           {"deepseek2-236b", "deepseek-v2"},
                                           {"qwen3-", "qwen3-"},
                                           {"qwen2.5-", "qwen2.5-"},
                                           {"gpt-oss-", "gpt-oss-"},
                                           {"gpt3-175b", "gpt3-175b"}};
    const char *said = r->texts[1];
    if (!said || strcmp(said, "default") == 0)
        return;
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        if (g_str_has_prefix(said, names[i][0])) {
            const char *rest = said + strlen(names[i][0]);
            r->model = g_strconcat(names[i][1], rest, NULL);
            return;
        }
    r->model = g_strdup(said);
}

static void finish(RhLaunchReading *r)
{
    if (!r->dtype)
        r->dtype = "bf16";
    if (r->job[RH_JOB_FIELD_SEQUENCE] < 0) { /* base.yml */
        r->job[RH_JOB_FIELD_SEQUENCE] = 2048;
        rh_launch_tell(r, "no max_target_length is said: 2048, as in MaxText's base.yml");
    }
    take_mesh(r);
    take_batches(r);
    take_model(r);
    if (r->sizes[RH_SIZE_EXPERTS] > 1 && r->sizes[RH_SIZE_EXPERT_FFN] < 0)
        r->sizes[RH_SIZE_EXPERT_FFN] = r->sizes[RH_SIZE_FFN];
    if (r->sizes[RH_SIZE_EXPERTS] == 1)
        r->sizes[RH_SIZE_EXPERTS] = -1;
}

static const RhLaunchRow rows[] = {
    AXIS(AXIS_DATA, "data"),
    AXIS(AXIS_STAGE, "pipeline"),
    AXIS(AXIS_FSDP, "fsdp"),
    AXIS(AXIS_SEQUENCE, "sequence"),
    AXIS(AXIS_CONTEXT, "context"),
    AXIS(AXIS_TENSOR, "tensor"),
    AXIS(AXIS_TENSOR, "tensor_sequence"),
    AXIS(AXIS_EXPERT, "expert"),
    {.name = "per_device_batch_size", .read = read_device_batch},
    {.name = "gradient_accumulation_steps", .job = RH_JOB_FIELD_ACCUMULATION},
    {.name = "num_pipeline_microbatches", .job = JOB_STAGE_MICROBATCHES},
    {.name = "num_layers_per_pipeline_stage", .job = JOB_STAGE_LAYERS},
    {.name = "num_pipeline_repeats", .job = JOB_REPEATS},
    {.name = "max_target_length", .job = RH_JOB_FIELD_SEQUENCE},
    {.name = "shard_optimizer_over_data", .job = JOB_SHARED, .on = 1},
    {.name = "remat_policy", .read = read_policy},
    {.name = "context_parallel_strategy", .read = read_context},
    {.name = "quantization", .read = read_quantization},
    {.name = "grad_dtype", .read = read_gradients},
    {.name = "model_name", .read = read_model},
    {.name = "global_parameter_scale", .read = read_scale},
    {.name = "capacity_factor", .read = read_capacity},
    {.name = "decoder_block", .read = read_block},
    {.name = "base_emb_dim", .size = RH_SIZE_HIDDEN},
    {.name = "base_num_query_heads", .size = RH_SIZE_HEADS},
    {.name = "base_num_kv_heads", .size = RH_SIZE_GROUPS},
    {.name = "base_mlp_dim", .size = RH_SIZE_FFN},
    {.name = "base_moe_mlp_dim", .size = RH_SIZE_EXPERT_FFN},
    {.name = "base_num_decoder_layers", .size = RH_SIZE_LAYERS},
    {.name = "head_dim", .size = RH_SIZE_HEAD},
    {.name = "vocab_size", .size = RH_SIZE_VOCAB},
    {.name = "num_experts", .size = RH_SIZE_EXPERTS},
    {.name = "num_experts_per_tok", .size = RH_SIZE_ASKED},
    {.name = "use_qk_norm", .size = RH_SIZE_QK_NORM, .on = 1},
    {.name = "attention_bias", .size = RH_SIZE_QKV_BIASED, .on = 1},
    {.name = "logits_via_embedding", .read = read_tied},
    {.name = "opt_type", .read = rh_launch_read_optimizer},
};

/* Patterns of settings that change neither time nor memory of a step. */
static const char costless[] =
    "run_name|base_output_directory|base_config|steps|learning_rate*|warmup_*|adam_*|"
    "dataset_*|hf_*|tokenizer_*|tfds_*|grain_*|enable_checkpointing|async_checkpointing|"
    "checkpoint_*|load_*|save_*|gcs_*|metrics_*|log_*|enable_tensorboard|tensorboard_*|vertex_*|"
    "use_vertex_*|enable_goodput*|monitor_*|profile*|skip_first_n_*|upload_all_*|jax_cache_dir|"
    "hardware|enable_single_controller|attention=autoselected/flash/cudnn_flash_te/cudnn_flash_jax|"
    "attention_type=global/mla|packing|dtype=bfloat16|weight_dtype=float32|"
    "scan_layers|rope_*|normalization_layer_epsilon|enable_dropout=false|eval_*|init_*|data_*|per_*_seed|"
    "reuse_example_batch|enable_data_shuffling|shard_mode|allow_split_physical_axes|mesh_axes|"
    "logical_axis_rules|compile_*|compiled_*|dump_*|stack_trace_*|collect_stack_trace|"
    "gradient_clipping_threshold|cosine_*|megablox=true|sparse_matmul=true|sa_*|enable_jax_profiler|"
    "mlp_activations|use_iota_embed|local_checkpoint_*|max_prefill_*|model_call_mode|"
    "use_replicator_service|normalize_embedding_logits|logits_dot_in_fp32=false|z_loss_*|record_*|"
    "trainable_position_size|use_untrainable_*|num_slices|optimizer_memory_host_offload=false|mu_dtype=float32|"
    "use_tokamax_*=false|context_parallel_load_balance=true|custom_mesh|shardy|use_ring_*=false|"
    "packing*|"
    "base_config.*|dropout_rate=0/0.0|force_unroll=false|remat_policy_for_vit|target_eval_loss|"
    "expansion_factor_*|load_balance_loss_weight|matmul_precision=default|activations_in_float32=false|"
    "inference_*|prefill_*|decode_*|autoregressive_*|quantize_kvcache|kv_quant_*|ar_cache_*|"
    "cast_logits_to_fp32=true|float32_*=false|fused_*=false|use_*_embedding*|"
    "source_checkpoint*";

const RhFramework rh_framework_maxtext_read = {.name = "maxtext",
                                               .title = "MaxText",
                                               .rows = rows,
                                               .rows_count = G_N_ELEMENTS(rows),
                                               .usual = "sp=on,recompute=full",
                                               .costless = costless,
                                               .finish = finish};
