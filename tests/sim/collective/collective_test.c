/* Every schedule moves real data correctly, by the routes it should. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "sim/collective/algorithm_interface.h"
#include "tests/kit/collective_kit.h"

/* --- real data: each member a buffer of chunks; a step reads a snapshot, then writes --- */

typedef struct {
    const RhSchedule *s;
    double *now, *before;
} World;

static double *cell(const World *w, double *buffer, int32_t member, int32_t chunk)
{
    return &buffer[(int64_t)member * w->s->chunks_count + chunk];
}

static double weight(int32_t member, int32_t chunk)
{
    return 1 + member * 1000.0 + chunk;
}

static bool starts_with(const RhSchedule *s, int32_t member, int32_t chunk)
{
    if (s->op == RH_OP_ALL_GATHER)
        return s->owner[chunk] == member;
    if (s->op == RH_OP_BROADCAST)
        return member == 0;
    if (s->op == RH_OP_SHIFT)
        return chunk == member;
    return s->op != RH_OP_ALL_TO_ALL || chunk / s->members == member;
}

static void run_flow(World *w, const RhFlow *f, int32_t q)
{
    for (int32_t i = 0; i < f->chunk_count; i++) {
        int32_t at = (f->chunk_first - f->wrap_first + q * f->chunk_shift) % f->wrap_count;
        int32_t chunk = f->wrap_first + (at + f->wrap_count) % f->wrap_count + i;
        double value = *cell(w, w->before, f->src, chunk);
        CU_ASSERT_FALSE(isnan(value)); /* nobody sends what it does not have */
        double *to = cell(w, w->now, f->dst, chunk);
        *to = f->reduce ? *to + value : value;
    }
}

static void run_schedule(World *w)
{
    size_t bytes = (size_t)w->s->members * (size_t)w->s->chunks_count * sizeof(double);
    for (guint i = 0; i < w->s->rounds->len; i++) {
        const RhRound *round = &g_array_index(w->s->rounds, RhRound, i);
        for (int32_t q = 0; q < round->repeat; q++) {
            memcpy(w->before, w->now, bytes);
            for (int32_t f = 0; f < round->flows_count; f++)
                run_flow(w, &g_array_index(w->s->flows, RhFlow, round->flows_first + f), q);
        }
    }
}

static double sum_of(const RhSchedule *s, int32_t chunk)
{
    double sum = 0;
    for (int32_t m = 0; m < s->members; m++)
        sum += weight(m, chunk);
    return sum;
}

/* Returns what a member must hold of a chunk at the end; NAN if nothing is required. */
static double wanted(const RhSchedule *s, int32_t member, int32_t chunk)
{
    bool scattered = s->op == RH_OP_REDUCE_SCATTER && s->owner[chunk] != member;
    bool elsewhere = (s->op == RH_OP_ALL_TO_ALL && chunk % s->members != member) ||
                     (s->op == RH_OP_SHIFT && (chunk + 1) % s->members != member);
    if (scattered || elsewhere)
        return (double)NAN;
    if (s->op == RH_OP_ALL_REDUCE || s->op == RH_OP_REDUCE_SCATTER)
        return sum_of(s, chunk);
    if (s->op == RH_OP_ALL_GATHER)
        return weight(s->owner[chunk], chunk);
    if (s->op == RH_OP_SHIFT)
        return weight(chunk, chunk);
    return weight(s->op == RH_OP_BROADCAST ? 0 : chunk / s->members, chunk);
}

static void check_data(const RhSchedule *s)
{
    size_t cells = (size_t)s->members * (size_t)s->chunks_count;
    g_autofree double *now = g_new(double, cells), *before = g_new(double, cells);
    World w = {s, now, before};
    for (int32_t m = 0; m < s->members; m++)
        for (int32_t c = 0; c < s->chunks_count; c++)
            *cell(&w, now, m, c) = starts_with(s, m, c) ? weight(m, c) : (double)NAN;
    run_schedule(&w);
    for (int32_t m = 0; m < s->members; m++)
        for (int32_t c = 0; c < s->chunks_count; c++) {
            double want = wanted(s, m, c);
            if (!isnan(want))
                CU_ASSERT_EQUAL(*cell(&w, now, m, c), want);
        }
}

