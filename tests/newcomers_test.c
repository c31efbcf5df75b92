/* Model types of 2025 and 2026: counts of parameters against what their reports claim, and what they say of layers
 * in ways of their own. */
#include <string.h>

#include "tests/model_counts.h"
#include "workloads/operators/operator.h"

/* The layers of MiMo-V2-Flash: 0 looks at all; of Step-3.5-Flash: one in four does. */
#define MIMO_LAYERS                                                                                \
    "[0,1,1,1,1,0,1,1,1,1,1,0,1,1,1,1,1,0,1,1,1,1,1,0,1,1,1,1,1,0,1,1,1,1,1,0,1,1,1,1,1,0,1,1,1,"  \
    "1,1,0]"
#define MIMO_EXPERTS                                                                               \
    "[0,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"  \
    "1,1,1]"
#define MIMO                                                                                       \
    "{" SHAPE("mimo_v2_flash", 48, 4096, 64, 4, 16384,                                             \
              152576) ", 'head_dim': 192, 'v_head_dim': 128, 'swa_num_attention_heads': 64, "      \
                      "'swa_num_key_value_heads': 8, 'swa_head_dim': 192, 'swa_v_head_dim': 128, " \
                      "'sliding_window_size': 128, 'n_routed_experts': 256, "                      \
                      "'num_experts_per_tok': 8, 'moe_intermediate_size': 2048, "                  \
                      "'n_shared_experts': null, 'moe_layer_freq': " MIMO_EXPERTS                  \
                      ", 'hybrid_layer_pattern': " MIMO_LAYERS "}"
#define FOUR "'full_attention', 'sliding_attention', 'sliding_attention', 'sliding_attention'"
#define STEP3_5                                                                                    \
    "{'model_type': 'step3p5', 'num_hidden_layers': 45, 'hidden_size': 4096, "                     \
    "'num_attention_heads': 64, 'num_attention_groups': 8, 'head_dim': 128, "                      \
    "'intermediate_size': 11264, 'vocab_size': 128896, 'moe_num_experts': 288, 'moe_top_k': 8, "   \
    "'moe_intermediate_size': 1280, 'share_expert_dim': 1280, 'use_head_wise_attn_gate': true, "   \
    "'sliding_window': 512, 'attention_other_setting': {'attention_type': 'sliding_attention', "   \
    "'num_attention_heads': 96, 'num_attention_groups': 8, 'head_dim': 128}, "                     \
    "'num_nextn_predict_layers': 3, 'layer_types': [" FOUR ", " FOUR ", " FOUR ", " FOUR ", " FOUR \
    ", " FOUR ", " FOUR ", " FOUR ", " FOUR ", " FOUR ", " FOUR ", " FOUR "], 'moe_layers_enum': " \
    "'3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,"   \
    "35,36,37,38,39,40,41,42,43,44'}"
#define LAGUNA(layers, rest)                                                                       \
    "{" SHAPE("laguna", layers, 2048, 48, 8, 8192,                                                 \
              100352) ", 'head_dim': 128, 'num_experts': 256, 'num_experts_per_tok': 8, "          \
                      "'moe_intermediate_size': 512, 'shared_expert_intermediate_size': 512" rest  \
                      "}"

/* MiMo-V2-Flash (arXiv 2601.02780), Step-3.5-Flash (arXiv 2602.10604), Hy3-preview (295 G of its card), Mistral
 * Small 4 119B, Laguna XS.2 (33 G), each as the defaults of its configuration are. */
