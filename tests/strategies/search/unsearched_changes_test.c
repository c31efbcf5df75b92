/* Layouts outside of the search, and what they gain over the first row of a plan. */
#include <math.h>

#include "strategies/knob_functions.h"
#include "strategies/search/memory_budget.h"
#include "strategies/search/rehearsals/steady_state.h"
#include "strategies/search/unsearched_changes.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

static const RhUnsearched *find(const GArray *all, const char *key)
{
    for (guint i = 0; i < all->len; i++) {
        const RhUnsearched *o = &g_array_index(all, RhUnsearched, i);
        if (strcmp(o->key, key) == 0)
            return o;
    }
    return NULL;
}

static RhPlan *plan_of(const RhProblem *c, const RhPlanOptions *options)
{
    RhPlan *plan = rh_plan(c, options, NULL);
    g_assert(plan && plan->entries->len > 0);
    return plan;
}

/* Returns the step of the layout, rehearsed whole. */
static double step_s(const RhProblem *c, const RhLayout *layout)
{
    RhEngineOptions options = {0};
    g_autoptr(RhRehearsal) r = rh_rehearse(c, layout, &options, NULL, NULL, NULL);
    g_assert(r);
    return r->step_time_s;
}

/* A plan of 256 micro-batches, whose step is told by fewer: each is what the changed question takes. */
static void each_is_the_first_row_with_one_thing_changed(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:1", "megatron", 512, 8192);
    RhConstraint stages;
    g_assert(rh_constraint_parse("pp=4", false, &stages, NULL));
    RhPlanOptions o = {.top = 1, .gap_frac = 0.01, .risk_frac = 0.05, .best_alone = true};
    o.constraints = &stages;
    o.constraints_count = 1;
    g_autoptr(RhPlan) plan = plan_of(&k.c, &o);
    const RhRehearsal *best = g_ptr_array_index(plan->entries, 0);
    g_autoptr(GArray) all = rh_unsearched_new(&k.c, &o, plan, true);
    static const char *const numbers[] = {"gradients", "moments", "dtype"};
    for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++) {
        const RhUnsearched *one = find(all, numbers[i]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(one);
        CU_ASSERT_TRUE(one->numerics && one->change && !one->why);
        CU_ASSERT_PTR_NOT_NULL_FATAL(one->r);
        RhProblem changed = k.c;
        if (strcmp(one->key, "gradients") == 0)
            changed.job.gradient_bytes = 2;
        else if (strcmp(one->key, "moments") == 0)
            changed.job.moments = &rh_adam_moments_bf16;
        else
            changed.job.recipe = &rh_recipe_fp8;
        CU_ASSERT_TRUE(rh_layout_equal(&one->r->layout, &best->layout));
        RH_CHECK_CLOSE(one->r->step_time_s, step_s(&changed, &best->layout), RH_STEADY_APART_FRAC);
        CU_ASSERT_DOUBLE_EQUAL(one->gain_frac, 1 - one->r->step_time_s / best->step_time_s,
                               RH_STEADY_APART_FRAC);
    }
    CU_ASSERT_STRING_EQUAL(find(all, "dtype")->change, "dtype=fp8");
    CU_ASSERT_TRUE(find(all, "dtype")->gain_frac > 0.1);
}

/* The step before the layout's; 0: there is none. */
static int32_t less_offload(const RhProblem *c, const RhLayout *layout)
{
    int32_t less = 0;
    for (int32_t step = 0;; step++) {
        RhLayout l = *layout;
        l.recompute = RH_RECOMPUTE_FULL;
        if (!rh_knob_offload_instead(c, &l, step) || l.offload >= layout->offload)
            return less;
        less = l.offload;
    }
}

