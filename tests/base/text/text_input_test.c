/* Text files are text, or refused with their place. */
#include <string.h>

#include "base/error.h"
#include "base/text/text_input.h"
#include "tests/kit/testkit.h"

static void marks_are_taken_off(void)
{
    static const char text[] = "\xef\xbb\xbfkind,m\r\n\tK\xc3\xa4se\n";
    const char *start = rh_text_check("t.csv", text, sizeof text - 1, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(start);
    CU_ASSERT_TRUE(g_str_has_prefix(start, "kind"));
    CU_ASSERT_PTR_NOT_NULL(rh_text_check("t.csv", "", 0, NULL));
}

#define WRONG(text, where)                                                                         \
    {                                                                                              \
        text, sizeof text - 1, where                                                               \
    }

static void what_is_no_text_is_refused_with_its_place(void)
{
    static const struct {
        const char *text;
        size_t length;
        const char *where;
    } wrong[] = {
        WRONG("ab\ncd\0ef", "t.csv:2:3: a NUL"),
        WRONG("\xff\xfek\0i\0", "t.csv:1:1: "),
        WRONG("\xc3\xa4\033[2J", "t.csv:1:2: a cont"),
        WRONG("a\xc2\x9b", "t.csv:1:2: a cont"),
        WRONG("a\n\xc3", "t.csv:2:1: the text is not UTF-8"),
    };
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autoptr(GError) error = NULL;
        CU_ASSERT_PTR_NULL(rh_text_check("t.csv", wrong[i].text, wrong[i].length, &error));
        CU_ASSERT_TRUE_FATAL(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
        CU_ASSERT_TRUE(g_str_has_prefix(error->message, wrong[i].where));
    }
}

static void endless_files_end(void)
{
    g_autoptr(GError) error = NULL;
    CU_ASSERT_PTR_NULL(rh_text_load("/dev/zero", &error));
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
}

static void lines_that_turn_or_end_are_not_plain(void)
{
    static const char *const wrong[] = {"a\nb",     "\033[2J", "\xe2\x80\xae",
                                        "\xc2\x9b", "\xff",    "\x7f"};
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autofree char *plain = rh_text_plain(wrong[i]);
        CU_ASSERT_FALSE(rh_text_is_plain(wrong[i]));
        CU_ASSERT_TRUE(rh_text_is_plain(plain));
    }
    CU_ASSERT_TRUE(rh_text_is_plain("dgx \xc3\xa4 \xe2\x9c\x93"));
}

int main(void)
{
    return rh_test_main("file", (RhTest[]){{"marks_are_taken_off", marks_are_taken_off},
                                           {"what_is_no_text_is_refused_with_its_place",
                                            what_is_no_text_is_refused_with_its_place},
                                           {"endless_files_end", endless_files_end},
                                           {"lines_that_turn_or_end_are_not_plain",
                                            lines_that_turn_or_end_are_not_plain},
                                           {0}});
}
