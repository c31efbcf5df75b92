/* Capacity: whole runs from steps, by hand; and who is best. */
#include <string.h>

#include "base/error.h"
#include "report/capacity/capacity.h"
#include "sim/program_result.h"
#include "strategies/run/failure_rates.h"
#include "strategies/run/run_estimate.h"
#include "strategies/search/capacity/capacity.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

/* --- batches --- */

static void check_batches(int64_t least, int64_t most, int32_t gpus, int32_t count, int64_t a,
                          int64_t b, int64_t c)
{
    int64_t batches[RH_CAPACITY_BATCHES_MAX] = {0};
    CU_ASSERT_EQUAL(rh_capacity_batches(least, most, gpus, batches), count);
    CU_ASSERT_EQUAL(batches[0], a);
    CU_ASSERT_EQUAL(batches[1], b);
    CU_ASSERT_EQUAL(batches[2], c);
}

static void batches_follow_the_gpus(void)
{
    check_batches(1024, 4096, 512, 1, 4096, 0, 0);        /* a multiple already */
    check_batches(1024, 4096, 576, 2, 4032, 4096, 0);     /* 7 x 576 */
    check_batches(1024, 2048, 1536, 3, 1536, 1920, 2048); /* all of them; 5 quarters */
    check_batches(512, 2048, 6144, 3, 1536, 1920, 2048);  /* a quarter; 5 sixteenths */
    check_batches(2048, 2048, 576, 1, 2048, 0, 0);        /* 64 x 32 */
    check_batches(1024, 2000, 2560, 3, 1280, 1920, 2000); /* a half; 3 quarters */
    check_batches(7, 7, 4, 1, 7, 0, 0);
}

static void batches_stay_in_the_range(void)
{
    for (int32_t gpus = 1; gpus <= 600; gpus++)
        for (int64_t least = 1; least <= 97; least += 12)
            for (int64_t most = least; most <= 260; most += 37) {
                int64_t batches[RH_CAPACITY_BATCHES_MAX];
                int32_t count = rh_capacity_batches(least, most, gpus, batches);
                CU_ASSERT_EQUAL(batches[count - 1], most);
                CU_ASSERT_TRUE(batches[0] >= least && batches[0] <= most);
                for (int32_t i = 1; i < count; i++)
                    CU_ASSERT_TRUE(batches[i] > batches[i - 1]);
            }
}

/* --- cells --- */

/* Tokens a second and GPU, and what a step costs, are given. */
static RhCapacityCell cell(const char *platform, int32_t gpus, double seconds, double usd,
                           double energy_j)
{
    RhCapacityCell made = {.platform = platform, .seconds = seconds, .usd = usd};
    made.energy_j = energy_j;
    made.c.job.gpus = gpus;
    made.series = *platform;
    made.r = g_new0(RhRehearsal, 1);
    made.r->tokens_per_s_per_gpu = 1e9 / seconds / gpus;
    return made;
}

static GArray *cells_of(const RhCapacityCell *list, guint count)
{
    GArray *cells = g_array_new(FALSE, FALSE, sizeof(RhCapacityCell));
    g_array_set_clear_func(cells, (GDestroyNotify)rh_capacity_cell_clear);
    g_array_append_vals(cells, list, count);
    return cells;
}

static const RhCapacityCell *at(const GArray *cells, guint i)
{
    return &g_array_index(cells, RhCapacityCell, i);
}

