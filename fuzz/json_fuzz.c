/* rh_json_parse, every getter, rh_json_finish, and the writer: what was read and written again
 * reads the same. */
#include <cjson/cJSON.h>
#include <float.h>
#include <string.h>

#include "base/json/json.h"
#include "fuzz/fuzzkit.h"

static const char *const keys[] = {"a", "b", "value", "name", "links", NULL};

static void ask(RhJson *doc, const RhJsonNode *node)
{
    for (int i = 0; keys[i]; i++) {
        rh_json_int_or(doc, node, keys[i], -5, INT64_MAX, 1);
        rh_json_number_or(doc, node, keys[i], -1e300, 1e300, 0);
        rh_json_string_or(doc, node, keys[i], "");
        rh_json_bool_or(doc, node, keys[i], false);
        rh_json_quantity_or(doc, node, keys[i], (RhQuantity)(1 + i), 0);
        if (rh_json_has(node, keys[i]))
            rh_json_fact(doc, node, keys[i], RH_QUANTITY_S);
        const RhJsonNode *inner = rh_json_object_or_null(doc, node, keys[i]);
        if (inner)
            ask(doc, inner);
        const RhJsonNode *list = rh_json_array_or_null(doc, node, keys[i]);
        for (const RhJsonNode *e = rh_json_first(list); e; e = rh_json_next(e))
            rh_json_node_int(doc, e, 0, 9);
    }
}

static void copy(RhJson *doc, const RhJsonNode *node, const char *key, RhJsonWriter *w);

static void copy_children(RhJson *doc, const RhJsonNode *node, RhJsonWriter *w)
{
    for (const RhJsonNode *child = rh_json_first(node); child; child = rh_json_next(child))
        copy(doc, child, rh_json_key(child), w);
}

/* The getters know no types; the node does. */
static void copy(RhJson *doc, const RhJsonNode *node, const char *key, RhJsonWriter *w)
{
    if (cJSON_IsObject(node)) {
        rh_json_begin_object(w, key);
        copy_children(doc, node, w);
        rh_json_end_object(w);
    } else if (cJSON_IsArray(node)) {
        rh_json_begin_array(w, key);
        copy_children(doc, node, w);
        rh_json_end_array(w);
    } else if (cJSON_IsString(node)) {
        rh_json_put_string(w, key, rh_json_node_string(doc, node));
    } else if (cJSON_IsNumber(node)) {
        rh_json_put_exact(w, key, rh_json_node_number(doc, node, -DBL_MAX, DBL_MAX));
    } else if (cJSON_IsBool(node)) {
        rh_json_put_bool(w, key, cJSON_IsTrue(node));
    } else {
        rh_json_put_null(w, key);
    }
}

static char *written(RhJson *doc, bool pretty)
{
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(pretty);
    copy(doc, rh_json_root(doc), NULL, w);
    return rh_json_writer_steal(w);
}

/* The text is untrusted, the message is for a terminal. */
static void check_refusal(GError **error)
{
    FUZZ_CHECK(*error != NULL && !strpbrk((*error)->message, "\x1b\r\t"));
    FUZZ_CHECK(g_utf8_validate((*error)->message, -1, NULL));
    fuzz_check_error(error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhJson) doc = rh_json_parse("fuzz.json", (const char *)data, size, &error);
    if (!doc) {
        check_refusal(&error);
        return 0;
    }
    g_autofree char *first = written(doc, size % 2);
    g_autoptr(RhJson) again = rh_json_parse("again.json", first, strlen(first), &error);
    FUZZ_CHECK(again != NULL);
    g_autofree char *second = written(again, size % 2);
    FUZZ_CHECK(strcmp(first, second) == 0);
    ask(doc, rh_json_root(doc));
    if (!rh_json_finish(doc, &error))
        check_refusal(&error);
    return 0;
}
