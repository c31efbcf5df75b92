/* Decoders inside models of several parts, whose files leave out what is at their classes' defaults; and types that
 * are near kin of others: counts of parameters against those of published weights. */
#include <string.h>

#include "base/error.h"
#include "tests/kit/model_counts.h"
#include "workloads/config/family_keys.h"

/* --- Parts --- */

/* Vicuna, of a part that does not say its type either.
 * Source: the weights of lmsys/vicuna-7b-v1.5. */
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

/* A missing size at the top of a file is an error, as of a part whose class has no default here. */
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
    g_autoptr(GError) unknown = NULL;
    g_autoptr(RhModel) mistyped =
        model_parse(ENCODER("big_bird", "'vocab_size': 50358, 'max_position_embeddings': 4096, "
                                        "'attention_type': 'sparse_block'"),
                    &unknown);
    CU_ASSERT_PTR_NULL(mistyped);
    CU_ASSERT_TRUE(unknown && strstr(unknown->message, "\"sparse_block\" is not known"));
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
        "nested_configs",
        (RhTest[]){{"a_part_without_a_type_has_its_wholes", a_part_without_a_type_has_its_wholes},
                   {"the_whole_has_no_defaults", the_whole_has_no_defaults},
                   {"kin_differ_where_they_say", kin_differ_where_they_say},
                   {"olmos_hybrid_derives_its_scan", olmos_hybrid_derives_its_scan},
                   {0}});
}
