/* Shares of variance that axes explain: closed forms of full products. */
#include "sweep/effects.h"

#include <math.h>
#include <string.h>

#include "tests/kit/testkit.h"

/* A full product of two axes with 3 and 4 values, and the figure of each combination. */
static RhMerged *table_made(double (*figure)(int a, int b))
{
    static const char *const names[] = {"a", "b", "status", "error", "figure"};
    RhMerged *m = g_new0(RhMerged, 1);
    m->names = g_ptr_array_new_with_free_func(g_free);
    m->rows = g_ptr_array_new();
    m->items = g_array_new(FALSE, FALSE, sizeof(int32_t));
    m->axes_count = 2;
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        g_ptr_array_add(m->names, g_strdup(names[i]));
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 4; b++) {
            RhMergedCell *row = g_new0(RhMergedCell, G_N_ELEMENTS(names));
            row[0] = (RhMergedCell){RH_CELL_NUMBER, g_strdup_printf("%d", a)};
            row[1] = (RhMergedCell){RH_CELL_NUMBER, g_strdup_printf("%d", b)};
            row[4] = (RhMergedCell){RH_CELL_NUMBER, g_strdup_printf("%.17g", figure(a, b))};
            g_ptr_array_add(m->rows, row);
        }
    return m;
}

static double sum(int a, int b)
{
    return 10 * a + b;
}

static double product(int a, int b)
{
    return (a - 1) * (b - 1.5);
}

static double constant(int a, int b)
{
    (void)a;
    (void)b;
    return 0.1;
}

/* Variances of a sum add: 100 x 2/3 and 15/12. */
static void shares_of_a_sum_are_those_of_its_terms(void)
{
    g_autoptr(RhMerged) m = table_made(sum);
    g_autoptr(GArray) effects = rh_axis_effects(m, 4);
    const RhAxisEffect *first = &g_array_index(effects, RhAxisEffect, 0),
                       *second = &g_array_index(effects, RhAxisEffect, 1);
    double all = 100 * 2 / 3.0 + 15 / 12.0;
    CU_ASSERT_EQUAL(first->axis, 0);
    RH_CHECK_CLOSE(first->share_frac, 100 * 2 / 3.0 / all, 1e-12);
    RH_CHECK_CLOSE(second->share_frac, 15 / 12.0 / all, 1e-12);
    RH_CHECK_CLOSE(first->low, 1.5, 1e-12);
    RH_CHECK_CLOSE(first->high, 21.5, 1e-12);
    CU_ASSERT_STRING_EQUAL(first->at_low, "0");
    CU_ASSERT_STRING_EQUAL(second->at_high, "3");
}

/* A product of centred factors is joint alone: no axis moves its mean.
 * Source: Saltelli et al., Global Sensitivity Analysis, 2008, chapter 1: interactions. */
static void what_is_joint_is_no_axis_own(void)
{
    g_autoptr(RhMerged) m = table_made(product);
    g_autoptr(GArray) effects = rh_axis_effects(m, 4);
    for (guint i = 0; i < effects->len; i++)
        CU_ASSERT_TRUE(g_array_index(effects, RhAxisEffect, i).share_frac < 1e-12);
}

static void what_does_not_move_has_no_effects(void)
{
    g_autoptr(RhMerged) m = table_made(constant);
    CU_ASSERT_PTR_NULL(rh_axis_effects(m, 4));
    CU_ASSERT_PTR_NULL(rh_axis_effects(m, 3)); /* no numbers */
}

int main(void)
{
    return rh_test_main(
        "effects",
        (RhTest[]){
            {"shares_of_a_sum_are_those_of_its_terms", shares_of_a_sum_are_those_of_its_terms},
            {"what_is_joint_is_no_axis_own", what_is_joint_is_no_axis_own},
            {"what_does_not_move_has_no_effects", what_does_not_move_has_no_effects},
            {0}});
}
