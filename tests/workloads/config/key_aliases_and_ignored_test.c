/* Keys of a config.json that say a model is another, or that are wrong; towers and decoders that are parts of larger models. */
#include <string.h>

#include "tests/kit/model_counts.h"
#include "tests/kit/shard_kit.h"
#include "workloads/operators/operator.h"

#define BERT_SHAPE(type, layers, hidden, heads, ffn, vocab)                                        \
    "'model_type': '" type "', 'num_hidden_layers': " #layers ", 'hidden_size': " #hidden          \
    ", 'num_attention_heads': " #heads ", 'intermediate_size': " #ffn ", 'vocab_size': " #vocab
#define TOWER(type, layers, hidden, heads, ffn)                                                    \
    "'model_type': '" type "', 'num_hidden_layers': " #layers ", 'hidden_size': " #hidden          \
    ", 'num_attention_heads': " #heads ", 'intermediate_size': " #ffn
#define NOMIC(experts)                                                                             \
    "{'model_type': 'nomic_bert', 'n_layer': 12, 'n_embd': 768, 'n_head': 12, 'n_inner': 3072, "   \
    "'vocab_size': 250048, 'n_positions': 2048, 'activation_function': 'gelu', "                   \
    "'type_vocab_size': 1, 'mlp_fc1_bias': true, 'qkv_proj_bias': true" experts "}"
#define LONGT5(rest)                                                                               \
    "{'model_type': 'longt5', 'd_model': 768, 'num_layers': 12, 'num_decoder_layers': 12, "        \
    "'num_heads': 12, 'd_ff': 2048, 'vocab_size': 32128, 'feed_forward_proj': 'gated-gelu', "      \
    "'encoder_attention_type': 'transient-global', 'is_encoder_decoder': true, "                   \
    "'tie_word_embeddings': false" rest "}"

static void a_switch_is_no_number(void)
{
    check_refused("{" SHAPE("sdar", 36, 4096, 32, 8, 12288, 151936) ", 'attention_bias': 3}",
                  "attention_bias");
}

/* Towers have default pictures and patches, as files of transformers omit those that are the type's
 * own. */
static void towers_have_their_own_patches(void)
{
    static const struct {
        const char *type;
        int picture, patch;
    } rows[] = {{"clip_vision_model", 224, 32},  {"owlvit_vision_model", 768, 32},
                {"owlv2_vision_model", 768, 16}, {"mlcd_vision_model", 336, 14},
                {"idefics3_vision", 224, 32},    {"smolvlm_vision", 224, 32},
                {"siglip_vision_model", 224, 16}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *left_out = g_strdup_printf(
            "{" TOWER("%s", 12, 768, 12, 3072) ", 'num_channels': 3}", rows[i].type);
        g_autofree char *said = g_strdup_printf(
            "{" TOWER("%s", 12, 768, 12, 3072) ", 'image_size': %d, 'patch_size': %d}",
            rows[i].type, rows[i].picture, rows[i].patch);
        g_autoptr(RhModel) a = model_load(left_out);
        g_autoptr(RhModel) b = model_load(said);
        CU_ASSERT_EQUAL(rh_model_params(a), rh_model_params(b));
        CU_ASSERT_EQUAL(a->patch_entries, 3 * rows[i].patch * rows[i].patch);
    }
}

/* Nomic BERT with experts in no layer is dense, whatever else its file says of experts. */
static void experts_in_no_layer_are_none(void)
{
    g_autoptr(RhModel) dense = model_load(NOMIC(", 'num_experts': 8, 'moe_every_n_layers': 0"));
    CU_ASSERT_TRUE(rh_model_experts_kind(dense) == NULL);
}

/* Tables of XLM with 15 languages (mlm-tlm-xnli15), and of RemBERT: 576 M parameters, with a pooler
 * and a matrix of 1,664 columns before the head 995 M. Source: Chung et al. 2020 (arXiv
 * 2010.12821), table 2. */
