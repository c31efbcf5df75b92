/* DeBERTa's attention: parameters of published weights; FLOPs, cuts and kept bytes by hand. */
#include <string.h>

#include "tests/model_counts.h"
#include "tests/shard_kit.h"
#include "workloads/operators/operator.h"

/* microsoft/deberta-v3-base's and -large's config.json; -v2-xlarge's sizes without its convolution. */
#define DEBERTA(type, layers, hidden, heads, ffn, vocab, rest)                                     \
    "{'model_type': '" type "', 'num_hidden_layers': " #layers ", 'hidden_size': " #hidden         \
    ", 'num_attention_heads': " #heads ", 'intermediate_size': " #ffn ", 'vocab_size': " #vocab    \
    ", 'max_position_embeddings': 512, 'relative_attention': true, 'type_vocab_size': 0, "         \
    "'pos_att_type': 'p2c|c2p', 'max_relative_positions': -1, 'position_biased_input': false, "    \
    "'position_buckets': 256, 'norm_rel_ebd': 'layer_norm'" rest "}"
#define SHARED ", 'share_att_key': true"
#define BASE   DEBERTA("deberta-v2", 12, 768, 12, 3072, 128100, SHARED)

/* As keras-team/keras-hub lists them (deberta_v3_presets.py). A norm of the positions' table, which is not counted, is as
 * large as one behind the last layer, which is none. */
static void parameters_equal_the_published_counts(void)
{
    static const ExactCount rows[] = {
        {BASE, 183831552},
        {DEBERTA("deberta-v2", 24, 1024, 16, 4096, 128100, SHARED), 434012160},
        {DEBERTA("deberta-v2", 12, 768, 12, 3072, 128100, ""),
         183831552 + 12 * 2 * (768 * 768 + 768)},
    };
    check_exact(rows, G_N_ELEMENTS(rows));
    g_autoptr(RhModel) m = model_load(BASE);
    CU_ASSERT_FALSE(rh_model_makes_tokens(m));
    CU_ASSERT_STRING_EQUAL(rh_operator_name(m->kinds[0].mixer), "disentangled attention");
    CU_ASSERT_EQUAL(m->kinds[0].around, 512);
}

/* No kernel is fused attention, though the shard has it. */
static double flops_of(const RhModel *m, RhPass pass, const RhShard *shard)
{
    g_autoptr(GArray) kernels = block_kernels(m, &m->kinds[0], RH_BLOCK_MIXER, pass, shard);
    for (guint i = 0; i < kernels->len; i++)
        CU_ASSERT_NOT_EQUAL(g_array_index(kernels, RhKernel, i).cls, RH_KERNEL_ATTENTION);
    return kernels_flops(kernels);
}

/* n tokens by four matrices, 512 positions by two; pairs of contents, and of 512 positions with queries and keys.
 * Each product has two gradients. */
static void kernels_do_the_flops_counted_by_hand(void)
{
    const double h = 768, n = 4 * 384, s = 384, R = 512;
    double weights = 2 * n * 4 * h * h + 2 * 2 * R * h * h, pairs = 2 * n * h * (2 * s + 2 * R);
    g_autoptr(RhModel) m = model_load(BASE);
    for (int32_t tp = 1; tp <= 4; tp *= 2) {
        RhShard shard = shard_of(tp, 384, 4);
        RhFlops f = rh_block_flops(m, &m->kinds[0], RH_BLOCK_MIXER, &shard);
        RH_CHECK_CLOSE(tp * f.weights, weights, 1e-14);
        RH_CHECK_CLOSE(tp * f.pairs, pairs, 1e-14);
        RH_CHECK_CLOSE(tp * flops_of(m, RH_PASS_FORWARD, &shard), weights + pairs, 1e-14);
        RH_CHECK_CLOSE(tp * flops_of(m, RH_PASS_BACKWARD_DATA, &shard), weights + 2 * pairs, 1e-14);
        RH_CHECK_CLOSE(tp * flops_of(m, RH_PASS_BACKWARD_WEIGHT, &shard), weights, 1e-14);
        shard.recompute = RH_RECOMPUTE_CORE;
        RH_CHECK_CLOSE(tp * flops_of(m, RH_PASS_RECOMPUTE_SELECTIVE, &shard), pairs, 1e-14);
    }
}

/* Scores and probabilities are kept, a dropout's mask too, and keys and queries of positions. */
static void scores_are_kept(void)
{
    const double h = 768, n = 4 * 384, s = 384, R = 512;
    g_autoptr(RhModel) m = model_load(BASE);
    RhShard shard = shard_of(1, 384, 4);
    double kept = rh_block_activation_bytes(m, &m->kinds[0], RH_BLOCK_MIXER, &shard).kept;
    double sequence = n * h * (2 + 2 + 1); /* in and out of the norm, the mask before the sum */
    RH_CHECK_CLOSE(kept, sequence + 2 * 4 * n * h + n * 12 * s * (2 * 2 + 1) + 2 * 2 * R * h,
                   1e-12);
}

/* How far positions tell apart, by the keys of each version. */
static void positions_are_as_many_as_the_file_says(void)
{
    static const struct {
        const char *rest;
        int32_t around;
    } rows[] = {{"'position_buckets': 128", 256},
                {"'max_relative_positions': 100", 200},
                {"'max_relative_positions': -1", 1024}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *text = g_strdup_printf(
            "{" SHAPE("deberta", 2, 256, 4, 4, 512,
                      1000) ", 'max_position_embeddings': 512, 'relative_attention': true, %s}",
            rows[i].rest);
        g_autoptr(RhModel) m = model_load(text);
        CU_ASSERT_EQUAL(m->kinds[0].around, rows[i].around);
        CU_ASSERT_TRUE(m->kinds[0].around_own);
    }
    g_autoptr(RhModel) none = model_load("{" SHAPE("deberta", 2, 256, 4, 4, 512, 1000) "}");
    g_autoptr(RhModel) bert = model_load("{" SHAPE(
        "bert", 2, 256, 4, 4, 512, 1000) ", 'max_position_embeddings': 1, 'type_vocab_size': 0}");
    RhShard shard = shard_of(1, 384, 4);
    CU_ASSERT_EQUAL(none->kinds[0].around, 0);
    CU_ASSERT_EQUAL(rh_model_params(none), rh_model_params(bert) - 256);
    RH_CHECK_CLOSE(rh_block_activation_bytes(none, &none->kinds[0], RH_BLOCK_MIXER, &shard).kept,
                   rh_block_activation_bytes(bert, &bert->kinds[0], RH_BLOCK_MIXER, &shard).kept,
                   1e-14);
}

int main(void)
{
    return rh_test_main(
        "disentangled",
        (RhTest[]){
            {"parameters_equal_the_published_counts", parameters_equal_the_published_counts},
            {"kernels_do_the_flops_counted_by_hand", kernels_do_the_flops_counted_by_hand},
            {"scores_are_kept", scores_are_kept},
            {"positions_are_as_many_as_the_file_says", positions_are_as_many_as_the_file_says},
            {0}});
}
