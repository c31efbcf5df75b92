/* Mixers that are not attention over all keys: scans, sparse and compressed attention, attention both
 * ways. FLOPs and parameters against counts made here by hand. */
#include <math.h>
#include <string.h>

#include "tests/kit/operators_kit.h"

#define SIZES(type, hidden, heads, kv, ffn)                                                        \
    "'model_type': '" type "', 'num_hidden_layers': 2, 'hidden_size': " #hidden                    \
    ", 'num_attention_heads': " #heads ", 'num_key_value_heads': " #kv                             \
    ", 'intermediate_size': " #ffn ", 'vocab_size': 1024"
/* Nemotron-3-Nano's and Qwen3.5-27B's. */
#define MAMBA                                                                                      \
    "{" SIZES("nemotron_h", 2688, 32, 2,                                                           \
              1856) ", 'mamba_num_heads': 64, 'mamba_head_dim': 64, "                              \
                    "'n_groups': 8, 'ssm_state_size': 128, 'conv_kernel': 4, 'chunk_size': 128, "  \
                    "'hybrid_override_pattern': 'M-'}"
#define HYBRID                                                                                     \
    "{'model_type': 'nemotron_h', 'num_hidden_layers': 3, 'hidden_size': 2688, "                   \
    "'num_attention_heads': 32, 'num_key_value_heads': 2, 'intermediate_size': 1856, "             \
    "'vocab_size': 1024, 'mamba_num_heads': 64, 'mamba_head_dim': 64, 'n_groups': 8, "             \
    "'ssm_state_size': 128, 'conv_kernel': 4, 'chunk_size': 128, "                                 \
    "'hybrid_override_pattern': 'M*-'}"
#define DELTA                                                                                           \
    "{" SIZES(                                                                                          \
        "qwen3_5_text", 5120, 24, 4,                                                                    \
        17408) ", 'linear_num_value_heads': 48, "                                                       \
               "'linear_value_head_dim': 128, 'linear_num_key_heads': 16, 'linear_key_head_dim': 128, " \
               "'linear_conv_kernel_dim': 4}"
/* DeepSeek-V3.2's, and V4-Pro's: a heavily compressed layer, then one with an indexer. */
#define SPARSE                                                                                             \
    "{" SIZES(                                                                                             \
        "deepseek_v32", 7168, 128, 128,                                                                    \
        18432) ", 'q_lora_rank': 1536, 'kv_lora_rank': 512, "                                              \
               "'qk_nope_head_dim': 128, 'qk_rope_head_dim': 64, 'v_head_dim': 128, 'index_n_heads': 64, " \
               "'index_head_dim': 128, 'index_topk': 2048, 'n_routed_experts': null, "                     \
               "'num_experts_per_tok': null, 'moe_intermediate_size': null}"
#define COMPRESSED                                                                                           \
    "{" SIZES(                                                                                               \
        "deepseek_v4", 7168, 128, 1,                                                                         \
        3072) ", 'moe_intermediate_size': 3072, "                                                            \
              "'head_dim': 512, 'q_lora_rank': 1536, 'o_lora_rank': 1024, 'o_groups': 16, "                  \
              "'sliding_window': 128, 'compress_ratios': [128, 4], 'index_n_heads': 64, "                    \
              "'index_head_dim': 128, 'index_topk': 1024, 'n_routed_experts': 8, 'num_experts_per_tok': 2, " \
              "'hc_mult': 4}"
/* MiniMax-M1's and LFM2-1.2B's. */
#define LIGHTNING                                                                                  \
    "{" SIZES("minimax_m1", 6144, 64, 8,                                                           \
              9216) ", 'head_dim': 128, 'num_local_experts': 32, 'num_experts_per_tok': 2}"
#define SHORT   "{" SIZES("lfm2", 2048, 32, 8, 12288) ", 'layer_types': ['conv', 'full_attention']}"
#define ENCODER "{" SIZES("bert", 768, 12, 12, 3072) "}"

