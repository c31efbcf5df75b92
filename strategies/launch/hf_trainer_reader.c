/* Settings of trainings under the Trainer of Hugging Face Transformers: DeepSpeed's configuration, the
 * Trainer's own options, axolotl's and LLaMA-Factory's files. They are read by one table, as the three
 * set up the same Trainer; what is written for DeepSpeed (deepspeed.c) is among its rows. */
#include <string.h>

#include "strategies/launch/hf_trainer.h"
#include "strategies/launch/readers.h"

/* Figures that these alone have, beside RhLaunchJobField. */
enum {
    JOB_FSDP = RH_JOB_FIELD_OWN, /* 1: weights are shared out, 2: gradients */
    JOB_GROUPED,                 /* FSDP inside a node, replicas over nodes */
    JOB_HALF,                    /* 1: bf16, 2: fp16, 0: neither */
    JOB_ADAPTER,                 /* 1: adapters, 2: beside weights of 4 bits, 0: none */
    JOB_FULL,                    /* 1: layers are recomputed, 2: attention's core */
    JOB_FOUR,                    /* frozen weights of 4 bits */
    JOB_TWICE,                   /* 0: their scales are not quantized, too */
    JOB_EIGHT,                   /* moments of 8 bits */
    JOB_SAID_HALF,               /* JOB_HALF, by a word other than "auto" */
    JOB_PREFERENCE,              /* RhPreference */
    JOB_MEGATRON,                /* Accelerate's plug-in of Megatron-LM */
    JOB_DEEPSPEED,               /* 1: DeepSpeed shares out what is shared out */
};

static bool is_auto(const char *text)
{
    return strcmp(text, "auto") == 0;
}

/* Sets the format of 16 bits. DeepSpeed and the Trainer refuse both at once; "auto" of a ds_config.json
 * is what the Trainer's option says, that of axolotl bf16 where the GPU has it. */
static void set_half(RhLaunchReading *r, int64_t half, bool said)
{
    if (said && r->job[JOB_SAID_HALF] > 0 && r->job[JOB_SAID_HALF] != half)
        rh_launch_problem(r, "leave one of them out", "bf16 and fp16 exclude each other");
    if (said)
        r->job[JOB_SAID_HALF] = half;
    r->job[JOB_HALF] = half;
}

static void read_half(RhLaunchReading *r, const char *text)
{
    if (rh_launch_read_switch(text))
        set_half(r, 1, !is_auto(text));
}

static void read_fp16(RhLaunchReading *r, const char *text)
{
    if (rh_launch_read_switch(text) && !is_auto(text))
        set_half(r, 2, true);
}

static void read_fp8(RhLaunchReading *r, const char *text)
{
    if (rh_launch_read_switch(text))
        r->dtype = "fp8-current";
}

/* Reads Accelerate's word for the format: "no", "bf16", "fp16", "fp8". */
static void read_mixed(RhLaunchReading *r, const char *text)
{
    if (strcmp(text, "fp8") == 0)
        r->dtype = "fp8-current";
    else if (strcmp(text, "bf16") == 0 || strcmp(text, "fp16") == 0)
        set_half(r, text[0] == 'b' ? 1 : 2, true);
    else if (strcmp(text, "no") == 0 || strcmp(text, "false") == 0)
        r->dtype = "fp32";
}

static void read_gradients(RhLaunchReading *r, const char *text)
{
    if (strcmp(text, "bf16") == 0)
        g_ptr_array_add(r->sets, g_strdup("gradients=bf16"));
}

static void read_checkpointing(RhLaunchReading *r, const char *text)
{
    r->job[JOB_FULL] = rh_launch_read_switch(text);
}

static void read_no_checkpointing(RhLaunchReading *r, const char *text)
{
    r->job[JOB_FULL] = !rh_launch_read_switch(text);
}