static void parameters_are_near_the_claim(void)
{
    static const ClaimedCount rows[] = {
        {MIMO, 309e9, 1e-3},
        {STEP3_5, 196e9, 0.005},
        {"{" SHAPE("hy_v3", 80, 4096, 64, 8, 13312,
                   120832) ", 'head_dim': 128, 'num_experts': 192, 'num_experts_per_tok': 8, "
                           "'num_shared_experts': 1, 'moe_intermediate_size': 1536}",
         295e9, 1e-3},
        {"{'model_type': 'mistral3', 'text_config': {" SHAPE(
             "mistral4", 36, 4096, 32, 32, 12288,
             131072) ", 'n_shared_experts': 1, 'n_routed_experts': 128, 'num_experts_per_tok': 4, "
                     "'moe_intermediate_size': 2048, 'kv_lora_rank': 256, 'q_lora_rank': 1024, "
                     "'qk_rope_head_dim': 64, 'qk_nope_head_dim': 64, 'v_head_dim': 128, "
                     "'first_k_dense_replace': 0}}",
         119e9, 1e-3},
        {LAGUNA(40, ", 'gating': true"), 33e9, 0.01},
        /* Ring-mini-linear-2.0 (16.4 G of its card), SigLIP 2 base NaFlex without its pooler and norm (86 M),
         * OPT-350m (331,196,416, with positions as wide as the hidden state) */
        {"{" SHAPE("bailing_moe_linear", 20, 2048, 16, 4, 5120,
                   157184) ", 'head_dim': 128, 'num_experts': 256, 'num_experts_per_tok': 8, "
                           "'moe_intermediate_size': 512, 'num_shared_experts': 1, "
                           "'first_k_dense_replace': 1, 'n_group': 8, 'topk_group': 4, "
                           "'layer_group_size': 5, 'use_qk_norm': true, "
                           "'moe_router_enable_expert_bias': true}",
         16.4e9, 2e-3},
        {"{'model_type': 'siglip2_vision_model', 'num_hidden_layers': 12, 'hidden_size': 768, "
         "'num_attention_heads': 12, 'intermediate_size': 3072}",
         86e6, 5e-3},
        {"{'model_type': 'opt', 'num_hidden_layers': 24, 'hidden_size': 1024, 'ffn_dim': 4096, "
         "'num_attention_heads': 16, 'vocab_size': 50272, 'word_embed_proj_dim': 512}",
         331196416.0, 4e-3},
        /* Jais-2-8B, LLaDA-8B, LLaDA-MoE-7B-A1B, LLaDA2.0-mini (16 G) */
        {"{" SHAPE("jais2", 32, 3328, 26, 26, 26624, 150272) "}", 8e9, 0.02},
        {"{'model_type': 'llada', 'd_model': 4096, 'n_heads': 32, 'n_kv_heads': 32, 'n_layers': "
         "32, 'mlp_hidden_size': 12288, 'vocab_size': 126464, 'embedding_size': 126464, "
         "'weight_tying': false, 'include_bias': false, 'include_qkv_bias': false}",
         8.02e9, 1e-3},
        {"{" SHAPE("llada_moe", 16, 2048, 16, 16, 1024,
                   157184) ", 'qk_layernorm': true, 'num_experts': 64, 'num_experts_per_tok': 8, "
                           "'expert_intermediate_size': 1024}",
         7.36e9, 1e-3},
        {"{" SHAPE("llada2_moe", 20, 2048, 16, 4, 5120,
                   157184) ", 'head_dim': 128, 'num_experts': 256, 'num_experts_per_tok': 8, "
                           "'moe_intermediate_size': 512, 'num_shared_experts': 1, "
                           "'first_k_dense_replace': 1, 'n_group': 8, 'topk_group': 4}",
         16.26e9, 1e-3},
    };
    check_claimed(rows, G_N_ELEMENTS(rows));
}

static RhParams mixer_params(const RhModel *m, int32_t layer)
{
    const RhShard one = {.tp = 1};
    return rh_block_params(m, &m->kinds[m->kind_of_layer[layer]], RH_BLOCK_MIXER, &one);
}

