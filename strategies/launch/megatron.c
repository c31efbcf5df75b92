/* Megatron-LM. Names and rules are those of core_v0.15.3 (megatron/training/arguments.py and the
 * sources that docs/guide/megatron-flags.md cites); a test compares every flag written here with
 * the list of its flags, strategies/data/megatron-flags.txt. */
#include "strategies/launch/megatron.h"
#include "base/error.h"
#include "strategies/launch/framework.h"
#include "strategies/train/block_cost.h"
#include "workloads/operators/operator.h"

#define NUMBER(flag, field, least)                                                                 \
    {                                                                                              \
        .name = (flag), .knob = RH_ROW_KNOB(field), .otherwise = (least)                           \
    }
#define SWITCH(flag, field, value)                                                                 \
    {                                                                                              \
        .name = (flag), .knob = RH_ROW_KNOB(field), .on = (value)                                  \
    }
#define SIZE(flag, which)                                                                          \
    {                                                                                              \
        .name = (flag), .size = (which), .otherwise = RH_ROW_ALWAYS                                \
    }
#define OWN(flag, function)                                                                        \
    {                                                                                              \
        .name = (flag), .write = rh_megatron_write_##function, .read = rh_megatron_read_##function \
    }
#define OWN_OF(flag, field, function)                                                              \
    {                                                                                              \
        .name = (flag), .knob = RH_ROW_KNOB(field), .write = rh_megatron_write_##function,         \
        .read = rh_megatron_read_##function                                                        \
    }
#define READ(flag, function)                                                                       \
    {                                                                                              \
        .name = (flag), .read = rh_megatron_read_##function                                        \
    }
#define DERIVED(field)                                                                             \
    {                                                                                              \
        .knob = RH_ROW_KNOB(field)                                                                 \
    }

