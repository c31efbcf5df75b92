/* Costs of questions, fitted to those that were asked. */
#include "sweep/cost_model.h"

#include <math.h>

#include "tests/kit/testkit.h"

#define A 9
#define B 8

/* A study of two axes, of which some combinations are left out. */
static RhStudy *study_made(void)
{
    RhStudy *study = g_new0(RhStudy, 1);
    study->axes = g_ptr_array_new();
    study->columns = g_ptr_array_new();
    study->items = g_ptr_array_new();
    g_ptr_array_add(study->axes, (void *)"a");
    g_ptr_array_add(study->axes, (void *)"b");
    for (int a = 0; a < A; a++)
        for (int b = 0; b < B; b++) {
            if ((a * b) % 7 == 6)
                continue;
            RhStudyItem *item = g_new0(RhStudyItem, 1);
            item->values = g_new0(char *, 3);
            item->values[0] = g_strdup_printf("%d", a);
            item->values[1] = g_strdup_printf("%d", b);
            g_ptr_array_add(study->items, item);
        }
    return study;
}

static void study_end(RhStudy *study)
{
    for (guint i = 0; i < study->items->len; i++) {
        RhStudyItem *item = g_ptr_array_index(study->items, i);
        g_strfreev(item->values);
        g_free(item);
    }
    rh_study_free(study);
}

/* Seconds of a product. */
static double true_s(const RhStudy *study, guint item)
{
    const RhStudyItem *one = g_ptr_array_index(study->items, item);
    return pow(2, g_ascii_strtod(one->values[0], NULL)) *
           (1 + g_ascii_strtod(one->values[1], NULL));
}

/* Fraction of pairs of every `step`th question from `from` on that costs put in the wrong order. */
static double wrong_frac(const RhStudy *study, const RhItemCosts *costs, guint from, guint step)
{
    int32_t pairs = 0, wrong = 0;
    for (guint i = from; i < study->items->len; i += step)
        for (guint j = from; j < i; j += step) {
            pairs += true_s(study, i) != true_s(study, j);
            wrong +=
                (true_s(study, i) - true_s(study, j)) * (rh_item_costs_seconds(costs, (int32_t)i) -
                                                         rh_item_costs_seconds(costs, (int32_t)j)) <
                0;
        }
    return (double)wrong / pairs;
}

/* Half of the questions tell the order of the others, and their sum. */
static void products_are_told_from_half(void)
{
    RhStudy *study = study_made();
    g_autoptr(RhItemCosts) costs = rh_item_costs_new(study, NULL, NULL);
    for (guint i = 0; i < study->items->len; i += 2)
        rh_item_costs_add(costs, (int32_t)i, true_s(study, i));
    CU_ASSERT_EQUAL(rh_item_costs_seconds(costs, 1), rh_item_costs_seconds(costs, 2));
    rh_item_costs_fit(costs);
    double fitted_s = 0, sum_s = 0;
    for (guint i = 1; i < study->items->len; i += 2) {
        fitted_s += rh_item_costs_seconds(costs, (int32_t)i);
        sum_s += true_s(study, i);
    }
    RH_CHECK_CLOSE(fitted_s, sum_s, 0.15);
    CU_ASSERT_TRUE(wrong_frac(study, costs, 1, 2) < 0.05);
    study_end(study);
}

/* The work of a question in units of its own, a power of its seconds, and unknown for some. */
static double work_of(const RhStudyItem *item, void *user)
{
    const double *power = user;
    double a = g_ascii_strtod(item->values[0], NULL), b = g_ascii_strtod(item->values[1], NULL);
    return (int)(a + 2 * b) % 5 == 4 ? 0 : 1e6 * pow(pow(2, a) * (1 + b), *power);
}

/* Estimates order questions before any was asked, also those whose work is not known. */
static void estimates_order_questions_that_nobody_asked(void)
{
    RhStudy *study = study_made();
    double power = 0.5;
    g_autoptr(RhItemCosts) costs = rh_item_costs_new(study, work_of, &power);
    CU_ASSERT_EQUAL(rh_item_costs_count(costs), 0);
    CU_ASSERT_TRUE(wrong_frac(study, costs, 0, 1) < 0.02);
    study_end(study);
}