/* Refused only where the algorithm's row says so. */
static bool may_refuse(RhAlgo algo, int32_t members, int32_t per_node)
{
    return rh_algorithm(algo)->even_nodes && (per_node < 0 || members % per_node != 0);
}

static int check_schedule(RhOp op, RhAlgo algo, int32_t members, int32_t per_node, double bytes)
{
    int32_t nodes[64];
    g_autoptr(GError) error = NULL;
    place(nodes, members, per_node);
    g_autoptr(RhSchedule) s = rh_schedule_new(op, algo, members, nodes, bytes, &error);
    if (!s) {
        CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
        CU_ASSERT_TRUE(may_refuse(algo, members, per_node));
        return 0;
    }
    check_data(s);
    return 1;
}

static void every_schedule_moves_the_right_data(void)
{
    static const int32_t per_node[] = {1, 2, 3, 4, 8, 100, -1, -2};
    int checked = 0;
    for (RhOp op = RH_OP_ALL_REDUCE; op < RH_OP_LAST; op++)
        for (RhAlgo algo = RH_ALGO_RING; algo < RH_ALGO_LAST; algo++)
            for (int32_t n = 1; op != RH_OP_BARRIER && rh_collective_supports(op, algo) && n <= 32;
                 n += n < 17 ? 1 : 5)
                for (size_t k = 0; k < G_N_ELEMENTS(per_node); k++)
                    checked += check_schedule(op, algo, n, per_node[k], 4e6);
    CU_ASSERT_TRUE(checked > 2000);
}

static void pipelines_move_the_right_data_at_every_length(void)
{
    for (int32_t n = 2; n <= 33; n++)
        for (double bytes = 1; bytes < 3e8; bytes *= 9) {
            check_schedule(RH_OP_ALL_REDUCE, RH_ALGO_TREE, n, 4, bytes);
            check_schedule(RH_OP_BROADCAST, RH_ALGO_RING, n, 4, bytes);
            check_schedule(RH_OP_BROADCAST, RH_ALGO_CHAIN, n, 4, bytes);
            check_schedule(RH_OP_BROADCAST, RH_ALGO_CHAIN, n, 8, bytes);
        }
}

/* Rings over a mesh move the right data: several, some of them doubled, with relays between. */
static void rings_over_a_mesh_move_the_right_data(void)
{
    static const struct {
        const char *platform;
        int32_t members, stride;
    } rows[] = {{"dgx-1", 8, 1},    {"dgx-1", 4, 1},  {"dgx-1", 4, 2},  {"dgx-1", 3, 1},
                {"dgx-1", 2, 5},    {"summit", 6, 1}, {"summit", 3, 1}, {"frontier", 8, 1},
                {"dgx-1:3", 24, 1}, {"dgx-1:2", 4, 4}};
    static const RhOp ops[] = {RH_OP_ALL_REDUCE, RH_OP_REDUCE_SCATTER, RH_OP_ALL_GATHER};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(RhPlatform) platform = rh_platform_load(rows[i].platform, NULL);
        int32_t gpus[24];
        for (int32_t m = 0; m < rows[i].members; m++)
            gpus[m] = m * rows[i].stride;
        for (size_t k = 0; k < G_N_ELEMENTS(ops); k++) {
            RhCollectiveSpec call = {.op = ops[k], .algo = RH_ALGO_RING, .bytes = 4e6};
            g_autoptr(RhSchedule) s = rh_schedule_on(&call, rows[i].members, platform, gpus, NULL);
            CU_ASSERT_PTR_NOT_NULL_FATAL(s);
            check_data(s);
        }
        RhCollectiveSpec down = {.op = RH_OP_BROADCAST, .algo = RH_ALGO_CHAIN, .bytes = 4e6};
        g_autoptr(RhSchedule) s = rh_schedule_on(&down, rows[i].members, platform, gpus, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(s);
        check_data(s);
    }
}

