/* Tokens that are made of sounds as they are sampled (wav2vec 2.0 and its kin): parameters as published, FLOPs and kernels by
 * hand, and which stacks of convolutions are refused. */
#include <string.h>

#include "tests/model_counts.h"
#include "tests/shard_kit.h"
#include "tests/testkit.h"
#include "workloads/operators/operator.h"

#define WAVES(type, layers, hidden, heads, ffn, rest)                                              \
    "{'model_type': '" type "', 'num_hidden_layers': " #layers ", 'hidden_size': " #hidden         \
    ", 'num_attention_heads': " #heads ", 'intermediate_size': " #ffn ", 'vocab_size': 32" rest    \
    "}"
#define STACK                                                                                      \
    ", 'conv_dim': [512, 512, 512, 512, 512, 512, 512], 'conv_kernel': [10, 3, 3, 3, 3, 2, 2], "   \
    "'conv_stride': [5, 2, 2, 2, 2, 2, 2], 'add_adapter': false"
#define STABLE                                                                                     \
    STACK ", 'conv_bias': true, 'feat_extract_norm': 'layer', 'do_stable_layer_norm': true"

/* wav2vec2-base-960h 94,396,320, wav2vec2-large-lv60 315,438,720 (without its head), WavLM-base 94,381,936 (likewise, with
 * 6,384 for its gates), data2vec-audio-base 93.2 M. A head's bias is left out; norms behind blocks have one that is none. */
static void parameters_equal_the_published_counts(void)
{
    static const ExactCount rows[] = {
        {WAVES("wav2vec2", 12, 768, 12, 3072, STACK), 94396320 - 32 + 2 * 768},
        {WAVES("hubert", 12, 768, 12, 3072, ""), 94396320 - 32 + 2 * 768},
        {WAVES("wav2vec2", 24, 1024, 16, 4096, STABLE), 315438720 + 32 * 1024},
        {WAVES("wavlm", 12, 768, 12, 3072, STACK), 94381936 - 6384 + 32 * 768 + 2 * 768},
    };
    check_exact(rows, G_N_ELEMENTS(rows));
    static const ClaimedCount claimed[] = {
        {WAVES("data2vec-audio", 12, 768, 12, 3072,
               STACK ", 'num_conv_pos_embeddings': 5, 'conv_pos_kernel_size': 19"),
         93.2e6, 1e-3},
        {WAVES("hubert", 48, 1280, 16, 5120, STABLE), 964e6, 2e-3},
    };
    check_claimed(claimed, G_N_ELEMENTS(claimed));
}

/* For a token of 320 samples: 64 frames of ten taps, 60 of three and 3 of two over 512 channels; the matrix; 128 taps of 48
 * columns in 16 groups. */
static void flops_are_those_counted_by_hand(void)
{
    const double h = 768, s = 1024;
    const double front = 64 * 10 * 512.0 + (60 * 3 + 3 * 2) * 512.0 * 512 + 512 * h + 128 * 48 * h;
    g_autoptr(RhModel) m = model_load(WAVES("wav2vec2", 12, 768, 12, 3072, STACK));
    RhShard shard = shard_of(1, 1024, 2);
    CU_ASSERT_EQUAL(rh_block_flops(m, NULL, RH_BLOCK_EMBEDDING, &shard).weights, 2 * 2 * s * front);
    RH_CHECK_CLOSE(rh_model_flops_per_token(m, 1024),
                   6 * (12 * 12 * h * h + 32 * h + front) + 3 * 12 * 4 * s * h, 1e-12);
    RH_CHECK_CLOSE(block_flops(m, NULL, RH_BLOCK_EMBEDDING, RH_PASS_FORWARD, &shard),
                   2 * 2 * s * front, 1e-12);
    /* sounds have no gradient */
    RH_CHECK_CLOSE(block_flops(m, NULL, RH_BLOCK_EMBEDDING, RH_PASS_BACKWARD_DATA, &shard),
                   2 * 2 * s * (front - 64 * 10 * 512.0), 1e-12);
    RH_CHECK_CLOSE(block_flops(m, NULL, RH_BLOCK_EMBEDDING, RH_PASS_BACKWARD_WEIGHT, &shard),
                   2 * 2 * s * front, 1e-12);
}

/* The samples, in and out of the activations of 127 frames, what their norms read, the matrix' input; in and out of the
 * positions' convolution, and what it makes; dropout's mask, of one byte. */
static void kept_bytes_are_those_counted_by_hand(void)
{
    g_autoptr(RhModel) m = model_load(WAVES("wav2vec2", 12, 768, 12, 3072, STABLE));
    RhShard shard = shard_of(1, 512, 2);
    double columns = 5 * 64 + (2 + 1) * 512 * 127 + 512 + 3 * 768, mask = 768;
    CU_ASSERT_EQUAL(rh_block_activation_bytes(m, NULL, RH_BLOCK_EMBEDDING, &shard).kept,
                    2 * 512 * (2 * columns + mask));
}

static void other_stacks_are_refused(void)
{
    check_refused(WAVES("wav2vec2", 12, 768, 12, 3072, ", 'conv_stride': [5, 2, 1, 2, 1, 2, 1]"),
                  "conv_stride: of such convolutions one list alone");
    check_refused(WAVES("hubert", 12, 768, 12, 3072, ", 'conv_dim': 512"), "conv_dim");
    check_refused(WAVES("wav2vec2", 12, 768, 12, 3072, ", 'add_adapter': true"),
                  "convolutions behind its layers");
    check_refused(WAVES("wav2vec2", 12, 768, 12, 3072, ", 'num_conv_pos_embedding_groups': 7"),
                  "num_conv_pos_embedding_groups 7 does not divide");
}

int main(void)
{
    return rh_test_main(
        "waves",
        (RhTest[]){{"parameters_equal_the_published_counts", parameters_equal_the_published_counts},
                   {"flops_are_those_counted_by_hand", flops_are_those_counted_by_hand},
                   {"kept_bytes_are_those_counted_by_hand", kept_bytes_are_those_counted_by_hand},
                   {"other_stacks_are_refused", other_stacks_are_refused},
                   {0}});
}