/* Measured seconds take the place of an estimate, also of one that has all in the opposite order. */
static void measured_seconds_take_the_place_of_estimates(void)
{
    RhStudy *study = study_made();
    double power = -1;
    g_autoptr(RhItemCosts) costs = rh_item_costs_new(study, work_of, &power);
    CU_ASSERT_TRUE(wrong_frac(study, costs, 0, 1) > 0.9);
    for (guint i = 0; i < study->items->len; i += 2)
        rh_item_costs_add(costs, (int32_t)i, true_s(study, i));
    rh_item_costs_fit(costs);
    CU_ASSERT_TRUE(wrong_frac(study, costs, 1, 2) < 0.05);
    study_end(study);
}

/* Values of which no question was asked keep what the estimate says of them, in the seconds of the others. */
static void values_that_were_never_asked_keep_their_estimates(void)
{
    RhStudy *study = study_made();
    double power = 0.5;
    guint half = study->items->len / 2; /* the larger values of the first axis */
    g_autoptr(RhItemCosts) costs = rh_item_costs_new(study, work_of, &power);
    for (guint i = 0; i < half; i++)
        rh_item_costs_add(costs, (int32_t)i, true_s(study, i));
    rh_item_costs_fit(costs);
    for (guint i = half + B; i < study->items->len; i++) {
        double ratio = rh_item_costs_seconds(costs, (int32_t)i) / true_s(study, i);
        CU_ASSERT_TRUE(ratio > 0.5 && ratio < 2);
    }
    study_end(study);
}

static double count_calls(const RhStudyItem *item, void *user)
{
    int32_t *calls = user;
    ++*calls;
    return 1 + g_ascii_strtod(item->values[1], NULL);
}

/* A large study is estimated by a sample of its questions. */
static void large_studies_are_estimated_by_a_sample(void)
{
    RhStudy *study = study_made();
    int32_t calls = 0;
    guint few = study->items->len;
    for (guint i = 0; i < 50 * few; i++) /* the same questions again: their values count */
        g_ptr_array_add(study->items, g_ptr_array_index(study->items, i % few));
    g_autoptr(RhItemCosts) costs = rh_item_costs_new(study, count_calls, &calls);
    CU_ASSERT_EQUAL(calls, RH_ITEM_ESTIMATES_MAX);
    for (guint i = 0; i < study->items->len; i++) {
        const RhStudyItem *item = g_ptr_array_index(study->items, i);
        RH_CHECK_CLOSE(rh_item_costs_seconds(costs, (int32_t)i),
                       1 + g_ascii_strtod(item->values[1], NULL), 0.1);
    }
    g_ptr_array_set_size(study->items, (gint)few);
    study_end(study);
}

/* Measured costs are fitted in the mean, whatever the rest does. */
static void sums_of_what_was_asked_agree(void)
{
    RhStudy *study = study_made();
    g_autoptr(RhItemCosts) costs = rh_item_costs_new(study, NULL, NULL);
    double sum_s = 0, fitted_s = 0;
    for (guint i = 0; i < study->items->len; i++) {
        double seconds = true_s(study, i) * (1 + 0.5 * sin(7.0 * i));
        rh_item_costs_add(costs, (int32_t)i, seconds);
        sum_s += seconds;
    }
    rh_item_costs_fit(costs);
    for (guint i = 0; i < study->items->len; i++)
        fitted_s += rh_item_costs_seconds(costs, (int32_t)i);
    RH_CHECK_CLOSE(fitted_s, sum_s, 1e-9);
    CU_ASSERT_TRUE(rh_item_costs_spread(costs) > 0.2 && rh_item_costs_spread(costs) < 0.6);
    study_end(study);
}

int main(void)
{
    return rh_test_main("cost_model",
                        (RhTest[]){{"products_are_told_from_half", products_are_told_from_half},
                                   {"estimates_order_questions_that_nobody_asked",
                                    estimates_order_questions_that_nobody_asked},
                                   {"measured_seconds_take_the_place_of_estimates",
                                    measured_seconds_take_the_place_of_estimates},
                                   {"values_that_were_never_asked_keep_their_estimates",
                                    values_that_were_never_asked_keep_their_estimates},
                                   {"large_studies_are_estimated_by_a_sample",
                                    large_studies_are_estimated_by_a_sample},
                                   {"sums_of_what_was_asked_agree", sums_of_what_was_asked_agree},
                                   {0}});
}
