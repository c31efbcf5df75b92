#include "tests/kit/json_kit.h"

RhJson *parse(const char *text)
{
    g_autoptr(GError) error = NULL;
    RhJson *doc = rh_json_parse("t.json", text, strlen(text), &error);
    if (!doc) {
        fprintf(stderr, "%s\n", error->message);
        CU_FAIL_FATAL("the text should parse");
    }
    return doc;
}

char *finish(RhJson *doc)
{
    g_autoptr(GError) error = NULL;
    bool fine = rh_json_finish(doc, &error);
    CU_ASSERT_EQUAL(fine, error == NULL);
    if (error)
        CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
    return error ? g_strdup(error->message) : NULL;
}

void has(const char *text, const char *part)
{
    CU_ASSERT_TRUE(rh_test_says(text, part));
}
