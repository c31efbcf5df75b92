/* Decoders inside models of several parts, whose files leave out what is at their classes' defaults; and types that
 * are near kin of others: counts of parameters against those of published weights. */
#include <string.h>

#include "base/error.h"
#include "tests/model_counts.h"
#include "workloads/families.h"

/* --- Parts --- */

/* text_config as google/gemma-3-4b-it, llava-hf/llava-1.5-7b-hf and mistral-community/pixtral-12b have it. Gemma 3 4B's
 * decoder: 3,880,263,168 as llama.cpp counts its file ("n_params"); the others by hand: Vicuna's 6,738,415,616 with
 * 64 rows more in both tables, Mistral Nemo's 12,247,782,400. */
static void a_part_has_its_class_defaults(void)
{
    static const ExactCount rows[] = {
        {"{'model_type': 'gemma3', 'text_config': {'hidden_size': 2560, 'intermediate_size': 10240, "
         "'model_type': 'gemma3_text', 'num_hidden_layers': 34, 'sliding_window': 1024}, "
         "'vision_config': {'hidden_size': 1152, 'num_hidden_layers': 27}}",
         3880263168},
        {"{'model_type': 'llava', 'text_config': {'model_type': 'llama', 'vocab_size': 32064}}",
         6738415616 + 2 * 64 * 4096},
        {"{'model_type': 'llava', 'text_config': {'head_dim': 128, 'hidden_size': 5120, "
         "'intermediate_size': 14336, 'model_type': 'mistral', 'num_hidden_layers': 40, "
         "'num_key_value_heads': 8, 'sliding_window': null, 'vocab_size': 131072}}",
         12247782400},
    };
    check_exact(rows, G_N_ELEMENTS(rows));
}

/* Vicuna, of a part that does not say its type either. */
static void a_part_without_a_type_has_its_wholes(void)
{
    g_autoptr(RhModel) said =
        model_load("{'model_type': 'vipllava', 'text_config': {'model_type': 'llama'}}");
    g_autoptr(RhModel) unsaid =
        model_load("{'model_type': 'vipllava', 'text_config': {'vocab_size': 32000}}");
    CU_ASSERT_EQUAL(rh_model_params(said), 6738415616);
    CU_ASSERT_EQUAL(rh_model_params(unsaid), 6738415616);
    CU_ASSERT_STRING_EQUAL(unsaid->family, "llama");
}

/* At the top of a file a missing size is an error, as of a part whose class has no default here. */
static void the_whole_has_no_defaults(void)
{
    static const char *const texts[] = {
        "{'model_type': 'llama', 'vocab_size': 32064}",
        "{'model_type': 'unheard_of', 'text_config': {'model_type': 'ernie4_5'}}"};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(RhModel) m = model_parse(texts[i], &error);
        CU_ASSERT_PTR_NULL(m);
        CU_ASSERT_TRUE(error != NULL &&
                       strstr(error->message, "\"hidden_size\" is missing") != NULL);
    }
}

/* --- Kin --- */

#define ENCODER(type, rest)                                                                        \
    "{'model_type': '" type "', 'num_hidden_layers': 12, 'hidden_size': 768, "                     \
    "'num_attention_heads': 12, 'intermediate_size': 3072, " rest "}"
#define POOLER (768 * 768 + 768)

/* Totals of published weights, less what is left out and with what is counted and is none, beside them. */
static void parameters_of_kin_equal_the_published_counts(void)
{
    static const ExactCount rows[] = {
        /* two rows of positions */
        {"{" SHAPE("biogpt", 24, 1024, 16, 16, 4096, 42384) ", 'max_position_embeddings': 1024}",
         346763264 - 2 * 1024},
        /* a norm behind the last block, here and below */
        {"{'model_type': 'openai-gpt', 'n_layer': 12, 'n_embd': 768, 'n_head': 12, 'n_positions': 512, "
         "'vocab_size': 40478}",
         116534784 + 2 * 768},
        {ENCODER("mpnet", "'vocab_size': 30527, 'max_position_embeddings': 514, "
                          "'relative_attention_num_buckets': 32"),
         109486464 - POOLER + 2 * 768},
        {"{'model_type': 'nomic_bert', 'n_layer': 12, 'n_embd': 768, 'n_head': 12, 'n_inner': 3072, "
         "'vocab_size': 30528, 'type_vocab_size': 2, 'qkv_proj_bias': false}",
         136731648 + 2 * 768},
        /* biases of the matrices into the network (GTE-large) */
        {"{'model_type': 'new', 'num_hidden_layers': 24, 'hidden_size': 1024, 'num_attention_heads': 16, "
         "'intermediate_size': 4096, 'vocab_size': 30528, 'type_vocab_size': 2}",
         434139136 + 24 * 2 * 4096 + 2 * 1024},
        /* a mask's token and scales of each layer's outputs; two classes */
        {"{'model_type': 'dinov2_with_registers', 'num_hidden_layers': 12, 'hidden_size': 768, "
         "'num_attention_heads': 12, 'image_size': 518, 'patch_size': 14}",
         86580480 + 4 * 768 - 768 - 12 * 2 * 768 + 2 * 768 + 2},
    };
    check_exact(rows, G_N_ELEMENTS(rows));
}

/* DINOv3's 7B: 6,716 M (arXiv 2508.10104, table 2). Aria's decoder 24.9 G (arXiv 2410.05993). Pixtral's tower 400 M
 * (arXiv 2410.07073). Ettin 150 M, of ModernBERT's sizes (arXiv 2507.11412). EuroBERT 210 M (arXiv 2503.05500). */
