/* base/text/nearest_names.h: one rule of what a mistyped name may have meant. */
#include "base/text/nearest_names.h"

#include <string.h>

#include "platforms/platform.h"
#include "tests/kit/testkit.h"

static void check_name(const char *word, const char *const *names, const char *expected)
{
    const char *near = rh_near_name(word, names);
    if (g_strcmp0(near, expected) != 0)
        fprintf(stderr, "  %s: %s\n", word, near ? near : "(none)");
    CU_ASSERT_EQUAL(g_strcmp0(near, expected), 0);
    g_autofree char *list = rh_near_names(word, names, 3);
    CU_ASSERT_EQUAL(near != NULL, list != NULL);
    CU_ASSERT_TRUE(!near || g_str_has_prefix(list, near));
}

static void typing_errors_find_their_name(void)
{
    const char *const names[] = {"bandwidth", "node",     "latency",      "tp",
                                 "pp",        "dgx-h100", "global-batch", NULL};
    static const char *const cases[][2] = {{"bandwith", "bandwidth"},
                                           {"bandwidht", "bandwidth"},
                                           {"Bandwidth", "bandwidth"},
                                           {"ndoe", "node"},
                                           {"nodes", "node"},
                                           {"letancy", "latency"},
                                           {"t", "tp"},
                                           {"vpp", "pp"},
                                           {"h100", "dgx-h100"},
                                           {"batch", "global-batch"},
                                           {"globalBatch", "global-batch"},
                                           {"dgx", "dgx-h100"},
                                           {"h10", NULL},
                                           {"hidden", NULL},
                                           {"x", NULL},
                                           {"", NULL},
                                           {"-", NULL}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
        check_name(cases[i][0], names, cases[i][1]);
    g_autofree char *long_word = g_strnfill(300, 'x');
    check_name(long_word, names, NULL);
    check_name("tp", (const char *const[]){NULL}, NULL);
}

static void check_list(const char *word, const char *const *names, unsigned most,
                       const char *expected)
{
    g_autofree char *list = rh_near_names(word, names, most);
    if (g_strcmp0(list, expected) != 0)
        fprintf(stderr, "  %s: %s\n", word, list ? list : "(none)");
    CU_ASSERT_EQUAL(g_strcmp0(list, expected), 0);
}

/* A name that the word stands in is as near as one edit; letters that begin alike, then length decide. */
static void lists_are_of_what_is_about_as_near(void)
{
    const char *const names[] = {"dgx-1",    "dgx-a100", "dgx-h100",    "h100-sxm-96",   "h100-sxm",
                                 "h200-sxm", "layers",   "layer_types", "llama-3.1-70b", NULL};
    check_list("h100", names, 9, "h100-sxm, h100-sxm-96, dgx-h100");
    check_list("h100", names, 1, "h100-sxm");
    check_list("layer", names, 9, "layers, layer_types");
    check_list("dgx-h10", names, 9, "dgx-h100, dgx-1, dgx-a100");
    check_list("llama3.1-70b", names, 9, "llama-3.1-70b"); /* without punctuation the same */
    check_list("h100-96", names, 9, "h100-sxm-96");        /* its parts, with others between */
    check_list("dgx_a100", names, 1, "dgx-a100");
    check_list("zzz", names, 9, NULL);
}

/* An unknown name without a near one gets no suggestion; a command lists all. */
static void an_unknown_platform_is_near_nothing(void)
{
    g_autoptr(GError) far = NULL, near = NULL;
    CU_ASSERT_PTR_NULL(rh_platform_load("zzz", &far));
    CU_ASSERT_STRING_EQUAL(far->message, "unknown platform \"zzz\"\nhelp: `rehearse show "
                                         "platforms` lists all");
    CU_ASSERT_PTR_NULL(rh_platform_load("dgx-h10", &near));
    CU_ASSERT_PTR_NOT_NULL(strstr(near->message, "help: nearest: dgx-h100, "));
}

int main(void)
{
    return rh_test_main(
        "nearest_names",
        (RhTest[]){{"typing_errors_find_their_name", typing_errors_find_their_name},
                   {"lists_are_of_what_is_about_as_near", lists_are_of_what_is_about_as_near},
                   {"an_unknown_platform_is_near_nothing", an_unknown_platform_is_near_nothing},
                   {0}});
}
