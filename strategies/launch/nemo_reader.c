/* Reads NeMo's and Megatron-Bridge's settings: those of Megatron-LM by other names, in groups as
 * "model.tensor_model_parallel_size". What is not here is looked up among Megatron-LM's rows by its
 * last part. */
#include <string.h>

#include "strategies/launch/megatron.h"
#include "strategies/launch/readers.h"

/* Figures that these alone have, behind those of Megatron-LM (megatron_precision_flags.c). */
enum {
    JOB_OFFLOADS = RH_JOB_FIELD_OWN + 18, /* 1: activations of some layers go to the host */
    JOB_OFFLOADED,                        /* so many */
};

static void read_precision(RhLaunchReading *r, const char *text)
{
    rh_megatron_read_fp16(r, strstr(text, "16") && !strstr(text, "bf16") ? "true" : "false");
    rh_megatron_read_bf16(r, strstr(text, "bf16") ? "true" : "false");
    if (strstr(text, "fp8") || strstr(text, "mxfp8"))
        rh_megatron_read_fp8_format(r, "hybrid");
    if (strstr(text, "mxfp8"))
        rh_megatron_read_fp8_recipe(r, "mxfp8");
    else if (strstr(text, "current"))
        rh_megatron_read_fp8_recipe(r, "tensorwise");
    else if (strstr(text, "subchannel"))
        rh_megatron_read_fp8_recipe(r, "blockwise");
}

/* Reads the optimizer, whose distributed kinds share out its states. */
static void read_optimizer(RhLaunchReading *r, const char *text)
{
    if (strstr(text, "distributed") || strstr(text, "mcore"))
        rh_megatron_read_shared(r, "true");
    rh_launch_read_optimizer(r, text);
}

static void read_activation(RhLaunchReading *r, const char *text)
{
    r->sizes[RH_SIZE_GATED] = strstr(text, "glu") != NULL || strstr(text, "silu") != NULL;
}

static void read_norm(RhLaunchReading *r, const char *text)
{
    r->sizes[RH_SIZE_RMS] = g_ascii_strncasecmp(text, "rms", 3) == 0;
}

static void read_bias(RhLaunchReading *r, const char *text)
{
    r->sizes[RH_SIZE_BIASED] = rh_launch_read_switch(text);
}

static void read_tied(RhLaunchReading *r, const char *text)
{
    r->sizes[RH_SIZE_TIED] = rh_launch_read_switch(text);
}

static void read_groups(RhLaunchReading *r, const char *text)
{
    rh_megatron_read_groups(r, text);
    if (r->sizes[RH_SIZE_GROUPS] > 0)
        rh_megatron_read_grouped_queries(r, "true");
}

static void read_virtual(RhLaunchReading *r, const char *text)
{
    if (rh_launch_read_switch(text))
        rh_megatron_read_chunks(r, text);
}

static void read_method(RhLaunchReading *r, const char *text)
{
    if (rh_launch_read_switch(text))
        rh_megatron_read_method(r, text);
}

static void read_dispatcher(RhLaunchReading *r, const char *text)
{
    if (strcmp(text, "flex") == 0)
        rh_megatron_read_dispatcher(r, "deepep");
}

/* Reads layers whose activations go to the host, as a share of all. */
static void finish_offload(RhLaunchReading *r)
{
    g_autoptr(RhModel) model = r->model ? rh_model_load(r->model, NULL) : NULL;
    int64_t layers = r->sizes[RH_SIZE_LAYERS] > 0 ? r->sizes[RH_SIZE_LAYERS]
                     : model                      ? model->layers_count
                                                  : 0;
    int64_t offloaded = r->job[JOB_OFFLOADS] == 1 ? r->job[JOB_OFFLOADED] : 0;
    if (layers > 0 && offloaded > 0)
        rh_launch_store(r, RH_ROW_KNOB(offload), MIN((100 * offloaded + layers / 2) / layers, 100));
}

static void finish(RhLaunchReading *r)
{
    finish_offload(r);
    if (r->sizes[RH_SIZE_ROTARY] < 0 && r->sizes[RH_SIZE_RMS] == 1)
        r->sizes[RH_SIZE_ROTARY] = 1;
    rh_megatron_finish(r);
    if (!strcmp(r->dtype, "fp32")) {
        r->dtype = "bf16";
        rh_launch_tell(r, "no number format is said: bf16, which recipes have, is simulated");
    }
    r->stack = "megatron-bridge";
}

#define READ(names, function)                                                                      \
    {                                                                                              \
        .name = (names), .read = (function)                                                        \
    }