static double scan_bytes_of(const RhModel *m, RhPass pass, const RhShard *shard)
{
    g_autoptr(GArray) kernels = block_kernels(m, &m->kinds[0], RH_BLOCK_MIXER, pass, shard);
    double bytes = 0;
    for (guint i = 0; i < kernels->len; i++)
        if (g_array_index(kernels, RhKernel, i).cls == RH_KERNEL_SCAN)
            bytes += g_array_index(kernels, RhKernel, i).bytes;
    return bytes;
}

static RhParams params_of(const RhModel *m, int32_t tp)
{
    RhShard shard = {.tp = tp};
    return rh_block_params(m, &m->kinds[0], RH_BLOCK_MIXER, &shard);
}

/* --- Scans --- */

/* FLOPs that a scan needs and that its chunked form does; by hand, of n tokens. */
typedef struct {
    const char *config;
    double weights, recurrence, forward,
        again; /* of the scan: chunks forward, made again backward */
    double convolution;
    double state_entries;
} ScanRow;

/* FLOPs of 2048 tokens. Mamba-2: values, gate, B, C and a step into, values out of it; four taps
 * on values, B and C. An update and a look at a state of 64 x 128 for each of 64 heads. Chunks
 * of 128: scores of 8 groups, times values. DeltaNet: chunks of 64, queries and keys repeated
 * for 48 heads. */
static const double N = 2048;
static ScanRow mamba_row(void)
{
    double state = 64 * 64 * 128.0, scores = 2 * 128 * (8 * 128.0), values = 64 * 64;
    double convolution = 2 * N * 4 * (4096 + 2 * 1024.0);
    return (ScanRow){MAMBA,
                     2 * N * 2688 * (2 * 4096 + 2 * 1024 + 64.0) + 2 * N * 4096 * 2688 +
                         convolution,
                     N * 4 * state,
                     N * (4 * state + scores + 2 * 128 * values),
                     N * (2 * state + scores),
                     convolution,
                     state};
}

static ScanRow delta_row(void)
{
    double state = 48 * 128 * 128.0, k = 48 * 128, v = 48 * 128;
    double convolution = 2 * N * 4 * (2 * 2048 + 6144.0);
    double keys_by_keys = 2 * 64 * k, inverse = 2 * 64 * 64.0 * 48 / 3, w = 2 * 64 * k;
    double u = 2 * 64 * v, scores = 2 * 64 * k, outputs = 2 * 64 * v;
    return (ScanRow){
        DELTA,
        2 * N * 5120 * (2 * 2048 + 2 * 6144 + 2 * 48.0) + 2 * N * 6144 * 5120 + convolution,
        N * 6 * state,
        N * (keys_by_keys + inverse + w + u + 4 * state + scores + outputs + 2 * state),
        N * (w + u + 4 * state),
        convolution,
        state};
}

static void scans_do_the_flops_of_their_chunked_form(void)
{
    const ScanRow rows[] = {mamba_row(), delta_row()};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        const ScanRow *r = &rows[i];
        g_autoptr(RhModel) m = load(r->config);
        RhShard shard = shard_of(1, 2048, 1), eager = shard;
        eager.fused_norms = eager.fused_softmax = eager.fused_elementwise = false;
        RhFlops f = rh_block_flops(m, &m->kinds[0], RH_BLOCK_MIXER, &shard);
        RH_CHECK_CLOSE(f.weights, r->weights, 1e-14);
        RH_CHECK_CLOSE(f.pairs, r->recurrence, 1e-14);
        CU_ASSERT_TRUE(r->forward > r->recurrence); /* chunks do more, to do it in products */
        RH_CHECK_CLOSE(flops_of(m, 0, RH_PASS_FORWARD, &shard), r->weights + r->forward, 1e-14);
        RH_CHECK_CLOSE(flops_of(m, 0, RH_PASS_BACKWARD_WEIGHT, &shard), r->weights, 1e-14);
        RH_CHECK_CLOSE(flops_of(m, 0, RH_PASS_BACKWARD_DATA, &eager),
                       r->weights + 2 * r->forward + r->again, 1e-14);
        CU_ASSERT_EQUAL(flops_of(m, 0, RH_PASS_RECOMPUTE_SELECTIVE, &shard), 0);
    }
    /* A fused Mamba makes what the convolution makes again. */
    ScanRow r = mamba_row();
    g_autoptr(RhModel) m = load(MAMBA);
    RhShard shard = shard_of(1, 2048, 1);
    RH_CHECK_CLOSE(flops_of(m, 0, RH_PASS_BACKWARD_DATA, &shard),
                   r.weights + 2 * r.forward + r.again + r.convolution, 1e-14);
}

