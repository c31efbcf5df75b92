/* Prefixes before the lines of a log: those that the lines share become spaces. */
#include "base/text/log_prefix_strip.h"

#include <string.h>

#include "tests/kit/testkit.h"

/* Lines of a log, each behind a prefix that is written once more where `%d` stands for its number. */
static char *prefixed(const char *prefix)
{
    static const char *const lines[] = {"# nThread 1", "#   size count", "8 2", "16 4", ""};
    GString *text = g_string_new(NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(lines); i++) {
        g_auto(GStrv) parts = g_strsplit(prefix, "%d", -1);
        g_autofree char *number = g_strdup_printf("%zu", i % 2);
        g_autofree char *own = g_strjoinv(number, parts);
        g_string_append_printf(text, "%s%s\n", own, lines[i]);
    }
    return g_string_free(text, FALSE);
}

static void shared_prefixes_become_spaces(void)
{
    static const char *const prefixes[] = {
        "[pod/nccl-launcher-abc/mpi] ",
        "%d: ",
        "node%d: ",
        "[1,%d]<stdout>:",
        "[default%d]:",
        "worker-%d  | ",
        "(worker pid=%d, ip=10.0.0.1) ",
        "2025-11-03T10:00:00.123456789Z ",
        "[2025-11-03 10:00:0%d,123] ",
        "Nov  3 10:00:0%d host-1 nccl[12]: ",
        "10:00:0%d ",
        "2025-11-03T10:00:00Z [pod/a-%d/b] 1: ",
    };
    for (size_t i = 0; i < G_N_ELEMENTS(prefixes); i++) {
        g_autofree char *text = prefixed(prefixes[i]);
        g_autofree char *plain = rh_log_without_prefixes(text, false);
        g_auto(GStrv) lines = g_strsplit(plain, "\n", -1);
        CU_ASSERT_EQUAL(strlen(plain), strlen(text));
        CU_ASSERT_EQUAL_FATAL(g_strv_length(lines), 6);
        CU_ASSERT_STRING_EQUAL(g_strstrip(lines[0]), "# nThread 1");
        CU_ASSERT_STRING_EQUAL(g_strstrip(lines[2]), "8 2");
        CU_ASSERT_STRING_EQUAL(g_strstrip(lines[4]), "");
    }
}

/* Some lines of a launcher's own do not hide the prefix of the others. */
static void most_lines_decide(void)
{
    g_autofree char *some = prefixed("[pod/a/b] ");
    g_autofree char *many = g_strconcat("error from server\n", some, some, NULL);
    g_autofree char *plain = rh_log_without_prefixes(many, false);
    CU_ASSERT_PTR_NULL(strstr(plain, "pod"));
    CU_ASSERT_TRUE(g_str_has_prefix(plain, "error from server\n"));
}

static void what_is_no_prefix_stays(void)
{
    static const char *const texts[] = {"",
                                        "\n\n",
                                        "8 2\n16 4\n",
                                        "[a] once\nb\nc\n",
                                        "Device: 0, A\nDevice: 1, B\n",
                                        "# OSU MPI\n# Size\n1 2.75\n2 2.76\n"};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autofree char *plain = rh_log_without_prefixes(texts[i], false);
        CU_ASSERT_STRING_EQUAL(plain, texts[i]);
    }
}

static void dates_stay_for_those_who_ask(void)
{
    g_autofree char *text = prefixed("1: 2025-11-03 10:00:00 ");
    g_autofree char *plain = rh_log_without_prefixes(text, true);
    CU_ASSERT_TRUE(g_str_has_prefix(plain, "   2025-11-03 10:00:00 # nThread"));
}

int main(void)
{
    return rh_test_main("log_prefix_strip",
                        (RhTest[]){{"shared_prefixes_become_spaces", shared_prefixes_become_spaces},
                                   {"most_lines_decide", most_lines_decide},
                                   {"what_is_no_prefix_stays", what_is_no_prefix_stays},
                                   {"dates_stay_for_those_who_ask", dates_stay_for_those_who_ask},
                                   {0}});
}
