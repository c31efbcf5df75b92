#include "base/json/json.h"

#include <string.h>

#include "base/error.h"
#include "tests/kit/json_kit.h"
#include "tests/kit/testkit.h"

/* --- helpers --- */

/* The message of a text that must not parse. */
static char *refused_bytes(const char *text, size_t length)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhJson) doc = rh_json_parse("t.json", text, length, &error);
    CU_ASSERT_PTR_NULL_FATAL(doc);
    CU_ASSERT_PTR_NOT_NULL_FATAL(error);
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
    return g_strdup(error->message);
}

static char *refused(const char *text)
{
    return refused_bytes(text, strlen(text));
}

static void has_not(const char *text, const char *part)
{
    CU_ASSERT_PTR_NULL(text ? strstr(text, part) : NULL);
}

static int count(const char *text, const char *part)
{
    int n = 0;
    for (; text && (text = strstr(text, part)) != NULL; text++)
        n++;
    return n;
}

/* --- reading --- */

static void texts_of_more_than_a_line_are_refused(void)
{
    static const char *const wrong[] = {"a\\nb", "\\u001b[2J", "\xe2\x80\xae", "\\u009b"};
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autofree char *text = g_strdup_printf("{\"name\": \"%s\"}", wrong[i]);
        g_autoptr(RhJson) doc = parse(text);
        CU_ASSERT_STRING_EQUAL(rh_json_string(doc, rh_json_root(doc), "name"), "");
        CU_ASSERT_FALSE(rh_json_finish(doc, NULL));
    }
}

static void values_are_read_by_kind(void)
{
    g_autoptr(RhJson) doc =
        parse("{\"s\": \"a\\u00e4\", \"i\": -3, \"d\": 0.25, \"b\": true, \"q\": \"400Gb/s\","
              " \"p\": 0.5, \"o\": {\"x\": 1}, \"a\": [1, 2, 3], \"n\": null}");
    const RhJsonNode *root = rh_json_root(doc);
    CU_ASSERT_STRING_EQUAL(rh_json_string(doc, root, "s"), "aä");
    CU_ASSERT_EQUAL(rh_json_int(doc, root, "i", -5, 5), -3);
    CU_ASSERT_EQUAL(rh_json_number(doc, root, "d", 0, 1), 0.25);
    CU_ASSERT_TRUE(rh_json_bool_or(doc, root, "b", false));
    CU_ASSERT_EQUAL(rh_json_quantity(doc, root, "q", RH_QUANTITY_BYTES_PER_S), 5e10);
    CU_ASSERT_EQUAL(rh_json_quantity(doc, root, "p", RH_QUANTITY_FRAC), 0.5);
    CU_ASSERT_EQUAL(rh_json_int(doc, rh_json_object(doc, root, "o"), "x", 0, 9), 1);
    const RhJsonNode *list = rh_json_array(doc, root, "a");
    CU_ASSERT_EQUAL(rh_json_count(list), 3);
    CU_ASSERT_EQUAL(rh_json_node_int(doc, rh_json_at(list, 2), 0, 9), 3);
    int64_t sum = 0;
    for (const RhJsonNode *e = rh_json_first(list); e; e = rh_json_next(e))
        sum += rh_json_node_int(doc, e, 0, 9);
    CU_ASSERT_EQUAL(sum, 6);
    CU_ASSERT_FALSE(rh_json_has(root, "n"));
    CU_ASSERT_EQUAL(rh_json_int_or(doc, root, "n", 0, 9, 7), 7);
    CU_ASSERT_STRING_EQUAL(rh_json_string_or(doc, root, "absent", "x"), "x");
    CU_ASSERT_EQUAL(rh_json_number_or(doc, root, "absent", 0, 1, 0.5), 0.5);
    CU_ASSERT_PTR_NULL(rh_json_object_or_null(doc, root, "absent"));
    CU_ASSERT_PTR_NULL(rh_json_array_or_null(doc, root, "absent"));
    g_autofree char *message = finish(doc);
    CU_ASSERT_PTR_NULL(message);
}

