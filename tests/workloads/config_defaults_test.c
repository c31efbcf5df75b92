/* Keys that a file omits: the default of transformers or an error that names the key, never another
 * model silently; and the later names of layer kinds that transformers writes. */
#include "base/error.h"
#include "tests/kit/model_counts.h"
#include "workloads/config/family_keys.h"
#include "workloads/operators/operator.h"

#define LATENTS                                                                                    \
    ", 'kv_lora_rank': 512, 'qk_nope_head_dim': 128, 'qk_rope_head_dim': 64, 'v_head_dim': 128"
#define ROUTED ", 'n_routed_experts': 64, 'num_experts_per_tok': 6, 'moe_intermediate_size': 1408"

/* Two files each that mean the same model. */
static void absent_keys_have_the_default_of_transformers(void)
{
    static const char *const rows[][2] = {
        {"{" SHAPE("deepseek_v3", 6, 2048, 16, 16, 8192, 4096) LATENTS ROUTED
         ", 'q_lora_rank': null}",
         "{" SHAPE("deepseek_v3", 6, 2048, 16, 16, 8192, 4096) LATENTS ROUTED
         ", 'q_lora_rank': null, 'n_shared_experts': 1, 'first_k_dense_replace': 3}"},
        {"{" SHAPE("glm4_moe", 4, 2048, 16, 8, 8192, 4096) ROUTED "}",
         "{" SHAPE("glm4_moe", 4, 2048, 16, 8, 8192, 4096) ROUTED
         ", 'n_shared_experts': 1, 'first_k_dense_replace': 1, 'head_dim': 128}"},
        {"{" SHAPE("afmoe", 4, 1024, 8, 4, 3072, 4096) ", 'num_experts': 8, 'num_experts_per_tok': "
                                                       "2, 'moe_intermediate_size': 256}",
         "{" SHAPE("afmoe", 4, 1024, 8, 4, 3072,
                   4096) ", 'num_experts': 8, 'num_experts_per_tok': 2, 'moe_intermediate_size': "
                         "256, 'num_dense_layers': 1, 'num_shared_experts': 2}"},
        {"{" SHAPE("ernie4_5_moe", 4, 1024, 8, 4, 3072, 4096) ", 'moe_num_experts': 8, 'moe_k': 2, "
                                                              "'moe_intermediate_size': 256}",
         "{" SHAPE("ernie4_5_moe", 4, 1024, 8, 4, 3072,
                   4096) ", 'moe_num_experts': 8, 'moe_k': 2, 'moe_intermediate_size': 256, "
                         "'moe_num_shared_experts': 2, 'moe_layer_start_index': 1, "
                         "'moe_layer_end_index': 3, 'tie_word_embeddings': true}"},
        {"{" SHAPE("ernie4_5", 4, 1024, 16, 2, 3072, 4096) "}",
         "{" SHAPE("ernie4_5", 4, 1024, 16, 2, 3072, 4096) ", 'head_dim': 128}"},
        {"{" SHAPE("bamba", 4, 2048, 16, 8, 8192, 4096) "}",
         "{" SHAPE(
             "bamba", 4, 2048, 16, 8, 8192,
             4096) ", 'tie_word_embeddings': false, 'mamba_n_heads': 128, 'mamba_d_head': 32, "
                   "'mamba_n_groups': 1, 'mamba_d_state': 256, 'attn_layer_indices': []}"},
        {"{" SHAPE("smollm3", 4, 2048, 16, 4, 11008, 4096) "}",
         "{" SHAPE("smollm3", 4, 2048, 16, 4, 11008, 4096) ", 'tie_word_embeddings': true}"},
        {"{" SHAPE("youtu", 4, 2048, 16, 16, 6144, 4096) LATENTS ", 'q_lora_rank': 1536}",
         "{" SHAPE("youtu", 4, 2048, 16, 16, 6144, 4096) LATENTS
         ", 'q_lora_rank': 1536, 'tie_word_embeddings': true}"},
        {"{" SHAPE("qwen2", 4, 2048, 16, 2, 6144, 4096) ", 'sliding_window': 0}",
         "{" SHAPE("qwen2", 4, 2048, 16, 2, 6144, 4096) "}"},
        {"{" SHAPE("bart", 4, 1024, 16, 16, 4096,
                   4096) ", 'decoder_layers': 4, 'encoder_layers': 4, "
                         "'decoder_attention_heads': 16, "
                         "'decoder_ffn_dim': 4096, "
                         "'activation_dropout': 0.1}",
         "{" SHAPE("bart", 4, 1024, 16, 16, 4096,
                   4096) ", 'decoder_layers': 4, 'encoder_layers': 4, "
                         "'decoder_attention_heads': 16, 'decoder_ffn_dim': 4096}"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(RhModel) a = model_load(rows[i][0]);
        g_autoptr(RhModel) b = model_load(rows[i][1]);
        CU_ASSERT_EQUAL(rh_model_params(a), rh_model_params(b));
        CU_ASSERT_EQUAL(rh_model_flops_per_token(a, 65536), rh_model_flops_per_token(b, 65536));
        if (rh_model_params(a) != rh_model_params(b))
            g_printerr("  %s\n", rows[i][0]);
    }
}

static void check_missing(const char *config, const char *key)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhModel) m = model_parse(config, &error);
    g_autofree char *expected = g_strdup_printf("key \"%s\" is missing", key);
    CU_ASSERT_PTR_NULL(m);
    CU_ASSERT_TRUE(error != NULL && strstr(error->message, expected) != NULL);
}

