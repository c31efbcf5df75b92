/* Times of collectives beside the formulas of papers, at so many members and bytes: a message of n bytes takes alpha
 * + n beta, and sums cost nothing. */
#include <math.h>

#include "tests/kit/collective_kit.h"

static const double ALPHA_S = 7e-6, BYTES_PER_S = 40e9;
static const double SIZES[] = {8, 65536, 3e6, 1e9};

/* A formula: how many times alpha, and how many times n beta. */
typedef struct {
    double alphas, betas;
} Cost;

static void check_cost(RhOp op, RhAlgo algo, int32_t members, Cost cost)
{
    CU_ASSERT_TRUE_FATAL(rh_collective_supports(op, algo));
    for (size_t i = 0; i < G_N_ELEMENTS(SIZES); i++)
        RH_CHECK_CLOSE(
            rh_collective_closed_form_s(op, algo, members, SIZES[i], ALPHA_S, BYTES_PER_S),
            cost.alphas * ALPHA_S + cost.betas * SIZES[i] / BYTES_PER_S, 1e-12);
}

static double log2_up(int32_t members)
{
    return ceil(log2(members) - 1e-12);
}

/* A ring gathers, and scatters sums, in p - 1 steps of an n-th each.
 * Source: Thakur et al. 2005, section 4. */
static void rings_gather_as_thakur_says(void)
{
    for (int32_t p = 2; p <= 129; p += p < 10 ? 1 : 17) {
        check_cost(RH_OP_ALL_GATHER, RH_ALGO_RING, p, (Cost){p - 1, (p - 1.0) / p});
        check_cost(RH_OP_REDUCE_SCATTER, RH_ALGO_RING, p, (Cost){p - 1, (p - 1.0) / p});
    }
}

/* Recursive doubling gathers in lg p steps, of powers of two.
 * Source: Thakur et al. 2005, section 4. */
static void doubling_gathers_as_thakur_says(void)
{
    for (int32_t p = 2; p <= 1024; p *= 2)
        check_cost(RH_OP_ALL_GATHER, RH_ALGO_RECURSIVE_DOUBLING, p, (Cost){log2(p), (p - 1.0) / p});
}

/* Recursive doubling sums the whole buffer in each of lg p steps.
 * Source: Thakur et al. 2005, section 4. */
static void doubling_sums_as_thakur_says(void)
{
    for (int32_t p = 2; p <= 1024; p *= 2)
        check_cost(RH_OP_ALL_REDUCE, RH_ALGO_RECURSIVE_DOUBLING, p, (Cost){log2(p), log2(p)});
}

/* Halves are scattered, and doubles gathered: 2 lg p steps, 2 (p - 1) / p of the bytes.
 * Source: Rabenseifner 2004, as in Thakur et al. 2005, section 4. */
static void rabenseifner_sums_as_he_says(void)
{
    for (int32_t p = 2; p <= 1024; p *= 2)
        check_cost(RH_OP_ALL_REDUCE, RH_ALGO_RABENSEIFNER, p,
                   (Cost){2 * log2(p), 2 * (p - 1.0) / p});
}

/* A ring sums in 2 (p - 1) steps with the least bytes there can be.
 * Source: Patarasuk and Yuan 2009, theorem 1 and section 4. */
static void rings_sum_as_patarasuk_says(void)
{
    for (int32_t p = 2; p <= 129; p += p < 10 ? 1 : 17)
        check_cost(RH_OP_ALL_REDUCE, RH_ALGO_RING, p, (Cost){2 * (p - 1), 2 * (p - 1.0) / p});
}

/* A binomial tree hands the whole buffer on in lg p steps, rounded up.
 * Source: Thakur et al. 2005, section 4. */
static void trees_broadcast_as_thakur_says(void)
{
    for (int32_t p = 2; p <= 129; p += p < 10 ? 1 : 17)
        check_cost(RH_OP_BROADCAST, RH_ALGO_TREE, p, (Cost){log2_up(p), log2_up(p)});
}

/* A barrier by dissemination has lg p steps, rounded up, of any number of members.
 * Source: Hensgen, Finkel and Manber 1988. */
static void barriers_disseminate_as_hensgen_says(void)
{
    for (int32_t p = 2; p <= 129; p += p < 10 ? 1 : 17)
        check_cost(RH_OP_BARRIER, RH_ALGO_RECURSIVE_DOUBLING, p, (Cost){log2_up(p), 0});
}