static void facts_carry_tag_source_and_date(void)
{
    g_autoptr(RhJson) doc = parse("{\"f\": {\"value\": \"3.35TB/s\", \"tag\": \"datasheet\","
                                  " \"source\": \"H100 data sheet\", \"date\": \"2023-03\"},"
                                  " \"g\": {\"value\": \"1us\", \"tag\": \"gessed\", \"source\": "
                                  "\"\"}, \"h\": \"1us\","
                                  " \"e\": {\"value\": \"1us\", \"tag\": \"\", \"source\": \"\"}}");
    const RhJsonNode *root = rh_json_root(doc);
    RhFact f = rh_json_fact(doc, root, "f", RH_QUANTITY_BYTES_PER_S);
    RH_CHECK_CLOSE(f.value, 3.35e12, 1e-15);
    CU_ASSERT_EQUAL(f.tag, RH_TAG_DATASHEET);
    CU_ASSERT_STRING_EQUAL(f.source, "H100 data sheet");
    CU_ASSERT_STRING_EQUAL(f.date, "2023-03");
    CU_ASSERT_EQUAL(rh_tag_letter(f.tag), 'd');
    rh_json_fact(doc, root, "g", RH_QUANTITY_S);
    rh_json_fact(doc, root, "e", RH_QUANTITY_S);
    f = rh_json_fact(doc, root, "h", RH_QUANTITY_S);
    CU_ASSERT_PTR_NOT_NULL(f.source);
    g_autofree char *message = finish(doc);
    has(message, "there is no tag \"gessed\"");
    has(message, "h must be a fact");
    has(message, "there is no tag \"\"");
    CU_ASSERT_EQUAL(count(message, "-->"), 3);
}

static void big_integers_are_exact(void)
{
    g_autoptr(RhJson) doc = parse("{\"p\": 70553706496, \"m\": 9007199254740991, \"x\": "
                                  "9007199254740992, \"f\": 1.5, \"e\": 1e30}");
    const RhJsonNode *root = rh_json_root(doc);
    CU_ASSERT_EQUAL(rh_json_int(doc, root, "p", 0, INT64_MAX), 70553706496);
    CU_ASSERT_EQUAL(rh_json_int(doc, root, "m", 0, INT64_MAX), 9007199254740991);
    CU_ASSERT_EQUAL(rh_json_int(doc, root, "x", 5, INT64_MAX), 5);
    CU_ASSERT_EQUAL(rh_json_int(doc, root, "f", 5, INT64_MAX), 5);
    CU_ASSERT_EQUAL(rh_json_int(doc, root, "e", 5, INT64_MAX), 5);
    g_autofree char *message = finish(doc);
    CU_ASSERT_EQUAL(count(message, "whole number below 2^53"), 3);
}

static void look_up_minds_the_case(void)
{
    g_autoptr(RhJson) doc = parse("{\"Hidden\": 5}");
    CU_ASSERT_EQUAL(rh_json_int_or(doc, rh_json_root(doc), "HIDDEN", 0, 9, 1), 1);
    CU_ASSERT_EQUAL(rh_json_int_or(doc, rh_json_root(doc), "hidden", 0, 9, 2), 2);
    g_autofree char *message = finish(doc);
    has(message, "unknown key \"Hidden\"");
}

static void the_hash_is_of_the_text_as_read(void)
{
    g_autoptr(RhJson) a = parse("{} // x");
    g_autofree char *sha = g_compute_checksum_for_string(G_CHECKSUM_SHA256, "{} // x", -1);
    CU_ASSERT_STRING_EQUAL(rh_json_hash(a), sha);
    CU_ASSERT_STRING_EQUAL(rh_json_name(a), "t.json");
}

/* --- problems --- */

