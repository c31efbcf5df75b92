/* Families: counts of parameters against those of published weights, lists of layers, keys by other
 * names, and what is said of a type that nobody knows. */
#include "workloads/config/family_keys.h"

#include <string.h>

#include "base/error.h"
#include "tests/kit/model_counts.h"
#include "tests/kit/testkit.h"
#include "workloads/operator_costs.h"

/* ViT-B/16 with the 1000 classes of ImageNet: 86,567,656.
 * Source: timm's and torchvision's count of ViT-B/16. */
static void pictures_are_cut_into_patches(void)
{
    g_autoptr(GString) text = g_string_new("'id2label': {");
    for (int i = 0; i < 1000; i++)
        g_string_append_printf(text, "%s'%d': 'x'", i > 0 ? ", " : "", i);
    g_autofree char *config =
        g_strdup_printf("{'model_type': 'vit', 'num_hidden_layers': 12, 'hidden_size': 768, "
                        "'num_attention_heads': 12, 'intermediate_size': 3072, %s}}",
                        text->str);
    g_autoptr(RhModel) m = model_load(config);
    CU_ASSERT_EQUAL(rh_model_params(m), 86567656);
    CU_ASSERT_EQUAL(m->positions, 197);
    RhShard shard = {.tp = 1, .sequence = 197, .microbatch = 4, .dtype = RH_DTYPE_BF16};
    RhFlops in = rh_block_flops(m, NULL, RH_BLOCK_EMBEDDING, &shard);
    RhFlops out = rh_block_flops(m, NULL, RH_BLOCK_HEAD, &shard);
    CU_ASSERT_EQUAL(in.weights, 2.0 * 4 * 197 * 768 * 768);
    CU_ASSERT_EQUAL(out.weights, 2.0 * 4 * 768 * 1000);
    check_refused("{'model_type': 'vit', 'num_hidden_layers': 12, 'hidden_size': 768, "
                  "'num_attention_heads': 12, 'intermediate_size': 3072, 'image_size': 15}",
                  "image_size 15 is less than patch_size 16");
}

/* --- Layers --- */

#define HYBRID(rest)                                                                               \
    "{'model_type': 'nemotron_h', 'num_hidden_layers': 6, 'hidden_size': 256, "                    \
    "'num_attention_heads': 8, 'num_key_value_heads': 2, 'head_dim': 32, "                         \
    "'intermediate_size': 512, 'vocab_size': 1000, 'mamba_num_heads': 8, 'mamba_head_dim': 64, "   \
    "'n_groups': 2, 'ssm_state_size': 128, 'n_routed_experts': 8, 'num_experts_per_tok': 2, "      \
    "'moe_intermediate_size': 64, " rest "}"

static void check_layers(const RhModel *m, const char *const *expected)
{
    for (int32_t i = 0; i < m->layers_count; i++) {
        const RhLayerKind *k = &m->kinds[m->kind_of_layer[i]];
        g_autofree char *got =
            g_strdup_printf("%s + %s%s", rh_operator_name(k->mixer), rh_operator_name(k->ffn),
                            k->window_tokens > 0 ? ", near" : "");
        CU_ASSERT_STRING_EQUAL(got, expected[i]);
    }
}

static void layers_are_called_by_words_and_letters(void)
{
    static const char *const expected[] = {"mamba + none, near", "none + experts",
                                           "attention + none",   "none + ffn",
                                           "mamba + none, near", "none + experts"};
    g_autoptr(RhModel) letters = model_load(HYBRID("'hybrid_override_pattern': 'ME*-ME'"));
    g_autoptr(RhModel) words = model_load(
        HYBRID("'layers_block_type': ['mamba', 'moe', 'attention', 'mlp', 'mamba', 'moe']"));
    check_layers(letters, expected);
    check_layers(words, expected);
    CU_ASSERT_EQUAL(letters->kinds_count, 4);
    CU_ASSERT_EQUAL(rh_model_params(letters), rh_model_params(words));
    CU_ASSERT_EQUAL(rh_model_attention_kind(letters)->head_size, 32);
    check_refused(HYBRID("'hybrid_override_pattern': 'ME*-MX'"), "layer type \"X\"");
    check_refused(HYBRID("'hybrid_override_pattern': 'ME*-M'"), "names 5 layers of 6");
    CU_ASSERT_TRUE(rh_model_set(letters, "layers", "8", NULL)); /* begun again */
    CU_ASSERT_EQUAL(letters->kind_of_layer[6], letters->kind_of_layer[0]);
    CU_ASSERT_EQUAL(letters->kind_of_layer[7], letters->kind_of_layer[1]);
}