static const RhLaunchRow rows[] = {
    {.name = "trainer.num_nodes", .also = "cluster.num_nodes", .job = RH_JOB_FIELD_NODES},
    {.name = "trainer.devices", .also = "cluster.gpus_per_node", .job = RH_JOB_FIELD_GPUS_OF_NODE},
    READ("trainer.precision", read_precision),
    {.name = "trainer.plugins.precision", .also = "mixed_precision", .read = read_precision},
    READ("precision", read_precision),
    READ("trainer.strategy.precision", read_precision),
    {.name = "model.encoder_seq_length",
     .also = "data.seq_length|model.data.seq_length|dataset.seq_length|dataset.sequence_length|"
             "model.seq_length|model.config.seq_length|policy.max_total_sequence_length|"
             "data.dataset_kwargs.max_seq_length|model.max_seq_length",
     .job = RH_JOB_FIELD_SEQUENCE},
    {.name = "model.optim.name", .also = "optim.config.optimizer", .read = read_optimizer},
    {.name = "optim.config.use_distributed_optimizer",
     .also = "model.megatron_amp_O2|ddp.use_distributed_optimizer",
     .knob = 0,
     .read = rh_megatron_read_shared},
    {.name = "model.activation", .also = "model.config.activation", .read = read_activation},
    {.name = "model.normalization", .read = read_norm},
    {.name = "model.bias", .also = "add_bias_linear", .read = read_bias},
    {.name = "model.share_embeddings_and_output_weights",
     .also = "share_embeddings_and_output_weights",
     .read = read_tied},
    {.name = "gated_linear_unit", .size = RH_SIZE_GATED, .on = 1},
    {.name = "num_moe_experts", .also = "model.num_moe_experts", .size = RH_SIZE_EXPERTS},
    {.name = "num_query_groups", .read = read_groups},
    READ("model.num_query_groups", read_groups),
    {.name = "model.virtual_pipeline_model_parallel_size",
     .also = "trainer.strategy.virtual_pipeline_model_parallel_size|"
             "virtual_pipeline_model_parallel_size",
     .read = read_virtual},
    {.name = "model.activations_checkpoint_granularity", .read = rh_megatron_read_granularity},
    {.name = "model.activations_checkpoint_method", .read = read_method},
    {.name = "model.activations_checkpoint_num_layers", .read = rh_megatron_read_again},
    {.name = "model.ub_tp_comm_overlap",
     .also = "comm_overlap.tp_comm_overlap",
     .knob = RH_ROW_KNOB(tensor_overlap),
     .on = 1},
    {.name = "model.moe_token_dispatcher_type", .read = read_dispatcher},
    {.name = "cpu_offloading", .also = "model.cpu_offloading", .job = JOB_OFFLOADS, .on = 1},
    {.name = "cpu_offloading_num_layers",
     .also = "model.cpu_offloading_num_layers",
     .job = JOB_OFFLOADED},
    {.name = "model.peft.lora_tuning.adapter_dim",
     .also = "peft.dim|model.peft.dim",
     .job = RH_JOB_FIELD_LORA_RANK},
};

/* Patterns of settings that change neither time nor memory of a step. */
static const char costless[] =
    "cpu_offloading_activations|cpu_offloading_weights=false|activation_func|layernorm_epsilon|grad_reduce_in_fp32|gradient_accumulation_fusion|"
    "should_pad_vocab|tp_comm_bootstrap_backend|tp_comm_overlap_cfg|iterations|tokenizer|data|"
    "base|rope_scaling*|name|run.*|exp_manager.*|trainer.max_*|trainer.log_*|trainer.val_*|trainer.limit_*|"
    "trainer.accelerator|trainer.enable_*|trainer.benchmark|trainer.use_distributed_sampler|"
    "trainer.replace_sampler_ddp|trainer.logger*|trainer.accumulate_grad_batches|"
    "trainer.gradient_clip_val|model.tokenizer.*|model.data.*|model.optim.*|logger.*|log.*|"
    "resume.*|checkpoint.*|optim.*|lr_scheduler*|model.restore_from_*|model.resume_from_*|"
    "model.nsys_profile.*|restore_from_path|model.init_method_std|model.precision|"
    "trainer.strategy.*|trainer.callbacks*|tokenizer.*|rerun_*|scheduler.*|profiling.*|"
    "train.train_iters|train.eval_*|validation.*|dist.*|_target_|*._target_|defaults*|hydra.*|"
    "model.use_cpu_initialization|model.hidden_dropout|model.attention_dropout|"
    "model.ffn_dropout|model.layernorm_epsilon|model.make_vocab_size_divisible_by|"
    "model.pre_process|model.post_process|model.persist_layer_norm=true|model.transformer_engine=true|"
    "model.mcore_gpt|model.seed|model.headscale|model.openai_gelu|model.*_fusion=true|"
    "model.rotary_percentage|model.position_embedding_type|model.grad_div_ar_fusion=true|model.grad_allreduce_chunk_size_mb|model.native_amp_*|"
    "model.fp16_*|model.hysteresis|model.onnx_safe|model.apex_*|model.gc_interval|"
    "model.apply_query_key_layer_scaling|model.apply_rope_fusion=true|model.transformer_block_type|model.normalize_attention_scores|"
    "model.bias_*=true|model.megatron_legacy|model.megatron_lm_compatible|"
    "model.fp8_e4m3|model.fp8_hybrid|model.fp8_margin|model.fp8_interval|model.fp8_amax_*|"
    "model.fp8_wgrad=true|model.fp8_dot_product_attention=false|model.fp8_multi_head_attention=false|"
    "model.reduce_amax|model.use_emha|model.ub_tp_comm_overlap_cfg|"
    "model.gradient_as_bucket_view|model.gradient_accumulation_fusion=true|model.async_grad_allreduce|model.do_layer_norm_*|"
    "model.sync_batch_comm|"
    "model.seq_len_interpolation_factor|model.scale_positional_embedding|model.use_flash_attention=true|"
    "model.get_attention_mask_from_fusion|model.dist_ckpt_*|model.nccl_communicator_*|"
    "model.sharp=false|model.enable_megatron_timers|model.megatron_timer_*|model.inference.*|"
    "inference.*|model.use_scaled_init_method|model.attention_type|model.batch_p2p_comm|"
    "model.overlap_p2p_comm=true|cluster.*|env_vars.*|stages*|train.*|data.*|dataset.*";

const RhFramework rh_framework_nemo_read = {.name = "nemo",
                                            .title = "NeMo",
                                            .rows = rows,
                                            .rows_count = G_N_ELEMENTS(rows),
                                            .usual = "zero=0,sp=off,recompute=none",
                                            .costless = costless,
                                            .kin = &rh_framework_megatron,
                                            .finish = finish};
