/* Differential attention: parameters, FLOPs, cuts and kept bytes by hand, beside the llama of as many sizes. */
#include <string.h>

#include "tests/agree_kit.h"
#include "tests/model_counts.h"
#include "tests/shard_kit.h"
#include "workloads/operators/operator.h"

#define MODEL(type, heads, kv)                                                                     \
    "{" SHAPE(type, 4, 2048, heads, kv, 5632, 32000) ", 'max_position_embeddings': 4096}"
#define DIFF MODEL("diffllama", 32, 8)

/* Four vectors of a head's size in each layer. */
static void parameters_are_a_llamas_and_four_vectors(void)
{
    const int64_t h = 2048, kv = 512, f = 5632, V = 32000;
    int64_t layer = 2 * h * h + 2 * h * kv + 3 * h * f + 2 * h + 4 * 64;
    const ExactCount rows[] = {{DIFF, 4 * layer + h + 2 * V * h}};
    check_exact(rows, 1);
    g_autoptr(RhModel) m = model_load(DIFF);
    g_autoptr(RhModel) llama = model_load(MODEL("llama", 32, 8));
    CU_ASSERT_EQUAL(rh_model_params(m) - rh_model_params(llama), 4 * 4 * 64);
    CU_ASSERT_TRUE(rh_model_makes_tokens(m));
    check_refused("{" SHAPE("diffllama", 4, 2016, 21, 7, 5632, 32000) "}", "in pairs");
}

/* Of a pair of tokens and a head: d columns of a key, 2 d of values. */
static void kernels_do_the_flops_counted_by_hand(void)
{
    const double h = 2048, kv = 512, n = 3 * 1024, s = 1024, d = 64;
    double weights = 2 * n * (2 * h * h + 2 * h * kv), pairs = 3 * s * s / 2 * 32 * (2 * d + 4 * d);
    g_autoptr(RhModel) m = model_load(DIFF);
    for (int32_t tp = 1; tp <= 8; tp *= 2) {
        RhShard shard = shard_of(tp, 1024, 3);
        RhFlops f = rh_block_flops(m, &m->kinds[0], RH_BLOCK_MIXER, &shard);
        RH_CHECK_CLOSE(tp * f.weights, weights, 1e-14);
        RH_CHECK_CLOSE(tp * f.pairs, pairs, 1e-14);
#define DONE(pass) (tp * block_flops(m, &m->kinds[0], RH_BLOCK_MIXER, RH_PASS_##pass, &shard))
        RH_CHECK_CLOSE(DONE(FORWARD), weights + pairs, 1e-14);
        /* scores again, and a gradient each of queries, keys, probabilities and values */
        RH_CHECK_CLOSE(DONE(BACKWARD_DATA), weights + 3 * s * s / 2 * 32 * (6 * d + 8 * d), 1e-14);
        RH_CHECK_CLOSE(DONE(BACKWARD_WEIGHT), weights, 1e-14);
    }
}

/* In and out of the norm, q, k, v, both outputs, their difference and its norm; a number a query and head. */
static void kept_bytes_are_those_counted_by_hand(void)
{
    g_autoptr(RhModel) m = model_load(DIFF);
    const double n = 3 * 1024, h = 2048, kv = 512;
    RhShard shard = shard_of(1, 1024, 3);
    RH_CHECK_CLOSE(rh_block_activation_bytes(m, &m->kinds[0], RH_BLOCK_MIXER, &shard).kept,
                   2 * n * (2 * h + h + 2 * kv + 2 * h + 2 * h) + 4 * n * 32, 1e-12);
}

static void closed_memory_and_bounds_agree(void)
{
    check_agrees(DIFF, 1024, "tp2,pp2,mb2");
    check_agrees(DIFF, 1024, "dp8,zero3,mb4,recompute=selective");
    check_agrees(DIFF, 1024, "tp8,sp=on,mb2,recompute=full");
}

int main(void)
{
    return rh_test_main(
        "differential",
        (RhTest[]){
            {"parameters_are_a_llamas_and_four_vectors", parameters_are_a_llamas_and_four_vectors},
            {"kernels_do_the_flops_counted_by_hand", kernels_do_the_flops_counted_by_hand},
            {"kept_bytes_are_those_counted_by_hand", kept_bytes_are_those_counted_by_hand},
            {"closed_memory_and_bounds_agree", closed_memory_and_bounds_agree},
            {0}});
}
