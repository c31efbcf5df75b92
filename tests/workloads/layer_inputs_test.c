/* Embeddings for every layer, keys that layers share, paths beside attention and states that take turns (Gemma 3n
 * and 4): parameters, FLOPs and kept bytes against counts by hand. */
#include <string.h>

#include "base/error.h"
#include "strategies/launch/launch.h"
#include "tests/kit/model_counts.h"
#include "tests/kit/shard_kit.h"
#include "tests/kit/train_kit.h"
#include "workloads/operators/operator.h"

/* google/gemma-4-E4B-it's and -E2B-it's text_config. */
#define GEMMA4(layers, hidden, ffn, kv, shared, every, wide)                                       \
    "{'model_type': 'gemma4', 'text_config': {'model_type': 'gemma4_text', 'vocab_size': 262144, " \
    "'hidden_size': " #hidden ", 'intermediate_size': " #ffn ", 'num_hidden_layers': " #layers     \
    ", 'num_attention_heads': 8, 'num_key_value_heads': " #kv ", 'head_dim': 256, "                \
    "'num_global_key_value_heads': null, 'global_head_dim': 512, 'num_kv_shared_layers': " #shared \
    ", 'hidden_size_per_layer_input': 256, 'vocab_size_per_layer_input': 262144, "                 \
    "'use_double_wide_mlp': " #wide ", 'sliding_window': 512, 'sliding_window_pattern': " #every   \
    ", 'num_experts': null, 'top_k_experts': null}}"
#define E4B GEMMA4(42, 2560, 10240, 2, 18, 6, false)
#define E2B GEMMA4(35, 1536, 6144, 1, 20, 5, true)
/* All else are the class's defaults, which are E4B's (configuration_gemma3n.py). */
#define GEMMA3N "{'model_type': 'gemma3n', 'text_config': {'vocab_size': 262400}}"

/* One of three layers' attention, ffn, norms and own input, by hand. */
static int64_t layer_of(int64_t h, int64_t f, int64_t kv, int64_t d, bool borrows)
{
    int64_t attention = 2 * h * 8 * d + d + (borrows ? 0 : 2 * h * kv * d + d);
    return attention + 3 * h * f + 4 * h + 2 * h * 256 + h;
}

static int64_t tables_of(int64_t h, int64_t layers)
{
    return 262144 * h + h + 262144 * layers * 256 + h * layers * 256 + 256;
}

/* Published files have keys and values of borrowing layers, too, which nobody reads, a number that scales each
 * layer's output, and 256 frequencies: llama.cpp counts 7,518,069,290 (ggml-org/gemma-4-E4B-it-GGUF) and
 * 4,647,450,147.
 * Source: llama.cpp's counts, ggml-org/gemma-4-E4B-it-GGUF and its kin of 2B. */
static void parameters_are_those_counted_by_hand(void)
{
    g_autoptr(RhModel) e4b = model_load(E4B);
    g_autoptr(RhModel) e2b = model_load(E2B);
    int64_t sum4 = tables_of(2560, 42), sum2 = tables_of(1536, 35);
    int64_t unread4 = 42 + 256, unread2 = 35 + 256;
    for (int i = 0; i < 42; i++) {
        int64_t d = i % 6 == 5 ? 512 : 256;
        sum4 += layer_of(2560, 10240, 2, d, i >= 24);
        unread4 += i >= 24 ? 2 * 2560 * 2 * d + d : 0;
    }
    for (int i = 0; i < 35; i++) {
        int64_t d = i % 5 == 4 ? 512 : 256;
        sum2 += layer_of(1536, i >= 15 ? 12288 : 6144, 1, d, i >= 15);
        unread2 += i >= 15 ? 2 * 1536 * d + d : 0;
    }
    CU_ASSERT_EQUAL(rh_model_params(e4b), sum4);
    CU_ASSERT_EQUAL(rh_model_params(e2b), sum2);
    CU_ASSERT_EQUAL(sum4 + unread4, 7518069290);
    CU_ASSERT_EQUAL(sum2 + unread2, 4647450147);
}

/* llama.cpp calls Gemma 3n E4B's decoder 6.87 G; of AltUp six rows, of coefficients 16 and 64 a layer, and three
 * matrices at each end; of LAuReL two of rank 64 and a norm.
 * Source: llama.cpp's count of Gemma 3n E4B. */
