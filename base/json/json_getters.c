/* Getters: members that are read count as consumed, and problems are collected. */
#include <math.h>
#include <string.h>

#include "base/interned_strings.h"
#include "base/json/json_internal.h"
#include "base/text/text_input.h"

/* Returns the member and consumes it; NULL when missing or null. */
static const cJSON *take_member(RhJson *doc, const RhJsonNode *object, const char *key)
{
    const cJSON *node =
        cJSON_IsObject(object) ? cJSON_GetObjectItemCaseSensitive(object, key) : NULL;
    void *name = (void *)(uintptr_t)rh_intern(key);
    if (g_hash_table_add(doc->known_set, name))
        g_ptr_array_add(doc->known, name);
    if (node)
        g_hash_table_add(doc->consumed, (void *)(uintptr_t)node);
    return node && !cJSON_IsNull(node) ? node : NULL;
}

/* Consumes a member; a missing one is a problem. */
static const cJSON *required_member(RhJson *doc, const RhJsonNode *object, const char *key)
{
    const cJSON *node = take_member(doc, object, key);
    if (!node && object)
        rh_json_problem(doc, object, NULL, "%s%s%skey \"%s\" is missing",
                        object->string ? "\"" : "", object->string ? object->string : "",
                        object->string ? "\": " : "", key);
    return node;
}

static bool is_no_number(const cJSON *node)
{
    return cJSON_IsString(node) && g_str_equal(node->valuestring, RH_JSON_NO_NUMBER);
}

static const char *type_name(const cJSON *node)
{
    return is_no_number(node)     ? "NaN or an infinity"
           : cJSON_IsString(node) ? "text"
           : cJSON_IsNumber(node) ? "a number"
           : cJSON_IsBool(node)   ? "true or false"
           : cJSON_IsArray(node)  ? "a list"
           : cJSON_IsObject(node) ? "an object"
                                  : "null";
}

static const char *label(const cJSON *node)
{
    return node && node->string ? node->string : "value";
}

static bool is_number(const char *text)
{
    char *end = NULL;
    g_ascii_strtod(text, &end);
    return *text && *end == '\0';
}

/* Returns an example of a value of the type. */
static const char *type_help(const char *wanted)
{
    static const char *const looks[][2] = {
        {"text", "such as \"name\""},
        {"a number", "such as 0.5"},
        {"a whole number", "such as 8"},
        {"true or false", "without quotation marks"},
        {"a quantity in quotes", "a number and its unit, such as \"80GiB\""},
        {"an object", "such as {\"key\": 1}"},
        {"a list", "such as [1, 2]"}};
    for (size_t i = 0; i < G_N_ELEMENTS(looks); i++)
        if (g_str_equal(looks[i][0], wanted))
            return looks[i][1];
    return NULL;
}

static void wrong_type(RhJson *doc, const cJSON *node, const char *wanted)
{
    g_autofree char *help = NULL;
    bool number = strstr(wanted, "number") != NULL;
    if (number && cJSON_IsString(node) && is_number(node->valuestring))
        help = g_strdup_printf("without quotation marks: %s", node->valuestring);
    else if (g_str_equal(wanted, "text") && cJSON_IsNumber(node))
        help = g_strdup_printf("in quotation marks: \"%.9g\"", node->valuedouble);
    rh_json_problem(doc, node, help ? help : type_help(wanted), "%s must be %s, not %s",
                    label(node), wanted, type_name(node));
}

const char *rh_json_node_text(RhJson *doc, const RhJsonNode *node)
{
    if (!cJSON_IsString(node) || is_no_number(node)) {
        wrong_type(doc, node, "text");
        return "";
    }
    if (!rh_text_is_plain(node->valuestring)) {
        rh_json_problem(doc, node, NULL, "%s holds a control character or a line break",
                        label(node));
        return "";
    }
    return node->valuestring;
}

const char *rh_json_node_string(RhJson *doc, const RhJsonNode *node)
{
    return rh_intern(rh_json_node_text(doc, node));
}

bool rh_json_node_bool(RhJson *doc, const RhJsonNode *node)
{
    if (!cJSON_IsBool(node))
        wrong_type(doc, node, "true or false");
    return cJSON_IsTrue(node);
}

double rh_json_node_number(RhJson *doc, const RhJsonNode *node, double low, double high)
{
    if (!cJSON_IsNumber(node)) {
        wrong_type(doc, node, "a number");
        return low;
    }
    if (!(node->valuedouble >= low && node->valuedouble <= high)) {
        rh_json_problem(doc, node, NULL, "%s must be from %.9g to %.9g", label(node), low, high);
        return low;
    }
    return node->valuedouble;
}

