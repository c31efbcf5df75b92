/* A transformer block that several places of a model share (Zamba2): parameters as published and by hand, FLOPs, kernels,
 * kept bytes, and what is refused. */
#include <string.h>

#include "tests/kit/model_counts.h"
#include "tests/kit/shard_kit.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"
#include "workloads/operators/operator.h"

#define MAMBA4  "'mamba', 'mamba', 'mamba', 'mamba'"
#define TURN_7B MAMBA4 ", 'mamba', 'hybrid', "
/* Zamba2-1.2B's and 7B's, the second in the names of its first files. */
#define SMALL(layers, list)                                                                        \
    "{'model_type': 'zamba2', 'num_hidden_layers': " #layers ", 'hidden_size': 2048, "             \
    "'intermediate_size': 8192, 'num_attention_heads': 32, 'num_key_value_heads': 32, "            \
    "'vocab_size': 32000, 'mamba_d_state': 128, 'mamba_headdim': 64, 'n_mamba_heads': 64, "        \
    "'mamba_ngroups': 1, 'mamba_d_conv': 4, 'mamba_expand': 2, 'num_mem_blocks': 1, "              \
    "'adapter_rank': 128, 'use_shared_attention_adapter': true, 'use_mem_rope': true, "            \
    "'add_bias_linear': false, 'layers_block_type': [" list "]}"
#define LARGE                                                                                      \
    "{'model_type': 'zamba2', 'num_hidden_layers': 81, 'hidden_size': 3584, 'ffn_hidden_size': "   \
    "14336, 'num_attention_heads': 32, 'num_key_value_heads': 32, 'vocab_size': 32000, "           \
    "'state_size': 64, 'mamba_headdim': 64, 'mamba_ngroups': 2, 'conv_dimension': 4, "             \
    "'expansion_factor': 2, 'kv_channels': 112, 'num_mem_blocks': 2, 'lora_rank': 128, "           \
    "'use_shared_attention_lora': false, 'use_shared_block_lora': true, 'layers_block_type': ["    \
    "'mamba', " TURN_7B MAMBA4 ", 'hybrid', " TURN_7B TURN_7B TURN_7B TURN_7B TURN_7B TURN_7B      \
        TURN_7B TURN_7B TURN_7B TURN_7B TURN_7B "'mamba', 'mamba', 'mamba']}"

/* One place of the small model: what all share, and what is its own. */
static const int64_t H = 2048, F = 8192, R = 128;

static int64_t shared_params(void)
{
    int64_t attention = 2 * H * 3 * 2 * H + 2 * H * H, ffn = 3 * H * F;
    return attention + ffn + 3 * H; /* norms of 2h and h */
}

static int64_t own_params(void)
{
    return 3 * (2 * H * R + R * 2 * H) + H * R + R * 2 * F + H * H;
}

/* Zamba-7B's, the first form, without low ranks: the block before the third layer and every sixth from the eighth on. */
#define FIRST_TURN "'mamba', " MAMBA4 ", 'hybrid', "
#define FIRST                                                                                      \
    "{'model_type': 'zamba', 'num_hidden_layers': 76, 'hidden_size': 3712, 'intermediate_size': "  \
    "14848, 'num_attention_heads': 16, 'num_key_value_heads': 16, 'attention_head_dim': 464, "     \
    "'vocab_size': 32000, 'mamba_d_state': 16, 'mamba_d_conv': 4, 'mamba_expand': 2, "             \
    "'mamba_dt_rank': 232, 'n_mamba_heads': 2, 'attn_layer_period': 6, 'attn_layer_offset': 4, "   \
    "'layers_block_type': ['mamba', 'mamba', 'hybrid', " MAMBA4                                    \
    ", 'hybrid', " FIRST_TURN FIRST_TURN FIRST_TURN FIRST_TURN FIRST_TURN FIRST_TURN FIRST_TURN    \
        FIRST_TURN FIRST_TURN FIRST_TURN FIRST_TURN "'mamba', 'mamba']}"

/* 1,215,064,704 as published of the first, 7.36 G of the second; 7,232,490,496 as Zamba-7B's weights.
 * Source: the weights of Zyphra/Zamba2-1.2B and Zamba-7B-v1, the name of Zamba2-7B. */
static void places_count_as_layers(void)
{
    g_autoptr(RhModel) large = model_load(LARGE);
    RH_CHECK_CLOSE((double)rh_model_params(large), 7.36e9, 1e-3);
    CU_ASSERT_EQUAL(large->layers_count, 81 + 13);
}

