/* Models: published parameter counts, the keys of each family, what is refused and how. */
#include "workloads/model.h"

#include <glib/gstdio.h>
#include <string.h>

#include "base/catalogue_folders.h"
#include "base/error.h"
#include "tests/kit/model_counts.h"
#include "tests/kit/testkit.h"
#include "workloads/config/family_keys.h"

#define LLAMA(rest)                                                                                \
    "{'model_type': 'llama', 'num_hidden_layers': 2, 'hidden_size': 256, 'num_attention_heads': "  \
    "8, 'intermediate_size': 512, 'vocab_size': 1000" rest "}"

#define SLIDING(rest)                                                                              \
    "{'model_type': 'qwen2', 'num_hidden_layers': 4, 'hidden_size': 256, 'num_attention_heads': "  \
    "8, 'num_key_value_heads': 4, 'intermediate_size': 512, 'vocab_size': 1000, "                  \
    "'use_sliding_window': true, 'sliding_window': 128, " rest "}"

/* Narayanan et al. 2021, table 1: billions as printed, and equation 2,
 * P = 12 l h^2 (1 + 13 / 12h + (V + s) / 12 l h), which leaves out the final norm. */
static const struct {
    const char *name;
    double billions;
} TABLE_1[] = {
    {"gpt-1.7b", 1.7},   {"gpt-3.6b", 3.6},  {"gpt-7.5b", 7.5},   {"gpt-18b", 18.4},
    {"gpt-39b", 39.1},   {"gpt-76b", 76.1},  {"gpt-145b", 145.6}, {"gpt-310b", 310.1},
    {"gpt-530b", 529.6}, {"gpt-1t", 1008.0},
};

/* Each GPT of the paper's weak scaling study has the parameters printed there. Source: Narayanan
 * et al. 2021 (arXiv 2104.04473), table 1. */
static void megatrons_table_1_is_in_the_catalogue(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(TABLE_1); i++) {
        g_autoptr(RhModel) m = rh_model_load(TABLE_1[i].name, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(m);
        double params = (double)rh_model_params(m), l = m->layers_count, h = (double)m->hidden;
        CU_ASSERT_TRUE(params / 1e9 > TABLE_1[i].billions - 0.0501);
        CU_ASSERT_TRUE(params / 1e9 < TABLE_1[i].billions + 0.0501);
        double equation_2 = 12 * l * h * h * (1 + 13 / (12 * h) + (51200 + 2048.0) / (12 * l * h));
        RH_CHECK_CLOSE(params, equation_2 + 2 * h, 1e-12);
    }
}

/* Brown et al. 2020 (arXiv 2005.14165): layers, columns and heads of table 2.1, parameters of table D.1 in
 * millions as printed; 50,257 words and 2,048 positions. The columns of 13B are 40 heads of 128.
 * Source: Brown et al. 2020 (arXiv 2005.14165), tables 2.1 and D.1. */
static void gpt_3_has_the_parameters_of_its_table(void)
{
    static const struct {
        int32_t layers, hidden, heads;
        double millions, half_digit;
    } rows[] = {{12, 768, 12, 125, 0.5},  {24, 1024, 16, 356, 0.5},   {24, 1536, 16, 760, 0.5},
                {24, 2048, 16, 1320, 5},  {32, 2560, 32, 2650, 5},    {32, 4096, 32, 6660, 5},
                {40, 5120, 40, 12850, 5}, {96, 12288, 96, 174600, 50}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(RhModel) m =
            rh_model_gpt("gpt-3", rows[i].layers, rows[i].hidden, rows[i].heads, 0, 50257, 2048);
        CU_ASSERT_DOUBLE_EQUAL((double)rh_model_params(m) / 1e6, rows[i].millions,
                               rows[i].half_digit);
    }
}

#define DEEPSEEK(layers, hidden, heads, ffn, vocab, rest)                                          \
    "{'model_type': 'deepseek_v2', 'num_hidden_layers': " layers ", 'hidden_size': " hidden        \
    ", 'num_attention_heads': " heads ", 'intermediate_size': " ffn ", 'vocab_size': " vocab       \
    ", 'kv_lora_rank': 512, 'qk_nope_head_dim': 128, 'qk_rope_head_dim': 64, 'v_head_dim': 128, "  \
    "'num_key_value_heads': " heads rest "}"

