/* Attention of experts (JetMoE), mLSTM (xLSTM), a selective scan of heads (PLaMo 2): parameters as published, FLOPs, kernels and kept bytes by hand. */
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

#define PLAMO2(layers)                                                                             \
    "{'model_type': 'plamo2', 'num_hidden_layers': " #layers ", 'hidden_size': 4096, "             \
    "'hidden_size_per_head': 128, 'intermediate_size': 16384, 'num_attention_heads': 32, "         \
    "'num_key_value_heads': 4, 'mamba_num_heads': 64, 'mamba_d_state': 64, 'mamba_step': 2, "      \
    "'full_attention_idx': [], 'vocab_size': 100000}"

/* JetMoE-8B's modules by hand (modeling_jetmoe.py; 8.52 G of its weights); xLSTM-7B's 6,865,424,896 (arXiv 2503.13427). */
static void parameters_equal_the_published_counts(void)
{
    const int64_t h = 2048, experts = 8 * 3 * h * 5632, heads = 8 * 2 * h * h, keys = 2 * h * h;
    /* PLaMo 2's, 9.12 G of its weights: in, taps, what tells steps, out, of each head a step's bias, a decay and a skip, norms */
    const int64_t p = 4096, in = 64 * 128, told = 256 + 2 * 64;
    const int64_t plamo_scan = p * 2 * in + 4 * in + in * told + 256 * 64 + in * p + 3 * 64 + told;
    const int64_t plamo_attention = p * (4096 + 2 * 512) + 4096 * p + 2 * 128;
    const ExactCount rows[] = {
        {JETMOE(24), 24 * (experts + heads + keys + 2 * 8 * h + 2 * h + 2 * h) + h + 32000 * h},
        {XLSTM(32), 6865424896},
        {PLAMO2(32),
         16 * (plamo_scan + plamo_attention) + 32 * (3 * p * 16384 + 4 * p) + 100000 * p + p},
    };
    check_exact(rows, G_N_ELEMENTS(rows));
    check_refused("{'model_type': 'jetmoe', 'num_hidden_layers': 2, 'hidden_size': 2048, "
                  "'num_key_value_heads': 16, 'intermediate_size': 5632, 'num_local_experts': 8, "
                  "'num_experts_per_tok': 9, 'vocab_size': 32000}",
                  "num_experts_per_tok 9");
    g_autoptr(RhModel) plamo = model_load(PLAMO2(4));
    for (int32_t i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(plamo->kinds[plamo->kind_of_layer[i]].window_tokens, i % 2 ? 2048 : 256);
    check_refused("{'model_type': 'plamo2', 'num_hidden_layers': 2, 'hidden_size': 4096, "
                  "'intermediate_size': 16384, 'num_attention_heads': 32, 'num_key_value_heads': "
                  "4, 'mamba_num_heads': 64, 'vocab_size': 1000, 'full_attention_idx': [1]}",
                  "full_attention_idx");
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

/* Of PLaMo's scan: beside its steps kernels do what the row counts; steps are Mamba-2's, which it shares. */
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
                   {"a_scan_of_heads_is_told_by_columns", a_scan_of_heads_is_told_by_columns},
                   {"kernels_do_the_flops_of_their_row", kernels_do_the_flops_of_their_row},
                   {"kept_bytes_are_those_counted_by_hand", kept_bytes_are_those_counted_by_hand},
                   {"states_do_not_grow", states_do_not_grow},
                   {0}});
}
