/* An encoder and a decoder whose layers look at both sides in one attention, and stacks of two widths: parameters, FLOPs, kernels and
 * kept bytes by hand. */
#include <string.h>

#include "tests/agree_kit.h"
#include "tests/model_counts.h"
#include "tests/shard_kit.h"
#include "tests/train_kit.h"
#include "workloads/operators/operator.h"

#define STACK(type, layers, hidden, heads, kv, ffn, vocab, rest)                                   \
    "{" SHAPE(type, layers, hidden, heads, kv, ffn, vocab) ", 'head_dim': 256" rest "}"
#define T5GEMMA2(encoder, decoder)                                                                     \
    "{'model_type': 't5gemma2', 'is_encoder_decoder': true, 'tie_word_embeddings': true, "             \
    "'eoi_token_index': 256000, 'encoder': {'model_type': 't5gemma2_encoder', 'text_config': " encoder \
    ", 'vision_config': {'model_type': 'siglip_vision_model'}}, 'decoder': " decoder "}"
#define NEAR ", 'sliding_window': 512"
#define SMALL                                                                                      \
    T5GEMMA2(STACK("t5gemma2_text", 18, 640, 4, 1, 2048, 262144, NEAR),                            \
             STACK("t5gemma2_decoder", 18, 640, 4, 1, 2048, 262144, NEAR))
#define T5GEMMA(encoder, decoder)                                                                  \
    "{'model_type': 't5gemma', 'is_encoder_decoder': true, 'encoder': " encoder                    \
    ", 'decoder': " decoder "}"

static int64_t gemma_3(int64_t layers, int64_t h, int64_t heads, int64_t kv, int64_t f)
{
    return layers * (2 * h * 256 * (heads + kv) + 3 * h * f + 4 * h + 2 * 256) + h;
}

/* Google's announcement (2025) says some 370 M, 1.7 G and 7 G, without the tower but in the last two. */
static void parameters_are_two_gemmas_and_a_table(void)
{
    g_autoptr(RhModel) m = model_load(SMALL);
    CU_ASSERT_EQUAL(rh_model_params(m), 2 * gemma_3(18, 640, 4, 1, 2048) + 262144 * 640);
    RH_CHECK_CLOSE((double)rh_model_params(m), 370e6, 5e-3);
    /* 268,098,176 of Gemma 3 270M's weights are one of these and the table */
    CU_ASSERT_EQUAL(gemma_3(18, 640, 4, 1, 2048) + 262144 * 640, 268098176);
    g_autoptr(RhModel) one =
        model_load(T5GEMMA2(STACK("t5gemma2_text", 26, 1152, 4, 1, 6912, 262144, NEAR),
                            STACK("t5gemma2_decoder", 26, 1152, 4, 1, 6912, 262144, NEAR)));
    CU_ASSERT_EQUAL(rh_model_params(one), 2 * gemma_3(26, 1152, 4, 1, 6912) + 262144 * 1152);
    RH_CHECK_CLOSE((double)rh_model_params(one), 1.7e9, 2e-2);
    CU_ASSERT_EQUAL(m->layers_count, 36);
    for (int32_t i = 0; i < 36; i++) {
        const RhLayerKind *kind = &m->kinds[m->kind_of_layer[i]];
        CU_ASSERT_EQUAL(kind->window_tokens, i % 18 % 6 == 5 ? 0 : 512);
        CU_ASSERT_EQUAL(kind->cross_width, i < 18 ? 0 : 640);
    }
}

/* Of each pair two products: of own tokens a window or half of the square, of the encoder's all. */
static void flops_are_those_counted_by_hand(void)
{
    const double h = 640, q = 1024, kv = 256, f = 2048, S = 2048, E = 4096, w = 512;
    g_autoptr(RhModel) m = model_load(SMALL);
    CU_ASSERT_TRUE(rh_model_set(m, "encoder_tokens", "4096", NULL));
    double layer = h * (q + 2 * kv) + q * h + 3 * h * f;
    double encoder = 18 * E * layer + (15 * E * w + 3 * E * E) * 2 * q;
    double own = 15 * (S * w - w * w / 2) + 3 * S * S / 2;
    double decoder = 18 * (S * layer + E * h * 2 * kv) + (own + 18 * S * E) * 2 * q;
    RH_CHECK_CLOSE(rh_model_flops_per_token(m, 2048) * S, 6 * (encoder + decoder + S * h * 262144),
                   1e-14);
}

static const RhLayerKind *merged_kind(const RhModel *m)
{
    return &m->kinds[m->kind_of_layer[18]];
}

