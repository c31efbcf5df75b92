/* Operators under recipes of narrow formats: which products are narrow, and what casting costs. */
#include "tests/kit/operators_kit.h"

/* FLOPs of GEMMs by format, and bytes of casts, in one pass. */
typedef struct {
    double narrow, wide, cast_bytes;
} Formats;

static Formats formats_of(const RhModel *m, RhBlock block, RhPass pass, const RhShard *shard)
{
    g_autoptr(GArray) kernels = kernels_of(m, block, pass, shard);
    Formats f = {0};
    for (guint i = 0; i < kernels->len; i++) {
        const RhKernel *k = &g_array_index(kernels, RhKernel, i);
        if (k->cls == RH_KERNEL_GEMM)
            *(k->dtype == shard->dtype ? &f.wide : &f.narrow) += k->flops;
        f.cast_bytes += k->cls == RH_KERNEL_CAST ? k->bytes : 0;
    }
    return f;
}

/* Linear layers are narrow in every pass and nothing else is: not routers, not the head. Each casts
 * its input, and the gradient of its output: read 2 bytes, write 1 twice; with current scaling read
 * twice. */
static void a_recipe_narrows_linear_layers_alone(void)
{
    static const RhPass passes[] = {RH_PASS_FORWARD, RH_PASS_BACKWARD_DATA,
                                    RH_PASS_BACKWARD_WEIGHT};
    g_autoptr(RhModel) llama = rh_model_load("llama-3.1-8b", NULL);
    g_autoptr(RhModel) mixtral = rh_model_load("mixtral-8x7b", NULL);
    RhShard shard = shard_of(1, 1024, 1), narrow = shard, current = shard, fourth = shard;
    double n = 1024, h = 4096, f = 14336;
    narrow.recipe = &rh_recipe_fp8;
    current.recipe = &rh_recipe_fp8_current;
    fourth.recipe = &rh_recipe_nvfp4;
    for (size_t p = 0; p < G_N_ELEMENTS(passes); p++) {
        Formats a = formats_of(llama, RH_BLOCK_FFN, passes[p], &shard);
        Formats b = formats_of(llama, RH_BLOCK_FFN, passes[p], &narrow);
        CU_ASSERT_EQUAL(a.narrow + a.cast_bytes + b.wide, 0);
        RH_CHECK_CLOSE(b.narrow, a.wide, 1e-14);
        Formats head = formats_of(llama, RH_BLOCK_HEAD, passes[p], &narrow);
        CU_ASSERT_EQUAL(head.narrow + head.cast_bytes, 0);
    }
    Formats forward = formats_of(llama, RH_BLOCK_FFN, RH_PASS_FORWARD, &narrow);
    RH_CHECK_CLOSE(forward.cast_bytes, 4 * n * (h + f), 1e-14);
    Formats backward = formats_of(llama, RH_BLOCK_FFN, RH_PASS_BACKWARD_DATA, &narrow);
    RH_CHECK_CLOSE(backward.cast_bytes, 4 * n * (h + 2 * f), 1e-14);
    Formats twice = formats_of(llama, RH_BLOCK_FFN, RH_PASS_FORWARD, &current);
    RH_CHECK_CLOSE(twice.cast_bytes, 6 * n * (h + f), 1e-14);
    Formats four = formats_of(llama, RH_BLOCK_FFN, RH_PASS_FORWARD, &fourth);
    RH_CHECK_CLOSE(four.narrow, forward.narrow, 1e-14);
    RH_CHECK_CLOSE(four.cast_bytes, (2 + 2 + 2 * 9.0 / 16) * n * (h + f), 1e-14);
    Formats routed = formats_of(mixtral, RH_BLOCK_FFN, RH_PASS_FORWARD, &narrow);
    RH_CHECK_CLOSE(routed.wide, 2 * n * h * 8, 1e-14);
    RH_CHECK_CLOSE(routed.narrow, 2 * 2 * n * h * 3 * f, 1e-14);
}

static double bytes_of(const RhModel *m, RhBlock block, RhPass pass, const RhShard *shard)
{
    g_autoptr(GArray) kernels = kernels_of(m, block, pass, shard);
    double sum = 0;
    for (guint i = 0; i < kernels->len; i++) {
        const RhKernel *k = &g_array_index(kernels, RhKernel, i);
        sum += k->cls == RH_KERNEL_CAST || k->cls == RH_KERNEL_ACTIVATION ? k->bytes : 0;
    }
    return sum;
}

/* An activation that casts what it writes: with delayed scaling neither the wide output (2 bytes) nor
 * its reading (2 more) remains of f elements forward and 2 f backward; with current scaling one of
 * three passes over it goes; nvfp4 gains nothing. */
