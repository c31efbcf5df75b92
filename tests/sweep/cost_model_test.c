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

/* Half of the questions tell the order of the others, and their sum. */
static void products_are_told_from_half(void)
{
    RhStudy *study = study_made();
    g_autoptr(RhItemCosts) costs = rh_item_costs_new(study);
    for (guint i = 0; i < study->items->len; i += 2)
        rh_item_costs_add(costs, (int32_t)i, true_s(study, i));
    CU_ASSERT_EQUAL(rh_item_costs_seconds(costs, 1), 0);
    rh_item_costs_fit(costs);
    double fitted_s = 0, sum_s = 0;
    int32_t pairs = 0, wrong = 0;
    for (guint i = 1; i < study->items->len; i += 2) {
        fitted_s += rh_item_costs_seconds(costs, (int32_t)i);
        sum_s += true_s(study, i);
        for (guint j = 1; j < i; j += 2) {
            pairs += true_s(study, i) != true_s(study, j);
            wrong +=
                (true_s(study, i) - true_s(study, j)) * (rh_item_costs_seconds(costs, (int32_t)i) -
                                                         rh_item_costs_seconds(costs, (int32_t)j)) <
                0;
        }
    }
    RH_CHECK_CLOSE(fitted_s, sum_s, 0.15);
    CU_ASSERT_TRUE(wrong * 20 < pairs);
    study_end(study);
}

/* Measured costs are fitted in the mean, whatever the rest does. */
static void sums_of_what_was_asked_agree(void)
{
    RhStudy *study = study_made();
    g_autoptr(RhItemCosts) costs = rh_item_costs_new(study);
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
                                   {"sums_of_what_was_asked_agree", sums_of_what_was_asked_agree},
                                   {0}});
}