static void unknown_keys_are_underlined_with_the_near_one(void)
{
    g_autoptr(RhJson) doc = parse("{\n  \"links\": {\"ib\": {\n      \"bandwith\": \"400Gb/s\"\n"
                                  "  }}\n}\n");
    const RhJsonNode *links = rh_json_object(doc, rh_json_root(doc), "links");
    const RhJsonNode *ib = rh_json_object(doc, links, "ib");
    rh_json_quantity_or(doc, ib, "bandwidth", RH_QUANTITY_BYTES_PER_S, 0);
    g_autofree char *message = finish(doc);
    CU_ASSERT_STRING_EQUAL(message, "unknown key \"bandwith\" in links.ib\n"
                                    " --> t.json:3:7\n"
                                    "  |\n"
                                    "3 |       \"bandwith\": \"400Gb/s\"\n"
                                    "  |       ^^^^^^^^^^\n"
                                    "  = help: a key with a similar name exists: \"bandwidth\"");
}

static void a_known_key_in_the_wrong_place_is_told_so(void)
{
    g_autoptr(RhJson) doc = parse("{\"a\": {\"size\": 1}, \"size\": 2}");
    const RhJsonNode *a = rh_json_object(doc, rh_json_root(doc), "a");
    rh_json_int(doc, a, "size", 0, 9);
    g_autofree char *message = finish(doc);
    has(message, "unknown key \"size\"\n --> t.json:1:20");
    has(message, "known, but not in this place");
}

static void missing_wrong_and_out_of_range_values_are_collected(void)
{
    g_autoptr(RhJson) doc = parse("{\"s\": 1,\n\"i\": \"x\",\n\"r\": 99,\n\"d\": 2.5,\n\"b\": 1,\n"
                                  "\"o\": [],\n\"a\": {},\n\"q\": \"400\",\n\"w\": 700}");
    const RhJsonNode *root = rh_json_root(doc);
    CU_ASSERT_STRING_EQUAL(rh_json_string(doc, root, "s"), "");
    CU_ASSERT_EQUAL(rh_json_int(doc, root, "i", 3, 9), 3);
    CU_ASSERT_EQUAL(rh_json_int(doc, root, "r", 3, 9), 3);
    CU_ASSERT_EQUAL(rh_json_number(doc, root, "d", 0, 1), 0);
    CU_ASSERT_FALSE(rh_json_bool_or(doc, root, "b", false));
    CU_ASSERT_PTR_NULL(rh_json_object(doc, root, "o"));
    CU_ASSERT_PTR_NULL(rh_json_array(doc, root, "a"));
    CU_ASSERT_EQUAL(rh_json_quantity(doc, root, "q", RH_QUANTITY_BYTES_PER_S), 0);
    CU_ASSERT_EQUAL(rh_json_quantity(doc, root, "w", RH_QUANTITY_W), 0);
    CU_ASSERT_PTR_NULL(rh_json_object(doc, root, "gone"));
    CU_ASSERT_EQUAL(rh_json_int(doc, NULL, "below_gone", 3, 9), 3); /* not reported again */
    g_autofree char *message = finish(doc);
    has(message, "key \"gone\" is missing\n --> t.json:1:1\n");
    has(message, "error: s must be text, not a number\n --> t.json:1:7\n");
    has(message, "i must be a whole number, not text\n --> t.json:2:6\n");
    has(message, "2 | \"i\": \"x\",\n  |      ^^^\n");
    has(message, "r must be from 3 to 9\n --> t.json:3:6\n");
    has(message, "d must be from 0 to 1\n --> t.json:4:6\n");
    has(message, "b must be true or false, not a number");
    has(message, "o must be an object, not a list");
    has(message, "a must be a list, not an object");
    has(message, "q: \"400\" is not a rate: the unit is missing");
    has(message, "units: B/s kB/s");
    has(message, "w: \"700\" is not a power");
    CU_ASSERT_EQUAL(count(message, "-->"), 10);
}

static void duplicate_keys_are_refused_and_nothing_else_is_blamed(void)
{
    g_autofree char *message = refused("{\"a\": 1, \"b\": {\"c\": 1, \"c\": 2}}");
    CU_ASSERT_STRING_EQUAL(message, "key \"c\" stands here twice\n"
                                    " --> t.json:1:24\n"
                                    "  |\n"
                                    "1 | {\"a\": 1, \"b\": {\"c\": 1, \"c\": 2}}\n"
                                    "  |                        ^^^\n"
                                    "  = help: keep one of them");
}

