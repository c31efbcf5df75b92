/* Operators against the papers' closed forms: FLOPs (Narayanan et al. 2021, arXiv 2104.04473),
 * activation bytes (Korthikanti et al. 2022, arXiv 2205.05198), parameters. */
#include "workloads/operator_costs.h"

#include <gsl/gsl_rng.h>

#include "tests/kit/operators_kit.h"

static RhShard core_of(int32_t tp, int64_t sequence, int64_t microbatch, bool flash)
{
    RhShard shard = shard_of(tp, sequence, microbatch);
    shard.flash = flash;
    return shard;
}

static Sum sum_part(const RhModel *m, RhBlock block, RhPart part, RhPass pass, const RhShard *shard)
{
    g_autoptr(GArray) out = g_array_new(FALSE, FALSE, sizeof(RhKernel));
    rh_block_kernels(m, kind_for(m, block), block, part, pass, shard, out);
    Sum sum = {.kernels = out->len};
    for (guint i = 0; i < out->len; i++) {
        const RhKernel *k = &g_array_index(out, RhKernel, i);
        CU_ASSERT_TRUE(k->cls > RH_KERNEL_NONE && k->cls < RH_KERNEL_LAST);
        CU_ASSERT_TRUE(k->bytes > 0);
        sum.flops += k->flops;
        sum.bytes += k->bytes;
    }
    return sum;
}

static Sum sum_block(const RhModel *m, RhBlock block, RhPass pass, const RhShard *shard)
{
    Sum a = sum_part(m, block, RH_PART_SEQUENCE, pass, shard);
    Sum b = sum_part(m, block, RH_PART_TENSOR, pass, shard);
    return (Sum){a.flops + b.flops, a.bytes + b.bytes, a.kernels + b.kernels};
}

/* FLOPs of one micro-batch on all t ranks; layers are all of the first kind. */
static double flops_of_model(const RhModel *m, const RhShard *shard, RhPass recompute)
{
    RhPass passes[] = {RH_PASS_FORWARD, RH_PASS_BACKWARD_DATA, RH_PASS_BACKWARD_WEIGHT, recompute};
    double total = 0;
    for (size_t b = 0; b < G_N_ELEMENTS(BLOCKS); b++)
        for (size_t p = 0; p < G_N_ELEMENTS(passes); p++)
            total += sum_block(m, BLOCKS[b], passes[p], shard).flops *
                     (kind_for(m, BLOCKS[b]) != NULL ? m->layers_count : 1);
    return total * shard->tp;
}

static const struct {
    int32_t layers, hidden, heads;
    double billions;
} NARAYANAN_TABLE_1[] = {
    {24, 2304, 24, 1.7},       {30, 3072, 32, 3.6},     {36, 4096, 32, 7.5},
    {40, 6144, 48, 18.4},      {48, 8192, 64, 39.1},    {60, 10240, 80, 76.1},
    {80, 12288, 96, 145.6},    {96, 16384, 128, 310.1}, {105, 20480, 128, 529.6},
    {128, 25600, 160, 1008.0},
};

/* Equation 3: F = 96 B s l h^2 (1 + s / 6h + V / 16 l h), with full recomputation and the whole
 * square of attention.
 * Source: Narayanan et al. 2021 (arXiv 2104.04473), equation 3. */
static void full_recompute_of_gpt_costs_equation_3_of_narayanan(void)
{
    const double s = 2048, V = 51200, B = 4;
    for (size_t i = 0; i < G_N_ELEMENTS(NARAYANAN_TABLE_1); i++) {
        int32_t layers = NARAYANAN_TABLE_1[i].layers, hidden = NARAYANAN_TABLE_1[i].hidden;
        double l = layers, h = hidden;
        g_autoptr(RhModel) m =
            rh_model_gpt("gpt", layers, hidden, NARAYANAN_TABLE_1[i].heads, 0, 51200, 2048);
        double paper = 96 * B * s * l * h * h * (1 + s / (6 * h) + V / (16 * l * h));
        for (int32_t tp = 1; tp <= 8; tp *= 2) {
            RhShard shard = core_of(tp, 2048, 4, false);
            RH_CHECK_CLOSE(flops_of_model(m, &shard, RH_PASS_RECOMPUTE_FULL), paper, 1e-12);
        }
    }
}