static void states_take_turns_in_gemma_3n(void)
{
    const int64_t h = 2048, L = 35;
    g_autoptr(RhModel) m = model_load(GEMMA3N);
    int64_t sum = 262400 * h + h + 262144 * L * 256 + h * L * 256 + 256 + 6 * h * h;
    for (int i = 0; i < L; i++)
        sum += layer_of(h, 16384, 2, 256, i >= 20) + 2 * h * 64 + h + 6 * h + 16 + 64;
    CU_ASSERT_EQUAL(rh_model_params(m), sum);
    RH_CHECK_CLOSE((double)sum, 6.87e9, 0.01);
    CU_ASSERT_EQUAL(m->kinds_count, 6); /* far and near: own keys, lent ones, borrowed ones */
    static const struct {
        int layer;
        bool lends, borrows;
    } rows[] = {{0, false, false}, {17, false, false}, {18, true, false},
                {19, true, false}, {20, false, true},  {34, false, true}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        const RhLayerKind *kind = &m->kinds[m->kind_of_layer[rows[i].layer]];
        CU_ASSERT_TRUE(kind->lends_keys == rows[i].lends && kind->borrows_keys == rows[i].borrows);
    }
}

/* Kernels of every kind of layer and of the tables do the FLOPs that their rows count; shares of
 * rows sum to the whole. */
static void kernels_do_the_flops_of_their_rows(void)
{
    static const char *const configs[] = {E4B, GEMMA3N};
    static const RhPass passes[] = {RH_PASS_FORWARD, RH_PASS_BACKWARD_DATA,
                                    RH_PASS_BACKWARD_WEIGHT};
    for (size_t i = 0; i < G_N_ELEMENTS(configs); i++) {
        g_autoptr(RhModel) m = model_load(configs[i]);
        for (int32_t c = 0; c < 2 * m->kinds_count + 2; c++) {
            const RhLayerKind *kind = c / 2 < m->kinds_count ? &m->kinds[c / 2] : NULL;
            RhBlock block = !kind ? RH_BLOCK_EMBEDDING : c % 2 ? RH_BLOCK_FFN : RH_BLOCK_MIXER;
            RhShard shard = {.tp = kind && c % 2 ? 2 : 1,
                             .sequence_parallel = true,
                             .sequence = 1024,
                             .microbatch = 2,
                             .dtype = RH_DTYPE_BF16,
                             .flash = true};
            RhFlops f = rh_block_flops(m, kind, block, &shard);
            double done[3];
            for (int p = 0; p < 3; p++)
                done[p] = block_flops(m, kind, block, passes[p], &shard);
            RH_CHECK_CLOSE(done[0], f.weights + f.pairs, 1e-12);
            RH_CHECK_CLOSE(done[1], f.weights + 2.5 * f.pairs, 1e-12);
            RH_CHECK_CLOSE(done[2], f.weights, 1e-12);
        }
    }
}

/* Borrowed keys are kept where they were made, also where all else is run again; the cache has them once. */
static void shared_keys_are_kept_once(void)
{
    g_autoptr(RhModel) m = model_load(E4B);
    const RhLayerKind *own = &m->kinds[0], *lends = NULL, *borrows = NULL;
    for (int i = 0; i < m->kinds_count; i++)
        if (m->kinds[i].window_tokens > 0 && m->kinds[i].lends_keys)
            lends = &m->kinds[i];
        else if (m->kinds[i].window_tokens > 0 && m->kinds[i].borrows_keys)
            borrows = &m->kinds[i];
    CU_ASSERT_TRUE_FATAL(lends != NULL && borrows != NULL);
    const double n = 1024, kv = 2 * 256, h = 2560;
    RhShard shard = {.tp = 1,
                     .sequence = 1024,
                     .microbatch = 1,
                     .dtype = RH_DTYPE_BF16,
                     .flash = true,
                     .fused_norms = true,
                     .fused_elementwise = true};
#define KEPT(kind) rh_block_activation_bytes(m, kind, RH_BLOCK_MIXER, &shard).kept
    RH_CHECK_CLOSE(KEPT(own) - KEPT(borrows), n * 2 * (2 * kv + kv), 1e-12); /* k, v; k unnormed */
    shard.recompute = RH_RECOMPUTE_FULL;
    CU_ASSERT_EQUAL(KEPT(own), n * 2 * h);
    CU_ASSERT_EQUAL(KEPT(borrows), n * 2 * h);
    CU_ASSERT_EQUAL(KEPT(lends), n * 2 * (h + 2 * kv));
    RhCacheBytes none = rh_block_cache_bytes(m, borrows, RH_BLOCK_MIXER, &shard);
    CU_ASSERT_TRUE(none.token == 0 && none.sequence == 0);
    CU_ASSERT_EQUAL(rh_block_cache_bytes(m, own, RH_BLOCK_MIXER, &shard).sequence,
                    2 * 2 * kv * 512);
}

