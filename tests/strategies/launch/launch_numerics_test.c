/* Launches state the numerics of a model's file, and name what cannot be expressed. */
#include <string.h>

#include "base/error.h"
#include "strategies/launch/launch.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

/* "" when the launch is refused. */
static char *said(TrainKit *k, const char *framework, const char *layout)
{
    RhLayout l = train_layout(k, layout);
    g_autoptr(GError) error = NULL;
    g_autoptr(RhLaunch) launch = rh_launch_new(framework, &k->c, &l, &error);
    return launch ? g_strjoin("\n", launch->flags, launch->files, launch->notes, NULL)
                  : g_strconcat("refused: ", error->message, NULL);
}

typedef struct {
    const char *framework, *model, *layout, *words;
} Row;

static void check_rows(const Row *rows, size_t count, bool there)
{
    for (size_t i = 0; i < count; i++) {
        g_auto(TrainKit) k = train_kit(rows[i].model, "dgx-h100:8", "bare", 512, 2048);
        g_autofree char *text = said(&k, rows[i].framework, rows[i].layout);
        bool found = strstr(text, rows[i].words) != NULL;
        if (found != there)
            printf("\n%s, %s: %s\n%s\n", rows[i].framework, rows[i].model, rows[i].words, text);
        CU_ASSERT_EQUAL(found, there);
    }
}

static void files_are_said_as_they_are(void)
{
    static const Row rows[] = {
        {"megatron", "llama-3.1-8b", "dp64,zero1", "--rotary-base 500000 "},
        {"megatron", "llama-3.1-8b", "dp64,zero1", "--use-rope-scaling --rope-scaling-factor 8 "},
        {"megatron", "llama-3.2-1b", "dp64,zero1", "--rope-scaling-factor 32 "},
        {"megatron", "llama-3.1-8b", "dp64,zero1", "--norm-epsilon 1e-05 "},
        {"megatron", "qwen3-8b", "dp64,zero1", "--norm-epsilon 1e-06 "},
        {"megatron", "deepseek-v3", "ep8,dp64,zero1",
         "--rope-type yarn --rotary-scaling-factor 40 --mscale 1 --mscale-all-dim 1"},
        {"nemo", "llama-3.1-8b", "dp64,zero1", "rope_scaling=True, rope_scaling_factor=8"},
        {"nemo", "llama-3.1-8b", "dp64,zero1", "layernorm_epsilon=1e-05"},
        {"torchtitan", "llama-3.1-70b", "dp64,zero3", "norm_eps=1e-05, rope_theta=500000"},
        {"torchtitan", "llama-3.1-8b", "dp64,zero3",
         "scaling_factor=8, low_freq_factor=1, high_freq_factor=4,\n"
         "        original_max_position_embeddings=8192))"},
        /* its own default would scale a Llama 2 as a Llama 3.1 */
        {"torchtitan", "llama-2-7b", "dp64,zero3", "RoPEScalingArgs(scaling_factor=1.0)"},
        {"torchtitan", "qwen3-8b", "dp64,zero3", "norm_eps=1e-06, qk_norm=True"},
        {"deepspeed", "llama-3.1-8b", "dp64,zero3", "\"rms_norm_eps\": 1e-05"},
        {"deepspeed", "llama-3.1-8b", "dp64,zero3", "\"hidden_act\": \"silu\""},
        {"deepspeed", "llama-3.1-8b", "dp64,zero3", "\"rope_type\": \"llama3\""},
        {"deepspeed", "llama-3.1-8b", "dp64,zero3", "\"original_max_position_embeddings\": 8192"},
        {"megatron", "nemotron-4-340b", "tp8,pp8,dp1,zero1",
         "--num-layers 96 --hidden-size 18432 --ffn-hidden-size 73728 "},
        {"megatron", "nemotron-4-340b", "tp8,pp8,dp1,zero1", " --squared-relu "},
        {"megatron", "nemotron-4-15b", "tp8,dp8,zero1",
         "--rotary-base 10000 --normalization LayerNorm "},
        {"megatron", "nemotron-4-15b", "tp8,dp8,zero1",
         "--rotary-percent 0.5 --norm-epsilon 1e-05 --apply-layernorm-1p"},
        {"nemo", "nemotron-4-340b", "tp8,pp8,dp1,zero1", "activation_func=squared_relu"},
        {"nemo", "nemotron-4-340b", "tp8,pp8,dp1,zero1", "rotary_percent=0.5"},
        {"nemo", "nemotron-4-15b", "tp8,dp8,zero1", "layernorm_zero_centered_gamma=True"},
        {"nemo", "opt-6.7b", "dp64,zero1", "activation_func=torch.nn.functional.relu"},
        {"megatron", "opt-6.7b", "dp64,zero1", "refused"},
        {"megatron", "minimax-m2.5", "ep8,pp2,dp32,zero1", "--rotary-percent 0.5 "},
        {"megatron", "qwen3-0.6b", "dp64,zero1", "--rotary-base 1000000 "},
        {"torchtitan", "phi-4", "dp64,zero3", "rope_theta=250000"},
        {"nemo", "mistral-small-24b", "tp8,dp8,zero1", "rotary_base=100000000"},
        {"deepspeed", "yi-34b", "dp64,zero3", "\"rope_theta\": 5000000"},
        {"maxtext", "llama-3.1-8b", "dp64,zero3", "rope_type=llama3.1 rope_use_scale=True"},
        {"maxtext", "llama-2-7b", "dp64,zero3", "rope_type=default"},
        {"maxtext", "qwen3-8b", "dp64,zero3", "normalization_layer_epsilon=1e-06"}};
    check_rows(rows, G_N_ELEMENTS(rows), true);
    static const Row absent[] = {{"megatron", "llama-2-7b", "dp64,zero1", "scaling"},
                                 {"megatron", "llama-3.1-8b", "dp64,zero1", "no epsilon"},
                                 {"deepspeed", "llama-2-7b", "dp64,zero3", "rope_scaling"},
                                 {"megatron", "llama-3.1-8b", "dp64,zero1", "has no option"},
                                 {"megatron", "nemotron-4-15b", "tp8,dp8,zero1", "no epsilon"},
                                 /* what a recipe imports, it uses */
                                 {"nemo", "llama-3.1-8b", "dp64,zero1", "squared_relu"},
                                 {"nemo", "llama-3.1-8b", "dp64,zero1", "LoRA"},
                                 {"nemo", "llama-3.1-8b", "dp64,zero1", "finetune"},
                                 {"nemo", "nemotron-4-15b", "tp8,dp8,zero1", "import torch"}};
    check_rows(absent, G_N_ELEMENTS(absent), false);
}

