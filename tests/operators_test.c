/* Every operator's row, held to the same properties, and to counts made here by hand. */
#include "workloads/operators/operator.h"

#include <string.h>

#include "tests/testkit.h"

static const RhBlock BLOCKS[] = {RH_BLOCK_EMBEDDING, RH_BLOCK_MIXER, RH_BLOCK_FFN, RH_BLOCK_HEAD};

/* Latent attention as DeepSeek-V2-Lite has it, and as DeepSeek-V3 does, with dense layers. */
#define DEEPSEEK(hidden, heads, q_rank)                                                            \
    "{'model_type': 'deepseek_v2', 'num_hidden_layers': 4, 'hidden_size': " hidden                 \
    ", 'num_attention_heads': " heads ", 'intermediate_size': 10944, 'vocab_size': 102400, "       \
    "'q_lora_rank': " q_rank ", 'kv_lora_rank': 512, 'qk_nope_head_dim': 128, "                    \
    "'qk_rope_head_dim': 64, 'v_head_dim': 128}"
/* Experts in every layer: eight of which a token goes to two, and sixteen of which it goes to four and
 * to a shared one besides. */
#define MIXTRAL                                                                                    \
    "{'model_type': 'mixtral', 'num_hidden_layers': 4, 'hidden_size': 4096, "                      \
    "'num_attention_heads': 32, 'num_key_value_heads': 8, 'intermediate_size': 14336, "            \
    "'num_local_experts': 8, 'num_experts_per_tok': 2, 'vocab_size': 32000}"
#define SHARED                                                                                     \
    "{'model_type': 'deepseek_v3', 'num_hidden_layers': 4, 'hidden_size': 2048, "                  \
    "'num_attention_heads': 16, 'intermediate_size': 10944, 'vocab_size': 102400, "                \
    "'kv_lora_rank': 512, 'qk_nope_head_dim': 128, 'qk_rope_head_dim': 64, 'v_head_dim': 128, "    \
    "'n_routed_experts': 16, 'num_experts_per_tok': 4, 'n_shared_experts': 1, "                    \
    "'moe_intermediate_size': 1408}"
/* Side by side; with a sparse attention's indexer, which 1024 tokens do not need; experts in a latent,
 * and a gated shared one. */
#define NEOX                                                                                       \
    "{'model_type': 'gpt_neox', 'num_hidden_layers': 4, 'hidden_size': 6144, "                     \
    "'num_attention_heads': 64, 'intermediate_size': 24576, 'vocab_size': 50432}"
#define V32                                                                                        \
    "{'model_type': 'deepseek_v32', 'num_hidden_layers': 4, 'hidden_size': 7168, "                 \
    "'num_attention_heads': 128, 'intermediate_size': 18432, 'vocab_size': 129280, "               \
    "'q_lora_rank': 1536, 'kv_lora_rank': 512, 'qk_nope_head_dim': 128, 'qk_rope_head_dim': 64, "  \
    "'v_head_dim': 128, 'index_n_heads': 64, 'index_head_dim': 128, 'index_topk': 2048}"
#define BLOOM                                                                                      \
    "{'model_type': 'bloom', 'n_layer': 4, 'hidden_size': 4096, 'n_head': 32, 'vocab_size': "      \
    "250880}"
#define LATENT                                                                                     \
    "{'model_type': 'nemotron_h', 'num_hidden_layers': 2, 'hidden_size': 4096, "                   \
    "'num_attention_heads': 32, 'num_key_value_heads': 8, 'head_dim': 128, "                       \
    "'intermediate_size': 2688, 'vocab_size': 131072, 'mamba_num_heads': 128, "                    \
    "'mamba_head_dim': 64, 'n_groups': 8, 'ssm_state_size': 128, 'n_routed_experts': 512, "        \
    "'num_experts_per_tok': 22, 'moe_intermediate_size': 2688, 'moe_latent_size': 1024, "          \
    "'moe_shared_expert_intermediate_size': 5376, 'layers_block_type': ['moe', 'attention']}"
#define GATED                                                                                      \
    "{'model_type': 'qwen3_5_moe_text', 'num_hidden_layers': 4, 'hidden_size': 2048, "             \
    "'num_attention_heads': 16, 'num_key_value_heads': 8, 'vocab_size': 248320, "                  \
    "'linear_num_value_heads': 32, 'linear_num_key_heads': 16, 'linear_key_head_dim': 128, "       \
    "'linear_value_head_dim': 128, 'num_experts': 256, 'num_experts_per_tok': 8, "                 \
    "'moe_intermediate_size': 512, 'shared_expert_intermediate_size': 512, "                       \
    "'layer_types': ['full_attention', 'full_attention', 'full_attention', 'full_attention']}"