static void twenty_problems_are_shown_in_order_of_the_text(void)
{
    g_autoptr(GString) text = g_string_new("{");
    for (int i = 0; i < 30; i++)
        g_string_append_printf(text, "%s\"key%d\": 1", i ? ",\n" : "", i);
    g_string_append(text, "}");
    g_autoptr(RhJson) doc = parse(text->str);
    rh_json_string(doc, rh_json_root(doc), "key7"); /* found first, stands eighth */
    g_autofree char *message = finish(doc);
    CU_ASSERT_EQUAL(count(message, "-->"), 20);
    CU_ASSERT_EQUAL(count(message, "\nerror: "), 19);
    has(message, "note: 10 more problems in t.json");
    has(message, "unknown key \"key6\"\n --> t.json:7:1\n");
    CU_ASSERT_TRUE(strstr(message, "key7 must") > strstr(message, "\"key6\""));
    CU_ASSERT_TRUE(strstr(message, "key7 must") < strstr(message, "unknown key \"key8\""));
    has_not(message, "\"key20\"");
}

static void consumed_subtrees_hide_no_other_key(void)
{
    g_autoptr(RhJson) doc = parse("{\"a\": {\"b\": [{\"c\": 1}]}, \"z\": [{\"y\": 1}], \"w\": 2}");
    const RhJsonNode *root = rh_json_root(doc);
    rh_json_consume_all(doc, rh_json_object(doc, root, "a"));
    rh_json_consume(doc, root, "z");
    g_autofree char *message = finish(doc);
    has(message, "unknown key \"y\" in z");
    has(message, "unknown key \"w\"\n");
    CU_ASSERT_EQUAL(count(message, "-->"), 2);
}

static void a_root_of_another_type_is_a_problem_not_a_crash(void)
{
    const char *texts[] = {"[]", "1", "\"x\"", "null", "[{\"a\": 1}]"};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autoptr(RhJson) doc = parse(texts[i]);
        CU_ASSERT_EQUAL(rh_json_int(doc, rh_json_root(doc), "a", 4, 9), 4);
        CU_ASSERT_FALSE(rh_json_has(rh_json_root(doc), "a"));
        g_autofree char *message = finish(doc);
        has(message, "key \"a\" is missing");
    }
}

/* --- positions --- */

static void comments_are_blanked_and_positions_kept(void)
{
    g_autoptr(RhJson) doc = parse("// a \"quote, {[ and \xc3\xa4\n"
                                  "{ /* \xc3\xa4\xc3\xb6\n *\x2f \"s\": \"// no /* comment *\x2f\","
                                  " /* \xc3\xbc */ \"odd\": 1 // tail\n}");
    CU_ASSERT_STRING_EQUAL(rh_json_string(doc, rh_json_root(doc), "s"), "// no /* comment */");
    g_autofree char *message = finish(doc);
    has(message, "t.json:3:41\n"); /* columns count characters */
    has(message, "/* ü */ \"odd\": 1 // tail\n");
}

static void carets_stand_below_wide_characters_and_tabs(void)
{
    g_autoptr(RhJson) doc = parse("{\t\"日本\": 1}");
    g_autofree char *message = finish(doc);
    CU_ASSERT_STRING_EQUAL(message, "unknown key \"日本\"\n"
                                    " --> t.json:1:3\n"
                                    "  |\n"
                                    "1 | { \"日本\": 1}\n"
                                    "  |   ^^^^^^");
}

static void windows_line_ends_and_byte_order_marks_are_fine(void)
{
    g_autoptr(RhJson) doc = parse("\xef\xbb\xbf{\"x\": 1,\r\n \"y\": 2}\r\n");
    g_autofree char *message = finish(doc);
    has(message, "t.json:1:2\n  |\n1 | {\"x\": 1,\n  |  ^^^\n");
    has(message, "t.json:2:2\n  |\n2 |  \"y\": 2}\n  |  ^^^");
}