/* Offload takes the place of what the first row recomputes, as little of it as makes room. */
static void offload_is_the_least_that_fits(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:1", "megatron", 32, 8192);
    train_kit_runs_all(&k);
    RhConstraint fixed[2];
    g_assert(rh_constraint_parse("recompute=full", false, &fixed[0], NULL));
    g_assert(rh_constraint_parse("tp=1", false, &fixed[1], NULL));
    RhPlanOptions o = {.top = 1, .gap_frac = 0.01, .risk_frac = 0.05, .best_alone = true};
    o.constraints = fixed;
    o.constraints_count = 2;
    g_autoptr(RhPlan) plan = plan_of(&k.c, &o);
    g_autoptr(GArray) all = rh_unsearched_new(&k.c, &o, plan, true);
    const RhUnsearched *offload = find(all, "activations");
    CU_ASSERT_PTR_NOT_NULL_FATAL(offload);
    CU_ASSERT_FALSE(offload->numerics);
    CU_ASSERT_PTR_NOT_NULL_FATAL(offload->r);
    RhLayout l = offload->r->layout;
    double room_bytes = rh_memory_budget(&k.c, fixed, 2, 0.05).ranked_bytes;
    CU_ASSERT_TRUE(l.recompute == RH_RECOMPUTE_NONE && l.offload > 0);
    CU_ASSERT_TRUE(rh_train_memory(&k.c, &l).peak_bytes <= room_bytes);
    RH_CHECK_CLOSE(offload->r->step_time_s, step_s(&k.c, &l), RH_STEADY_APART_FRAC);
    l.offload = less_offload(&k.c, &l);
    CU_ASSERT_TRUE(rh_train_memory(&k.c, &l).peak_bytes > room_bytes);
}

/* Ways to cut a model that launches of the framework leave out stand with their reason, and with what
 * they would give, although the framework refuses them. */
static void limits_of_launches_are_said(void)
{
    g_auto(TrainKit) k = train_kit("mixtral-8x7b", "dgx-h100:4", "deepspeed", 64, 4096);
    RhPlanOptions o = {.top = 1, .gap_frac = 0.01, .risk_frac = 0.05, .best_alone = true};
    g_autoptr(RhPlan) plan = plan_of(&k.c, &o);
    const RhRehearsal *best = g_ptr_array_index(plan->entries, 0);
    g_autoptr(GArray) all = rh_unsearched_new(&k.c, &o, plan, true);
    static const char *const limited[] = {"tp", "ep"};
    for (size_t i = 0; i < G_N_ELEMENTS(limited); i++) {
        const RhUnsearched *one = find(all, limited[i]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(one);
        CU_ASSERT_PTR_NOT_NULL_FATAL(one->limit);
        CU_ASSERT_PTR_NOT_NULL(strstr(one->limit, "DeepSpeed is launched with data parallelism"));
        CU_ASSERT_PTR_NULL(one->why);
        CU_ASSERT_PTR_NOT_NULL_FATAL(one->r);
        CU_ASSERT_TRUE(i == 0 ? one->r->layout.tp > 1 : one->r->layout.ep > 1);
        RH_CHECK_CLOSE(one->r->step_time_s, step_s(&k.c, &one->r->layout), RH_STEADY_APART_FRAC);
        CU_ASSERT_DOUBLE_EQUAL(one->gain_frac, 1 - one->r->step_time_s / best->step_time_s,
                               RH_STEADY_APART_FRAC);
    }
    g_auto(TrainKit) dense = train_kit("llama-3.1-8b", "dgx-h100:1", "deepspeed", 64, 4096);
    g_autoptr(RhPlan) other = plan_of(&dense.c, &o);
    g_autoptr(GArray) fewer = rh_unsearched_new(&dense.c, &o, other, false);
    CU_ASSERT_PTR_NULL(find(fewer, "ep")); /* it has no experts */
    CU_ASSERT_PTR_NOT_NULL(find(fewer, "tp"));
}

/* Offload is part of the search where the framework keeps activations in the host's memory: nothing
 * is left to try. */
static void offload_is_searched_where_it_is_said(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:1", "megatron-bridge", 32, 8192);
    RhConstraint fixed[2];
    g_assert(rh_constraint_parse("recompute=none", false, &fixed[0], NULL));
    g_assert(rh_constraint_parse("tp=1", false, &fixed[1], NULL));
    RhPlanOptions o = {.top = 1, .gap_frac = 0.01, .risk_frac = 0.05, .best_alone = true};
    o.constraints = fixed;
    o.constraints_count = 2;
    g_autoptr(RhPlan) plan = plan_of(&k.c, &o);
    CU_ASSERT_FATAL(plan->entries->len > 0);
    RhLayout l = ((const RhRehearsal *)g_ptr_array_index(plan->entries, 0))->layout;
    CU_ASSERT_TRUE(l.offload > 0 && l.pp == 1);
    g_autoptr(GArray) left = rh_unsearched_new(&k.c, &o, plan, true);
    CU_ASSERT_PTR_NULL(find(left, "activations"));
    l.offload = less_offload(&k.c, &l);
    CU_ASSERT_TRUE(rh_train_memory(&k.c, &l).peak_bytes >
                   rh_memory_budget(&k.c, fixed, 2, 0.05).ranked_bytes);
}

/* Offload is not tried where recomputation, whose place it takes, is required. */
static void offload_is_left_where_nothing_gives_it_place(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:1", "megatron-bridge", 32, 8192);
    RhConstraint full;
    g_assert(rh_constraint_parse("recompute=full", false, &full, NULL));
    RhPlanOptions o = {.top = 1, .gap_frac = 0.01, .risk_frac = 0.05, .best_alone = true};
    o.constraints = &full;
    o.constraints_count = 1;
    g_autoptr(RhPlan) plan = plan_of(&k.c, &o);
    g_autoptr(GArray) left = rh_unsearched_new(&k.c, &o, plan, false);
    CU_ASSERT_PTR_NOT_NULL(find(left, "activations"));
}

/* Context ranks of fewer tokens take the place of replicas, the fewest that the search leaves out. */
static void context_ranks_take_replicas(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "megatron", 64, 4096);
    RhPlanOptions o = {.top = 1, .gap_frac = 0.01, .risk_frac = 0.05, .best_alone = true};
    g_autoptr(RhPlan) plan = plan_of(&k.c, &o);
    const RhRehearsal *best = g_ptr_array_index(plan->entries, 0);
    g_assert(best->layout.tp * best->layout.pp * best->layout.cp <= 2);
    g_autoptr(GArray) all = rh_unsearched_new(&k.c, &o, plan, true);
    const RhUnsearched *cp = find(all, "cp");
    CU_ASSERT_PTR_NOT_NULL_FATAL(cp);
    CU_ASSERT_PTR_NOT_NULL_FATAL(cp->r);
    CU_ASSERT_EQUAL(cp->r->layout.cp, 4);
    CU_ASSERT_EQUAL(cp->r->layout.cp * cp->r->layout.dp, best->layout.cp * best->layout.dp);
    RH_CHECK_CLOSE(cp->r->step_time_s, step_s(&k.c, &cp->r->layout), RH_STEADY_APART_FRAC);
}

