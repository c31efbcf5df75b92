#include "base/text/toml.h"

#include <string.h>

#include "base/error.h"
#include "tests/kit/testkit.h"

static RhJson *parse(const char *text)
{
    g_autoptr(GError) error = NULL;
    RhJson *doc = rh_toml_parse("t.toml", text, strlen(text), &error);
    if (error)
        CU_FAIL(error->message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(doc);
    return doc;
}

static void refuses(const char *text, const char *part)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhJson) doc = rh_toml_parse("t.toml", text, strlen(text), &error);
    CU_ASSERT_PTR_NULL_FATAL(doc);
    CU_ASSERT_TRUE_FATAL(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
    CU_ASSERT_TRUE(rh_test_says(error->message, part));
}

static void values_of_every_kind_are_read(void)
{
    g_autoptr(RhJson) doc =
        parse("a = 1_000 # thousand\nb = -1\nc = 0x1f\nd = 2.5e3\ne = true\n"
              "f = \"tab\\t \\u00e4\"\ng = 'C:\\n'\nh = 2024-01-02T07:32:00Z\n"
              "i = \"\"\"\none\\\n   line\"\"\"\nj = [1, # first\n 2,\n]\nk = {x = 1, y.z = 2}\n");
    const RhJsonNode *o = rh_json_root(doc);
    CU_ASSERT_EQUAL(rh_json_int(doc, o, "a", 0, 2000), 1000);
    CU_ASSERT_EQUAL(rh_json_int(doc, o, "b", -2, 0), -1);
    CU_ASSERT_EQUAL(rh_json_int(doc, o, "c", 0, 99), 31);
    CU_ASSERT_EQUAL(rh_json_int(doc, o, "d", 0, 9999), 2500);
    CU_ASSERT_TRUE(rh_json_bool_or(doc, o, "e", false));
    CU_ASSERT_STRING_EQUAL(rh_json_node_string(doc, rh_json_member(o, "g")), "C:\\n");
    CU_ASSERT_STRING_EQUAL(rh_json_string(doc, o, "h"), "2024-01-02T07:32:00Z");
    CU_ASSERT_STRING_EQUAL(rh_json_string(doc, o, "i"), "oneline");
    CU_ASSERT_EQUAL(rh_json_count(rh_json_array(doc, o, "j")), 2);
    const RhJsonNode *k = rh_json_object(doc, o, "k");
    CU_ASSERT_EQUAL(rh_json_int(doc, k, "x", 0, 9), 1);
    CU_ASSERT_EQUAL(rh_json_int(doc, rh_json_object(doc, k, "y"), "z", 0, 9), 2);
}

static void tables_nest_and_repeat(void)
{
    g_autoptr(RhJson) doc = parse("[a.b]\nx = 1\n[a]\ny = 2\n[[c]]\nz = 3\n[[c]]\nz = 4\n"
                                  "[c.d]\nw = 5\n[ \"e f\" . g ]\nv.u = 6\n");
    const RhJsonNode *o = rh_json_root(doc);
    const RhJsonNode *a = rh_json_object(doc, o, "a");
    CU_ASSERT_EQUAL(rh_json_int(doc, a, "y", 0, 9), 2);
    CU_ASSERT_EQUAL(rh_json_int(doc, rh_json_object(doc, a, "b"), "x", 0, 9), 1);
    const RhJsonNode *second = rh_json_at(rh_json_array(doc, o, "c"), 1);
    CU_ASSERT_EQUAL(rh_json_int(doc, second, "z", 0, 9), 4);
    CU_ASSERT_EQUAL(rh_json_int(doc, rh_json_object(doc, second, "d"), "w", 0, 9), 5);
    const RhJsonNode *g = rh_json_object(doc, rh_json_object(doc, o, "e f"), "g");
    CU_ASSERT_EQUAL(rh_json_int(doc, rh_json_object(doc, g, "v"), "u", 0, 9), 6);
}

static void errors_have_places(void)
{
    refuses("a = 1\nb = \n", "t.toml:2:5");
    refuses("a = 1\na = 2\n", "t.toml:2:1");
    refuses("[a]\n[b]\n[a]\n", "t.toml:3:2");
    refuses("a = bf16\n", "a text in quotes");
    refuses("a = 1 2\n", "t.toml:1:7");
    refuses("a = \"x\n", "not closed");
    refuses("a = [1, 2\n", "t.toml:1:10");
    refuses("a = {x = 1}\n[a]\ny = 1\n", "no table that can grow");
    refuses("a = \"\\q\"\n", "escape is unknown");
    refuses("= 1\n", "a key must stand here");
    refuses("[a\n", "not closed by");
}

static void nesting_has_a_bound(void)
{
    g_autofree char *brackets = g_strnfill(100000, '[');
    g_autofree char *list = g_strconcat("a = ", brackets, NULL);
    refuses(list, "nested deeper");
    g_autoptr(GString) dotted = g_string_new("a");
    for (int i = 0; i < 1000; i++)
        g_string_append(dotted, ".a");
    g_string_append(dotted, " = 1\n");
    refuses(dotted->str, "nested deeper");
}

int main(void)
{
    return rh_test_main("toml",
                        (RhTest[]){{"values_of_every_kind_are_read", values_of_every_kind_are_read},
                                   {"tables_nest_and_repeat", tables_nest_and_repeat},
                                   {"errors_have_places", errors_have_places},
                                   {"nesting_has_a_bound", nesting_has_a_bound},
                                   {0}});
}