static void the_goal_chooses(void)
{
    const RhCapacityCell list[] = {cell("a", 8, 1000, 10, 5), cell("a", 16, 600, 12, 6),
                                   cell("a", 32, 400, 20, 9), cell("b", 8, 900, 30, 2)};
    g_autoptr(GArray) cells = cells_of(list, 4);
    CU_ASSERT_EQUAL(rh_capacity_judge(&(RhCapacityTarget){.tokens = 1e9}, cells), 0);
    CU_ASSERT_EQUAL(rh_capacity_judge(&(RhCapacityTarget){.tokens = 1e9, .by_s = 700}, cells), 1);
    CU_ASSERT_EQUAL(rh_capacity_judge(&(RhCapacityTarget){.tokens = 1e9, .by_s = 400}, cells), 2);
    CU_ASSERT_EQUAL(rh_capacity_judge(&(RhCapacityTarget){.tokens = 1e9, .by_s = 399}, cells), -1);
    CU_ASSERT_EQUAL(rh_capacity_judge(&(RhCapacityTarget){.tokens = 1e9, .budget_usd = 15}, cells),
                    1);
    CU_ASSERT_EQUAL(rh_capacity_judge(&(RhCapacityTarget){.tokens = 1e9, .budget_usd = 9}, cells),
                    -1);
    CU_ASSERT_EQUAL(
        rh_capacity_judge(&(RhCapacityTarget){.tokens = 1e9, .by_s = 950, .budget_usd = 30}, cells),
        1);
    CU_ASSERT_EQUAL(rh_capacity_soonest(cells), 2);
    CU_ASSERT_EQUAL(rh_capacity_cheapest(cells), 0);
    RH_CHECK_CLOSE(at(cells, 2)->efficiency_frac, 1000.0 * 8 / (400.0 * 32), 1e-12);
    CU_ASSERT_EQUAL(at(cells, 3)->efficiency_frac, 1); /* the smallest of its own */
}

/* A date and a budget are kept at the upper end of the error bar, and exactly there. */
static void goals_are_kept_with_the_error_bar(void)
{
    RhCapacityCell list[] = {cell("a", 8, 1000, 10, 5), cell("a", 16, 600, 12, 6)};
    list[0].allowed_frac = list[1].allowed_frac = 0.05;
    g_autoptr(GArray) cells = cells_of(list, 2);
    CU_ASSERT_EQUAL(rh_capacity_judge(&(RhCapacityTarget){.tokens = 1e9, .by_s = 1051}, cells), 0);
    CU_ASSERT_EQUAL(rh_capacity_judge(&(RhCapacityTarget){.tokens = 1e9, .by_s = 1049}, cells), 1);
    CU_ASSERT_EQUAL(rh_capacity_judge(&(RhCapacityTarget){.tokens = 1e9, .by_s = 629}, cells), -1);
    CU_ASSERT_EQUAL(
        rh_capacity_judge(&(RhCapacityTarget){.tokens = 1e9, .budget_usd = 12.61}, cells), 1);
    CU_ASSERT_EQUAL(
        rh_capacity_judge(&(RhCapacityTarget){.tokens = 1e9, .budget_usd = 12.59}, cells), 0);
}

static void the_front_is_not_dominated(void)
{
    const RhCapacityCell list[] = {cell("a", 8, 1000, 10, 5), cell("a", 16, 600, 12, 6),
                                   cell("a", 32, 600, 13, 6), cell("b", 8, 900, 30, 2),
                                   cell("b", 16, 600, 12, 6) /* a tie: both stay */};
    static const bool front[] = {true, true, false, true, true};
    g_autoptr(GArray) cells = cells_of(list, 5);
    rh_capacity_judge(&(RhCapacityTarget){.tokens = 1e9}, cells);
    for (guint i = 0; i < 5; i++)
        CU_ASSERT_EQUAL(at(cells, i)->pareto, front[i]);
}

static void without_prices_gpu_hours_stand_for_money(void)
{
    const RhCapacityCell list[] = {cell("a", 8, 1000, 10, 0), cell("b", 16, 490, 0, 0)};
    g_autoptr(GArray) cells = cells_of(list, 2);
    CU_ASSERT_FALSE(rh_capacity_priced(cells));
    CU_ASSERT_EQUAL(rh_capacity_judge(&(RhCapacityTarget){.tokens = 1e9}, cells), 1);
    CU_ASSERT_EQUAL(rh_capacity_judge(&(RhCapacityTarget){.tokens = 1e9, .budget_usd = 20}, cells),
                    0);
}

static void what_does_not_fit_is_nobodys_answer(void)
{
    RhCapacityCell none = {.platform = "a", .why = g_strdup("nothing fits in memory")};
    g_autoptr(GArray) cells = cells_of(&none, 1);
    CU_ASSERT_EQUAL(rh_capacity_judge(&(RhCapacityTarget){.tokens = 1}, cells), -1);
    CU_ASSERT_EQUAL(rh_capacity_soonest(cells), -1);
    CU_ASSERT_FALSE(at(cells, 0)->pareto);
}

/* --- plans --- */