static void unsupported_pairs_are_refused(void)
{
    int refused = 0;
    for (RhOp op = RH_OP_NONE; op <= RH_OP_LAST; op++)
        for (RhAlgo algo = RH_ALGO_NONE; algo <= RH_ALGO_LAST; algo++) {
            g_autoptr(GError) error = NULL;
            g_autoptr(RhSchedule) s = rh_schedule_new(op, algo, 4, NULL, 1, &error);
            CU_ASSERT_EQUAL((s != NULL), rh_collective_supports(op, algo));
            CU_ASSERT_TRUE((s != NULL) || g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
            refused += s == NULL;
        }
    /* those of no operation, or of no algorithm, are among them */
    CU_ASSERT_TRUE(refused > 2 * RH_OP_LAST + 2 * RH_ALGO_LAST);
}

static void one_member_costs_nothing(void)
{
    g_autoptr(RhSchedule) s = rh_schedule_new(RH_OP_ALL_REDUCE, RH_ALGO_RING, 1, NULL, 1e9, NULL);
    CU_ASSERT_EQUAL(s->rounds->len, 0);
    CU_ASSERT_EQUAL(rh_schedule_wire_bytes(s), 0);
}

static void a_shift_sends_each_buffer_once(void)
{
    for (int32_t n = 2; n < 20; n++) {
        g_autoptr(RhSchedule) s = rh_schedule_new(RH_OP_SHIFT, RH_ALGO_RING, n, NULL, 5e6, NULL);
        CU_ASSERT_EQUAL(s->rounds->len, 1);
        CU_ASSERT_EQUAL(s->flows->len, (guint)n);
        CU_ASSERT_EQUAL(rh_schedule_wire_bytes(s), 5e6);
    }
}

static void a_barrier_reaches_everyone_from_everyone(void)
{
    for (int32_t n = 2; n <= 40; n++) {
        g_autoptr(RhSchedule) s =
            rh_schedule_new(RH_OP_BARRIER, RH_ALGO_RECURSIVE_DOUBLING, n, NULL, 0, NULL);
        uint64_t knows[40] = {0}, before[40];
        for (int32_t m = 0; m < n; m++)
            knows[m] = (uint64_t)1 << m;
        for (guint i = 0; i < s->rounds->len; i++) {
            const RhRound *round = &g_array_index(s->rounds, RhRound, i);
            memcpy(before, knows, sizeof(knows));
            for (int32_t f = 0; f < round->flows_count; f++) {
                const RhFlow *flow = &g_array_index(s->flows, RhFlow, round->flows_first + f);
                knows[flow->dst] |= before[flow->src];
                CU_ASSERT_EQUAL(flow->bytes, 0);
            }
        }
        for (int32_t m = 0; m < n; m++)
            CU_ASSERT_EQUAL(knows[m], ((uint64_t)1 << n) - 1);
    }
}

/* --- shapes --- */

/* Flows of the steps that a tree repeats, when it is full: what each member sends. */
static void count_full_step(const RhSchedule *s, int32_t *sent, int32_t *received, int32_t *steps)
{
    for (guint i = 0; i < s->rounds->len; i++) {
        const RhRound *round = &g_array_index(s->rounds, RhRound, i);
        *steps += round->repeat;
        for (int32_t f = 0; round->repeat > 1 && f < round->flows_count; f++) {
            const RhFlow *flow = &g_array_index(s->flows, RhFlow, round->flows_first + f);
            sent[flow->src]++;
            received[flow->dst]++;
        }
    }
}

static void no_member_moves_more_than_four_chunks_in_a_step_of_a_tree(void)
{
    for (int32_t n = 2; n <= 300; n++) {
        int32_t sent[300] = {0}, received[300] = {0}, steps = 0, most = 0;
        g_autoptr(RhSchedule) s =
            rh_schedule_new(RH_OP_ALL_REDUCE, RH_ALGO_TREE, n, NULL, 1e9, NULL);
        count_full_step(s, sent, received, &steps);
        for (int32_t m = 0; m < n; m++) {
            CU_ASSERT_TRUE(sent[m] > 0 && received[m] > 0);
            most = MAX(most, MAX(sent[m], received[m]));
        }
        CU_ASSERT_EQUAL(most, n < 4 ? n : n == 4 ? 3 : 4);
        CU_ASSERT_EQUAL(steps, 2 * (int32_t)floor(log2(n)) - 1 + s->chunks_count / 2);
    }
}

/* Each member of a double binary tree hands half of the buffer up in one tree, and down to two in the other.
 * Source: Sanders, Speck and Traeff 2009, two-tree algorithms for full bandwidth. */
static void a_long_tree_sends_twice_its_buffer(void)
{
    for (int32_t n = 5; n < 200; n += 13) {
        g_autoptr(RhSchedule) s =
            rh_schedule_new(RH_OP_ALL_REDUCE, RH_ALGO_TREE, n, NULL, 1e10, NULL);
        RH_CHECK_CLOSE(rh_schedule_wire_bytes(s), 2e10, 1e-9);
    }
}

static void rings_stay_on_their_rails_when_nodes_are_even(void)
{
    for (int32_t h = 2; h <= 6; h++)
        for (int32_t k = 1; k <= 8; k++) {
            int32_t nodes[48], wrong = 0, out[48] = {0};
            place(nodes, h * k, k);
            g_autoptr(RhSchedule) s =
                rh_schedule_new(RH_OP_ALL_GATHER, RH_ALGO_RING, h * k, nodes, 1e6, NULL);
            for (guint f = 0; f < s->flows->len; f++) {
                const RhFlow *flow = &g_array_index(s->flows, RhFlow, f);
                if (nodes[flow->src] == nodes[flow->dst])
                    continue;
                out[flow->src]++;
                wrong += flow->src % k != flow->dst % k;
            }
            for (int32_t m = 0; m < h * k; m++) /* every NIC is used, once each way */
                CU_ASSERT_EQUAL(out[m], 1);
            CU_ASSERT_TRUE(h % 2 ? wrong <= k : wrong == 0);
        }
}

/* Bytes that a member sends while a ring sums.
 * Source: NVIDIA/nccl-tests, doc/PERFORMANCE.md, all-reduce. */
static void a_ring_puts_two_times_n_minus_one_over_n_on_the_wire(void)
{
    g_autoptr(RhSchedule) s = rh_schedule_new(RH_OP_ALL_REDUCE, RH_ALGO_RING, 8, NULL, 8e6, NULL);
    RH_CHECK_CLOSE(rh_schedule_wire_bytes(s), 2.0 * 7 / 8 * 8e6, 1e-12);
}

int main(void)
{
    return rh_test_main(
        "collective",
        (RhTest[]){
            {"every_schedule_moves_the_right_data", every_schedule_moves_the_right_data},
            {"rings_over_a_mesh_move_the_right_data", rings_over_a_mesh_move_the_right_data},
            {"pipelines_move_the_right_data_at_every_length",
             pipelines_move_the_right_data_at_every_length},
            {"unsupported_pairs_are_refused", unsupported_pairs_are_refused},
            {"one_member_costs_nothing", one_member_costs_nothing},
            {"a_shift_sends_each_buffer_once", a_shift_sends_each_buffer_once},
            {"a_barrier_reaches_everyone_from_everyone", a_barrier_reaches_everyone_from_everyone},
            {"no_member_moves_more_than_four_chunks_in_a_step_of_a_tree",
             no_member_moves_more_than_four_chunks_in_a_step_of_a_tree},
            {"a_long_tree_sends_twice_its_buffer", a_long_tree_sends_twice_its_buffer},
            {"rings_stay_on_their_rails_when_nodes_are_even",
             rings_stay_on_their_rails_when_nodes_are_even},
            {"a_ring_puts_two_times_n_minus_one_over_n_on_the_wire",
             a_ring_puts_two_times_n_minus_one_over_n_on_the_wire},
            {0}});
}