static void long_lines_show_the_part_around_the_place(void)
{
    g_autoptr(GString) text = g_string_new("{\"a\": [");
    for (int i = 0; i < 5000; i++)
        g_string_append(text, "1,");
    g_string_append(text, "1], \"odd\": 1, \"b\": \"");
    for (int i = 0; i < 5000; i++)
        g_string_append(text, "x");
    g_string_append(text, "\"}");
    g_autoptr(RhJson) doc = parse(text->str);
    rh_json_consume(doc, rh_json_root(doc), "a");
    rh_json_consume(doc, rh_json_root(doc), "b");
    g_autofree char *message = finish(doc);
    has(message, "t.json:1:10012\n");
    CU_ASSERT_TRUE(strlen(message) < 400);
    g_auto(GStrv) lines = g_strsplit(message, "\n", -1);
    CU_ASSERT_EQUAL_FATAL(g_strv_length(lines), 5);
    CU_ASSERT_EQUAL(strstr(lines[3], "\"odd\"") - lines[3], strstr(lines[4], "^^^^^") - lines[4]);
}

static void control_characters_do_not_reach_the_terminal(void)
{
    g_autoptr(RhJson) doc = parse("{\"a\\u001b[31m\": 1}");
    g_autofree char *message = finish(doc);
    has(message, "unknown key \"a?[31m\"");
    has_not(message, "\x1b");
}

/* --- texts that are no documents --- */

static void broken_texts_are_refused_with_their_place(void)
{
    const struct {
        const char *text, *message, *place;
    } cases[] = {
        {"", "the file is empty", "t.json:1:1"},
        {" \n // only\n", "the file is empty", "t.json:2:9"},
        {"{\"a\": 1} junk", "text after the end", "t.json:1:10"},
        {"{\"a\": 1}\n{}", "text after the end", "t.json:2:1"},
        {"{\"a\": 1,}", "not valid JSON", "t.json:1:9"},
        {"{\"a\" 1}", "not valid JSON", "t.json:1:6"},
        {"{\n\"a\": 1\n", "not valid JSON", "t.json:2:7"},
        {"{\"a\": tru}", "not valid JSON", "t.json:1:7"},
        {"{\"a\": NaNs}", "not valid JSON", "t.json:1:10"},
        {"{\"a\": Infinit}", "not valid JSON", "t.json:1:7"},
        {"{'a': 1}", "not valid JSON", "t.json:1:2"},
        {"[{}{}]", "not valid JSON", "t.json:1:4"},
        {"{\"a\": \"open}", "not valid JSON", "t.json:1:7"},
        {"\"open", "not valid JSON", "t.json:1:1"},
        {"{\"a\": 1} /* open", "never closed", "t.json:1:10"},
        {"{\"a\": 1e400}", "the number is too large", "t.json:1:7"},
        {"-1e400", "the number is too large", "t.json:1:1"},
        {"{\"a\": [1, 1e999]}", "the number is too large", "t.json:1:11"},
        {"{\"a\": \"x\ny\"}", "line break", "t.json:1:9"},
        {"{\"a\":\v 1}", "control character", "t.json:1:6"},
        {"{\"a\": \"\\u0000\"}", "\\u0000", "t.json:1:8"},
        {"{\"a\": \"\\uZZ12\"}", "four hex", "t.json:1:8"},
        {"{\"a\": \"\\ud800\"}", "not valid JSON", "t.json:1:"},
        {"{\"a\xff\": 1}", "not UTF-8", "t.json:1:4"},
        {"{\"a\": \"\xc3", "not UTF-8", "t.json:1:8"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *message = refused(cases[i].text);
        has(message, cases[i].message);
        has(message, cases[i].place);
    }
}

static void a_nul_byte_ends_nothing(void)
{
    g_autofree char *message = refused_bytes("{}\0{}", 5);
    has(message, "a NUL byte in the text\n --> t.json:1:3");
    message = (g_free(message), refused_bytes("\0", 1));
    has(message, "NUL");
}

static void nesting_is_bounded_at_64(void)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (int i = 0; i < 64; i++)
        g_string_append_c(text, '[');
    for (int i = 0; i < 64; i++)
        g_string_append_c(text, ']');
    g_autoptr(RhJson) doc = parse(text->str);
    CU_ASSERT_EQUAL(rh_json_count(rh_json_root(doc)), 1);
    g_string_prepend(text, "// \"\n["); /* the quote in the comment opens no string */
    g_string_append_c(text, ']');
    g_autofree char *message = refused(text->str);
    has(message, "nested deeper than 64 levels\n --> t.json:2:65");
    g_autoptr(RhJson) brackets = parse("{\"a\": \"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
                                       "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\\\"[[\"}");
    CU_ASSERT_PTR_NOT_NULL(brackets);
}

