#include "base/text/text_table.h"

#include "tests/kit/testkit.h"

static void check_table(RhTable *table, const char *indent, const char *wanted)
{
    g_autoptr(GString) out = g_string_new(NULL);
    rh_table_append(table, out, indent);
    if (g_strcmp0(out->str, wanted) != 0)
        fprintf(stderr, "%s", out->str);
    CU_ASSERT_STRING_EQUAL(out->str, wanted);
}

static void columns_align_left_and_right(void)
{
    g_autoptr(RhTable) t = rh_table_new("<>>");
    rh_table_rowf(t, "layout|step s|GiB");
    rh_table_rowf(t, "%s|%.1f|%.1f", "tp4 pp8", 62.4, 7.0);
    check_table(t, "  ",
                "  layout   step s  GiB\n"
                "  tp4 pp8    62.4  7.0\n");
}

static void missing_cells_are_empty_and_line_ends_bare(void)
{
    g_autoptr(RhTable) t = rh_table_new("<<<");
    rh_table_rowf(t, "a|b|c");
    rh_table_rowf(t, "long");
    rh_table_rowf(t, "%s", "");
    rh_table_rowf(t, "x||z");
    check_table(t, " ",
                " a     b  c\n"
                " long\n"
                "\n"
                " x        z\n");
}

static void the_last_cell_keeps_further_bars(void)
{
    g_autoptr(RhTable) t = rh_table_new("<<");
    rh_table_rowf(t, "a|b|c");
    check_table(t, "", "a  b|c\n");
}

static void widths_count_columns_not_bytes(void)
{
    g_autoptr(RhTable) t = rh_table_new("<>");
    rh_table_rowf(t, "μs|1");
    rh_table_rowf(t, "日本|2");
    rh_table_rowf(t, "abcd|3");
    rh_table_rowf(t, "\xff|4");
    check_table(t, "",
                "μs    1\n"
                "日本  2\n"
                "abcd  3\n"
                "\xff     4\n");
}

static void earlier_text_is_left_alone(void)
{
    g_autoptr(RhTable) t = rh_table_new("<");
    g_autoptr(GString) out = g_string_new("before: ");
    rh_table_rowf(t, "%s", "");
    rh_table_append(t, out, "");
    CU_ASSERT_STRING_EQUAL(out->str, "before: \n");
    rh_table_free(NULL);
}

/* Gaps close from the left, no more of them than it takes. */
static void gaps_close_to_keep_within_a_width(void)
{
    static const struct {
        glong width;
        bool fits;
        const char *text;
    } cases[] = {
        {9, true, " a  b  cd\n"},
        {8, true, " a b  cd\n"},
        {7, true, " a b cd\n"},
        {6, false, " a b cd\n"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(RhTable) t = rh_table_new("<<<");
        g_autoptr(GString) out = g_string_new(NULL);
        rh_table_rowf(t, "a|b|cd");
        CU_ASSERT_EQUAL(rh_table_append_within(t, out, " ", cases[i].width), cases[i].fits);
        CU_ASSERT_STRING_EQUAL(out->str, cases[i].text);
    }
}

static void an_empty_table_prints_nothing(void)
{
    g_autoptr(RhTable) t = rh_table_new("<>");
    check_table(t, "  ", "");
}

int main(void)
{
    return rh_test_main(
        "table",
        (RhTest[]){{"columns_align_left_and_right", columns_align_left_and_right},
                   {"missing_cells_are_empty_and_line_ends_bare",
                    missing_cells_are_empty_and_line_ends_bare},
                   {"the_last_cell_keeps_further_bars", the_last_cell_keeps_further_bars},
                   {"widths_count_columns_not_bytes", widths_count_columns_not_bytes},
                   {"earlier_text_is_left_alone", earlier_text_is_left_alone},
                   {"gaps_close_to_keep_within_a_width", gaps_close_to_keep_within_a_width},
                   {"an_empty_table_prints_nothing", an_empty_table_prints_nothing},
                   {0}});
}