/* A place is a layer of its own, before the one that its file calls hybrid; the first of each block has its parameters. */
static void places_beyond_the_first_have_low_ranks_alone(void)
{
    g_autoptr(RhModel) none = model_load(SMALL(4, MAMBA4));
    g_autoptr(RhModel) one = model_load(SMALL(4, "'mamba', 'hybrid', 'mamba', 'mamba'"));
    g_autoptr(RhModel) two = model_load(SMALL(4, "'mamba', 'hybrid', 'mamba', 'hybrid'"));
    CU_ASSERT_EQUAL(rh_model_params(one) - rh_model_params(none), shared_params() + own_params());
    CU_ASSERT_EQUAL(rh_model_params(two) - rh_model_params(one), own_params());
    CU_ASSERT_EQUAL(two->layers_count, 6);
    CU_ASSERT_EQUAL(memcmp(two->kind_of_layer, (uint8_t[]){0, 1, 0, 0, 2, 0}, 6), 0);
    CU_ASSERT_TRUE(two->kinds[2].borrows_block && !two->kinds[1].borrows_block);
    CU_ASSERT_TRUE(rh_model_shares_layers(two));
    CU_ASSERT_FALSE(rh_model_shares_layers(one));
    CU_ASSERT_EQUAL(two->kinds[1].head_size, 128);
    check_refused("{'model_type': 'zamba2', 'num_hidden_layers': 4, 'hidden_size': 2048, "
                  "'num_attention_heads': 32, 'vocab_size': 32000, 'mamba_d_state': 128, "
                  "'n_mamba_heads': 64}",
                  "\"layers_block_type\" is missing");
}

/* Whole, a place costs what its matrices have entries, whoever owns them, and attention over heads of 2h columns. */
static void flops_are_those_counted_by_hand(void)
{
    const double s = 1024, shared = (double)(shared_params() - 3 * H), own = (double)own_params();
    g_autoptr(RhModel) none = model_load(SMALL(4, MAMBA4));
    g_autoptr(RhModel) two = model_load(SMALL(4, "'mamba', 'hybrid', 'mamba', 'hybrid'"));
    RH_CHECK_CLOSE(rh_model_flops_per_token(two, 1024) - rh_model_flops_per_token(none, 1024),
                   2 * (6 * (shared + own) + 3 * 2 * 2 * (double)(2 * H) * s / 2), 1e-9);
}

/* Zamba's first form has only the matrix behind the network in each place, and nothing beside the
 * other matrices. */
static void without_low_ranks_a_place_has_one_matrix(void)
{
    const double h = 3712, f = 14848;
    g_autoptr(RhModel) m = model_load(FIRST);
    const RhLayerKind *kind = &m->kinds[m->kind_of_layer[2]];
    CU_ASSERT_EQUAL_FATAL(kind->mixer, &rh_shared_attention);
    CU_ASSERT_EQUAL(kind->head_size, 464);
    RhShard shard = shard_of(1, 512, 2);
    for (RhPass pass = RH_PASS_FORWARD; pass <= RH_PASS_BACKWARD_WEIGHT; pass++) {
        g_autoptr(GArray) kernels = g_array_new(FALSE, FALSE, sizeof(RhKernel));
        rh_block_kernels(m, kind, RH_BLOCK_FFN, RH_PART_TENSOR, pass, &shard, kernels);
        for (guint i = 0; i < kernels->len; i++)
            CU_ASSERT_TRUE(g_array_index(kernels, RhKernel, i).cls != RH_KERNEL_GEMM ||
                           g_array_index(kernels, RhKernel, i).flops > 0);
    }
    CU_ASSERT_EQUAL(rh_block_flops(m, kind, RH_BLOCK_FFN, &shard).weights,
                    2.0 * 1024 * (3 * h * f + h * h));
}

/* Kernels do the FLOPs that their rows count, however the block is cut; matrices into low ranks and
 * the last one belong to every rank. */