/* Twice the tokens, twice the work: nothing is quadratic. */
static void scans_are_linear_in_the_sequence(void)
{
    static const char *const configs[] = {MAMBA, DELTA, LIGHTNING, SHORT};
    for (size_t i = 0; i < G_N_ELEMENTS(configs); i++) {
        g_autoptr(RhModel) m = load(configs[i]);
        RhShard one = shard_of(1, 4096, 1), two = shard_of(1, 8192, 1);
        for (RhPass pass = RH_PASS_FORWARD; pass <= RH_PASS_BACKWARD_WEIGHT; pass++)
            RH_CHECK_CLOSE(flops_of(m, 0, pass, &two), 2 * flops_of(m, 0, pass, &one), 1e-12);
        RH_CHECK_CLOSE(scan_bytes_of(m, RH_PASS_FORWARD, &two),
                       2 * scan_bytes_of(m, RH_PASS_FORWARD, &one), 1e-12);
        RhActivation a = rh_block_activation_bytes(m, &m->kinds[0], RH_BLOCK_MIXER, &one);
        RhActivation b = rh_block_activation_bytes(m, &m->kinds[0], RH_BLOCK_MIXER, &two);
        RH_CHECK_CLOSE(b.kept, 2 * a.kept, 1e-14);
    }
}

static void cutting_conserves_scans(void)
{
    static const char *const configs[] = {MAMBA, DELTA, LIGHTNING, SHORT};
    for (size_t i = 0; i < G_N_ELEMENTS(configs); i++) {
        g_autoptr(RhModel) m = load(configs[i]);
        RhShard one = shard_of(1, 2048, 1);
        RhParams p = params_of(m, 1);
        RhFlops f = rh_block_flops(m, &m->kinds[0], RH_BLOCK_MIXER, &one);
        for (int32_t tp = 2; tp <= 8; tp *= 2) {
            RhShard cut = shard_of(tp, 2048, 1);
            RhParams q = params_of(m, tp);
            RhFlops g = rh_block_flops(m, &m->kinds[0], RH_BLOCK_MIXER, &cut);
            RH_CHECK_CLOSE(q.sharded * tp, p.sharded, 1e-14);
            CU_ASSERT_EQUAL(q.replicated, p.replicated);
            RH_CHECK_CLOSE(g.weights * tp, f.weights, 1e-14);
            RH_CHECK_CLOSE(g.pairs * tp, f.pairs, 1e-14);
            RH_CHECK_CLOSE(flops_of(m, 0, RH_PASS_FORWARD, &cut) * tp,
                           flops_of(m, 0, RH_PASS_FORWARD, &one), 1e-14);
        }
    }
}

/* A token of each sequence: its matrices, and the state in fp32, read and written, however long the
 * sequence was. */
static void decoding_a_scan_reads_its_state(void)
{
    const ScanRow rows[] = {mamba_row(), delta_row()};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(RhModel) m = load(rows[i].config);
        RhShard near = shard_of(1, 100, 16), far = shard_of(1, 100000, 16);
        double states = 16 * 2 * 4 * rows[i].state_entries;
        double bytes = scan_bytes_of(m, RH_PASS_DECODE, &far);
        CU_ASSERT_TRUE(bytes > states && bytes < 1.1 * states);
        CU_ASSERT_EQUAL(bytes, scan_bytes_of(m, RH_PASS_DECODE, &near));
        RH_CHECK_CLOSE(flops_of(m, 0, RH_PASS_DECODE, &far),
                       16 * (rows[i].weights + rows[i].recurrence) / N, 1e-14);
    }
}