static void what_is_not_known_of_them_is_refused(void)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        {GEMMA4(42, 2560, 10240, 2, 42, 6, false), "num_kv_shared_layers 42 of 42 layers"},
        {GEMMA4(42, 2560, 10240, 2, 38, 6, false), "there is none"},
        {"{" SHAPE("llama", 2, 256, 8, 2, 512, 1000) ", 'num_kv_shared_layers': 1}",
         "share keys and values"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(RhModel) m = model_parse(rows[i].text, &error);
        CU_ASSERT_TRUE(m == NULL && error != NULL && strstr(error->message, rows[i].says) != NULL);
    }
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "megatron", 16, 512);
    rh_model_free(k.model);
    k.c.model = k.model = model_load(E4B);
    g_autoptr(GError) staged = NULL, emitted = NULL;
    RhLayout l = rh_train_default(&k.c), plain = l;
    CU_ASSERT_TRUE_FATAL(rh_layout_parse("pp2,dp4", &l, NULL));
    CU_ASSERT_TRUE_FATAL(rh_layout_parse("tp2,dp4", &plain, NULL));
    CU_ASSERT_FALSE(rh_train_legal(&k.c, &l, &staged));
    CU_ASSERT_TRUE(strstr(staged->message, "not sent from stage to stage") != NULL);
    CU_ASSERT_TRUE(rh_train_legal(&k.c, &plain, NULL));
    CU_ASSERT_PTR_NULL(rh_launch_new("megatron", &k.c, &plain, &emitted));
    CU_ASSERT_TRUE(strstr(emitted->message, "embeddings of layers") != NULL);
    CU_ASSERT_FALSE(rh_model_set(k.model, "layers", "12", NULL)); /* 18 share keys */
    CU_ASSERT_TRUE(rh_model_set(k.model, "num_kv_shared_layers", "6", NULL));
    CU_ASSERT_TRUE(rh_model_set(k.model, "layers", "12", NULL));
    CU_ASSERT_EQUAL(k.model->per_layer_inputs, 12 * 256);
}

/* Silently their layers' own input was left out, and its table counted. */
static void experts_beside_a_layers_own_input_are_refused(void)
{
    g_autoptr(GError) read = NULL, set = NULL;
    g_autoptr(GString) text = g_string_new(E4B);
    CU_ASSERT_EQUAL(
        g_string_replace(text, "'num_experts': null, 'top_k_experts': null",
                         "'num_experts': 8, 'top_k_experts': 2, 'moe_intermediate_size': 704", 0),
        1);
    g_autoptr(RhModel) mixed = model_parse(text->str, &read);
    CU_ASSERT_PTR_NULL(mixed);
    CU_ASSERT_TRUE_FATAL(g_error_matches(read, RH_ERROR, RH_ERROR_INPUT));
    CU_ASSERT_PTR_NOT_NULL(strstr(read->message, "hidden_size_per_layer_input"));
    CU_ASSERT_EQUAL(g_string_replace(text, "'hidden_size_per_layer_input': 256",
                                     "'hidden_size_per_layer_input': 0", 0),
                    1);
    g_autoptr(RhModel) plain = model_load(text->str);
    CU_ASSERT_EQUAL(plain->per_layer_inputs, 0);
    CU_ASSERT_FALSE(rh_model_set(plain, "hidden_size_per_layer_input", "256", &set));
    CU_ASSERT_TRUE(g_error_matches(set, RH_ERROR, RH_ERROR_USAGE));
    CU_ASSERT_EQUAL(plain->per_layer_inputs, 0);
}

int main(void)
{
    return rh_test_main(
        "layer_inputs",
        (RhTest[]){{"parameters_are_those_counted_by_hand", parameters_are_those_counted_by_hand},
                   {"states_take_turns_in_gemma_3n", states_take_turns_in_gemma_3n},
                   {"kernels_do_the_flops_of_their_rows", kernels_do_the_flops_of_their_rows},
                   {"shared_keys_are_kept_once", shared_keys_are_kept_once},
                   {"what_is_not_known_of_them_is_refused", what_is_not_known_of_them_is_refused},
                   {"experts_beside_a_layers_own_input_are_refused",
                    experts_beside_a_layers_own_input_are_refused},
                   {0}});
}