/* Reads "full_shard auto_wrap", "hybrid_shard", "1"; FULL_SHARD and the like of a file's own. */
static void read_fsdp(RhLaunchReading *r, const char *text)
{
    g_autofree char *plain = g_ascii_strdown(text, -1);
    if (strstr(plain, "full_shard") || strstr(plain, "hybrid_shard") || strcmp(plain, "1") == 0 ||
        strcmp(plain, "true") == 0)
        r->job[JOB_FSDP] = 1;
    else if (strstr(plain, "shard_grad_op") || strcmp(plain, "2") == 0)
        r->job[JOB_FSDP] = 2;
    else if (strstr(plain, "no_shard") || strcmp(plain, "3") == 0)
        r->job[JOB_FSDP] = 0;
    if (strstr(plain, "hybrid"))
        r->job[JOB_GROUPED] = 1;
    if (strstr(plain, "offload"))
        rh_launch_tell(r, "states are simulated on the GPU, not on the host: time and memory "
                          "differ");
}

/* Notes that FSDP is set up at all; the default shares weights out. */
static void read_fsdp_part(RhLaunchReading *r, const char *text)
{
    (void)text;
    if (r->job[JOB_FSDP] < 0)
        r->job[JOB_FSDP] = 1;
}

static void read_reshard(RhLaunchReading *r, const char *text)
{
    r->job[JOB_FSDP] = rh_launch_read_switch(text) ? 1 : 2;
}

/* Reads Accelerate's distributed_type. */
static void read_distributed(RhLaunchReading *r, const char *text)
{
    if (strcmp(text, "FSDP") == 0)
        read_fsdp_part(r, text);
    else if (strcmp(text, "DEEPSPEED") == 0)
        r->job[JOB_DEEPSPEED] = 1;
    else if (strcmp(text, "MEGATRON_LM") == 0)
        r->job[JOB_MEGATRON] = 1;
    else if (strcmp(text, "MULTI_GPU") != 0 && strcmp(text, "NO") != 0 && strcmp(text, "no") != 0 &&
             strcmp(text, "false") != 0)
        rh_launch_tell(r, "distributed_type %s: replicas on GPUs are simulated", text);
}

/* Reads options of Megatron-LM's plug-in. */
static void read_selective(RhLaunchReading *r, const char *text)
{
    r->job[JOB_FULL] = rh_launch_read_switch(text) ? 2 : 0;
}

static void read_shared_states(RhLaunchReading *r, const char *text)
{
    rh_launch_store(r, RH_ROW_KNOB(zero), rh_launch_read_switch(text) ? 1 : 0);
}

static void read_sequence_parallel(RhLaunchReading *r, const char *text)
{
    rh_launch_store(r, RH_ROW_KNOB(sequence_parallel), rh_launch_read_switch(text) ? 1 : 0);
}

/* Reads where states or weights are. */
static void read_place(RhLaunchReading *r, const char *text, int32_t knob)
{
    if (strcmp(text, "cpu") == 0 || strcmp(text, "true") == 0)
        rh_launch_store(r, knob, RH_PLACE_HOST);
    else if (strcmp(text, "nvme") == 0)
        rh_launch_store(r, knob, RH_PLACE_NVME);
}

static void read_optimizer_place(RhLaunchReading *r, const char *text)
{
    read_place(r, text, RH_ROW_KNOB(states));
}

static void read_weights_place(RhLaunchReading *r, const char *text)
{
    read_place(r, text, RH_ROW_KNOB(weights));
}

/* Reads the share of the parameters whose states are on the host. */
static void read_ratio(RhLaunchReading *r, const char *text)
{
    double ratio = g_ascii_strtod(text, NULL);
    if (ratio > 0 && ratio <= 1)
        rh_launch_store(r, RH_ROW_KNOB(states_percent), MAX((int64_t)(100 * ratio + 0.5), 1));
}

static void read_offload(RhLaunchReading *r, const char *text)
{
    if (strcmp(text, "cpu") == 0 || strcmp(text, "nvme") == 0 || strcmp(text, "true") == 0)
        rh_launch_tell(r,
                       "%s: states are simulated on the GPU, not on the host: time and memory "
                       "differ",
                       r->at->name);
}

static void read_model(RhLaunchReading *r, const char *text)
{
    g_free(r->model);
    r->model = g_strdup(text);
}