int64_t rh_json_node_int(RhJson *doc, const RhJsonNode *node, int64_t low, int64_t high)
{
    if (!cJSON_IsNumber(node)) {
        wrong_type(doc, node, "a whole number");
        return low;
    }
    double v = node->valuedouble;
    if (v != floor(v) || fabs(v) >= 9007199254740992.0) {
        rh_json_problem(doc, node, NULL, "%s must be a whole number below 2^53", label(node));
        return low;
    }
    if ((int64_t)v < low || (int64_t)v > high) {
        rh_json_problem(doc, node, NULL,
                        "%s must be from %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT, label(node),
                        low, high);
        return low;
    }
    return (int64_t)v;
}

const char *rh_json_string(RhJson *doc, const RhJsonNode *object, const char *key)
{
    const cJSON *node = required_member(doc, object, key);
    return node ? rh_json_node_string(doc, node) : "";
}

const char *rh_json_word(RhJson *doc, const RhJsonNode *object, const char *key)
{
    const cJSON *node = required_member(doc, object, key);
    if (node && cJSON_IsString(node) && !*node->valuestring)
        rh_json_problem(doc, node, NULL, "\"%s\" is empty", key);
    return node ? rh_json_node_string(doc, node) : "";
}

const char *rh_json_string_or(RhJson *doc, const RhJsonNode *object, const char *key,
                              const char *otherwise)
{
    const cJSON *node = take_member(doc, object, key);
    return node ? rh_json_node_string(doc, node) : otherwise;
}

int64_t rh_json_int(RhJson *doc, const RhJsonNode *object, const char *key, int64_t low,
                    int64_t high)
{
    const cJSON *node = required_member(doc, object, key);
    return node ? rh_json_node_int(doc, node, low, high) : low;
}

int64_t rh_json_int_or(RhJson *doc, const RhJsonNode *object, const char *key, int64_t low,
                       int64_t high, int64_t otherwise)
{
    const cJSON *node = take_member(doc, object, key);
    return node ? rh_json_node_int(doc, node, low, high) : otherwise;
}

double rh_json_number(RhJson *doc, const RhJsonNode *object, const char *key, double low,
                      double high)
{
    const cJSON *node = required_member(doc, object, key);
    return node ? rh_json_node_number(doc, node, low, high) : low;
}

double rh_json_number_or(RhJson *doc, const RhJsonNode *object, const char *key, double low,
                         double high, double otherwise)
{
    const cJSON *node = take_member(doc, object, key);
    return node ? rh_json_node_number(doc, node, low, high) : otherwise;
}

bool rh_json_bool_or(RhJson *doc, const RhJsonNode *object, const char *key, bool otherwise)
{
    const cJSON *node = take_member(doc, object, key);
    if (node && !cJSON_IsBool(node))
        wrong_type(doc, node, "true or false");
    return node ? cJSON_IsTrue(node) : otherwise;
}

static double node_quantity(RhJson *doc, const cJSON *node, RhQuantity kind)
{
    double value = 0;
    char number[G_ASCII_DTOSTR_BUF_SIZE] = "";
    g_autoptr(GError) local = NULL;
    bool bare = kind == RH_QUANTITY_COUNT || kind == RH_QUANTITY_FRAC;
    if (cJSON_IsNumber(node) && bare)
        return rh_json_node_number(doc, node, 0, 1e300);
    const char *text = cJSON_IsString(node) && !is_no_number(node) ? node->valuestring
                       : cJSON_IsNumber(node)
                           ? g_ascii_formatd(number, sizeof(number), "%.15g", node->valuedouble)
                           : NULL;
    if (!text) {
        wrong_type(doc, node, "a quantity in quotes");
        return 0;
    }
    if (!rh_quantity_parse(text, kind, &value, &local)) {
        char *help = strstr(local->message, "\nhelp: ");
        if (help)
            *help = 0;
        rh_json_problem(doc, node, help ? help + 7 : NULL, "%s: %s", label(node), local->message);
    }
    return value;
}

double rh_json_quantity(RhJson *doc, const RhJsonNode *object, const char *key, RhQuantity kind)
{
    const cJSON *node = required_member(doc, object, key);
    return node ? node_quantity(doc, node, kind) : 0;
}

double rh_json_quantity_or(RhJson *doc, const RhJsonNode *object, const char *key, RhQuantity kind,
                           double otherwise)
{
    const cJSON *node = take_member(doc, object, key);
    return node ? node_quantity(doc, node, kind) : otherwise;
}

static RhTag read_tag(RhJson *doc, const RhJsonNode *fact)
{
    const char *name = rh_json_string(doc, fact, "tag");
    for (RhTag tag = RH_TAG_MEASURED; tag <= RH_TAG_ASSUMED; tag++)
        if (strcmp(rh_tag_name(tag), name) == 0)
            return tag;
    const cJSON *node = cJSON_GetObjectItemCaseSensitive(fact, "tag");
    if (cJSON_IsString(node)) /* otherwise the problem is known */
        rh_json_problem(doc, node, "measured, fitted, datasheet or assumed",
                        "there is no tag \"%s\"", name);
    return RH_TAG_ASSUMED;
}

