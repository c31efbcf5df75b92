/* What files of 2025 and 2026 say in ways of their own: norms without scales, layers that a list alone counts,
 * indexers that layers share. Figures by hand. */
#include <string.h>

#include "tests/model_counts.h"
#include "tests/operators_kit.h"
#include "workloads/features.h"

/* Llama 4 Scout; Nemotron-3-Ultra's shape of three layers; GLM-5.2's attention. */
#define SCOUT(rest)                                                                                \
    "{'model_type': 'llama4', 'text_config': {" SHAPE(                                             \
        "llama4_text", 48, 5120, 40, 8, 8192,                                                      \
        202048) ", 'intermediate_size_mlp': 16384, 'num_local_experts': 16, "                      \
                "'num_experts_per_tok': 1, 'interleave_moe_layer_step': 1" rest "}}"
#define ULTRA(rest)                                                                                \
    "{'model_type': 'nemotron_h', 'hidden_size': 8192, 'num_attention_heads': 64, "                \
    "'num_key_value_heads': 2, 'intermediate_size': 5120, 'vocab_size': 131072, "                  \
    "'mamba_num_heads': 256, 'mamba_head_dim': 64, 'n_groups': 8, 'ssm_state_size': 128, "         \
    "'n_routed_experts': 512, 'num_experts_per_tok': 22, 'moe_intermediate_size': 5120, "          \
    "'moe_latent_size': 2048, 'moe_shared_expert_intermediate_size': 10240, "                      \
    "'layers_block_type': ['mamba', 'moe', 'attention']" rest "}"
#define GLM(rest)                                                                                  \
    "{" SHAPE("glm_moe_dsa", 3, 6144, 64, 64, 12288,                                               \
              154880) ", 'q_lora_rank': 2048, 'kv_lora_rank': 512, 'qk_nope_head_dim': 192, "      \
                      "'qk_rope_head_dim': 64, 'v_head_dim': 256, 'index_n_heads': 32, "           \
                      "'index_head_dim': 128, 'index_topk': 2048, 'n_routed_experts': null, "      \
                      "'num_experts_per_tok': null, 'moe_intermediate_size': null" rest "}"

/* MiniMax-M3's shape of two layers: the second sees blocks. */
#define M3                                                                                          \
    "{'model_type': 'minimax_m3_vl', 'text_config': {'num_hidden_layers': 2, 'hidden_size': 6144, " \
    "'num_attention_heads': 64, 'num_key_value_heads': 4, 'head_dim': 128, 'intermediate_size': "   \
    "3072, 'dense_intermediate_size': 12288, 'shared_intermediate_size': 3072, "                    \
    "'n_shared_experts': 1, 'num_local_experts': 128, 'num_experts_per_tok': 4, 'vocab_size': "     \
    "200064, 'use_qk_norm': true, 'use_routing_bias': true, 'moe_layer_freq': [0, 1], "             \
    "'sparse_attention_config': {'sparse_num_index_heads': 4, 'sparse_index_dim': 128, "            \
    "'sparse_topk_blocks': 16, 'sparse_block_size': 128, 'sparse_attention_freq': [0, 1]}}}"

/* A kernel more for chunks' queries and keys, and no parameter; the layers that look at all have none. */
static void norms_may_have_no_scales(void)
{
    g_autoptr(RhModel) with = model_load(SCOUT(", 'use_qk_norm': true"));
    g_autoptr(RhModel) without = model_load(SCOUT(", 'use_qk_norm': false"));
    g_autoptr(RhModel) unsaid = model_load(SCOUT(""));
    RhShard shard = shard_of(1, 1024, 1);
    CU_ASSERT_EQUAL(rh_model_params(with), 107769861120); /* as families_test.c has it */
    CU_ASSERT_EQUAL(rh_model_params(without), 107769861120);
    CU_ASSERT_TRUE(rh_model_attention_kind(unsaid)->qk_norm);
    for (int32_t i = 0; i < 4; i++) {
        const RhLayerKind *a = &with->kinds[with->kind_of_layer[i]];
        const RhLayerKind *b = &without->kinds[without->kind_of_layer[i]];
        g_autoptr(GArray) more = g_array_new(FALSE, FALSE, sizeof(RhKernel));
        g_autoptr(GArray) less = g_array_new(FALSE, FALSE, sizeof(RhKernel));
        rh_block_kernels(with, a, RH_BLOCK_MIXER, RH_PART_TENSOR, RH_PASS_FORWARD, &shard, more);
        rh_block_kernels(without, b, RH_BLOCK_MIXER, RH_PART_TENSOR, RH_PASS_FORWARD, &shard, less);
        CU_ASSERT_EQUAL(a->window_tokens > 0, i < 3);
        CU_ASSERT_EQUAL(a->qk_norm, i < 3);
        CU_ASSERT_FALSE(b->qk_norm);
        CU_ASSERT_EQUAL(more->len > less->len, i < 3);
    }
}