static void read_adapter(RhLaunchReading *r, const char *text)
{
    if (strcmp(text, "freeze") == 0) {
        rh_launch_tell(r, "finetuning_type freeze: simulated is that all weights are trained");
        return;
    }
    r->job[JOB_ADAPTER] = strcmp(text, "qlora") == 0                                 ? 2
                          : strcmp(text, "lora") == 0                                ? 1
                          : rh_launch_read_switch(text) && strcmp(text, "full") != 0 ? 1
                                                                                     : 0;
}

static void read_four_bits(RhLaunchReading *r, const char *text)
{
    r->job[JOB_FOUR] = rh_launch_read_switch(text);
}

static void read_double(RhLaunchReading *r, const char *text)
{
    r->job[JOB_TWICE] = rh_launch_read_switch(text);
}

static void read_bits(RhLaunchReading *r, const char *text)
{
    if (strcmp(text, "4") == 0)
        read_four_bits(r, "true");
}

static void read_optimizer(RhLaunchReading *r, const char *text)
{
    r->job[JOB_EIGHT] = strstr(text, "8bit") != NULL;
    if (strstr(text, "paged")) /* bitsandbytes: unified memory, which moves where a GPU is full */
        rh_launch_tell(r,
                       "%s: its states are counted on the GPU; -s states=host leaves them on the "
                       "host, where paging would move only what a full GPU lacks",
                       text);
    for (int kind = 0; kind < RH_CODEC_LAST; kind++)
        if (rh_deepspeed_optimizers[kind] &&
            g_ascii_strcasecmp(text, rh_deepspeed_optimizers[kind]) == 0) {
            rh_launch_store(r, RH_ROW_KNOB(codec), kind);
            rh_launch_tell(r, "%s: a step behind its warm-up is simulated", text);
        }
    rh_launch_read_optimizer(r, text);
}

static void read_narrow_gathers(RhLaunchReading *r, const char *text)
{
    if (rh_launch_read_switch(text))
        rh_launch_store(r, RH_ROW_KNOB(qwz), 1);
}

static void read_eight_bits(RhLaunchReading *r, const char *text)
{
    if (rh_launch_read_switch(text))
        rh_launch_tell(r, "frozen weights of 8 bits are simulated in 16 bits");
}

/* Reads what is trained for: all but next tokens of one model needs more than is simulated. */
static void read_stage(RhLaunchReading *r, const char *text)
{
    static const struct {
        const char *said;
        RhPreference means;
    } pairs[] = {{"dpo", RH_PREFERENCE_DPO},
                 {"ipo", RH_PREFERENCE_DPO},
                 {"rm", RH_PREFERENCE_REWARD},
                 {"orpo", RH_PREFERENCE_FREE},
                 {"simpo", RH_PREFERENCE_FREE}};
    for (size_t i = 0; i < G_N_ELEMENTS(pairs); i++)
        if (strcmp(text, pairs[i].said) == 0) {
            r->job[JOB_PREFERENCE] = MAX(r->job[JOB_PREFERENCE], (int64_t)pairs[i].means);
            return;
        }
    if (rh_launch_read_switch(text) && strcmp(text, "sft") != 0 && strcmp(text, "pt") != 0)
        rh_launch_tell(r,
                       "%s %s: a step of supervised fine-tuning is simulated; the passes and the "
                       "memory of further models or samples are not",
                       r->at->name, text);
}

static void read_deepspeed(RhLaunchReading *r, const char *text)
{
    r->job[JOB_DEEPSPEED] = 1;
    static const char *const stages[] = {"zero0", "zero1", "zero2", "zero3"};
    for (int64_t stage = 0; stage < (int64_t)G_N_ELEMENTS(stages); stage++) {
        g_autofree char *ds = g_strdup_printf("ds_z%" G_GINT64_FORMAT, stage);
        g_autofree char *zero = g_strdup_printf("zero_stage%" G_GINT64_FORMAT, stage);
        g_autofree char *stage_of = g_strdup_printf("stage%" G_GINT64_FORMAT, stage);
        if (strstr(text, stages[stage]) || strstr(text, ds) || strstr(text, zero) ||
            strstr(text, stage_of))
            if (!(r->given & RH_KNOB_BIT(zero)))
                rh_launch_store(r, RH_ROW_KNOB(zero), stage);
    }
    if (strstr(text, "offload"))
        rh_launch_tell(r, "states are simulated on the GPU, not on the host: time and memory "
                          "differ");
}

