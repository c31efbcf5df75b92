/* Attention whose scores are by distance, too: parameters of published weights and a count of their own; FLOPs, cuts and kept bytes by
 * hand. */
#include <string.h>

#include "tests/agree_kit.h"
#include "tests/model_counts.h"
#include "tests/shard_kit.h"
#include "workloads/operators/operator.h"

/* xlnet-base-cased's and -large-cased's config.json. */
#define XLNET(layers, hidden, heads, ffn, rest)                                                    \
    "{'model_type': 'xlnet', 'attn_type': 'bi', 'bi_data': false, 'clamp_len': -1, 'd_head': 64, " \
    "'d_inner': " #ffn ", 'd_model': " #hidden                                                     \
    ", 'dropout': 0.1, 'mem_len': null, 'n_head': " #heads ", 'n_layer': " #layers                 \
    ", 'untie_r': true, 'summary_last_dropout': 0.1, "                                             \
    "'vocab_size': 32000" rest "}"
#define BASE XLNET(12, 768, 12, 3072, "")
#define CONFORMER(type)                                                                            \
    "{'model_type': 'wav2vec2-conformer', 'num_hidden_layers': 24, 'hidden_size': 1024, "          \
    "'num_attention_heads': 16, 'intermediate_size': 4096, 'vocab_size': 32, 'conv_bias': true, "  \
    "'feat_extract_norm': 'layer', 'num_conv_pos_embeddings': 128, 'hidden_dropout': 0.0, "        \
    "'attention_dropout': 0.0, 'position_embeddings_type': " type "}"

/* The row of tokens that are predicted is left out, a norm before the head is counted. */
static void parameters_equal_the_published_counts(void)
{
    static const ExactCount rows[] = {
        {BASE, 116718336 - 768 + 2 * 768},
        {XLNET(24, 1024, 16, 4096, ""), 360268800 - 1024 + 2 * 1024},
    };
    check_exact(rows, G_N_ELEMENTS(rows));
    g_autoptr(RhModel) m = model_load(BASE);
    CU_ASSERT_FALSE(rh_model_makes_tokens(m));
    CU_ASSERT_STRING_EQUAL(rh_operator_name(m->kinds[0].mixer), "attention by distance");
}

/* Of the weights without the convolution for positions and the norm behind each Conformer. */
static void a_conformers_parameters_are_counted_by_hand(void)
{
    const int64_t h = 1024, f = 4096;
    int64_t network = 2 * h * f + f + h, attention = 4 * (h * h + h), distance = h * h + 2 * h;
    int64_t convolution = 3 * h * h + 31 * h + 2 * h, norms = 4 * 2 * h;
    int64_t layer = 2 * network + attention + convolution + norms;
    int64_t taps = 512 * 10 + 4 * 3 * 512 * 512 + 2 * 2 * 512 * 512;
    int64_t front = taps + 7 * 512 + 7 * 2 * 512 + 2 * 512 + 513 * h + h;
    const ExactCount rows[] = {
        {CONFORMER("'relative'"), 24 * (layer + distance) + front + 2 * h + 32 * h},
        {CONFORMER("'rotary'"), 24 * layer + front + 2 * h + 32 * h},
        {CONFORMER("null"), 24 * layer + front + 2 * h + 32 * h},
    };
    check_exact(rows, G_N_ELEMENTS(rows));
}

/* No kernel is fused attention, though the shard has it. */
static double flops_of(const RhModel *m, RhPass pass, const RhShard *shard)
{
    g_autoptr(GArray) kernels = block_kernels(m, &m->kinds[0], RH_BLOCK_MIXER, pass, shard);
    for (guint i = 0; i < kernels->len; i++)
        CU_ASSERT_NOT_EQUAL(g_array_index(kernels, RhKernel, i).cls, RH_KERNEL_ATTENTION);
    return kernels_flops(kernels);
}

/* n tokens by four matrices, and b times 2 s distances by one, which have no gradient of their own; pairs of contents, and of each query
 * and distance. */
