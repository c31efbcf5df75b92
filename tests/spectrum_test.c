/* Tokens made of a spectrum as a picture, and the Conformers behind: parameters, FLOPs and kept bytes by hand. */
#include <string.h>

#include "tests/agree_kit.h"
#include "tests/model_counts.h"
#include "tests/shard_kit.h"
#include "workloads/operators/operator.h"

#define PARAKEET(layers, rest)                                                                     \
    "{'model_type': 'parakeet_ctc', 'vocab_size': 1025, 'pad_token_id': 1024, 'encoder_config': "  \
    "{'model_type': 'parakeet_encoder', 'hidden_size': 1024, 'num_hidden_layers': " #layers        \
    ", 'num_attention_heads': 8, 'intermediate_size': 4096" rest "}}"

static const int64_t h = 1024, f = 4096, C = 256;

static int64_t layer_of(int64_t bias)
{
    int64_t network = 2 * h * f + bias * (f + h), attention = 4 * (h * h + bias * h);
    int64_t distance = h * h + 2 * h, convolution = 3 * h * h + 9 * h + bias * 4 * h + 2 * h;
    return 2 * network + attention + distance + convolution + 4 * 2 * h;
}

/* Three convolutions of an 80-row spectrum, a matrix of 10 rows of 256 channels. */
static int64_t front_of(int64_t rows)
{
    return 9 * C + C + 2 * (9 * C + C + C * C + C) + rows / 8 * C * h + h;
}

/* nvidia/parakeet-ctc-1.1b and -0.6b: what their names say. */
static void parameters_are_counted_by_hand(void)
{
    const int64_t ends = 2 * h + 1025 * h;
    const ExactCount rows[] = {
        {PARAKEET(42, ""), 42 * layer_of(1) + front_of(80) + ends},
        {PARAKEET(24, ", 'attention_bias': false, 'convolution_bias': false, 'num_mel_bins': 128"),
         24 * layer_of(0) + front_of(128) + ends},
    };
    check_exact(rows, G_N_ELEMENTS(rows));
    static const ClaimedCount claims[] = {{PARAKEET(42, ""), 1.1e9, 0.04},
                                          {PARAKEET(24, ""), 0.6e9, 0.02}};
    check_claimed(claims, G_N_ELEMENTS(claims));
}

/* Multiply-adds of a token: 4 frames of 40 rows by 9 numbers, then 2 of 20 and 1 of 10 by 9 and by 256, then the matrix. */
static double front_products(void)
{
    const double c = 256;
    return 4 * 40 * c * 9 + (2 * 20 + 1 * 10) * c * (9 + c) + 10 * c * 1024;
}

static void the_front_is_counted_by_hand(void)
{
    g_autoptr(RhModel) m = model_load(PARAKEET(24, ""));
    const double n = 3 * 250, c = 256;
    RhShard shard = shard_of(1, 250, 3);
#define DONE(pass) block_flops(m, NULL, RH_BLOCK_EMBEDDING, RH_PASS_##pass, &shard)
    RH_CHECK_CLOSE(DONE(FORWARD), 2 * n * front_products(), 1e-14);
    RH_CHECK_CLOSE(DONE(BACKWARD_DATA), 2 * n * (front_products() - 4 * 40 * c * 9), 1e-14);
    RH_CHECK_CLOSE(DONE(BACKWARD_WEIGHT), 2 * n * front_products(), 1e-14);
    RhParams p = rh_block_params(m, NULL, RH_BLOCK_EMBEDDING, &shard);
    RH_CHECK_CLOSE(p.replicated, (double)front_of(80), 1e-14);
    /* the spectrum, the first's output, two each of the others; a mask of dropout */
    RH_CHECK_CLOSE(rh_block_activation_bytes(m, NULL, RH_BLOCK_EMBEDDING, &shard).kept,
                   2 * n * (8 * 80 + 4 * 40 * c + 2 * (2 * 20 + 10) * c) + n * 1024, 1e-14);
}

static void flops_of_the_model_count_it(void)
{
    const double s = 250, w = 1024;
    g_autoptr(RhModel) m = model_load(PARAKEET(24, ""));
    double networks = 2 * 2 * w * 4096, attention = 4 * w * w + 2 * w * w;
    double convolution = 3 * w * w + 9 * w, pairs = 2 * s * w + 2 * s * w;
    RH_CHECK_CLOSE(
        rh_model_flops_per_token(m, 250),
        6 * (24 * (networks + attention + convolution + pairs) + front_products() + 1025 * w),
        1e-14);
}

static void closed_memory_and_bounds_agree(void)
{
    check_agrees(PARAKEET(2, ""), 250, "tp2,pp2,mb2,sp=off");
    check_agrees(PARAKEET(2, ""), 250, "dp8,zero3,mb4,recompute=full");
}

static void other_fronts_are_refused(void)
{
    check_refused(PARAKEET(2, ", 'subsampling_conv_kernel_size': 5"),
                  "subsampling_conv_kernel_size");
    check_refused(PARAKEET(2, ", 'subsampling_conv_stride': 1"), "subsampling_conv_stride");
    check_refused(PARAKEET(2, ", 'subsampling_factr': 4"), "subsampling_factor");
}

int main(void)
{
    return rh_test_main(
        "spectrum", (RhTest[]){{"parameters_are_counted_by_hand", parameters_are_counted_by_hand},
                               {"the_front_is_counted_by_hand", the_front_is_counted_by_hand},
                               {"flops_of_the_model_count_it", flops_of_the_model_count_it},
                               {"closed_memory_and_bounds_agree", closed_memory_and_bounds_agree},
                               {"other_fronts_are_refused", other_fronts_are_refused},
                               {0}});
}
