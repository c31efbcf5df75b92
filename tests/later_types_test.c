/* Types of 2026 that hold something a table before them did not say: Ling 2.5 and 3.0, ERNIE's experts for pictures, Inkling,
 * Muse Glimmer, Command A+. */
#include "base/error.h"
#include "tests/model_counts.h"
#include "tests/operators_kit.h"

#define RING_2_5                                                                                   \
    SHAPE("bailing_hybrid", 80, 8192, 64, 64, 18432, 157184)                                       \
    ", 'head_dim': 128, 'num_experts': 256, 'num_experts_per_tok': 8, 'moe_intermediate_size': "   \
    "2048, 'moe_shared_expert_intermediate_size': 2048, 'num_shared_experts': 1, "                 \
    "'kv_lora_rank': 512, 'q_lora_rank': 1536, 'qk_rope_head_dim': 64, 'qk_nope_head_dim': 128, "  \
    "'v_head_dim': 128, 'n_group': 8, 'topk_group': 4, 'first_k_dense_replace': 4, "               \
    "'layer_group_size': 8, 'group_norm_size': 8, 'use_qk_norm': true"
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

/* Sums of the shapes that transformers' modules have (5.x, August 2026), as counted by a script from its modelling code; of
 * Ling and Ring by hand, from their configurations. What is left out, or counted too much, stands beside. */
static void parameters_are_those_of_the_modules(void)
{
    static const ExactCount rows[] = {
        /* norms of linear layers' queries and keys, 70 layers' */
        {"{" RING_2_5 "}", 1012231160320 - 70 * 2 * 128},
        {"{" LING_3(42) "}", 124414211552},
        {"{" ERNIE_VL("'moe_num_experts': [64, 64], 'moe_intermediate_size': [1536, 512], "
                      "'moe_layer_start_index': [1, 1], 'moe_layer_end_index': [29, 28]") "}",
         28624635776},
        {"{'model_type': 'ernie4_5_vl_moe', 'text_config': {'model_type': 'ernie4_5_vl_moe_text', "
         "'num_hidden_layers': 28, 'hidden_size': 2560, 'num_attention_heads': 20, "
         "'num_key_value_heads': 4, 'intermediate_size': 12288, 'vocab_size': 103424, 'moe_k': 6, "
         "'moe_num_experts': 64, 'moe_intermediate_size': [1536, 512]}}",
         28624635776},
        /* the same with its head, which the text's module alone has not */
        {"{" SHAPE("muse_glimmer_text", 52, 6656, 32, 2, 19968, 202048) ", 'sliding_window': 2048}",
         26509949440 + 202048 * 6656},
        {"{" SHAPE("cosmos3_edge_text", 28, 2048, 16, 8, 9216, 131072) ", 'hidden_act': 'relu2'}",
         1677838336 + 131072 * 2048},
        {"{" SHAPE("granite4_vision_text", 32, 4096, 32, 32, 11008, 32000) "}",
         6607343616 + 32000 * 4096},
        /* norms without biases are counted with them; a norm before the experts */
        {"{" SHAPE("cohere2_moe", 40, 8192, 64, 64, 22528, 256000) ", 'num_experts': 8, "
                                                                   "'num_experts_per_tok': 2}",
         190004928512 + 81 * 8192 + 40 * 8192},
    };
    check_exact(rows, G_N_ELEMENTS(rows));
}

/* Its parts of scores by distance and its convolutions are left out. */
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
    CU_ASSERT_TRUE(m->kinds[m->kind_of_layer[3]].expert_groups == 8 &&
                   m->kinds[m->kind_of_layer[3]].expert_groups_chosen == 4);
    /* A number a head scales what latent attention puts out. */
    double out = 32 * 128 * h, keys = h * (512 + 64) + 512 * 32 * 256, queries = h * 32 * 192;
    CU_ASSERT_EQUAL(rh_block_flops(m, latent, RH_BLOCK_MIXER, &one).weights,
                    2 * n * (queries + keys + out + h * 32));
}

/* Hunyuan-Large (arXiv 2411.02265, table 1): 389 G parameters, of which a token meets 52. */
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
                   strstr(error->message, "moe_num_experts is no number and no pair") != NULL);
}

int main(void)
{
    return rh_test_main(
        "later_types",
        (RhTest[]){
            {"parameters_are_those_of_the_modules", parameters_are_those_of_the_modules},
            {"inkling_has_windows_with_heads_of_their_own",
             inkling_has_windows_with_heads_of_their_own},
            {"muse_glimmer_counts_from_the_end", muse_glimmer_counts_from_the_end},
            {"groups_are_chosen_of_those_there_are", groups_are_chosen_of_those_there_are},
            {"ling_3_decays_by_matrices", ling_3_decays_by_matrices},
            {"layers_share_keys_in_turns", layers_share_keys_in_turns},
            {"two_gemmas_are_an_encoder_and_a_decoder", two_gemmas_are_an_encoder_and_a_decoder},
            {"others_experts_are_held_alone", others_experts_are_held_alone},
            {0}});
}
