/* Bytes that operators move and keep, and their work in serving. */
#include "tests/kit/operators_kit.h"

/* --- Bytes --- */

/* Bytes of the kernels of one class in a pass. */
static double bytes_of(const RhModel *m, RhBlock block, RhPass pass, RhKernelClass cls)
{
    RhShard shard = shard_of(1, 1024, 1);
    g_autoptr(GArray) kernels = kernels_of(m, block, pass, &shard);
    double bytes = 0;
    for (guint i = 0; i < kernels->len; i++)
        if (g_array_index(kernels, RhKernel, i).cls == cls)
            bytes += g_array_index(kernels, RhKernel, i).bytes;
    return bytes;
}

/* Bytes that are not assumed are counts of tensors read and written, 2 B an element. */
static void fused_kernels_touch_each_tensor_once(void)
{
    const double n = 1024, f = 14336, h = 4096, heads = (32 + 8) * 128;
    g_autoptr(RhModel) llama = load("llama-3.1-8b");
    g_autoptr(RhModel) gpt = load("gpt2-xl");
    g_autoptr(RhModel) lite = load(V2_LITE);
    const struct {
        const RhModel *model;
        RhBlock block;
        RhPass pass;
        RhKernelClass cls;
        double bytes;
    } rows[] = {
        {llama, RH_BLOCK_FFN, RH_PASS_FORWARD, RH_KERNEL_ACTIVATION, 2 * n * 3 * f},
        {llama, RH_BLOCK_FFN, RH_PASS_BACKWARD_DATA, RH_KERNEL_ACTIVATION, 2 * n * 5 * f},
        {gpt, RH_BLOCK_FFN, RH_PASS_FORWARD, RH_KERNEL_ACTIVATION, 2 * n * 2 * 6400},
        {gpt, RH_BLOCK_FFN, RH_PASS_BACKWARD_DATA, RH_KERNEL_ACTIVATION, 2 * n * 3 * 6400},
        {llama, RH_BLOCK_MIXER, RH_PASS_FORWARD, RH_KERNEL_ROTARY, 2 * n * 2 * heads},
        /* rotated: 64 columns of each head's query and of the one shared key; put together: keys of
         * 192 and values of 128 */
        {lite, RH_BLOCK_MIXER, RH_PASS_FORWARD, RH_KERNEL_ROTARY,
         2 * n * 2 * (17 * 64 + 16 * (192 + 128))},
        {llama, RH_BLOCK_MIXER, RH_PASS_FORWARD, RH_KERNEL_ADD, 2 * n * 3 * h},
        {llama, RH_BLOCK_HEAD, RH_PASS_FORWARD, RH_KERNEL_CROSS_ENTROPY,
         n * 128256 * (2 + 4 + 4 + 4)},
        {llama, RH_BLOCK_HEAD, RH_PASS_BACKWARD_DATA, RH_KERNEL_CROSS_ENTROPY,
         n * 128256 * (4 + 4 + 2)},
        {gpt, RH_BLOCK_EMBEDDING, RH_PASS_BACKWARD_DATA, RH_KERNEL_ADD, n * 1600 * (2 + 2 + 1)},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        RH_CHECK_CLOSE(bytes_of(rows[i].model, rows[i].block, rows[i].pass, rows[i].cls),
                       rows[i].bytes, 1e-14);
}

/* Twice the samples keep twice the bytes, and work in twice as many (but for the table's gradient);
 * a core is part of what is kept. */
static void bytes_grow_with_the_micro_batch(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(MODELS); i++) {
        g_autoptr(RhModel) m = load(MODELS[i]);
        for (int form = 0; form < 4; form++) {
            RhShard one = shard_of(2, 1024, 1);
            one.flash = (form & 1) != 0;
            one.fused_norms = one.fused_softmax = one.fused_elementwise = (form & 2) != 0;
            RhShard two = one;
            two.microbatch = 2;
            for (size_t b = 0; b < G_N_ELEMENTS(BLOCKS); b++)
                for (RhRecompute r = RH_RECOMPUTE_NONE; r < RH_RECOMPUTE_LAST; r++) {
                    const RhLayerKind *kind = kind_for(m, BLOCKS[b]);
                    one.recompute = two.recompute = r;
                    RhActivation x = rh_block_activation_bytes(m, kind, BLOCKS[b], &one);
                    RhActivation y = rh_block_activation_bytes(m, kind, BLOCKS[b], &two);
                    CU_ASSERT_EQUAL(y.kept, 2 * x.kept);
                    CU_ASSERT_EQUAL(y.forward, 2 * x.forward);
                    CU_ASSERT_TRUE(y.backward == 2 * x.backward || BLOCKS[b] == RH_BLOCK_EMBEDDING);
                }
        }
    }
}

