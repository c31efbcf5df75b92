/* Model types beyond the first: counts of parameters against published weights and model cards, and
 * layers by hand where a type says them in its own way. */
#include <string.h>

#include "tests/model_counts.h"
#include "tests/testkit.h"
#include "tests/train_kit.h"
#include "workloads/families.h"
#include "workloads/ops.h"

#define STEP3(layers, experts)                                                                     \
    "{'model_type': 'step3_text', 'num_hidden_layers': " #layers ", 'hidden_size': 7168, "         \
    "'num_attention_heads': 64, 'head_dim': 256, 'share_q_dim': 2048, 'intermediate_size': "       \
    "18432, 'moe_intermediate_size': 5120, 'moe_num_experts': 48, 'moe_top_k': 3, "                \
    "'share_expert_dim': 5120, 'moe_layers_enum': '" experts "', 'vocab_size': 128815}"
#define TOWER(layers, hidden, heads, ffn, image)                                                   \
    "'num_hidden_layers': " #layers ", 'hidden_size': " #hidden ", 'num_attention_heads': " #heads \
    ", 'intermediate_size': " #ffn ", 'image_size': " #image ", 'patch_size': 14"

/* Totals of published weights, typed as remembered and not fetched, as in families_test.c. */
static void parameters_equal_the_published_counts(void)
{
    static const ExactCount rows[] = {
        {"{'model_type': 'gpt_neo', 'num_layers': 24, 'hidden_size': 2048, 'num_heads': 16, "
         "'intermediate_size': null, 'vocab_size': 50257, 'window_size': 256, 'attention_types': "
         "[[['global', 'local'], 12]]}",
         1315575808},
        /* without their poolers, with what makes a head's input as narrow as the table, and a norm before */
        {"{" SHAPE("albert", 12, 768, 12, 12, 3072, 30000) "}",
         11683584 - (768 * 768 + 768) + (768 * 128 + 128) + 2 * 768},
        {"{" SHAPE("albert", 12, 4096, 64, 64, 16384, 30000) "}",
         222595584 - (4096 * 4096 + 4096) + (4096 * 128 + 128) + 2 * 4096},
        {"{" SHAPE("electra", 12, 256, 4, 4, 1024, 30522) ", 'embedding_size': 128}",
         13483008 + (256 * 128 + 128) + 2 * 256},
        {"{" SHAPE("electra", 24, 1024, 16, 16, 4096, 30522) ", 'embedding_size': 1024}",
         334092288 + 2 * 1024},
        {"{" SHAPE("vaultgemma", 26, 1152, 4, 4, 6912, 256000) "}", 1038741120},
        /* a norm behind the last block, which has one already */
        {"{'model_type': 'distilbert', 'n_layers': 6, 'dim': 768, 'n_heads': 12, 'hidden_dim': "
         "3072, 'vocab_size': 30522, 'max_position_embeddings': 512}",
         66362880 + 1536},
        /* ... and less its pooler */
        {"{" SHAPE("camembert", 12, 768, 12, 12, 3072, 32005) ", 'max_position_embeddings': 514, "
                                                              "'type_vocab_size': 1}",
         110621952 - 590592 + 1536},
        {"{" SHAPE("lfm2", 16, 2048, 32, 8, 12288,
                   65536) ", 'block_multiple_of': 256, 'full_attn_idxs': [2, 5, 8, 10, 12, 14]}",
         1170340608},
        {"{'model_type': 'xglm', 'num_layers': 24, 'd_model': 1024, 'attention_heads': 16, "
         "'ffn_dim': 4096, 'vocab_size': 256008}",
         564463616},
        /* without the transform before its head and what predicts contacts */
        {"{" SHAPE("esm", 33, 1280, 20, 20, 5120, 33) "}",
         651043254 - (1280 * 1280 + 3 * 1280 + 33) - 661},
        {"{'model_type': 'mamba', 'num_hidden_layers': 64, 'hidden_size': 2560, "
         "'intermediate_size': 5120, 'state_size': 16, 'time_step_rank': 160, 'vocab_size': 50280}",
         2768345600},
        {"{'model_type': 'falcon_mamba', 'num_hidden_layers': 64, 'hidden_size': 4096, 'expand': "
         "16, 'intermediate_size': 8192, 'state_size': 16, 'time_step_rank': 'auto', 'vocab_size': "
         "65024, 'tie_word_embeddings': false}",
         7272665088},
        {"{" SHAPE("kimi_linear", 27, 2304, 32, 32, 9216,
                   163840) ", 'head_dim': 72, 'kv_lora_rank': 512, 'q_lora_rank': null, "
                           "'qk_nope_head_dim': 128, 'qk_rope_head_dim': 64, 'v_head_dim': 128, "
                           "'num_experts': 256, 'num_experts_per_token': 8, "
                           "'moe_intermediate_size': 1024, 'num_shared_experts': 1, "
                           "'first_k_dense_replace': 1, 'linear_attn_config': {'head_dim': 128, "
                           "'num_heads': 32, 'full_attn_layers': [4, 8, 12, 16, 20, 24, 27]}}",
         49122681728},
        {"{" SHAPE("jamba", 32, 4096, 32, 8, 14336,
                   65536) ", 'num_experts': 16, 'num_experts_per_tok': 2, 'mamba_dt_rank': 256}",
         51570323328},
        /* with a bias of patches and a projection; one norm behind each other more and less */
        {"{'model_type': 'clip_vision_model', " TOWER(24, 1024, 16, 4096, 224) "}",
         303179776 - 1024 + 512 * 1024 + 512},
        /* less what pools, with a token that is classified and two classes */
        {"{'model_type': 'siglip_vision_model', " TOWER(27, 1152, 16, 4304, 384) "}",
         428225600 - 15238352 + 3 * 1152 + 2},
        /* less scales of layers and a masked token, with two classes */
        {"{'model_type': 'dinov2', " TOWER(40, 1536, 24, 4096, 518) ", 'mlp_ratio': 4, "
                                                                    "'use_swiglu_ffn': true}",
         1136480768 - 2 * 40 * 1536 - 1536 + 2 * 1536 + 2},
    };
    check_exact(rows, G_N_ELEMENTS(rows));
}