static void read_packing(RhLaunchReading *r, const char *text)
{
    if (!rh_launch_read_switch(text))
        rh_launch_tell(r, "samples are simulated as full sequences: without packing many are "
                          "shorter");
}

static void read_targets(RhLaunchReading *r, const char *text)
{
    static const struct {
        const char *name, *module;
    } names[] = {{"q_proj", "linear_qkv"},
                 {"o_proj", "linear_proj"},
                 {"gate_proj", "linear_fc1"},
                 {"up_proj", "linear_fc1"},
                 {"down_proj", "linear_fc2"}};
    g_autoptr(GString) out = g_string_new(NULL);
    if (strstr(text, "all"))
        return;
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        if (strstr(text, names[i].name) && !strstr(out->str, names[i].module))
            g_string_append_printf(out, "%s%s", out->len > 0 ? "+" : "", names[i].module);
    g_free(r->texts[0]);
    r->texts[0] = out->len > 0 ? g_strdup(out->str) : NULL;
}

/* Trainers say the tokens of one sequence, and a sample is a pair. */
static void finish_preference(RhLaunchReading *r)
{
    static const char *const words[RH_PREFERENCE_LAST] = {
        [RH_PREFERENCE_DPO] = "preference=dpo",
        [RH_PREFERENCE_REWARD] = "preference=reward",
        [RH_PREFERENCE_FREE] = "preference=reference-free"};
    int64_t preference = r->job[JOB_PREFERENCE], *tokens = &r->job[RH_JOB_FIELD_SEQUENCE];
    if (preference <= RH_PREFERENCE_NONE)
        return;
    g_ptr_array_add(r->sets, g_strdup(words[preference]));
    *tokens = *tokens > 0 ? 2 * *tokens : *tokens;
    rh_launch_tell(r, "a sample is a pair of sequences, and --seq counts the tokens of both");
}

static void finish_adapters(RhLaunchReading *r)
{
    int64_t rank = r->job[RH_JOB_FIELD_LORA_RANK];
    bool asked = r->job[JOB_ADAPTER] > 0 || (r->job[JOB_ADAPTER] < 0 && rank > 0);
    bool four = r->job[JOB_ADAPTER] == 2 || r->job[JOB_FOUR] == 1;
    if (!asked && four)
        rh_launch_tell(r, "weights of 4 bits without adapters are simulated in 16 bits");
    if (!asked)
        return;
    if (four) /* as both trainers quantize where nothing else is said */
        g_ptr_array_add(r->sets,
                        g_strdup_printf("lora.base=%s", r->job[JOB_TWICE] == 0
                                                            ? rh_frozen_format_nf4_single.name
                                                            : rh_frozen_format_nf4.name));
    g_ptr_array_add(r->sets, g_strdup_printf("lora.rank=%" G_GINT64_FORMAT, rank > 0 ? rank : 8));
    if (r->texts[0])
        g_ptr_array_add(r->sets, g_strdup_printf("lora.modules=%s", r->texts[0]));
}

/* Works out the batch of a GPU where none is said: of the whole batch, or the trainer's default. */
static void finish_batch(RhLaunchReading *r)
{
    const RhLayout *l = &r->layout;
    int64_t all = r->job[RH_JOB_FIELD_GLOBAL_BATCH], gpus = r->job[RH_JOB_FIELD_GPUS];
    int64_t replicas = gpus / MAX(rh_launch_times(l->tp, l->cp), 1);
    int64_t micro = replicas > 0 ? all / replicas / MAX(r->job[RH_JOB_FIELD_ACCUMULATION], 1) : 0;
    int64_t usual = r->framework == &rh_framework_axolotl ? 1 : 8; /* per_device_train_batch_size */
    if (r->given & RH_KNOB_BIT(microbatch))
        return;
    if (all > 0 && micro > 0) {
        rh_launch_store(r, RH_ROW_KNOB(microbatch), micro);
    } else if (all > 0) {
        rh_launch_tell(r,
                       "no batch of a GPU is said, nor how many GPUs: micro-batch 1 is simulated");
    } else {
        rh_launch_store(r, RH_ROW_KNOB(microbatch), usual);
        rh_launch_tell(r, "no batch of a GPU is said: %" G_GINT64_FORMAT ", the trainer's default",
                       usual);
    }
}

