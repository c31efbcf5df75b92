/* Types of encoders, towers and decoders near others: parameters as published, and FLOPs by hand where they are not a sibling's. */
#include <string.h>

#include "tests/model_counts.h"
#include "tests/shard_kit.h"

#define BERT_SHAPE(type, layers, hidden, heads, ffn, vocab)                                        \
    "'model_type': '" type "', 'num_hidden_layers': " #layers ", 'hidden_size': " #hidden          \
    ", 'num_attention_heads': " #heads ", 'intermediate_size': " #ffn ", 'vocab_size': " #vocab
#define TOWER(type, layers, hidden, heads, ffn)                                                    \
    "'model_type': '" type "', 'num_hidden_layers': " #layers ", 'hidden_size': " #hidden          \
    ", 'num_attention_heads': " #heads ", 'intermediate_size': " #ffn
#define PANGU                                                                                                  \
    "{" SHAPE(                                                                                                 \
        "PanguProMoE", 48, 5120, 40, 8, 10240,                                                                 \
        153600) ", 'num_experts': 64, "                                                                        \
                "'num_experts_per_tok': 8, 'moe_intermediate_size': 1344, 'shared_expert_intermediate_size': " \
                "5376, 'tie_word_embeddings': false}"
#define NOMIC(experts)                                                                             \
    "{'model_type': 'nomic_bert', 'n_layer': 12, 'n_embd': 768, 'n_head': 12, 'n_inner': 3072, "   \
    "'vocab_size': 250048, 'n_positions': 2048, 'activation_function': 'gelu', "                   \
    "'type_vocab_size': 1, 'mlp_fc1_bias': true, 'qkv_proj_bias': true" experts "}"
#define LONGT5(rest)                                                                               \
    "{'model_type': 'longt5', 'd_model': 768, 'num_layers': 12, 'num_decoder_layers': 12, "        \
    "'num_heads': 12, 'd_ff': 2048, 'vocab_size': 32128, 'feed_forward_proj': 'gated-gelu', "      \
    "'encoder_attention_type': 'transient-global', 'is_encoder_decoder': true, "                   \
    "'tie_word_embeddings': false" rest "}"

/* Of SDAR the Qwen 3 that it began as, of FastVLM and Molmo 2 the decoder's, of Dots.VLM DeepSeek-V3's. */
static void decoders_are_those_they_began_as(void)
{
    static const ExactCount rows[] = {
        {"{" SHAPE("sdar", 36, 4096, 32, 8, 12288, 151936) ", 'head_dim': 128, 'block_size': 4}",
         8190735360},
        {"{" SHAPE("sdar_moe", 48, 2048, 32, 4, 6144,
                   151936) ", 'head_dim': 128, 'num_experts': 128, 'num_experts_per_tok': 8, "
                           "'moe_intermediate_size': 768, 'mlp_only_layers': []}",
         30532122624},
        {"{'model_type': 'molmo2', 'text_config': {" SHAPE(
             "molmo2_text", 36, 4096, 32, 8, 12288,
             151936) ", 'head_dim': 128, 'qkv_bias': false, 'use_qk_norm': true, "
                     "'qk_norm_type': 'qwen3'}, 'vit_config': {}}",
         8190735360},
        {"{" SHAPE("llava_qwen2", 28, 1536, 12, 2, 8960, 151936) ", 'tie_word_embeddings': true}",
         1543714304},
    };
    check_exact(rows, G_N_ELEMENTS(rows));
    check_refused("{" SHAPE("sdar", 36, 4096, 32, 8, 12288, 151936) ", 'attention_bias': 3}",
                  "attention_bias");
}

/* Where a file leaves out its pictures and patches, which transformers' files do where they are the type's own. */
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

/* A token of Pangu Pro meets 16 G parameters of 72. */
static void pangu_pro_has_a_shared_expert(void)
{
    g_autoptr(RhModel) m = model_load(PANGU);
    RH_CHECK_CLOSE((double)rh_model_params(m), 72e9, 2e-3);
    const double h = 5120, attention = h * (h + 2 * 8 * 128) + h * h;
    double layer = attention + 64 * h + 3 * h * (8 * 1344 + 5376);
    RH_CHECK_CLOSE(rh_model_flops_per_token(m, 4096),
                   48 * (6 * layer + 3 * 4 * 40 * 128 * 4096 / 2) + 6 * h * 153600, 1e-12);
    RH_CHECK_CLOSE(rh_model_flops_per_token(m, 1) / 6, 16e9, 0.04);
}

/* Names claim 475 M (305 M of them a token's), 117 M, 138 M and 373 M; 559 M is XLM-RoBERTa-large without positions, of Jina's
 * 572 M with adapters. */
