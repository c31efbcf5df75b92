/* Decoders near a llama (families_kin.c): counts made here by hand, beside what their authors say. */
#include "tests/model_counts.h"

/* What attention of `heads` heads of `size` columns does in training for a token: two products over half of the square,
 * three times. */
static double attention_flops(double layers, double heads, double size, double s)
{
    return 3 * layers * heads * 2 * (2 * size) * s / 2;
}

#define OPENELM(layers, hidden, widths, queries, keys)                                             \
    "{'model_type': 'openelm', 'num_transformer_layers': " #layers ", 'model_dim': " #hidden       \
    ", 'head_dim': 64, 'vocab_size': 32000, 'ffn_dim_divisor': 256, 'ffn_with_glu': true, "        \
    "'normalize_qk_projections': true, 'share_input_output_layers': true, "                        \
    "'ffn_multipliers': [" widths "], 'num_query_heads': [" queries "], 'num_kv_heads': [" keys    \
    "]}"

static const char OPENELM_270M[] =
    OPENELM(16, 1280,
            "0.5, 0.73, 0.97, 1.2, 1.43, 1.67, 1.9, 2.13, 2.37, 2.6, 2.83, 3.07, 3.3, 3.53, 3.77, "
            "4.0",
            "12, 12, 12, 12, 12, 16, 16, 16, 16, 16, 16, 16, 20, 20, 20, 20",
            "3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 5, 5, 5, 5");

static const char OPENELM_1_1B[] = OPENELM(
    28, 2048,
    "0.5, 0.63, 0.76, 0.89, 1.02, 1.15, 1.28, 1.41, 1.54, 1.67, 1.8, 1.93, 2.06, 2.19, 2.31, 2.44, "
    "2.57, 2.7, 2.83, 2.96, 3.09, 3.22, 3.35, 3.48, 3.61, 3.74, 3.87, 4.0",
    "16, 16, 16, 20, 20, 20, 20, 20, 20, 20, 24, 24, 24, 24, 24, 24, 24, 24, 28, 28, 28, 28, 28, "
    "28, 32, 32, 32, 32",
    "4, 4, 4, 5, 5, 5, 5, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 6, 7, 7, 7, 7, 7, 7, 8, 8, 8, 8");

/* 0.27 and 1.08 G (arXiv 2404.14619, table 4); each layer is of a kind of its own. */
static void layers_of_openelm_are_as_wide_as_a_list_says(void)
{
    static const ExactCount rows[] = {{OPENELM_270M, 271527168}, {OPENELM_1_1B, 1079891456}};
    check_exact(rows, G_N_ELEMENTS(rows));
    g_autoptr(RhModel) m = model_load(OPENELM_1_1B);
    static const int64_t widths[] = {1024, 1280, 1536, 1792, 2048, 2304, 2560, 2816, 3072, 3328};
    for (int i = 0; i < (int)G_N_ELEMENTS(widths); i++)
        CU_ASSERT_EQUAL(m->kinds[m->kind_of_layer[i]].ffn_width, widths[i]);
    CU_ASSERT_EQUAL(m->kinds[m->kind_of_layer[27]].ffn_width, 8192);
    CU_ASSERT_TRUE(m->kinds_count > 16);
    check_refused("{'model_type': 'openelm', 'num_transformer_layers': 2, 'model_dim': 256, "
                  "'head_dim': 64, 'vocab_size': 1000, 'num_query_heads': 4, 'num_kv_heads': 2}",
                  "\"ffn_multipliers\" is missing");
    /* 0.3 hidden states are 300 columns: 256 lose more than a tenth */
    g_autoptr(RhModel) narrow = model_load(OPENELM(1, 1000, "0.3", "4", "2"));
    CU_ASSERT_EQUAL(narrow->kinds[0].ffn_width, 512);
}

#define OURO(steps)                                                                                         \
    "{" SHAPE(                                                                                              \
        "ouro", 24, 2048, 16, 16, 5632,                                                                     \
        49152) ", 'layer_types': ['full_attention', "                                                       \
               "'full_attention', 'full_attention', 'full_attention', 'full_attention', 'full_attention', " \
               "'full_attention', 'full_attention', 'full_attention', 'full_attention', 'full_attention', " \
               "'full_attention', 'full_attention', 'full_attention', 'full_attention', 'full_attention', " \
               "'full_attention', 'full_attention', 'full_attention', 'full_attention', 'full_attention', " \
               "'full_attention', 'full_attention', 'full_attention'], 'total_ut_steps': " #steps           \
               "}"

/* 1.4 G parameters that are used four times (arXiv 2510.25741): the weights' FLOPs are four times a llama's, the head's
 * once. What tells when to stop is left out, 2,049. */
