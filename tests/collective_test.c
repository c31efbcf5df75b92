/* Every schedule moves real data correctly, and takes the time of its closed form on idle links. */
#include <math.h>
#include <string.h>

#include "sim/collective.h"
#include "tests/testkit.h"

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
    for (guint i = 0; i < w->s->phases->len; i++) {
        const RhStepPhase *phase = &g_array_index(w->s->phases, RhStepPhase, i);
        for (int32_t q = 0; q < phase->repeat; q++) {
            memcpy(w->before, w->now, bytes);
            for (int32_t f = 0; f < phase->flows_count; f++)
                run_flow(w, &g_array_index(w->s->flows, RhFlow, phase->flows_first + f), q);
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

/* What member must hold of chunk at the end; NAN: nothing is asked. */
static double wanted(const RhSchedule *s, int32_t member, int32_t chunk)
{
    bool scattered = s->op == RH_OP_REDUCE_SCATTER && s->owner[chunk] != member;
    bool elsewhere = s->op == RH_OP_ALL_TO_ALL && chunk % s->members != member;
    if (scattered || elsewhere)
        return (double)NAN;
    if (s->op == RH_OP_ALL_REDUCE || s->op == RH_OP_REDUCE_SCATTER)
        return sum_of(s, chunk);
    if (s->op == RH_OP_ALL_GATHER)
        return weight(s->owner[chunk], chunk);
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

static void every_schedule_moves_the_right_data(void)
{
    static const int32_t sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 17, 24, 32};
    static const int32_t per_node[] = {1, 2, 4, 8, 100};
    int checked = 0;
    for (RhOp op = RH_OP_ALL_REDUCE; op <= RH_OP_ALL_TO_ALL; op++)
        for (RhAlgo algo = RH_ALGO_RING; algo < RH_ALGO_LAST; algo++)
            for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++)
                for (size_t k = 0; k < G_N_ELEMENTS(per_node); k++) {
                    int32_t nodes[32];
                    for (int32_t m = 0; m < sizes[i]; m++)
                        nodes[m] = m / per_node[k];
                    g_autoptr(RhSchedule) s = rh_schedule_new(op, algo, sizes[i], nodes, 4e6, NULL);
                    if (!s)
                        continue;
                    check_data(s);
                    checked++;
                }
    CU_ASSERT_TRUE(checked > 700);
}

static void unsupported_pairs_are_refused(void)
{
    g_autoptr(GError) error = NULL;
    CU_ASSERT_PTR_NULL(rh_schedule_new(RH_OP_ALL_TO_ALL, RH_ALGO_RING, 4, NULL, 1, &error));
    CU_ASSERT_PTR_NOT_NULL(error);
}

static void one_member_costs_nothing(void)
{
    g_autoptr(RhSchedule) s = rh_schedule_new(RH_OP_ALL_REDUCE, RH_ALGO_RING, 1, NULL, 1e9, NULL);
    CU_ASSERT_EQUAL(s->phases->len, 0);
    CU_ASSERT_EQUAL(rh_schedule_wire_bytes(s), 0);
}

/* --- time --- */

static RhProgram *one_group(int32_t n)
{
    RhProgram *p = rh_program_new(n);
    RhSpan all = {1, n};
    rh_program_add_group(p, "all", &all, 1);
    rh_program_begin_role(p, "all", 0, &all, 1);
    rh_program_end_role(p);
    return p;
}

static void idle_time_equals_the_closed_form(void)
{
    static const int32_t sizes[] = {2, 3, 4, 5, 8, 13, 16, 31, 64};
    static const double bytes[] = {1e3, 1e6, 4e7, 1e9};
    g_autoptr(GError) error = NULL;
    g_autoptr(RhPlatform) star = rh_platform_load("h100-sxm:64x1,nvlink:450GB/s", &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(star);
    double alpha = star->nvlink_latency_s.value;
    double rate = star->nvlink_bytes_per_s.value * star->nvlink_efficiency_frac.value;
    for (RhOp op = RH_OP_ALL_REDUCE; op < RH_OP_LAST; op++)
        for (RhAlgo algo = RH_ALGO_RING; algo < RH_ALGO_LAST; algo++)
            for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++)
                for (size_t k = 0; k < G_N_ELEMENTS(bytes); k++) {
                    int32_t n = sizes[i];
                    g_autoptr(RhSchedule) s = rh_schedule_new(op, algo, n, NULL, bytes[k], NULL);
                    if (!s)
                        continue;
                    g_autoptr(RhProgram) p = one_group(n);
                    double time =
                        rh_schedule_time_s(s, p, star, 0, 0) - star->collective_launch_s.value;
                    RH_CHECK_CLOSE(time,
                                   rh_collective_closed_form_s(op, algo, n, bytes[k], alpha, rate),
                                   1e-9);
                }
}

static void a_ring_puts_two_times_n_minus_one_over_n_on_the_wire(void)
{
    g_autoptr(RhSchedule) s = rh_schedule_new(RH_OP_ALL_REDUCE, RH_ALGO_RING, 8, NULL, 8e6, NULL);
    RH_CHECK_CLOSE(rh_schedule_wire_bytes(s), 2.0 * 7 / 8 * 8e6, 1e-12);
}

static void more_members_per_node_use_more_nics(void)
{
    g_autoptr(RhPlatform) p8 = rh_platform_load("h100-sxm:8x4,nvlink:4500GB/s,ib:400Gb/s", NULL);
    g_autoptr(RhProgram) wide = one_group(32);
    RhProgram *narrow = rh_program_new(32);
    RhSpan nodes = {8, 4}, all = {1, 8};
    rh_program_add_group(narrow, "rail", &nodes, 1);
    rh_program_begin_role(narrow, "all", 0, (RhSpan[]){all, nodes}, 2);
    rh_program_end_role(narrow);
    int32_t node_of[32], rail_of[4] = {0, 1, 2, 3};
    for (int i = 0; i < 32; i++)
        node_of[i] = i / 8;
    g_autoptr(RhSchedule) eight =
        rh_schedule_new(RH_OP_REDUCE_SCATTER, RH_ALGO_RING, 32, node_of, 32e9, NULL);
    g_autoptr(RhSchedule) one =
        rh_schedule_new(RH_OP_REDUCE_SCATTER, RH_ALGO_RING, 4, rail_of, 4e9, NULL);
    double t_eight = rh_schedule_time_s(eight, wide, p8, 0, 0),
           t_one = rh_schedule_time_s(one, narrow, p8, 0, 0);
    /* The same bytes leave every NIC: 31/32 x 32 GB over 8 NICs against 3/4 x 4 GB over one. */
    RH_CHECK_CLOSE(t_eight / t_one, (31.0 / 32 * 4) / (3.0 / 4 * 4), 1e-2);
    rh_program_free(narrow);
}

int main(void)
{
    return rh_test_main(
        "collectives",
        (RhTest[]){{"every_schedule_moves_the_right_data", every_schedule_moves_the_right_data},
                   {"unsupported_pairs_are_refused", unsupported_pairs_are_refused},
                   {"one_member_costs_nothing", one_member_costs_nothing},
                   {"idle_time_equals_the_closed_form", idle_time_equals_the_closed_form},
                   {"a_ring_puts_two_times_n_minus_one_over_n_on_the_wire",
                    a_ring_puts_two_times_n_minus_one_over_n_on_the_wire},
                   {"more_members_per_node_use_more_nics", more_members_per_node_use_more_nics},
                   {0}});
}