static void activations_cast_what_they_write(void)
{
    g_autoptr(RhModel) m = rh_model_load("llama-3.1-8b", NULL);
    static const struct {
        const RhRecipe *recipe;
        double saved;
    } rows[] = {{&rh_recipe_fp8, 4},
                {&rh_recipe_mxfp8, 4},
                {&rh_recipe_fp8_current, 2},
                {&rh_recipe_nvfp4, 0}};
    const double n = 1024, f = 14336;
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        RhShard apart = shard_of(1, 1024, 1);
        apart.recipe = rows[i].recipe;
        RhShard fused = apart;
        fused.fused_casts = true;
        RH_CHECK_CLOSE(bytes_of(m, RH_BLOCK_FFN, RH_PASS_FORWARD, &apart) -
                           bytes_of(m, RH_BLOCK_FFN, RH_PASS_FORWARD, &fused),
                       rows[i].saved * n * f, 1e-12);
        RH_CHECK_CLOSE(bytes_of(m, RH_BLOCK_FFN, RH_PASS_BACKWARD_DATA, &apart) -
                           bytes_of(m, RH_BLOCK_FFN, RH_PASS_BACKWARD_DATA, &fused),
                       rows[i].saved * n * 2 * f, 1e-12);
    }
}

/* A core in fp8 does the same FLOPs, and casts 32 + 8 + 8 heads of 128 forward, the gradient of 32
 * backward: found, read and written, 2 + 2 + 1 bytes. */
static void a_narrow_core_casts_what_it_reads(void)
{
    g_autoptr(RhModel) m = rh_model_load("llama-3.1-8b", NULL);
    static const RhPass passes[] = {RH_PASS_FORWARD, RH_PASS_BACKWARD_DATA};
    const double heads[] = {48, 32};
    for (size_t i = 0; i < G_N_ELEMENTS(passes); i++) {
        RhShard wide = shard_of(1, 1024, 1);
        wide.recipe = &rh_recipe_nvfp4;
        RhShard narrow = wide;
        narrow.narrow_attention = true;
        RhKernel a = attention_of(m, RH_PASS_FORWARD, &wide),
                 b = attention_of(m, RH_PASS_FORWARD, &narrow);
        CU_ASSERT_EQUAL(a.dtype, RH_DTYPE_BF16);
        CU_ASSERT_EQUAL(b.dtype, RH_DTYPE_FP8);
        CU_ASSERT_EQUAL(a.flops, b.flops);
        RH_CHECK_CLOSE(formats_of(m, RH_BLOCK_MIXER, passes[i], &narrow).cast_bytes -
                           formats_of(m, RH_BLOCK_MIXER, passes[i], &wide).cast_bytes,
                       5.0 * 1024 * 128 * heads[i], 1e-12);
    }
}

/* Linear layers keep their inputs for backward in 1 byte: the norm's output and the second GEMM's
 * input; attention's output is kept wide besides, for its own backward. */
static void a_recipe_keeps_operands_narrow(void)
{
    g_autoptr(RhModel) m = rh_model_load("llama-3.1-8b", NULL);
    RhShard shard = shard_of(1, 1024, 1), narrow = shard;
    double n = 1024, h = 4096, f = 14336;
    narrow.recipe = &rh_recipe_fp8;
    RhBlock blocks[] = {RH_BLOCK_MIXER, RH_BLOCK_FFN, RH_BLOCK_HEAD};
    double less[] = {n * h - n * h, n * h + n * f, 0};
    for (size_t b = 0; b < G_N_ELEMENTS(blocks); b++) {
        const RhLayerKind *kind = kind_for(m, blocks[b]);
        RhActivation x = rh_block_activation_bytes(m, kind, blocks[b], &shard);
        RhActivation y = rh_block_activation_bytes(m, kind, blocks[b], &narrow);
        CU_ASSERT_EQUAL(x.kept - y.kept, less[b]);
    }
    RhShard cut = shard_of(2, 1024, 1);
    cut.sequence_parallel = true;
    cut.recipe = &rh_recipe_mxfp8;
    double whole = rh_boundary_bytes(m, &cut);
    CU_ASSERT_EQUAL(rh_block_gathered_bytes(m, &m->kinds[0], RH_BLOCK_FFN, &cut),
                    whole * (33.0 / 32) / 2);
    CU_ASSERT_EQUAL(rh_block_gathered_bytes(m, NULL, RH_BLOCK_HEAD, &cut), whole);
}

/* Two of four weights are zeros: linear layers multiply half the depth, as ones of half the FLOPs. Source:
 * Mishra et al. 2021, arXiv 2104.08378. */
static void sparse_weights_halve_linear_layers(void)
{
    g_autoptr(RhModel) m = rh_model_load("llama-3.1-8b", NULL);
    RhShard dense = shard_of(1, 1024, 1), sparse = dense;
    sparse.recipe = &rh_recipe_sparse_weights;
    Formats a = formats_of(m, RH_BLOCK_FFN, RH_PASS_FORWARD, &dense),
            b = formats_of(m, RH_BLOCK_FFN, RH_PASS_FORWARD, &sparse);
    RH_CHECK_CLOSE(b.narrow + b.wide, (a.narrow + a.wide) / 2, 1e-14);
}

int main(void)
{
    static const RhTest tests[] = {
        {"a_recipe_narrows_linear_layers_alone", a_recipe_narrows_linear_layers_alone},
        {"activations_cast_what_they_write", activations_cast_what_they_write},
        {"a_narrow_core_casts_what_it_reads", a_narrow_core_casts_what_it_reads},
        {"a_recipe_keeps_operands_narrow", a_recipe_keeps_operands_narrow},
        {"sparse_weights_halve_linear_layers", sparse_weights_halve_linear_layers},
        {NULL, NULL},
    };
    return rh_test_main("narrow_formats", tests);
}