/* Knobs that were asked for are inside the search; a layout that is not rehearsed says why. */
static void asked_knobs_are_inside(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "megatron", 64, 4096);
    k.c.job.gradient_bytes = 2;
    k.c.job.moments = &rh_adam_moments_8bit;
    k.c.job.recipe = &rh_recipe_fp8;
    k.c.job.narrow_weights = true;
    RhConstraint fixed[2];
    g_assert(rh_constraint_parse("cp=1", false, &fixed[0], NULL));
    g_assert(rh_constraint_parse("offload=0", false, &fixed[1], NULL));
    RhPlanOptions o = {.top = 1, .gap_frac = 0.01, .risk_frac = 0.05, .best_alone = true};
    g_autoptr(RhPlan) plan = plan_of(&k.c, &o);
    g_autoptr(GArray) untold = rh_unsearched_new(&k.c, &o, plan, false);
    CU_ASSERT_EQUAL(untold->len, 2); /* cp and offload: nothing multiplies quicker than fp8 */
    for (guint i = 0; i < untold->len; i++) {
        const RhUnsearched *one = &g_array_index(untold, RhUnsearched, i);
        CU_ASSERT_PTR_NULL(one->r);
        CU_ASSERT_PTR_NOT_NULL(one->change ? one->change : one->why);
    }
    o.constraints = fixed;
    o.constraints_count = 2;
    g_autoptr(GArray) none = rh_unsearched_new(&k.c, &o, plan, true);
    CU_ASSERT_EQUAL(none->len, 0);
}

int main(void)
{
    return rh_test_main(
        "unsearched",
        (RhTest[]){{"each_is_the_first_row_with_one_thing_changed",
                    each_is_the_first_row_with_one_thing_changed},
                   {"offload_is_the_least_that_fits", offload_is_the_least_that_fits},
                   {"limits_of_launches_are_said", limits_of_launches_are_said},
                   {"offload_is_searched_where_it_is_said", offload_is_searched_where_it_is_said},
                   {"offload_is_left_where_nothing_gives_it_place",
                    offload_is_left_where_nothing_gives_it_place},
                   {"context_ranks_take_replicas", context_ranks_take_replicas},
                   {"asked_knobs_are_inside", asked_knobs_are_inside},
                   {0}});
}