/* Keys of 192 columns and values of 128: the output is of the values', and so is what the core sums. */
static void values_may_be_of_another_size_than_keys(void)
{
    g_autoptr(RhModel) m = model_load(MIMO);
    const double all = 4096.0 * (64 * 192 + 4 * (192 + 128) + 64 * 128);
    const double near = 4096.0 * (64 * 192 + 8 * (192 + 128) + 64 * 128);
    CU_ASSERT_EQUAL(mixer_params(m, 0).sharded, all);
    CU_ASSERT_EQUAL(mixer_params(m, 1).sharded, near);
    CU_ASSERT_TRUE(m->kinds[m->kind_of_layer[0]].window_tokens == 0 &&
                   m->kinds[m->kind_of_layer[1]].window_tokens == 128);
    const double n = 2048;
    RhShard shard = {.tp = 1, .sequence = 2048, .microbatch = 1, .dtype = RH_DTYPE_BF16};
    RhFlops f = rh_block_flops(m, &m->kinds[m->kind_of_layer[0]], RH_BLOCK_MIXER, &shard);
    RH_CHECK_CLOSE(f.weights, 2 * n * all, 1e-14);
    RH_CHECK_CLOSE(f.pairs, 64 * 2 * (192 + 128) * n * n / 2, 1e-14);
    /* A token's keys and values, of 2 bytes. */
    shard.cache_bytes = 2;
    RhCacheBytes cache =
        rh_block_cache_bytes(m, &m->kinds[m->kind_of_layer[0]], RH_BLOCK_MIXER, &shard);
    CU_ASSERT_EQUAL(cache.token, 2.0 * 4 * (192 + 128));
}

/* Layers with a window have 96 heads, all others 64; a gate is one column of the first matrix a head. */
static void layers_have_heads_of_their_own_number(void)
{
    g_autoptr(RhModel) step = model_load(STEP3_5);
    CU_ASSERT_EQUAL(mixer_params(step, 0).sharded, 4096.0 * (128 * (64 + 8 + 8 + 64) + 64));
    CU_ASSERT_EQUAL(mixer_params(step, 1).sharded, 4096.0 * (128 * (96 + 8 + 8 + 96) + 96));
    CU_ASSERT_EQUAL(step->kinds[step->kind_of_layer[2]].experts, 0);
    CU_ASSERT_EQUAL(step->kinds[step->kind_of_layer[3]].experts, 288);
    g_autoptr(RhModel) laguna = model_load(
        LAGUNA(2, ", 'num_attention_heads_per_layer': [48, 64], 'layer_types': ['full_attention', "
                  "'sliding_attention'], 'gating': 'per-head'"));
    CU_ASSERT_EQUAL(mixer_params(laguna, 0).sharded, 2048.0 * (128 * (48 + 8 + 8 + 48) + 48));
    CU_ASSERT_EQUAL(mixer_params(laguna, 1).sharded, 2048.0 * (128 * (64 + 8 + 8 + 64) + 64));
    g_autoptr(RhModel) column = model_load(LAGUNA(2, ", 'gating': 'per-element'"));
    CU_ASSERT_EQUAL(mixer_params(column, 0).sharded, 2048.0 * 128 * (48 + 8 + 8 + 48 + 48));
    g_autoptr(RhModel) none = model_load(LAGUNA(2, ", 'gating': false"));
    CU_ASSERT_EQUAL(mixer_params(none, 0).sharded, 2048.0 * 128 * (48 + 8 + 8 + 48));
}

/* Mellum 2 is Qwen 3's mixture with windows; Klear's has a shared expert, and a weight of it. */
static void kin_of_a_mixture_count_as_it_does(void)
{
#define QWEN(type, rest)                                                                           \
    "{" SHAPE(type, 4, 1024, 8, 2, 512, 32000) ", 'head_dim': 128, 'num_experts': 16, "            \
                                               "'num_experts_per_tok': 2, "                        \
                                               "'moe_intermediate_size': 256" rest "}"
    g_autoptr(RhModel) qwen = model_load(QWEN("qwen3_moe", ""));
    g_autoptr(RhModel) mellum =
        model_load(QWEN("mellum", ", 'sliding_window': 1024, 'layer_types': [" FOUR "]"));
    g_autoptr(RhModel) klear = model_load(QWEN("Klear", ", 'n_shared_experts': 1"));
    CU_ASSERT_EQUAL(rh_model_params(mellum), rh_model_params(qwen));
    CU_ASSERT_EQUAL(mellum->kinds_count, 2);
    CU_ASSERT_EQUAL(rh_model_params(klear),
                    rh_model_params(qwen) + 4 * (3 * 1024 * 256 + 1024 + 16));
}

