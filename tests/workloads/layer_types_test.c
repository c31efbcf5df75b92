/* Layers of a model that differ, as lists and rules of a config.json say: windows, heads and experts of their own, shared keys, order. */
#include <string.h>

#include "base/error.h"
#include "tests/kit/model_counts.h"
#include "tests/kit/operators_kit.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"
#include "workloads/config/family_keys.h"
#include "workloads/features.h"
#include "workloads/operator_costs.h"

#define STEP3(layers, experts)                                                                     \
    "{'model_type': 'step3_text', 'num_hidden_layers': " #layers ", 'hidden_size': 7168, "         \
    "'num_attention_heads': 64, 'head_dim': 256, 'share_q_dim': 2048, 'intermediate_size': "       \
    "18432, 'moe_intermediate_size': 5120, 'moe_num_experts': 48, 'moe_top_k': 3, "                \
    "'share_expert_dim': 5120, 'moe_layers_enum': '" experts "', 'vocab_size': 128815}"

/* Two of ours for each of its own; of 12 experts asked, 8 of 768 work in the mean: 27 G of 560 G
 * parameters are a token's, the head among them (18.6 to 31.3, arXiv 2509.01322).
 * Source: LongCat-Flash report (arXiv 2509.01322), abstract. */
static void a_layer_of_two_attentions_is_two_layers(void)
{
    g_autoptr(RhModel) m = model_load(
        "{'model_type': 'longcat_flash', 'num_layers': 28, 'hidden_size': 6144, "
        "'num_attention_heads': 64, 'ffn_hidden_size': 12288, 'q_lora_rank': 1536, "
        "'kv_lora_rank': 512, 'qk_nope_head_dim': 128, 'qk_rope_head_dim': 64, 'v_head_dim': "
        "128, 'n_routed_experts': 512, 'moe_topk': 12, 'zero_expert_num': 256, "
        "'expert_ffn_hidden_size': 2048, 'vocab_size': 131072}");
    CU_ASSERT_EQUAL(m->layers_count, 56);
    CU_ASSERT_EQUAL(memcmp(m->kind_of_layer, (uint8_t[]){0, 1, 0, 1}, 4), 0);
    const RhLayerKind *first = &m->kinds[0], *second = &m->kinds[1];
    CU_ASSERT_TRUE(first->experts == 512 && first->experts_per_token == 8);
    CU_ASSERT_TRUE(first->shared_width == 12288);
    CU_ASSERT_TRUE(second->experts == 0 && second->ffn_width == 12288);
    const RhShard one = {.tp = 1, .sequence = 1, .microbatch = 1, .dtype = RH_DTYPE_BF16};
    double active = 0;
    for (int32_t i = 0; i < m->layers_count; i++) {
        const RhLayerKind *kind = &m->kinds[m->kind_of_layer[i]];
        active += (rh_block_flops(m, kind, RH_BLOCK_MIXER, &one).weights +
                   rh_block_flops(m, kind, RH_BLOCK_FFN, &one).weights) /
                  2;
    }
    RH_CHECK_CLOSE(active + 131072.0 * 6144, 27e9, 0.01);
    CU_ASSERT_TRUE(rh_model_set(m, "layers", "4", NULL));
    CU_ASSERT_EQUAL(m->layers_count, 4);
    CU_ASSERT_EQUAL(m->kinds[0].experts_per_token, 8);
}