static void a_list_counts_layers(void)
{
    g_autoptr(RhModel) listed = model_load(ULTRA(""));
    g_autoptr(RhModel) said = model_load(ULTRA(", 'num_hidden_layers': 3"));
    CU_ASSERT_EQUAL(listed->layers_count, 3);
    CU_ASSERT_EQUAL(rh_model_params(listed), rh_model_params(said));
    g_autoptr(GError) error = NULL;
    g_autoptr(RhModel) other = model_parse(ULTRA(", 'num_hidden_layers': 4"), &error);
    CU_ASSERT_PTR_NULL(other);
    CU_ASSERT_PTR_NOT_NULL_FATAL(error);
    CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "names 3 layers of 4"));
}

/* A layer that sees the keys which one before it chose: no matrices of an indexer, no norm of its key, no scores
 * and no key of it in the cache; its core is as sparse. */
static void indexers_may_be_shared(void)
{
    const double entries = 2048.0 * 32 * 128 + 6144.0 * (128 + 32), n = 8192;
    g_autoptr(RhModel) m = model_load(GLM(", 'indexer_types': ['full', 'shared', 'full']"));
    g_autoptr(RhModel) all =
        model_load(GLM(", 'layer_types': ['deepseek_sparse_attention', 'deepseek_sparse_attention',"
                       " 'deepseek_sparse_attention']"));
    CU_ASSERT_EQUAL(rh_model_params(all) - rh_model_params(m), entries + 2 * 128);
    CU_ASSERT_EQUAL(m->kind_of_layer[0], m->kind_of_layer[2]);
    CU_ASSERT_NOT_EQUAL(m->kind_of_layer[0], m->kind_of_layer[1]);
    CU_ASSERT_TRUE(rh_model_features(m) & RH_FEATURE_BESIDE);
    CU_ASSERT_FALSE(rh_model_features(all) & RH_FEATURE_BESIDE);
    const RhLayerKind *full = &m->kinds[m->kind_of_layer[0]],
                      *shared = &m->kinds[m->kind_of_layer[1]];
    RhShard far = shard_of(1, (int32_t)n, 1), near = shard_of(1, 2048, 1);
    RhFlops f = rh_block_flops(m, full, RH_BLOCK_MIXER, &far);
    RhFlops s = rh_block_flops(m, shared, RH_BLOCK_MIXER, &far);
    RH_CHECK_CLOSE(f.weights - s.weights, 2 * n * entries, 1e-14);
    RH_CHECK_CLOSE(f.pairs - s.pairs, 2 * 32 * 128 * n * n / 2, 1e-12);
    CU_ASSERT_EQUAL(rh_block_flops(m, full, RH_BLOCK_MIXER, &near).pairs,
                    rh_block_flops(m, shared, RH_BLOCK_MIXER, &near).pairs);
    RhCacheBytes a = rh_block_cache_bytes(m, full, RH_BLOCK_MIXER, &near);
    RhCacheBytes b = rh_block_cache_bytes(m, shared, RH_BLOCK_MIXER, &near);
    CU_ASSERT_EQUAL(a.token - b.token, 2 * 128);
    g_autoptr(GError) error = NULL;
    g_autoptr(RhModel) first =
        model_parse(GLM(", 'indexer_types': ['shared', 'full', 'full']"), &error);
    CU_ASSERT_PTR_NULL(first);
}

/* As often, with commas between. */
#define TIMES_3(x)  x ", " x ", " x
#define TIMES_9(x)  TIMES_3(x) ", " TIMES_3(x) ", " TIMES_3(x)
#define TIMES_27(x) TIMES_9(x) ", " TIMES_9(x) ", " TIMES_9(x)
#define TIMES_57(x) TIMES_27(x) ", " TIMES_27(x) ", " TIMES_3(x)