/* --- Files as they are --- */

/* CLIP's reader of ViT-B/32: 63,165,952 (openai/clip-vit-base-patch32, its text_model). */
static void towers_are_read_alone(void)
{
    g_autoptr(RhModel) m =
        model_load("{'model_type': 'clip_text_model', 'num_hidden_layers': 12, 'hidden_size': 512, "
                   "'num_attention_heads': 8, 'intermediate_size': 2048}");
    CU_ASSERT_EQUAL(rh_model_params(m), 63165952);
    g_autoptr(GError) error = NULL;
    g_autoptr(RhModel) both = model_parse(
        "{'model_type': 'clipseg', 'text_config': {'model_type': 'clipseg_text_model', "
        "'num_hidden_layers': 12, 'hidden_size': 512, 'num_attention_heads': 8, "
        "'intermediate_size': 2048}, 'vision_config': {'model_type': 'clipseg_vision_model'}}",
        &error);
    CU_ASSERT_PTR_NULL(both);
    CU_ASSERT_PTR_NOT_NULL_FATAL(error);
    CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "two towers side by side"));
}

/* Keys that say of more parameters than the family has; of as many, or none, they are no matter. */
static void parameters_that_are_not_known_are_refused(void)
{
#define LLAMA(rest) "{" SHAPE("llama", 2, 256, 8, 2, 512, 1000) rest "}"
#define GRANITE(rest)                                                                              \
    "{" SHAPE("granitemoe", 2, 256, 8, 2, 512, 1000) ", 'num_local_experts': 8, "                  \
                                                     "'num_experts_per_tok': 2" rest "}"
    static const struct {
        const char *config, *message;
    } rows[] = {{LLAMA(", 'qkv_bias': true"), "biases of queries, keys and values"},
                {LLAMA(", 'use_qk_norm': true"), "norms of queries and keys"},
                {LLAMA(", 'qkv_bias': false, 'attention_bias': true"), NULL},
                {GRANITE(", 'shared_intermediate_size': 1024"), "shared experts"},
                {GRANITE(", 'shared_intermediate_size': 0"), NULL},
                {"{" SHAPE("qwen3", 2, 256, 8, 2, 512, 1000) ", 'use_qk_norm': true}", NULL}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(RhModel) m = model_parse(rows[i].config, &error);
        CU_ASSERT_EQUAL(m == NULL, rows[i].message != NULL);
        CU_ASSERT_TRUE(rows[i].message == NULL || m != NULL ||
                       strstr(error->message, rows[i].message) != NULL);
    }
}

#define NO_LATENTS                                                                                  \
    "'hidden_size': 1280, 'intermediate_size': 6848, 'kv_lora_rank': null, 'q_lora_rank': null, "   \
    "'qk_nope_head_dim': 0, 'qk_rope_head_dim': 0, 'v_head_dim': 0, 'use_mla': false, "             \
    "'moe_intermediate_size': 896, 'n_group': 1, 'topk_group': 1, 'n_routed_experts': 64, "         \
    "'n_shared_experts': 2, 'num_experts_per_tok': 6, 'first_k_dense_replace': 1, "                 \
    "'num_attention_heads': 10, 'num_hidden_layers': 12, 'num_key_value_heads': 10, 'vocab_size': " \
    "129280"

/* DeepSeek-OCR says its decoder twice, in a part without a type and at the top under the whole's; it has no latents.
 * 64 experts and two shared ones of 896 in eleven layers. */
