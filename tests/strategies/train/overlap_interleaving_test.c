/* Pairs: the forward of one micro-batch beside the backward of another. */
#include <string.h>

#include "sim/uncontended_critical_path.h"
#include "strategies/search/bounds/bound_cache.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

static RhProgram *build(const TrainKit *k, const char *layout)
{
    RhLayout l = train_layout(k, layout);
    g_autoptr(GError) error = NULL;
    RhProgram *p = rh_train_build(&k->c, &l, &error);
    g_assert_no_error(error);
    CU_ASSERT_TRUE(rh_program_check(p, &error));
    g_assert_no_error(error);
    return p;
}

typedef struct {
    double kernels_s, bytes; /* of collectives */
    guint tasks;
} Sums;

static Sums sums_of(const TrainKit *k, const RhProgram *p)
{
    Sums s = {.tasks = p->tasks->len};
    for (guint i = 0; i < p->tasks->len; i++) {
        const RhTask *t = rh_program_task(p, (int32_t)i);
        const RhBundle *b =
            t->kind == RH_TASK_KERNEL ? &g_array_index(p->bundles, RhBundle, t->bundle) : NULL;
        for (int32_t n = 0; b && n < b->count; n++)
            s.kernels_s +=
                rh_sequence_kernel_s(&k->c, &g_array_index(p->kernels, RhKernel, b->first + n));
        s.bytes += t->kind == RH_TASK_COLLECTIVE ? t->bytes : 0;
    }
    return s;
}

/* Pairs have the same kernels and bytes in another order, and less exposed communication. */
static void pairs_hide_what_their_halves_wait_for(void)
{
    static const char *const rows[][2] = {
        {"dp8,ep8", "dp8,ep8,epoverlap=pairs"},
        {"pp2,dp4,ep4,vpp2", "pp2,dp4,ep4,vpp2,epoverlap=pairs"},
        {"pp2,dp4,ep4,schedule=zb-v", "pp2,dp4,ep4,schedule=dualpipe-v"},
        {"pp2,tp2,dp2,ep4,etp1,vpp2", "pp2,tp2,dp2,ep4,etp1,vpp2,epoverlap=pairs"}};
    g_auto(TrainKit) k = train_kit("mixtral-8x7b", "h100-sxm:8x1,nvlink:60GB/s", "bare", 256, 4096);
    g_assert(rh_model_set(k.model, "layers", "8", NULL));
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(RhProgram) plain = build(&k, rows[i][0]), pairs = build(&k, rows[i][1]);
        Sums a = sums_of(&k, plain), b = sums_of(&k, pairs);
        double plain_s, pairs_s;
        CU_ASSERT_EQUAL(a.tasks, b.tasks);
        RH_CHECK_CLOSE(a.kernels_s, b.kernels_s, 1e-12);
        RH_CHECK_CLOSE(a.bytes, b.bytes, 1e-12);
        CU_ASSERT_TRUE(rh_critical_path_s(plain, k.c.platform, &plain_s, NULL));
        CU_ASSERT_TRUE(rh_critical_path_s(pairs, k.c.platform, &pairs_s, NULL));
        CU_ASSERT_TRUE(pairs_s < 0.85 * plain_s);
    }
}

/* DualPipe has the slots of DualPipeV; at the turn two replicas exchange outputs and gradients, a
 * message each for every micro-batch. Where these cost nothing, the step is DualPipeV's. */
static void dualpipe_goes_on_where_dualpipe_v_turns(void)
{
    g_auto(TrainKit) k = train_kit("mixtral-8x7b", "h100-sxm:8x2,ib:400Gb/s", "bare", 64, 2048);
    g_assert(rh_model_set(k.model, "layers", "8", NULL));
    g_autoptr(RhProgram) turn = build(&k, "pp2,dp8,ep4,schedule=dualpipe-v"),
                         cross = build(&k, "pp2,dp8,ep4,schedule=dualpipe");
    double message = 2048.0 * 4096 * 2, turn_s, cross_s;
    guint exchanges = 0;
    for (guint i = 0; i < cross->tasks->len; i++) {
        const RhTask *t = rh_program_task(cross, (int32_t)i);
        if (t->kind != RH_TASK_COLLECTIVE || t->op != RH_OP_SHIFT)
            continue;
        int32_t pair[2];
        exchanges++;
        CU_ASSERT_EQUAL(t->role, 1);
        CU_ASSERT_EQUAL(t->bytes, message);
        CU_ASSERT_EQUAL(rh_program_group(cross, t->group)->size, 2);
        rh_group_members(rh_program_group(cross, t->group), 8, pair);
        CU_ASSERT_TRUE(pair[0] == 8 && pair[1] == 12); /* half of the replicas on */
    }
    CU_ASSERT_EQUAL(exchanges, 2 * 64 / 8);
    CU_ASSERT_EQUAL(cross->tasks->len, turn->tasks->len + exchanges);
    CU_ASSERT_TRUE(rh_critical_path_s(turn, k.c.platform, &turn_s, NULL));
    CU_ASSERT_TRUE(rh_critical_path_s(cross, k.c.platform, &cross_s, NULL));
    CU_ASSERT_TRUE(cross_s > turn_s && cross_s < 1.1 * turn_s);
    RhLayout odd = rh_train_default(&k.c);
    g_assert(rh_layout_parse("pp2,tp8,dp1,schedule=dualpipe", &odd, NULL));
    odd = rh_train_canonical(&k.c, &odd);
    g_autoptr(GError) error = NULL;
    CU_ASSERT_FALSE(rh_train_legal(&k.c, &odd, &error));
    CU_ASSERT_PTR_NOT_NULL_FATAL(error);
    CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "dp=1 is odd"));
}

