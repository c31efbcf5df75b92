/* A time-out covers building, too. */
#include "base/error.h"
#include "strategies/search/bounds/bound_cache.h"
#include "strategies/search/rehearsals/rehearse.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

static double now_s(void)
{
    return (double)g_get_monotonic_time() * 1e-6;
}

/* Some hundred thousand tasks; building takes a good part of a second. */
static void building_ends_with_the_time_given(void)
{
    g_autoptr(GError) error = NULL;
    g_auto(TrainKit) k = train_kit("llama-3.1-405b", "llama3-roce:128", "bare", 8192, 1024);
    RhLayout layout = rh_layout_default();
    CU_ASSERT_TRUE_FATAL(rh_layout_parse("tp8,pp16,dp8,vpp2", &layout, NULL));
    double t_start_s = now_s();
    rh_program_free(rh_train_build(&k.c, &layout, &error));
    g_assert_no_error(error);
    double build_s = now_s() - t_start_s;
    RhEngineOptions hasty = {.timeout_s = build_s / 20};
    t_start_s = now_s();
    CU_ASSERT_PTR_NULL(rh_rehearse(&k.c, &layout, &hasty, NULL, NULL, &error));
    CU_ASSERT_TRUE(now_s() - t_start_s < build_s / 2);
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_NO_ANSWER));
    printf("    built in %.3f s\n", build_s);
}

static void in_time_the_answer_is_the_same(void)
{
    g_autoptr(GError) error = NULL;
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:2", "megatron", 16, 2048);
    RhLayout layout = rh_layout_default();
    CU_ASSERT_TRUE_FATAL(rh_layout_parse("tp2,dp8", &layout, NULL));
    RhEngineOptions patient = {.timeout_s = 600}, timeless = {0}, endless = {.timeout_s = 1e15};
    g_autoptr(RhRehearsal) a = rh_rehearse(&k.c, &layout, &patient, NULL, NULL, &error);
    g_autoptr(RhRehearsal) b = rh_rehearse(&k.c, &layout, &timeless, NULL, NULL, &error);
    g_autoptr(RhRehearsal) longest = rh_rehearse(&k.c, &layout, &endless, NULL, NULL, &error);
    g_assert_no_error(error);
    CU_ASSERT_EQUAL(a->step_time_s, b->step_time_s);
    CU_ASSERT_EQUAL(longest->step_time_s, b->step_time_s);
}

/* Collectives are not timed after the deadline; leaving them out only lowers the bound. */
static void beyond_the_deadline_collectives_count_as_nothing(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:4", "megatron", 64, 4096);
    RhLayout l = train_layout(&k, "tp2,pp2,dp8,zero1");
    g_autoptr(RhBoundCache) in_time = rh_bound_new(&k.c);
    g_autoptr(RhBoundCache) late = rh_bound_new(&k.c);
    late->deadline = (RhDeadline){.t_end_us = 1};
    double bound_s = rh_closed_form_s(late, &l), segment_s = rh_segment_graph_s(late, &l);
    CU_ASSERT_EQUAL(g_hash_table_size(late->collectives), 0);
    CU_ASSERT_EQUAL(rh_uncontended_times_give(late->alone, 0, NULL), 0);
    CU_ASSERT_EQUAL(g_hash_table_size(late->messages), 0);
    CU_ASSERT_TRUE(bound_s > 0 && bound_s < rh_closed_form_s(in_time, &l));
    CU_ASSERT_TRUE(segment_s > 0 && segment_s < rh_segment_graph_s(in_time, &l));
}

int main(void)
{
    return rh_test_main(
        "timed_build",
        (const RhTest[]){{"building_ends_with_the_time_given", building_ends_with_the_time_given},
                         {"in_time_the_answer_is_the_same", in_time_the_answer_is_the_same},
                         {"beyond_the_deadline_collectives_count_as_nothing",
                          beyond_the_deadline_collectives_count_as_nothing},
                         {0}});
}