/* Reads the interval: "low" and "high" come together and hold the value between them. */
static void read_interval(RhJson *doc, const RhJsonNode *node, RhQuantity kind, RhFact *fact)
{
    if (!rh_json_has(node, "low") && !rh_json_has(node, "high"))
        return;
    fact->low = rh_json_quantity(doc, node, "low", kind);
    fact->high = rh_json_quantity(doc, node, "high", kind);
    if (fact->low > fact->value || fact->value > fact->high)
        rh_json_problem(doc, node, NULL, "the value lies outside its interval, low to high");
}

/* Checks the value of a fact that was read without a problem. */
static void check_range(RhJson *doc, const cJSON *fact, const char *key, RhQuantity kind,
                        double value, const RhRange *range)
{
    if (rh_range_holds(range, value))
        return;
    g_autofree char *wanted = rh_range_text(range, kind);
    g_autofree char *given = rh_quantity_format(value, kind, 4);
    rh_json_problem(doc, cJSON_GetObjectItemCaseSensitive(fact, "value"), NULL, "%s %s, not %s",
                    key, wanted, given);
}

RhFact rh_json_fact(RhJson *doc, const RhJsonNode *object, const char *key, RhQuantity kind)
{
    return rh_json_fact_within(doc, object, key, kind, NULL);
}

/* Reads a date: "2026-11", or "" where there is none. */
static const char *read_date(RhJson *doc, const cJSON *node)
{
    const char *date = rh_json_string_or(doc, node, "date", "");
    int month = strlen(date) == 7 ? (int)g_ascii_strtoll(date + 5, NULL, 10) : 0;
    bool fine = strlen(date) == 7 && date[4] == '-' && g_ascii_strtoll(date, NULL, 10) > 0 &&
                month >= 1 && month <= 12;
    if (*date && !fine)
        rh_json_problem(doc, cJSON_GetObjectItemCaseSensitive(node, "date"), NULL,
                        "date \"%s\" is not a year and month like 2026-11", date);
    return date;
}

RhFact rh_json_fact_within(RhJson *doc, const RhJsonNode *object, const char *key, RhQuantity kind,
                           const RhRange *range)
{
    RhFact fact = {.tag = RH_TAG_ASSUMED, .source = "", .date = ""};
    const cJSON *node = required_member(doc, object, key);
    if (!node)
        return fact;
    if (!cJSON_IsObject(node)) {
        rh_json_problem(doc, node,
                        "write {\"value\": ..., \"tag\": ..., \"source\": ..., \"date\": ...}",
                        "%s must be a fact: a value with its tag and source", key);
        return fact;
    }
    guint problems = doc->problems_count;
    fact.value = rh_json_quantity(doc, node, "value", kind);
    if (range && problems == doc->problems_count)
        check_range(doc, node, key, kind, fact.value, range);
    fact.tag = read_tag(doc, node);
    fact.source = rh_json_string(doc, node, "source");
    fact.date = read_date(doc, node);
    read_interval(doc, node, kind, &fact);
    return fact;
}

static const RhJsonNode *container(RhJson *doc, const cJSON *node, bool wants_object)
{
    if (!node || (wants_object ? cJSON_IsObject(node) : cJSON_IsArray(node)))
        return node;
    wrong_type(doc, node, wants_object ? "an object" : "a list");
    return NULL;
}

const RhJsonNode *rh_json_object(RhJson *doc, const RhJsonNode *object, const char *key)
{
    return container(doc, required_member(doc, object, key), true);
}

const RhJsonNode *rh_json_object_or_null(RhJson *doc, const RhJsonNode *object, const char *key)
{
    return container(doc, take_member(doc, object, key), true);
}

const RhJsonNode *rh_json_array(RhJson *doc, const RhJsonNode *object, const char *key)
{
    return container(doc, required_member(doc, object, key), false);
}

const RhJsonNode *rh_json_array_or_null(RhJson *doc, const RhJsonNode *object, const char *key)
{
    return container(doc, take_member(doc, object, key), false);
}

void rh_json_consume(RhJson *doc, const RhJsonNode *object, const char *key)
{
    take_member(doc, object, key);
}

void rh_json_consume_all(RhJson *doc, const RhJsonNode *node)
{
    if (!node)
        return;
    g_hash_table_add(doc->consumed, (void *)(uintptr_t)node);
    for (const cJSON *child = node->child; child; child = child->next)
        rh_json_consume_all(doc, child);
}