static const RhLaunchRow megatron_rows[] = {
    NUMBER("tensor-model-parallel-size", tp, RH_ROW_ALWAYS),
    NUMBER("pipeline-model-parallel-size", pp, RH_ROW_ALWAYS),
    {.name = "pipeline-model-parallel-layout",
     .knob = RH_ROW_KNOB(stage_layers_count),
     .write = rh_megatron_write_split,
     .read = rh_megatron_read_split,
     .quoted = true},
    DERIVED(dp), /* the world size over the other degrees */
    NUMBER("context-parallel-size", cp, 1),
    OWN_OF("cp-comm-type", kv, exchange),
    OWN_OF("hierarchical-context-parallel-sizes", ulysses, hierarchy),
    NUMBER("expert-model-parallel-size", ep, 1),
    NUMBER("expert-tensor-parallel-size", etp, 0),
    SWITCH("moe-enable-deepep", dispatch, RH_DISPATCH_DEEPEP),
    READ("moe-flex-dispatcher-backend", dispatcher),
    SWITCH("moe-shared-expert-overlap", overlap, RH_OVERLAP_SHARED),
    SWITCH("overlap-moe-expert-parallel-comm", overlap, RH_OVERLAP_PAIRS),
    OWN_OF("num-virtual-stages-per-pipeline-rank", vpp, chunks),
    READ("num-layers-per-virtual-pipeline-stage", chunk_layers),
    {.name = "decoder-first-pipeline-num-layers",
     .also = "decoder-last-pipeline-num-layers",
     .read = rh_megatron_read_uneven},
    {.name = "account-for-embedding-in-pipeline-split",
     .also = "account-for-loss-in-pipeline-split",
     .read = rh_megatron_read_counted},
    {.name = "micro-batch-size",
     .also = "batch-size",
     .knob = RH_ROW_KNOB(microbatch),
     .otherwise = RH_ROW_ALWAYS},
    OWN_OF("use-distributed-optimizer", zero, shared),
    {.name = "use-megatron-fsdp",
     .also = "use-custom-fsdp",
     .write = rh_megatron_write_fsdp,
     .read = rh_megatron_read_fsdp},
    READ("use-torch-fsdp2", torch_fsdp),
    OWN("overlap-grad-reduce", overlap),
    OWN("data-parallel-sharding-strategy", strategy),
    OWN_OF("num-distributed-optimizer-instances", shard, instances),
    DERIVED(recomputed_layers_count), /* written with recompute */
    SWITCH("optimizer-cpu-offload", states, RH_PLACE_HOST),
    OWN_OF("optimizer-offload-fraction", states_percent, fraction),
    OWN_OF("recompute-granularity", recompute, granularity),
    OWN("recompute-method", method),
    OWN("recompute-num-layers", again),
    OWN("recompute-modules", modules),
    READ("recompute-activations", activations),
    READ("checkpoint-activations", checkpoint),
    {.knob = RH_ROW_KNOB(schedule),
     .allowed = 1 << RH_PIPELINE_1F1B | 1 << RH_PIPELINE_INTERLEAVED},
    SWITCH("sequence-parallel", sequence_parallel, 1),
    SWITCH("tp-comm-overlap", tensor_overlap, 1),
    SWITCH("use-tp-pp-dp-mapping", order, RH_ORDER_TP_PP_DP),
    DERIVED(partition),
    /* the model */
    SIZE("num-layers", RH_SIZE_LAYERS),
    SIZE("hidden-size", RH_SIZE_HIDDEN),
    SIZE("ffn-hidden-size", RH_SIZE_FFN),
    {.name = "swiglu", .size = RH_SIZE_GATED, .on = 1},
    {.name = "num-experts", .size = RH_SIZE_EXPERTS},
    {.name = "moe-router-topk", .size = RH_SIZE_ASKED},
    {.name = "moe-ffn-hidden-size", .size = RH_SIZE_EXPERT_FFN},
    OWN("moe-expert-capacity-factor", capacity),
    {.name = "moe-shared-expert-intermediate-size", .size = RH_SIZE_SHARED_FFN},
    {.name = "moe-layer-freq",
     .write = rh_megatron_write_frequency,
     .read = rh_megatron_read_frequency,
     .quoted = true},
    SIZE("num-attention-heads", RH_SIZE_HEADS),
    {.name = "multi-latent-attention", .size = RH_SIZE_LATENT, .on = 1},
    {.name = "kv-lora-rank", .size = RH_SIZE_KV_LATENT},
    {.name = "q-lora-rank", .size = RH_SIZE_Q_LATENT},
    {.name = "qk-head-dim", .size = RH_SIZE_NOPE},
    {.name = "qk-pos-emb-head-dim", .size = RH_SIZE_ROPE},
    {.name = "v-head-dim", .size = RH_SIZE_VALUE},
    OWN("kv-channels", channels),
    OWN("group-query-attention", grouped_queries),
    OWN("num-query-groups", groups),
    {.name = "qk-layernorm", .size = RH_SIZE_QK_NORM, .on = 1},
    OWN("window-size", window),
    {.name = "seq-length",
     .also = "encoder-seq-length",
     .job = RH_JOB_FIELD_SEQUENCE,
     .otherwise = RH_ROW_ALWAYS},
    OWN("max-position-embeddings", positions),
    OWN("position-embedding-type", position),
    READ("use-rotary-position-embeddings", rotary),
    OWN("rotary-base", rotary_base),
    OWN("normalization", norm),
    OWN("disable-bias-linear", unbiased),
    OWN("add-qkv-bias", qkv_bias),
    OWN("untie-embeddings-and-output-weights", untied),
    {.name = "vocab-size", .read = rh_megatron_read_vocabulary},
    READ("padded-vocab-size", vocabulary),
    /* the job */
    {.name = "global-batch-size", .job = RH_JOB_FIELD_GLOBAL_BATCH, .otherwise = RH_ROW_ALWAYS},
    OWN("bf16", bf16),
    OWN("fp16", fp16),
    OWN("fp8-format", fp8_format),
    OWN("fp8-recipe", fp8_recipe),
    READ("fp8-hybrid", fp8_format),
    OWN("fp4-format", fp4_format),
    OWN("exp-avg-dtype", moments),
    OWN("main-grads-dtype", gradients),
    OWN("fp4-param-gather", fp4_weights),
    OWN("fp8-param-gather", fp8_weights),
    {.name = "optimizer", .read = rh_launch_read_optimizer},
    {.name = "rampup-batch-size",
     .also = "model.rampup_batch_size",
     .read = rh_megatron_read_rampup},
    READ("mtp-num-layers", predicted),
    READ("model-name", model),
    READ("tokenizer-model", tokenizer),
};