void rh_trainer_finish(RhLaunchReading *r)
{
    int64_t fsdp = r->job[JOB_FSDP];
    if (!r->dtype)
        r->dtype = r->job[JOB_HALF] == 2 ? "fp16" : "bf16";
    if (r->job[JOB_HALF] < 0 && r->framework != &rh_framework_trainer)
        rh_launch_tell(r, "no number format is said: bf16 is simulated");
    if (fsdp >= 0 && !(r->given & RH_KNOB_BIT(zero)))
        rh_launch_store(r, RH_ROW_KNOB(zero), fsdp == 1 ? 3 : fsdp == 2 ? 2 : 0);
    else if (!(r->given & RH_KNOB_BIT(zero)))
        rh_launch_store(r, RH_ROW_KNOB(zero), 0);
    if (r->job[JOB_GROUPED] == 1 && r->job[RH_JOB_FIELD_GPUS_OF_NODE] > 1)
        rh_launch_store(r, RH_ROW_KNOB(shard), r->job[RH_JOB_FIELD_GPUS_OF_NODE]);
    bool again = r->framework == &rh_framework_llamafactory && r->job[JOB_FULL] < 0;
    if (again)
        rh_launch_tell(r, "layers are recomputed, as LLaMA-Factory does where nothing is said");
    rh_launch_store(r, RH_ROW_KNOB(recompute),
                    again || r->job[JOB_FULL] == 1 ? RH_RECOMPUTE_FULL
                    : r->job[JOB_FULL] == 2        ? RH_RECOMPUTE_SELECTIVE
                                                   : RH_RECOMPUTE_NONE);
    if (r->job[JOB_EIGHT] == 1)
        g_ptr_array_add(r->sets, g_strdup("moments=8bit"));
    if (r->job[RH_JOB_FIELD_ACCUMULATION] < 0 && r->job[RH_JOB_FIELD_GLOBAL_BATCH] < 0)
        r->job[RH_JOB_FIELD_ACCUMULATION] = 1;
    finish_batch(r);
    finish_adapters(r);
    finish_preference(r);
    bool peft = strcmp(r->framework->name, "peft") == 0;
    if (peft && r->job[JOB_DEEPSPEED] > 0)
        r->framework = &rh_framework_trainer; /* the same rows */
    if (r->job[JOB_MEGATRON] > 0) {
        r->stack = "megatron";
        return;
    }
    r->stack = peft && r->job[JOB_DEEPSPEED] <= 0 ? "peft" : "deepspeed";
}

/* --- writing: the options of the Trainer that say a layout --- */

static char *write_checkpointing(const RhLaunchText *t)
{
    return t->layout->recompute == RH_RECOMPUTE_FULL ? g_strdup("") : NULL;
}

static char *write_fsdp(const RhLaunchText *t)
{
    return t->layout->zero > 0 ? g_strdup("full_shard auto_wrap") : NULL;
}

static char *write_fsdp_file(const RhLaunchText *t)
{
    return t->layout->zero > 0 ? g_strdup(RH_TRAINER_FSDP_FILE) : NULL;
}

#define READ(names, function)                                                                      \
    {                                                                                              \
        .name = (names), .read = (function)                                                        \
    }

/* A number that is read alone. */
#define NUMBER(names, others, of, place)                                                           \
    {                                                                                              \
        .name = (names), .also = (others), .of = (place), .otherwise = RH_ROW_NEVER                \
    }
#define KNOB(names, others, field) NUMBER(names, others, knob, RH_ROW_KNOB(field))
#define SIZE(names, place)         NUMBER(names, NULL, size, place)