#define DELTA(rest)                                                                                 \
    "{" SHAPE(                                                                                      \
        "qwen3_5_text", 8, 256, 8, 2, 512,                                                          \
        1000) ", 'head_dim': 64, "                                                                  \
              "'linear_num_value_heads': 8, 'linear_num_key_heads': 4, 'linear_key_head_dim': 32, " \
              "'linear_value_head_dim': 32" rest "}"

static void every_fourth_layer_has_attention(void)
{
    g_autoptr(RhModel) rule = model_load(DELTA(""));
    g_autoptr(RhModel) list = model_load(
        DELTA(", 'layer_types': ['linear_attention', 'linear_attention', 'linear_attention', "
              "'full_attention', 'linear_attention', 'linear_attention', 'linear_attention', "
              "'full_attention']"));
    CU_ASSERT_EQUAL(memcmp(rule->kind_of_layer, (uint8_t[]){0, 0, 0, 1, 0, 0, 0, 1}, 8), 0);
    CU_ASSERT_EQUAL(memcmp(list->kind_of_layer, rule->kind_of_layer, 8), 0);
    CU_ASSERT_STRING_EQUAL(rh_operator_name(rule->kinds[0].mixer), "gated DeltaNet");
    CU_ASSERT_STRING_EQUAL(rh_operator_name(rule->kinds[1].mixer), "gated attention");
    CU_ASSERT_TRUE(rule->kinds[1].output_gate);
    check_refused("{" SHAPE("llama", 2, 256, 8, 2, 512, 1000) ", 'linear_num_value_heads': 8}",
                  "linear attention");
}

static void gemma_4_has_heads_of_two_sizes(void)
{
    g_autoptr(RhModel) m = model_load(
        "{" SHAPE("gemma4_text", 6, 256, 8, 4, 512,
                  1000) ", 'head_dim': 32, 'global_head_dim': 64, 'num_global_key_value_heads': 2, "
                        "'attention_k_eq_v': true, 'sliding_window': 128}");
    CU_ASSERT_EQUAL(memcmp(m->kind_of_layer, (uint8_t[]){0, 0, 0, 0, 0, 1}, 6), 0);
    const RhLayerKind *near = &m->kinds[0], *wide = &m->kinds[1];
    CU_ASSERT_TRUE(near->head_size == 32 && near->kv_heads == 4 && near->window_tokens == 128);
    CU_ASSERT_TRUE(wide->head_size == 64 && wide->kv_heads == 2 && wide->window_tokens == 0);
    CU_ASSERT_TRUE(wide->k_eq_v && !near->k_eq_v && near->extra_norms == 1);
    /* q, k, v, out; q, k (also v), out */
    const RhShard one = {.tp = 1};
    RhParams a = rh_block_params(m, near, RH_BLOCK_MIXER, &one);
    RhParams b = rh_block_params(m, wide, RH_BLOCK_MIXER, &one);
    CU_ASSERT_EQUAL(a.sharded, 256.0 * 32 * (8 + 4 + 4 + 8));
    CU_ASSERT_EQUAL(b.sharded, 256.0 * 64 * (8 + 2 + 8));
    CU_ASSERT_EQUAL(a.replicated, 2 * 256 + 2 * 32); /* two norms, and of queries and keys */
}

/* Puzzle (arXiv 2411.19146): a layer may lack attention, and widths are in two thirds of hidden sizes. */
static void blocks_of_an_architecture_search_are_read(void)
{
    static const char *const expected[] = {"attention + ffn", "none + ffn", "attention + none"};
    g_autoptr(RhModel) m = model_load(
        "{'model_type': 'nemotron-nas', 'num_hidden_layers': 3, 'hidden_size': 768, "
        "'num_attention_heads': 12, 'num_key_value_heads': null, 'intermediate_size': null, "
        "'vocab_size': 1000, 'block_configs': ["
        "{'attention': {'n_heads_in_group': 4}, 'ffn': {'ffn_mult': 2.5}}, "
        "{'attention': {'no_op': true, 'n_heads_in_group': null}, 'ffn': {'ffn_mult': 1.0}}, "
        "{'attention': {'n_heads_in_group': 12}, 'ffn': {'no_op': true}}]}");
    check_layers(m, expected);
    CU_ASSERT_EQUAL(m->kinds[0].kv_heads, 3);
    CU_ASSERT_EQUAL(m->kinds[0].ffn_width, 1280);
    CU_ASSERT_EQUAL(m->kinds[1].ffn_width, 512);
    CU_ASSERT_EQUAL(m->kinds[2].kv_heads, 1);
}