#define V2_LITE DEEPSEEK("2048", "16", "null")
#define V3      DEEPSEEK("7168", "128", "1536")

/* One of each family, and of each attention. */
static const char *const MODELS[] = {
    "llama-3.1-8b", "mistral-7b", "qwen2.5-7b", "qwen3-32b", "gpt2-xl", V2_LITE, V3,
    MIXTRAL,        SHARED,       NEOX,         V32,         BLOOM,     GATED};

typedef struct {
    double flops, bytes;
    guint kernels;
} Sum;

/* Of the catalogue, or a text with single quotes for double ones. */
static RhModel *load(const char *name)
{
    g_autofree char *text = g_strdelimit(g_strdup(name), "'", '"');
    g_autoptr(RhJson) doc =
        *name == '{' ? rh_json_parse("config.json", text, strlen(text), NULL) : NULL;
    RhModel *m = doc != NULL ? rh_model_parse(doc, "test", NULL) : rh_model_load(name, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    return m;
}

static RhShard shard_of(int32_t tp, int64_t sequence, int64_t microbatch)
{
    return (RhShard){.tp = tp,
                     .sequence = sequence,
                     .microbatch = microbatch,
                     .dtype = RH_DTYPE_BF16,
                     .flash = true,
                     .fused_norms = true,
                     .fused_softmax = true,
                     .fused_elementwise = true};
}

static const RhLayerKind *kind_for(const RhModel *m, RhBlock block)
{
    return block == RH_BLOCK_MIXER || block == RH_BLOCK_FFN ? &m->kinds[0] : NULL;
}

static GArray *kernels_of(const RhModel *m, RhBlock block, RhPass pass, const RhShard *shard)
{
    GArray *out = g_array_new(FALSE, FALSE, sizeof(RhKernel));
    rh_block_kernels(m, kind_for(m, block), block, RH_PART_SEQUENCE, pass, shard, out);
    rh_block_kernels(m, kind_for(m, block), block, RH_PART_TENSOR, pass, shard, out);
    return out;
}

static Sum sum_of(const RhModel *m, RhBlock block, RhPass pass, const RhShard *shard)
{
    g_autoptr(GArray) kernels = kernels_of(m, block, pass, shard);
    Sum sum = {.kernels = kernels->len};
    for (guint i = 0; i < kernels->len; i++) {
        sum.flops += g_array_index(kernels, RhKernel, i).flops;
        sum.bytes += g_array_index(kernels, RhKernel, i).bytes;
    }
    return sum;
}

static RhKernel attention_of(const RhModel *m, RhPass pass, const RhShard *shard)
{
    g_autoptr(GArray) kernels = kernels_of(m, RH_BLOCK_MIXER, pass, shard);
    for (guint i = 0; i < kernels->len; i++)
        if (g_array_index(kernels, RhKernel, i).cls == RH_KERNEL_ATTENTION)
            return g_array_index(kernels, RhKernel, i);
    CU_FAIL_FATAL("no attention");
    return (RhKernel){0};
}

/* --- The table --- */

static void every_row_answers_under_a_name_of_its_own(void)
{
    for (int i = 0; rh_operators[i] != NULL; i++) {
        const RhOperator *op = rh_operators[i];
        CU_ASSERT_PTR_NOT_NULL_FATAL(op->kernels);
        CU_ASSERT_PTR_NOT_NULL_FATAL(op->bytes);
        for (int j = 0; j < i; j++)
            CU_ASSERT_STRING_NOT_EQUAL(rh_operators[j]->name, op->name);
    }
    for (const char *const *name = rh_family_names(); *name != NULL; name++) {
        const RhFamily *family = rh_family_by_name(*name);
        int found = 0;
        for (int i = 0; rh_operators[i] != NULL; i++)
            found += rh_operators[i] == family->mixer || rh_operators[i] == family->ffn;
        CU_ASSERT_EQUAL(found, 2);
        CU_ASSERT_PTR_NOT_NULL(rh_family_by_name(*name)->fields);
        CU_ASSERT_PTR_NOT_NULL(family->mixer->shape);
    }
}

/* --- FLOPs --- */

/* Backward of fused attention has three products with keys and two with values for one each. */
static double backward_of_pairs(const RhModel *m, const RhShard *shard)
{
    RhKernel k = attention_of(m, RH_PASS_FORWARD, shard);
    double key = (double)k.k, value = (double)rh_kernel_v_head(&k);
    return (3 * key + 2 * value) / (key + value);
}

static void kernels_do_the_flops_of_their_row(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(MODELS); i++) {
        g_autoptr(RhModel) m = load(MODELS[i]);
        for (int32_t cut = 1; cut <= 4; cut *= 2) { /* whole, along the sequence, by heads */
            RhShard shard = shard_of(cut == 4 ? 4 : 1, 1024, 2);
            shard.cp = cut == 2 ? 2 : 1;
            shard.recompute = RH_RECOMPUTE_SELECTIVE;
            for (size_t b = 0; b < G_N_ELEMENTS(BLOCKS); b++) {
                RhFlops f = rh_block_flops(m, kind_for(m, BLOCKS[b]), BLOCKS[b], &shard);
                double again = f.pairs > 0 ? backward_of_pairs(m, &shard) : 0;
                RH_CHECK_CLOSE(sum_of(m, BLOCKS[b], RH_PASS_FORWARD, &shard).flops,
                               f.weights + f.pairs, 1e-14);
                RH_CHECK_CLOSE(sum_of(m, BLOCKS[b], RH_PASS_BACKWARD_DATA, &shard).flops,
                               f.weights + again * f.pairs, 1e-14);
                RH_CHECK_CLOSE(sum_of(m, BLOCKS[b], RH_PASS_BACKWARD_WEIGHT, &shard).flops,
                               f.weights, 1e-14);
                CU_ASSERT_EQUAL(sum_of(m, BLOCKS[b], RH_PASS_RECOMPUTE_SELECTIVE, &shard).flops,
                                f.pairs);
            }
        }
    }
}