static void encoders_come_to_what_their_names_claim(void)
{
    static const ClaimedCount rows[] = {
        {NOMIC(", 'num_experts': 8, 'moe_top_k': 2, 'moe_every_n_layers': 2"), 475e6, 2e-3},
        {"{" BERT_SHAPE("bert", 12, 768, 12, 3072, 4096) ", 'alibi_starting_size': 512}", 117e6,
         5e-3},
        {"{" BERT_SHAPE("xlm-roberta", 24, 1024, 16, 4096,
                        250002) ", 'type_vocab_size': 1, 'max_position_embeddings': 8194, "
                                "'position_embedding_type': 'rotary', 'lora_rank': 4}",
         559e6, 3e-3},
        {"{'model_type': 'flaubert', 'n_layers': 12, 'emb_dim': 768, 'n_heads': 12, 'n_words': "
         "68729, 'n_langs': 1}",
         138e6, 5e-3},
        {"{'model_type': 'flaubert', 'n_layers': 24, 'emb_dim': 1024, 'n_heads': 16, 'n_words': "
         "68729, 'n_langs': 1}",
         373e6, 5e-3},
        {"{" SHAPE("bidir_mistral", 32, 4096, 32, 8, 14336, 32000) "}", 7.11e9, 1e-3},
    };
    check_claimed(rows, G_N_ELEMENTS(rows));
    g_autoptr(RhModel) dense = model_load(NOMIC(", 'num_experts': 8, 'moe_every_n_layers': 0"));
    CU_ASSERT_TRUE(rh_model_experts_kind(dense) == NULL);
}

/* Of XLM with 15 languages (mlm-tlm-xnli15) a table of them; RemBERT's 576 M, which have a pooler, and a matrix of 1,664
 * columns before what predicts (arXiv 2010.12821, table 2: 995 M). */
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
 * I-JEPA's of its name. Tokens are patches. */
static void towers_come_to_what_is_published(void)
{
#define CLASSES(n) "'image_size': 224, 'patch_size': " #n
    static const char *const BEIT = "{" TOWER("beit", 12, 768, 12, 3072) ", " CLASSES(
        16) ", 'use_relative_position_bias': true, "
            "'id2label': {'0': 'a', '1': 'b'}}";
    g_autoptr(RhModel) beit = model_load(BEIT);
    double more = (1000 - 2) * (768 + 1.0);
    RH_CHECK_CLOSE((double)rh_model_params(beit) + more, 86530984, 1e-3);
    CU_ASSERT_EQUAL(beit->distances, (27 * 27 + 3) * 12 * 12);
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

/* The encoder's tokens see 127 on either side, T5's all; parameters are T5 v1.1's 247,577,856. */
static void longt5_sees_a_window(void)
{
    g_autoptr(RhModel) m = model_load(LONGT5(", 'local_radius': 127"));
    CU_ASSERT_EQUAL(rh_model_params(m), 247577856);
    for (int32_t i = 0; i < m->layers_count; i++)
        CU_ASSERT_EQUAL(m->kinds[m->kind_of_layer[i]].window_tokens,
                        m->kinds[m->kind_of_layer[i]].encodes ? 255 : 0);
}

static void parts_are_found(void)
{
    static const ExactCount rows[] = {
        {"{'model_type': 'colqwen2', 'vlm_config': {'model_type': 'qwen2_vl', 'text_config': "
         "{" SHAPE("qwen2_vl_text", 28, 1536, 12, 2, 8960,
                   151936) ", 'tie_word_embeddings': true}}, 'embedding_dim': 128}",
         1543714304},
        {"{'model_type': 'qianfan_ocr', 'text_config': {'num_hidden_layers': 36, 'hidden_size': "
         "4096, 'num_key_value_heads': 8, 'intermediate_size': 12288}}",
         8190735360},
    };
    check_exact(rows, G_N_ELEMENTS(rows));
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

int main(void)
{
    return rh_test_main(
        "further_types",
        (RhTest[]){
            {"decoders_are_those_they_began_as", decoders_are_those_they_began_as},
            {"towers_have_their_own_patches", towers_have_their_own_patches},
            {"pangu_pro_has_a_shared_expert", pangu_pro_has_a_shared_expert},
            {"encoders_come_to_what_their_names_claim", encoders_come_to_what_their_names_claim},
            {"tables_are_those_of_their_files", tables_are_those_of_their_files},
            {"towers_come_to_what_is_published", towers_come_to_what_is_published},
            {"longt5_sees_a_window", longt5_sees_a_window},
            {"parts_are_found", parts_are_found},
            {"what_is_beyond_counting_is_refused", what_is_beyond_counting_is_refused},
            {"figures_that_do_not_fit_are_told", figures_that_do_not_fit_are_told},
            {0}});
}
