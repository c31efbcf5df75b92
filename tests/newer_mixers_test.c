/* Attention of experts (JetMoE), mLSTM (xLSTM): parameters as published, FLOPs, kernels and kept bytes by hand. */
#include <string.h>

#include "tests/model_counts.h"
#include "tests/operators_kit.h"

#define JETMOE(layers)                                                                             \
    "{'model_type': 'jetmoe', 'num_hidden_layers': " #layers ", 'hidden_size': 2048, "             \
    "'num_key_value_heads': 16, 'kv_channels': 128, 'ffn_hidden_size': 5632, 'moe_num_experts': "  \
    "8, 'moe_top_k': 2, 'vocab_size': 32000}"
#define XLSTM(layers)                                                                              \
    "{'model_type': 'xlstm', 'num_hidden_layers': " #layers ", 'hidden_size': 4096, 'num_heads': " \
    "8, 'qk_dim_factor': 0.5, 'ffn_proj_factor': 2.667, 'vocab_size': 50304}"

/* JetMoE-8B's modules by hand (modeling_jetmoe.py; 8.52 G of its weights); xLSTM-7B's 6,865,424,896 (arXiv 2503.13427). */
static void parameters_equal_the_published_counts(void)
{
    const int64_t h = 2048, experts = 8 * 3 * h * 5632, heads = 8 * 2 * h * h, keys = 2 * h * h;
    const ExactCount rows[] = {
        {JETMOE(24), 24 * (experts + heads + keys + 2 * 8 * h + 2 * h + 2 * h) + h + 32000 * h},
        {XLSTM(32), 6865424896},
    };
    check_exact(rows, G_N_ELEMENTS(rows));
    check_refused("{'model_type': 'jetmoe', 'num_hidden_layers': 2, 'hidden_size': 2048, "
                  "'num_key_value_heads': 16, 'intermediate_size': 5632, 'num_local_experts': 8, "
                  "'num_experts_per_tok': 9, 'vocab_size': 32000}",
                  "num_experts_per_tok 9");
}

/* A token of JetMoE: keys and values, two routers, two experts of queries and outputs, two networks, 32 heads over half of the
 * square. Of xLSTM: keys and queries half as wide as values, gate and output, two gates a head, an update of 256 by 512 and a
 * look at it. */
static void flops_are_those_counted_by_hand(void)
{
    const double s = 4096, h = 2048;
    g_autoptr(RhModel) jetmoe = model_load(JETMOE(24));
    double matrices = 2 * h * h + 2 * 8 * h + 2 * 2 * h * h + 2 * 3 * h * 5632;
    double pairs = 4 * 32 * 128 * s / 2;
    RH_CHECK_CLOSE(rh_model_flops_per_token(jetmoe, 4096),
                   24 * (6 * matrices + 3 * pairs) + 6 * 32000 * h, 1e-12);
    const double w = 4096;
    g_autoptr(RhModel) xlstm = model_load(XLSTM(32));
    double layer = w * (w + 3 * w + 16) + 3 * w * 10944;
    RH_CHECK_CLOSE(rh_model_flops_per_token(xlstm, 4096),
                   32 * (6 * layer + 3 * 4 * 8 * 256 * 512) + 6 * 50304 * w, 1e-12);
}