/* 2 m n k for each product of n tokens, as the papers draw the operators. */
static void flops_are_those_counted_by_hand(void)
{
    const double n = 2048;
    g_autoptr(RhModel) llama = load("llama-3.1-8b");
    g_autoptr(RhModel) qwen = load("qwen3-32b");
    g_autoptr(RhModel) gpt = load("gpt2-xl");
    g_autoptr(RhModel) mistral = load("mistral-7b");
    g_autoptr(RhModel) lite = load(V2_LITE);
    g_autoptr(RhModel) v3 = load(V3);
    g_autoptr(RhModel) mixtral = load(MIXTRAL);
    g_autoptr(RhModel) mixed = load(SHARED);
    g_autoptr(RhModel) neox = load(NEOX);
    g_autoptr(RhModel) v32 = load(V32);
    g_autoptr(RhModel) latent = load(LATENT);
    g_autoptr(RhModel) gated = load(GATED);
    RhShard shard = shard_of(1, 2048, 1), far = shard_of(1, 32768, 1);
    const double far_pairs = 32768.0 * 4096 - 4096.0 * 4096 / 2;
    const struct {
        const RhModel *model;
        RhBlock block;
        const RhShard *shard;
        double weights, pairs;
    } rows[] = {
        /* q, k, v, out; 32 heads of 128 see half of the square in two products */
        {llama, RH_BLOCK_MIXER, &shard,
         2 * n * 4096 * 4096 + 2 * 2 * n * 4096 * (8 * 128) + 2 * n * 4096 * 4096,
         32 * 2 * (2 * 128) * n * n / 2},
        {llama, RH_BLOCK_FFN, &shard, 3 * 2 * n * 4096 * 14336, 0},
        {llama, RH_BLOCK_HEAD, &shard, 2 * n * 4096 * 128256, 0},
        {llama, RH_BLOCK_EMBEDDING, &shard, 0, 0},
        /* 64 heads of 128 on a hidden size of 5120 */
        {qwen, RH_BLOCK_MIXER, &shard,
         2 * n * 5120 * 8192 + 2 * 2 * n * 5120 * 1024 + 2 * n * 8192 * 5120,
         64 * 2 * (2 * 128) * n * n / 2},
        /* two matrices, heads of 64, the vocabulary padded from 50257 */
        {gpt, RH_BLOCK_MIXER, &shard, 4 * 2 * n * 1600 * 1600, 25 * 2 * (2 * 64) * n * n / 2},
        {gpt, RH_BLOCK_FFN, &shard, 2 * 2 * n * 1600 * 6400, 0},
        {gpt, RH_BLOCK_HEAD, &shard, 2 * n * 1600 * 50304, 0},
        /* a window of 4096 in 32768 tokens */
        {mistral, RH_BLOCK_MIXER, &far, 2 * 32768.0 * (2.0 * 4096 * 4096 + 2.0 * 4096 * 1024),
         32 * 2 * (2 * 128) * far_pairs},
        /* queries straight; the latent and the shared key; keys and values out of it; out. Scores
         * are 192 deep, values 128 wide */
        {lite, RH_BLOCK_MIXER, &shard,
         2 * n * 2048 * (16 * 192) + 2 * n * 2048 * (512 + 64) + 2 * n * 512 * (16 * (128 + 128)) +
             2 * n * (16 * 128) * 2048,
         16 * (2 * 192 + 2 * 128) * n * n / 2},
        /* ... queries through a latent of 1536 */
        {v3, RH_BLOCK_MIXER, &shard,
         2 * n * 7168 * 1536 + 2 * n * 1536 * (128 * 192) + 2 * n * 7168 * (512 + 64) +
             2 * n * 512 * (128 * (128 + 128)) + 2 * n * (128 * 128) * 7168,
         128 * (2 * 192 + 2 * 128) * n * n / 2},
        /* a column for each expert, then two of the eight; or four and the shared one */
        {mixtral, RH_BLOCK_FFN, &shard, 2 * n * 4096 * 8 + 2 * 3 * 2 * n * 4096 * 14336, 0},
        {mixed, RH_BLOCK_FFN, &shard, 2 * n * 2048 * 16 + 5 * 3 * 2 * n * 2048 * 1408, 0},
        /* ... 22 of 512 in a latent of 1024, into it and out of it; a shared one beside, not gated */
        {latent, RH_BLOCK_FFN, &shard,
         2 * n * 4096 * 512 + 2 * 2 * n * 4096 * 1024 + 22 * 2 * 2 * n * 1024 * 2688 +
             2 * 2 * n * 4096 * 5376,
         0},
        /* ... the shared one's gate is a column */
        {gated, RH_BLOCK_FFN, &shard, 2 * n * 2048 * (256 + 1) + 9 * 3 * 2 * n * 2048 * 512, 0},
        /* twice the queries, the second half for the gate; 16 heads of 256, 8 of keys and values */
        {gated, RH_BLOCK_MIXER, &shard, 2 * n * 2048 * (2 * 4096 + 2 * 2048) + 2 * n * 4096 * 2048,
         16 * 2 * (2 * 256) * n * n / 2},
        /* attention and two matrices of 4 h in one block */
        {neox, RH_BLOCK_MIXER, &shard, 4 * 2 * n * 6144 * 6144 + 2 * 2 * n * 6144 * 24576,
         64 * 2 * (2 * 96) * n * n / 2},
        {neox, RH_BLOCK_FFN, &shard, 0, 0},
        /* as v3, and the indexer's queries out of the latent, its key, its weights; 2048 tokens are no
         * more than it would leave */
        {v32, RH_BLOCK_MIXER, &shard,
         2 * n * 7168 * 1536 + 2 * n * 1536 * (128 * 192) + 2 * n * 7168 * (512 + 64) +
             2 * n * 512 * (128 * (128 + 128)) + 2 * n * (128 * 128) * 7168 +
             2 * n * 1536 * (64 * 128) + 2 * n * 7168 * 128 + 2 * n * 7168 * 64,
         128 * (2 * 192 + 2 * 128) * n * n / 2},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        RhFlops f = rh_block_flops(rows[i].model, kind_for(rows[i].model, rows[i].block),
                                   rows[i].block, rows[i].shard);
        RH_CHECK_CLOSE(f.weights, rows[i].weights, 1e-14);
        RH_CHECK_CLOSE(f.pairs, rows[i].pairs, 1e-14);
    }
}