static void what_cannot_be_said_is_named(void)
{
    static const Row rows[] = {
        {"maxtext", "llama-3.2-3b", "dp64,zero3",
         "\"llama3\" (factor 32, 8192 original tokens) has no option in MaxText"},
        {"megatron", "gpt3-175b", "tp8,dp8,zero1", "no epsilon of the norms"}};
    check_rows(rows, G_N_ELEMENTS(rows), true);
}

static RhModel *model_of(const char *more)
{
    g_autofree char *text = g_strdup_printf(
        "{\"model_type\": \"llama\", \"num_hidden_layers\": 8, \"hidden_size\": 1024,"
        "\"num_attention_heads\": 16, \"num_key_value_heads\": 8, \"intermediate_size\": 4096,"
        "\"vocab_size\": 32000, \"max_position_embeddings\": 4096%s}",
        more);
    g_autoptr(GError) error = NULL;
    g_autoptr(RhJson) doc = rh_json_parse("t.json", text, strlen(text), &error);
    g_assert_no_error(error);
    return rh_model_parse(doc, "t", NULL);
}

/* Rope scaling is read by either name, as old files and new ones have it. */
static void both_forms_of_rope_scaling_are_read(void)
{
    static const char *const forms[] = {
        ", \"rope_scaling\": {\"type\": \"linear\", \"factor\": 4.0}",
        ", \"rope_parameters\": {\"rope_type\": \"linear\", \"rope_theta\": 1e4, \"factor\": 4}"};
    for (size_t i = 0; i < G_N_ELEMENTS(forms); i++) {
        g_autoptr(RhModel) m = model_of(forms[i]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(m);
        CU_ASSERT_STRING_EQUAL(m->numerics.rope.type, "linear");
        CU_ASSERT_EQUAL(m->numerics.rope.factor, 4);
    }
    static const char *const plain[] = {"", ", \"rope_scaling\": null",
                                        ", \"rope_scaling\": {\"rope_type\": \"default\"}"};
    for (size_t i = 0; i < G_N_ELEMENTS(plain); i++) {
        g_autoptr(RhModel) m = model_of(plain[i]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(m);
        CU_ASSERT_PTR_NULL(m->numerics.rope.type);
    }
    static const char *const broken[] = {
        ", \"rms_norm_eps\": -1", ", \"rope_scaling\": 4",
        ", \"rope_scaling\": {\"type\": \"linear\", \"factor\": \"x\"}", ", \"hidden_act\": 3"};
    for (size_t i = 0; i < G_N_ELEMENTS(broken); i++)
        CU_ASSERT_PTR_NULL(model_of(broken[i]));
}

/* Another activation makes another model: refused, where it has no word. */
static void activations_are_said_or_refused(void)
{
    static const char *const frameworks[] = {"megatron", "nemo", "torchtitan", "maxtext"};
    for (size_t i = 0; i < G_N_ELEMENTS(frameworks); i++) {
        g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:8", "bare", 512, 2048);
        k.model->numerics.activation = "gelu";
        g_autofree char *text = said(&k, frameworks[i], i < 2 ? "dp64,zero1" : "dp64,zero3");
        CU_ASSERT_PTR_NOT_NULL(strstr(text, "the activation gelu of its gated networks"));
    }
    g_auto(TrainKit) gpt = train_kit("gpt2", "dgx-h100:8", "bare", 512, 1024);
    g_autofree char *plain = said(&gpt, "megatron", "dp64,zero1");
    CU_ASSERT_PTR_NULL(strstr(plain, "refused"));
    gpt.model->numerics.activation = "relu2";
    g_autofree char *squared = said(&gpt, "megatron", "dp64,zero1");
    CU_ASSERT_PTR_NOT_NULL(strstr(squared, "--squared-relu"));
    gpt.model->numerics.activation = "tanh";
    g_autofree char *other = said(&gpt, "megatron", "dp64,zero1");
    CU_ASSERT_PTR_NOT_NULL(strstr(other, "refused"));
}

/* --- the start --- */

/* Megatron-FSDP would build the whole model on every GPU first. */
static void nobody_holds_more_at_the_start_than_there_is(void)
{
    static const Row rows[] = {
        {"megatron", "llama-3.1-70b", "dp64,zero3", "--init-model-with-meta-device"},
        {"nemo", "llama-3.1-70b", "dp64,zero3", "init_model_with_meta_device=True"},
        {"megatron", "llama-3.1-70b", "dp64,zero3",
         "while it starts, each rank builds the model on the meta"},
        {"torchtitan", "llama-3.1-70b", "dp64,zero3", "while it starts"},
        {"maxtext", "llama-3.1-70b", "dp64,zero3", "while it starts"},
        {"deepspeed", "llama-3.1-8b", "dp64,zero1",
         "while it starts, each rank builds the whole model"}};
    check_rows(rows, G_N_ELEMENTS(rows), true);
    static const Row absent[] = {{"megatron", "llama-3.1-70b", "tp8,dp8,zero1", "meta-device"}};
    check_rows(absent, G_N_ELEMENTS(absent), false);
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:8", "bare", 512, 2048);
    k.platform->host_bytes.value = 256e9; /* 8 ranks x 8.03e9 x 4 B are 257 GB */
    g_autofree char *much = said(&k, "deepspeed", "dp64,zero1");
    CU_ASSERT_PTR_NOT_NULL(strstr(much, "refused"));
    CU_ASSERT_PTR_NOT_NULL(strstr(much, "zero=3"));
    k.platform->host_bytes.value = 258e9;
    g_autofree char *enough = said(&k, "deepspeed", "dp64,zero1");
    CU_ASSERT_PTR_NULL(strstr(enough, "refused"));
}

/* --- adapters --- */

/* Weights of 4 bits are told of PEFT alone, whose ranks hold them all while they are quantized. */
static void frozen_weights_of_four_bits_are_said_to_peft(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:1", "bare", 64, 2048);
    k.c.job.lora = (RhLora){16, 0};
    k.c.job.frozen = &rh_frozen_format_nf4_single;
    g_autofree char *single = said(&k, "peft", "dp8,zero3");
    CU_ASSERT_PTR_NOT_NULL(strstr(single, "--load_in_4bit true --bnb_4bit_use_double_quant false"));
    CU_ASSERT_PTR_NOT_NULL(strstr(single, "\"cpu_ram_efficient_loading\": false"));
    CU_ASSERT_PTR_NOT_NULL(strstr(single, "quantizes the whole model on its GPU"));
    k.platform->device->hbm_bytes.value = 5e9;
    g_autofree char *much = said(&k, "peft", "dp8,zero3");
    CU_ASSERT_PTR_NOT_NULL(strstr(much, "refused"));
    k.c.job.frozen = &rh_frozen_format_int4;
    g_autofree char *other = said(&k, "peft", "dp8,zero3");
    CU_ASSERT_PTR_NOT_NULL(strstr(other, "refused"));
    k.c.job.frozen = &rh_frozen_format_nf4;
    g_autofree char *elsewhere = said(&k, "deepspeed", "dp8,zero1");
    CU_ASSERT_PTR_NOT_NULL(strstr(elsewhere, "launch PEFT"));
}

static void adapters_are_said_to_those_that_train_them(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:1", "bare", 64, 2048);
    k.c.job.lora = (RhLora){16, 0};
    g_autofree char *nemo = said(&k, "nemo", "tp2,dp4,zero1");
    CU_ASSERT_PTR_NOT_NULL(strstr(nemo, "cfg.peft = LoRA(target_modules=[\"linear_qkv\", "
                                        "\"linear_proj\", \"linear_fc1\", \"linear_fc2\"],\n"
                                        "                dim=16, dropout=0.0)"));
    CU_ASSERT_PTR_NOT_NULL(strstr(nemo, "finetune(config=cfg"));
    k.c.job.lora.modules = RH_LINEAR_QKV | RH_LINEAR_FC2;
    g_autofree char *peft = said(&k, "deepspeed", "dp8,zero1");
    CU_ASSERT_PTR_NOT_NULL(
        strstr(peft, "--lora_target_modules q_proj,k_proj,v_proj,down_proj --bf16"));
    CU_ASSERT_PTR_NOT_NULL(strstr(peft, "--lora_r 16 --lora_alpha 32"));
    CU_ASSERT_PTR_NULL(strstr(peft, "--tokenizer_name")); /* of run_clm.py */
    g_autofree char *shared = said(&k, "peft", "dp8,zero3");
    CU_ASSERT_PTR_NOT_NULL(
        strstr(shared, "\"transformer_layer_cls_to_wrap\": \"LlamaDecoderLayer\""));
    CU_ASSERT_PTR_NOT_NULL(strstr(shared, "--fsdp 'full_shard auto_wrap'"));
    g_autofree char *whole = said(&k, "peft", "dp8,zero0");
    CU_ASSERT_PTR_NULL(strstr(whole, "--fsdp"));
    CU_ASSERT_PTR_NULL(strstr(whole, "--load_in_4bit"));
    static const char *const none[] = {"megatron", "torchtitan", "maxtext"};
    for (size_t i = 0; i < G_N_ELEMENTS(none); i++) {
        g_autofree char *text = said(&k, none[i], i == 0 ? "dp8,zero1" : "dp8,zero2");
        CU_ASSERT_PTR_NOT_NULL(strstr(text, "refused"));
    }
    g_auto(TrainKit) mixtral = train_kit("mixtral-8x7b", "dgx-h100:1", "bare", 64, 2048);
    mixtral.c.job.lora = (RhLora){8, 0};
    g_autofree char *experts = said(&mixtral, "nemo", "ep8,dp8,zero1");
    CU_ASSERT_PTR_NOT_NULL(strstr(experts, "share_expert_adapters=False"));
}

/* --- what a script does besides --- */

static void folders_are_quoted_and_stay_whole(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:8", "bare", 512, 2048);
    RhLaunchOptions extras = {"/a b --c d's $(touch x)", "/l", 250, true};
    for (int i = 0; rh_launch_frameworks()[i]; i++) {
        const char *name = rh_launch_frameworks()[i];
        extras.preflight = strcmp(name, "maxtext") != 0;
        k.c.job.lora.rank = strcmp(name, "peft") == 0 ? 16 : 0;
        RhLayout l = train_layout(&k, "dp64,zero3");
        g_autoptr(GError) error = NULL;
        g_autoptr(RhLaunch) launch = rh_launch_new_with(name, &k.c, &l, &extras, &error);
        g_assert_no_error(error);
        g_autofree char *script = rh_launch_script(launch, RH_LAUNCHER_SHELL);
        g_autofree char *quoted = g_shell_quote(extras.save);
        CU_ASSERT_PTR_NOT_NULL(strstr(script, quoted));
        CU_ASSERT_PTR_NOT_NULL(strstr(script, "/l'"));
        CU_ASSERT_PTR_NOT_NULL(strstr(script, "250"));
        CU_ASSERT_EQUAL(strstr(script, "rehearsed_preflight.py &&") != NULL, extras.preflight);
    }
}

/* Inside a node of DGX H100 an all-reduce reaches less than NVLink's 450 GB/s, between nodes less than eight NICs. */
static void the_preflight_compares_with_the_plan(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:8", "bare", 512, 2048);
    RhLayout l = train_layout(&k, "dp64,zero3");
    RhLaunchOptions extras = {.preflight = true};
    g_autoptr(RhLaunch) launch = rh_launch_new_with("megatron", &k.c, &l, &extras, NULL);
    const char *planned = strstr(launch->files, "planned = {");
    int node = 0, all = 0;
    float inside = 0, among = 0;
    CU_ASSERT_PTR_NOT_NULL_FATAL(planned);
    CU_ASSERT_EQUAL(sscanf(planned, "planned = {\"a node\": (%d, %f), \"all ranks\": (%d, %f)}",
                           &node, &inside, &all, &among),
                    4);
    CU_ASSERT_EQUAL(node, 8);
    CU_ASSERT_EQUAL(all, 64);
    CU_ASSERT_TRUE(inside > 100 && inside < 900);
    CU_ASSERT_TRUE(among > 50 && among < 800);
    k.c.job.gpus = 1;
    g_autoptr(GError) error = NULL;
    RhLayout one = train_layout(&k, "dp1,zero0");
    CU_ASSERT_PTR_NULL(rh_launch_new_with("megatron", &k.c, &one, &extras, &error));
    CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "exchanges nothing"));
}

int main(void)
{
    return rh_test_main(
        "launch_numerics",
        (RhTest[]){{"files_are_said_as_they_are", files_are_said_as_they_are},
                   {"what_cannot_be_said_is_named", what_cannot_be_said_is_named},
                   {"both_forms_of_rope_scaling_are_read", both_forms_of_rope_scaling_are_read},
                   {"activations_are_said_or_refused", activations_are_said_or_refused},
                   {"nobody_holds_more_at_the_start_than_there_is",
                    nobody_holds_more_at_the_start_than_there_is},
                   {"frozen_weights_of_four_bits_are_said_to_peft",
                    frozen_weights_of_four_bits_are_said_to_peft},
                   {"adapters_are_said_to_those_that_train_them",
                    adapters_are_said_to_those_that_train_them},
                   {"folders_are_quoted_and_stay_whole", folders_are_quoted_and_stay_whole},
                   {"the_preflight_compares_with_the_plan", the_preflight_compares_with_the_plan},
                   {0}});
}