/* Which layer is which: a list of 0 and 1, numbers of those with attention, or the family's turn. */
static void mixers_are_in_the_order_that_is_said(void)
{
    g_autoptr(RhModel) listed =
        model_load("{" SHAPE("minimax_text_01", 3, 64, 4, 2, 64,
                             100) ", "
                                  "'num_local_experts': 2, 'num_experts_per_tok': 1, "
                                  "'attn_type_list': [0, 1, 0]}");
    g_autoptr(RhModel) turn =
        model_load("{" SHAPE("minimax_m1", 16, 64, 4, 2, 64, 100) ", 'num_local_experts': 2, "
                                                                  "'num_experts_per_tok': 1}");
    g_autoptr(RhModel) lfm2 = model_load(
        "{" SHAPE("lfm2", 4, 64, 4, 2, 96, 100) ", "
                                                "'full_attn_idxs': [2], 'block_multiple_of': 16}");
    g_autoptr(RhModel) bert = model_load("{" SHAPE("modernbert", 4, 64, 4, 4, 64, 100) "}");
    for (int32_t i = 0; i < 16; i++) {
        const char *of_turn = rh_operator_name(turn->kinds[turn->kind_of_layer[i]].mixer);
        CU_ASSERT_STRING_EQUAL(of_turn, i % 8 == 7 ? "attention" : "lightning attention");
    }
    for (int32_t i = 0; i < 3; i++)
        CU_ASSERT_STRING_EQUAL(rh_operator_name(listed->kinds[listed->kind_of_layer[i]].mixer),
                               i == 1 ? "attention" : "lightning attention");
    for (int32_t i = 0; i < 4; i++) {
        CU_ASSERT_STRING_EQUAL(rh_operator_name(lfm2->kinds[lfm2->kind_of_layer[i]].mixer),
                               i == 2 ? "attention" : "short convolution");
        CU_ASSERT_EQUAL(bert->kinds[bert->kind_of_layer[i]].window_tokens, i % 3 == 0 ? 0 : 128);
    }
    CU_ASSERT_EQUAL(lfm2->kinds[0].ffn_width, 64);               /* two thirds of 96 */
    CU_ASSERT_EQUAL(rh_model_attention_kind(lfm2)->kv_heads, 2); /* not those of the convolution */
}

/* Queries through a normed latent of 2,048, one key-value head of 256; experts where the text says. */
static void queries_may_come_from_a_latent(void)
{
    g_autoptr(RhModel) m = model_load(STEP3(3, "1, 2"));
    const double n = 1024, h = 7168, q = 64 * 256, r = 2048, kv = 2 * 256;
    for (int32_t i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(m->kinds[m->kind_of_layer[i]].experts, i > 0 ? 48 : 0);
    RhShard one = {.tp = 1, .sequence = 1024, .microbatch = 1, .dtype = RH_DTYPE_BF16};
    RhShard eight = one;
    eight.tp = 8;
    RhParams p = rh_block_params(m, &m->kinds[0], RH_BLOCK_MIXER, &one);
    RhParams cut = rh_block_params(m, &m->kinds[0], RH_BLOCK_MIXER, &eight);
    CU_ASSERT_EQUAL(p.sharded, h * kv + r * q + q * h);
    CU_ASSERT_EQUAL(p.replicated, h * r + r + h);
    CU_ASSERT_EQUAL(cut.sharded, h * kv + (r * q + q * h) / 8);
    CU_ASSERT_EQUAL(cut.replicated, p.replicated);
    RhFlops f = rh_block_flops(m, &m->kinds[0], RH_BLOCK_MIXER, &one);
    CU_ASSERT_EQUAL(f.weights, 2 * n * (h * (r + kv) + r * q + q * h));
    for (RhPass pass = RH_PASS_FORWARD; pass <= RH_PASS_BACKWARD_WEIGHT; pass++) {
        g_autoptr(GArray) kernels = g_array_new(FALSE, FALSE, sizeof(RhKernel));
        double flops = 0;
        rh_block_kernels(m, &m->kinds[0], RH_BLOCK_MIXER, RH_PART_TENSOR, pass, &one, kernels);
        for (guint i = 0; i < kernels->len; i++)
            if (g_array_index(kernels, RhKernel, i).cls == RH_KERNEL_GEMM &&
                !g_array_index(kernels, RhKernel, i).core)
                flops += g_array_index(kernels, RhKernel, i).flops;
        CU_ASSERT_EQUAL(flops, f.weights);
    }
    g_autoptr(GError) error = NULL;
    g_autoptr(RhModel) none = model_parse(STEP3(3, "1,3"), &error);
    CU_ASSERT_PTR_NULL(none);
    CU_ASSERT_PTR_NOT_NULL(error != NULL ? strstr(error->message, "\"3\" is not a layer of 3")
                                         : NULL);
}

/* An encoder's windowed query sees so many tokens around it, at the ends, too (a little too many). */
static void a_window_both_ways_is_a_band(void)
{
    g_autoptr(RhModel) bert = model_load("{" SHAPE("modernbert", 2, 64, 4, 4, 64, 100) "}");
    RhShard one = {.tp = 1, .sequence = 4096, .microbatch = 1, .dtype = RH_DTYPE_BF16};
    double all = rh_block_flops(bert, &bert->kinds[0], RH_BLOCK_MIXER, &one).pairs;
    double band = rh_block_flops(bert, &bert->kinds[1], RH_BLOCK_MIXER, &one).pairs;
    CU_ASSERT_EQUAL(all, 4 * 64 * 4096.0 * 4096);
    CU_ASSERT_EQUAL(band, 4 * 64 * 4096.0 * 128);
}

/* Parameters once, FLOPs in every layer; of two groups the first of each has them. */
static void layers_may_be_one_and_the_same(void)
{
    const double h = 512, f = 2048, s = 256, w = 128, V = 1000;
    g_autoptr(RhModel) m = model_load("{" SHAPE("albert", 8, 512, 8, 8, 2048, 1000) "}");
    g_autoptr(RhModel) two =
        model_load("{" SHAPE("albert", 8, 512, 8, 8, 2048, 1000) ", 'num_hidden_groups': 2}");
    const double layer = 4 * h * (h + 1) + 2 * h * f + f + h + 4 * h;
    CU_ASSERT_EQUAL((double)(rh_model_params(two) - rh_model_params(m)), layer);
    RH_CHECK_CLOSE(rh_model_flops_per_token(m, 256),
                   6 * (8 * (4 * h * h + 2 * h * f + s * 2 * h) + h * w + w * V), 1e-14);
    CU_ASSERT_EQUAL(rh_model_flops_per_token(m, 256), rh_model_flops_per_token(two, 256));
    CU_ASSERT_TRUE(rh_model_shares_layers(m));
    CU_ASSERT_EQUAL(two->kind_of_layer[0], two->kind_of_layer[4]);
    CU_ASSERT_NOT_EQUAL(two->kind_of_layer[0], two->kind_of_layer[3]);
    g_autoptr(GError) error = NULL;
    CU_ASSERT_PTR_NULL(model_parse(
        "{" SHAPE("albert", 8, 512, 8, 8, 2048, 1000) ", 'num_hidden_groups': 3}", &error));
    CU_ASSERT_TRUE(error && strstr(error->message, "num_hidden_groups"));
    static const char *const layouts[] = {"dp8,zero2", "tp2,dp4", "pp2,dp4", "dp8,zero3"};
    for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++) {
        g_auto(TrainKit) k = train_kit("albert-xxlarge-v2", "dgx-h100:1", "bare", 16, 512);
        RhLayout l = rh_train_default(&k.c);
        CU_ASSERT_TRUE_FATAL(rh_layout_parse(layouts[i], &l, NULL));
        CU_ASSERT_EQUAL(rh_train_legal(&k.c, &l, NULL), i < 2);
    }
}

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

