/* Documents that are built node by node. */
#include <math.h>
#include <string.h>

#include "base/json/json_internal.h"

RhJson *rh_json_new(const char *name, const char *text, size_t length)
{
    RhJson *doc = rh_json_new_bare(name, text, length);
    doc->root = cJSON_CreateObject();
    doc->places = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    return doc;
}

RhJsonNode *rh_json_top(RhJson *doc)
{
    return doc->root;
}

static RhJsonNode *place_node(RhJson *doc, RhJsonNode *parent, const char *key, cJSON *node,
                              const RhJsonPlace *place)
{
    if (key)
        cJSON_AddItemToObject(parent, key, node);
    else
        cJSON_AddItemToArray(parent, node);
    g_hash_table_replace(doc->places, node, g_memdup2(place, sizeof *place));
    return node;
}

RhJsonNode *rh_json_add(RhJson *doc, RhJsonNode *parent, const char *key, RhJsonKind kind,
                        const RhJsonPlace *place)
{
    cJSON *node = kind == RH_JSON_OBJECT  ? cJSON_CreateObject()
                  : kind == RH_JSON_ARRAY ? cJSON_CreateArray()
                  : kind == RH_JSON_TRUE  ? cJSON_CreateTrue()
                  : kind == RH_JSON_FALSE ? cJSON_CreateFalse()
                                          : cJSON_CreateNull();
    return place_node(doc, parent, key, node, place);
}

RhJsonNode *rh_json_add_text(RhJson *doc, RhJsonNode *parent, const char *key, const char *text,
                             const RhJsonPlace *place)
{
    return place_node(doc, parent, key, cJSON_CreateString(text), place);
}

RhJsonNode *rh_json_add_number(RhJson *doc, RhJsonNode *parent, const char *key, double value,
                               const RhJsonPlace *place)
{
    return place_node(doc, parent, key, cJSON_CreateNumber(value), place);
}

/* --- unquoted words --- */

static bool is_one_of(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(text, *words) == 0)
            return true;
    return false;
}

/* Reads a whole number with a prefix, as 0x1F; false: it is none. */
static bool read_based(const char *text, double *value)
{
    int base = g_str_has_prefix(text, "0x")   ? 16
               : g_str_has_prefix(text, "0o") ? 8
               : g_str_has_prefix(text, "0b") ? 2
                                              : 0;
    char *end = NULL;
    if (base == 0 || !g_ascii_isxdigit(text[2]))
        return false;
    *value = (double)g_ascii_strtoull(text + 2, &end, base);
    return *end == 0;
}

/* Reads a number, with "_" between digits as YAML and TOML allow. */
static bool read_number(const char *text, double *value)
{
    g_autofree char *digits = g_strdup(text);
    char *to = digits, *end = NULL;
    for (const char *c = text; *c; c++)
        if (*c != '_' || c == text || !g_ascii_isxdigit(c[-1]) || !g_ascii_isxdigit(c[1]))
            *to++ = *c;
    *to = 0;
    if (read_based(digits, value))
        return true;
    const char *first = digits + strspn(digits, "+-");
    if (strspn(digits, "+-") > 1 || !(g_ascii_isdigit(*first) || *first == '.') ||
        strpbrk(first, "xXpPnN"))
        return false;
    *value = g_ascii_strtod(digits, &end);
    return end != digits && *end == 0;
}

RhJsonNode *rh_json_add_plain(RhJson *doc, RhJsonNode *parent, const char *key, const char *text,
                              const RhJsonPlace *place)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const trues[] = {"true", "True", "TRUE", "yes", "Yes",
                                        "YES",  "on",   "On",   "ON",  NULL};
    static const char *const falses[] = {"false", "False", "FALSE", "no",  "No",
                                         "NO",    "off",   "Off",   "OFF", NULL};
    static const char *const no_numbers[] = {".inf",  ".Inf",  ".INF", "+.inf", "-.inf",
                                             "-.Inf", "-.INF", ".nan", ".NaN",  ".NAN",
                                             "inf",   "-inf",  "+inf", "nan",   NULL};
    double value = 0;
    if (is_one_of(text, nulls))
        return rh_json_add(doc, parent, key, RH_JSON_NULL, place);
    if (is_one_of(text, trues))
        return rh_json_add(doc, parent, key, RH_JSON_TRUE, place);
    if (is_one_of(text, falses))
        return rh_json_add(doc, parent, key, RH_JSON_FALSE, place);
    if (is_one_of(text, no_numbers))
        return rh_json_add_text(doc, parent, key, RH_JSON_NO_NUMBER, place);
    if (read_number(text, &value))
        return rh_json_add_number(doc, parent, key, value, place);
    return rh_json_add_text(doc, parent, key, text, place);
}

const char *rh_json_raw_text(const RhJsonNode *node)
{
    return cJSON_IsString(node) ? node->valuestring : NULL;
}

/* --- places --- */

const RhJsonPlace *rh_json_place(const RhJson *doc, const RhJsonNode *node)
{
    return doc->places ? g_hash_table_lookup(doc->places, node) : NULL;
}

void rh_json_line_of(const RhJson *doc, size_t offset, size_t *line, size_t *column)
{
    const char *start = doc->text, *at = doc->text + MIN(offset, doc->length);
    *line = 1;
    for (const char *c = doc->text; c < at; c++)
        if (*c == '\n') {
            (*line)++;
            start = c + 1;
        }
    *column = 1 + (size_t)g_utf8_strlen(start, at - start);
}

bool rh_json_built(RhJson *doc, GError **error)
{
    return rh_json_check_tree(doc, error);
}