/* Patterns of flags that change neither time nor memory of a step. */
static const char costless[] =
    "use-persistent-ckpt-worker|lr|lr-*|min-lr|adam-*|sgd-*|weight-decay*|start-weight-decay|end-weight-decay|clip-grad|"
    "train-iters|train-samples|exit-*|log-*|no-log-*|save|save-*|load|load-*|no-load-*|no-save-*|"
    "eval-*|skip-train|data-*|*-data-path|split|tokenizer-*|vocab-file|merge-file|vocab-extra-ids|"
    "make-vocab-size-divisible-by|wandb-*|tensorboard-*|seed|init-method-*|override-opt*|"
    "use-checkpoint-*|finetune|pretrained-checkpoint|distributed-backend|distributed-timeout*|"
    "local-rank|num-workers|dataloader-*|num-dataset-*|mock-data|no-mmap-*|no-create-*|timing-*|"
    "decoupled-*|loss-scale|initial-loss-scale|min-loss-scale|"
    "loss-scale-window|hysteresis|squared-relu|moe-grouped-gemm|moe-token-dispatcher-type=alltoall/flex|"
    "moe-router-num-groups|attention-backend=auto/flash/fused|attention-dropout|hidden-dropout|rotary-percent|"
    "rope-*|rotary-scaling-factor|rotary-seq-len-*|norm-epsilon|"
    "apply-layernorm-1p|transformer-impl=transformer_engine|fp4-recipe|use-precision-aware-optimizer|"
    "exp-avg-sq-dtype|main-params-dtype|grad-reduce-in-bf16|accumulate-allreduce-grads-in-fp32|"
    "overlap-param-gather*|no-gradient-accumulation-fusion|"
    "init-model-with-meta-device|check-*|no-check-*|rerun-*|result-*|error-injection-*|"
    "manual-gc*|empty-unused-memory-level=0|profile*|use-pytorch-profiler|memory-snapshot-*|record-memory-*|"
    "moe-router-load-balancing-type|moe-aux-loss-coeff|moe-z-loss-coeff|moe-router-score-function|"
    "moe-router-dtype|moe-router-enable-*|moe-router-bias-update-rate|moe-router-topk-scaling-*|"
    "moe-router-pre-softmax|moe-per-layer-logging|moe-input-jitter-eps|moe-token-drop-policy|"
    "moe-router-force-load-balancing|moe-router-group-topk|"
    "use-mcore-models|use-legacy-models|no-position-embedding|async-save|use-dist-ckpt*|"
    "ckpt-*|auto-detect-ckpt-*|dist-ckpt-*|attention-softmax-in-fp32|"
    "apply-query-key-layer-scaling|no-query-key-layer-scaling|use-flash-attn|"
    "reset-position-ids|eod-mask-loss|no-rope-freq|one-logger-*|"
    "enable-one-logger|*-one-logger|app-tag-*|disable-straggler-*|straggler-*|log-straggler|"
    "lazy-mpu-init|use-cpu-initialization|train-sync-interval|adlr-*|calculate-per-token-loss|"
    "rotary-interleaved|use-rope-scaling|no-initialization|mscale*|beta-fast|beta-slow|"
    "te-rng-tracker|inference-rng-tracker|legacy-tokenizer|"
    "per-split-data-args-path|replication|export-*|max-tokens-to-oom|hf-*|config-*|"
    "fp8-margin|fp8-interval|fp8-amax-*|distributed-*|nnodes|master-*|node-rank";

/* --- the environment --- */

static void write_tokens(RhLaunchText *t)
{
    rh_launch_write(t, "--tokenizer-type HuggingFaceTokenizer --tokenizer-model $TOKENIZER "
                       "--make-vocab-size-divisible-by 128 "
                       "--data-path $DATA --train-iters $ITERATIONS --lr $LEARNING_RATE");
    rh_launch_note(t,
                   "set $TOKENIZER (with the model's vocabulary of %" G_GINT64_FORMAT
                   " tokens), $DATA, "
                   "$ITERATIONS and $LEARNING_RATE before you run this",
                   t->c->model->vocab);
}

static void write_checkpoints(RhLaunchText *t)
{
    const RhLaunchOptions *e = t->extras;
    g_autofree char *save = e->save ? g_shell_quote(e->save) : NULL;
    g_autofree char *load = e->load ? g_shell_quote(e->load) : NULL;
    if (save)
        rh_launch_write(t, "--save %s --save-interval %" G_GINT64_FORMAT, save, e->save_steps);
    if (load)
        rh_launch_write(t, "--load %s --exit-on-missing-checkpoint", load);
}