static void kernels_do_the_flops_of_their_rows(void)
{
    g_autoptr(RhModel) m = model_load(SMALL(2, "'hybrid', 'hybrid'"));
    for (int c = 0; c < 8; c++) {
        const RhLayerKind *kind = &m->kinds[c / 4 == 0 ? 0 : 2];
        RhBlock block = c % 2 ? RH_BLOCK_FFN : RH_BLOCK_MIXER;
        RhShard shard = {.tp = c / 2 % 2 ? 4 : 1,
                         .sequence = 512,
                         .microbatch = 3,
                         .dtype = RH_DTYPE_BF16,
                         .flash = true};
        RhShard whole = shard;
        whole.tp = 1;
        CU_ASSERT_EQUAL(kind->mixer, &rh_shared_attention);
        RhFlops cut = rh_block_flops(m, kind, block, &shard);
        RhFlops all = rh_block_flops(m, kind, block, &whole);
        double again = block == RH_BLOCK_FFN ? (double)(H * R + H * H) : (double)(6 * H * R);
        RH_CHECK_CLOSE(block_flops(m, kind, block, RH_PASS_FORWARD, &shard),
                       cut.weights + cut.pairs, 1e-14);
        RH_CHECK_CLOSE(block_flops(m, kind, block, RH_PASS_BACKWARD_DATA, &shard),
                       cut.weights + 2.5 * cut.pairs, 1e-14);
        RH_CHECK_CLOSE(block_flops(m, kind, block, RH_PASS_BACKWARD_WEIGHT, &shard), cut.weights,
                       1e-14);
        RH_CHECK_CLOSE(shard.tp * (cut.weights + cut.pairs),
                       all.weights + all.pairs + (shard.tp - 1) * 2.0 * 3 * 512 * again, 1e-14);
        RhParams p = rh_block_params(m, kind, block, &whole);
        RhParams q = rh_block_params(m, kind, block, &shard);
        CU_ASSERT_EQUAL(q.sharded * shard.tp, p.sharded);
        CU_ASSERT_EQUAL(q.replicated, p.replicated);
    }
}

/* A token keeps 2h of the block's norm and residual sum, 2h of the embedding beside it, 2h each of
 * queries, keys, values and output, three low ranks, and a number a head of fused attention. The
 * network keeps 2h of the norm, two ways in and their product, a low rank, and the input of the
 * last matrix. */
static void kept_bytes_are_those_counted_by_hand(void)
{
    g_autoptr(RhModel) m = model_load(SMALL(2, "'hybrid', 'hybrid'"));
    RhShard shard = shard_of(1, 512, 2);
    const double n = 2 * 512;
    double attention = 2 * (2 * 2 * H + 4 * 2 * H + 3 * R) + 4 * 32;
    double ffn = 2 * (2 * H + 3 * F + R + H);
    CU_ASSERT_EQUAL(rh_block_activation_bytes(m, &m->kinds[0], RH_BLOCK_MIXER, &shard).kept,
                    n * attention);
    CU_ASSERT_EQUAL(rh_block_activation_bytes(m, &m->kinds[0], RH_BLOCK_FFN, &shard).kept, n * ffn);
    RhCacheBytes cache = rh_block_cache_bytes(m, &m->kinds[0], RH_BLOCK_MIXER, &shard);
    CU_ASSERT_EQUAL(cache.token, 2 * 2 * 2 * H);
}

/* Gradients of what is shared would be summed over stages, and weights gathered for each place. */
static void what_is_not_known_of_them_is_refused(void)
{
    static const struct {
        const char *layout, *says;
    } rows[] = {{"tp2,dp4", NULL},
                {"tp4,dp2,sp=on", NULL},
                {"pp2,dp4", "share parameters"},
                {"dp8,zero3", "share parameters"},
                {"cp2,dp4", "not cut along the sequence"}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "megatron", 16, 512);
        rh_model_free(k.model);
        k.model = model_load(SMALL(4, "'mamba', 'hybrid', 'mamba', 'hybrid'"));
        k.c.model = k.model;
        RhLayout l = rh_train_default(&k.c);
        g_autoptr(GError) error = NULL;
        CU_ASSERT_TRUE_FATAL(rh_layout_parse(rows[i].layout, &l, NULL));
        CU_ASSERT_EQUAL(rh_train_legal(&k.c, &l, &error), rows[i].says == NULL);
        CU_ASSERT_TRUE(rows[i].says == NULL || strstr(error->message, rows[i].says));
    }
}

int main(void)
{
    return rh_test_main(
        "shared_block",
        (RhTest[]){
            {"places_count_as_layers", places_count_as_layers},
            {"places_beyond_the_first_have_low_ranks_alone",
             places_beyond_the_first_have_low_ranks_alone},
            {"flops_are_those_counted_by_hand", flops_are_those_counted_by_hand},
            {"without_low_ranks_a_place_has_one_matrix", without_low_ranks_a_place_has_one_matrix},
            {"kernels_do_the_flops_of_their_rows", kernels_do_the_flops_of_their_rows},
            {"kept_bytes_are_those_counted_by_hand", kept_bytes_are_those_counted_by_hand},
            {"what_is_not_known_of_them_is_refused", what_is_not_known_of_them_is_refused},
            {0}});
}
