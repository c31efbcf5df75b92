/* Boxes as a path: what it draws, read back, is what was put in. */
#include "report/pictures/gantt_bar_path.h"

#include "tests/kit/testkit.h"

static void two_boxes_are_a_step_up_and_down_each(void)
{
    g_autoptr(RhBarPath) boxes = rh_bar_path_new();
    g_autoptr(GString) labels = g_string_new(NULL);
    g_autoptr(GString) path = g_string_new(NULL);
    rh_bar_path_add(boxes, 0, 12, 4);
    rh_bar_path_add(boxes, 15, 27, 7);
    rh_bar_path_take(boxes, labels, path);
    CU_ASSERT_STRING_EQUAL(path->str, "M0 1V0h12V1h3V0h12V1");
    CU_ASSERT_STRING_EQUAL(labels->str, "4 7");
}

/* Side by side they stay two, and what begins too early begins at the end of the one before. */
static void boxes_never_lie_on_each_other(void)
{
    g_autoptr(RhBarPath) boxes = rh_bar_path_new();
    g_autoptr(GString) labels = g_string_new(NULL);
    g_autoptr(GString) path = g_string_new(NULL);
    rh_bar_path_add(boxes, 5, 5, 0);
    rh_bar_path_add(boxes, 5, 9, 1);
    rh_bar_path_add(boxes, 8, 9, 2);
    rh_bar_path_take(boxes, labels, path);
    CU_ASSERT_STRING_EQUAL(path->str, "M5 1V0h1h3h1V1");
    CU_ASSERT_STRING_EQUAL(labels->str, "0-2");
}

static void labels_in_a_row_are_told_by_their_ends(void)
{
    static const int32_t given[] = {RH_BOXES_NO_LABEL, 0, 1, 2, 3, 0, 1, 9, 9, 10};
    g_autoptr(RhBarPath) boxes = rh_bar_path_new();
    g_autoptr(GString) labels = g_string_new(NULL);
    g_autoptr(GString) path = g_string_new(NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(given); i++)
        rh_bar_path_add(boxes, 2 * (int64_t)i, 2 * (int64_t)i + 1, given[i]);
    rh_bar_path_take(boxes, labels, path);
    CU_ASSERT_STRING_EQUAL(labels->str, "-1 0-3 0-1 9 9-10");
}

static void what_was_taken_is_gone(void)
{
    g_autoptr(RhBarPath) boxes = rh_bar_path_new();
    g_autoptr(GString) labels = g_string_new(NULL);
    g_autoptr(GString) path = g_string_new(NULL);
    rh_bar_path_take(boxes, labels, path);
    CU_ASSERT_EQUAL(path->len + labels->len, 0);
    rh_bar_path_add(boxes, 7, 8, 3);
    rh_bar_path_take(boxes, labels, path);
    g_string_truncate(labels, 0);
    g_string_truncate(path, 0);
    rh_bar_path_add(boxes, 1, 3, 3);
    rh_bar_path_take(boxes, labels, path);
    CU_ASSERT_STRING_EQUAL(path->str, "M1 1V0h2V1");
    CU_ASSERT_STRING_EQUAL(labels->str, "3");
}

int main(void)
{
    static const RhTest tests[] = {
        {"two_boxes_are_a_step_up_and_down_each", two_boxes_are_a_step_up_and_down_each},
        {"boxes_never_lie_on_each_other", boxes_never_lie_on_each_other},
        {"labels_in_a_row_are_told_by_their_ends", labels_in_a_row_are_told_by_their_ends},
        {"what_was_taken_is_gone", what_was_taken_is_gone},
        {0}};
    return rh_test_main("bar_path", tests);
}
