/* Capacity of a service: sizes, money and answers, by hand; and who is best. */
#include "strategies/search/capacity/cheapest_serving_cluster.h"
#include "tests/kit/testkit.h"

static void add_entry(RhServePlan *plan, int32_t gpus, double answer_s, double tokens_per_s)
{
    RhServeEntry e = {.gpus = gpus, .rate_per_s = 1, .outcome.tokens_per_s = tokens_per_s};
    e.outcome.metrics[RH_METRIC_E2E].mean.value = answer_s;
    g_array_append_val(plan->entries, e);
}

static RhServePlan *plan_new(void)
{
    RhServePlan *plan = g_new0(RhServePlan, 1);
    plan->entries = g_array_new(FALSE, FALSE, sizeof(RhServeEntry));
    return plan;
}

static GArray *sizes_of(int count, const int64_t *sizes)
{
    GArray *out = g_array_new(FALSE, FALSE, sizeof(int64_t));
    g_array_append_vals(out, sizes, (guint)count);
    return out;
}

static const RhServiceCell *at(const GArray *cells, guint i)
{
    return &g_array_index(cells, RhServiceCell, i);
}

static void nodes_are_rented_whole(void)
{
    CU_ASSERT_EQUAL(rh_service_rented(1, 8), 1);
    CU_ASSERT_EQUAL(rh_service_rented(7, 8), 7);
    CU_ASSERT_EQUAL(rh_service_rented(8, 8), 8);
    CU_ASSERT_EQUAL(rh_service_rented(9, 8), 16);
    CU_ASSERT_EQUAL(rh_service_rented(24, 8), 24);
    CU_ASSERT_EQUAL(rh_service_rented(5, 1), 5);
}

