/* RWKV's time and channel mixing: parameters as published, FLOPs, kernels, kept bytes and states by hand. */
#include <string.h>

#include "tests/model_counts.h"
#include "tests/shard_kit.h"
#include "tests/testkit.h"
#include "workloads/operators/operator.h"

#define SEVENTH(layers, hidden, decay, rate, gate, value)                                          \
    "{'model_type': 'rwkv7', 'num_hidden_layers': " #layers ", 'hidden_size': " #hidden            \
    ", 'head_dim': 64, 'num_heads': 32, 'hidden_ratio': 4.0, 'vocab_size': 65536, "                \
    "'decay_low_rank_dim': " #decay ", 'a_low_rank_dim': " #rate ", 'gate_low_rank_dim': " #gate   \
    ", 'v_low_rank_dim': " #value ", 'attn': null}"
#define FOURTH(layers, hidden)                                                                     \
    "{'model_type': 'rwkv', 'num_hidden_layers': " #layers ", 'hidden_size': " #hidden             \
    ", 'attention_hidden_size': " #hidden ", 'vocab_size': 50277, 'context_length': 1024}"
#define HEADED(version, layers, hidden)                                                            \
    "{'model_type': 'rwkv" #version "', 'num_hidden_layers': " #layers ", 'hidden_size': " #hidden \
    ", 'attention_hidden_size': " #hidden ", 'head_size': 64, 'num_attention_heads': 32, "         \
    "'intermediate_size': null, 'vocab_size': 65536}"

/* arXiv 2503.14456, appendix on the models trained: 0.1, 0.4, 1.5 and 2.9 G; RWKV-4's 169 M and 14 G, whose formula is
 * 2 V D + 13 L D^2 + L D 11 + 4 D (arXiv 2305.13048, section 4.1). Of RWKV-5 and 6: 2 V D + 13 L D^2 + 4 D, and 14 L D or
 * 464 L D (arXiv 2404.05892, appendix); 912 where latents are twice as wide, in the 7B, whose weights are 7,635,746,816. */
static void parameters_equal_the_published_counts(void)
{
    static const ExactCount rows[] = {
        {SEVENTH(12, 768, 64, 64, 128, 32), 191034624},
        {SEVENTH(24, 1024, 64, 64, 128, 32), 450767872},
        {SEVENTH(24, 2048, 96, 96, 256, 64), 1527404544},
        {SEVENTH(32, 2560, 96, 96, 320, 64), 2947735040},
        {HEADED(5, 32, 4096),
         2 * 65536LL * 4096 + 13 * 32 * 4096LL * 4096 + 14 * 32 * 4096 + 4 * 4096},
        {HEADED(6, 24, 2048),
         2 * 65536LL * 2048 + 13 * 24 * 2048LL * 2048 + 464 * 24 * 2048 + 4 * 2048},
        {HEADED(6, 32, 4096), 7635746816},
        {FOURTH(12, 768), 169342464},
        {FOURTH(40, 5120),
         2 * 50277LL * 5120 + 13 * 40 * 5120LL * 5120 + 40 * 5120 * 11 + 4 * 5120},
    };
    check_exact(rows, G_N_ELEMENTS(rows));
    check_refused("{'model_type': 'rwkv6', 'num_hidden_layers': 2, 'hidden_size': 2048, "
                  "'vocab_size': 65536, 'proj_low_rank_dim': 32, 'expand_k': 0.5}",
                  "flash-linear-attention's form");
    check_refused("{'model_type': 'rwkv7', 'num_hidden_layers': 2, 'hidden_size': 768, "
                  "'vocab_size': 65536, 'a_low_rank_dim': 64, 'gate_low_rank_dim': 128, "
                  "'v_low_rank_dim': 32, 'attn': {'layers': [1]}}",
                  "attention in some layers");
}

/* Of the seventh: four matrices and latents in and out, twice as many entries as there are in 4h; a state of 64 numbers a
 * column. Of the fourth: one matrix more in the network, and a mean a column. */
static void flops_are_those_counted_by_hand(void)
{
    const double h = 768, V = 65536, L = 12, latents = 64 + 64 + 128, value = 32;
    g_autoptr(RhModel) seventh = model_load(SEVENTH(12, 768, 64, 64, 128, 32));
    double matrices = L * (12 * h * h + 2 * h * latents) + (L - 1) * 2 * h * value + h * V;
    RH_CHECK_CLOSE(rh_model_flops_per_token(seventh, 4096), 6 * matrices + 3 * L * 8 * h * 64,
                   1e-12);
    /* The sixth: five matrices, 5 x 32 and 64 columns of latents, an update and a look; of the network three. */
    const double w = 2048, ffn = 7168;
    g_autoptr(RhModel) sixth = model_load(HEADED(6, 24, 2048));
    double of_layer = 5 * w * w + 2 * w * (5 * 32 + 64) + 2 * w * ffn + w * w;
    RH_CHECK_CLOSE(rh_model_flops_per_token(sixth, 4096),
                   6 * (24 * of_layer + w * V) + 3 * 24 * 4 * w * 64, 1e-12);
    g_autoptr(RhModel) fourth = model_load(FOURTH(12, 768));
    RH_CHECK_CLOSE(rh_model_flops_per_token(fourth, 1024),
                   6 * (L * 13 * h * h + h * 50277) + 3 * L * 8 * h, 1e-12);
}

static double scan_flops_of(const RhModel *m, const RhLayerKind *kind, RhPass pass,
                            const RhShard *shard)
{
    g_autoptr(GArray) kernels = g_array_new(FALSE, FALSE, sizeof(RhKernel));
    rh_block_kernels(m, kind, RH_BLOCK_MIXER, RH_PART_TENSOR, pass, shard, kernels);
    double flops = 0;
    for (guint i = 0; i < kernels->len; i++)
        if (g_array_index(kernels, RhKernel, i).cls == RH_KERNEL_SCAN)
            flops += g_array_index(kernels, RhKernel, i).flops;
    return flops;
}