/* MFU's numerator: no recomputation, half the square. */
static void model_flops_count_what_the_unfused_kernels_do_less_the_masked_half(void)
{
    g_autoptr(RhModel) m = rh_model_gpt("gpt", 6, 1024, 16, 0, 51200, 2048);
    RhShard shard = core_of(2, 2048, 2, false);
    double tokens = 2 * 2048, masked = 3 * 6 * 2.0 * 1024 * 2048 * tokens;
    RH_CHECK_CLOSE(flops_of_model(m, &shard, RH_PASS_NONE),
                   rh_model_flops_per_token(m, 2048) * tokens + masked, 1e-12);
}

static RhModel *llama_like(void)
{
    RhModel *m = rh_model_gpt("llama-like", 4, 2048, 16, 5632, 32768, 8192);
    m->norm = RH_NORM_RMS;
    m->position = RH_POSITION_ROTARY;
    m->hidden_dropout = m->attention_dropout = m->tied_embeddings = false;
    RhLayerKind *k = &m->kinds[0];
    k->kv_heads = 4;
    k->ffn_gated = true;
    k->qkv_bias = k->o_bias = k->ffn_bias = false;
    return m;
}

/* FlashAttention-2, section 4.1: backward does 5 matmuls where the model needs 4.
 * Source: Dao 2023 (arXiv 2307.08691), section 4.1. */
static void flash_attention_adds_half_a_forward_to_the_model_flops(void)
{
    g_autoptr(RhModel) m = llama_like();
    for (int32_t tp = 1; tp <= 4; tp *= 2) {
        RhShard shard = core_of(tp, 4096, 1, true);
        double forward = 4 * (4.0 * 4096 * 2048 * 4096) / 2; /* layers x 4 s h s / 2 */
        RH_CHECK_CLOSE(flops_of_model(m, &shard, RH_PASS_NONE),
                       rh_model_flops_per_token(m, 4096) * 4096 + 0.5 * forward, 1e-12);
    }
}

static void selective_recompute_replays_the_core_of_attention_alone(void)
{
    g_autoptr(RhModel) m = llama_like();
    RhShard shard = core_of(2, 4096, 1, true);
    RhPass pass = RH_PASS_RECOMPUTE_SELECTIVE;
    shard.recompute = RH_RECOMPUTE_SELECTIVE;
    Sum core = sum_part(m, RH_BLOCK_MIXER, RH_PART_TENSOR, pass, &shard);
    CU_ASSERT_EQUAL(core.kernels, 1);
    RH_CHECK_CLOSE(core.flops, 4.0 * 4096 * 4096 / 2 * 2048 / 2, 1e-12);
    CU_ASSERT_EQUAL(sum_part(m, RH_BLOCK_MIXER, RH_PART_SEQUENCE, pass, &shard).kernels, 0);
    CU_ASSERT_EQUAL(sum_block(m, RH_BLOCK_FFN, pass, &shard).kernels, 0);
    CU_ASSERT_EQUAL(sum_block(m, RH_BLOCK_HEAD, pass, &shard).kernels, 0);
    shard.flash = false;
    core = sum_part(m, RH_BLOCK_MIXER, RH_PART_TENSOR, pass, &shard);
    CU_ASSERT_EQUAL(core.kernels, 3); /* scores, softmax, values */
    RH_CHECK_CLOSE(core.flops, 4.0 * 4096 * 4096 * 2048 / 2, 1e-12);
}

static void full_recompute_replays_the_forward_pass(void)
{
    g_autoptr(RhModel) m = llama_like();
    RhShard shard = core_of(2, 4096, 1, true);
    for (RhBlock block = RH_BLOCK_MIXER; block <= RH_BLOCK_FFN; block++) {
        Sum forward = sum_block(m, block, RH_PASS_FORWARD, &shard);
        Sum again = sum_block(m, block, RH_PASS_RECOMPUTE_FULL, &shard);
        CU_ASSERT_EQUAL(forward.kernels, again.kernels);
        CU_ASSERT_EQUAL(forward.bytes, again.bytes);
        CU_ASSERT_EQUAL(forward.flops, again.flops);
    }
}

static const RhKernel *kernel_at(GArray *out, guint i)
{
    return &g_array_index(out, RhKernel, i);
}

