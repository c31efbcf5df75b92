/* Errors by groups that were not seen: means over groups, quantiles for a further one. */
#include <math.h>

#include "accuracy/cross_validation_errors.h"
#include "base/interned_strings.h"
#include "tests/kit/testkit.h"

static void add(RhEvaluation *evaluation, const char *group, double measured_s, double bar_frac)
{
    RhEvaluatedRun row = {.cross_group = rh_intern(group),
                          .metric = "tpot",
                          .measured_s = measured_s,
                          .predicted_s = 1,
                          .bar_frac = bar_frac};
    g_array_append_val(evaluation->rows, row);
}

/* Group a: predictions 2 x and 1 x (errors 1, 0: median 0.5); b: 1.25 x three times; c: 1 x. */
static void groups_weigh_the_same(void)
{
    g_autoptr(RhEvaluation) evaluation = rh_evaluation_new("t");
    add(evaluation, "a", 0.5, 0.4);
    add(evaluation, "a", 1, 0.4);
    for (int i = 0; i < 3; i++)
        add(evaluation, "b", 0.8, 0.25);
    add(evaluation, "c", 1, 0);
    g_array_index(evaluation->rows, RhEvaluatedRun, 5).like.flags_defaulted = true;
    RhGroupErrors e = rh_group_errors(evaluation, "tpot", RH_STRATUM_ALL);
    CU_ASSERT_EQUAL(e.groups, 3);
    CU_ASSERT_EQUAL(e.rows, 6);
    RH_CHECK_CLOSE(e.median_frac, 0.25, 1e-12);
    RH_CHECK_CLOSE(e.mean_frac, 0.25, 1e-12);
    RH_CHECK_CLOSE(e.worst_frac, 0.5, 1e-12);
    CU_ASSERT_STRING_EQUAL(e.worst, "a");
    RH_CHECK_CLOSE(e.row_median_frac, 0.25, 1e-12);
    RH_CHECK_CLOSE(e.mean_abs_log, (log(2) / 2 + log(1.25)) / 3, 1e-12);
    /* of a the second is within (measured / predicted - 1 is -0.5 and 0), of b all (-0.2) */
    CU_ASSERT_EQUAL(e.barred_groups, 2);
    RH_CHECK_CLOSE(e.coverage_frac, 0.75, 1e-12);
    CU_ASSERT_EQUAL(rh_group_errors(evaluation, "tpot", RH_STRATUM_FLAGS_DEFAULTED).rows, 1);
    CU_ASSERT_EQUAL(rh_group_errors(evaluation, "ttft", RH_STRATUM_ALL).rows, 0);
    g_array_index(evaluation->rows, RhEvaluatedRun, 0).standing = RH_STANDING_COMPUTED;
    g_array_index(evaluation->rows, RhEvaluatedRun, 1).cross_group = NULL;
    CU_ASSERT_EQUAL(rh_group_errors(evaluation, "tpot", RH_STRATUM_ALL).groups, 2);
}

/* Vovk, Gammerman and Shafer 2005: of G exchangeable groups, the ceil(share (G + 1))-th smallest error
 * holds a share of a further one. */
static void quantiles_are_of_a_further_group(void)
{
    const char *names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i"};
    const double errors[] = {9, 1, 8, 2, 7, 3, 6, 4, 5};
    CU_ASSERT_DOUBLE_EQUAL(rh_group_quantile(errors, names, 9, 0.8), 8, 0);
    CU_ASSERT_DOUBLE_EQUAL(rh_group_quantile(errors, names, 9, 0.5), 5, 0);
    CU_ASSERT_DOUBLE_EQUAL(rh_group_quantile(errors, names, 4, 0.8), 9, 0); /* 4 of 4 */
    CU_ASSERT_TRUE(isnan(rh_group_quantile(errors, names, 3, 0.8)));
    CU_ASSERT_TRUE(isnan(rh_group_quantile(errors, names, 0, 0.8)));
    /* a hundred runs of one group do not outvote four others */
    const char *many[104];
    double lots[104];
    for (int i = 0; i < 104; i++) {
        many[i] = names[i < 100 ? 0 : i - 99];
        lots[i] = i < 100 ? 100 : i - 99;
    }
    CU_ASSERT_DOUBLE_EQUAL(rh_group_quantile(lots, many, 104, 0.6), 4, 0); /* 3.6 of 5 groups */
}

int main(void)
{
    static const RhTest tests[] = {
        {"groups_weigh_the_same", groups_weigh_the_same},
        {"quantiles_are_of_a_further_group", quantiles_are_of_a_further_group},
        {NULL, NULL},
    };
    return rh_test_main("group_errors", tests);
}