static void tables_are_those_of_their_files(void)
{
    static const char *const one = "{'model_type': 'xlm', 'n_layers': 12, 'emb_dim': 1024, "
                                   "'n_heads': 8, 'n_words': 95000, 'n_langs': 1}",
                             *const many = "{'model_type': 'xlm', 'n_layers': 12, 'emb_dim': 1024, "
                                           "'n_heads': 8, 'n_words': 95000, 'n_langs': 15}";
    const int64_t h = 1024;
    g_autoptr(RhModel) a = model_load(one);
    g_autoptr(RhModel) b = model_load(many);
    CU_ASSERT_EQUAL(rh_model_params(b) - rh_model_params(a), 15 * h);
    CU_ASSERT_EQUAL(rh_model_params(a), 95000 * h + 512 * h + 2 * h + 12 * (12 * h * h + 13 * h) +
                                            2 * h); /* and a last norm, which there is none of */
    const double w = 1152, wide = 1664, V = 250300;
    g_autoptr(RhModel) rembert = model_load(
        "{" BERT_SHAPE("rembert", 32, 1152, 18, 4608,
                       250300) ", 'input_embedding_size': 256, 'output_embedding_size': 1664}");
    RH_CHECK_CLOSE((double)rh_model_params(rembert), 995e6, 2e-3);
    RH_CHECK_CLOSE((double)rh_model_params(rembert) - wide * (V + w + 1) + w * (w + 1), 576e6,
                   5e-4);
    RH_CHECK_CLOSE(rh_model_flops_per_token(rembert, 512),
                   6 * (32 * 12 * w * w + w * wide + wide * V) + 32 * 3 * 4 * w * 512, 1e-12);
}

/* BEiT's as timm counts them, which has scales of layers' outputs besides and no bias of keys; the spectrogram's of its weights;
 * I-JEPA's of its name. Tokens are patches.
 * Source: timm's counts, and the names of the published weights. */
static void towers_come_to_what_is_published(void)
{
#define CLASSES(n) "'image_size': 224, 'patch_size': " #n
    static const char *const BEIT = "{" TOWER("beit", 12, 768, 12, 3072) ", " CLASSES(
        16) ", 'use_relative_position_bias': true, "
            "'id2label': {'0': 'a', '1': 'b'}}";
    g_autoptr(RhModel) beit = model_load(BEIT);
    double more = (1000 - 2) * (768 + 1.0);
    RH_CHECK_CLOSE((double)rh_model_params(beit) + more, 86530984, 1e-3);
    CU_ASSERT_EQUAL(beit->relative_bias_entries, (27 * 27 + 3) * 12 * 12);
    g_autoptr(RhModel) ast = model_load("{" TOWER("audio-spectrogram-transformer", 12, 768, 12,
                                                  3072) ", 'num_mel_bins': 128, 'max_length': "
                                                        "1024, 'patch_size': 16}");
    CU_ASSERT_EQUAL(ast->positions, 12 * 101 + 2);
    RH_CHECK_CLOSE((double)rh_model_params(ast) + (527 - 2) * (768 + 1.0), 86.6e6, 2e-3);
    g_autoptr(RhModel) ijepa =
        model_load("{" TOWER("ijepa", 32, 1280, 16, 5120) ", " CLASSES(14) "}");
    CU_ASSERT_EQUAL(ijepa->positions, 256);
    RH_CHECK_CLOSE((double)rh_model_params(ijepa), 631e6, 2e-3);
    g_autoptr(RhModel) smol = model_load(
        "{" TOWER("smolvlm_vision", 12, 768, 12, 3072) ", 'image_size': 512, 'patch_size': 16}");
    CU_ASSERT_EQUAL(smol->positions, 1024);
}

/* The encoder's tokens see 127 on either side, T5's all; parameters are T5 v1.1's 247,577,856.
 * Source: the weights of google/t5-v1_1-base. */