static void hostile_texts_take_time_in_proportion(void)
{
    g_autoptr(GString) text = g_string_new("{");
    for (int i = 0; i < 100000; i++) /* duplicates, of which each is a problem */
        g_string_append(text, "\"a\":1,");
    g_string_append(text, "\"b\": {\"");
    for (int i = 0; i < 100000; i++) /* a long path above many elements */
        g_string_append_c(text, 'p');
    g_string_append(text, "\": [");
    for (int i = 0; i < 100000; i++)
        g_string_append(text, "[],");
    g_string_append(text, "{\"odd\":1}]}}");
    gint64 start_us = g_get_monotonic_time();
    g_autofree char *message = refused(text->str);
    has(message, "note: 99979 more problems");
    char *unique = strstr(text->str, "\"b\": {");
    g_autofree char *rest = g_strconcat("{", unique, NULL);
    g_autoptr(RhJson) doc = parse(rest);
    const RhJsonNode *b = rh_json_object(doc, rh_json_root(doc), "b");
    rh_json_consume(doc, b, rh_json_key(rh_json_first(b)));
    g_autofree char *left = finish(doc);
    has(left, "unknown key \"odd\" in b.ppp");
    CU_ASSERT_TRUE(strlen(left) < 2000);
    CU_ASSERT_TRUE(g_get_monotonic_time() - start_us < 20000000);
}

int main(void)
{
    return rh_test_main(
        "json",
        (RhTest[]){
            {"values_are_read_by_kind", values_are_read_by_kind},
            {"texts_of_more_than_a_line_are_refused", texts_of_more_than_a_line_are_refused},
            {"facts_carry_tag_source_and_date", facts_carry_tag_source_and_date},
            {"big_integers_are_exact", big_integers_are_exact},
            {"look_up_minds_the_case", look_up_minds_the_case},
            {"the_hash_is_of_the_text_as_read", the_hash_is_of_the_text_as_read},
            {"unknown_keys_are_underlined_with_the_near_one",
             unknown_keys_are_underlined_with_the_near_one},
            {"a_known_key_in_the_wrong_place_is_told_so",
             a_known_key_in_the_wrong_place_is_told_so},
            {"missing_wrong_and_out_of_range_values_are_collected",
             missing_wrong_and_out_of_range_values_are_collected},
            {"duplicate_keys_are_refused_and_nothing_else_is_blamed",
             duplicate_keys_are_refused_and_nothing_else_is_blamed},
            {"twenty_problems_are_shown_in_order_of_the_text",
             twenty_problems_are_shown_in_order_of_the_text},
            {"consumed_subtrees_hide_no_other_key", consumed_subtrees_hide_no_other_key},
            {"a_root_of_another_type_is_a_problem_not_a_crash",
             a_root_of_another_type_is_a_problem_not_a_crash},
            {"comments_are_blanked_and_positions_kept", comments_are_blanked_and_positions_kept},
            {"carets_stand_below_wide_characters_and_tabs",
             carets_stand_below_wide_characters_and_tabs},
            {"windows_line_ends_and_byte_order_marks_are_fine",
             windows_line_ends_and_byte_order_marks_are_fine},
            {"long_lines_show_the_part_around_the_place",
             long_lines_show_the_part_around_the_place},
            {"control_characters_do_not_reach_the_terminal",
             control_characters_do_not_reach_the_terminal},
            {"broken_texts_are_refused_with_their_place",
             broken_texts_are_refused_with_their_place},
            {"a_nul_byte_ends_nothing", a_nul_byte_ends_nothing},
            {"nesting_is_bounded_at_64", nesting_is_bounded_at_64},
            {"hostile_texts_take_time_in_proportion", hostile_texts_take_time_in_proportion},
            {0}});
}
