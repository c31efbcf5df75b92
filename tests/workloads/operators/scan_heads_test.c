/* mLSTM (xLSTM) and a selective scan of heads (PLaMo 2): FLOPs, kernels and kept bytes by hand. */
#include <string.h>

#include "tests/kit/model_counts.h"
#include "tests/kit/operators_kit.h"

#define XLSTM(layers)                                                                              \
    "{'model_type': 'xlstm', 'num_hidden_layers': " #layers ", 'hidden_size': 4096, 'num_heads': " \
    "8, 'qk_dim_factor': 0.5, 'ffn_proj_factor': 2.667, 'vocab_size': 50304}"

#define PLAMO2(layers)                                                                             \
    "{'model_type': 'plamo2', 'num_hidden_layers': " #layers ", 'hidden_size': 4096, "             \
    "'hidden_size_per_head': 128, 'intermediate_size': 16384, 'num_attention_heads': 32, "         \
    "'num_key_value_heads': 4, 'mamba_num_heads': 64, 'mamba_d_state': 64, 'mamba_step': 2, "      \
    "'full_attention_idx': [], 'vocab_size': 100000}"

/* PLaMo 2 has attention in a window in the middle of every `mamba_step` layers. */
static void attention_stands_in_the_middle_of_a_turn(void)
{
    g_autoptr(RhModel) plamo = model_load(PLAMO2(4));
    for (int32_t i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(plamo->kinds[plamo->kind_of_layer[i]].window_tokens, i % 2 ? 2048 : 256);
    check_refused("{'model_type': 'plamo2', 'num_hidden_layers': 2, 'hidden_size': 4096, "
                  "'intermediate_size': 16384, 'num_attention_heads': 32, 'num_key_value_heads': "
                  "4, 'mamba_num_heads': 64, 'vocab_size': 1000, 'full_attention_idx': [1]}",
                  "full_attention_idx");
}

/* PLaMo's scan does the FLOPs that its row counts beside its steps, which are Mamba-2's. */
static void a_scan_of_heads_is_told_by_columns(void)
{
    const double n = 2 * 512, h = 4096, in = 64 * 128, told = 256 + 2 * 64;
    g_autoptr(RhModel) m = model_load(PLAMO2(2));
    RhShard shard = shard_of(1, 512, 2);
    RhFlops f = rh_block_flops(m, &m->kinds[0], RH_BLOCK_MIXER, &shard);
    CU_ASSERT_EQUAL(f.weights, 2 * n * (3 * h * in + in * told + 256 * 64 + 4 * in));
    CU_ASSERT_EQUAL(f.pairs, n * 4 * in * 64);
    static const RhPass passes[] = {RH_PASS_FORWARD, RH_PASS_BACKWARD_DATA,
                                    RH_PASS_BACKWARD_WEIGHT};
    for (int p = 0; p < 3; p++) {
        g_autoptr(GArray) kernels =
            block_kernels(m, &m->kinds[0], RH_BLOCK_MIXER, passes[p], &shard);
        double weights = 0, scan = 0;
        for (guint i = 0; i < kernels->len; i++) {
            const RhKernel *k = &g_array_index(kernels, RhKernel, i);
            *(k->cls == RH_KERNEL_SCAN ? &scan : &weights) += k->flops;
        }
        double again = p == 1 ? 2 * n * (256 * 64 + 4 * in) : 0; /* taps and lengths, made again */
        RH_CHECK_CLOSE(weights, f.weights + again, 1e-12);
        double forward = n * (4 * in * 64 + 2 * 256 * (64 + in));
        RH_CHECK_CLOSE(scan,
                       p == 0   ? forward
                       : p == 1 ? 2 * forward + n * (2 * in * 64 + 2 * 256 * 64)
                                : 0,
                       1e-12);
    }
}

/* xLSTM's scan keeps the state of a sequence in fp32, and nothing that grows. */
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
    return rh_test_main("scan_heads", (RhTest[]){{"attention_stands_in_the_middle_of_a_turn",
                                                  attention_stands_in_the_middle_of_a_turn},
                                                 {"a_scan_of_heads_is_told_by_columns",
                                                  a_scan_of_heads_is_told_by_columns},
                                                 {"states_do_not_grow", states_do_not_grow},
                                                 {0}});
}