static int gemms_of(const RhModel *m, RhPass pass, const RhShard *shard, double *columns)
{
    g_autoptr(GArray) kernels = block_kernels(m, &m->kinds[0], RH_BLOCK_MIXER, pass, shard);
    int count = 0;
    *columns = 0;
    for (guint i = 0; i < kernels->len; i++) {
        const RhKernel *kernel = &g_array_index(kernels, RhKernel, i);
        count += kernel->cls == RH_KERNEL_GEMM;
        *columns += kernel->cls == RH_KERNEL_GEMM ? (double)(kernel->n * kernel->k) : 0;
    }
    return count;
}

/* One matrix in training; engines have one of queries, keys and values, and one each of gate, rates and decays. */
static void engines_have_four_matrices_of_a_delta(void)
{
    g_autoptr(RhModel) m = load(DELTA);
    RhShard shard = shard_of(2, 64, 1);
    double trained, served;
    CU_ASSERT_EQUAL(gemms_of(m, RH_PASS_FORWARD, &shard, &trained), 2);
    CU_ASSERT_EQUAL(gemms_of(m, RH_PASS_DECODE, &shard, &served), 5);
    CU_ASSERT_EQUAL(served, trained);
    CU_ASSERT_EQUAL(gemms_of(m, RH_PASS_PREFILL, &shard, &served), 5);
    CU_ASSERT_EQUAL(served, trained);
}

/* Nemotron-H's and Qwen3-Next's matrices, taps, and what each head and the norm have. */
static void scans_have_these_parameters(void)
{
    g_autoptr(RhModel) mamba = load(MAMBA);
    g_autoptr(RhModel) delta = load(DELTA);
    RhParams p = params_of(mamba, 1);
    CU_ASSERT_EQUAL(p.sharded + p.replicated, 2688.0 * (2 * 4096 + 2 * 1024 + 64) + 4096.0 * 2688 +
                                                  (4 + 1) * 6144 + 3 * 64 + 4096 + 2688);
    p = params_of(delta, 1);
    CU_ASSERT_EQUAL(p.sharded + p.replicated, 5120.0 * (2 * 2048 + 2 * 6144 + 2 * 48) +
                                                  6144.0 * 5120 + 4 * 10240 + 2 * 48 + 128 + 5120);
}

/* Five matrices of all heads and the norm's scales; and four of the hidden size and three taps. What the
 * recurrence of the first needs is 4 a column of its state; the second's products count no FLOPs. */
static void mixers_without_steps_have_these_figures(void)
{
    g_autoptr(RhModel) lightning = load(LIGHTNING);
    g_autoptr(RhModel) conv = load(SHORT);
    RhParams p = params_of(lightning, 1);
    CU_ASSERT_EQUAL(p.sharded + p.replicated, 5 * 6144.0 * 8192 + 8192 + 6144);
    p = params_of(conv, 1);
    CU_ASSERT_EQUAL(p.sharded + p.replicated, 4 * 2048.0 * 2048 + 3 * 2048 + 2048);
    RhShard one = shard_of(1, 4096, 1);
    RhFlops f = rh_block_flops(lightning, &lightning->kinds[0], RH_BLOCK_MIXER, &one);
    CU_ASSERT_EQUAL(f.weights, 2 * 4096 * 5 * 6144.0 * 8192);
    CU_ASSERT_EQUAL(f.pairs, 4096 * 4 * 64 * 128.0 * 128);
    f = rh_block_flops(conv, &conv->kinds[0], RH_BLOCK_MIXER, &one);
    CU_ASSERT_EQUAL(f.weights, 2 * 4096 * (4 * 2048.0 * 2048 + 3 * 2048));
    CU_ASSERT_EQUAL(f.pairs, 0);
    for (RhPass pass = RH_PASS_FORWARD; pass <= RH_PASS_BACKWARD_WEIGHT; pass++)
        CU_ASSERT_EQUAL(flops_of(conv, 0, pass, &one), f.weights);
}