/* Pairwise exchange has p - 1 steps, in which a member sends all but its own part.
 * Source: Thakur et al. 2005, section 4. */
static void pairs_exchange_as_thakur_says(void)
{
    for (int32_t p = 2; p <= 129; p += p < 10 ? 1 : 17)
        check_cost(RH_OP_ALL_TO_ALL, RH_ALGO_DIRECT, p, (Cost){p - 1, (p - 1.0) / p});
}

/* The bus bandwidth that nccl-tests make of a collective's time is that of the links, whatever the operation and
 * however many take part.
 * Source: NVIDIA/nccl-tests, doc/PERFORMANCE.md, factors of algorithm bandwidth. */
static void bus_bandwidth_is_that_of_the_links(void)
{
    static const struct {
        RhOp op;
        RhAlgo algo;
        double times, others; /* the factor is times (n - others) / n */
    } rows[] = {{RH_OP_ALL_REDUCE, RH_ALGO_RING, 2, 1},
                {RH_OP_REDUCE_SCATTER, RH_ALGO_RING, 1, 1},
                {RH_OP_ALL_GATHER, RH_ALGO_RING, 1, 1},
                {RH_OP_ALL_TO_ALL, RH_ALGO_DIRECT, 1, 1},
                {RH_OP_SHIFT, RH_ALGO_RING, 1, 0}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        for (int32_t n = 2; n <= 64; n += 3) {
            g_autoptr(RhSchedule) s = rh_schedule_new(rows[i].op, rows[i].algo, n, NULL, 1e9, NULL);
            CU_ASSERT_PTR_NOT_NULL_FATAL(s);
            double algorithm_bytes_per_s = 1e9 / (rh_schedule_wire_bytes(s) / BYTES_PER_S);
            RH_CHECK_CLOSE(algorithm_bytes_per_s * rows[i].times * (n - rows[i].others) / n,
                           BYTES_PER_S, 1e-12);
        }
}

/* Least bytes and steps of a gather, a scatter of sums and a broadcast: no closed form is below either, but where a
 * switch hands on.
 * Source: Chan et al. 2007, table 1. */
static void no_gather_beats_the_lower_bounds(void)
{
    static const RhOp ops[] = {RH_OP_ALL_GATHER, RH_OP_REDUCE_SCATTER, RH_OP_BROADCAST};
    int32_t tried = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(ops); i++)
        for (RhAlgo algo = RH_ALGO_RING; algo < RH_ALGO_LAST; algo++)
            for (int32_t p = 2; p < 70 && algo != RH_ALGO_NVLS; p++) {
                if (!rh_collective_supports(ops[i], algo))
                    continue;
                double least = ops[i] == RH_OP_BROADCAST ? 1 : (p - 1.0) / p;
                double bytes_s = rh_collective_closed_form_s(ops[i], algo, p, 1e8, 0, 1e8);
                double steps = rh_collective_closed_form_s(ops[i], algo, p, 8, 1, 1e300);
                CU_ASSERT_TRUE(bytes_s >= least * (1 - 1e-12));
                CU_ASSERT_TRUE(steps >= log2_up(p));
                tried++;
            }
    CU_ASSERT_TRUE(tried > 500);
}

int main(void)
{
    static const RhTest tests[] = {
        {"rings_gather_as_thakur_says", rings_gather_as_thakur_says},
        {"doubling_gathers_as_thakur_says", doubling_gathers_as_thakur_says},
        {"doubling_sums_as_thakur_says", doubling_sums_as_thakur_says},
        {"rabenseifner_sums_as_he_says", rabenseifner_sums_as_he_says},
        {"rings_sum_as_patarasuk_says", rings_sum_as_patarasuk_says},
        {"trees_broadcast_as_thakur_says", trees_broadcast_as_thakur_says},
        {"barriers_disseminate_as_hensgen_says", barriers_disseminate_as_hensgen_says},
        {"pairs_exchange_as_thakur_says", pairs_exchange_as_thakur_says},
        {"bus_bandwidth_is_that_of_the_links", bus_bandwidth_is_that_of_the_links},
        {"no_gather_beats_the_lower_bounds", no_gather_beats_the_lower_bounds},
        {0},
    };
    return rh_test_main("published_costs", tests);
}