/* Entries of matrices that are not cut: those into latents, and routers. */
static double on_every_rank(const RhModel *m, RhBlock block)
{
    const RhLayerKind *kind = &m->kinds[0];
    double columns =
        kind->kv_rank + kind->rope_size + kind->q_rank + kind->index_heads + kind->index_size;
    double queries = (double)kind->q_rank * kind->index_heads * kind->index_size;
    if (block == RH_BLOCK_FFN)
        return (double)m->hidden *
               (kind->experts + (kind->shared_gate ? 1 : 0) + 2.0 * kind->expert_latent);
    return block == RH_BLOCK_MIXER ? (double)m->hidden * columns + queries : 0;
}

static void cutting_conserves_the_flops_of_every_operator(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(MODELS); i++) {
        g_autoptr(RhModel) m = load(MODELS[i]);
        m->vocab = 128 * 1024; /* no padding at any t */
        m->kinds[0].heads = 32;
        m->kinds[0].kv_heads = 8;
        for (int32_t tp = 2; tp <= 8; tp *= 2) {
            RhShard one = shard_of(1, 1024, 2), cut = shard_of(tp, 1024, 2);
            for (size_t b = 0; b < G_N_ELEMENTS(BLOCKS); b++) {
                const RhLayerKind *kind = kind_for(m, BLOCKS[b]);
                RhFlops a = rh_block_flops(m, kind, BLOCKS[b], &one);
                RhFlops c = rh_block_flops(m, kind, BLOCKS[b], &cut);
                double again = (tp - 1) * 2.0 * 2 * 1024 * on_every_rank(m, BLOCKS[b]);
                RH_CHECK_CLOSE(c.weights * tp, a.weights + again, 1e-14);
                RH_CHECK_CLOSE(c.pairs * tp, a.pairs, 1e-14);
                RhParams p = rh_block_params(m, kind, BLOCKS[b], &(RhShard){.tp = 1});
                RhParams q = rh_block_params(m, kind, BLOCKS[b], &(RhShard){.tp = tp});
                RH_CHECK_CLOSE(q.sharded * tp, p.sharded, 1e-14);
                CU_ASSERT_EQUAL(q.replicated, p.replicated);
            }
        }
    }
}