static void kernels_do_the_flops_counted_by_hand(void)
{
    const double h = 768, s = 384, n = 4 * s, R = 2 * s;
    double own = 2 * n * 4 * h * h, distances = 2 * 4 * R * h * h, pairs = 2 * n * h * (2 * s + R);
    g_autoptr(RhModel) m = model_load(BASE);
    for (int32_t tp = 1; tp <= 4; tp *= 2) {
        RhShard shard = shard_of(tp, 384, 4);
        RhFlops f = rh_block_flops(m, &m->kinds[0], RH_BLOCK_MIXER, &shard);
        RH_CHECK_CLOSE(tp * f.weights, own + distances, 1e-14);
        RH_CHECK_CLOSE(tp * f.pairs, pairs, 1e-14);
        RH_CHECK_CLOSE(tp * flops_of(m, RH_PASS_FORWARD, &shard), own + distances + pairs, 1e-14);
        RH_CHECK_CLOSE(tp * flops_of(m, RH_PASS_BACKWARD_DATA, &shard), own + 2 * pairs, 1e-14);
        RH_CHECK_CLOSE(tp * flops_of(m, RH_PASS_BACKWARD_WEIGHT, &shard), own + distances, 1e-14);
        shard.recompute = RH_RECOMPUTE_CORE;
        RH_CHECK_CLOSE(tp * flops_of(m, RH_PASS_RECOMPUTE_SELECTIVE, &shard), pairs, 1e-14);
    }
}

/* Under a mask there are half as many distances; a Conformer makes their rows once. */
static void distances_are_as_many_as_there_are(void)
{
    g_autoptr(RhModel) masked =
        model_load("{'model_type': 'xlnet', 'attn_type': 'uni', 'd_inner': 3072, 'd_model': 768, "
                   "'n_head': 12, 'n_layer': 12, 'vocab_size': 32000}");
    g_autoptr(RhModel) conformer = model_load(CONFORMER("'relative'"));
    RhShard shard = shard_of(1, 384, 4);
    const double s = 384, n = 4 * s;
    RhFlops f = rh_block_flops(masked, &masked->kinds[0], RH_BLOCK_MIXER, &shard);
    RH_CHECK_CLOSE(f.weights, 2 * (n * 4 + 4 * s) * 768 * 768, 1e-14);
    RH_CHECK_CLOSE(f.pairs, 2 * n * 768 * (s + s), 1e-14); /* half of the pairs of contents */
    const RhLayerKind *kind = &conformer->kinds[conformer->kind_of_layer[1]];
    CU_ASSERT_PTR_EQUAL(kind->mixer, &rh_attention_relative);
    f = rh_block_flops(conformer, kind, RH_BLOCK_MIXER, &shard);
    RH_CHECK_CLOSE(f.weights, 2 * (n * 4 + 2 * s) * 1024 * 1024, 1e-14);
}

/* Scores and probabilities are kept, a dropout's mask too, keys of distances, and queries once more. */
static void scores_are_kept(void)
{
    const double h = 768, s = 384, n = 4 * s;
    g_autoptr(RhModel) m = model_load(BASE);
    RhShard shard = shard_of(1, 384, 4);
    double kept = rh_block_activation_bytes(m, &m->kinds[0], RH_BLOCK_MIXER, &shard).kept;
    double sequence = n * h * (2 + 2 + 1); /* in and out of the norm, the mask before the sum */
    RH_CHECK_CLOSE(
        kept, sequence + 2 * 4 * n * h + n * 12 * s * (2 * 2 + 1) + 2 * (4 * 2 * s * h + n * h),
        1e-12);
}

static void closed_memory_and_bounds_agree(void)
{
    check_agrees(XLNET(4, 768, 12, 3072, ""), 384, "tp2,pp2,mb2");
    check_agrees(XLNET(4, 768, 12, 3072, ""), 384, "dp8,zero3,mb4,recompute=full");
    check_agrees(CONFORMER("'relative'"), 384, "tp4,pp2,mb2,recompute=selective");
}

static void a_memory_is_refused(void)
{
    check_refused(
        "{'model_type': 'xlnet', 'd_inner': 64, 'd_model': 64, 'n_head': 4, 'n_layer': 2, "
        "'vocab_size': 100, 'mem_len': 384}",
        "mem_len");
}

int main(void)
{
    return rh_test_main(
        "relative",
        (RhTest[]){{"parameters_equal_the_published_counts", parameters_equal_the_published_counts},
                   {"a_conformers_parameters_are_counted_by_hand",
                    a_conformers_parameters_are_counted_by_hand},
                   {"kernels_do_the_flops_counted_by_hand", kernels_do_the_flops_counted_by_hand},
                   {"distances_are_as_many_as_there_are", distances_are_as_many_as_there_are},
                   {"scores_are_kept", scores_are_kept},
                   {"closed_memory_and_bounds_agree", closed_memory_and_bounds_agree},
                   {"a_memory_is_refused", a_memory_is_refused},
                   {0}});
}