static void check_gemm(const RhKernel *k, int64_t m, int64_t n, int64_t depth)
{
    CU_ASSERT_EQUAL(k->cls, RH_KERNEL_GEMM);
    CU_ASSERT_EQUAL(k->m, m);
    CU_ASSERT_EQUAL(k->n, n);
    CU_ASSERT_EQUAL(k->k, depth);
    RH_CHECK_CLOSE(k->flops, 2.0 * (double)m * (double)n * (double)depth, 1e-15);
}

static void shapes_of_llama_70b_at_tp8_are_those_of_megatron(void)
{
    g_autoptr(RhModel) m = rh_model_load("llama-3.1-70b", NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    RhShard shard = core_of(8, 4096, 1, true);
    g_autoptr(GArray) out = g_array_new(FALSE, FALSE, sizeof(RhKernel));
    rh_block_kernels(m, &m->kinds[0], RH_BLOCK_MIXER, RH_PART_TENSOR, RH_PASS_FORWARD, &shard, out);
    CU_ASSERT_EQUAL_FATAL(out->len, 4);
    check_gemm(kernel_at(out, 0), 4096, (64 + 2 * 8) * 128 / 8, 8192);
    CU_ASSERT_EQUAL(kernel_at(out, 1)->cls, RH_KERNEL_ROTARY);
    CU_ASSERT_EQUAL(kernel_at(out, 2)->cls, RH_KERNEL_ATTENTION);
    CU_ASSERT_EQUAL(kernel_at(out, 2)->heads, 8);
    CU_ASSERT_EQUAL(kernel_at(out, 2)->kv_heads, 1);
    check_gemm(kernel_at(out, 3), 4096, 8192, 1024);
    g_array_set_size(out, 0);
    rh_block_kernels(m, &m->kinds[0], RH_BLOCK_FFN, RH_PART_TENSOR, RH_PASS_FORWARD, &shard, out);
    CU_ASSERT_EQUAL_FATAL(out->len, 3);
    check_gemm(kernel_at(out, 0), 4096, 2 * 28672 / 8, 8192);
    check_gemm(kernel_at(out, 2), 4096, 8192, 28672 / 8);
    g_array_set_size(out, 0);
    rh_block_kernels(m, &m->kinds[0], RH_BLOCK_FFN, RH_PART_TENSOR, RH_PASS_BACKWARD_WEIGHT, &shard,
                     out);
    CU_ASSERT_EQUAL_FATAL(out->len, 2);
    check_gemm(kernel_at(out, 0), 8192, 3584, 4096);
    check_gemm(kernel_at(out, 1), 7168, 8192, 4096);
}

static void key_value_heads_are_replicated_where_there_are_fewer_than_ranks(void)
{
    g_autoptr(RhModel) m = llama_like(); /* 16 heads of 128, 4 kv heads */
    RhShard shard = core_of(8, 1024, 1, true);
    g_autoptr(GArray) out = g_array_new(FALSE, FALSE, sizeof(RhKernel));
    rh_block_kernels(m, &m->kinds[0], RH_BLOCK_MIXER, RH_PART_TENSOR, RH_PASS_FORWARD, &shard, out);
    check_gemm(kernel_at(out, 0), 1024, (2 + 1 + 1) * 128, 2048);
    RhParams p = rh_block_params(m, &m->kinds[0], RH_BLOCK_MIXER, &(RhShard){.tp = 8});
    RH_CHECK_CLOSE(p.sharded, 2048.0 * (4 + 2) * 128, 1e-15);
}

/* Rows of GPT-2's table for one tensor rank, and of its head for eight.
 * Source: Megatron-LM's log, "padded vocab (size: 50257)" with 47 and 943 dummy tokens. */
static void vocabulary_is_padded_to_128_times_tp(void)
{
    g_autoptr(RhModel) m = rh_model_load("gpt2", NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    RH_CHECK_CLOSE(rh_block_params(m, NULL, RH_BLOCK_EMBEDDING, &(RhShard){.tp = 1}).sharded,
                   50304.0 * 768, 1e-15);
    RH_CHECK_CLOSE(rh_block_params(m, NULL, RH_BLOCK_HEAD, &(RhShard){.tp = 8}).sharded,
                   51200.0 / 8 * 768, 1e-15);
}

static void parameters_of_the_blocks_sum_to_those_of_the_model(void)
{
    const char *const names[] = {"llama-3.1-8b", "qwen2.5-72b", "qwen3-8b", "gpt-1.7b"};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autoptr(RhModel) m = rh_model_load(names[i], NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(m);
        for (int32_t tp = 1; tp <= 2; tp *= 2) {
            double total = m->tied_embeddings ? -(double)(m->vocab * m->hidden) : 0;
            for (size_t b = 0; b < G_N_ELEMENTS(BLOCKS); b++) {
                RhParams p =
                    rh_block_params(m, kind_for(m, BLOCKS[b]), BLOCKS[b], &(RhShard){.tp = tp});
                total += (p.sharded * tp + p.replicated) *
                         (kind_for(m, BLOCKS[b]) != NULL ? m->layers_count : 1);
            }
            bool padded = m->vocab % (128 * tp) != 0;
            RH_CHECK_CLOSE(total, (double)rh_model_params(m), padded ? 1e-3 : 1e-14);
        }
    }
}

static void a_window_costs_what_the_mask_leaves(void)
{
    g_autoptr(RhModel) m = llama_like();
    RhShard shard = core_of(1, 8192, 1, true);
    shard.recompute = RH_RECOMPUTE_SELECTIVE;
    double full =
        sum_part(m, RH_BLOCK_MIXER, RH_PART_TENSOR, RH_PASS_RECOMPUTE_SELECTIVE, &shard).flops;
    m->kinds[0].window_tokens = 1024;
    double pairs = 8192.0 * 1024 - 1024.0 * 1024 / 2;
    double window =
        sum_part(m, RH_BLOCK_MIXER, RH_PART_TENSOR, RH_PASS_RECOMPUTE_SELECTIVE, &shard).flops;
    RH_CHECK_CLOSE(window / full, pairs / (8192.0 * 8192 / 2), 1e-12);
    RH_CHECK_CLOSE(flops_of_model(m, &shard, RH_PASS_NONE),
                   rh_model_flops_per_token(m, 8192) * 8192 + 0.5 * 4 * window, 1e-12);
    m->kinds[0].window_tokens = 16384; /* wider than the sequence: no window */
    window = sum_part(m, RH_BLOCK_MIXER, RH_PART_TENSOR, RH_PASS_RECOMPUTE_SELECTIVE, &shard).flops;
    CU_ASSERT_EQUAL(window, full);
}

static void sequence_parallelism_divides_the_sequence_part_alone(void)
{
    g_autoptr(RhModel) m = llama_like();
    RhShard plain = core_of(4, 4096, 1, true), sp = plain;
    sp.sequence_parallel = true;
    for (RhPass pass = RH_PASS_FORWARD; pass <= RH_PASS_BACKWARD_DATA; pass++)
        for (RhBlock block = RH_BLOCK_MIXER; block <= RH_BLOCK_HEAD; block++) {
            Sum a = sum_part(m, block, RH_PART_SEQUENCE, pass, &plain);
            Sum b = sum_part(m, block, RH_PART_SEQUENCE, pass, &sp);
            CU_ASSERT_TRUE(a.kernels > 0);
            RH_CHECK_CLOSE(a.bytes, 4 * b.bytes, 1e-15);
            RH_CHECK_CLOSE(sum_part(m, block, RH_PART_TENSOR, pass, &plain).bytes,
                           sum_part(m, block, RH_PART_TENSOR, pass, &sp).bytes, 1e-15);
        }
}

static void eager_frameworks_launch_more_kernels_and_move_more_bytes(void)
{
    g_autoptr(RhModel) m = llama_like();
    RhShard fused = core_of(1, 2048, 1, true), eager = fused;
    eager.fused_norms = eager.fused_softmax = eager.fused_elementwise = false;
    Sum f = {0}, e = {0};
    for (RhBlock block = RH_BLOCK_MIXER; block <= RH_BLOCK_FFN; block++) {
        f.kernels += sum_block(m, block, RH_PASS_FORWARD, &fused).kernels;
        f.bytes += sum_block(m, block, RH_PASS_FORWARD, &fused).bytes;
        e.kernels += sum_block(m, block, RH_PASS_FORWARD, &eager).kernels;
        e.bytes += sum_block(m, block, RH_PASS_FORWARD, &eager).bytes;
    }
    CU_ASSERT_EQUAL(f.kernels, 11);
    CU_ASSERT_EQUAL(e.kernels, 11 + 2 * 7 + 9 + 1);
    double tokens = 2048, h = 2048, extra = 2 * 60 * h + 16.5 * (2048 + 512) + 4 * 5632;
    RH_CHECK_CLOSE(e.bytes - f.bytes, tokens * extra, 1e-12);
    CU_ASSERT_EQUAL(sum_block(m, RH_BLOCK_FFN, RH_PASS_BACKWARD_WEIGHT, &fused).kernels, 2);
    CU_ASSERT_EQUAL(sum_block(m, RH_BLOCK_FFN, RH_PASS_BACKWARD_WEIGHT, &eager).kernels, 4);
}

/* --- Activation bytes --- */

static double layer_kept(const RhModel *m, RhRecompute recompute, const RhShard *shard)
{
    const RhLayerKind *k = &m->kinds[0];
    RhShard again = *shard;
    again.recompute = recompute;
    return rh_block_activation_bytes(m, k, RH_BLOCK_MIXER, &again).kept +
           rh_block_activation_bytes(m, k, RH_BLOCK_FFN, &again).kept;
}

/* Bytes kept of a layer, in each of the paper's ways to cut and to recompute. Source:
 * Korthikanti et al. 2022 (arXiv 2205.05198), equations 1 to 6. */
static void activation_bytes_of_gpt_are_equations_1_to_6_of_korthikanti(void)
{
    const double s = 2048, b = 2, h = 6144, a = 48, sbh = s * b * h, scores = 5 * a * s / h;
    g_autoptr(RhModel) m = rh_model_gpt("gpt", 40, 6144, 48, 0, 51200, 2048);
    for (int32_t tp = 1; tp <= 8; tp *= 2) {
        double t = tp;
        RhShard shard = core_of(tp, 2048, 2, false);
        /* Equation 1 at t = 1, equation 2. */
        RH_CHECK_CLOSE(layer_kept(m, RH_RECOMPUTE_NONE, &shard), sbh * (10 + 24 / t + scores / t),
                       1e-14);
        RH_CHECK_CLOSE(layer_kept(m, RH_RECOMPUTE_SELECTIVE, &shard), sbh * (10 + 24 / t), 1e-14);
        RH_CHECK_CLOSE(layer_kept(m, RH_RECOMPUTE_FULL, &shard), 2 * sbh, 1e-14);
        shard.sequence_parallel = true;
        /* Equation 4; section 5: selective recomputation leaves 34 s b h / t (equation 6). */
        RH_CHECK_CLOSE(layer_kept(m, RH_RECOMPUTE_NONE, &shard), sbh / t * (34 + scores), 1e-14);
        RH_CHECK_CLOSE(layer_kept(m, RH_RECOMPUTE_SELECTIVE, &shard), sbh / t * 34, 1e-14);
        RH_CHECK_CLOSE(layer_kept(m, RH_RECOMPUTE_FULL, &shard), 2 * sbh / t, 1e-14);
    }
}

/* h (12 + 4 g/a + 6 f/h) / t per token and layer, and the log-sum-exp of fused attention. */
static void activation_bytes_of_llama_have_the_form_of_fused_kernels(void)
{
    g_autoptr(RhModel) m = llama_like();
    const double h = 2048, f = 5632, s = 4096;
    for (int32_t tp = 1; tp <= 4; tp *= 2) {
        RhShard shard = core_of(tp, 4096, 1, true);
        shard.sequence_parallel = tp > 1;
        double form = s * (h * (12 + 4.0 * 4 / 16 + 6 * f / h) + 4.0 * 16) / tp;
        RH_CHECK_CLOSE(layer_kept(m, RH_RECOMPUTE_NONE, &shard), form, 1e-14);
        RH_CHECK_CLOSE(layer_kept(m, RH_RECOMPUTE_SELECTIVE, &shard), form - s * 4 * 16 / tp,
                       1e-14);
        shard.fused_norms = shard.fused_softmax = shard.fused_elementwise =
            false; /* fp32 copies in both norms, SiLU's output, queries and keys before rotation */
        RH_CHECK_CLOSE(layer_kept(m, RH_RECOMPUTE_NONE, &shard),
                       form + s * (16 * h + 2 * f + 2 * h * (1 + 4.0 / 16)) / tp, 1e-14);
    }
}

/* Section 4.3: 4 s b V / t for the logits, 4 s b h (1/t with sequence parallelism) for the head's
 * norm and GEMM, s b h for the embedding's dropout. At the head's own peak 10 B a logit.
 * Source: Korthikanti et al. 2022 (arXiv 2205.05198), section 4.3. */
static void the_edges_keep_what_section_4_3_says(void)
{
    const double s = 2048, b = 2, h = 6144, V = 51200;
    g_autoptr(RhModel) m = rh_model_gpt("gpt", 40, 6144, 48, 0, 51200, 2048);
    for (int32_t tp = 1; tp <= 8; tp *= 2) {
        RhShard shard = core_of(tp, 2048, 2, true);
        shard.sequence_parallel = true;
        shard.recompute = RH_RECOMPUTE_FULL; /* layers alone */
        RhActivation head = rh_block_activation_bytes(m, NULL, RH_BLOCK_HEAD, &shard);
        RH_CHECK_CLOSE(head.kept, 4 * s * b * h / tp * (1 + V / h), 1e-14);
        double gathered = 2 * s * b * h;
        RH_CHECK_CLOSE(head.kept + head.forward - gathered, s * b * (10 * V + 4 * h) / tp, 1e-14);
        RhActivation embedding = rh_block_activation_bytes(m, NULL, RH_BLOCK_EMBEDDING, &shard);
        RH_CHECK_CLOSE(embedding.kept, s * b * h / tp, 1e-14);
    }
    m->hidden_dropout = false;
    RhShard shard = core_of(1, 2048, 2, true);
    CU_ASSERT_EQUAL(rh_block_activation_bytes(m, NULL, RH_BLOCK_EMBEDDING, &shard).kept, 0);
}

/* Forward and backward find the same bytes whether they are kept or computed again. */
static void recompute_moves_bytes_from_kept_to_working(void)
{
    g_autoptr(RhModel) m = rh_model_gpt("gpt", 4, 1024, 16, 0, 51200, 2048);
    for (int form = 0; form < 4; form++) {
        RhShard shard = core_of(2, 2048, 1, (form & 1) != 0);
        shard.sequence_parallel = (form & 2) != 0;
        for (RhBlock block = RH_BLOCK_MIXER; block <= RH_BLOCK_FFN; block++) {
            double at_forward[RH_RECOMPUTE_LAST], at_backward[RH_RECOMPUTE_LAST];
            for (RhRecompute r = RH_RECOMPUTE_NONE; r < RH_RECOMPUTE_LAST; r++) {
                shard.recompute = r;
                RhActivation x = rh_block_activation_bytes(m, &m->kinds[0], block, &shard);
                CU_ASSERT_TRUE(x.kept >= 0 && x.forward > 0 && x.backward > 0);
                at_forward[r] = x.kept + x.forward;
                at_backward[r] = x.kept + x.backward;
            }
            for (RhRecompute r = RH_RECOMPUTE_SELECTIVE; r < RH_RECOMPUTE_LAST; r++) {
                RH_CHECK_CLOSE(at_forward[0], at_forward[r], 1e-14);
                RH_CHECK_CLOSE(at_backward[0], at_backward[r], 1e-14);
            }
        }
    }
}

/* Any shape: work over all ranks does not depend on t, a rank's bytes never grow with t. */
static void cutting_conserves_flops_and_never_adds_bytes(void)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    gsl_rng_set(rng, 7);
    for (int i = 0; i < 200; i++) {
        int32_t heads = 8 << gsl_rng_uniform_int(rng, 3);
        int64_t hidden = heads * (int64_t)(64 << gsl_rng_uniform_int(rng, 2));
        int64_t ffn = 8 * (int64_t)(1 + gsl_rng_uniform_int(rng, 4000));
        g_autoptr(RhModel) m = rh_model_gpt("any", 2, hidden, heads, ffn, 1024 * 50, 4096);
        m->kinds[0].kv_heads = 8;
        m->kinds[0].ffn_gated = gsl_rng_uniform_int(rng, 2) != 0;
        RhShard one = core_of(1, 512, 1, gsl_rng_uniform_int(rng, 2)), eight = one;
        eight.tp = 8;
        eight.sequence_parallel = gsl_rng_uniform_int(rng, 2) != 0;
        RH_CHECK_CLOSE(flops_of_model(m, &one, RH_PASS_RECOMPUTE_FULL),
                       flops_of_model(m, &eight, RH_PASS_RECOMPUTE_FULL), 1e-12);
        for (size_t b = 0; b < G_N_ELEMENTS(BLOCKS); b++)
            for (RhPass pass = RH_PASS_FORWARD; pass < RH_PASS_LAST; pass++)
                CU_ASSERT_TRUE(sum_block(m, BLOCKS[b], pass, &eight).bytes <=
                               sum_block(m, BLOCKS[b], pass, &one).bytes);
        for (RhRecompute r = RH_RECOMPUTE_NONE; r < RH_RECOMPUTE_LAST; r++)
            CU_ASSERT_TRUE(layer_kept(m, r, &eight) <= layer_kept(m, r, &one));
    }
    gsl_rng_free(rng);
}

static void boundaries_carry_one_hidden_state(void)
{
    g_autoptr(RhModel) m = llama_like();
    RhShard shard = core_of(4, 4096, 2, true);
    shard.sequence_parallel = true;
    CU_ASSERT_EQUAL(rh_boundary_bytes(m, &shard), 2.0 * 2 * 4096 * 2048);
}

static void blocks_have_names(void)
{
    CU_ASSERT_STRING_EQUAL(rh_block_name(RH_BLOCK_HEAD), "head");
}

int main(void)
{
    return rh_test_main(
        "ops",
        (RhTest[]){
            {"full_recompute_of_gpt_costs_equation_3_of_narayanan",
             full_recompute_of_gpt_costs_equation_3_of_narayanan},
            {"model_flops_count_what_the_unfused_kernels_do_less_the_masked_half",
             model_flops_count_what_the_unfused_kernels_do_less_the_masked_half},
            {"flash_attention_adds_half_a_forward_to_the_model_flops",
             flash_attention_adds_half_a_forward_to_the_model_flops},
            {"selective_recompute_replays_the_core_of_attention_alone",
             selective_recompute_replays_the_core_of_attention_alone},
            {"full_recompute_replays_the_forward_pass", full_recompute_replays_the_forward_pass},
            {"shapes_of_llama_70b_at_tp8_are_those_of_megatron",
             shapes_of_llama_70b_at_tp8_are_those_of_megatron},
            {"key_value_heads_are_replicated_where_there_are_fewer_than_ranks",
             key_value_heads_are_replicated_where_there_are_fewer_than_ranks},
            {"vocabulary_is_padded_to_128_times_tp", vocabulary_is_padded_to_128_times_tp},
            {"parameters_of_the_blocks_sum_to_those_of_the_model",
             parameters_of_the_blocks_sum_to_those_of_the_model},
            {"a_window_costs_what_the_mask_leaves", a_window_costs_what_the_mask_leaves},
            {"sequence_parallelism_divides_the_sequence_part_alone",
             sequence_parallelism_divides_the_sequence_part_alone},
            {"eager_frameworks_launch_more_kernels_and_move_more_bytes",
             eager_frameworks_launch_more_kernels_and_move_more_bytes},
            {"activation_bytes_of_gpt_are_equations_1_to_6_of_korthikanti",
             activation_bytes_of_gpt_are_equations_1_to_6_of_korthikanti},
            {"activation_bytes_of_llama_have_the_form_of_fused_kernels",
             activation_bytes_of_llama_have_the_form_of_fused_kernels},
            {"the_edges_keep_what_section_4_3_says", the_edges_keep_what_section_4_3_says},
            {"recompute_moves_bytes_from_kept_to_working",
             recompute_moves_bytes_from_kept_to_working},
            {"cutting_conserves_flops_and_never_adds_bytes",
             cutting_conserves_flops_and_never_adds_bytes},
            {"boundaries_carry_one_hidden_state", boundaries_carry_one_hidden_state},
            {"blocks_have_names", blocks_have_names},
            {0}});
}