/* Four narrow heads and a key of 128 columns score all tokens before; a query sees sixteen blocks of 128 keys. */
static void blocks_of_keys_are_chosen(void)
{
    const double h = 6144, n = 16384, k = 2048, index = 2 * 4 * 128;
    double attention = h * (64 + 8) * 128 + 64 * 128 * h, indexer = h * 5 * 128;
    double seen = n * k - k * k / 2, pairs = 64 * 4 * 128 * seen;
    g_autoptr(RhModel) m = model_load(M3);
    RhShard far = shard_of(1, (int32_t)n, 1), near = shard_of(1, (int32_t)k, 1), cut = far;
    cut.tp = 4;
    CU_ASSERT_EQUAL(m->kinds_count, 2);
    CU_ASSERT_EQUAL(m->kinds[0].ffn_width, 12288);
    CU_ASSERT_EQUAL(m->kinds[1].shared_width, 3072);
    RhParams p = rh_block_params(m, &m->kinds[1], RH_BLOCK_MIXER, &far);
    RhParams q = rh_block_params(m, &m->kinds[1], RH_BLOCK_MIXER, &cut);
    CU_ASSERT_EQUAL(p.sharded + p.replicated, attention + indexer + 4 * 128 + h);
    CU_ASSERT_EQUAL(4 * q.sharded, p.sharded);
    CU_ASSERT_EQUAL(q.replicated, h * 128 + 4 * 128 + h);
    RhFlops f = rh_block_flops(m, &m->kinds[1], RH_BLOCK_MIXER, &far);
    RH_CHECK_CLOSE(f.weights, 2 * n * (attention + indexer), 1e-14);
    RH_CHECK_CLOSE(f.pairs, pairs + index * n * n / 2, 1e-14);
    RH_CHECK_CLOSE(rh_block_flops(m, &m->kinds[1], RH_BLOCK_MIXER, &near).pairs,
                   64 * 4 * 128 * k * k / 2, 1e-14);
    RH_CHECK_CLOSE(flops_of(m, 1, RH_PASS_FORWARD, &far), f.weights + f.pairs, 1e-14);
    RH_CHECK_CLOSE(flops_of(m, 1, RH_PASS_BACKWARD_WEIGHT, &far), f.weights, 1e-14);
    RH_CHECK_CLOSE(flops_of(m, 1, RH_PASS_BACKWARD_DATA, &far),
                   f.weights + 2.5 * pairs + 2 * index * n * 16, 1e-14);
    RhCacheBytes a = rh_block_cache_bytes(m, &m->kinds[0], RH_BLOCK_MIXER, &near);
    RhCacheBytes b = rh_block_cache_bytes(m, &m->kinds[1], RH_BLOCK_MIXER, &near);
    CU_ASSERT_EQUAL(b.token - a.token, 2 * 128);
    CU_ASSERT_EQUAL(b.sequence, 0);
    CU_ASSERT_TRUE(rh_block_activation_bytes(m, &m->kinds[1], RH_BLOCK_MIXER, &far).kept >
                   rh_block_activation_bytes(m, &m->kinds[0], RH_BLOCK_MIXER, &far).kept);
}

/* The first of every four layers looks at all. */
static void granite_looks_at_all_first(void)
{
    static const char *const configs[] = {
        "{" SHAPE("granite_swa", 8, 2560, 20, 4, 8192, 100352) "}",
        "{" SHAPE("granitemoe_swa", 8, 1536, 24, 8, 512,
                  49155) ", 'num_local_experts': 40, 'num_experts_per_tok': 8}"};
    for (size_t i = 0; i < G_N_ELEMENTS(configs); i++) {
        g_autoptr(RhModel) m = model_load(configs[i]);
        for (int32_t l = 0; l < m->layers_count; l++)
            CU_ASSERT_EQUAL(m->kinds[m->kind_of_layer[l]].window_tokens, l % 4 == 0 ? 0 : 128);
        CU_ASSERT_EQUAL(m->tied_embeddings, i == 0);
    }
}

/* A decoder's part that does not say its type. */
static void parts_have_the_type_of_their_whole(void)
{
    g_autoptr(RhModel) m = model_load(
        "{'model_type': 'qwen3_asr', 'thinker_config': {'text_config': {'num_hidden_layers': 28, "
        "'hidden_size': 2048, 'num_attention_heads': 16, 'num_key_value_heads': 8, 'head_dim': "
        "128, 'intermediate_size': 6144, 'vocab_size': 151936, 'tie_word_embeddings': true}}}");
    CU_ASSERT_STRING_EQUAL(m->family, "qwen3");
    CU_ASSERT_EQUAL(rh_model_params(m), 1720574976); /* Qwen3-1.7B's */
}

