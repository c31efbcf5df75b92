/* Decoders near a Llama: what their files say in ways of their own; counts made here by hand. */
#include "tests/kit/model_counts.h"

/* Returns the training FLOPs of attention for a token, `heads` heads of `size` columns: two
 * products over half of the square, three times. */
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
 * once. What tells when to stop is left out, 2,049.
 * Source: the weights of ByteDance/Ouro-1.4B. */
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

/* The output gate of two layers, the first dense, is made of the 1,536 columns of the queries'
 * latent and not of 7,168. */
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

/* Solar Open 2 (huggingface.co/upstage/Solar-Open2-250B): the first of every four layers attends.
 * Source: the model card of upstage/Solar-Open2-250B. */
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

#define GEMMA4(type, rest)                                                                         \
    "{" SHAPE(type, 6, 3840, 16, 8, 15360, 262144) ", 'head_dim': 256, 'attention_k_eq_v': true, " \
                                                   "'sliding_window': 1024" rest "}"

/* Gemma 4's files say its wide layers' heads for all, or, since transformers 5.15, layer by layer. */
static void figures_of_single_layers_are_read(void)
{
    g_autoptr(RhModel) flat = model_load(
        GEMMA4("gemma4_text", ", 'global_head_dim': 512, 'num_global_key_value_heads': 1"));
    g_autoptr(RhModel) own =
        model_load(GEMMA4("gemma4_unified_text", ", 'per_layer_config': {'05': {'head_dim': 512, "
                                                 "'num_key_value_heads': 1}}"));
    CU_ASSERT_EQUAL(rh_model_params(flat), rh_model_params(own));
    CU_ASSERT_EQUAL(own->kinds[1].head_size, 512);
    CU_ASSERT_EQUAL(own->kinds[1].kv_heads, 1);
    CU_ASSERT_EQUAL(rh_model_flops_per_token(flat, 4096), rh_model_flops_per_token(own, 4096));
    /* keys that are no values are as many as in other layers */
    g_autoptr(RhModel) apart =
        model_load("{" SHAPE("gemma4_text", 6, 256, 8, 4, 512,
                             1000) ", 'head_dim': 32, 'global_head_dim': 64, "
                                   "'num_global_key_value_heads': 2, 'attention_k_eq_v': false}");
    CU_ASSERT_EQUAL(apart->kinds[1].kv_heads, 4);
}

static void layers_may_do_without_a_block(void)
{
#define LAYERS_OF(own)                                                                             \
    "{" SHAPE("llama", 4, 256, 8, 2, 512, 1000) ", 'per_layer_config': {" own "}}"
    g_autoptr(RhModel) m = model_load(
        LAYERS_OF("'1': {'intermediate_size': 1024}, '2': {'skip': ['attention']}, '3': {'skip': "
                  "['mlp'], 'num_key_value_heads': 8, 'head_dim': 32}"));
    const int64_t h = 256, attention = h * 32 * (8 + 2 + 2 + 8) + h, ffn = 3 * h * 512 + h;
    CU_ASSERT_EQUAL(rh_model_params(m),
                    3 * attention + 2 * h * 32 * 6 + 3 * ffn + 3 * h * 512 + 2 * 1000 * h + h);
    check_refused(LAYERS_OF("'1': {'rotten': 3}"), "\"rotten\" of one layer is not supported");
    check_refused(LAYERS_OF("'1': {'skip': ['mixer']}"), "a layer without \"mixer\"");
    check_refused(LAYERS_OF("'4': {'head_dim': 3}"), "\"4\" is not a layer of 4");
    check_refused(LAYERS_OF("'1': 3"), "\"1\" is not a layer of 4");
    g_autoptr(RhModel) near = model_load(
        "{" SHAPE("qwen2", 3, 256, 8, 2, 512, 1000) ", 'sliding_window': null, 'per_layer_config': "
                                                    "{'0': {'sliding_window': 64}, '2': "
                                                    "{'sliding_window': null}}}");
    CU_ASSERT_EQUAL(near->kinds[near->kind_of_layer[0]].window_tokens, 64);
    CU_ASSERT_EQUAL(near->kinds[near->kind_of_layer[1]].window_tokens, 0);
    CU_ASSERT_EQUAL(near->kinds[near->kind_of_layer[2]].window_tokens, 0);
}

