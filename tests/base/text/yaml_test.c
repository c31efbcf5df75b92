#include "base/text/yaml.h"

#include <string.h>

#include "base/error.h"
#include "tests/kit/testkit.h"

static RhJson *parse(const char *text)
{
    g_autoptr(GError) error = NULL;
    RhJson *doc = rh_yaml_parse("t.yaml", text, strlen(text), &error);
    if (error)
        CU_FAIL(error->message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(doc);
    return doc;
}

static char *refused_bytes(const char *text, size_t length)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhJson) doc = rh_yaml_parse("t.yaml", text, length, &error);
    CU_ASSERT_PTR_NULL_FATAL(doc);
    CU_ASSERT_TRUE_FATAL(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
    return g_strdup(error->message);
}

static void refuses(const char *text, const char *part)
{
    g_autofree char *message = refused_bytes(text, strlen(text));
    CU_ASSERT_TRUE(rh_test_says(message, part));
}

static void words_are_what_they_look_like(void)
{
    g_autoptr(RhJson) doc = parse("a: 8\nb: 1e-5\nc: yes\nd: 'yes'\ne: ~\nf: 1_000\ng: 0x10\n"
                                  "h: bf16\ni: -.5\nj: !!str 3\nk: 1.2.3\nl: 12e\n");
    const RhJsonNode *o = rh_json_root(doc);
    CU_ASSERT_EQUAL(rh_json_int(doc, o, "a", 0, 100), 8);
    CU_ASSERT_DOUBLE_EQUAL(rh_json_number(doc, o, "b", 0, 1), 1e-5, 1e-18);
    CU_ASSERT_TRUE(rh_json_bool_or(doc, o, "c", false));
    CU_ASSERT_STRING_EQUAL(rh_json_string(doc, o, "d"), "yes");
    CU_ASSERT_FALSE(rh_json_has(o, "e"));
    rh_json_consume(doc, o, "e");
    CU_ASSERT_EQUAL(rh_json_int(doc, o, "f", 0, 1000), 1000);
    CU_ASSERT_EQUAL(rh_json_int(doc, o, "g", 0, 100), 16);
    CU_ASSERT_STRING_EQUAL(rh_json_string(doc, o, "h"), "bf16");
    CU_ASSERT_DOUBLE_EQUAL(rh_json_number(doc, o, "i", -1, 1), -.5, 1e-18);
    CU_ASSERT_STRING_EQUAL(rh_json_string(doc, o, "j"), "3");
    CU_ASSERT_STRING_EQUAL(rh_json_string(doc, o, "k"), "1.2.3");
    CU_ASSERT_STRING_EQUAL(rh_json_string(doc, o, "l"), "12e");
    CU_ASSERT_TRUE(rh_json_finish(doc, NULL));
}

static void anchors_are_copied_and_merged(void)
{
    g_autoptr(RhJson) doc = parse("base: &b {x: 1, y: [2, &three 3]}\n"
                                  "own:\n  <<: *b\n  x: 7\n  z: *three\n");
    const RhJsonNode *own = rh_json_member(rh_json_root(doc), "own");
    CU_ASSERT_EQUAL(rh_json_int(doc, own, "x", 0, 9), 7);
    CU_ASSERT_EQUAL(rh_json_int(doc, own, "z", 0, 9), 3);
    CU_ASSERT_EQUAL(rh_json_count(rh_json_array(doc, own, "y")), 2);
    CU_ASSERT_FALSE(rh_json_has(own, "<<"));
}

static void several_documents_are_a_list(void)
{
    g_autoptr(RhJson) doc = parse("---\na: 1\n---\nb: 2\n...\n");
    CU_ASSERT_EQUAL(rh_json_kind(rh_json_root(doc)), RH_JSON_ARRAY);
    CU_ASSERT_EQUAL(rh_json_count(rh_json_root(doc)), 2);
}

static void errors_have_places(void)
{
    refuses("a: 1\nb:\n  ä: 2\n  ö: 3\n  ö: 4\n", "t.yaml:5:3");
    refuses("a: [1, 2\n", "t.yaml:1:9");
    refuses("a: \"x\\0y\"\n", "NUL");
    refuses("", "the file is empty");
    refuses("? [a]\n: 1\n", "a key must be a word");
    refuses("\xff\n", "not UTF-8");
    g_autoptr(RhJson) doc = parse("\xef\xbb\xbf# ü\nname: ü\nsizes:\n  wide: many\n");
    const RhJsonNode *sizes = rh_json_object(doc, rh_json_root(doc), "sizes");
    rh_json_string(doc, rh_json_root(doc), "name");
    rh_json_int(doc, sizes, "wide", 1, 9);
    g_autoptr(GError) error = NULL;
    CU_ASSERT_FALSE_FATAL(rh_json_finish(doc, &error));
    CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "t.yaml:4:9"));
    CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "^^^^"));
}

static void aliases_cannot_grow_without_bound(void)
{
    g_autoptr(GString) text = g_string_new("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for (int i = 1; i < 10; i++) {
        g_string_append_printf(text, "a%d: &a%d [", i, i);
        for (int k = 0; k < 10; k++)
            g_string_append_printf(text, "%s*a%d", k ? ", " : "", i - 1);
        g_string_append(text, "]\n");
    }
    refuses(text->str, "more than a million values");
    refuses("a: &a [1, *a]\n", "inside what it names");
    refuses("a: &a\n  <<: *a\n", "inside what it names");
    refuses("a: *b\n", "names nothing");
}

static void nesting_has_a_bound(void)
{
    g_autofree char *deep = g_strnfill(100000, '[');
    refuses(deep, "nested deeper than 64 levels");
}

int main(void)
{
    return rh_test_main(
        "yaml", (RhTest[]){{"words_are_what_they_look_like", words_are_what_they_look_like},
                           {"anchors_are_copied_and_merged", anchors_are_copied_and_merged},
                           {"several_documents_are_a_list", several_documents_are_a_list},
                           {"errors_have_places", errors_have_places},
                           {"aliases_cannot_grow_without_bound", aliases_cannot_grow_without_bound},
                           {"nesting_has_a_bound", nesting_has_a_bound},
                           {0}});
}
