/* An encoder that listens to samples: parameters of published weights, FLOPs, kernels and kept bytes by hand. */
#include <string.h>

#include "tests/agree_kit.h"
#include "tests/model_counts.h"
#include "tests/shard_kit.h"
#include "workloads/operators/operator.h"

/* moonshine-tiny's and -base's config.json. */
#define MOONSHINE(layers, hidden, ffn)                                                                  \
    "{'model_type': 'moonshine', 'is_encoder_decoder': true, 'attention_bias': false, "                 \
    "'decoder_hidden_act': 'silu', 'encoder_hidden_act': 'gelu', 'decoder_num_hidden_layers': " #layers \
    ", 'encoder_num_hidden_layers': " #layers ", 'decoder_num_attention_heads': 8, "                    \
    "'encoder_num_attention_heads': 8, 'decoder_num_key_value_heads': 8, "                              \
    "'encoder_num_key_value_heads': 8, 'hidden_size': " #hidden ", 'intermediate_size': " #ffn          \
    ", 'max_position_embeddings': 194, 'partial_rotary_factor': 0.9, 'vocab_size': 32768}"
#define TINY MOONSHINE(6, 288, 1152)

/* Norms have no shifts, which are counted: two in each layer of the encoder, three in the decoder's, two behind. */
static void parameters_equal_the_published_counts(void)
{
    static const ExactCount rows[] = {
        {TINY, 27092736 + (5 * 6 + 2) * 288},
        {MOONSHINE(8, 416, 1664), 61513920 + (5 * 8 + 2) * 416},
    };
    check_exact(rows, G_N_ELEMENTS(rows));
    g_autoptr(RhModel) m = model_load(TINY);
    CU_ASSERT_EQUAL(rh_model_encoder_tokens(m, 194), 1248); /* of 30 s at 16 kHz */
    for (int32_t i = 0; i < m->layers_count; i++) {
        const RhLayerKind *kind = &m->kinds[m->kind_of_layer[i]];
        CU_ASSERT_EQUAL(kind->ffn_gated, !kind->encodes && kind->ffn != NULL);
    }
}

/* Of a token six outputs of 127 samples, two of 7 by h, one of 3 by 2 h. */
static double front_of(double h)
{
    return 6 * 127 * h + 2 * 7 * h * 2 * h + 3 * 2 * h * h;
}

static void flops_are_those_counted_by_hand(void)
{
    const double h = 288, f = 1152, E = 1248, S = 194, V = 32768, L = 6;
    g_autoptr(RhModel) m = model_load(TINY);
    double encoder = L * (E * (4 * h * h + 2 * h * f) + E * E * 2 * h) + E * front_of(h);
    double decoder =
        L * (S * (6 * h * h + 3 * h * f) + E * 2 * h * h + S * S / 2 * 2 * h + S * E * 2 * h);
    RH_CHECK_CLOSE(rh_model_flops_per_token(m, 194) * S, 6 * (encoder + decoder + S * h * V),
                   1e-14);
}

/* Of both fronts, which a rank's embedding has: kernels do these, but no gradient of samples. */
static void the_front_is_three_convolutions(void)
{
    g_autoptr(RhModel) m = model_load(TINY);
    const double h = 288, n = 3 * 1248;
    RhShard shard = shard_of(1, 194, 3);
#define DONE(pass) block_flops(m, NULL, RH_BLOCK_EMBEDDING, RH_PASS_##pass, &shard)
    RH_CHECK_CLOSE(DONE(FORWARD), 2 * n * front_of(h), 1e-14);
    RH_CHECK_CLOSE(DONE(BACKWARD_DATA), 2 * n * (front_of(h) - 6 * 127 * h), 1e-14);
    RH_CHECK_CLOSE(DONE(BACKWARD_WEIGHT), 2 * n * front_of(h), 1e-14);
    RhParams p = rh_block_params(m, NULL, RH_BLOCK_EMBEDDING, &shard);
    RH_CHECK_CLOSE(p.replicated, 127 * h + 2 * h + 7 * h * 2 * h + 2 * h + 3 * 2 * h * h + h,
                   1e-14);
    /* samples, in and out of tanh and the norm's output, in and out of GELU, in to the last */
    RH_CHECK_CLOSE(rh_block_activation_bytes(m, NULL, RH_BLOCK_EMBEDDING, &shard).kept,
                   2 * n * (384 + 3 * 6 * h + 2 * 2 * 2 * h + h), 1e-14);
}

static void closed_memory_and_bounds_agree(void)
{
    check_agrees(TINY, 194, "tp2,dp4,sp=off,mb2");
    check_agrees(TINY, 194, "dp8,zero3,mb4,recompute=full");
}

int main(void)
{
    return rh_test_main(
        "samples",
        (RhTest[]){{"parameters_equal_the_published_counts", parameters_equal_the_published_counts},
                   {"flops_are_those_counted_by_hand", flops_are_those_counted_by_hand},
                   {"the_front_is_three_convolutions", the_front_is_three_convolutions},
                   {"closed_memory_and_bounds_agree", closed_memory_and_bounds_agree},
                   {0}});
}
