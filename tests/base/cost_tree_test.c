#include "base/cost_tree.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/fact.h"
#include "tests/kit/testkit.h"

static RhCost *step(void)
{
    RhCost *root = rh_cost_new("step", 6, NULL);
    RhCost *compute = rh_cost_add(root, "compute", 4, "");
    rh_cost_add(compute, "gemm", 3, "2mnk / peak");
    rh_cost_add(compute, "attention", 1, "4sd / peak");
    rh_cost_add(root, "idle", 2, "bubble");
    return root;
}

static void terms_are_found_by_name_depth_first(void)
{
    g_autoptr(RhCost) root = step();
    CU_ASSERT_PTR_EQUAL(rh_cost_find(root, "step"), root);
    CU_ASSERT_EQUAL(rh_cost_find(root, "attention")->value_s, 1);
    CU_ASSERT_STRING_EQUAL(rh_cost_find(root, "gemm")->source, "2mnk / peak");
    CU_ASSERT_STRING_EQUAL(root->source, "");
    CU_ASSERT_PTR_NULL(rh_cost_find(root, "nothing"));
}

static void a_scaled_tree_keeps_its_sums(void)
{
    g_autoptr(RhCost) root = step();
    g_autoptr(RhCost) half = rh_cost_scaled(root, 0.5);
    CU_ASSERT_EQUAL(half->value_s, 3);
    CU_ASSERT_EQUAL(rh_cost_find(half, "gemm")->value_s, 1.5);
    CU_ASSERT_EQUAL(rh_cost_find(root, "gemm")->value_s, 3);
    CU_ASSERT_STRING_EQUAL(rh_cost_find(half, "gemm")->source, "2mnk / peak");
    CU_ASSERT_TRUE(rh_cost_check(half, 1e-12));
}

static void a_sum_of_children_is_checked_at_every_level(void)
{
    g_autoptr(RhCost) root = step();
    CU_ASSERT_TRUE(rh_cost_check(root, 0));
    RhCost *compute = root->children->pdata[0], *gemm = compute->children->pdata[0];
    gemm->value_s = 3.003;
    CU_ASSERT_FALSE(rh_cost_check(root, 1e-6));
    CU_ASSERT_TRUE(rh_cost_check(root, 1e-3));
    gemm->value_s = (double)NAN;
    CU_ASSERT_FALSE(rh_cost_check(root, 1));
    gemm->value_s = 3;
    rh_cost_add(root, "left over", 1e-3, "");
    CU_ASSERT_FALSE(rh_cost_check(root, 1e-6));
}

static void a_leaf_needs_no_children_and_zero_is_a_sum(void)
{
    g_autoptr(RhCost) leaf = rh_cost_new("leaf", 5, "");
    CU_ASSERT_TRUE(rh_cost_check(leaf, 0));
    CU_ASSERT_EQUAL(leaf->children->len, 0);
    g_autoptr(RhCost) none = rh_cost_new("none", 0, "");
    rh_cost_add(none, "a", 0, "");
    CU_ASSERT_TRUE(rh_cost_check(none, 0));
}

static void a_copy_is_deep(void)
{
    g_autoptr(RhCost) root = step();
    g_autoptr(RhCost) copy = rh_cost_copy(root);
    ((RhCost *)root->children->pdata[0])->value_s = 100;
    CU_ASSERT_TRUE(rh_cost_check(copy, 0));
    CU_ASSERT_EQUAL(copy->children->len, 2);
    CU_ASSERT_STRING_EQUAL(rh_cost_find(copy, "idle")->source, "bubble");
    rh_cost_free(NULL);
}

static void tags_have_names_and_letters(void)
{
    CU_ASSERT_STRING_EQUAL(rh_tag_name(RH_TAG_MEASURED), "measured");
    CU_ASSERT_STRING_EQUAL(rh_tag_name(RH_TAG_ASSUMED), "assumed");
    CU_ASSERT_EQUAL(rh_tag_letter(RH_TAG_NONE), '-');
    CU_ASSERT_EQUAL(rh_tag_letter(RH_TAG_MEASURED), 'm');
    CU_ASSERT_EQUAL(rh_tag_letter(RH_TAG_FITTED), 'f');
    CU_ASSERT_EQUAL(rh_tag_letter(RH_TAG_DATASHEET), 'd');
    CU_ASSERT_EQUAL(rh_tag_letter(RH_TAG_ASSUMED), 'a');
}

static void a_failure_carries_code_and_message(void)
{
    g_autoptr(GError) error = NULL;
    CU_ASSERT_FALSE(rh_fail(&error, RH_ERROR_NO_ANSWER, "%d of %s", 3, "four"));
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_NO_ANSWER));
    CU_ASSERT_STRING_EQUAL(error->message, "3 of four");
    g_clear_error(&error);
    CU_ASSERT_FALSE(rh_fail(&error, RH_ERROR_INPUT, "odd \xff byte"));
    CU_ASSERT_TRUE(g_utf8_validate(error->message, -1, NULL));
    CU_ASSERT_FALSE(rh_fail(NULL, RH_ERROR_INPUT, "nobody listens"));
}

int main(void)
{
    return rh_test_main(
        "cost",
        (RhTest[]){{"terms_are_found_by_name_depth_first", terms_are_found_by_name_depth_first},
                   {"a_sum_of_children_is_checked_at_every_level",
                    a_sum_of_children_is_checked_at_every_level},
                   {"a_leaf_needs_no_children_and_zero_is_a_sum",
                    a_leaf_needs_no_children_and_zero_is_a_sum},
                   {"a_copy_is_deep", a_copy_is_deep},
                   {"a_scaled_tree_keeps_its_sums", a_scaled_tree_keeps_its_sums},
                   {"tags_have_names_and_letters", tags_have_names_and_letters},
                   {"a_failure_carries_code_and_message", a_failure_carries_code_and_message},
                   {0}});
}