/* A block of a search is up to a thousand hidden sizes wide, by either key. */
static void the_widest_block_of_a_search_is_read(void)
{
#define WIDE(multiple)                                                                             \
    "{'model_type': 'nemotron-nas', 'num_hidden_layers': 1, 'hidden_size': 768, "                  \
    "'num_attention_heads': 12, 'num_key_value_heads': null, 'intermediate_size': null, "          \
    "'vocab_size': 1000, 'block_configs': [{'attention': {'n_heads_in_group': 4}, 'ffn': "         \
    "{'ffn_mult': " multiple "}}]}"
    g_autoptr(RhModel) m = model_load(WIDE("1000"));
    CU_ASSERT_EQUAL(m->kinds[0].ffn_width, 512000); /* two thirds of 768,000 */
    check_refused(WIDE("1000.1"), "ffn_mult");
}

static void experts_stand_where_lists_and_steps_say(void)
{
#define SPARSE(rest)                                                                               \
    "{" SHAPE("qwen3_moe", 6, 256, 8, 2, 512,                                                      \
              1000) ", 'num_experts': 8, "                                                         \
                    "'num_experts_per_tok': 2, 'moe_intermediate_size': 64" rest "}"
    static const struct {
        const char *rest;
        const char *layers; /* e: experts */
    } rows[] = {
        {SPARSE(""), "eeeeee"},
        {SPARSE(", 'decoder_sparse_step': 2"), "dedede"},
        {SPARSE(", 'mlp_only_layers': [0, 5]"), "deeeed"},
        {SPARSE(", 'moe_layer_freq': [0, 0, 1, 1, 0, 1]"), "ddeede"},
        {SPARSE(", 'mlp_layer_types': ['dense', 'sparse', 'sparse', 'dense', 'sparse', 'sparse']"),
         "deedee"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(RhModel) m = model_load(rows[i].rest);
        for (int32_t l = 0; l < m->layers_count; l++)
            CU_ASSERT_EQUAL(m->kinds[m->kind_of_layer[l]].experts > 0, rows[i].layers[l] == 'e');
    }
    check_refused(SPARSE(", 'mlp_only_layers': [6]"), "mlp_only_layers");
}

/* A figure may be a list. */
static void figures_may_differ_from_layer_to_layer(void)
{
    g_autoptr(RhModel) m = model_load(
        "{'model_type': 'llama', 'num_hidden_layers': 3, 'hidden_size': 256, "
        "'num_attention_heads': 8, 'num_key_value_heads': [8, 4, 4], 'vocab_size': 1000, "
        "'intermediate_size': [512, 512, 1024]}");
    CU_ASSERT_EQUAL(m->kinds_count, 3);
    CU_ASSERT_EQUAL(m->kinds[0].kv_heads, 8);
    CU_ASSERT_EQUAL(m->kinds[2].kv_heads, 4);
    CU_ASSERT_EQUAL(m->kinds[2].ffn_width, 1024);
    check_refused("{" SHAPE("llama", 3, 256, 8, [8], 512, 1000) "}",
                  "num_key_value_heads names 1 layers of 3");
}

/* --- One's own --- */

#define OWN(layers)                                                                                \
    "{'model_type': 'layers', 'hidden': 4096, 'vocab': 128256, 'context': 131072, "                \
    "'layers': [" layers "]}"
#define OWN_LAYER                                                                                  \
    "'mixer': {'operator': 'attention', 'heads': 32, 'kv_heads': 8}, "                             \
    "'ffn': {'operator': 'ffn', 'width': 14336}"

/* Layers listed one by one have the parameters of the model they spell out. Source: the weights
 * of meta-llama/Llama-3.1-8B. */
static void a_llama_in_our_own_form_is_a_llama(void)
{
    g_autoptr(RhModel) own = model_load(OWN("{'repeat': 32, " OWN_LAYER "}"));
    g_autoptr(RhModel) llama = rh_model_load("llama-3.1-8b", NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(llama);
    CU_ASSERT_EQUAL(rh_model_params(own), 8030261248);
    CU_ASSERT_EQUAL(own->kinds_count, 1);
    CU_ASSERT_EQUAL(memcmp(&own->kinds[0], &llama->kinds[0], sizeof own->kinds[0]), 0);
    CU_ASSERT_EQUAL(rh_model_flops_per_token(own, 8192), rh_model_flops_per_token(llama, 8192));
}

static void every_operator_can_be_listed(void)
{
    static const char *const expected[] = {
        "mamba + experts, near",      "attention + none",          "gated DeltaNet + ffn, near",
        "mamba + experts, near",      "attention + none",          "gated DeltaNet + ffn, near",
        "latent attention + experts", "attention both ways + ffn", "attention + ffn, near",
        "attention and ffn + none"};
    g_autoptr(RhModel) m = model_load(OWN(
        "{'repeat': 2, 'layers': ["
        "{'mixer': {'operator': 'mamba', 'heads': 64, 'head_size': 64, 'groups': 8, 'state_size': "
        "128}, 'ffn': {'operator': 'experts', 'count': 8, 'per_token': 2, 'width': 512, "
        "'shared_width': 1024, 'gated': false}}, "
        "{'mixer': {'operator': 'attention', 'heads': 32}}, "
        "{'mixer': {'operator': 'gated DeltaNet', 'heads': 32, 'head_size': 128, 'groups': 16, "
        "'state_size': 128}, 'ffn': {'operator': 'ffn', 'width': 8192}}]}, "
        "{'mixer': {'operator': 'latent attention', 'heads': 32, 'latent': 512, 'key_size': 128, "
        "'rotary_size': 64, 'value_size': 128}, 'ffn': {'operator': 'experts', 'count': 8, "
        "'per_token': 2, 'width': 512}}, "
        "{'mixer': {'operator': 'attention both ways', 'heads': 32}, 'ffn': {'operator': 'ffn', "
        "'width': 8192}}, "
        "{'mixer': {'operator': 'attention', 'heads': 32, 'window': 512}, 'ffn': {'operator': "
        "'ffn', 'width': 8192}}, "
        "{'parallel': true, " OWN_LAYER "}"));
    check_layers(m, expected);
    CU_ASSERT_EQUAL(m->layers_count, 10);
    CU_ASSERT_FALSE(rh_model_set(m, "heads", "16", NULL)); /* said layer by layer */
    CU_ASSERT_TRUE(rh_model_set(m, "layers", "3", NULL));
    CU_ASSERT_EQUAL(m->kinds_count, 3);
}

/* The example in docs/guide/models.md: what stands there between the first fence of json and its end. */
static void the_documented_example_is_read(void)
{
    g_autofree char *path =
        g_build_filename(g_getenv("REHEARSE_DATA"), "docs", "guide", "models.md", NULL);
    g_autofree char *text = NULL;
    CU_ASSERT_TRUE_FATAL(g_file_get_contents(path, &text, NULL, NULL));
    const char *fence = strstr(text, "```json\n");
    CU_ASSERT_PTR_NOT_NULL_FATAL(fence);
    const char *begin = fence + strlen("```json\n"), *end = strstr(begin, "```");
    CU_ASSERT_PTR_NOT_NULL_FATAL(end);
    g_autofree char *config = g_strndup(begin, (gsize)(end - begin));
    g_autoptr(RhModel) m = model_load(config);
    CU_ASSERT_EQUAL(m->layers_count, 24);
    CU_ASSERT_EQUAL(m->kinds_count, 2);
    CU_ASSERT_EQUAL(memcmp(m->kind_of_layer, (uint8_t[]){0, 0, 1, 0, 0, 1}, 6), 0);
    /* Mamba-2: 4096 values, 1024 keys; its ffn. Attention: q, k, v, out; 32 experts and a shared one. */
    int64_t mamba = 2048LL * (2 * 4096 + 2 * 1024 + 64) + 4096 * 2048 + 5 * 6144 + 3 * 64 + 4096;
    int64_t ffn = 3LL * 2048 * 8192;
    int64_t attention = 2048LL * 128 * (16 + 4 + 4 + 16) + 2 * 128;
    int64_t experts = 2048LL * 32 + 33 * 3LL * 2048 * 1024;
    CU_ASSERT_EQUAL(rh_model_params(m), 128256LL * 2048 + 2048 + 24 * 2 * 2048 +
                                            16 * (mamba + ffn) + 8 * (attention + experts));
}

static void our_own_form_is_read_strictly(void)
{
    check_refused(OWN("{'mixer': {'operator': 'atention', 'heads': 32}}"), "\"atention\"");
    check_refused(OWN("{'mixer': {'operator': 'attention', 'heads': 32, 'kv_head': 8}}"),
                  "\"kv_heads\"");
    check_refused(OWN("{'mixer': {'operator': 'attention'}}"), "\"heads\" is missing");
    check_refused(OWN("{'mixer': {'operator': 'attention', 'heads': 7}}"),
                  "heads 7 does not divide");
    check_refused(OWN("{'mixer': {'operator': 'attention', 'heads': 8, 'kv_heads': 3}}"),
                  "kv_heads 3 does not divide heads 8");
    check_refused(OWN("{'ffn': {'operator': 'experts', 'count': 2, 'per_token': 3, 'width': 8}}"),
                  "per_token 3 of 2 experts");
    check_refused(OWN("{'repeat': 2}"), "a layer without operators");
    check_refused(OWN(""), "a model without layers");
    check_refused(OWN("5"), "a layer is an object");
    check_refused(OWN("{'repeat': 4000, 'layers': [{" OWN_LAYER "}, {" OWN_LAYER "}]}"),
                  "more than 4096 layers");
    check_refused("{'model_type': 'layers', 'layers': []}", "\"hidden\" is missing");
}

/* --- Names --- */

static void older_names_of_keys_are_read(void)
{
    g_autoptr(RhModel) plain = model_load("{" SHAPE("llama", 2, 256, 8, 2, 512, 1000) "}");
    g_autoptr(RhModel) other = model_load(
        "{'model_type': 'llama', 'n_layers': 2, 'd_model': 256, 'n_heads': 8, 'n_kv_heads': "
        "2, 'ffn_hidden_size': 512, 'vocab_size': 1000, 'max_seq_len': 4096, "
        "'rope_parameters': {'rope_theta': 500000}}");
    CU_ASSERT_EQUAL(rh_model_params(plain), rh_model_params(other));
    CU_ASSERT_EQUAL(other->positions, 4096);
    CU_ASSERT_EQUAL(other->rotary_base, 500000);
}

static void a_type_of_ones_own_is_known_by_its_class(void)
{
    g_autoptr(RhModel) m =
        model_load("{" SHAPE("my_llama", 2, 256, 8, 2, 512, 1000) ", 'architectures': "
                                                                  "['LlamaForCausalLM']}");
    CU_ASSERT_STRING_EQUAL(m->family, "llama");
    check_refused("{'model_type': 'gpt_neo_x', 'architectures': ['MineForCausalLM']}",
                  "a similar type exists: gpt_neox");
    check_refused("{'model_type': 'stripedhyena'}", "\"layers\"");
}

/* Infinity is no number of ours, and stands in published files. */
static void words_for_no_number_do_not_matter_elsewhere(void)
{
    g_autoptr(RhModel) m =
        model_load("{" SHAPE("llama", 2, 256, 8, 2, 512, 1000) ", 'time_step_limit': "
                                                               "[0.0, Infinity], "
                                                               "'x': -Infinity, 'y': "
                                                               "NaN, 'z': 'NaN'}");
    CU_ASSERT_EQUAL(m->layers_count, 2);
    check_refused("{'model_type': 'llama', 'num_hidden_layers': Infinity}", "num_hidden_layers");
    check_refused("{'model_type': NaN, 'architectures': ['LlamaForCausalLM']}",
                  "model_type must be text, not NaN or an infinity");
}

int main(void)
{
    return rh_test_main(
        "families",
        (RhTest[]){
            {"pictures_are_cut_into_patches", pictures_are_cut_into_patches},
            {"layers_are_called_by_words_and_letters", layers_are_called_by_words_and_letters},
            {"every_fourth_layer_has_attention", every_fourth_layer_has_attention},
            {"gemma_4_has_heads_of_two_sizes", gemma_4_has_heads_of_two_sizes},
            {"blocks_of_an_architecture_search_are_read",
             blocks_of_an_architecture_search_are_read},
            {"the_widest_block_of_a_search_is_read", the_widest_block_of_a_search_is_read},
            {"experts_stand_where_lists_and_steps_say", experts_stand_where_lists_and_steps_say},
            {"figures_may_differ_from_layer_to_layer", figures_may_differ_from_layer_to_layer},
            {"a_llama_in_our_own_form_is_a_llama", a_llama_in_our_own_form_is_a_llama},
            {"every_operator_can_be_listed", every_operator_can_be_listed},
            {"the_documented_example_is_read", the_documented_example_is_read},
            {"our_own_form_is_read_strictly", our_own_form_is_read_strictly},
            {"older_names_of_keys_are_read", older_names_of_keys_are_read},
            {"a_type_of_ones_own_is_known_by_its_class", a_type_of_ones_own_is_known_by_its_class},
            {"words_for_no_number_do_not_matter_elsewhere",
             words_for_no_number_do_not_matter_elsewhere},
            {0}});
}