/* EmbeddingGemma (arXiv 2509.20354, 302,863,104 parameters in its stack and table) and gte-Qwen2 see later tokens.
 * Source: EmbeddingGemma report (arXiv 2509.20354). */
static void decoders_may_see_both_ways(void)
{
    static const struct {
        const char *rest;
        bool bidirectional;
    } rows[] = {{"", false},
                {", 'is_causal': true", false},
                {", 'is_causal': false", true},
                {", 'use_bidirectional_attention': true", true},
                {", 'use_bidirectional_attention': 'all'", true},
                {", 'use_bidirectional_attention': 'vision'", false},
                {", 'use_bidirectional_attention': null", false}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *text = g_strconcat("{" SHAPE("gemma3_text", 24, 768, 3, 1, 1152, 262144),
                                            rows[i].rest, "}", NULL);
        g_autoptr(RhModel) m = model_load(text);
        CU_ASSERT_EQUAL(rh_model_params(m), 302863104);
        CU_ASSERT_EQUAL(m->kinds[0].bidirectional, rows[i].bidirectional);
        CU_ASSERT_STRING_EQUAL(rh_operator_name(m->kinds[0].mixer),
                               rows[i].bidirectional ? "attention both ways" : "attention");
        CU_ASSERT_EQUAL(rh_model_makes_tokens(m), !rows[i].bidirectional);
    }
}

/* Jina's second base model, 137,368,320 with its pooler: less that, and with a norm and biases that are none.
 * Source: the weights of jinaai/jina-embeddings-v2-base-en and bert-base-uncased. */
static void files_that_say_another_kind_are_no_plain_ones(void)
{
    g_autoptr(RhModel) jina =
        model_load("{" SHAPE("bert", 12, 768, 12, 12, 3072,
                             30528) ", 'feed_forward_type': 'geglu', 'position_embedding_type': "
                                    "'alibi', 'max_position_embeddings': 8192}");
    CU_ASSERT_EQUAL(rh_model_params(jina), 137368320 - 590592 + 1536 + 12 * 2 * 3072);
    /* layoutlm-base-uncased 113 M, with BERT's pooler: four tables of 1,024 rows beside bert-base-uncased's 109,482,240 */
    g_autoptr(RhModel) boxes = model_load("{" SHAPE("layoutlm", 12, 768, 12, 12, 3072, 30522) "}");
    CU_ASSERT_EQUAL(rh_model_params(boxes), 109482240 - 590592 + 1536 + 4 * 1024 * 768);
    g_autoptr(RhModel) passages = model_load("{" SHAPE("dpr", 12, 768, 12, 12, 3072, 30522) "}");
    CU_ASSERT_EQUAL(rh_model_params(passages), 109482240 - 590592 + 1536);
    g_autoptr(RhModel) plain = model_load(
        "{" SHAPE("bert", 12, 768, 12, 12, 3072, 30528) ", 'feed_forward_type': 'original'}");
    CU_ASSERT_STRING_EQUAL(plain->family, "bert");
    check_refused("{" SHAPE("llama", 1, 4096, 32, 8, 14336, 128256) ", 'draft_vocab_size': 32000}",
                  "a head that drafts tokens");
    check_refused("{" SHAPE("esm", 36, 2560, 40, 40, 10240, 33) ", 'is_folding_model': true}",
                  "one that folds proteins");
}

int main(void)
{
    return rh_test_main(
        "model_variants",
        (RhTest[]){{"layers_of_openelm_are_as_wide_as_a_list_says",
                    layers_of_openelm_are_as_wide_as_a_list_says},
                   {"layers_that_are_gone_through_again_count_once",
                    layers_that_are_gone_through_again_count_once},
                   {"windows_stand_where_switches_say", windows_stand_where_switches_say},
                   {"a_gate_may_read_the_queries_latent", a_gate_may_read_the_queries_latent},
                   {"solar_open_2_attends_in_the_first_of_four_layers",
                    solar_open_2_attends_in_the_first_of_four_layers},
                   {"figures_of_single_layers_are_read", figures_of_single_layers_are_read},
                   {"layers_may_do_without_a_block", layers_may_do_without_a_block},
                   {"decoders_may_see_both_ways", decoders_may_see_both_ways},
                   {"files_that_say_another_kind_are_no_plain_ones",
                    files_that_say_another_kind_are_no_plain_ones},
                   {0}});
}