/* However heads are cut: kernels do what the row counts; routers are every rank's. */
static void kernels_do_the_flops_of_their_row(void)
{
    g_autoptr(RhModel) m = model_load(JETMOE(2));
    RhShard whole = shard_of(1, 1024, 2);
    RhFlops all = rh_block_flops(m, &m->kinds[0], RH_BLOCK_MIXER, &whole);
    for (int32_t tp = 1; tp <= 4; tp *= 4) {
        RhShard shard = shard_of(tp, 1024, 2);
        shard.ep = tp; /* spreads the networks alone */
        RhFlops f = rh_block_flops(m, &m->kinds[0], RH_BLOCK_MIXER, &shard);
        RH_CHECK_CLOSE(sum_of(m, RH_BLOCK_MIXER, RH_PASS_FORWARD, &shard).flops,
                       f.weights + f.pairs, 1e-14);
        RH_CHECK_CLOSE(sum_of(m, RH_BLOCK_MIXER, RH_PASS_BACKWARD_DATA, &shard).flops,
                       f.weights + 2.5 * f.pairs, 1e-14);
        RH_CHECK_CLOSE(sum_of(m, RH_BLOCK_MIXER, RH_PASS_BACKWARD_WEIGHT, &shard).flops, f.weights,
                       1e-14);
        RH_CHECK_CLOSE(tp * (f.weights + f.pairs),
                       all.weights + all.pairs + (tp - 1) * 2.0 * 2048 * 8 * 2048, 1e-14);
        RhParams p = rh_block_params(m, &m->kinds[0], RH_BLOCK_MIXER, &shard);
        CU_ASSERT_EQUAL(tp * p.sharded, (2 * 8 + 2) * 2048.0 * 2048);
        CU_ASSERT_EQUAL(p.replicated, 2048.0 * (8 + 2) + 2048);
        CU_ASSERT_EQUAL(p.experts, 0);
    }
}

/* Of a token of JetMoE: the norm's two, probabilities in fp32, two copies of it, keys and values, two of queries, the output in
 * either order; a number a head of fused attention. In the cache keys and values. */
static void kept_bytes_are_those_counted_by_hand(void)
{
    g_autoptr(RhModel) m = model_load(JETMOE(2));
    RhShard shard = shard_of(1, 512, 2);
    const double n = 2 * 512, h = 2048;
    CU_ASSERT_EQUAL(rh_block_activation_bytes(m, &m->kinds[0], RH_BLOCK_MIXER, &shard).kept,
                    n * (2 * 2 * h + 4 * 8 + 2 * 2 * h + 2 * 2 * h + 2 * 2 * 3 * h + 4 * 32));
    CU_ASSERT_EQUAL(rh_block_cache_bytes(m, &m->kinds[0], RH_BLOCK_MIXER, &shard).token, 2 * 2 * h);
}

/* Of xLSTM's scan: the state of a sequence in fp32, and nothing that grows. */
static void states_do_not_grow(void)
{
    g_autoptr(RhModel) m = model_load(XLSTM(2));
    RhShard shard = shard_of(1, 512, 2), two = shard_of(2, 512, 2);
    RhCacheBytes cache = rh_block_cache_bytes(m, &m->kinds[0], RH_BLOCK_MIXER, &shard);
    CU_ASSERT_EQUAL(cache.token, 0);
    CU_ASSERT_EQUAL(cache.sequence, 4.0 * 8 * 256 * 512);
    RhParams p = rh_block_params(m, &m->kinds[0], RH_BLOCK_MIXER, &shard),
             q = rh_block_params(m, &m->kinds[0], RH_BLOCK_MIXER, &two);
    CU_ASSERT_EQUAL(2 * q.sharded, p.sharded);
    /* three matrices of h and two of h/2 columns, gates of heads with a bias each, the norm's scales */
    CU_ASSERT_EQUAL(p.sharded, 4.0 * 4096 * 4096 + 16 * 4096 + 16 + 4096);
}

int main(void)
{
    return rh_test_main(
        "newer_mixers",
        (RhTest[]){{"parameters_equal_the_published_counts", parameters_equal_the_published_counts},
                   {"flops_are_those_counted_by_hand", flops_are_those_counted_by_hand},
                   {"kernels_do_the_flops_of_their_row", kernels_do_the_flops_of_their_row},
                   {"kept_bytes_are_those_counted_by_hand", kept_bytes_are_those_counted_by_hand},
                   {"states_do_not_grow", states_do_not_grow},
                   {0}});
}
