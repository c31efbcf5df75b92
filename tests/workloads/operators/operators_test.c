/* Every operator's row, held to the same properties, and to counts made here by hand. */
#include "workloads/operators/operator.h"

#include <math.h>
#include <string.h>

#include "tests/kit/operators_kit.h"

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
    double columns = kind->kv_lora_rank + kind->qk_rope_head_dim + kind->q_lora_rank +
                     kind->index_n_heads + kind->index_head_dim;
    double queries = (double)kind->q_lora_rank * kind->index_n_heads * kind->index_head_dim;
    if (block == RH_BLOCK_FFN)
        return (double)m->hidden *
               (kind->experts + (kind->shared_gate ? 1 : 0) + 2.0 * kind->moe_latent);
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
                      (RhBlockList){kernels, steps});
        CU_ASSERT_EQUAL(steps->len, 4 + 1); /* the last one ends the ring */
        for (int32_t step = 0; step < 4; step++) {
            const RhExchange *x = &g_array_index(steps, RhExchange, step);
            CU_ASSERT_EQUAL(x->kind, RH_EXCHANGE_RING);
            CU_ASSERT_EQUAL(x->step, step);
            CU_ASSERT_EQUAL(x->bytes, 2 * 256 * columns);
        }
    }
}

/* PyTorch's compiled ring: each rank gathers the keys and values of all heads before the first block,
 * and backward passes their gradients on in fp32 after every block. */