/* Of weights whose norms are not quite ours (OLMo's have no scales, BitNet's second is of the ffn's
 * width) and, where no count is published, what model cards and reports claim: InternLM, InternLM 3,
 * Orion, FlexOlmo, GLM-4.7-Flash, K-EXAONE, Trinity Mini, Solar Open, Youtu-LLM, LongCat-Flash (arXiv
 * 2509.01322), nanochat's d20, Falcon-H1-34B, Step3, Jais-13b, Phi-3-small. */
static void parameters_are_near_the_claim(void)
{
    static const ClaimedCount rows[] = {
        {"{" SHAPE("olmo", 32, 4096, 32, 32, 11008, 50304) "}", 6888095744.0, 1e-3},
        /* ModernBERT's encoders have no biases of norms, and no norm before the first attention */
        {"{" SHAPE("modernbert", 22, 768, 12, 12, 1152, 50368) "}", 149014272.0, 1e-3},
        {"{" SHAPE("modernbert", 28, 1024, 16, 16, 2624, 50368) "}", 394781696.0, 1e-3},
        {"{" SHAPE("lfm2_moe", 24, 2048, 32, 8, 7168,
                   65536) ", 'num_experts': 32, 'num_experts_per_tok': 4, "
                          "'moe_intermediate_size': 1792, 'num_dense_layers': 2, "
                          "'full_attn_idxs': [2, 6, 10, 14, 18, 21]}",
         8.34e9, 1e-3},
        {"{" SHAPE("minimax_m1", 80, 6144, 64, 8, 9216,
                   200064) ", 'head_dim': 128, 'num_local_experts': 32, 'num_experts_per_tok': 2, "
                           "'shared_intermediate_size': 0}",
         456e9, 1e-3},
        {"{" SHAPE("falcon_h1", 72, 5120, 20, 4, 21504,
                   261120) ", 'head_dim': 128, 'mamba_n_heads': 32, 'mamba_d_head': 128, "
                           "'mamba_d_state': 256, 'mamba_n_groups': 2, 'mamba_chunk_size': 128}",
         33.6e9, 2e-3},
        {STEP3(61, "4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,"
                   "32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50,51,52,53,54,55,56,57,"
                   "58,59"),
         316e9, 2e-3},
        {"{'model_type': 'jais', 'n_layer': 40, 'n_embd': 5120, 'n_head': 40, 'n_inner': 13653, "
         "'vocab_size': 84992}",
         13e9, 0.01},
        {"{" SHAPE("phi3small", 32, 4096, 32, 8, 14336, 100352) ", 'ff_intermediate_size': 14336}",
         7.39e9, 1e-3},
        {"{" SHAPE("bitnet", 30, 2560, 20, 5, 6912, 128256) ", 'tie_word_embeddings': true}",
         2412820480.0, 1e-3},
        {"{" SHAPE("internlm", 32, 4096, 32, 32, 11008, 103168) ", 'bias': true}", 7.32e9, 1e-3},
        {"{" SHAPE("internlm3", 48, 4096, 32, 2, 10240, 128512) ", 'head_dim': 128}", 8.80e9, 1e-3},
        {"{" SHAPE("orion", 40, 5120, 40, 40, 15360, 84608) "}", 14.5e9, 1e-3},
        {"{" SHAPE("nanochat", 20, 1280, 10, 10, 5120, 65536) "}", 561e6, 1e-3},
        {"{" SHAPE("flex_olmo", 32, 4096, 32, 32, 11008, 100278) ", 'num_experts': 7, "
                                                                 "'num_experts_per_tok': 7}",
         33e9, 0.01},
        {"{" SHAPE("glm4_moe_lite", 47, 2048, 20, 20, 10240,
                   154880) ", 'q_lora_rank': 768, 'kv_lora_rank': 512, 'qk_nope_head_dim': 192, "
                           "'qk_rope_head_dim': 64, 'v_head_dim': 256, 'n_routed_experts': 64, "
                           "'num_experts_per_tok': 4, 'moe_intermediate_size': 1536, "
                           "'n_shared_experts': 1, 'first_k_dense_replace': 1}",
         30e9, 0.01},
        {"{" SHAPE("exaone_moe", 48, 6144, 64, 8, 18432,
                   153600) ", 'head_dim': 128, 'num_experts': 128, 'num_experts_per_tok': 8, "
                           "'moe_intermediate_size': 2048, 'num_shared_experts': 1, "
                           "'first_k_dense_replace': 1}",
         236e9, 0.01},
        {"{" SHAPE("afmoe", 32, 2048, 32, 4, 6144,
                   200192) ", 'head_dim': 128, 'num_experts': 128, 'num_experts_per_tok': 8, "
                           "'moe_intermediate_size': 1024, 'num_shared_experts': 1, "
                           "'num_dense_layers': 2}",
         26e9, 0.01},
        {"{" SHAPE("solar_open", 48, 4096, 64, 8, 10240,
                   196608) ", 'head_dim': 128, 'n_routed_experts': 128, 'num_experts_per_tok': 8, "
                           "'moe_intermediate_size': 1280, 'n_shared_experts': 1}",
         102.6e9, 0.01},
        {"{" SHAPE("youtu", 32, 2048, 16, 16, 6144,
                   128256) ", 'q_lora_rank': 1536, 'kv_lora_rank': 512, 'qk_nope_head_dim': 128, "
                           "'qk_rope_head_dim': 64, 'v_head_dim': 128, 'tie_word_embeddings': "
                           "true}",
         1.96e9, 1e-3},
        {"{'model_type': 'longcat_flash', 'num_layers': 28, 'hidden_size': 6144, "
         "'num_attention_heads': 64, 'ffn_hidden_size': 12288, 'q_lora_rank': 1536, "
         "'kv_lora_rank': 512, 'qk_nope_head_dim': 128, 'qk_rope_head_dim': 64, 'v_head_dim': 128, "
         "'n_routed_experts': 512, 'moe_topk': 12, 'zero_expert_num': 256, "
         "'expert_ffn_hidden_size': 2048, 'vocab_size': 131072}",
         560e9, 0.01},
    };
    check_claimed(rows, G_N_ELEMENTS(rows));
}

/* Two of ours for each of its own; of 12 experts asked, 8 of 768 work in the mean: 27 G of 560 G
 * parameters are a token's, the head among them (18.6 to 31.3, arXiv 2509.01322). */
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
    CU_ASSERT_PTR_NOT_NULL(error != NULL ? strstr(error->message, "\"3\" is no layer of 3") : NULL);
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

int main(void)
{
    return rh_test_main(
        "types",
        (RhTest[]){
            {"layers_may_be_one_and_the_same", layers_may_be_one_and_the_same},
            {"parameters_equal_the_published_counts", parameters_equal_the_published_counts},
            {"parameters_are_near_the_claim", parameters_are_near_the_claim},
            {"mixers_are_in_the_order_that_is_said", mixers_are_in_the_order_that_is_said},
            {"queries_may_come_from_a_latent", queries_may_come_from_a_latent},
            {"a_window_both_ways_is_a_band", a_window_both_ways_is_a_band},
            {"a_layer_of_two_attentions_is_two_layers", a_layer_of_two_attentions_is_two_layers},
            {0}});
}