static void a_run_is_its_steps(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "h100-sxm:8x1", "megatron", 32, 2048);
    k.platform->price_usd_per_gpu_hour.value = 2.5;
    RhCapacityTarget goal = {.tokens = 1e12, .gap_frac = 0.01, .risk_frac = 0.05};
    RhCapacityCell found;
    g_autoptr(GError) error = NULL;
    CU_ASSERT_TRUE_FATAL(
        rh_capacity_plan(&(RhCapacityQuestion){&k.c, 16, 32}, &goal, &found, &error));
    CU_ASSERT_PTR_NOT_NULL_FATAL(found.r);
    CU_ASSERT_EQUAL(found.c.job.global_batch, 32);
    RH_CHECK_CLOSE(found.seconds, ceil(1e12 / (32 * 2048)) * found.r->step_time_s, 1e-9);
    RH_CHECK_CLOSE(found.usd, 8 * found.seconds / 3600 * 2.5, 1e-9);
    RH_CHECK_CLOSE(found.energy_j, found.r->energy.total_j / found.r->step_time_s * found.seconds,
                   1e-9);
    CU_ASSERT_TRUE(found.proved);
    CU_ASSERT_EQUAL(found.allowed_frac, found.r->bar->error_frac);
    RhPlanOptions options = {.top = 1, .gap_frac = 0.01, .risk_frac = 0.05};
    g_autoptr(RhPlan) plan = rh_plan(&k.c, &options, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
    const RhRehearsal *best = g_ptr_array_index(plan->entries, 0);
    CU_ASSERT_EQUAL(best->step_time_s, found.r->step_time_s);
    rh_capacity_cell_clear(&found);
}

/* Time, money and energy of a run of more than a day are divided by its goodput; a day's are not. */
static void failures_make_long_runs_longer(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "h100-sxm:8x1", "megatron", 32, 2048);
    k.platform->price_usd_per_gpu_hour.value = 2.5;
    const RhFailureRates *rates = rh_failure_rates_by_name("llama-3");
    double good = rh_run_estimate_frac(&k.c, rates);
    CU_ASSERT_TRUE(good > 0.99 && good < 1);
    for (int large = 0; large < 2; large++) {
        RhCapacityTarget goal = {.tokens = large ? 1e12 : 1e9, .gap_frac = 0.01, .risk_frac = 0.05};
        RhCapacityCell plain, failing;
        g_autoptr(GError) error = NULL;
        RhCapacityQuestion asked = {&k.c, 16, 32};
        CU_ASSERT_TRUE_FATAL(rh_capacity_plan(&asked, &goal, &plain, &error));
        goal.failures = rates;
        CU_ASSERT_TRUE_FATAL(rh_capacity_plan(&asked, &goal, &failing, &error));
        RH_CHECK_CLOSE(failing.seconds, plain.seconds / (large ? good : 1), 1e-9);
        RH_CHECK_CLOSE(failing.usd, plain.usd / (large ? good : 1), 1e-9);
        CU_ASSERT_EQUAL(plain.goodput_frac, 1);
        rh_capacity_cell_clear(&plain);
        rh_capacity_cell_clear(&failing);
    }
}

/* Electricity that is paid apart is part of the money; all of it where GPUs have no price. */
static void electricity_is_money(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "h100-sxm:8x1", "megatron", 32, 2048);
    RhCapacityQuestion asked = {&k.c, 32, 32};
    RhCapacityTarget goal = {
        .tokens = 1e12, .usd_per_kwh = 0.1, .gap_frac = 0.01, .risk_frac = 0.05};
    for (int priced = 0; priced < 2; priced++) {
        RhCapacityCell found;
        k.platform->price_usd_per_gpu_hour.value = 2.5 * priced;
        CU_ASSERT_TRUE_FATAL(rh_capacity_plan(&asked, &goal, &found, NULL));
        RH_CHECK_CLOSE(found.electricity_usd, found.energy_j / 3.6e6 * 0.1, 1e-9);
        RH_CHECK_CLOSE(found.usd, priced * 8 * found.seconds / 3600 * 2.5 + found.electricity_usd,
                       1e-9);
        rh_capacity_cell_clear(&found);
    }
}

/* A question without tokens gets as many whole steps as the budget, or the date, has room for at
 * the upper end of the error bar. */