#define V2_LITE(rest) DEEPSEEK("27", "2048", "16", "10944", "102400", ", 'q_lora_rank': null" rest)

static void a_mixture_says_which_layers_have_experts(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhModel) m =
        model_parse(V2_LITE(", 'n_routed_experts': 64, 'num_experts_per_tok': 6, "
                            "'moe_intermediate_size': 1408, 'first_k_dense_replace': 3"),
                    &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CU_ASSERT_EQUAL(m->kinds_count, 2);
    for (int32_t i = 0; i < m->layers_count; i++) {
        const RhLayerKind *kind = &m->kinds[m->kind_of_layer[i]];
        CU_ASSERT_EQUAL(kind->experts, i < 3 ? 0 : 64);
        CU_ASSERT_EQUAL(kind->ffn_width, i < 3 ? 10944 : 1408);
    }
    CU_ASSERT_TRUE(rh_model_set(m, "first_k_dense_replace", "27", NULL));
    CU_ASSERT_EQUAL(m->kinds_count, 1);
    CU_ASSERT_TRUE(rh_model_set(m, "first_k_dense_replace", "0", NULL));
    CU_ASSERT_FALSE(rh_model_set(m, "experts_per_token", "65", &error));
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_USAGE));
    check_refused(V2_LITE(", 'n_routed_experts': 64"), "num_experts_per_tok 0 of 64 experts");
    check_refused(LLAMA(", 'n_routed_experts': 64"), "mixture of experts");
}

/* The decoder of a model that sees pictures is the text's part alone.
 * Source: the weights of Qwen/Qwen3-8B. */
static void a_decoder_may_be_a_part_of_a_larger_model(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhModel) m = model_parse(
        "{'model_type': 'qwen3_vl', 'vision_config': {'depth': 24, 'model_type': 'qwen3_vl'}, "
        "'text_config': {'model_type': 'qwen3_vl_text', 'num_hidden_layers': 36, "
        "'hidden_size': 4096, 'num_attention_heads': 32, 'num_key_value_heads': 8, "
        "'intermediate_size': 12288, 'vocab_size': 151936}}",
        &error);
    g_assert_no_error(error);
    CU_ASSERT_EQUAL(rh_model_params(m), 8190735360); /* as Qwen3-8B */
    check_refused("{'model_type': 'qwen3_vl', 'text_config': {'model_type': 'qwen9'}}",
                  "model_type \"qwen9\" is not supported");
    check_refused("{'model_type': 'qwen3_vl', 'text_config': 5}", "text_config");
}

/* gpt-oss-20b's published weights, less its 64 attention sinks a layer.
 * Source: the weights of openai/gpt-oss-20b. */
static void experts_may_have_biases(void)
{
    g_autoptr(RhModel) m =
        model_parse("{'model_type': 'gpt_oss', 'num_hidden_layers': 24, 'hidden_size': 2880, "
                    "'num_attention_heads': 64, 'num_key_value_heads': 8, 'head_dim': 64, "
                    "'intermediate_size': 2880, 'num_local_experts': 32, 'num_experts_per_tok': 4, "
                    "'vocab_size': 201088}",
                    NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CU_ASSERT_EQUAL(rh_model_params(m) + 24 * 64, 20914757184);
}

static void figures_that_follow_from_others_cannot_be_set(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhModel) m = model_parse(V2_LITE(), NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CU_ASSERT_EQUAL(m->kinds[0].head_size, 192);
    CU_ASSERT_FALSE(rh_model_set(m, "head_size", "128", &error));
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_USAGE));
    CU_ASSERT_FALSE(rh_model_set(m, "kv_heads", "4", NULL));
    CU_ASSERT_TRUE(rh_model_set(m, "qk_nope_head_dim", "64", NULL));
    CU_ASSERT_TRUE(m->kinds[0].head_size == 128 && m->kinds[0].v_head_dim == 128);
    CU_ASSERT_TRUE(rh_model_set(m, "heads", "32", NULL));
    CU_ASSERT_TRUE(m->kinds[0].kv_heads == 32 && m->kinds[0].head_size == 128);
}

