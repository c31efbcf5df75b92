/* Mamba's first scan, a scan beside attention, and Kimi's delta rule. FLOPs and parameters against counts made here by hand,
 * and against the two operators apart. */
#include "tests/kit/operators_kit.h"

/* Mamba-2.8b's and Jamba's. */
#define SELECTIVE                                                                                  \
    "{'model_type': 'mamba', 'num_hidden_layers': 2, 'hidden_size': 2560, 'state_size': 16, "      \
    "'expand': 2, 'time_step_rank': 160, 'vocab_size': 1024}"
#define JAMBA                                                                                      \
    "{'model_type': 'jamba', 'num_hidden_layers': 16, 'hidden_size': 4096, "                       \
    "'num_attention_heads': 32, 'num_key_value_heads': 8, 'intermediate_size': 14336, "            \
    "'num_experts': 16, 'num_experts_per_tok': 2, 'mamba_dt_rank': 256, 'vocab_size': 1024}"
/* Sizes of an attention and a scan, in a layer of their own each and side by side. */
#define SIZES                                                                                      \
    "'hidden_size': 2688, 'num_attention_heads': 32, 'num_key_value_heads': 2, 'head_dim': 128, "  \
    "'intermediate_size': 1856, 'vocab_size': 1024, 'mamba_d_state': 128, 'mamba_d_conv': 4, "     \
    "'mamba_chunk_size': 128, 'mamba_n_groups': 8, 'mamba_n_heads': 64, 'mamba_d_head': 64"
#define APART                                                                                      \
    "{'model_type': 'bamba', 'num_hidden_layers': 2, 'attn_layer_indices': [1], " SIZES "}"
#define BESIDE "{'model_type': 'falcon_h1', 'num_hidden_layers': 2, " SIZES "}"

/* Kimi-Linear-48B-A3B's; the third and the last layer attend. */
#define KIMI                                                                                       \
    "{'model_type': 'kimi_linear', 'num_hidden_layers': 4, 'hidden_size': 2304, "                  \
    "'num_attention_heads': 32, 'intermediate_size': 9216, 'vocab_size': 1024, 'kv_lora_rank': "   \
    "512, 'qk_nope_head_dim': 128, 'qk_rope_head_dim': 64, 'v_head_dim': 128, 'num_experts': 8, "  \
    "'num_experts_per_token': 2, 'moe_intermediate_size': 1024, 'first_k_dense_replace': 1, "      \
    "'linear_attn_config': {'num_heads': 32, 'head_dim': 128, 'full_attn_layers': [3, 4]}}"

/* Kimi K3's, of two layers: a gate from the hidden state, a scaled output, experts in a latent. */
#define K3                                                                                         \
    "{'model_type': 'kimi_linear', 'num_hidden_layers': 2, 'hidden_size': 7168, "                  \
    "'num_attention_heads': 96, 'intermediate_size': 33792, 'vocab_size': 1024, 'kv_lora_rank': "  \
    "512, 'q_lora_rank': 1536, 'qk_nope_head_dim': 128, 'qk_rope_head_dim': 64, 'v_head_dim': "    \
    "128, 'num_experts': 896, 'num_experts_per_token': 16, 'moe_intermediate_size': 3072, "        \
    "'num_shared_experts': 2, 'routed_expert_hidden_size': 3584, 'latent_moe_use_norm': true, "    \
    "'mla_use_output_gate': true, 'linear_attn_config': {'num_heads': 96, 'head_dim': 128, "       \
    "'use_full_rank_gate': true, 'full_attn_layers': [2]}}"

static const double N = 2048, H = 2560, D = 5120, R = 160, S = 16;

static RhShard eager_of(RhShard shard)
{
    shard.fused_norms = shard.fused_softmax = shard.fused_elementwise = false;
    return shard;
}

/* Values and a gate in, R and B and C, the steps' lengths, out; four taps and a bias, decays, a skip and a
 * step's bias of each channel; the block's norm. */