static void layers_that_are_gone_through_again_count_once(void)
{
    const double h = 2048, f = 5632, v = 49152, layer = 4 * h * h + 3 * h * f;
    g_autoptr(RhModel) m = model_load(OURO(4));
    g_autoptr(RhModel) once = model_load(OURO(1));
    CU_ASSERT_EQUAL(rh_model_params(m), 1434652673 - 2049);
    CU_ASSERT_EQUAL(rh_model_params(once), rh_model_params(m));
    CU_ASSERT_EQUAL(m->layers_count, 96);
    CU_ASSERT_TRUE(rh_model_shares_layers(m) && !rh_model_shares_layers(once));
    RH_CHECK_CLOSE(rh_model_flops_per_token(m, 4096),
                   6 * (96 * layer + h * v) + attention_flops(96, 16, 128, 4096), 1e-12);
    RH_CHECK_CLOSE(rh_model_flops_per_token(once, 4096),
                   6 * (24 * layer + h * v) + attention_flops(24, 16, 128, 4096), 1e-12);
    CU_ASSERT_TRUE(rh_model_set(m, "layers", "8", NULL));
    CU_ASSERT_EQUAL(rh_model_params(m), (int64_t)(2 * (layer + 4 * h) + 2 * h * v + h));
    CU_ASSERT_FALSE(rh_model_set(m, "layers", "6", NULL)); /* four times what? */
}

/* SmallThinker 4B-A0.6B (arXiv 2507.20984) as its file is; of the 21B-A3B three of four layers look at a window. */
static void windows_stand_where_switches_say(void)
{
    g_autoptr(RhModel) m = model_load(
        "{'model_type': 'smallthinker', 'num_hidden_layers': 4, 'hidden_size': 1536, 'head_dim': "
        "128, 'num_attention_heads': 12, 'num_key_value_heads': 2, 'moe_ffn_hidden_size': 768, "
        "'moe_num_primary_experts': 32, 'moe_num_active_primary_experts': 4, "
        "'sliding_window_size': 4096, 'sliding_window_layout': [0, 1, 1, 1], 'rope_layout': [0, 1, "
        "1, 1], 'tie_word_embeddings': true, 'vocab_size': 151936}");
    const double h = 1536, attention = h * 128 * (12 + 2 + 2 + 12), expert = 3 * h * 768;
    CU_ASSERT_EQUAL(rh_model_params(m),
                    (int64_t)(4 * (attention + 32 * (expert + h) + 2 * h) + 151936 * h + h));
    CU_ASSERT_EQUAL(memcmp(m->kind_of_layer, (uint8_t[]){0, 1, 1, 1}, 4), 0);
    CU_ASSERT_TRUE(m->kinds[0].window_tokens == 0 && m->kinds[1].window_tokens == 4096);
    RH_CHECK_CLOSE(rh_model_flops_per_token(m, 2048),
                   6 * (4 * (attention + 32 * h + 4 * expert) + 151936 * h) +
                       attention_flops(4, 12, 128, 2048),
                   1e-12);
}

#define AXK2(layers, rest)                                                                                   \
    "{" SHAPE(                                                                                               \
        "AXK2", layers, 7168, 64, 64, 18432,                                                                 \
        163840) ", 'kv_lora_rank': 512, "                                                                    \
                "'q_lora_rank': 1536, 'qk_nope_head_dim': 128, 'qk_rope_head_dim': 64, 'v_head_dim': 128, "  \
                "'n_routed_experts': 256, 'num_experts_per_tok': 8, 'n_shared_experts': 1, "                 \
                "'moe_intermediate_size': 2048, 'first_k_dense_replace': 1, 'n_group': 8, 'topk_group': 4, " \
                "'gated_norm': true, 'gated_norm_rank': 16, 'index_n_heads': 64, 'index_head_dim': 128, "    \
                "'index_topk': 2048" rest "}"

/* Of two layers, the first dense: what scales attention's output is made of 1,536 columns and not of 7,168. */
static void a_gate_may_read_the_queries_latent(void)
{
    g_autoptr(RhModel) gated = model_load(AXK2(2, ", 'attention_output_gate': true"));
    g_autoptr(RhModel) plain = model_load(AXK2(2, ", 'attention_output_gate': false"));
    const int64_t h = 7168, down = h * (1536 + 512 + 64);
    const int64_t up = 1536LL * 64 * 192 + 512LL * 64 * 256 + 64LL * 128 * h;
    const int64_t index = 1536LL * 64 * 128 + h * (128 + 64), expert = 3 * h * 2048;
    const int64_t norms = 2 * h + 1536 + 512 + 2 * 128;
    CU_ASSERT_EQUAL(rh_model_params(plain), 2 * (down + up + index + norms) + 3 * h * 18432 +
                                                257 * expert + 256 * h + 256 + 2 * 163840 * h + h);
    CU_ASSERT_EQUAL(rh_model_params(gated) - rh_model_params(plain), 2 * 1536LL * 64 * 128);
    RH_CHECK_CLOSE(rh_model_flops_per_token(gated, 1024) - rh_model_flops_per_token(plain, 1024),
                   6.0 * 2 * 1536 * 64 * 128, 1e-9);
    check_refused("{" SHAPE("AXK2", 2, 7168, 64, 64, 18432, 163840) ", 'kv_lora_rank': 512}",
                  "\"index_topk\" is missing");
}