static void a_ring_of_gathered_heads_waits_for_what_it_exchanges(void)
{
    g_autoptr(RhModel) m = rh_model_load("llama-3.1-8b", NULL);
    RhShard one = shard_of(2, 1024, 2), ring = one;
    ring.cp = 4;
    ring.gathers_heads = true;
    RhKernel k = attention_of(m, RH_PASS_FORWARD, &one);
    /* numbers that a rank has of 2 x 1,024 / 4 tokens */
    double own = 512 * (double)k.heads * (double)(k.k + rh_kernel_v_head(&k));
    for (int back = 0; back < 2; back++) {
        g_autoptr(GArray) kernels = g_array_new(FALSE, FALSE, sizeof(RhKernel));
        g_autoptr(GArray) marks = g_array_new(FALSE, FALSE, sizeof(RhExchange));
        rh_block_pass(m, &m->kinds[0], RH_BLOCK_MIXER, RH_PART_TENSOR,
                      back ? RH_PASS_BACKWARD_DATA : RH_PASS_FORWARD, &ring,
                      (RhBlockList){kernels, marks});
        double gathered = 0, passed_on = 0;
        for (guint i = 0; i < marks->len; i++) {
            const RhExchange *x = &g_array_index(marks, RhExchange, i);
            CU_ASSERT_NOT_EQUAL(x->kind, RH_EXCHANGE_RING); /* nothing travels beside a block */
            gathered += x->kind == RH_EXCHANGE_GATHER ? x->bytes : 0;
            passed_on += x->kind == RH_EXCHANGE_SHIFT ? x->bytes : 0;
        }
        RH_CHECK_CLOSE(gathered, 4 * 2 * own, 1e-14); /* of four ranks, in bf16 */
        RH_CHECK_CLOSE(passed_on, back ? 4 * 4 * own : 0, 1e-14);
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

/* Each context rank computes 1/c of the pairs, whatever ranks exchange. Gathered are the keys and
 * values of all r that have the same heads; exchanged queries, keys and values, and the output; a
 * key-value head that is not enough for all goes to several. */
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
            rh_block_pass(m, kind, RH_BLOCK_MIXER, RH_PART_TENSOR, pass, &cut,
                          (RhBlockList){kernels, marks});
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

/* Block-sparse attention without fusion scores the keys of a query's blocks, which a mask over all keys would not
 * save. Source: Child et al. 2019 (arXiv 1904.10509), section 5.4: kernels of blocks skip the rest. */
static void block_sparse_attention_scores_its_blocks(void)
{
#define BIGBIRD(more)                                                                              \
    "{'model_type': 'big_bird', 'vocab_size': 50358, 'max_position_embeddings': 4096, "            \
    "'num_hidden_layers': 2, 'hidden_size': 768, 'num_attention_heads': 12, "                      \
    "'intermediate_size': 3072" more "}"
    static const char *const text[] = {BIGBIRD(""), BIGBIRD(", 'attention_type': 'original_full'")};
#undef BIGBIRD
    RhShard shard = shard_of(1, 4096, 2);
    shard.flash = false;
    double flops[2], kept[2], of_weights = 0;
    for (int full = 0; full < 2; full++) {
        g_autoptr(RhModel) m = load(text[full]);
        RhFlops f = rh_block_flops(m, &m->kinds[0], RH_BLOCK_MIXER, &shard);
        of_weights = f.weights;
        flops[full] = sum_of(m, RH_BLOCK_MIXER, RH_PASS_FORWARD, &shard).flops - f.weights;
        kept[full] = rh_block_activation_bytes(m, &m->kinds[0], RH_BLOCK_MIXER, &shard).kept;
        RH_CHECK_CLOSE(flops[full], f.pairs, 1e-14); /* all pairs that are scored are seen */
        m->kinds[0].keys_in_blocks = false;          /* a mask instead: the whole square */
        RH_CHECK_CLOSE(sum_of(m, RH_BLOCK_MIXER, RH_PASS_FORWARD, &shard).flops,
                       of_weights + 4096.0 / 512 * flops[0], 1e-14);
    }
    RH_CHECK_CLOSE(flops[1], 4096.0 / 512 * flops[0], 1e-14);
    CU_ASSERT_TRUE(kept[0] < 0.25 * kept[1]);
}

/* Where each expert is sent as many rows by every rank, 4 at least, all of them compute, and what is sent is theirs.
 * Source: deepspeedai/DeepSpeed v0.19.5, deepspeed/moe/sharded_moe.py, _capacity and the einsums of MOELayer. */
static void filled_experts_compute_what_they_are_sent(void)
{
    g_autoptr(RhModel) m = load(MIXTRAL); /* 2 of 8 experts */
    const RhLayerKind *kind = &m->kinds[0];
    for (int64_t tokens = 1; tokens <= 4096; tokens *= 64) {
        RhShard even = shard_of(1, tokens, 1);
        even.ep = 4;
        RhShard filled = even, products = even;
        filled.fills_experts = products.fills_experts = products.sorts_by_products = true;
        double asked = 2.0 * (double)tokens, sent = 8 * MAX(ceil(asked / 8), 4);
        double router = 2.0 * (double)tokens * 8 * (double)m->hidden;
        double whole = rh_block_flops(m, kind, RH_BLOCK_FFN, &even).weights - router;
        RH_CHECK_CLOSE(rh_block_flops(m, kind, RH_BLOCK_FFN, &filled).weights,
                       router + whole * sent / asked, 1e-12);
        double sorted = 2 * (double)tokens * sent * (double)m->hidden;
        for (RhPass pass = RH_PASS_FORWARD; pass <= RH_PASS_BACKWARD_DATA; pass++)
            RH_CHECK_CLOSE(sum_of(m, RH_BLOCK_FFN, pass, &products).flops,
                           sum_of(m, RH_BLOCK_FFN, pass, &filled).flops +
                               (pass == RH_PASS_FORWARD ? 2 : 3) * sorted,
                           1e-12);
        filled.ep = even.ep = 1; /* every rank has a part of all: nothing is sent */
        CU_ASSERT_EQUAL(rh_block_flops(m, kind, RH_BLOCK_FFN, &filled).weights,
                        rh_block_flops(m, kind, RH_BLOCK_FFN, &even).weights);
    }
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

static double norm_bytes(const RhModel *m, const RhShard *shard, RhPass pass)
{
    g_autoptr(GArray) kernels = g_array_new(FALSE, FALSE, sizeof(RhKernel));
    double sum = 0;
    rh_block_kernels(m, &m->kinds[0], RH_BLOCK_FFN, RH_PART_SEQUENCE, pass, shard, kernels);
    for (guint i = 0; i < kernels->len; i++)
        if (g_array_index(kernels, RhKernel, i).cls == RH_KERNEL_NORM)
            sum += g_array_index(kernels, RhKernel, i).bytes;
    return sum;
}

/* Passes over tensors that cannot be counted are facts of the stack; without one the same are
 * assumed. */
static void passes_move_what_the_stack_says(void)
{
    g_autoptr(RhModel) m = rh_model_load("llama-3.2-1b", NULL);
    RhPasses passes = RH_PASSES_ASSUMED;
    RhShard fused = {.tp = 1, .sequence = 1024, .microbatch = 1, .fused_norms = true};
    RhShard said = fused, eager = {.tp = 1, .sequence = 1024, .microbatch = 1};
    fused.dtype = said.dtype = eager.dtype = RH_DTYPE_BF16;
    said.passes = eager.passes = &passes;
    double forward = norm_bytes(m, &fused, RH_PASS_FORWARD);
    CU_ASSERT_EQUAL(forward, 8.0 * 1024 * 2048);
    CU_ASSERT_EQUAL(norm_bytes(m, &said, RH_PASS_FORWARD), forward);
    RH_CHECK_CLOSE(norm_bytes(m, &eager, RH_PASS_FORWARD), 68.0 * 1024 * 2048, 1e-12);
    passes.norm_bytes.value = 4;
    passes.backward_excess.value = 1.5;
    CU_ASSERT_EQUAL(norm_bytes(m, &said, RH_PASS_FORWARD), forward / 2);
    RH_CHECK_CLOSE(norm_bytes(m, &said, RH_PASS_BACKWARD_DATA), 1.5 * forward / 2, 1e-12);
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
            {"a_ring_of_gathered_heads_waits_for_what_it_exchanges",
             a_ring_of_gathered_heads_waits_for_what_it_exchanges},
            {"context_ranks_share_pairs_whatever_they_exchange",
             context_ranks_share_pairs_whatever_they_exchange},
            {"unfused_attention_computes_the_whole_square",
             unfused_attention_computes_the_whole_square},
            {"filled_experts_compute_what_they_are_sent",
             filled_experts_compute_what_they_are_sent},
            {"block_sparse_attention_scores_its_blocks", block_sparse_attention_scores_its_blocks},
            {"passes_move_what_the_stack_says", passes_move_what_the_stack_says},
            {"a_layer_may_have_one_operator_alone", a_layer_may_have_one_operator_alone},
            {0}});
}