const RhLaunchRow rh_trainer_rows[RH_TRAINER_ROWS] = {
    /* DeepSpeed's configuration */
    NUMBER("train_batch_size", NULL, job, RH_JOB_FIELD_GLOBAL_BATCH),
    {.name = "per_device_train_batch_size",
     .also = "train_micro_batch_size_per_gpu|micro_batch_size",
     .knob = RH_ROW_KNOB(microbatch)},
    NUMBER("gradient_accumulation_steps",
           "deepspeed_config.gradient_accumulation_steps|"
           "megatron_lm_config.megatron_lm_num_micro_batches",
           job, RH_JOB_FIELD_ACCUMULATION),
    KNOB("zero_optimization.stage", "zero_stage|deepspeed_config.zero_stage", zero),
    KNOB("zero_optimization.zero_hpz_partition_size", NULL, hpz),
    READ("zero_optimization.zero_quantized_weights", read_narrow_gathers),
    KNOB("tensor_parallel.autotp_size",
         "tensor_parallel_size|tensor_parallel.tp_size|"
         "megatron_lm_config.megatron_lm_tp_degree",
         tp),
    KNOB("context_parallel_size", "sequence_parallel_degree|sequence_parallel_size", cp),
    KNOB("dp_shard_size", NULL, shard),
    {.knob = RH_ROW_KNOB(dp)},                /* the world size over the other degrees */
    {.knob = RH_ROW_KNOB(partition)},         /* there is one stage */
    {.knob = RH_ROW_KNOB(sequence_parallel)}, /* there is one tensor rank */
    {.name = "zero_optimization.offload_optimizer.device",
     .also = "deepspeed_config.offload_optimizer_device",
     .read = read_optimizer_place},
    READ("zero_optimization.offload_optimizer.ratio", read_ratio),
    {.name = "zero_optimization.offload_param.device",
     .also = "deepspeed_config.offload_param_device",
     .read = read_weights_place},
    READ("zero_optimization.cpu_offload", read_optimizer_place),
    {.name = "bf16.enabled", .also = "bf16|bfloat16", .read = read_half},
    {.name = "fp16.enabled", .also = "fp16|float16", .read = read_fp16},
    READ("fp8", read_fp8),
    READ("data_types.grad_accum_dtype", read_gradients),
    /* options of the Trainer and of programs around it */
    NUMBER("block_size",
           "max_seq_length|max_seq_len|model_max_length|cutoff_len|sequence_len|max_length", job,
           RH_JOB_FIELD_SEQUENCE),
    {.name = "gradient_checkpointing",
     .knob = RH_ROW_KNOB(recompute),
     .write = write_checkpointing,
     .read = read_checkpointing},
    READ("disable_gradient_checkpointing", read_no_checkpointing),
    {.name = "fsdp_config.activation_checkpointing",
     .also = "fsdp_config.fsdp_activation_checkpointing",
     .read = read_checkpointing},
    {.name = "fsdp", .quoted = true, .write = write_fsdp, .read = read_fsdp},
    {.name = "fsdp_config", .write = write_fsdp_file, .read = read_fsdp_part},
    {.name = "fsdp_config.fsdp_sharding_strategy",
     .also = "fsdp_sharding_strategy|fsdp_final_sharding_strategy",
     .read = read_fsdp},
    {.name = "fsdp_config.reshard_after_forward",
     .also = "fsdp_config.fsdp_reshard_after_forward|fsdp_reshard_after_forward|"
             "reshard_after_forward",
     .read = read_reshard},
    {.name = "fsdp_config.fsdp_version",
     .also = "fsdp_version|fsdp_config.auto_wrap_policy|fsdp_config.fsdp_auto_wrap_policy|"
             "fsdp_config.fsdp_transformer_layer_cls_to_wrap|"
             "fsdp_config.transformer_layer_cls_to_wrap|fsdp_transformer_layer_cls_to_wrap",
     .read = read_fsdp_part},
    {.name = "fsdp_config.fsdp_offload_params",
     .also = "fsdp_config.offload_params|fsdp_offload_params",
     .read = read_offload},
    {.name = "deepspeed", .also = "deepspeed_config", .read = read_deepspeed},
    {.name = "model_name_or_path",
     .also = "base_model|model_name|model_id|config_name",
     .read = read_model},
    {.name = "adapter", .also = "finetuning_type|peft_type|use_peft", .read = read_adapter},
    NUMBER("lora_r", "lora_rank|peft_lora_r|lora_dim", job, RH_JOB_FIELD_LORA_RANK),
    {.name = "lora_target_modules", .also = "lora_target", .read = read_targets},
    READ("load_in_4bit", read_four_bits),
    READ("bnb_4bit_use_double_quant", read_double),
    READ("load_in_8bit", read_eight_bits),
    {.name = "stage", .also = "rl|pref_loss", .read = read_stage},
    READ("quantization_bit", read_bits),
    {.name = "optimizer", .also = "optim|optimizer.type", .read = read_optimizer},
    /* a config.json that the launch writes */
    SIZE("hidden_size", RH_SIZE_HIDDEN),
    SIZE("intermediate_size", RH_SIZE_FFN),
    SIZE("num_hidden_layers", RH_SIZE_LAYERS),
    SIZE("num_attention_heads", RH_SIZE_HEADS),
    SIZE("num_key_value_heads", RH_SIZE_GROUPS),
    SIZE("head_dim", RH_SIZE_HEAD),
    SIZE("vocab_size", RH_SIZE_VOCAB),
    SIZE("max_position_embeddings", RH_SIZE_POSITIONS),
    SIZE("rope_theta", RH_SIZE_ROTARY_BASE),
    {.name = "sample_packing", .also = "packing", .read = read_packing},
    /* a file of `accelerate config` */
    READ("mixed_precision", read_mixed),
    READ("distributed_type", read_distributed),
    NUMBER("num_processes", NULL, job, RH_JOB_FIELD_GPUS),
    NUMBER("num_machines", NULL, job, RH_JOB_FIELD_NODES),
    KNOB("megatron_lm_config.megatron_lm_pp_degree", NULL, pp),
    READ("megatron_lm_config.megatron_lm_recompute_activations", read_selective),
    READ("megatron_lm_config.megatron_lm_use_distributed_optimizer", read_shared_states),
    READ("megatron_lm_config.megatron_lm_sequence_parallelism", read_sequence_parallel),
};