static void longt5_sees_a_window(void)
{
    g_autoptr(RhModel) m = model_load(LONGT5(", 'local_radius': 127"));
    CU_ASSERT_EQUAL(rh_model_params(m), 247577856);
    for (int32_t i = 0; i < m->layers_count; i++)
        CU_ASSERT_EQUAL(m->kinds[m->kind_of_layer[i]].window_tokens,
                        m->kinds[m->kind_of_layer[i]].encodes ? 255 : 0);
}

/* Counts are exact or refused: sums of such sizes came out negative. */
static void what_is_beyond_counting_is_refused(void)
{
    check_refused("{" SHAPE("mixtral", 4096, 1000000, 1000, 1000, 1000000,
                            16000000) ", 'num_local_experts': 16384, 'num_experts_per_tok': 2}",
                  "fewer than 2^53 are counted");
    check_refused("{" TOWER("vit", 12, 1000000, 1000, 1000) ", 'image_size': 1000000000, "
                                                            "'patch_size': 1}",
                  "fewer than 2^53 are counted");
    g_autoptr(RhModel) m = model_load("{" SHAPE("llama", 4096, 4096, 32, 32, 4096, 32000) "}");
    int64_t before = rh_model_params(m);
    g_autoptr(GError) error = NULL;
    CU_ASSERT_TRUE(rh_model_set(m, "ffn", "1048576", NULL));
    CU_ASSERT_TRUE(rh_model_set(m, "ffn", "4096", NULL));
    CU_ASSERT_FALSE(rh_model_set(m, "hidden", "1048576", &error));
    CU_ASSERT_TRUE(error != NULL && strstr(error->message, "2^53") != NULL);
    CU_ASSERT_EQUAL(rh_model_params(m), before);
}

static void figures_that_do_not_fit_are_told(void)
{
    check_refused("{'model_type': 'xlstm', 'num_hidden_layers': 2, 'hidden_size': 64, 'num_heads': "
                  "3, 'vocab_size': 100}",
                  "num_heads 3 does not divide hidden_size 64");
    check_refused("{'model_type': 'llava', 'text_config': 5}", "text_config must be an object");
    check_refused("{'model_type': 'llava'}", "no part here is its decoder");
    g_autoptr(RhModel) m = model_load("{'model_type': 'xlstm', 'num_hidden_layers': 2, "
                                      "'hidden_size': 64, 'num_heads': 2, 'vocab_size': 100}");
    g_autoptr(GError) error = NULL;
    CU_ASSERT_TRUE(rh_model_set(m, "ffn_proj_factor", "4", NULL));
    CU_ASSERT_EQUAL(m->kinds[0].ffn_width, 256);
    CU_ASSERT_TRUE(rh_model_set(m, "heads", "4", NULL));
    CU_ASSERT_EQUAL(m->kinds[0].heads, 4);
    CU_ASSERT_FALSE(rh_model_set(m, "ffn_proj_factor", "on", &error));
    CU_ASSERT_TRUE(error != NULL && strstr(error->message, "not a number") != NULL);
}

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

/* CLIP's reader of ViT-B/32: 63,165,952 (openai/clip-vit-base-patch32, its text_model).
 * Source: the weights of openai/clip-vit-base-patch32, text_model. */
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

/* The version of MiniCPM-V and -o selects the decoder they are built on. */
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
        "config_keys",
        (RhTest[]){
            {"a_switch_is_no_number", a_switch_is_no_number},
            {"towers_have_their_own_patches", towers_have_their_own_patches},
            {"experts_in_no_layer_are_none", experts_in_no_layer_are_none},
            {"tables_are_those_of_their_files", tables_are_those_of_their_files},
            {"towers_come_to_what_is_published", towers_come_to_what_is_published},
            {"longt5_sees_a_window", longt5_sees_a_window},
            {"what_is_beyond_counting_is_refused", what_is_beyond_counting_is_refused},
            {"figures_that_do_not_fit_are_told", figures_that_do_not_fit_are_told},
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