static void every_catalogue_model_loads(void)
{
    const char *const *names = rh_model_names();
    CU_ASSERT_TRUE(g_strv_length((char **)names) >= 27);
    for (size_t i = 0; names[i] != NULL; i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(RhModel) m = rh_model_load(names[i], &error);
        CU_ASSERT_PTR_NOT_NULL_FATAL(m);
        CU_ASSERT_EQUAL(strlen(m->hash), 64);
        CU_ASSERT_TRUE(i == 0 || strcmp(names[i - 1], names[i]) < 0);
    }
}

/* 6 N with one vocabulary matrix, and 6 L h s for half the square.
 * Source: Megatron-Bridge's flops_utils.py for Llama 3.1 405B. */
static void flops_per_token_are_six_per_parameter_and_attention(void)
{
    g_autoptr(RhModel) m = rh_model_load("llama-3.1-405b", NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    double norms = (2 * 126 + 1) * 16384.0, embedding = 128256.0 * 16384;
    double expected =
        6 * ((double)rh_model_params(m) - norms - embedding) + 6.0 * 126 * 16384 * 8192;
    RH_CHECK_CLOSE(rh_model_flops_per_token(m, 8192), expected, 1e-14);
    RH_CHECK_CLOSE(expected, 2.524e12, 1e-3); /* as Megatron-Bridge counts it */
}

static void defaults_are_those_of_the_family(void)
{
    g_autoptr(RhModel) m = model_parse(LLAMA(), NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CU_ASSERT_EQUAL(m->kinds[0].kv_heads, 8);
    CU_ASSERT_EQUAL(m->kinds[0].head_size, 32);
    CU_ASSERT_TRUE(m->kinds[0].ffn_gated);
    CU_ASSERT_FALSE(m->tied_embeddings || m->hidden_dropout || m->kinds[0].qkv_bias);
    CU_ASSERT_EQUAL(m->norm, RH_NORM_RMS);
    CU_ASSERT_EQUAL(m->position, RH_POSITION_ROTARY);
    g_autoptr(RhModel) gpt = model_parse("{'model_type': 'gpt2', 'n_layer': 3, 'n_embd': 64, "
                                         "'n_head': 4, 'n_inner': null, 'vocab_size': 100}",
                                         NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(gpt);
    CU_ASSERT_EQUAL(gpt->kinds[0].ffn_width, 256);
    CU_ASSERT_FALSE(gpt->kinds[0].ffn_gated);
    CU_ASSERT_EQUAL(gpt->positions, 1024);
    CU_ASSERT_TRUE(gpt->tied_embeddings && gpt->hidden_dropout && gpt->attention_dropout);
    CU_ASSERT_TRUE(gpt->kinds[0].qkv_bias && gpt->kinds[0].o_bias && gpt->kinds[0].ffn_bias);
}

static void switches_of_llama_are_read(void)
{
    g_autoptr(RhModel) m = model_parse(
        LLAMA(", 'num_key_value_heads': 2, 'head_dim': 64, 'attention_bias': true, 'mlp_bias': "
              "true, 'tie_word_embeddings': true, 'attention_dropout': 0.1"),
        NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CU_ASSERT_EQUAL(m->kinds[0].kv_heads, 2);
    CU_ASSERT_EQUAL(m->kinds[0].head_size, 64);
    CU_ASSERT_TRUE(m->kinds[0].qkv_bias && m->kinds[0].o_bias && m->kinds[0].ffn_bias);
    CU_ASSERT_TRUE(m->tied_embeddings && m->attention_dropout && !m->hidden_dropout);
    int64_t layer = 256 * (512 + 2 * 128) + 512 * 256 + 3 * 256 * 512 + 2 * 256 /* norms */
                    + 512 + 2 * 128 + 256 + 2 * 512 + 256 /* biases */;
    CU_ASSERT_EQUAL(rh_model_params(m), 1000 * 256 + 256 + 2 * layer);
}

static void qwen_has_its_biases_and_norms(void)
{
    g_autoptr(RhModel) two = rh_model_load("qwen2.5-7b", NULL);
    g_autoptr(RhModel) three = rh_model_load("qwen3-32b", NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(two);
    CU_ASSERT_PTR_NOT_NULL_FATAL(three);
    CU_ASSERT_TRUE(two->kinds[0].qkv_bias && !two->kinds[0].o_bias && !two->kinds[0].qk_norm);
    CU_ASSERT_TRUE(three->kinds[0].qk_norm && !three->kinds[0].qkv_bias);
    CU_ASSERT_EQUAL(three->kinds[0].head_size, 128);
    CU_ASSERT_EQUAL(two->kinds_count, 1);
    CU_ASSERT_EQUAL(two->kinds[0].window_tokens, 0);
}

#define MISTRAL(rest)                                                                              \
    "{'model_type': 'mistral', 'num_hidden_layers': 2, 'hidden_size': 256, "                       \
    "'num_attention_heads': 4, 'num_key_value_heads': 2, 'intermediate_size': 512, "               \
    "'vocab_size': 1000" rest "}"

static void sliding_windows_make_kinds_of_layers(void)
{
    g_autoptr(RhModel) mistral = rh_model_load("mistral-7b", NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(mistral);
    CU_ASSERT_EQUAL(mistral->kinds[0].window_tokens, 4096);
    g_autoptr(RhModel) silent = model_parse(MISTRAL(""), NULL);
    g_autoptr(RhModel) null = model_parse(MISTRAL(", 'sliding_window': null"), NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(silent);
    CU_ASSERT_PTR_NOT_NULL_FATAL(null);
    CU_ASSERT_EQUAL(silent->kinds[0].window_tokens, 4096);
    CU_ASSERT_EQUAL(null->kinds[0].window_tokens, 0);
    g_autoptr(RhModel) a = model_parse(SLIDING("'max_window_layers': 3"), NULL);
    g_autoptr(RhModel) b = model_parse(
        SLIDING("'layer_types': ['sliding_attention', 'full_attention', 'sliding_attention', "
                "'full_attention']"),
        NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(a);
    CU_ASSERT_PTR_NOT_NULL_FATAL(b);
    CU_ASSERT_EQUAL(a->kinds_count, 2);
    CU_ASSERT_EQUAL(memcmp(a->kind_of_layer, (uint8_t[]){0, 0, 0, 1}, 4), 0);
    CU_ASSERT_EQUAL(a->kinds[1].window_tokens, 128);
    CU_ASSERT_EQUAL(memcmp(b->kind_of_layer, (uint8_t[]){0, 1, 0, 1}, 4), 0);
    CU_ASSERT_EQUAL(b->kinds[0].window_tokens, 128);
    CU_ASSERT_TRUE(rh_model_flops_per_token(b, 1024) < rh_model_flops_per_token(a, 1024));
    CU_ASSERT_EQUAL(rh_model_params(a), rh_model_params(b));
    check_refused(SLIDING("'layer_types': ['linear_attention', 'full_attention', "
                          "'full_attention', 'full_attention']"),
                  "layer type \"linear_attention\" is not supported");
    check_refused(SLIDING("'layer_types': ['full_attention']"), "layer_types names 1 layers of 4");
}

static void foreign_keys_of_published_files_are_ignored(void)
{
    g_autoptr(RhModel) m = model_parse(
        LLAMA(
            ", 'architectures': ['LlamaForCausalLM'], 'bos_token_id': 1, 'rope_scaling': {'type': "
            "'linear', 'factor': 2.0}, 'torch_dtype': 'bfloat16', 'dtype': null, 'quantization_config': null, "
            "'a_vendor_key': {'deep': [1, 2]}, 'num_experts': null"),
        NULL);
    CU_ASSERT_PTR_NOT_NULL(m);
}

static void shapes_that_cannot_be_are_refused_where_they_stand(void)
{
    check_refused("{'model_type': 'llama', 'num_hidden_layers': 2, 'hidden_size': 250, "
                  "'num_attention_heads': 8, 'intermediate_size': 512, 'vocab_size': 1000}",
                  "num_attention_heads 8 does not divide hidden_size 250");
    check_refused(LLAMA(", 'num_key_value_heads': 3"),
                  "num_key_value_heads 3 does not divide num_attention_heads 8");
    check_refused(LLAMA(", 'num_key_value_heads': 3"), "config.json:1:");
    check_refused(LLAMA(", 'num_key_value_heads': 16"), "does not divide");
    check_refused(LLAMA(", 'num_key_value_heads': 0"), "num_key_value_heads");
    check_refused(LLAMA(", 'num_key_value_heads': -8"), "num_key_value_heads");
    check_refused(LLAMA(", 'num_key_value_heads': 2.5"), "num_key_value_heads");
    check_refused(LLAMA(", 'num_key_value_heads': 'two'"), "num_key_value_heads");
    check_refused(LLAMA(", 'max_position_embeddings': 99999999999"), "max_position_embeddings");
    check_refused(LLAMA(", 'torch_dtype': -1"), "torch_dtype: a format's name");
    check_refused(LLAMA(", 'torch_dtype': -1"), "config.json:1:");
    check_refused(LLAMA(", 'dtype': ['bfloat16']"), "dtype: a format's name");
    check_refused("{'model_type': 'gpt2', 'n_layer': 1000000, 'n_embd': 64, 'n_head': 4, "
                  "'vocab_size': 100}",
                  "n_layer");
}

static void all_problems_of_a_file_are_reported_at_once(void)
{
    const char *text = "{'model_type': 'llama', 'num_hidden_layers': 0, 'hidden_size': 256, "
                       "'num_attention_heads': 8, 'vocab_size': 'many', 'num_key_value_heads': 5}";
    check_refused(text, "num_hidden_layers");
    check_refused(text, "intermediate_size");
    check_refused(text, "vocab_size");
    check_refused(text, "num_key_value_heads 5");
}

static void misspelt_keys_are_told_from_foreign_ones(void)
{
    check_refused(LLAMA(", 'num_key_value_head': 2"), "unknown key \"num_key_value_head\"");
    check_refused(LLAMA(", 'num_key_value_head': 2"), "\"num_key_value_heads\"");
}

/* Names of classes are read although the type alone decides. */
static void classes_are_a_list_of_names(void)
{
    check_refused(LLAMA(", 'architectures': -1"), "architectures");
    check_refused(LLAMA(", 'architectures': [3]"), "architectures");
}

static void other_kinds_of_models_are_refused(void)
{
    check_refused("{'model_type': 'glm9_moe', 'num_hidden_layers': 32}",
                  "model_type \"glm9_moe\" is not supported");
    check_refused("{'model_type': 'deepseek_v9'}", "a similar type exists: deepseek_v");
    check_refused("{'model_type': 'deepseek_v9'}", "docs/guide/models.md");
    for (const char *const *name = rh_family_names(); name[1] != NULL; name++)
        CU_ASSERT_TRUE(strcmp(name[0], name[1]) < 0);
    check_refused("{'model_type': 't9', 'is_encoder_decoder': true}", "an encoder and a decoder");
    check_refused("{'hidden_size': 32}", "model_type");
    check_refused("{'model_type': ''}", "model_type \"\" is not supported");
    check_refused(LLAMA(", 'num_local_experts': 8"), "mixture of experts");
    check_refused(LLAMA(", 'kv_lora_rank': 512"), "latent attention");
    check_refused("[]", "");
}

/* The page that the message above names. */
static void every_type_stands_on_the_page(void)
{
    g_autofree char *path = g_build_filename(rh_data_dir(), "docs", "guide", "models.md", NULL);
    g_autofree char *page = NULL;
    CU_ASSERT_TRUE_FATAL(g_file_get_contents(path, &page, NULL, NULL));
    for (const char *const *name = rh_family_names(); *name; name++) {
        g_autofree char *word = g_strdup_printf("\\b%s\\b", *name);
        bool there = g_regex_match_simple(word, page, 0, 0);
        CU_ASSERT_TRUE(there);
        if (!there)
            g_printerr("  %s\n", *name);
    }
}

static void models_load_from_files_and_folders(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *dir = g_dir_make_tmp("rehearse-model-XXXXXX", NULL);
    g_autofree char *file = g_build_filename(dir, "config.json", NULL);
    g_autofree char *json = g_strdelimit(g_strdup(LLAMA()), "'", '"');
    CU_ASSERT_TRUE_FATAL(g_file_set_contents(file, json, -1, NULL));
    g_autoptr(RhModel) of_file = rh_model_load(file, &error);
    g_autoptr(RhModel) of_folder = rh_model_load(dir, &error);
    g_remove(file);
    g_autoptr(RhModel) gone = rh_model_load(dir, &error);
    CU_ASSERT_PTR_NULL(gone);
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_IO));
    g_rmdir(dir);
    CU_ASSERT_PTR_NOT_NULL_FATAL(of_file);
    CU_ASSERT_PTR_NOT_NULL_FATAL(of_folder);
    g_autofree char *base = g_path_get_basename(dir);
    CU_ASSERT_STRING_EQUAL(of_file->name, base);
    CU_ASSERT_STRING_EQUAL(of_file->hash, of_folder->hash);
}

static void unknown_names_get_a_near_one(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhModel) m = rh_model_load("llama-3.1-80b", &error);
    CU_ASSERT_PTR_NULL(m);
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
    CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "similar names exist: llama-3.1-"));
}

static void set_changes_one_figure_and_what_follows_from_it(void)
{
    g_autoptr(RhModel) m = rh_model_load("llama-3.1-8b", NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    g_autofree char *hash = g_strdup(m->hash);
    int64_t layer = (int64_t)4096 * (4096 + 2 * 1024) + 4096 * 4096 + 3 * 4096 * 14336 + 2 * 4096;
    CU_ASSERT_TRUE(rh_model_set(m, "layers", "4", NULL));
    CU_ASSERT_EQUAL(rh_model_params(m), 2 * 128256LL * 4096 + 4096 + 4 * layer);
    CU_ASSERT_STRING_NOT_EQUAL(m->hash, hash);
    CU_ASSERT_TRUE(rh_model_set(m, "num_hidden_layers", "6", NULL)); /* the family's own key */
    CU_ASSERT_EQUAL(m->layers_count, 6);
    CU_ASSERT_TRUE(rh_model_set(m, "hidden", "8192", NULL));
    CU_ASSERT_EQUAL(m->kinds[0].head_size, 256);
    CU_ASSERT_TRUE(rh_model_set(m, "head_size", "128", NULL));
    CU_ASSERT_TRUE(rh_model_set(m, "window", "512", NULL));
    CU_ASSERT_EQUAL(m->kinds[m->kind_of_layer[5]].window_tokens, 512);
    CU_ASSERT_TRUE(rh_model_set(m, "attention_dropout", "0.1", NULL));
    CU_ASSERT_TRUE(m->attention_dropout);
    CU_ASSERT_TRUE(rh_model_set(m, "tied", "on", NULL));
    CU_ASSERT_TRUE(m->tied_embeddings);
}

static void set_moves_the_first_sliding_layer(void)
{
    g_autoptr(RhModel) m = model_parse(SLIDING("'max_window_layers': 3"), NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CU_ASSERT_TRUE(rh_model_set(m, "layers", "6", NULL)); /* added layers are as the last */
    CU_ASSERT_EQUAL(memcmp(m->kind_of_layer, (uint8_t[]){0, 0, 0, 1, 1, 1}, 6), 0);
    CU_ASSERT_TRUE(rh_model_set(m, "max_window_layers", "5", NULL));
    CU_ASSERT_EQUAL(memcmp(m->kind_of_layer, (uint8_t[]){0, 0, 0, 0, 0, 1}, 6), 0);
    CU_ASSERT_TRUE(rh_model_set(m, "use_sliding_window", "off", NULL));
    CU_ASSERT_EQUAL(m->kinds_count, 1);
    CU_ASSERT_EQUAL(m->kinds[0].window_tokens, 0);
}

static void set_refuses_and_leaves_the_model_alone(void)
{
    g_autoptr(RhModel) m = rh_model_load("llama-3.1-8b", NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    int64_t params = rh_model_params(m);
    const char *const bad[][2] = {{"layer", "4"},    {"layers", "0"},   {"layers", "four"},
                                  {"layers", "4x"},  {"kv_heads", "5"}, {"hidden", "4100"},
                                  {"tied", "maybe"}, {"window", "-1"},  {"layers", "99999"}};
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autoptr(GError) error = NULL;
        CU_ASSERT_FALSE(rh_model_set(m, bad[i][0], bad[i][1], &error));
        CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_USAGE));
        CU_ASSERT_EQUAL(rh_model_params(m), params);
    }
    g_autoptr(GError) error = NULL;
    CU_ASSERT_FALSE_FATAL(rh_model_set(m, "layer", "4", &error));
    CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "a similar key exists: layers"));
}

static void gpt_of_a_shape_equals_its_catalogue_entry(void)
{
    g_autoptr(RhModel) a = rh_model_load("gpt-7.5b", NULL);
    g_autoptr(RhModel) b = rh_model_gpt("b", 36, 4096, 32, 0, 51200, 2048);
    CU_ASSERT_PTR_NOT_NULL_FATAL(a);
    CU_ASSERT_EQUAL(rh_model_params(a), rh_model_params(b));
    CU_ASSERT_EQUAL(rh_model_flops_per_token(a, 2048), rh_model_flops_per_token(b, 2048));
    const RhLayerKind *x = &a->kinds[0], *y = &b->kinds[0];
    CU_ASSERT_TRUE(x->heads == y->heads && x->kv_heads == y->kv_heads &&
                   x->head_size == y->head_size);
    CU_ASSERT_TRUE(x->mixer == y->mixer && x->qkv_bias == y->qkv_bias && x->o_bias == y->o_bias);
    CU_ASSERT_TRUE(x->ffn == y->ffn && x->ffn_gated == y->ffn_gated);
    CU_ASSERT_TRUE(x->ffn_width == y->ffn_width && x->ffn_bias == y->ffn_bias);
    CU_ASSERT_TRUE(x->window_tokens == y->window_tokens && x->qk_norm == y->qk_norm);
}

int main(void)
{
    return rh_test_main(
        "model",
        (RhTest[]){
            {"megatrons_table_1_is_in_the_catalogue", megatrons_table_1_is_in_the_catalogue},
            {"gpt_3_has_the_parameters_of_its_table", gpt_3_has_the_parameters_of_its_table},
            {"a_decoder_may_be_a_part_of_a_larger_model",
             a_decoder_may_be_a_part_of_a_larger_model},
            {"experts_may_have_biases", experts_may_have_biases},
            {"a_mixture_says_which_layers_have_experts", a_mixture_says_which_layers_have_experts},
            {"figures_that_follow_from_others_cannot_be_set",
             figures_that_follow_from_others_cannot_be_set},
            {"every_catalogue_model_loads", every_catalogue_model_loads},
            {"flops_per_token_are_six_per_parameter_and_attention",
             flops_per_token_are_six_per_parameter_and_attention},
            {"defaults_are_those_of_the_family", defaults_are_those_of_the_family},
            {"switches_of_llama_are_read", switches_of_llama_are_read},
            {"qwen_has_its_biases_and_norms", qwen_has_its_biases_and_norms},
            {"sliding_windows_make_kinds_of_layers", sliding_windows_make_kinds_of_layers},
            {"foreign_keys_of_published_files_are_ignored",
             foreign_keys_of_published_files_are_ignored},
            {"shapes_that_cannot_be_are_refused_where_they_stand",
             shapes_that_cannot_be_are_refused_where_they_stand},
            {"all_problems_of_a_file_are_reported_at_once",
             all_problems_of_a_file_are_reported_at_once},
            {"classes_are_a_list_of_names", classes_are_a_list_of_names},
            {"misspelt_keys_are_told_from_foreign_ones", misspelt_keys_are_told_from_foreign_ones},
            {"other_kinds_of_models_are_refused", other_kinds_of_models_are_refused},
            {"every_type_stands_on_the_page", every_type_stands_on_the_page},
            {"models_load_from_files_and_folders", models_load_from_files_and_folders},
            {"unknown_names_get_a_near_one", unknown_names_get_a_near_one},
            {"set_changes_one_figure_and_what_follows_from_it",
             set_changes_one_figure_and_what_follows_from_it},
            {"set_moves_the_first_sliding_layer", set_moves_the_first_sliding_layer},
            {"set_refuses_and_leaves_the_model_alone", set_refuses_and_leaves_the_model_alone},
            {"gpt_of_a_shape_equals_its_catalogue_entry",
             gpt_of_a_shape_equals_its_catalogue_entry},
            {0}});
}