const char rh_trainer_costless[] =
    "hidden_act|rms_norm_eps|rope_scaling.*|tie_word_embeddings|attention_bias|mlp_bias|"
    "use_sliding_window=false|learning_rate|lr*|saves_per_epoch|num_warmup_steps|data_split|per_device_eval_batch_size|"
    "num_padding_at_beginning|loss_watchdog_*|autotuning.*|"
    "zero_optimization.gather_16bit_*|zero_optimization.max_*|"
    "weight_decay|adam_*|warmup*|num_epochs|num_train_epochs|max_steps|"
    "logging_*|log_*|save_*|eval*|output_dir|overwrite_*|report_to|run_name|seed|data_seed|wandb_*|"
    "mlflow_*|comet_*|use_wandb|hub_*|push_to_hub|tokenizer*|model_type|trust_remote_code|dataset*|"
    "datasets*|test_datasets*|val_set_size|val_size|train_on_inputs|group_by_length=false|special_tokens*|"
    "tokens*|chat_template*|template|do_train|do_eval|do_predict|ddp_timeout|resume_from_*|"
    "preprocessing_*|dataloader_*|max_samples|overwrite_cache|plot_loss|gradient_clipping|"
    "max_grad_norm|steps_per_print|wall_clock_breakdown|scheduler*|optimizer.params*|"
    "zero_allow_untested_optimizer|zero_force_ds_cpu_optimizer|fp16.*|bf16.*|"
    "zero_optimization.overlap_comm=true/auto|zero_optimization.contiguous_gradients=true/auto|"
    "zero_optimization.reduce_scatter=true/auto|"
    "zero_optimization.*_bucket_size=auto/500000000/200000000|"
    "zero_optimization.allgather_partitions=true/auto|zero_optimization.sub_group_size|"
    "zero_optimization.stage3_*|zero_optimization.round_robin_gradients|"
    "zero_optimization.offload_*.*|zero_optimization.ignore_unused_parameters|"
    "zero_optimization.memory_efficient_linear|zero_optimization.elastic_checkpoint|"
    "zero_optimization.load_from_fp32_weights|prescale_gradients|dump_state|flops_profiler.*|"
    "comms_logger.*|tensorboard.*|csv_monitor.*|monitor_config.*|checkpoint.*|aio.*|"
    "amp.enabled=false|local_rank|gradient_checkpointing_kwargs*|"
    "activation_checkpointing.*=false/0|activation_checkpointing.number_checkpoints|"
    "base_model_config|base_model_ignore_patterns|strict|"
    "dataset_prepared_path|early_stopping_patience|"
    "flash_attention=true|flash_attn=true/auto/fa2/sdpa|flash_attn_2=true|sdp_attention=true|"
    "xformers_attention=true|s2_attention=false|attn_implementation=flash_attention_2/sdpa|"
    "lora_alpha|lora_dropout|"
    "lora_modules_to_save|lora_fan_in_fan_out|lora_target_linear|lora_model_dir|is_*_derived_model|"
    "auto_resume_*|debug|pad_to_sequence_len|liger_*=false|use_fast_tokenizer|shuffle_*|"
    "eval_sample_packing|remove_unused_columns|neftune_*|rl_*|trl*|"
    "tf32|fsdp_config.*|fsdp_*|do_*|train_file|validation_*|preprocess*|data_path|data_name|"
    "cosine_*|hf_*|bnb_*|enable_liger_kernel=false|use_reentrant_gc|use_unsloth*=false|ray_*|resize_token_*|"
    "additional_target|ddp_find_unused_parameters|pure_bf16=false|include_*|average_tokens_across_devices|ignore_*|skip_*|"
    "streaming|accelerator*|compute_environment|downcast_bf16=no/false|machine_rank|main_training_function|"
    "main_process_*|rdzv_*|same_network|use_cpu=false|enable_cpu_affinity|tpu_*|gpu_ids|"
    "deepspeed_config.zero3_*|deepspeed_config.deepspeed_multinode_launcher|"
    "deepspeed_config.gradient_clipping|megatron_lm_config.megatron_lm_gradient_clipping|"
    "dynamo_config.*=no|world_size|process_index|torch_compile*=false|"
    "excess_length_strategy|loraplus_*|pref_beta|pref_ftx|pref_bco_weight|ref_model*|reward_model*|simpo_*|kto_*|dpo_*|rm_*|"
    "ppo_*|badam_*|galore_*|apollo_*|use_galore=false|use_apollo=false|use_badam=false|image_*|video_*|"
    "cache_*|trainer|peft_*|use_flash_attn|use_4bit_*|splits|append_*|overrides_*|gc_steps|"
    "lora_mlp_kernel=false|lora_qkv_kernel=false|lora_o_kernel=false|cut_cross_entropy=false|"
    "version|transformer_layer_cls_to_wrap|cpu_ram_efficient_loading|noisy_*|model_card*|curriculum_learning.enabled=false|min_lr*|metric_for_*|greater_is_*|load_best_*|"
    "zero_optimization.use_all_reduce_for_fetch_params|zero_optimization.zero_quantized_nontrainable*";

#define TRAINER(its_name, its_title)                                                               \
    .name = (its_name), .title = (its_title), .rows = rh_trainer_rows,                             \
    .rows_count = RH_TRAINER_ROWS, .usual = RH_TRAINER_USUAL, .costless = rh_trainer_costless,     \
    .finish = rh_trainer_finish

const RhFramework rh_framework_axolotl = {TRAINER("axolotl", "axolotl")};
const RhFramework rh_framework_llamafactory = {TRAINER("llama-factory", "LLaMA-Factory")};
const RhFramework rh_framework_trainer = {TRAINER("deepspeed", "DeepSpeed")};