/* A token: block's input, normed input; the first matrix' output and the scan's. Eager: the
 * convolution's and the norm's as well, and fp32 copies of both norms. */
static void a_fused_mamba_keeps_two_tensors(void)
{
    g_autoptr(RhModel) m = load(MAMBA);
    RhShard fused = shard_of(2, 1024, 1), eager = fused;
    eager.fused_norms = eager.fused_softmax = eager.fused_elementwise = false;
    double in = (2 * 4096 + 2 * 1024 + 64) / 2.0, out = 4096 / 2.0, taps = 6144 / 2.0;
    RhActivation a = rh_block_activation_bytes(m, &m->kinds[0], RH_BLOCK_MIXER, &fused);
    RhActivation b = rh_block_activation_bytes(m, &m->kinds[0], RH_BLOCK_MIXER, &eager);
    RH_CHECK_CLOSE(a.kept, 1024 * 2 * (2 * 2688 + in + out), 1e-14);
    RH_CHECK_CLOSE(b.kept - a.kept, 1024 * (2 * (taps + out) + 8 * (2688 + out)), 1e-14);
}

/* --- Sparse and compressed attention --- */

/* 64 narrow heads score all pairs; 2048 keys are left a query, whose rows all heads share: 576 columns,
 * 512 of them values. */
static void an_indexer_leaves_each_query_some_keys(void)
{
    const double s = 8192, k = 2048;
    g_autoptr(RhModel) m = load(SPARSE);
    RhShard far = shard_of(1, 8192, 1), near = shard_of(1, 2048, 1);
    RhFlops f = rh_block_flops(m, &m->kinds[0], RH_BLOCK_MIXER, &far);
    RhFlops g = rh_block_flops(m, &m->kinds[0], RH_BLOCK_MIXER, &near);
    double chosen = s * k - k * k / 2, all = s * s / 2, index = 2 * 64 * 128.0;
    RH_CHECK_CLOSE(f.weights, 4 * g.weights, 1e-14);
    RH_CHECK_CLOSE(f.pairs, 128 * (2 * 576 + 2 * 512.0) * chosen + index * all, 1e-14);
    RH_CHECK_CLOSE(g.pairs, 128 * (2 * 192 + 2 * 128.0) * k * k / 2, 1e-14);
    RH_CHECK_CLOSE(flops_of(m, 0, RH_PASS_FORWARD, &far), f.weights + f.pairs, 1e-14);
    RH_CHECK_CLOSE(flops_of(m, 0, RH_PASS_BACKWARD_WEIGHT, &far), f.weights, 1e-14);
    RH_CHECK_CLOSE(flops_of(m, 0, RH_PASS_BACKWARD_DATA, &far),
                   f.weights + 128 * (6 * 576 + 4 * 512.0) * chosen + 2 * index * chosen, 1e-14);
    /* DeepSeek-V3's, and of each layer 13,959,... more: queries, key, weights, the key's norm */
    RhParams p = params_of(m, 1);
    CU_ASSERT_EQUAL(p.sharded + p.replicated,
                    7168.0 * 1536 + 1536.0 * 24576 + 7168.0 * 576 + 512.0 * 32768 + 16384.0 * 7168 +
                        1536 + 512 + 1536.0 * 8192 + 7168 * 128.0 + 7168 * 64.0 + 2 * 128 + 7168);
}