static void kernels_do_the_flops_of_the_row(void)
{
    g_autoptr(RhModel) m =
        model_load(T5GEMMA2(STACK("t5gemma2_text", 18, 640, 4, 4, 2048, 1000, NEAR),
                            STACK("t5gemma2_decoder", 18, 640, 4, 4, 2048, 1000, NEAR)));
    const RhLayerKind *kind = merged_kind(m);
    CU_ASSERT_STRING_EQUAL(rh_operator_name(kind->mixer),
                           "attention to own and the encoder's tokens");
    RhShard whole = shard_of(1, 2048, 3);
    RhFlops all = rh_block_flops(m, kind, RH_BLOCK_MIXER, &whole);
    for (int32_t tp = 1; tp <= 4; tp *= 2) {
        RhShard shard = shard_of(tp, 2048, 3);
        RhFlops f = rh_block_flops(m, kind, RH_BLOCK_MIXER, &shard);
#define DONE(pass) block_flops(m, kind, RH_BLOCK_MIXER, RH_PASS_##pass, &shard)
        RH_CHECK_CLOSE(DONE(FORWARD), f.weights + f.pairs, 1e-14);
        RH_CHECK_CLOSE(DONE(BACKWARD_DATA), f.weights + 2.5 * f.pairs, 1e-14);
        RH_CHECK_CLOSE(DONE(BACKWARD_WEIGHT), f.weights, 1e-14);
        RH_CHECK_CLOSE(tp * (f.weights + f.pairs), all.weights + all.pairs, 1e-14);
        shard.recompute = RH_RECOMPUTE_CORE;
        RH_CHECK_CLOSE(DONE(RECOMPUTE_SELECTIVE), f.pairs, 1e-14);
    }
}

/* Beside what an encoder's layer of as many tokens keeps: the other side's keys and values, keys before their norm, and a number a query
 * and head. */
static void kept_bytes_are_those_counted_by_hand(void)
{
    g_autoptr(RhModel) m = model_load(SMALL);
    const double b = 3, S = 2048, heads = 4, kv = 256;
    RhShard shard = shard_of(1, 2048, 3);
#define KEPT(kind) rh_block_activation_bytes(m, kind, RH_BLOCK_MIXER, &shard).kept
    RH_CHECK_CLOSE(KEPT(merged_kind(m)) - KEPT(&m->kinds[0]),
                   2 * b * S * 3 * kv + 4 * b * S * heads, 1e-9);
}

/* T5Gemma 9B-2B: Gemma 2's 9,241,705,984 and 2,614,341,888, and 26 times attention of 2,304 columns to 3,584, with two norms. */
static void stacks_may_be_of_two_widths(void)
{
    g_autoptr(RhModel) m =
        model_load(T5GEMMA(STACK("t5_gemma_module", 42, 3584, 16, 8, 14336, 256000, ""),
                           STACK("t5_gemma_module", 26, 2304, 8, 4, 9216, 256000, "")));
    int64_t cross = 2 * 2304 * 2048 + 2 * 3584 * 1024 + 2 * 2304;
    CU_ASSERT_EQUAL(rh_model_params(m), 9241705984 + 2614341888 + 26 * cross);
    CU_ASSERT_EQUAL(m->encoder->hidden, 3584);
    CU_ASSERT_EQUAL(m->kinds[m->kind_of_layer[43]].cross_width, 3584);
    RhShard shard = shard_of(2, 2048, 1);
    CU_ASSERT_EQUAL(rh_block_boundary_bytes(m, &m->kinds[0], RH_BLOCK_MIXER, &shard),
                    2.0 * 2048 * 3584);
    check_refused(T5GEMMA2(STACK("t5gemma2_text", 18, 1152, 4, 1, 2048, 262144, NEAR),
                           STACK("t5gemma2_decoder", 18, 640, 4, 1, 2048, 262144, NEAR)),
                  "where the decoder has 640");
}

static void closed_memory_and_bounds_agree(void)
{
    static const char *const layouts[] = {"tp2,dp4,sp=off", "dp8,zero3,mb4",
                                          "tp2,dp4,sp=on,mb4,recompute=selective",
                                          "dp8,recompute=full"};
    for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++) {
        check_agrees(T5GEMMA2(STACK("t5gemma2_text", 6, 640, 4, 2, 2048, 1000, NEAR),
                              STACK("t5gemma2_decoder", 6, 640, 4, 2, 2048, 1000, NEAR)),
                     1024, layouts[i]);
        check_agrees(T5GEMMA(STACK("t5_gemma_module", 4, 1280, 8, 4, 4096, 1000, ""),
                             STACK("t5_gemma_module", 2, 768, 4, 2, 2048, 1000, "")),
                     1024, layouts[i]);
    }
}

int main(void)
{
    return rh_test_main(
        "merged",
        (RhTest[]){{"parameters_are_two_gemmas_and_a_table", parameters_are_two_gemmas_and_a_table},
                   {"flops_are_those_counted_by_hand", flops_are_those_counted_by_hand},
                   {"kernels_do_the_flops_of_the_row", kernels_do_the_flops_of_the_row},
                   {"kept_bytes_are_those_counted_by_hand", kept_bytes_are_those_counted_by_hand},
                   {"stacks_may_be_of_two_widths", stacks_may_be_of_two_widths},
                   {"closed_memory_and_bounds_agree", closed_memory_and_bounds_agree},
                   {0}});
}