static void a_selective_scan_has_these_figures(void)
{
    g_autoptr(RhModel) m = load(SELECTIVE);
    RhShard one = shard_of(1, 2048, 1), eager = eager_of(one);
    double entries = 2 * H * D + D * (R + 2 * S) + R * D + D * H;
    RhParams p = rh_block_params(m, &m->kinds[0], RH_BLOCK_MIXER, &one);
    CU_ASSERT_EQUAL(p.sharded + p.replicated, entries + 5 * D + D * S + 2 * D + H);
    double weights = 2 * N * (entries + 4 * D), recurrence = N * 4 * D * S;
    RhFlops f = rh_block_flops(m, &m->kinds[0], RH_BLOCK_MIXER, &one);
    CU_ASSERT_EQUAL(f.weights, weights);
    CU_ASSERT_EQUAL(f.pairs, recurrence);
    CU_ASSERT_EQUAL(flops_of(m, 0, RH_PASS_FORWARD, &one), weights + recurrence);
    CU_ASSERT_EQUAL(flops_of(m, 0, RH_PASS_BACKWARD_WEIGHT, &one), weights);
    CU_ASSERT_EQUAL(flops_of(m, 0, RH_PASS_BACKWARD_DATA, &eager), weights + 3 * recurrence);
    /* fused: the convolution and the lengths again */
    CU_ASSERT_EQUAL(flops_of(m, 0, RH_PASS_BACKWARD_DATA, &one),
                    weights + 3 * recurrence + 2 * N * (4 * D + R * D));
}

/* Block's input and normed input; values, gate, what steps are told by, output, a state each 2,048 tokens.
 * Eager: the convolution's output and the lengths, and an fp32 copy of the block's norm. */
static void a_selective_scan_keeps_three_tensors(void)
{
    g_autoptr(RhModel) m = load(SELECTIVE);
    RhShard fused = shard_of(1, 2048, 1), eager = eager_of(fused);
    RhActivation a = rh_block_activation_bytes(m, &m->kinds[0], RH_BLOCK_MIXER, &fused);
    RhActivation b = rh_block_activation_bytes(m, &m->kinds[0], RH_BLOCK_MIXER, &eager);
    CU_ASSERT_EQUAL(a.kept, N * 2 * (2 * H + 3 * D + R + 2 * S) + 4 * D * S);
    CU_ASSERT_EQUAL(b.kept - a.kept, N * (2 * 2 * D + 8 * H));
}

/* Kimi delta attention of 32 heads of 128 columns has these figures: queries, keys, values, a rate
 * a head, two latents of 128, out; from latents decays and a gate. */
static void kimi_delta_attention_has_these_figures(void)
{
    const double h = 2304, k = 4096;
    g_autoptr(RhModel) m = load(KIMI);
    for (int32_t i = 0; i < m->layers_count; i++)
        CU_ASSERT_EQUAL(m->kinds[m->kind_of_layer[i]].mixer == &rh_latent_attention, i >= 2);
    RhShard one = shard_of(1, 2048, 1), two = shard_of(2, 2048, 1);
    double entries = h * (3 * k + 32 + 256) + k * h, inner = 128 * 2 * k;
    RhParams p = rh_block_params(m, &m->kinds[0], RH_BLOCK_MIXER, &one);
    RhParams q = rh_block_params(m, &m->kinds[0], RH_BLOCK_MIXER, &two);
    CU_ASSERT_EQUAL(p.sharded + p.replicated,
                    entries + inner + 4 * 3 * k + 32 + k + 128 + h); /* taps, decays, norms */
    CU_ASSERT_EQUAL(2 * q.sharded, p.sharded);
    CU_ASSERT_EQUAL(q.replicated, p.replicated);
    double weights = 2 * N * (entries + inner + 4 * 3 * k), recurrence = N * 6 * k * 128;
    RhFlops f = rh_block_flops(m, &m->kinds[0], RH_BLOCK_MIXER, &one);
    CU_ASSERT_EQUAL(f.weights, weights);
    CU_ASSERT_EQUAL(f.pairs, recurrence);
    CU_ASSERT_TRUE(flops_of(m, 0, RH_PASS_FORWARD, &one) > weights + recurrence);
    CU_ASSERT_EQUAL(flops_of(m, 0, RH_PASS_BACKWARD_WEIGHT, &one), weights);
}