/* A token of a layer: input, normed input, latents before and after their norm, the shared key,
 * queries, whole keys and values, output, log-sum-exp. */
static void latent_attention_keeps_whole_keys_and_values(void)
{
    g_autoptr(RhModel) lite = load(V2_LITE);
    g_autoptr(RhModel) v3 = load(V3);
    RhShard shard = shard_of(2, 1024, 1);
    double columns = 2 * 2048 + 2 * 512 + 64 + (2 * 192 + 2 * 128) * 16 / 2.0;
    RH_CHECK_CLOSE(rh_block_activation_bytes(lite, &lite->kinds[0], RH_BLOCK_MIXER, &shard).kept,
                   1024 * (2 * columns + 4 * 16 / 2.0), 1e-14);
    columns = 2 * 7168 + 2 * 1536 + 2 * 512 + 64 + (2 * 192 + 2 * 128) * 128 / 2.0;
    RH_CHECK_CLOSE(rh_block_activation_bytes(v3, &v3->kinds[0], RH_BLOCK_MIXER, &shard).kept,
                   1024 * (2 * columns + 4 * 128 / 2.0), 1e-14);
}

/* A token of a mixture's ffn: its input, the normed input, a probability of each expert; for each of its
 * experts a copy of it, gate and up, their product. */
static void a_mixture_keeps_a_copy_for_each_expert(void)
{
    g_autoptr(RhModel) mixtral = load(MIXTRAL);
    g_autoptr(RhModel) mixed = load(SHARED);
    RhShard shard = shard_of(2, 1024, 1);
    RH_CHECK_CLOSE(
        rh_block_activation_bytes(mixtral, &mixtral->kinds[0], RH_BLOCK_FFN, &shard).kept,
        1024 * (2 * 2 * 4096 + 4 * 8 + 2 * 2 * (4096 + 3 * 14336 / 2.0)), 1e-14);
    RH_CHECK_CLOSE(rh_block_activation_bytes(mixed, &mixed->kinds[0], RH_BLOCK_FFN, &shard).kept,
                   1024 * (2 * 2 * 2048 + 4 * 16 + 4 * 2 * (2048 + 3 * 704) + 2 * 3 * 704), 1e-14);
}

/* A grouped GEMM reads as many experts as T draws of k of E, without repeats in one, touch in the mean:
 * E (1 - (1 - k/E)^T). */
static void few_tokens_ask_few_experts(void)
{
    static const struct {
        const char *model;
        int64_t tokens, busy;
    } cases[] = {{MIXTRAL, 1, 2},                                  /* 8 (1 - 0.75) */
                 {MIXTRAL, 2, 4},                                  /* 8 (1 - 0.75^2) = 3.5 */
                 {MIXTRAL, 4, 5},                                  /* 8 (1 - 0.75^4) = 5.47 */
                 {MIXTRAL, 64, 8}, {SHARED, 1, 4}, {SHARED, 2, 7}, /* 16 (1 - 0.75^2) */
                 {SHARED, 256, 16}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(RhModel) m = load(cases[i].model);
        RhShard shard = shard_of(1, 1024, (int64_t)cases[i].tokens);
        const RhLayerKind *kind = &m->kinds[m->kind_of_layer[m->layers_count - 1]];
        g_autoptr(GArray) kernels = g_array_new(FALSE, FALSE, sizeof(RhKernel));
        rh_block_kernels(m, kind, RH_BLOCK_FFN, RH_PART_TENSOR, RH_PASS_DECODE, &shard, kernels);
        int64_t busy = 0;
        for (guint k = 0; k < kernels->len; k++)
            busy = MAX(busy, g_array_index(kernels, RhKernel, k).batch);
        CU_ASSERT_EQUAL(busy, cases[i].busy);
    }
}