static void a_size_holds_the_quickest_that_fits(void)
{
    g_autoptr(RhServePlan) plan = plan_new();
    g_autoptr(GArray) cells = g_array_new(FALSE, FALSE, sizeof(RhServiceCell));
    const int64_t asked[] = {2, 4, 8, 12, 14};
    g_autoptr(GArray) sizes = sizes_of(5, asked);
    add_entry(plan, 3, 2.0, 1000);
    add_entry(plan, 4, 3.0, 1000); /* more GPUs, and slower */
    add_entry(plan, 8, 1.5, 1000);
    g_array_index(plan->entries, RhServeEntry, 0).outcome.cost_usd_per_token_in = 3e-7;
    g_array_index(plan->entries, RhServeEntry, 0).outcome.cost_usd_per_token_both = 2e-7;
    const RhServicePlatform offer = {"a", plan, NULL, 2.0, 8, {0, 0, NULL}};
    rh_service_cells(&offer, sizes, cells);
    CU_ASSERT_EQUAL(cells->len, 4); /* 12 and 14 are two nodes */
    CU_ASSERT_PTR_NULL(at(cells, 0)->entry);
    CU_ASSERT_EQUAL(at(cells, 1)->entry->gpus, 3);
    CU_ASSERT_EQUAL(at(cells, 1)->gpus, 4); /* paid for */
    CU_ASSERT_DOUBLE_EQUAL(at(cells, 1)->usd_per_h, 8, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(at(cells, 1)->usd_per_token, 8.0 / 3600 / 1000, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(at(cells, 1)->usd_per_token_in, 4e-7, 1e-15); /* of four, not three */
    CU_ASSERT_DOUBLE_EQUAL(at(cells, 1)->usd_per_token_both, 4 * 2e-7 / 3, 1e-15);
    CU_ASSERT_EQUAL(at(cells, 2)->entry->gpus, 8);
    CU_ASSERT_EQUAL(at(cells, 3)->gpus, 16);
    CU_ASSERT_EQUAL(at(cells, 3)->asked, 12);
    CU_ASSERT_EQUAL(at(cells, 3)->entry->gpus, 8);
}

static void without_sizes_each_quicker_one_is_a_cell(void)
{
    g_autoptr(RhServePlan) plan = plan_new();
    g_autoptr(GArray) cells = g_array_new(FALSE, FALSE, sizeof(RhServiceCell));
    g_autoptr(GArray) none = sizes_of(0, NULL);
    add_entry(plan, 2, 2.0, 10);
    add_entry(plan, 3, 2.5, 10);
    add_entry(plan, 5, 1.0, 10);
    const RhServicePlatform offers[] = {{"a", plan, NULL, 1.0, 8, {0, 0, NULL}},
                                        {"b", NULL, "no room", 1.0, 8, {0, 0, NULL}}};
    rh_service_cells(&offers[0], none, cells);
    rh_service_cells(&offers[1], none, cells);
    CU_ASSERT_EQUAL(cells->len, 3);
    CU_ASSERT_EQUAL(at(cells, 0)->gpus, 2);
    CU_ASSERT_EQUAL(at(cells, 1)->gpus, 5);
    CU_ASSERT_PTR_NULL(at(cells, 2)->entry);
    CU_ASSERT_EQUAL(at(cells, 2)->gpus, 0);
}

/* a: 2 GPUs, 2 s, 6 USD/h; 4 GPUs, 1 s, 12 USD/h. b: 4 GPUs, 2 s, 4 USD/h; 8 GPUs, 1 s, 8 USD/h; 8 no more. */
static void the_cheapest_that_meets_the_goal_is_best(void)
{
    g_autoptr(RhServePlan) a = plan_new();
    g_autoptr(RhServePlan) b = plan_new();
    g_autoptr(GArray) cells = g_array_new(FALSE, FALSE, sizeof(RhServiceCell));
    g_autoptr(GArray) none = sizes_of(0, NULL);
    add_entry(a, 2, 2.0, 10);
    add_entry(a, 4, 1.0, 10);
    add_entry(b, 4, 2.0, 10);
    add_entry(b, 8, 1.0, 10);
    RhServicePlatform offers[] = {{"a", a, NULL, 3.0, 8, {0, 0, NULL}},
                                  {"b", b, NULL, 1.0, 8, {0, 0, NULL}}};
    rh_service_cells(&offers[0], none, cells);
    rh_service_cells(&offers[1], none, cells);
    RhServiceTarget goal = {0};
    CU_ASSERT_EQUAL(rh_service_judge(&goal, cells), 2);
    CU_ASSERT_TRUE(!at(cells, 0)->pareto && !at(cells, 1)->pareto);
    CU_ASSERT_TRUE(at(cells, 2)->pareto && at(cells, 3)->pareto);
    goal = (RhServiceTarget){.for_s = 36000, .budget_usd = 40};
    CU_ASSERT_EQUAL(rh_service_judge(&goal, cells), 2);
    CU_ASSERT_DOUBLE_EQUAL(at(cells, 2)->usd, 40, 1e-9);
    CU_ASSERT_FALSE(at(cells, 0)->meets);
    goal.budget_usd = 39;
    CU_ASSERT_EQUAL(rh_service_judge(&goal, cells), -1);
    /* A price that is missing: GPUs stand for money, and the fewest are a's. */
    g_array_set_size(cells, 0);
    offers[1].usd_per_gpu_h = 0;
    rh_service_cells(&offers[0], none, cells);
    rh_service_cells(&offers[1], none, cells);
    goal = (RhServiceTarget){0};
    CU_ASSERT_FALSE(rh_service_priced(cells));
    CU_ASSERT_EQUAL(rh_service_judge(&goal, cells), 0);
}

/* The first of equal cells stands on the front alone, and a cell that serves nothing is never
 * best. */
static void equals_and_none(void)
{
    g_autoptr(RhServePlan) a = plan_new();
    g_autoptr(GArray) cells = g_array_new(FALSE, FALSE, sizeof(RhServiceCell));
    g_autoptr(GArray) none = sizes_of(0, NULL);
    add_entry(a, 2, 2.0, 10);
    const RhServicePlatform offers[] = {{"a", a, NULL, 1.0, 8, {0, 0, NULL}},
                                        {"b", a, NULL, 1.0, 8, {0, 0, NULL}},
                                        {"c", NULL, "no room", 1.0, 8, {0, 0, NULL}}};
    for (int i = 0; i < 3; i++)
        rh_service_cells(&offers[i], none, cells);
    const RhServiceTarget goal = {0};
    CU_ASSERT_EQUAL(rh_service_judge(&goal, cells), 0);
    CU_ASSERT_TRUE(at(cells, 0)->pareto);
    CU_ASSERT_FALSE(at(cells, 1)->pareto);
    CU_ASSERT_FALSE(at(cells, 2)->pareto);
    g_array_set_size(cells, 0);
    rh_service_cells(&offers[2], none, cells);
    CU_ASSERT_EQUAL(rh_service_judge(&goal, cells), -1);
}

int main(void)
{
    return rh_test_main(
        "service_capacity",
        (RhTest[]){
            {"nodes_are_rented_whole", nodes_are_rented_whole},
            {"a_size_holds_the_quickest_that_fits", a_size_holds_the_quickest_that_fits},
            {"without_sizes_each_quicker_one_is_a_cell", without_sizes_each_quicker_one_is_a_cell},
            {"the_cheapest_that_meets_the_goal_is_best", the_cheapest_that_meets_the_goal_is_best},
            {"equals_and_none", equals_and_none},
            {0}});
}
