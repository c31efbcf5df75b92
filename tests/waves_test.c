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

#define CONFORMER(layers)                                                                          \
    "{'model_type': 'wav2vec2-bert', 'num_hidden_layers': " #layers ", 'hidden_size': 1024, "      \
    "'num_attention_heads': 16, 'intermediate_size': 4096, 'feature_projection_input_dim': 160, "  \
    "'conv_depthwise_kernel_size': 31, 'position_embeddings_type': 'relative_key', "               \
    "'add_adapter': false, 'vocab_size': null}"

/* W2v-BERT 2.0: 580 M as its name claims, to which a matrix of 32 letters is counted; a Conformer is three layers: a network,
 * attention, a convolution with a network. */
static void a_conformer_is_three_layers(void)
{
    const double h = 1024, f = 4096, s = 1500, norms = 2 * h;
    const double network = 2 * h * f + f + h + norms, attention = 4 * h * h + 4 * h + norms,
                 convolution = 3 * h * h + 31 * h + 2 * norms;
    g_autoptr(RhModel) m = model_load(CONFORMER(24));
    CU_ASSERT_EQUAL(m->layers_count, 72);
    CU_ASSERT_EQUAL(memcmp(m->kind_of_layer, (uint8_t[]){0, 1, 2, 0, 1, 2}, 6), 0);
    double ends = 2 * 160 + 160 * h + 2 * h + 32 * h + norms;
    CU_ASSERT_EQUAL((double)rh_model_params(m),
                    24 * (2 * network + attention + convolution) + ends);
    RH_CHECK_CLOSE((double)rh_model_params(m), 580.5e6, 1e-3);
    double matrices = 24 * (4 * h * f + 4 * h * h + 3 * h * h + 31 * h) + 160 * h + 32 * h;
    RH_CHECK_CLOSE(rh_model_flops_per_token(m, 1500), 6 * matrices + 24 * 3 * 4 * h * s, 1e-12);
    check_refused("{'model_type': 'wav2vec2-bert', 'num_hidden_layers': 2, 'hidden_size': 1024, "
                  "'num_attention_heads': 16, 'intermediate_size': 4096, 'add_adapter': true}",
                  "convolutions behind its layers");
}

/* However columns are cut: kernels do what the row counts; of a token the norm's two, and of columns the first matrix' two, in
 * and out of the taps, what the norm makes, the second matrix' input. */
static void its_convolution_is_counted_by_hand(void)
{
    const double n = 2 * 512, h = 1024;
    g_autoptr(RhModel) m = model_load(CONFORMER(2));
    const RhLayerKind *kind = &m->kinds[2];
    for (int32_t tp = 1; tp <= 4; tp *= 4) {
        RhShard shard = shard_of(tp, 512, 2);
        RhFlops f = rh_block_flops(m, kind, RH_BLOCK_MIXER, &shard);
        CU_ASSERT_EQUAL(tp * f.weights, 2 * n * (3 * h * h + 31 * h));
        static const RhPass passes[] = {RH_PASS_FORWARD, RH_PASS_BACKWARD_DATA,
                                        RH_PASS_BACKWARD_WEIGHT};
        for (int p = 0; p < 3; p++) {
            g_autoptr(GArray) kernels = g_array_new(FALSE, FALSE, sizeof(RhKernel));
            rh_block_kernels(m, kind, RH_BLOCK_MIXER, RH_PART_TENSOR, passes[p], &shard, kernels);
            double sum = 0;
            for (guint i = 0; i < kernels->len; i++)
                sum += g_array_index(kernels, RhKernel, i).flops;
            RH_CHECK_CLOSE(sum, f.weights, 1e-12);
        }
        CU_ASSERT_EQUAL(tp * rh_block_params(m, kind, RH_BLOCK_MIXER, &shard).sharded,
                        3 * h * h + 31 * h + 2 * h);
    }
    RhShard one = shard_of(1, 512, 2);
    CU_ASSERT_EQUAL(rh_block_activation_bytes(m, kind, RH_BLOCK_MIXER, &one).kept,
                    n * 2 * (2 * h + 6 * h));
    CU_ASSERT_EQUAL(rh_block_activation_bytes(m, NULL, RH_BLOCK_EMBEDDING, &one).kept,
                    n * 2 * 2 * 160);
}

int main(void)
{
    return rh_test_main(
        "waves",
        (RhTest[]){{"parameters_equal_the_published_counts", parameters_equal_the_published_counts},
                   {"flops_are_those_counted_by_hand", flops_are_those_counted_by_hand},
                   {"kept_bytes_are_those_counted_by_hand", kept_bytes_are_those_counted_by_hand},
                   {"a_conformer_is_three_layers", a_conformer_is_three_layers},
                   {"its_convolution_is_counted_by_hand", its_convolution_is_counted_by_hand},
                   {"other_stacks_are_refused", other_stacks_are_refused},
                   {0}});
}