/* Two fp32 copies of whatever an eager RMS norm is given: the hidden state, queries and keys that
 * have a norm, latents; and queries and keys before an eager rotation, where no norm keeps them. */
static void every_eager_norm_keeps_its_copies(void)
{
    static const struct {
        const char *model;
        double elements; /* of a token, in the norms of a mixer */
        double rotated;
    } rows[] = {
        {"llama-3.1-8b", 4096, 5120},
        {"qwen3-32b", 5120 + (64 + 8) * 128, 0},
        {"gpt2-xl", 0, 0}, /* layer norm: one kernel, no copies */
        {V2_LITE, 2048 + 512, 0},
        {V3, 7168 + 512 + 1536, 0},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(RhModel) m = load(rows[i].model);
        RhShard fused = shard_of(1, 1024, 1), eager = fused;
        eager.fused_norms = eager.fused_softmax = eager.fused_elementwise = false;
        RhActivation a = rh_block_activation_bytes(m, &m->kinds[0], RH_BLOCK_MIXER, &fused);
        RhActivation b = rh_block_activation_bytes(m, &m->kinds[0], RH_BLOCK_MIXER, &eager);
        RH_CHECK_CLOSE(b.kept - a.kept, 1024 * (8 * rows[i].elements + 2 * rows[i].rotated), 1e-12);
    }
}

/* --- Serving --- */

static void a_prompt_needs_what_forward_needs_but_one_row_of_logits(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(MODELS); i++) {
        g_autoptr(RhModel) m = load(MODELS[i]);
        RhShard shard = shard_of(1, 1024, 3);
        for (RhBlock b = RH_BLOCK_MIXER; b <= RH_BLOCK_FFN; b++) {
            Sum training = sum_of(m, b, RH_PASS_FORWARD, &shard);
            Sum prefill = sum_of(m, b, RH_PASS_PREFILL, &shard);
            CU_ASSERT_EQUAL(prefill.flops, training.flops);
            CU_ASSERT_EQUAL(prefill.kernels, training.kernels);
            CU_ASSERT_TRUE(prefill.bytes <= training.bytes); /* no statistics, no dropout */
        }
        double head = rh_block_params(m, NULL, RH_BLOCK_HEAD, &(RhShard){.tp = 1}).sharded;
        CU_ASSERT_EQUAL(sum_of(m, RH_BLOCK_HEAD, RH_PASS_PREFILL, &shard).flops, 3 * 2 * head);
    }
}

/* 2 FLOPs a weight and token, and 4 d for each head and token of the cache; the bytes of decoding
 * are the weights and the cache. */