/* Channels are cut; what tells a step is made whole on every rank. */
static void cutting_conserves_channels(void)
{
    g_autoptr(RhModel) m = load(SELECTIVE);
    RhShard one = shard_of(1, 2048, 1);
    RhParams p = rh_block_params(m, &m->kinds[0], RH_BLOCK_MIXER, &one);
    for (int32_t tp = 2; tp <= 8; tp *= 2) {
        RhShard cut = shard_of(tp, 2048, 1);
        RhParams q = rh_block_params(m, &m->kinds[0], RH_BLOCK_MIXER, &cut);
        RH_CHECK_CLOSE(q.sharded * tp, p.sharded, 1e-14);
        CU_ASSERT_EQUAL(q.replicated, p.replicated);
        for (RhPass pass = RH_PASS_FORWARD; pass <= RH_PASS_BACKWARD_WEIGHT; pass++)
            RH_CHECK_CLOSE(flops_of(m, 0, pass, &cut) * tp, flops_of(m, 0, pass, &one), 1e-14);
    }
}

/* The fifth of eight layers attends, every second from the second on has experts. */
static void jamba_counts_from_an_offset(void)
{
    g_autoptr(RhModel) m = load(JAMBA);
    for (int32_t i = 0; i < m->layers_count; i++) {
        const RhLayerKind *k = &m->kinds[m->kind_of_layer[i]];
        CU_ASSERT_EQUAL(k->mixer == &rh_attention, i % 8 == 4);
        CU_ASSERT_EQUAL(k->mixer == &rh_selective_scan, i % 8 != 4);
        CU_ASSERT_EQUAL(k->experts > 0, i % 2 == 1);
    }
    CU_ASSERT_EQUAL(rh_model_attention_kind(m)->kv_heads, 8);
}

/* Side by side: the sum of both, with one norm before them and not two. */
static void side_by_side_is_both(void)
{
    g_autoptr(RhModel) apart = load(APART);
    g_autoptr(RhModel) beside = load(BESIDE);
    CU_ASSERT_EQUAL(beside->kinds_count, 1);
    CU_ASSERT_EQUAL(rh_model_attention_kind(beside)->kv_heads, 2);
    for (int32_t tp = 1; tp <= 2; tp *= 2) {
        RhShard shard = shard_of(tp, 4096, 1);
        RhParams a = rh_block_params(apart, &apart->kinds[0], RH_BLOCK_MIXER, &shard);
        RhParams b = rh_block_params(apart, &apart->kinds[1], RH_BLOCK_MIXER, &shard);
        RhParams both = rh_block_params(beside, &beside->kinds[0], RH_BLOCK_MIXER, &shard);
        CU_ASSERT_EQUAL(both.sharded, a.sharded + b.sharded);
        CU_ASSERT_EQUAL(both.replicated, a.replicated + b.replicated - 2688);
        for (RhPass pass = RH_PASS_FORWARD; pass <= RH_PASS_BACKWARD_WEIGHT; pass++)
            RH_CHECK_CLOSE(flops_of(beside, 0, pass, &shard),
                           flops_of(apart, 0, pass, &shard) + flops_of(apart, 1, pass, &shard),
                           1e-14);
        RhActivation x = rh_block_activation_bytes(apart, &apart->kinds[0], RH_BLOCK_MIXER, &shard);
        RhActivation y = rh_block_activation_bytes(apart, &apart->kinds[1], RH_BLOCK_MIXER, &shard);
        RhActivation z =
            rh_block_activation_bytes(beside, &beside->kinds[0], RH_BLOCK_MIXER, &shard);
        double block = 2 * 2 * 4096 * 2688.0; /* a block's input and its norm's output */
        RH_CHECK_CLOSE(z.kept, x.kept + y.kept - block, 1e-14);
    }
    RhShard decode = shard_of(1, 1000, 4);
    RhCacheBytes s = rh_block_cache_bytes(apart, &apart->kinds[0], RH_BLOCK_MIXER, &decode);
    RhCacheBytes t = rh_block_cache_bytes(apart, &apart->kinds[1], RH_BLOCK_MIXER, &decode);
    RhCacheBytes u = rh_block_cache_bytes(beside, &beside->kinds[0], RH_BLOCK_MIXER, &decode);
    CU_ASSERT_TRUE(s.sequence > 0 && t.token > 0);
    CU_ASSERT_EQUAL(u.token, s.token + t.token);
    CU_ASSERT_EQUAL(u.sequence, s.sequence + t.sequence);
}