/* A rank of a ring has 1/c of everything but the parameters; what others need are its keys and
 * values. */
static void a_ring_shares_tokens_and_pairs(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(MODELS); i++) {
        g_autoptr(RhModel) m = load(MODELS[i]);
        RhShard one = shard_of(1, 1024, 1), ring = one;
        ring.cp = 4;
        RhFlops a = rh_block_flops(m, &m->kinds[0], RH_BLOCK_MIXER, &one);
        RhFlops c = rh_block_flops(m, &m->kinds[0], RH_BLOCK_MIXER, &ring);
        RH_CHECK_CLOSE(c.weights * 4, a.weights, 1e-14);
        RH_CHECK_CLOSE(c.pairs * 4, a.pairs, 1e-14);
        RhKernel k = attention_of(m, RH_PASS_FORWARD, &one);
        double columns = k.kv_heads * (double)(k.k + rh_kernel_v_head(&k));
        g_autoptr(GArray) kernels = g_array_new(FALSE, FALSE, sizeof(RhKernel));
        g_autoptr(GArray) steps = g_array_new(FALSE, FALSE, sizeof(RhExchange));
        rh_block_pass(m, &m->kinds[0], RH_BLOCK_MIXER, RH_PART_TENSOR, RH_PASS_FORWARD, &ring,
                      kernels, steps);
        CU_ASSERT_EQUAL(steps->len, 4 + 1); /* the last one ends the ring */
        for (int32_t step = 0; step < 4; step++) {
            const RhExchange *x = &g_array_index(steps, RhExchange, step);
            CU_ASSERT_EQUAL(x->kind, RH_EXCHANGE_RING);
            CU_ASSERT_EQUAL(x->step, step);
            CU_ASSERT_EQUAL(x->bytes, 2 * 256 * columns);
        }
    }
}

static double pairs_flops(const GArray *kernels, RhKernelClass cls)
{
    double sum = 0;
    for (guint i = 0; i < kernels->len; i++)
        if (g_array_index(kernels, RhKernel, i).cls == cls)
            sum += g_array_index(kernels, RhKernel, i).flops;
    return sum;
}

/* Whatever ranks exchange, each computes 1/c of the pairs. Gathered are the keys and values of all r
 * that have the same heads; exchanged queries, keys and values, and the output; a key-value head that
 * is not enough for all goes to several. */