static void a_token_reads_every_weight_and_its_cache(void)
{
    g_autoptr(RhModel) m = load("llama-3.1-8b");
    const double batch = 16, context = 8192;
    RhShard shard = shard_of(1, 8192, 16);
    double weights = 4096.0 * (4096 + 2 * 1024) + 4096.0 * 4096, ffn = 3.0 * 4096 * 14336;
    double cache = batch * context * 2 * 1024 * 2;
    Sum mixer = sum_of(m, RH_BLOCK_MIXER, RH_PASS_DECODE, &shard);
    RH_CHECK_CLOSE(mixer.flops, batch * (2 * weights + 4 * 128 * 32 * context), 1e-14);
    CU_ASSERT_TRUE(mixer.bytes > 2 * weights + cache);
    CU_ASSERT_TRUE(mixer.bytes < 1.01 * (2 * weights + cache));
    RH_CHECK_CLOSE(sum_of(m, RH_BLOCK_FFN, RH_PASS_DECODE, &shard).flops, batch * 2 * ffn, 1e-14);
    RhKernel k = attention_of(m, RH_PASS_DECODE, &shard);
    CU_ASSERT_TRUE(k.batch == 16 && k.m == 1 && k.n == 8192 && !k.causal);
    m->kinds[0].window_tokens = 1000; /* the cache beyond a window is not read */
    k = attention_of(m, RH_PASS_DECODE, &shard);
    CU_ASSERT_EQUAL(k.n, 1000);
    RH_CHECK_CLOSE(k.flops, batch * 4 * 128 * 32 * 1000, 1e-14);
}

/* Decoding reads 576 columns a token of the cache, whatever the heads; the matrix out of the latent
 * is multiplied into queries and outputs, with the FLOPs it had. */
static void latent_attention_decodes_from_latents(void)
{
    g_autoptr(RhModel) m = load(V2_LITE);
    const double batch = 16, context = 8192;
    RhShard shard = shard_of(1, 8192, 16);
    double weights = 2048.0 * (16 * 192) + 2048.0 * 576 + 512.0 * (16 * 256) + 2048.0 * 2048;
    RH_CHECK_CLOSE(sum_of(m, RH_BLOCK_MIXER, RH_PASS_DECODE, &shard).flops,
                   batch * (2 * weights + 16 * context * (2 * 576 + 2 * 512)), 1e-14);
    RhKernel k = attention_of(m, RH_PASS_DECODE, &shard);
    CU_ASSERT_TRUE(k.heads == 16 && k.kv_heads == 1 && k.k == 576 && k.v_head == 512);
    RH_CHECK_CLOSE(k.bytes, 2 * batch * (context * 576 + 16 * (576 + 512)), 1e-14);
}

static void serving_has_no_dropout(void)
{
    g_autoptr(RhModel) m = load("gpt2-xl");
    g_autoptr(RhModel) plain = load("gpt2-xl");
    CU_ASSERT_TRUE(m->hidden_dropout);
    CU_ASSERT_TRUE(rh_model_set(plain, "hidden_dropout", "off", NULL));
    RhShard shard = shard_of(1, 512, 1);
    for (size_t b = 0; b < G_N_ELEMENTS(BLOCKS); b++)
        CU_ASSERT_EQUAL(sum_of(m, BLOCKS[b], RH_PASS_DECODE, &shard).bytes,
                        sum_of(plain, BLOCKS[b], RH_PASS_DECODE, &shard).bytes);
}

int main(void)
{
    return rh_test_main(
        "operators_bytes",
        (RhTest[]){
            {"fused_kernels_touch_each_tensor_once", fused_kernels_touch_each_tensor_once},
            {"bytes_grow_with_the_micro_batch", bytes_grow_with_the_micro_batch},
            {"latent_attention_keeps_whole_keys_and_values",
             latent_attention_keeps_whole_keys_and_values},
            {"a_mixture_keeps_a_copy_for_each_expert", a_mixture_keeps_a_copy_for_each_expert},
            {"few_tokens_ask_few_experts", few_tokens_ask_few_experts},
            {"every_eager_norm_keeps_its_copies", every_eager_norm_keeps_its_copies},
            {"a_prompt_needs_what_forward_needs_but_one_row_of_logits",
             a_prompt_needs_what_forward_needs_but_one_row_of_logits},
            {"a_token_reads_every_weight_and_its_cache", a_token_reads_every_weight_and_its_cache},
            {"latent_attention_decodes_from_latents", latent_attention_decodes_from_latents},
            {"serving_has_no_dropout", serving_has_no_dropout},
            {0}});
}
