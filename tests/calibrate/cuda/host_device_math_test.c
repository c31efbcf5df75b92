/* The arithmetic of rehearse-kernels' own kernels, on the host, against double precision. */
#include <math.h>

#include "calibrate/cuda/host_device_math.h"
#include "tests/kit/testkit.h"

static void swiglu_and_rotation_are_exact(void)
{
    for (uint64_t i = 0; i < 1000; i++) {
        float gate = 3 * rk_normal(1, i), up = rk_normal(2, i);
        double wanted = (double)gate / (1 + exp(-(double)gate)) * (double)up;
        CU_ASSERT_TRUE(fabs((double)rk_swiglu(gate, up) - wanted) < 1e-6 * (1 + fabs(wanted)));
        double angle = (double)rk_uniform(3, i) * 6;
        float x = gate, y = up;
        rk_rotate(&x, &y, (float)cos(angle), (float)sin(angle));
        CU_ASSERT_TRUE(fabs((double)x - ((double)gate * cos(angle) - (double)up * sin(angle))) <
                       2e-6);
        CU_ASSERT_TRUE(fabs((double)y - ((double)up * cos(angle) + (double)gate * sin(angle))) <
                       2e-6);
    }
}

/* Softmax in parts, as warps compute it, merged in any order, equals the whole. */
static void online_softmax_equals_softmax(void)
{
    enum { COUNT = 777, PARTS = 7 };
    double max = -HUGE_VAL, sum = 0;
    RkOnline parts[PARTS], row = rk_online_empty();
    for (int p = 0; p < PARTS; p++)
        parts[p] = rk_online_empty();
    for (uint64_t i = 0; i < COUNT; i++)
        max = fmax(max, 20 * (double)rk_normal(5, i));
    for (uint64_t i = 0; i < COUNT; i++) {
        float x = 20 * rk_normal(5, i);
        sum += exp((double)x - max);
        parts[i % PARTS] = rk_online_add(parts[i % PARTS], x);
    }
    for (int p = PARTS - 1; p >= 0; p--)
        row = rk_online_merge(row, parts[p]);
    RH_CHECK_CLOSE((double)row.max, max, 1e-6);
    RH_CHECK_CLOSE((double)row.sum, sum, 1e-5);
    RH_CHECK_CLOSE((double)rk_cross_entropy_loss(row, 3), log(sum) + max - 3, 1e-5);
    double gradient = (double)rk_cross_entropy_gradient(row, (float)max, true);
    CU_ASSERT_TRUE(fabs(gradient - (1 / sum - 1)) < 1e-5);
}

static void online_softmax_survives_masks(void)
{
    RkOnline nothing = rk_online_merge(rk_online_empty(), rk_online_empty());
    CU_ASSERT_EQUAL(nothing.sum, 0);
    nothing = rk_online_add(nothing, -INFINITY);
    CU_ASSERT_EQUAL(nothing.sum, 0);
    RkOnline one = rk_online_add(nothing, 4);
    CU_ASSERT_TRUE(one.max == 4 && one.sum == 1);
    CU_ASSERT_EQUAL(rk_online_softmax(one, -INFINITY), 0);
}

/* One step on weight, first and second moment, as the paper's pseudocode has it. Source:
 * Loshchilov and Hutter 2019 (arXiv 1711.05101), algorithm 2. */
static void adam_steps_as_published(void)
{
    for (uint64_t i = 0; i < 1000; i++) {
        float w = rk_normal(1, i), m = rk_normal(2, i), v = rk_uniform(3, i), g = rk_normal(4, i);
        double mean = 0.9 * (double)m + 0.1 * (double)g;
        double square = 0.95 * (double)v + 0.05 * (double)g * (double)g;
        double weight = (double)w - 1e-4 * (mean / (sqrt(square) + 1e-8) + 0.1 * (double)w);
        rk_adam(&w, &m, &v, g);
        CU_ASSERT_TRUE(fabs((double)w - weight) < 1e-6);
        CU_ASSERT_TRUE(fabs((double)m - mean) < 1e-6);
        CU_ASSERT_TRUE(fabs((double)v - square) < 1e-6);
    }
}

static void permuting_swaps_rows_and_heads(void)
{
    enum { BATCH = 2, M = 3, HEADS = 5, K = 4 };
    bool hit[BATCH * M * HEADS * K] = {false};
    for (int64_t at = 0; at < BATCH * M * HEADS * K; at++) {
        int64_t to = rk_permuted(at, M, HEADS, K);
        CU_ASSERT_TRUE_FATAL(to >= 0 && to < BATCH * M * HEADS * K && !hit[to]);
        hit[to] = true;
        CU_ASSERT_EQUAL(rk_permuted(to, HEADS, M, K), at); /* and back */
    }
    CU_ASSERT_EQUAL(rk_permuted(((1 * M + 2) * HEADS + 3) * K + 1, M, HEADS, K),
                    ((1 * HEADS + 3) * M + 2) * K + 1);
}

static void experts_share_all_tokens(void)
{
    for (int64_t experts = 1; experts <= 9; experts++) {
        int64_t sum = 0;
        for (int64_t i = 0; i < experts; i++)
            sum += rk_expert_tokens(100, experts, i);
        CU_ASSERT_EQUAL(sum, 100);
        CU_ASSERT_TRUE(
            rk_expert_tokens(100, experts, 0) - rk_expert_tokens(100, experts, experts - 1) <= 1);
    }
}

static void random_values_are_spread(void)
{
    double mean = 0, square = 0, same = 0;
    for (uint64_t i = 0; i < 20000; i++) {
        double x = (double)rk_normal(9, i);
        mean += x / 20000;
        square += x * x / 20000;
        same += rk_uniform(9, i) == rk_uniform(10, i);
    }
    CU_ASSERT_TRUE(fabs(mean) < 0.03 && fabs(square - 1) < 0.05 && same < 20);
}

int main(void)
{
    static const RhTest TESTS[] = {
        {"swiglu and rotation are exact", swiglu_and_rotation_are_exact},
        {"online softmax equals softmax", online_softmax_equals_softmax},
        {"online softmax survives masks", online_softmax_survives_masks},
        {"adam steps as published", adam_steps_as_published},
        {"permuting swaps rows and heads", permuting_swaps_rows_and_heads},
        {"experts share all tokens", experts_share_all_tokens},
        {"random values are spread", random_values_are_spread},
        {NULL, NULL},
    };
    return rh_test_main("kernel_math", TESTS);
}