static void context_ranks_share_pairs_whatever_they_exchange(void)
{
    static const struct {
        int32_t cp, ulysses;
        RhContextKind kv;
    } cuts[] = {{4, 1, RH_CONTEXT_GATHER}, {4, 4, RH_CONTEXT_RING},   {8, 8, RH_CONTEXT_RING},
                {8, 2, RH_CONTEXT_RING},   {8, 4, RH_CONTEXT_GATHER}, {2, 1, RH_CONTEXT_RING}};
    static const char *const models[] = {"llama-3.1-8b", "deepseek-v3"};
    for (size_t i = 0; i < G_N_ELEMENTS(models) * G_N_ELEMENTS(cuts); i++) {
        g_autoptr(RhModel) m = rh_model_load(models[i % 2], NULL);
        const RhLayerKind *kind = &m->kinds[0];
        RhShard one = shard_of(2, 1024, 2), cut = one;
        int32_t c = cut.cp = cuts[i / 2].cp, u = cut.ulysses = cuts[i / 2].ulysses, r = c / u;
        cut.kv = cuts[i / 2].kv;
        RhKernel whole = attention_of(m, RH_PASS_FORWARD, &one);
        double n = 2 * 1024.0 / c, heads = whole.heads, kv = MAX(whole.kv_heads, u);
        double values = (double)rh_kernel_v_head(&whole), keys = (double)whole.k;
        double in = 2 * n * (heads * keys + kv * (keys + values)), out = 2 * n * heads * values;
        for (int back = 0; back < 2; back++) {
            RhPass pass = back ? RH_PASS_BACKWARD_DATA : RH_PASS_FORWARD;
            RhKernelClass cls = back ? RH_KERNEL_ATTENTION_BACKWARD : RH_KERNEL_ATTENTION;
            g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(RhKernel));
            g_autoptr(GArray) kernels = g_array_new(FALSE, FALSE, sizeof(RhKernel));
            g_autoptr(GArray) marks = g_array_new(FALSE, FALSE, sizeof(RhExchange));
            double bytes[RH_EXCHANGE_COMBINE + 1] = {0};
            rh_block_kernels(m, kind, RH_BLOCK_MIXER, RH_PART_TENSOR, pass, &one, all);
            rh_block_pass(m, kind, RH_BLOCK_MIXER, RH_PART_TENSOR, pass, &cut, kernels, marks);
            RH_CHECK_CLOSE(c * pairs_flops(kernels, cls), pairs_flops(all, cls), 1e-14);
            for (guint k = 0; k < marks->len; k++)
                bytes[g_array_index(marks, RhExchange, k).kind] +=
                    g_array_index(marks, RhExchange, k).bytes;
            double others = 2 * n * kv * (keys + values); /* of the tokens of u ranks, on each */
            bool gathers = r > 1 && cut.kv == RH_CONTEXT_GATHER;
            RH_CHECK_CLOSE(bytes[RH_EXCHANGE_HEADS], u > 1 ? in + out : 0, 1e-14);
            RH_CHECK_CLOSE(bytes[RH_EXCHANGE_GATHER], gathers ? r * others : 0, 1e-14);
            RH_CHECK_CLOSE(bytes[RH_EXCHANGE_SUM], gathers && back ? r * others : 0, 1e-14);
            RH_CHECK_CLOSE(bytes[RH_EXCHANGE_RING], r > 1 && !gathers ? r * others * (1 + back) : 0,
                           1e-14);
        }
        /* Kept besides: the output before it goes back, and key-value heads that several have. */
        RhActivation ring, heads_kept;
        RhShard plain = cut;
        plain.ulysses = 1;
        ring = rh_block_activation_bytes(m, kind, RH_BLOCK_MIXER, &plain);
        heads_kept = rh_block_activation_bytes(m, kind, RH_BLOCK_MIXER, &cut);
        double again = 2 * n * (kv - whole.kv_heads) * (keys + values);
        RH_CHECK_CLOSE(heads_kept.kept, ring.kept + (u > 1 ? out + again : 0), 1e-14);
    }
}

/* Of one pass: FLOPs of GEMMs by format, and bytes of casts. */
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

/* What a linear layer reads backward is kept in 1 byte: the norm's output and the second GEMM's
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

/* Unfused attention computes both halves of the square: twice the pairs, and twice that backward.
 */