/* A window of 128 and an entry for each 128 tokens; or for each four, at most 1024 of them. */
static void compressed_keys_stand_for_many_tokens(void)
{
    const double s = 16384, w = 128, d = 512;
    g_autoptr(RhModel) m = load(COMPRESSED);
    RhShard shard = shard_of(1, 16384, 1);
    double window = s * w - w * w / 2;
    double heavy = 128 * (s / 128) * (s / 128) / 2;
    double entries = s / 4, sparse = 4 * (entries * 1024 - 1024 * 1024 / 2.0);
    double index = 2 * 64 * 128.0 * 4 * entries * entries / 2;
    CU_ASSERT_EQUAL(m->kinds_count, 2);
    RhFlops h = rh_block_flops(m, &m->kinds[0], RH_BLOCK_MIXER, &shard);
    RhFlops c = rh_block_flops(m, &m->kinds[1], RH_BLOCK_MIXER, &shard);
    RH_CHECK_CLOSE(h.pairs, 128 * 4 * d * (window + heavy), 1e-14);
    RH_CHECK_CLOSE(c.pairs, 128 * 4 * d * (window + sparse) + index, 1e-14);
    /* queries through a latent, the one key; outputs by 16 groups of 4096 into 1024 each; entries of
     * one key and its weights, or of two, and of two narrow ones of the indexer */
    double dense = 7168 * 1536.0 + 1536 * 65536.0 + 7168 * 512.0 + 65536 * 1024.0 + 16384 * 7168.0;
    RH_CHECK_CLOSE(h.weights, 2 * s * (dense + 2 * 7168 * 512.0), 1e-14);
    RH_CHECK_CLOSE(
        c.weights,
        2 * s * (dense + 2 * 7168 * 1024.0 + 2 * 7168 * 256.0 + 1536 * 8192.0 + 7168 * 64), 1e-14);
    for (int kind = 0; kind < 2; kind++) {
        RhFlops f = kind == 0 ? h : c;
        RH_CHECK_CLOSE(flops_of(m, kind, RH_PASS_FORWARD, &shard), f.weights + f.pairs, 1e-14);
        RH_CHECK_CLOSE(flops_of(m, kind, RH_PASS_BACKWARD_WEIGHT, &shard), f.weights, 1e-14);
    }
    RH_CHECK_CLOSE(flops_of(m, 0, RH_PASS_BACKWARD_DATA, &shard), h.weights + 2.5 * h.pairs, 1e-14);
    shard.recompute = RH_RECOMPUTE_SELECTIVE;
    CU_ASSERT_EQUAL(flops_of(m, 0, RH_PASS_RECOMPUTE_SELECTIVE, &shard), h.pairs);
}

/* Four copies of the hidden state: a block maps them to 4 + 4 + 16 weights, and the head to 4. */
static void hyper_connections_have_their_parameters(void)
{
    g_autoptr(RhModel) m = load(COMPRESSED);
    g_autoptr(RhModel) one = load(COMPRESSED);
    one->hc_mult = 1;
    double block = 24 * (4 * 7168 + 1.0) + 3, head = 4 * (4 * 7168 + 1.0) + 1;
    CU_ASSERT_EQUAL(rh_model_params(m) - rh_model_params(one), 4 * block + head);
    RhShard shard = shard_of(1, 1024, 1);
    RhActivation a = rh_block_activation_bytes(m, &m->kinds[0], RH_BLOCK_FFN, &shard);
    RhActivation b = rh_block_activation_bytes(one, &one->kinds[0], RH_BLOCK_FFN, &shard);
    CU_ASSERT_EQUAL(a.kept - b.kept, 2.0 * 1024 * 4 * 7168);
}

/* --- Further tokens --- */