static void a_budget_buys_whole_steps(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "h100-sxm:8x1", "megatron", 32, 2048);
    RhCapacityQuestion asked = {&k.c, 32, 32};
    k.platform->price_usd_per_gpu_hour.value = 2.5;
    RhCapacityTarget goals[] = {{.budget_usd = 1000}, {.by_s = 86400}, {.budget_usd = 1e-6}};
    for (size_t i = 0; i < G_N_ELEMENTS(goals); i++) {
        RhCapacityCell found;
        goals[i].gap_frac = 0.01;
        goals[i].risk_frac = 0.05;
        CU_ASSERT_TRUE_FATAL(rh_capacity_plan(&asked, &goals[i], &found, NULL));
        double step_usd = 8 * found.r->step_time_s / 3600 * 2.5, longer = 1 + found.allowed_frac;
        double steps = goals[i].by_s > 0 ? goals[i].by_s / found.r->step_time_s / longer
                                         : goals[i].budget_usd / step_usd / longer;
        RH_CHECK_CLOSE(found.tokens, floor(steps) * 32 * 2048, 1e-9);
        RH_CHECK_CLOSE(found.seconds, floor(steps) * found.r->step_time_s, 1e-9);
        g_autoptr(GArray) cells = cells_of(&found, 1);
        CU_ASSERT_EQUAL(rh_capacity_judge(&goals[i], cells), steps >= 1 ? 0 : -1);
    }
}

/* The most tokens are the answer where none are said. */
static void the_most_tokens_win_where_none_are_said(void)
{
    RhCapacityCell list[] = {cell("a", 8, 1000, 10, 5), cell("a", 16, 600, 10, 6)};
    list[0].tokens = 5e8;
    list[1].tokens = 6e8;
    g_autoptr(GArray) cells = cells_of(list, 2);
    CU_ASSERT_EQUAL(rh_capacity_judge(&(RhCapacityTarget){.budget_usd = 10}, cells), 1);
    CU_ASSERT_TRUE(at(cells, 1)->pareto);
    CU_ASSERT_TRUE(at(cells, 0)->pareto); /* less energy */
}

/* Runs have whole steps: no fraction, and not one more than needed. */
static void steps_are_whole(void)
{
    static const struct {
        double tokens, steps;
    } runs[] = {{1, 1}, {32 * 2048, 1}, {32 * 2048 + 1, 2}, {7e5 * 32 * 2048, 7e5}};
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "h100-sxm:8x1", "megatron", 32, 2048);
    for (size_t i = 0; i < G_N_ELEMENTS(runs); i++) {
        RhCapacityTarget goal = {.tokens = runs[i].tokens, .gap_frac = 0.01, .risk_frac = 0.05};
        RhCapacityCell found;
        CU_ASSERT_TRUE_FATAL(
            rh_capacity_plan(&(RhCapacityQuestion){&k.c, 32, 32}, &goal, &found, NULL));
        CU_ASSERT_PTR_NOT_NULL_FATAL(found.r);
        RH_CHECK_CLOSE(found.seconds, runs[i].steps * found.r->step_time_s, 1e-12);
        rh_capacity_cell_clear(&found);
    }
}

static bool same_costs(const RhCost *a, const RhCost *b)
{
    bool same = strcmp(a->name, b->name) == 0 && strcmp(a->source, b->source) == 0 &&
                a->value_s == b->value_s && a->children->len == b->children->len;
    for (guint i = 0; same && i < a->children->len; i++)
        same = same_costs(a->children->pdata[i], b->children->pdata[i]);
    return same;
}

static bool same_links(const GArray *a, const GArray *b)
{
    bool same = a->len == b->len;
    for (guint i = 0; same && i < a->len; i++) {
        const RhLinkUse *x = &g_array_index(a, RhLinkUse, i), *y = &g_array_index(b, RhLinkUse, i);
        same =
            strcmp(x->name, y->name) == 0 && x->busy_frac == y->busy_frac && x->bytes == y->bytes;
    }
    return same;
}