/* A missing size is an error where the default of transformers is that of one particular model. */
static void absent_sizes_are_errors(void)
{
    check_missing("{" SHAPE("deepseek_v3", 4, 2048, 16, 16, 8192, 4096) LATENTS
                  ", 'q_lora_rank': null, 'num_experts_per_tok': 6, 'moe_intermediate_size': 1408}",
                  "n_routed_experts");
    check_missing("{" SHAPE("deepseek_v3", 4, 2048, 16, 16, 8192, 4096) LATENTS ROUTED "}",
                  "q_lora_rank");
    check_missing("{" SHAPE("glm4_moe", 4, 2048, 16, 8, 8192, 4096) ", 'n_routed_experts': 64, "
                                                                    "'num_experts_per_tok': 6}",
                  "moe_intermediate_size");
    check_missing("{'model_type': 'starcoder2', 'num_hidden_layers': 4, 'hidden_size': 1024, "
                  "'num_attention_heads': 8, 'intermediate_size': 4096, 'vocab_size': 4096}",
                  "num_key_value_heads");
}

/* Layers with a mixer like this. */
static int layers_with(const RhModel *m, const RhOperator *mixer)
{
    int count = 0;
    for (int32_t i = 0; i < m->layers_count; i++)
        count += m->kinds[m->kind_of_layer[i]].mixer == mixer;
    return count;
}

#define SCANS                                                                                      \
    ", 'mamba_n_heads': 32, 'mamba_d_head': 'auto', 'mamba_n_groups': 1, 'mamba_d_state': 128"

static void later_names_of_layers_are_read(void)
{
    static const struct {
        const char *config;
        const RhOperator *mixer;
        int count;
    } rows[] = {
        {"{" SHAPE("granitemoehybrid", 3, 1024, 16, 8, 4096, 4096) SCANS
         ", 'layer_types': ['linear_attention', 'full_attention', 'linear_attention']}",
         &rh_mamba, 2},
        {"{" SHAPE("granitemoehybrid", 3, 1024, 16, 8, 4096, 4096) SCANS "}", &rh_mamba, 3},
        {"{" SHAPE(
             "nemotron_h", 3, 1024, 16, 8, 4096,
             4096) ", 'mamba_num_heads': 32, "
                   "'mamba_head_dim': 64, 'n_groups': 8, 'ssm_state_size': 128, 'layer_types': "
                   "['linear_attention', 'mlp', 'full_attention']}",
         &rh_mamba, 1},
        {"{" SHAPE("lfm2", 3, 1024, 16, 8, 4096, 4096) ", 'layer_types': ['linear_attention', "
                                                       "'full_attention', 'linear_attention']}",
         &rh_short_convolution, 2},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(RhModel) m = model_load(rows[i].config);
        CU_ASSERT_EQUAL(layers_with(m, rows[i].mixer), rows[i].count);
    }
    g_autoptr(RhModel) m = model_load(rows[0].config);
    CU_ASSERT_EQUAL(m->kinds[m->kind_of_layer[0]].head_size, 2 * 1024 / 32);
}

/* Command R7B (CohereLabs/c4ai-command-r7b-12-2024): three layers that look 4,096 tokens back, one at all.
 * Source: safetensors metadata of CohereLabs/c4ai-command-r7b-12-2024. */
static void command_r7b_has_windows(void)
{
    static const char *const listed = ", 'layer_types': ['sliding_attention', 'full_attention']";
    g_autoptr(RhModel) m = model_load(
        "{" SHAPE("cohere2", 32, 4096, 32, 8, 14336, 256000) ", 'sliding_window': 4096, "
                                                             "'sliding_window_pattern': 4}");
    CU_ASSERT_EQUAL(rh_model_params(m), 8028168192);
    int all = 0;
    for (int32_t i = 0; i < m->layers_count; i++) {
        const RhLayerKind *kind = &m->kinds[m->kind_of_layer[i]];
        CU_ASSERT_TRUE(kind->window_tokens == 0 || kind->window_tokens == 4096);
        all += kind->window_tokens == 0;
        CU_ASSERT_EQUAL(kind->window_tokens == 0, i % 4 == 3);
    }
    CU_ASSERT_EQUAL(all, 8);
    g_autofree char *text = g_strdup_printf(
        "{" SHAPE("cohere2", 2, 1024, 16, 8, 4096, 4096) "%s, 'sliding_window': 512}", listed);
    g_autoptr(RhModel) two = model_load(text);
    CU_ASSERT_EQUAL(two->kinds[two->kind_of_layer[0]].window_tokens, 512);
    CU_ASSERT_EQUAL(two->kinds[two->kind_of_layer[1]].window_tokens, 0);
}

int main(void)
{
    return rh_test_main("config_defaults",
                        (RhTest[]){
                            {"absent_keys_have_the_default_of_transformers",
                             absent_keys_have_the_default_of_transformers},
                            {"absent_sizes_are_errors", absent_sizes_are_errors},
                            {"later_names_of_layers_are_read", later_names_of_layers_are_read},
                            {"command_r7b_has_windows", command_r7b_has_windows},
                            {0},
                        });
}