/* DeepSeek-V3's: a matrix of 2 h by h, three norms, a layer as the last; its head runs once more. */
static void a_layer_may_predict_a_further_token(void)
{
    g_autoptr(RhModel) m = load(SPARSE);
    g_autoptr(RhModel) more = load(SPARSE);
    CU_ASSERT_TRUE(rh_model_set(more, "predict_layers", "1", NULL));
    CU_ASSERT_EQUAL(more->layers_count, 3);
    CU_ASSERT_EQUAL(more->kinds_count, 2);
    const RhLayerKind *last = &more->kinds[1];
    RhShard shard = shard_of(1, 1024, 2);
    RhParams a = rh_block_params(m, &m->kinds[0], RH_BLOCK_MIXER, &shard);
    RhParams b = rh_block_params(m, &m->kinds[0], RH_BLOCK_FFN, &shard);
    double layer = a.sharded + a.replicated + b.sharded + b.replicated;
    double h = 7168, n = 2048, head = 2 * n * h * 1024, join = 2 * n * 2 * h * h;
    CU_ASSERT_EQUAL((double)(rh_model_params(more) - rh_model_params(m)),
                    layer + 2 * h * h + 3 * h);
    RhFlops mixer = rh_block_flops(m, &m->kinds[0], RH_BLOCK_MIXER, &shard);
    RhFlops ffn = rh_block_flops(m, &m->kinds[0], RH_BLOCK_FFN, &shard);
    RhFlops f = rh_block_flops(more, last, RH_BLOCK_MIXER, &shard);
    RhFlops g = rh_block_flops(more, last, RH_BLOCK_FFN, &shard);
    RH_CHECK_CLOSE(f.weights, mixer.weights + join, 1e-14);
    RH_CHECK_CLOSE(g.weights, ffn.weights + head, 1e-14);
    for (RhPass pass = RH_PASS_FORWARD; pass <= RH_PASS_BACKWARD_WEIGHT; pass++) {
        double of_layer = flops_of(m, 0, pass, &shard);
        RH_CHECK_CLOSE(flops_of(more, 1, pass, &shard), of_layer + join, 1e-14);
    }
    CU_ASSERT_EQUAL(flops_of(more, 1, RH_PASS_DECODE, &shard), 0);
    RhActivation x = rh_block_activation_bytes(more, last, RH_BLOCK_FFN, &shard);
    RhActivation y = rh_block_activation_bytes(m, &m->kinds[0], RH_BLOCK_FFN, &shard);
    CU_ASSERT_EQUAL(x.kept - y.kept, n * (4 * 1024 + 2 * 2 * h));
    CU_ASSERT_TRUE(rh_model_set(more, "predict_layers", "0", NULL));
    CU_ASSERT_EQUAL(rh_model_params(more), rh_model_params(m));
}

/* Nemotron-3's layers are a mixer or an ffn alone; what predicts a further token is attention and the
 * ffn, one behind the other. */
static void a_layer_that_predicts_has_both_halves(void)
{
    g_autoptr(RhModel) m = load(HYBRID);
    g_autoptr(RhModel) more = load(HYBRID);
    CU_ASSERT_TRUE(rh_model_set(more, "predict_layers", "2", NULL));
    CU_ASSERT_EQUAL(m->layers_count, 3);
    CU_ASSERT_EQUAL(more->layers_count, 5);
    CU_ASSERT_EQUAL(more->kind_of_layer[3], more->kind_of_layer[4]);
    const RhLayerKind *last = &more->kinds[more->kind_of_layer[4]];
    const RhLayerKind *attention = &m->kinds[m->kind_of_layer[1]];
    const RhLayerKind *ffn = &m->kinds[m->kind_of_layer[2]];
    CU_ASSERT_TRUE(last->inner_mixer == attention->mixer && last->inner_ffn == ffn->ffn);
    CU_ASSERT_PTR_NULL(attention->ffn);
    CU_ASSERT_PTR_NULL(ffn->mixer);
    RhShard shard = shard_of(1, 1024, 2);
    double h = 2688, n = 2048, head = 2 * n * h * 1024, join = 2 * n * 2 * h * h;
    RhParams a = rh_block_params(m, attention, RH_BLOCK_MIXER, &shard);
    RhParams b = rh_block_params(m, ffn, RH_BLOCK_FFN, &shard);
    double halves = a.sharded + a.replicated + b.sharded + b.replicated;
    CU_ASSERT_EQUAL((double)(rh_model_params(more) - rh_model_params(m)),
                    2 * (halves + 2 * h * h + 3 * h));
    RhFlops before = rh_block_flops(m, attention, RH_BLOCK_MIXER, &shard);
    RhFlops after = rh_block_flops(more, last, RH_BLOCK_MIXER, &shard);
    RH_CHECK_CLOSE(after.weights, before.weights + join, 1e-14);
    RH_CHECK_CLOSE(after.pairs, before.pairs, 1e-14);
    before = rh_block_flops(m, ffn, RH_BLOCK_FFN, &shard);
    after = rh_block_flops(more, last, RH_BLOCK_FFN, &shard);
    RH_CHECK_CLOSE(after.weights, before.weights + head, 1e-14);
}

