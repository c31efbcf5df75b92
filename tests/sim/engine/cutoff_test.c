/* Rehearsals that end where it is known that nobody asks for the rest: a bound of the step, and no other answer. */
#include "sim/engine/workers/isolated_run.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

static RhRun *run_of(const TrainKit *k, const RhProgram *p, double cutoff_s)
{
    RhEngineOptions options = {.cutoff_s = cutoff_s};
    RhRun *run = rh_rehearse_isolated(p, k->platform, &options, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(run);
    return run;
}

/* Stages, turns, experts, gathers, and groups that straddle nodes. */
static void what_is_left_is_bounded(void)
{
    static const struct {
        const char *model, *platform, *layout;
    } rows[] = {{"llama-3.1-8b", "dgx-h100:4", "tp2,pp4,dp4,zero1"},
                {"llama-3.1-8b", "dgx-h100:4", "tp1,pp2,dp16,zero2,vpp4"},
                {"llama-3.1-8b", "dgx-h100:4", "tp4,pp1,dp8,zero3"},
                {"llama-3.2-1b", "h100-sxm:6x4,ib:400Gb/s,nics:6", "tp2,pp4,dp3,zero0"},
                {"mixtral-8x7b", "dgx-h100:4", "tp1,pp4,dp8,ep8,zero1,mb1"}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(TrainKit) k = train_kit(rows[i].model, rows[i].platform, "megatron", 96, 1024);
        train_kit_runs_all(&k);
        RhLayout l = train_layout(&k, rows[i].layout);
        g_autoptr(RhProgram) p = rh_train_build(&k.c, &l, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(p);
        g_autoptr(RhRun) whole = run_of(&k, p, 0);
        for (double frac = 0.1; frac < 0.95; frac += 0.2) {
            g_autoptr(RhRun) part = run_of(&k, p, frac * whole->step_time_s);
            CU_ASSERT_TRUE(part->left);
            CU_ASSERT_TRUE(part->step_time_s > frac * whole->step_time_s);
            CU_ASSERT_TRUE(part->step_time_s <= whole->step_time_s);
        }
        g_autoptr(RhRun) same = run_of(&k, p, whole->step_time_s);
        CU_ASSERT_FALSE(whole->left || same->left);
        CU_ASSERT_EQUAL(same->step_time_s, whole->step_time_s);
        CU_ASSERT_EQUAL(same->events_count, whole->events_count);
    }
}

static void count_seen(const RhRehearsal *r, void *user)
{
    (void)r;
    ++*(int64_t *)user;
}

static void same_entries(const GPtrArray *a, const GPtrArray *b)
{
    CU_ASSERT_EQUAL_FATAL(a->len, b->len);
    for (guint i = 0; i < a->len; i++) {
        const RhRehearsal *x = a->pdata[i], *y = b->pdata[i];
        CU_ASSERT_TRUE(rh_layout_equal(&x->layout, &y->layout));
        CU_ASSERT_EQUAL(x->step_time_s, y->step_time_s);
    }
}

/* A search whose caller sees every rehearsal performs them to their ends; the plan is the same. */
static void a_plan_is_the_same(void)
{
    static const struct {
        const char *model, *platform;
        int64_t batch;
    } rows[] = {{"gpt2", "h100-sxm:4x2,nvlink:450GB/s,ib:400Gb/s", 32},
                {"mixtral-8x7b", "dgx-h100:4", 64},
                {"llama-3.1-8b", "dgx-h100:4", 64}};
    for (size_t i = 0; i < RH_TRIES(G_N_ELEMENTS(rows), 1); i++) {
        g_auto(TrainKit) k =
            train_kit(rows[i].model, rows[i].platform, "megatron", rows[i].batch, 1024);
        int64_t seen = 0;
        RhPlanOptions o = {.gap_frac = 0.002, .jobs = 2};
        g_autoptr(RhPlan) quick = rh_plan(&k.c, &o, NULL);
        o.seen = count_seen;
        o.user = &seen;
        g_autoptr(RhPlan) whole = rh_plan(&k.c, &o, NULL);
        CU_ASSERT_TRUE_FATAL(quick != NULL && whole != NULL);
        same_entries(quick->entries, whole->entries);
        same_entries(quick->families, whole->families);
        CU_ASSERT_EQUAL(quick->over_budget == NULL, whole->over_budget == NULL);
        CU_ASSERT_EQUAL(quick->rehearsed_count, whole->rehearsed_count);
        CU_ASSERT_EQUAL(quick->proved, whole->proved);
        CU_ASSERT_EQUAL(quick->proof_bound_s, whole->proof_bound_s);
        CU_ASSERT_TRUE(seen > 0);
    }
}

int main(void)
{
    return rh_test_main("cutoff", (RhTest[]){{"what_is_left_is_bounded", what_is_left_is_bounded},
                                             {"a_plan_is_the_same", a_plan_is_the_same},
                                             {0}});
}