static void parameters_of_kin_are_near_the_claim(void)
{
    static const ClaimedCount rows[] = {
        {"{'model_type': 'dinov3_vit', 'num_hidden_layers': 40, 'hidden_size': 4096, "
         "'num_attention_heads': 32, 'intermediate_size': 8192, 'use_gated_mlp': true, "
         "'num_register_tokens': 4}",
         6716e6, 1e-3},
        {"{'model_type': 'aria', 'text_config': {" SHAPE(
             "aria_text", 28, 2560, 20, 20, 1664,
             100352) ", 'moe_num_experts': 64, 'moe_topk': 6, 'moe_num_shared_experts': 2}}",
         24.9e9, 2e-3},
        {"{'model_type': 'pixtral', 'num_hidden_layers': 24, 'hidden_size': 1024, "
         "'num_attention_heads': 16, 'intermediate_size': 4096}",
         400e6, 0.01},
        {"{'model_type': 'modernbert-decoder', 'num_hidden_layers': 22, 'hidden_size': 768, "
         "'num_attention_heads': 12, 'intermediate_size': 1152, 'vocab_size': 50368}",
         150e6, 0.01},
        {"{" SHAPE("eurobert", 12, 768, 12, 12, 3072, 128256) ", 'tie_word_embeddings': true}",
         210e6, 0.01},
    };
    check_claimed(rows, G_N_ELEMENTS(rows));
}

/* Registers are tokens; blocks that a query sees are a window; layers have key-value heads of their own number. */
static void kin_differ_where_they_say(void)
{
    g_autoptr(RhModel) dino = model_load(
        "{'model_type': 'dinov3_vit', 'num_hidden_layers': 2, 'hidden_size': 384, "
        "'num_attention_heads': 6, 'intermediate_size': 1536, 'num_register_tokens': 4}");
    CU_ASSERT_EQUAL(dino->positions, 14 * 14 + 1 + 4);
    g_autoptr(RhModel) blocks =
        model_load(ENCODER("big_bird", "'vocab_size': 50358, 'max_position_embeddings': 4096"));
    CU_ASSERT_EQUAL(blocks->kinds[0].window_tokens, (3 + 2 + 3) * 64);
    g_autoptr(RhModel) full =
        model_load(ENCODER("big_bird", "'vocab_size': 50358, 'max_position_embeddings': 4096, "
                                       "'attention_type': 'original_full'"));
    CU_ASSERT_EQUAL(full->kinds[0].window_tokens, 0);
    g_autoptr(RhModel) deci = model_load(
        "{'model_type': 'deci', 'num_hidden_layers': 3, 'hidden_size': 256, 'num_attention_heads': 8, "
        "'num_key_value_heads_per_layer': [4, 2, 4], 'intermediate_size': 512, 'vocab_size': 1000}");
    CU_ASSERT_EQUAL(deci->kinds_count, 2);
    CU_ASSERT_EQUAL(deci->kinds[deci->kind_of_layer[1]].kv_heads, 2);
    g_autoptr(RhModel) causal = model_load(
        "{'model_type': 'modernbert-decoder', 'num_hidden_layers': 4, 'hidden_size': 768, "
        "'num_attention_heads': 12, 'intermediate_size': 1152, 'vocab_size': 50368}");
    CU_ASSERT_TRUE(rh_model_makes_tokens(causal));
    CU_ASSERT_EQUAL(memcmp(causal->kind_of_layer, (uint8_t[]){0, 1, 1, 0}, 4), 0);
}

/* OLMo Hybrid (transformers' configuration_olmo_hybrid.py): 30 heads of keys of 96 and values of 192 columns, three
 * layers of four; counted by hand. */
static void olmos_hybrid_derives_its_scan(void)
{
    const int64_t h = 3840, V = 100352, f = 11008, keys = 30 * 96, values = 30 * 192;
    g_autoptr(RhModel) m =
        model_load("{'model_type': 'olmo_hybrid', 'num_hidden_layers': 32, 'hidden_size': 3840, "
                   "'num_attention_heads': 30, 'intermediate_size': 11008, 'vocab_size': 100352}");
    int64_t delta =
        h * (2 * keys + 2 * values + 2 * 30) + values * h + 4 * (2 * keys + values) + 2 * 30 + 192;
    int64_t attention = 4 * h * h + 2 * 128, rest = 3 * h * f + 2 * h;
    CU_ASSERT_EQUAL(rh_model_params(m), 2 * V * h + h + 24 * delta + 8 * attention + 32 * rest);
    CU_ASSERT_EQUAL(memcmp(m->kind_of_layer, (uint8_t[]){0, 0, 0, 1, 0, 0, 0, 1}, 8), 0);
}

int main(void)
{
    return rh_test_main(
        "parts",
        (RhTest[]){{"a_part_has_its_class_defaults", a_part_has_its_class_defaults},
                   {"a_part_without_a_type_has_its_wholes", a_part_without_a_type_has_its_wholes},
                   {"the_whole_has_no_defaults", the_whole_has_no_defaults},
                   {"parameters_of_kin_equal_the_published_counts",
                    parameters_of_kin_equal_the_published_counts},
                   {"parameters_of_kin_are_near_the_claim", parameters_of_kin_are_near_the_claim},
                   {"kin_differ_where_they_say", kin_differ_where_they_say},
                   {"olmos_hybrid_derives_its_scan", olmos_hybrid_derives_its_scan},
                   {0}});
}