#define SOLAR2(layers, rest)                                                                                 \
    "{" SHAPE(                                                                                               \
        "solar_open2", layers, 4096, 64, 8, 10240,                                                           \
        196608) ", 'head_dim': 128, "                                                                        \
                "'moe_intermediate_size': 1280, 'n_routed_experts': 320, 'n_shared_experts': 1, "            \
                "'num_experts_per_tok': 8, 'n_group': 1, 'topk_group': 1, 'linear_attn_config': "            \
                "{'short_conv_kernel_size': 4, 'head_dim': 128, 'num_heads': 64, 'num_kv_heads': null}" rest \
                "}"

/* Solar Open 2 (huggingface.co/upstage/Solar-Open2-250B): the first of every four layers attends. */
static void solar_open_2_attends_in_the_first_of_four_layers(void)
{
    const int64_t h = 4096, width = 64 * 128;
    const int64_t attention = h * width * 3 + 2 * h * 8 * 128; /* q, gate, out; k, v */
    const int64_t delta =
        4 * h * width + h * 64 + 2 * (h * 128 + 128 * width) + 3 * 4 * width + width + 64 + 128;
    const int64_t ffn = 321 * 3 * h * 1280 + 320 * h + 320, norms = 2 * h;
    g_autoptr(RhModel) m = model_load(SOLAR2(4, ""));
    CU_ASSERT_EQUAL(rh_model_params(m),
                    attention + 3 * delta + 4 * (ffn + norms) + 2 * 196608 * h + h);
    CU_ASSERT_EQUAL(memcmp(m->kind_of_layer, (uint8_t[]){0, 1, 1, 1}, 4), 0);
    g_autoptr(RhModel) whole = model_load(SOLAR2(48, ""));
    RH_CHECK_CLOSE((double)rh_model_params(whole), 250e9, 2e-3);
    g_autoptr(RhModel) listed = model_load(SOLAR2(4, ", 'gqa_layers': [1]"));
    CU_ASSERT_EQUAL(memcmp(listed->kind_of_layer, (uint8_t[]){0, 1, 0, 0}, 4), 0);
    CU_ASSERT_EQUAL(rh_model_params(listed), rh_model_params(m));
}

/* Names' claims: Solar Pro 22 G, IQuest-Coder 40 G, TeleChat 2 35 G, Sarvam 30 G (32.15 with its tables). */
static void kin_are_near_the_claim(void)
{
    static const ClaimedCount rows[] = {
        {"{" SHAPE("solar", 64, 5120, 40, 10, 17920, 32128) ", 'sliding_window': 2047}", 22.1e9,
         5e-3},
        {"{" SHAPE("iquestcoder", 80, 5120, 40, 8, 27648, 76800) ", 'head_dim': 128}", 40e9, 1e-2},
        {"{'model_type': 'telechat', 'n_layer': 64, 'hidden_size': 6144, 'n_head': 48, "
         "'num_key_value_heads': 48, 'ffn_hidden_size': 20480, 'vocab_size': 131072}",
         35e9, 1.2e-2},
        {"{" SHAPE(
             "sarvam_moe", 19, 4096, 64, 4, 8192,
             262144) ", 'head_dim': 64, 'num_experts': "
                     "128, 'num_experts_per_tok': 6, 'moe_intermediate_size': 1024, 'num_shared_experts': 1, "
                     "'first_k_dense_replace': 1, 'use_qk_norm': true}",
         32.15e9, 1e-3},
    };
    check_claimed(rows, G_N_ELEMENTS(rows));
}

int main(void)
{
    return rh_test_main(
        "families_kin",
        (RhTest[]){{"layers_of_openelm_are_as_wide_as_a_list_says",
                    layers_of_openelm_are_as_wide_as_a_list_says},
                   {"layers_that_are_gone_through_again_count_once",
                    layers_that_are_gone_through_again_count_once},
                   {"windows_stand_where_switches_say", windows_stand_where_switches_say},
                   {"a_gate_may_read_the_queries_latent", a_gate_may_read_the_queries_latent},
                   {"solar_open_2_attends_in_the_first_of_four_layers",
                    solar_open_2_attends_in_the_first_of_four_layers},
                   {"kin_are_near_the_claim", kin_are_near_the_claim},
                   {0}});
}