static void check_same(const RhCapacityCell *a, const RhCapacityCell *b)
{
    CU_ASSERT_EQUAL(a->c.job.global_batch, b->c.job.global_batch);
    CU_ASSERT_PTR_EQUAL(a->c.platform, b->c.platform);
    CU_ASSERT_EQUAL(a->seconds, b->seconds);
    CU_ASSERT_EQUAL(a->energy_j, b->energy_j);
    CU_ASSERT_EQUAL(a->proved, b->proved);
    CU_ASSERT_EQUAL(g_strcmp0(a->why, b->why), 0);
    CU_ASSERT_EQUAL_FATAL(!a->r, !b->r);
    if (!a->r)
        return;
    CU_ASSERT_TRUE(rh_layout_equal(&a->r->layout, &b->r->layout));
    CU_ASSERT_EQUAL(a->r->memory.peak_bytes, b->r->memory.peak_bytes);
    CU_ASSERT_PTR_EQUAL(a->r->bar, b->r->bar);
    CU_ASSERT_EQUAL(a->r->risk_frac, b->r->risk_frac);
    CU_ASSERT_TRUE(same_costs(a->r->costs, b->r->costs));
    CU_ASSERT_TRUE(same_links(a->r->links, b->r->links));
}

/* Planned in processes of their own, one or several at once, cells are what they are when planned here. */
static void cells_planned_together_are_those_planned_alone(void)
{
    g_auto(TrainKit) small = train_kit("llama-3.2-1b", "h100-sxm:8x1", "megatron", 32, 2048);
    g_auto(TrainKit) large = train_kit("llama-3.2-1b", "h100-sxm:8x2", "megatron", 32, 2048);
    g_auto(TrainKit) none = train_kit("llama-3.1-70b", "h100-sxm:8x1", "megatron", 32, 8192);
    const RhCapacityQuestion cases[] = {{&small.c, 32, 32}, {&none.c, 32, 32}, {&large.c, 32, 32}};
    RhCapacityTarget goal = {.tokens = 1e12, .gap_frac = 0.01, .risk_frac = 0.05};
    for (goal.jobs = 1; goal.jobs <= 5; goal.jobs += 2) {
        RhCapacityCell found[3], alone;
        CU_ASSERT_TRUE_FATAL(rh_capacity_plan_all(cases, 3, &goal, found, NULL));
        for (int i = 0; i < 3; i++) {
            CU_ASSERT_TRUE_FATAL(rh_capacity_plan(&cases[i], &goal, &alone, NULL));
            check_same(&found[i], &alone);
            rh_capacity_cell_clear(&found[i]);
            rh_capacity_cell_clear(&alone);
        }
        CU_ASSERT_PTR_NULL(found[1].r);
    }
}

/* Results of the other cells are freed after an error. */
/* Few GPUs have long pipelines to rehearse, many have many ranks: the middle is quick and comes last. */
static void cells_of_the_ends_are_begun_first(void)
{
    static const int32_t sizes[] = {256, 512, 1024, 2048, 4096, 256, 1024, 4096};
    static const int32_t want[] = {0, 4, 5, 7, 1, 3, 2, 6};
    RhProblem cells[G_N_ELEMENTS(sizes)] = {0};
    RhCapacityQuestion cases[G_N_ELEMENTS(sizes)] = {0};
    int32_t order[G_N_ELEMENTS(sizes)];
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
        cells[i].job.gpus = sizes[i];
        cases[i].c = &cells[i];
    }
    rh_capacity_order(cases, G_N_ELEMENTS(sizes), order);
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++)
        CU_ASSERT_EQUAL(order[i], want[i]);
}

static void one_cell_that_fails_fails_all(void)
{
    g_auto(TrainKit) good = train_kit("llama-3.2-1b", "h100-sxm:8x1", "megatron", 32, 2048);
    g_auto(TrainKit) none = train_kit("llama-3.2-1b", "h100-sxm:8x2", "megatron", 32, 2048);
    const RhCapacityQuestion cases[] = {{&good.c, 32, 32}, {&none.c, 32, 32}};
    RhCapacityTarget goal = {.tokens = 1e12, .gap_frac = 0.01, .risk_frac = 0.05, .jobs = 2};
    RhCapacityCell found[2];
    g_autoptr(GError) error = NULL;
    none.c.platform = NULL; /* its worker crashes */
    CU_ASSERT_FALSE(rh_capacity_plan_all(cases, 2, &goal, found, &error));
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INTERNAL));
    CU_ASSERT_PTR_NULL(found[0].r);
    CU_ASSERT_PTR_NULL(found[1].r);
}