/* --- Without a mask --- */

static void an_encoder_sees_the_whole_square(void)
{
    const double n = 512;
    g_autoptr(RhModel) m = load(ENCODER);
    RhShard fused = shard_of(1, 512, 1), plain = fused, ring = fused;
    plain.flash = false;
    ring.cp = 2;
    RhFlops f = rh_block_flops(m, &m->kinds[0], RH_BLOCK_MIXER, &fused);
    RH_CHECK_CLOSE(f.pairs, 12 * 4 * 64 * n * n, 1e-14);
    RH_CHECK_CLOSE(flops_of(m, 0, RH_PASS_FORWARD, &fused), f.weights + f.pairs, 1e-14);
    RH_CHECK_CLOSE(flops_of(m, 0, RH_PASS_FORWARD, &plain), f.weights + f.pairs, 1e-14);
    RH_CHECK_CLOSE(2 * flops_of(m, 0, RH_PASS_FORWARD, &ring), f.weights + f.pairs, 1e-14);
}

/* A block's gathered input, forward and again backward, lies beside its working memory with
 * sequence parallelism: all tokens' columns. */
static void what_is_gathered_lies_beside_the_rest(void)
{
    static const char *const models[] = {MAMBA, DELTA, LIGHTNING, SHORT, HYBRID, "llama-3.1-8b"};
    for (size_t i = 0; i < G_N_ELEMENTS(models); i++) {
        g_autoptr(RhModel) m = load(models[i]);
        for (int32_t k = 0; k < m->kinds_count; k++) {
            if (strcmp(rh_operator_name(m->kinds[k].mixer), "none") == 0)
                continue;
            RhShard shard = shard_of(2, 1024, 3), kept = shard;
            shard.sequence_parallel = kept.sequence_parallel = kept.keeps_gathered = true;
            RhActivation again = rh_block_activation_bytes(m, &m->kinds[k], RH_BLOCK_MIXER, &shard);
            RhActivation once = rh_block_activation_bytes(m, &m->kinds[k], RH_BLOCK_MIXER, &kept);
            double gathered = 2.0 * 3 * 1024 * (double)m->hidden;
            RH_CHECK_CLOSE(again.forward - once.forward, gathered, 1e-12);
            RH_CHECK_CLOSE(again.backward - once.backward, gathered, 1e-12);
        }
    }
}

int main(void)
{
    return rh_test_main(
        "mixers",
        (RhTest[]){
            {"scans_do_the_flops_of_their_chunked_form", scans_do_the_flops_of_their_chunked_form},
            {"scans_are_linear_in_the_sequence", scans_are_linear_in_the_sequence},
            {"cutting_conserves_scans", cutting_conserves_scans},
            {"decoding_a_scan_reads_its_state", decoding_a_scan_reads_its_state},
            {"engines_have_four_matrices_of_a_delta", engines_have_four_matrices_of_a_delta},
            {"scans_have_these_parameters", scans_have_these_parameters},
            {"mixers_without_steps_have_these_figures", mixers_without_steps_have_these_figures},
            {"a_fused_mamba_keeps_two_tensors", a_fused_mamba_keeps_two_tensors},
            {"an_indexer_leaves_each_query_some_keys", an_indexer_leaves_each_query_some_keys},
            {"compressed_keys_stand_for_many_tokens", compressed_keys_stand_for_many_tokens},
            {"hyper_connections_have_their_parameters", hyper_connections_have_their_parameters},
            {"a_layer_may_predict_a_further_token", a_layer_may_predict_a_further_token},
            {"a_layer_that_predicts_has_both_halves", a_layer_that_predicts_has_both_halves},
            {"an_encoder_sees_the_whole_square", an_encoder_sees_the_whole_square},
            {"what_is_gathered_lies_beside_the_rest", what_is_gathered_lies_beside_the_rest},
            {0}});
}