static void unfused_attention_computes_the_whole_square(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(MODELS); i++) {
        g_autoptr(RhModel) m = load(MODELS[i]);
        RhShard shard = shard_of(1, 1024, 2);
        shard.flash = false;
        RhFlops f = rh_block_flops(m, &m->kinds[0], RH_BLOCK_MIXER, &shard);
        RH_CHECK_CLOSE(sum_of(m, RH_BLOCK_MIXER, RH_PASS_FORWARD, &shard).flops,
                       f.weights + 2 * f.pairs, 1e-14);
        RH_CHECK_CLOSE(sum_of(m, RH_BLOCK_MIXER, RH_PASS_BACKWARD_DATA, &shard).flops,
                       f.weights + 4 * f.pairs, 1e-14);
    }
}

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

/* What is not tagged as assumed is a count of tensors that are read and written, 2 B an element. */
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

/* --- Layers --- */

/* A layer may be of one operator alone (a state-space hybrid's layers are): the absent one costs
 * nothing, and the layer's input is kept by the one there is. */
static void a_layer_may_have_one_operator_alone(void)
{
    g_autoptr(RhModel) m = load("llama-3.1-8b");
    RhShard shard = shard_of(2, 1024, 1);
    int64_t whole = rh_model_params(m);
    RhParams mixer = rh_block_params(m, &m->kinds[0], RH_BLOCK_MIXER, &(RhShard){.tp = 1});
    m->kinds[0].mixer = NULL;
    CU_ASSERT_EQUAL(rh_model_params(m),
                    whole - m->layers_count * (int64_t)(mixer.sharded + mixer.replicated));
    for (RhPass pass = RH_PASS_FORWARD; pass < RH_PASS_LAST; pass++)
        CU_ASSERT_EQUAL(sum_of(m, RH_BLOCK_MIXER, pass, &shard).kernels, 0);
    shard.recompute = RH_RECOMPUTE_FULL;
    RhActivation none = rh_block_activation_bytes(m, &m->kinds[0], RH_BLOCK_MIXER, &shard);
    RhActivation ffn = rh_block_activation_bytes(m, &m->kinds[0], RH_BLOCK_FFN, &shard);
    CU_ASSERT_TRUE(none.kept == 0 && none.forward == 0 && none.backward == 0);
    CU_ASSERT_EQUAL(ffn.kept, 2.0 * 1024 * 4096);
    CU_ASSERT_STRING_EQUAL(rh_operator_name(m->kinds[0].mixer), "none");
}

int main(void)
{
    return rh_test_main(
        "operators",
        (RhTest[]){
            {"every_row_answers_under_a_name_of_its_own",
             every_row_answers_under_a_name_of_its_own},
            {"kernels_do_the_flops_of_their_row", kernels_do_the_flops_of_their_row},
            {"flops_are_those_counted_by_hand", flops_are_those_counted_by_hand},
            {"cutting_conserves_the_flops_of_every_operator",
             cutting_conserves_the_flops_of_every_operator},
            {"a_ring_shares_tokens_and_pairs", a_ring_shares_tokens_and_pairs},
            {"context_ranks_share_pairs_whatever_they_exchange",
             context_ranks_share_pairs_whatever_they_exchange},
            {"a_recipe_narrows_linear_layers_alone", a_recipe_narrows_linear_layers_alone},
            {"a_recipe_keeps_operands_narrow", a_recipe_keeps_operands_narrow},
            {"unfused_attention_computes_the_whole_square",
             unfused_attention_computes_the_whole_square},
            {"latent_attention_keeps_whole_keys_and_values",
             latent_attention_keeps_whole_keys_and_values},
            {"a_mixture_keeps_a_copy_for_each_expert", a_mixture_keeps_a_copy_for_each_expert},
            {"latent_attention_decodes_from_latents", latent_attention_decodes_from_latents},
            {"fused_kernels_touch_each_tensor_once", fused_kernels_touch_each_tensor_once},
            {"few tokens ask few experts", few_tokens_ask_few_experts},
            {"every_eager_norm_keeps_its_copies", every_eager_norm_keeps_its_copies},
            {"bytes_grow_with_the_micro_batch", bytes_grow_with_the_micro_batch},
            {"a_prompt_needs_what_forward_needs_but_one_row_of_logits",
             a_prompt_needs_what_forward_needs_but_one_row_of_logits},
            {"a_token_reads_every_weight_and_its_cache", a_token_reads_every_weight_and_its_cache},
            {"serving_has_no_dropout", serving_has_no_dropout},
            {"a_layer_may_have_one_operator_alone", a_layer_may_have_one_operator_alone},
            {0}});
}