/* A kernel more for chunks' queries and keys, and no parameter; the layers that look at all have none.
 * Source: the weights of meta-llama/Llama-4-Scout-17B-16E, without its tower. */
static void norms_may_have_no_scales(void)
{
    g_autoptr(RhModel) with = model_load(SCOUT(", 'use_qk_norm': true"));
    g_autoptr(RhModel) without = model_load(SCOUT(", 'use_qk_norm': false"));
    g_autoptr(RhModel) unsaid = model_load(SCOUT(""));
    RhShard shard = shard_of(1, 1024, 1);
    CU_ASSERT_EQUAL(rh_model_params(with), 107769861120); /* as tests/models/expected.csv has it */
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

/* A decoder's part that does not say its type.
 * Source: the weights of Qwen/Qwen3-1.7B. */
static void parts_have_the_type_of_their_whole(void)
{
    g_autoptr(RhModel) m = model_load(
        "{'model_type': 'qwen3_asr', 'thinker_config': {'text_config': {'num_hidden_layers': 28, "
        "'hidden_size': 2048, 'num_attention_heads': 16, 'num_key_value_heads': 8, 'head_dim': "
        "128, 'intermediate_size': 6144, 'vocab_size': 151936, 'tie_word_embeddings': true}}}");
    CU_ASSERT_STRING_EQUAL(m->family, "qwen3");
    CU_ASSERT_EQUAL(rh_model_params(m), 1720574976); /* Qwen3-1.7B's */
}

#define LING_3(layers)                                                                             \
    SHAPE("bailing_hybrid", layers, 2560, 32, 32, 6144, 157184)                                    \
    ", 'head_dim': 128, 'num_experts': 512, 'num_experts_per_token': 8, 'moe_intermediate_size': " \
    "768, 'num_shared_experts': 1, 'kv_lora_rank': 512, 'q_lora_rank': null, 'qk_rope_head_dim': " \
    "64, 'qk_nope_head_dim': 128, 'v_head_dim': 128, 'num_expert_group': 8, 'topk_group': 4, "     \
    "'first_k_dense_replace': 2, 'layer_group_size': 6, 'short_conv_kernel_size': 4, "             \
    "'no_kda_lora': true, 'gated_attention_proj_granularity_type': 'head_wise'"
#define ERNIE_VL(pairs)                                                                            \
    SHAPE("ernie4_5_moe_vl", 28, 2560, 20, 4, 12288, 103424)                                       \
    ", 'moe_k': 6, 'moe_num_shared_experts': 2, " pairs

/* Inkling has windows with heads of their own; scores by distance and convolutions are left out. */
static void inkling_has_windows_with_heads_of_their_own(void)
{
    static const char *const text = "{'model_type': 'inkling_mm_model', 'text_config': {" SHAPE(
        "inkling_text", 66, 6144, 64, 8, 24576,
        201024) ", 'swa_num_attention_heads': 64, 'swa_num_key_value_heads': 16, "
                "'swa_head_dim': 128, 'sliding_window_size': 512, 'd_rel': 16, "
                "'n_routed_experts': 256, 'num_experts_per_tok': 6, 'n_shared_experts': 2, "
                "'moe_intermediate_size': 3072, 'local_layer_ids': [0, 1, 3]}}";
    g_autoptr(RhModel) m = model_load(text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    for (int32_t i = 0; i < m->layers_count; i++) {
        const RhLayerKind *kind = &m->kinds[m->kind_of_layer[i]];
        bool near = i == 0 || i == 1 || i == 3;
        CU_ASSERT_EQUAL(kind->window_tokens, near ? 512 : 0);
        CU_ASSERT_EQUAL(kind->kv_heads, near ? 16 : 8);
    }
    /* 55 windows, where the file above has 3: 52 layers with 2 x 8 heads of 128 more */
    RH_CHECK_CLOSE((double)rh_model_params(m) + 52.0 * 2 * 8 * 128 * 6144, 975340287042.0, 5e-4);
}

static void muse_glimmer_counts_from_the_end(void)
{
    g_autoptr(RhModel) m =
        model_load("{" SHAPE("muse_glimmer_text", 10, 1024, 8, 2, 4096, 4096) "}");
    for (int32_t i = 0; i < 10; i++)
        CU_ASSERT_EQUAL(m->kinds[m->kind_of_layer[i]].window_tokens == 0, (9 - i) % 4 == 0);
}

static void groups_are_chosen_of_those_there_are(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhModel) m = model_parse(
        "{" SHAPE("glm4_moe", 4, 2048, 16, 8, 8192,
                  4096) ", 'n_routed_experts': 64, "
                        "'num_experts_per_tok': 6, 'moe_intermediate_size': 1408, 'topk_group': 4}",
        &error);
    CU_ASSERT_PTR_NULL(m);
    CU_ASSERT_TRUE(error != NULL && strstr(error->message, "topk_group 4 of") != NULL);
}

/* All gates and decays of a layer come of one matrix: queries, keys, values, gate, decays, a rate a head. */
static void ling_3_decays_by_matrices(void)
{
    const double h = 2560, w = 4096, n = 2048, in = 5 * w + 32;
    g_autoptr(RhModel) m = model_load("{" LING_3(6) "}");
    const RhLayerKind *delta = &m->kinds[m->kind_of_layer[0]],
                      *latent = &m->kinds[m->kind_of_layer[5]];
    CU_ASSERT_EQUAL_FATAL(delta->mixer, &rh_kimi_delta);
    CU_ASSERT_EQUAL_FATAL(latent->mixer, &rh_latent_attention);
    RhShard one = shard_of(1, (int64_t)n, 1), two = shard_of(2, (int64_t)n, 1);
    RhParams p = rh_block_params(m, delta, RH_BLOCK_MIXER, &one);
    RhParams q = rh_block_params(m, delta, RH_BLOCK_MIXER, &two);
    CU_ASSERT_EQUAL(p.sharded, h * (in + w) + 4 * 3 * w + 32 + w);
    CU_ASSERT_EQUAL(2 * q.sharded, p.sharded);
    CU_ASSERT_EQUAL(rh_block_flops(m, delta, RH_BLOCK_MIXER, &one).weights,
                    2 * n * (h * (in + w) + 4 * 3 * w));
    g_autoptr(GArray) kernels = g_array_new(FALSE, FALSE, sizeof(RhKernel));
    rh_block_kernels(m, delta, RH_BLOCK_MIXER, RH_PART_TENSOR, RH_PASS_FORWARD, &one, kernels);
    double gemms = 0;
    for (guint i = 0; i < kernels->len; i++) {
        const RhKernel *k = &g_array_index(kernels, RhKernel, i);
        gemms += k->cls == RH_KERNEL_GEMM ? k->flops : 0;
    }
    CU_ASSERT_EQUAL(gemms, 2 * n * h * (in + w));
    CU_ASSERT_TRUE(m->kinds[m->kind_of_layer[3]].n_group == 8 &&
                   m->kinds[m->kind_of_layer[3]].topk_group == 4);
    /* A number a head scales what latent attention puts out. */
    double out = 32 * 128 * h, keys = h * (512 + 64) + 512 * 32 * 256, queries = h * 32 * 192;
    CU_ASSERT_EQUAL(rh_block_flops(m, latent, RH_BLOCK_MIXER, &one).weights,
                    2 * n * (queries + keys + out + h * 32));
}

/* Hunyuan-Large (arXiv 2411.02265, table 1): 389 G parameters, of which a token meets 52.
 * Source: Hunyuan-Large report (arXiv 2411.02265), table 1. */
static void layers_share_keys_in_turns(void)
{
#define HUNYUAN(rest)                                                                              \
    SHAPE("hunyuan", 64, 6400, 80, 8, 18304, 129024)                                               \
    ", 'num_experts': 16, 'moe_topk': 1, 'num_shared_expert': 1, 'use_qk_norm': true, "            \
    "'tie_word_embeddings': true" rest
    g_autoptr(RhModel) m = model_load("{" HUNYUAN(", 'use_cla': true, 'cla_share_factor': 2") "}");
    g_autoptr(RhModel) own =
        model_load("{" HUNYUAN(", 'use_cla': false, 'cla_share_factor': 2") "}");
    RH_CHECK_CLOSE((double)rh_model_params(m), 389e9, 2e-3);
    RH_CHECK_CLOSE(rh_model_flops_per_token(m, 1) / 6, 52e9, 0.02);
    CU_ASSERT_EQUAL(rh_model_params(own) - rh_model_params(m), 32 * (2 * 6400 * 640 + 80));
    CU_ASSERT_TRUE(rh_model_reads_beside(m));
    CU_ASSERT_FALSE(rh_model_reads_beside(own));
    for (int32_t i = 0; i < m->layers_count; i++) {
        const RhLayerKind *kind = &m->kinds[m->kind_of_layer[i]];
        CU_ASSERT_EQUAL(kind->borrows_keys, i % 2 == 1);
        CU_ASSERT_EQUAL(kind->lends_keys, i % 2 == 0);
    }
}

#define T5GEMMA(encoder, decoder)                                                                  \
    "{'model_type': 't5gemma', 'is_encoder_decoder': true, 'encoder': {" encoder                   \
    "}, 'decoder': {" decoder "}}"
#define GEMMA_2(layers, hidden)                                                                    \
    "'model_type': 't5_gemma_module', 'num_hidden_layers': " #layers ", 'hidden_size': " #hidden   \
    ", 'num_attention_heads': 8, 'num_key_value_heads': 4, 'head_dim': 256, 'intermediate_size': " \
    "9216, 'vocab_size': 256000, 'sliding_window': 4096"

/* T5Gemma 2B-2B, as its modules sum to. Every second layer of either stack sees all, blocks that look at the encoder do. */
static void two_gemmas_are_an_encoder_and_a_decoder(void)
{
    g_autoptr(RhModel) m = model_load(T5GEMMA(GEMMA_2(26, 2304), GEMMA_2(26, 2304)));
    CU_ASSERT_EQUAL(rh_model_params(m), 5596853760);
    for (int32_t i = 0; i < m->layers_count; i++) {
        const RhLayerKind *kind = &m->kinds[m->kind_of_layer[i]];
        bool crosses = i >= 26 && i % 2 == 1;
        bool near = i < 26 ? i % 2 == 0 : !crosses && (i - 26) / 2 % 2 == 0;
        CU_ASSERT_EQUAL(kind->window_tokens, near ? 4096 : 0);
        CU_ASSERT_EQUAL(kind->cross_width > 0, crosses);
        CU_ASSERT_EQUAL(kind->kv_heads, 4);
    }
}

/* Experts for pictures are held and not asked. */
static void others_experts_are_held_alone(void)
{
    g_autoptr(RhModel) with = model_load(
        "{" ERNIE_VL("'moe_num_experts': [64, 64], 'moe_intermediate_size': [1536, 512]") "}");
    g_autoptr(RhModel) without = model_load(
        "{" ERNIE_VL("'moe_num_experts': [64, 0], 'moe_intermediate_size': [1536, 512]") "}");
    const RhLayerKind *a = &with->kinds[with->kind_of_layer[1]],
                      *b = &without->kinds[without->kind_of_layer[1]];
    RhShard one = shard_of(1, 2048, 1), spread = one;
    spread.ep = 8;
    double others = 64 * 3 * 512 * 2560.0, router = 64 * (2560.0 + 1);
    RhParams p = rh_block_params(with, a, RH_BLOCK_FFN, &one),
             q = rh_block_params(without, b, RH_BLOCK_FFN, &one);
    CU_ASSERT_EQUAL(p.sharded - q.sharded, others);
    CU_ASSERT_EQUAL(p.replicated - q.replicated, router);
    p = rh_block_params(with, a, RH_BLOCK_FFN, &spread);
    q = rh_block_params(without, b, RH_BLOCK_FFN, &spread);
    CU_ASSERT_EQUAL(p.experts - q.experts, others / 8);
    CU_ASSERT_EQUAL(rh_model_flops_per_token(with, 4096), rh_model_flops_per_token(without, 4096));
    g_autoptr(GError) error = NULL;
    g_autoptr(RhModel) three = model_parse(
        "{" ERNIE_VL("'moe_num_experts': [64, 64, 64], 'moe_intermediate_size': [1536, 512]") "}",
        &error);
    CU_ASSERT_PTR_NULL(three);
    CU_ASSERT_TRUE(error != NULL &&
                   strstr(error->message, "moe_num_experts is neither a number nor a pair") !=
                       NULL);
}

/* A block that places share, and layers that are one and the same, are a feature that frameworks must know. */
static void sharing_is_a_feature(void)
{
    static const struct {
        const char *file;
        bool shares;
    } rows[] = {{"tests/models/zamba2.json", true},
                {"tests/models/albert-2.json", true},
                {"llama-3.2-1b", false}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *path = strchr(rows[i].file, '/')
                                    ? g_build_filename(RH_DATA_DIR, rows[i].file, NULL)
                                    : g_strdup(rows[i].file);
        g_autoptr(RhModel) m = rh_model_load(path, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(m);
        CU_ASSERT_EQUAL((rh_model_features(m) & RH_FEATURE_SHARED) != 0, rows[i].shares);
    }
}

int main(void)
{
    return rh_test_main(
        "layer_types",
        (RhTest[]){
            {"layers_may_be_one_and_the_same", layers_may_be_one_and_the_same},
            {"mixers_are_in_the_order_that_is_said", mixers_are_in_the_order_that_is_said},
            {"queries_may_come_from_a_latent", queries_may_come_from_a_latent},
            {"a_window_both_ways_is_a_band", a_window_both_ways_is_a_band},
            {"a_layer_of_two_attentions_is_two_layers", a_layer_of_two_attentions_is_two_layers},
            {"norms_may_have_no_scales", norms_may_have_no_scales},
            {"a_list_counts_layers", a_list_counts_layers},
            {"indexers_may_be_shared", indexers_may_be_shared},
            {"blocks_of_keys_are_chosen", blocks_of_keys_are_chosen},
            {"granite_looks_at_all_first", granite_looks_at_all_first},
            {"parts_have_the_type_of_their_whole", parts_have_the_type_of_their_whole},
            {"inkling_has_windows_with_heads_of_their_own",
             inkling_has_windows_with_heads_of_their_own},
            {"muse_glimmer_counts_from_the_end", muse_glimmer_counts_from_the_end},
            {"groups_are_chosen_of_those_there_are", groups_are_chosen_of_those_there_are},
            {"ling_3_decays_by_matrices", ling_3_decays_by_matrices},
            {"layers_share_keys_in_turns", layers_share_keys_in_turns},
            {"two_gemmas_are_an_encoder_and_a_decoder", two_gemmas_are_an_encoder_and_a_decoder},
            {"others_experts_are_held_alone", others_experts_are_held_alone},
            {"sharing_is_a_feature", sharing_is_a_feature},
            {0}});
}