/* Layers beside layers; what has no counterpart alone, each once and in its order. */
static void every_item_of_both_runs_once(void)
{
    static const int all[] = {RH_LAYER_EMBEDDING, 0, 1, 1, 2, RH_LAYER_HEAD};
    static const struct {
        int32_t from[2], count[2];
        const char *steps;
    } rows[] = {
        {{1, 1}, {2, 2}, "0-1 1-0 "},
        {{0, 2}, {3, 4}, "0-. .-3 1-2 2-1 .-0 "}, /* embedding, then the head */
        {{2, 0}, {4, 2}, "0-1 1-. 2-. 3-. .-0 "},
        {{0, 5}, {1, 1}, "0-. .-0 "},
        {{1, 1}, {0, 2}, ".-1 .-0 "},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        RhPairWalk walk = {.kinds = {all + rows[i].from[0], all + rows[i].from[1]},
                           .count = {rows[i].count[0], rows[i].count[1]}};
        g_autoptr(GString) steps = g_string_new(NULL);
        for (int32_t f, b; rh_pair_next(&walk, &f, &b);) {
            g_string_append_c(steps, f < 0 ? '.' : (char)('0' + f));
            g_string_append_c(steps, '-');
            g_string_append_c(steps, b < 0 ? '.' : (char)('0' + b));
            g_string_append_c(steps, ' ');
        }
        CU_ASSERT_STRING_EQUAL(steps->str, rows[i].steps);
    }
}

static void check_refused(const TrainKit *k, const char *text, const char *why)
{
    g_autoptr(GError) error = NULL;
    RhLayout l = rh_train_default(&k->c);
    g_assert(rh_layout_parse(text, &l, NULL));
    l = rh_train_canonical(&k->c, &l);
    CU_ASSERT_FALSE(rh_train_legal(&k->c, &l, &error));
    CU_ASSERT_PTR_NOT_NULL_FATAL(error);
    CU_ASSERT_PTR_NOT_NULL(strstr(error->message, why));
}

static void pairs_need_a_schedule_that_has_them(void)
{
    g_auto(TrainKit) k = train_kit("mixtral-8x7b", "dgx-h100:2", "bare", 64, 2048);
    check_refused(&k, "pp4,dp4,ep4,schedule=gpipe,epoverlap=pairs", "has no forward beside");
    check_refused(&k, "pp4,dp4,ep4,schedule=zb-v,epoverlap=pairs", "1f1b, interleaved");
    check_refused(&k, "pp4,dp4,ep4,schedule=dualpipe-v,mb4", "2 micro-batches for each of pp");
    check_refused(&k, "pp4,dp4,vpp1,ep4,schedule=dualpipe-v", "do not go together");
    /* without spread experts, or where the schedule has them anyway, it says nothing */
    RhLayout l = train_layout(&k, "pp4,dp4,schedule=dualpipe-v,ep4,epoverlap=pairs");
    CU_ASSERT_EQUAL(l.overlap, RH_OVERLAP_NONE);
    l = train_layout(&k, "pp4,dp4,epoverlap=pairs");
    CU_ASSERT_EQUAL(l.overlap, RH_OVERLAP_NONE);
}

/* Checks the layout as typed, before one stage makes schedules alike. */
static void schedules_of_two_chunks_need_stages(void)
{
    static const char *const rows[][2] = {
        {"pp1,dp16,ep4,schedule=dualpipe", "pp=1, which counts pairs of its stages"},
        {"pp1,dp16,ep4,schedule=dualpipe-v", "schedule=dualpipe-v needs a pipeline"},
        {"pp1,dp16,ep4,vpp2", "vpp=2 needs a pipeline"}};
    g_auto(TrainKit) k = train_kit("mixtral-8x7b", "dgx-h100:2", "bare", 64, 2048);
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        RhLayout l = rh_train_default(&k.c);
        g_assert(rh_layout_parse(rows[i][0], &l, NULL));
        CU_ASSERT_FALSE(rh_train_legal(&k.c, &l, &error));
        CU_ASSERT_PTR_NOT_NULL_FATAL(error);
        CU_ASSERT_PTR_NOT_NULL(strstr(error->message, rows[i][1]));
    }
}

int main(void)
{
    return rh_test_main(
        "batch_overlap",
        (RhTest[]){
            {"pairs_hide_what_their_halves_wait_for", pairs_hide_what_their_halves_wait_for},
            {"dualpipe_goes_on_where_dualpipe_v_turns", dualpipe_goes_on_where_dualpipe_v_turns},
            {"every_item_of_both_runs_once", every_item_of_both_runs_once},
            {"pairs_need_a_schedule_that_has_them", pairs_need_a_schedule_that_has_them},
            {"schedules_of_two_chunks_need_stages", schedules_of_two_chunks_need_stages},
            {0}});
}