static void kimi_k3_gates_by_matrices(void)
{
    const double h = 7168, k = 96 * 128, latent = 3584, f = 3072;
    g_autoptr(RhModel) m = load(K3);
    RhShard one = shard_of(1, 2048, 1), two = shard_of(2, 2048, 1);
    double delta = h * (4 * k + 96 + 128) + 128 * k + k * h, taps = 4 * 3 * k;
    double attention = h * (1536 + 512 + 64) + 1536 * 96.0 * 192 + 512 * 96.0 * 256 + 2 * k * h;
    double experts = 896 * 3 * latent * f, beside = h * 896 + 2 * h * latent + 3 * h * 2 * f;
    double pairs = 96 * 2 * (192 + 128) * N * N / 2;
    const struct {
        int kind;
        RhBlock block;
        double params, weights, pairs;
    } rows[] = {
        {0, RH_BLOCK_MIXER, delta + taps + 96 + k + 128 + h, delta + taps, N * 6 * k * 128},
        {1, RH_BLOCK_MIXER, attention + 512 + 1536 + h, attention, pairs},
        {0, RH_BLOCK_FFN, experts + beside + 896 + latent + h, beside + experts / 896 * 16, 0},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        const RhLayerKind *kind = &m->kinds[rows[i].kind];
        RhParams p = rh_block_params(m, kind, rows[i].block, &one);
        RhParams q = rh_block_params(m, kind, rows[i].block, &two);
        RhFlops needed = rh_block_flops(m, kind, rows[i].block, &one);
        CU_ASSERT_EQUAL(p.sharded + p.replicated + p.experts, rows[i].params);
        CU_ASSERT_EQUAL(2 * q.sharded, p.sharded);
        CU_ASSERT_EQUAL(needed.weights, 2 * N * rows[i].weights);
        RH_CHECK_CLOSE(needed.pairs, rows[i].pairs, 1e-14);
    }
    CU_ASSERT_EQUAL(flops_of(m, 0, RH_PASS_BACKWARD_WEIGHT, &one), 2 * N * (delta + taps));
    CU_ASSERT_EQUAL(flops_of(m, 1, RH_PASS_BACKWARD_WEIGHT, &one), 2 * N * attention);
    CU_ASSERT_EQUAL(flops_of(m, 1, RH_PASS_FORWARD, &one), 2 * N * attention + pairs);
}

int main(void)
{
    return rh_test_main(
        "selective_scan",
        (RhTest[]){
            {"a_selective_scan_has_these_figures", a_selective_scan_has_these_figures},
            {"a_selective_scan_keeps_three_tensors", a_selective_scan_keeps_three_tensors},
            {"kimi_delta_attention_has_these_figures", kimi_delta_attention_has_these_figures},
            {"kimi_k3_gates_by_matrices", kimi_k3_gates_by_matrices},
            {"cutting_conserves_channels", cutting_conserves_channels},
            {"jamba_counts_from_an_offset", jamba_counts_from_an_offset},
            {"side_by_side_is_both", side_by_side_is_both},
            {0}});
}