static void a_switch_makes_a_family_another(void)
{
    g_autoptr(RhModel) m = model_load(
        "{'model_type': 'DeepseekOCR', 'language_config': {'architectures': "
        "['DeepseekV2ForCausalLM'], " NO_LATENTS "}, 'vision_config': {}, " NO_LATENTS "}");
    CU_ASSERT_STRING_EQUAL(m->family, "deepseek");
    int64_t attention = 4LL * 1280 * 1280, expert = 3LL * 1280 * 896;
    CU_ASSERT_EQUAL(rh_model_params(m), 2LL * 129280 * 1280 + 1280 + 12 * (attention + 2 * 1280) +
                                            3LL * 1280 * 6848 + 11 * (66 * expert + 64 * 1280));
}

/* What MiniCPM-V's and -o's versions are built on. */
static void a_version_tells_the_decoder(void)
{
#define MINICPM(type, rest)                                                                        \
    "{" SHAPE(type, 2, 256, 8, 2, 512, 1000) ", 'architectures': ['MiniCPMV']" rest "}"
    static const struct {
        const char *config, *family;
    } rows[] = {{MINICPM("minicpmv", ""), "minicpm"},
                {MINICPM("minicpmv", ", 'version': 2.5"), "llama"},
                {MINICPM("minicpmv", ", 'version': 2.6"), "qwen2"},
                {MINICPM("minicpmv", ", 'version': '4.5'"), "qwen3"},
                {MINICPM("minicpmo", ", 'version': '2.6'"), "qwen2"}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(RhModel) m = model_load(rows[i].config);
        CU_ASSERT_STRING_EQUAL(m->family, rows[i].family);
    }
}

/* Molmo-7B-D is Qwen2-7B (7,615,616,512 parameters) under other names. */
static void molmo_is_a_qwen_under_other_names(void)
{
    g_autoptr(RhModel) m = model_load("{" SHAPE(
        "molmo", 28, 3584, 28, 4, 37888, 152064) ", 'qkv_bias': true, 'weight_tying': false}");
    g_autoptr(RhModel) qwen = model_load("{" SHAPE("qwen2", 28, 3584, 28, 4, 18944, 152064) "}");
    CU_ASSERT_EQUAL(rh_model_params(m), rh_model_params(qwen));
}

/* One error, and not what would follow of a model of one layer. */
static void a_missing_number_of_layers_is_told_once(void)
{
    static const char *const configs[] = {
        "{'model_type': 'gemma3n_text', 'hidden_size': 256, 'num_attention_heads': 8, "
        "'num_key_value_heads': 2, 'intermediate_size': 512, 'vocab_size': 1000, "
        "'num_kv_shared_layers': 2}",
        "{'model_type': 'albert', 'hidden_size': 256, 'num_attention_heads': 8, "
        "'intermediate_size': 512, 'vocab_size': 1000, 'num_hidden_groups': 2}"};
    for (size_t i = 0; i < G_N_ELEMENTS(configs); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(RhModel) m = model_parse(configs[i], &error);
        CU_ASSERT_PTR_NULL(m);
        CU_ASSERT_PTR_NOT_NULL_FATAL(error);
        CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "\"num_hidden_layers\" is missing"));
        CU_ASSERT_PTR_NULL(strstr(error->message, "error: "));
    }
}

int main(void)
{
    return rh_test_main(
        "newcomers",
        (RhTest[]){
            {"parameters_are_near_the_claim", parameters_are_near_the_claim},
            {"values_may_be_of_another_size_than_keys", values_may_be_of_another_size_than_keys},
            {"layers_have_heads_of_their_own_number", layers_have_heads_of_their_own_number},
            {"kin_of_a_mixture_count_as_it_does", kin_of_a_mixture_count_as_it_does},
            {"a_switch_makes_a_family_another", a_switch_makes_a_family_another},
            {"towers_are_read_alone", towers_are_read_alone},
            {"parameters_that_are_not_known_are_refused",
             parameters_that_are_not_known_are_refused},
            {"a_version_tells_the_decoder", a_version_tells_the_decoder},
            {"molmo_is_a_qwen_under_other_names", molmo_is_a_qwen_under_other_names},
            {"a_missing_number_of_layers_is_told_once", a_missing_number_of_layers_is_told_once},
            {0}});
}