/* Beside the scan, kernels do what the rows count; matrices into latents and the receptance's are every rank's. */
static void kernels_do_the_flops_of_their_rows(void)
{
    static const char *const models[] = {SEVENTH(2, 1024, 64, 64, 128, 32), FOURTH(2, 1024),
                                         HEADED(5, 2, 1024), HEADED(6, 2, 1024)};
    static const double mixers[] = {288 * 1024, 0, 0, (64 + 2 * 5 * 32) * 1024};
    for (int c = 0; c < 16; c++) {
        g_autoptr(RhModel) m = model_load(models[c / 4]);
        const RhLayerKind *kind = &m->kinds[m->kind_of_layer[1]];
        RhBlock block = c % 2 ? RH_BLOCK_FFN : RH_BLOCK_MIXER;
        RhShard shard = {.tp = c / 2 % 2 ? 4 : 1,
                         .sequence = 512,
                         .microbatch = 3,
                         .dtype = RH_DTYPE_BF16,
                         .flash = true};
        RhShard whole = shard;
        whole.tp = 1;
        RhFlops cut = rh_block_flops(m, kind, block, &shard);
        RhFlops all = rh_block_flops(m, kind, block, &whole);
        static const RhPass passes[] = {RH_PASS_FORWARD, RH_PASS_BACKWARD_DATA,
                                        RH_PASS_BACKWARD_WEIGHT};
        for (int p = 0; p < 3; p++) {
            double scan = block == RH_BLOCK_MIXER ? scan_flops_of(m, kind, passes[p], &shard) : 0;
            RH_CHECK_CLOSE(block_flops(m, kind, block, passes[p], &shard) - scan, cut.weights,
                           1e-12);
            CU_ASSERT_TRUE(p == 2 || scan >= cut.pairs);
        }
        double h = 1024, again = c % 2 == 0 ? mixers[c / 4] : c / 4 > 0 ? h * h : 0;
        RH_CHECK_CLOSE(shard.tp * cut.weights, all.weights + (shard.tp - 1) * 2.0 * 3 * 512 * again,
                       1e-14);
        RH_CHECK_CLOSE(shard.tp * cut.pairs, all.pairs, 1e-14);
        RhParams p = rh_block_params(m, kind, block, &whole);
        RhParams q = rh_block_params(m, kind, block, &shard);
        CU_ASSERT_EQUAL(q.sharded * shard.tp, p.sharded);
        CU_ASSERT_EQUAL(q.replicated, p.replicated);
    }
}

/* A token of the seventh: two of the block's norm; six mixed inputs, r, k and v, what latents make (288 and 4h) and what
 * rates make of keys (3h), the scan's output and the last matrix' input. The network: the norm's two, one mixed input, and in
 * and out of the activation. A sequence's state does not grow. */
static void kept_bytes_and_states_are_those_counted_by_hand(void)
{
    g_autoptr(RhModel) m = model_load(SEVENTH(2, 1024, 64, 64, 128, 32));
    const RhLayerKind *kind = &m->kinds[1];
    RhShard shard = shard_of(1, 512, 2);
    const double n = 2 * 512, h = 1024;
    CU_ASSERT_EQUAL(rh_block_activation_bytes(m, kind, RH_BLOCK_MIXER, &shard).kept,
                    n * 2 * (2 * h + 6 * h + 5 * h + 288 + 7 * h));
    CU_ASSERT_EQUAL(rh_block_activation_bytes(m, kind, RH_BLOCK_FFN, &shard).kept,
                    n * 2 * (2 * h + h + 2 * 4 * h));
    RhCacheBytes cache = rh_block_cache_bytes(m, kind, RH_BLOCK_MIXER, &shard);
    CU_ASSERT_EQUAL(cache.token, 0);
    CU_ASSERT_EQUAL(cache.sequence, 4 * 64 * h + 2 * h);
    /* The sixth: six mixed inputs, what five latents of 32 make of them, five matrices' outputs and the scan's, decays and the
     * 64 columns they come from; the gate's product is the last matrix' input. */
    g_autoptr(RhModel) sixth = model_load(HEADED(6, 2, 1024));
    CU_ASSERT_EQUAL(rh_block_activation_bytes(sixth, sixth->kinds, RH_BLOCK_MIXER, &shard).kept,
                    n * 2 * (2 * h + 6 * h + 5 * 32 + 5 * h + 6 * h + 64 + h));
    CU_ASSERT_EQUAL(rh_block_cache_bytes(sixth, sixth->kinds, RH_BLOCK_MIXER, &shard).sequence,
                    4 * 64 * h + 2 * h);
    CU_ASSERT_EQUAL(m->kinds[0].value_rank, 0);
    CU_ASSERT_EQUAL(m->kinds[1].value_rank, 32);
    CU_ASSERT_EQUAL(m->kinds[1].heads, 16); /* and not the file's 32 */
}

int main(void)
{
    return rh_test_main(
        "time_mix",
        (RhTest[]){{"parameters_equal_the_published_counts", parameters_equal_the_published_counts},
                   {"flops_are_those_counted_by_hand", flops_are_those_counted_by_hand},
                   {"kernels_do_the_flops_of_their_rows", kernels_do_the_flops_of_their_rows},
                   {"kept_bytes_and_states_are_those_counted_by_hand",
                    kept_bytes_and_states_are_those_counted_by_hand},
                   {0}});
}