/* A rehearsal of which bytes are missing is none. */
static void half_a_rehearsal_is_none(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "h100-sxm:8x1", "megatron", 32, 2048);
    RhCapacityTarget goal = {.tokens = 1e12, .gap_frac = 0.01, .risk_frac = 0.05};
    RhCapacityCell found;
    CU_ASSERT_TRUE_FATAL(
        rh_capacity_plan(&(RhCapacityQuestion){&k.c, 32, 32}, &goal, &found, NULL));
    CU_ASSERT_PTR_NOT_NULL_FATAL(found.r);
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    rh_rehearsal_pack(bytes, found.r);
    for (guint length = 0; length < bytes->len; length += 61) {
        RhUnpack in = {bytes->data, bytes->data + length, true};
        CU_ASSERT_PTR_NULL(rh_rehearsal_unpack(&in, &k.c));
    }
    RhUnpack in = {bytes->data, bytes->data + bytes->len, true};
    g_autoptr(RhRehearsal) whole = rh_rehearsal_unpack(&in, &k.c);
    CU_ASSERT_PTR_NOT_NULL_FATAL(whole);
    CU_ASSERT_TRUE(in.at == in.end);
    CU_ASSERT_EQUAL(whole->step_time_s, found.r->step_time_s);
    rh_capacity_cell_clear(&found);
}

static void a_model_too_large_says_why(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-70b", "h100-sxm:8x1", "megatron", 32, 8192);
    RhCapacityTarget goal = {.tokens = 1e12, .gap_frac = 0.01, .risk_frac = 0.05};
    RhCapacityCell found;
    CU_ASSERT_TRUE_FATAL(
        rh_capacity_plan(&(RhCapacityQuestion){&k.c, 32, 32}, &goal, &found, NULL));
    CU_ASSERT_PTR_NULL(found.r);
    CU_ASSERT_STRING_EQUAL(found.why, "nothing fits in memory");
    rh_capacity_cell_clear(&found);
}

/* --- prices --- */

static void a_price_ages_by_its_platforms_figures(void)
{
    g_autoptr(RhPlatform) p = rh_platform_load("aws-p4d", NULL); /* of 2023-01 */
    CU_ASSERT_TRUE(rh_report_price_months(p) > RH_PRICE_MONTHS);
    p->price_usd_per_gpu_hour.date = "2026-10";
    CU_ASSERT_TRUE(rh_report_price_months(p) <= 1);
    p->price_usd_per_gpu_hour.date = "2099-01";
    CU_ASSERT_EQUAL(rh_report_price_months(p), 0);
    p->price_usd_per_gpu_hour.date = "";
    CU_ASSERT_EQUAL(rh_report_price_months(p), 0);
}

int main(void)
{
    return rh_test_main(
        "capacity",
        (RhTest[]){
            {"batches_follow_the_gpus", batches_follow_the_gpus},
            {"batches_stay_in_the_range", batches_stay_in_the_range},
            {"the_goal_chooses", the_goal_chooses},
            {"goals_are_kept_with_the_error_bar", goals_are_kept_with_the_error_bar},
            {"the_front_is_not_dominated", the_front_is_not_dominated},
            {"without_prices_gpu_hours_stand_for_money", without_prices_gpu_hours_stand_for_money},
            {"what_does_not_fit_is_nobodys_answer", what_does_not_fit_is_nobodys_answer},
            {"a_run_is_its_steps", a_run_is_its_steps},
            {"failures_make_long_runs_longer", failures_make_long_runs_longer},
            {"electricity_is_money", electricity_is_money},
            {"a_budget_buys_whole_steps", a_budget_buys_whole_steps},
            {"the_most_tokens_win_where_none_are_said", the_most_tokens_win_where_none_are_said},
            {"steps_are_whole", steps_are_whole},
            {"cells_planned_together_are_those_planned_alone",
             cells_planned_together_are_those_planned_alone},
            {"cells_of_the_ends_are_begun_first", cells_of_the_ends_are_begun_first},
            {"one_cell_that_fails_fails_all", one_cell_that_fails_fails_all},
            {"half_a_rehearsal_is_none", half_a_rehearsal_is_none},
            {"a_model_too_large_says_why", a_model_too_large_says_why},
            {"a_price_ages_by_its_platforms_figures", a_price_ages_by_its_platforms_figures},
            {0}});
}