/* Totals of published weights, as remembered: MiniCPM-2B, StableLM-3B-4E1T. */
static void parameters_equal_the_published_counts(void)
{
    static const ExactCount rows[] = {
        {"{" SHAPE("minicpm", 40, 2304, 36, 36, 5760, 122753) ", 'scale_emb': 12}", 2724880896},
        {"{" SHAPE("stablelm_epoch", 32, 2560, 32, 32, 6912, 50304) "}", 2795443200},
    };
    check_exact(rows, G_N_ELEMENTS(rows));
}

/* What is claimed: Kimi K3 2.8 T (NVIDIA's aiconfigurator), MiniMax-M3 428 G with its pictures' encoder (NVIDIA's
 * Megatron-Bridge), Grok-2 270 G, A.X K1 519 G. */
static void parameters_are_near_the_claim(void)
{
    static const ClaimedCount rows[] = {
        {"{'model_type': 'kimi_k3', 'text_config': {" SHAPE(
             "kimi_linear", 93, 7168, 96, 96, 33792,
             163840) ", 'kv_lora_rank': 512, 'q_lora_rank': 1536, 'qk_nope_head_dim': 128, "
                     "'qk_rope_head_dim': 64, 'v_head_dim': 128, 'num_experts': 896, "
                     "'num_experts_per_token': 16, 'moe_intermediate_size': 3072, "
                     "'num_shared_experts': 2, 'first_k_dense_replace': 1, "
                     "'routed_expert_hidden_size': 3584, 'latent_moe_use_norm': true, "
                     "'mla_use_output_gate': true, 'linear_attn_config': {'num_heads': 96, "
                     "'head_dim': 128, 'use_full_rank_gate': true, 'full_attn_layers': [4, 8, 12, "
                     "16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60, 64, 68, 72, 76, 80, 84, 88, "
                     "92, 93]}}}",
         2.8e12, 0.01},
        {"{" SHAPE("minimax_m3", 60, 6144, 64, 4, 3072,
                   200064) ", 'head_dim': 128, 'dense_intermediate_size': 12288, "
                           "'shared_intermediate_size': 3072, 'num_local_experts': 128, "
                           "'num_experts_per_tok': 4, 'moe_layer_freq': [0, 0, 0, " TIMES_57(
                               "1") "], "
                                    "'sparse_attention_config': {'sparse_num_index_heads': 4, "
                                    "'sparse_index_dim': 128, 'sparse_topk_blocks': 16, "
                                    "'sparse_attention_freq': [0, 0, 0, " TIMES_57("1") "]}}",
         428e9, 0.01},
        {"{'architectures': ['Grok1ForCausalLM'], " SHAPE("git", 64, 8192, 64, 8, 32768,
                                                          131072) ", 'head_dim': 128, "
                                                                  "'moe_intermediate_size': 16384, "
                                                                  "'num_local_experts': 8, "
                                                                  "'num_experts_per_tok': 2, "
                                                                  "'residual_moe': true}",
         270e9, 0.01},
        {"{" SHAPE("axk1", 61, 7168, 64, 64, 18432,
                   163840) ", 'moe_intermediate_size': 2048, 'n_shared_experts': 1, "
                           "'n_routed_experts': 192, 'kv_lora_rank': 512, 'q_lora_rank': 1536, "
                           "'qk_rope_head_dim': 64, 'v_head_dim': 128, 'qk_nope_head_dim': 128, "
                           "'n_group': 8, 'topk_group': 4, 'num_experts_per_tok': 8, "
                           "'first_k_dense_replace': 1}",
         519e9, 1e-3},
    };
    check_claimed(rows, G_N_ELEMENTS(rows));
}

int main(void)
{
    return rh_test_main(
        "newer_types",
        (RhTest[]){{"norms_may_have_no_scales", norms_may_have_no_scales},
                   {"a_list_counts_layers", a_list_counts_layers},
                   {"indexers_may_be_shared", indexers_may_be_shared},
                   {"blocks_of_keys_are_chosen", blocks_of_keys_are_chosen},
                   {"granite_looks_at_all_first", granite_looks_at_all_first},
                   {"parts_have_the_type_of_their_whole", parts_have_the_type_of_their_whole},
                   {"parameters_equal_the_published_counts", parameters_equal_the_published_counts},
                   {"parameters_are_near_the_claim", parameters_are_near_the_claim},
                   {0}});
}