/* Writes the environment. One queue to the device keeps a collective before the GEMM that it is to
 * run beside. Megatron-LM asks for it with tensor or context parallelism before Blackwell, and
 * without it for FSDP. */
static void write_environment(RhLaunchText *t)
{
    const RhLayout *l = t->layout;
    bool wants_one = l->tp > 1 || l->cp > 1;
    if (l->zero >= 2) {
        g_string_append(t->environment, RH_LAUNCH_CUDA_QUEUES);
        rh_launch_note(
            t, "CUDA_DEVICE_MAX_CONNECTIONS is set to 8, CUDA's default: Megatron-FSDP refuses 1, "
               "which many images and scripts set");
        if (wants_one)
            rh_launch_note(
                t,
                "Megatron-LM will warn that, before Blackwell, tensor and context parallelism are "
                "faster with CUDA_DEVICE_MAX_CONNECTIONS=1; Megatron-FSDP does not run with it");
    } else if (wants_one) {
        g_string_append(t->environment, "CUDA_DEVICE_MAX_CONNECTIONS=1");
        rh_launch_note(t, "Megatron-LM requires CUDA_DEVICE_MAX_CONNECTIONS=1 with tensor or "
                          "context parallelism on Hopper and older");
    }
}

static bool write_rest(RhLaunchText *t, GError **error)
{
    (void)error;
    rh_megatron_say_rest(t);
    rh_megatron_say_model(&rh_framework_megatron, t);
    write_tokens(t);
    write_checkpoints(t);
    write_environment(t);
    return true;
}

/* Checks the layout, which may come from another stack that runs more. */
static bool check_layout(const RhProblem *c, const RhLayout *l, GError **error)
{
    if (!rh_megatron_check_model(&rh_framework_megatron, c, error) ||
        !rh_megatron_check_layout(c, l, error))
        return false;
    if (c->job.lora.rank > 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "Megatron-LM has no flags for adapters (lora.rank=%d)\n"
                       "help: Megatron-Bridge (nemo) trains them, or Transformers (deepspeed)",
                       c->job.lora.rank);
    if (rh_weight_bytes(c) > 2)
        return rh_fail(error, RH_ERROR_USAGE,
                       "%s: launches with weights of 4 bytes are not supported\n"
                       "help: `dtype=bf16` or `dtype=fp16`",
                       c->job.recipe->name);
    if (c->job.narrow_attention)
        return rh_fail(error, RH_ERROR_USAGE,
                       "Megatron-LM launches with attention in fp8 are unknown here\n"
                       "help: Megatron-Bridge (nemo) runs it, or without attention=");
    bool aware = rh_launch_has_narrow_moments(c) || rh_gradient_bytes(c) == 2;
    if (c->job.moments == &rh_adam_moments_8bit)
        return rh_fail(error, RH_ERROR_USAGE,
                       "Megatron-LM has no 8-bit moments in blocks\nhelp: `moments=bf16`");
    if (aware && l->zero != 1)
        return rh_fail(error, RH_ERROR_USAGE,
                       "Megatron-LM's optimizer has narrow moments and gradients where it is "
                       "distributed alone\nhelp: `zero=1`");
    return true;
}

const RhFramework rh_framework_megatron = {
    .name = "megatron",
    .title = "Megatron-LM",
    .version = "core_v0.15.3",
    .program = "pretrain_gpt.py",
    .rows = megatron_rows,
    .rows_count = G_N_ELEMENTS(megatron_rows),
    .assigned = " ",
    .dashes = "--",
    .usual = "zero=0,sp=off,recompute=none",
    .costless = costless,
    .finish = rh_megatron_finish,
    .starts = {{2, false, false, "builds its tensor and stage shares on its GPU", 0,
                "megatron/training/training.py:885"},
               {3, false, false,
                "builds the model on the meta device and fills its shards layer by layer", 0,
                "megatron/training/training.py:881"}},
    .features = RH_FEATURE_KINDS | RH_FEATURE_LATENT | RH_FEATURE_WINDOW,
    .check = check_layout,
    .write_rest = write_rest,
};
