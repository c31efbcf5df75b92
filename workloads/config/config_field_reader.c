/* Reads figures of a configuration by the keys of its family. */
#include <math.h>
#include <string.h>

#include "workloads/model_private.h"

/* Finds `key`, or a path through nested objects: "a.b". */
static const RhJsonNode *find_path(const RhJsonNode *object, const char *key,
                                   const RhJsonNode **within, const char **name)
{
    const char *dot = strchr(key, '.');
    g_autofree char *first = g_strndup(key, dot != NULL ? (size_t)(dot - key) : strlen(key));
    if (!rh_json_has(object, first))
        return NULL;
    const RhJsonNode *node = rh_json_member(object, first);
    if (dot != NULL)
        return rh_json_kind(node) == RH_JSON_OBJECT ? find_path(node, dot + 1, within, name) : NULL;
    if (within != NULL)
        *within = object;
    if (name != NULL)
        *name = rh_json_key(node);
    return node;
}

const RhJsonNode *rh_json_find(const RhJsonNode *object, const char *key, const RhJsonNode **within,
                               const char **name)
{
    const RhJsonNode *node = find_path(object, key, within, name);
    const char *const *aliases = node == NULL ? rh_key_aliases(key) : NULL;
    for (; aliases != NULL && *aliases != NULL && node == NULL; aliases++)
        node = find_path(object, *aliases, within, name);
    return node;
}

static bool says_null(const RhJsonNode *object, const char *key)
{
    const RhJsonNode *node = rh_json_member(object, key);
    return node != NULL && rh_json_kind(node) == RH_JSON_NULL;
}

/* Is the value "auto", which stands for the default of the family's code? */
static bool says_auto(RhJson *doc, const RhJsonNode *node)
{
    bool text = node != NULL && rh_json_kind(node) == RH_JSON_TEXT;
    return text && g_str_equal(rh_json_node_string(doc, node), "auto");
}

/* Reads a size. A list gives it layer by layer (layer_lists.c); the model's figure is the first
 * element. */
static int64_t read_size(RhJson *doc, const RhJsonNode *root, const RhField *f)
{
    const RhJsonNode *within = root;
    const char *name = f->key;
    const RhJsonNode *node = rh_json_find(root, f->key, &within, &name);
    if (f->null_is_none && says_null(root, f->key)) {
        rh_json_int_or(doc, root, f->key, f->low, f->high, 0);
        return 0;
    }
    if (node != NULL && rh_json_kind(node) == RH_JSON_ARRAY && rh_json_count(node) > 0)
        return rh_json_node_int(doc, rh_json_first(node), f->low, f->high);
    if (f->otherwise != RH_FIELD_REQUIRED && says_auto(doc, node))
        return f->otherwise;
    return f->otherwise == RH_FIELD_REQUIRED
               ? rh_json_int(doc, within, name, f->low, f->high)
               : rh_json_int_or(doc, within, name, f->low, f->high, f->otherwise);
}

static int64_t read_of_pair(RhJson *doc, const RhJsonNode *root, const RhField *f)
{
    const RhJsonNode *node = rh_json_find(root, f->key, NULL, NULL);
    if (node == NULL || rh_json_kind(node) != RH_JSON_ARRAY)
        return read_size(doc, root, f);
    const RhJsonNode *first = rh_json_first(node),
                     *second = first != NULL ? rh_json_next(first) : NULL;
    if (rh_json_count(node) == 2)
        return rh_json_node_int(doc, f->type == RH_FIELD_FIRST ? first : second, f->low, f->high);
    rh_json_problem(doc, node, "one of text's experts, one of pictures'",
                    "%s is neither a number nor a pair of numbers", f->key);
    return f->low;
}

/* Reads whether a text begins with the row's word; a text that is neither it nor the other is a problem. */
static int64_t read_word(RhJson *doc, const RhJsonNode *within, const char *name, const RhField *f)
{
    const char *text = rh_json_string(doc, within, name);
    bool begins = g_str_has_prefix(text, f->word);
    if (!begins && f->other && !g_str_equal(text, f->other)) {
        g_autofree char *help = g_strdup_printf("%s or %s", f->word, f->other);
        rh_json_problem(doc, rh_json_member(within, name), help, "%s \"%s\" is not known", f->key,
                        text);
    }
    return begins;
}

static void read_field(RhJson *doc, const RhJsonNode *root, const RhField *f, int64_t *value)
{
    const RhJsonNode *within = root;
    const char *name = f->key;
    const RhJsonNode *node = f->key != NULL ? rh_json_find(root, f->key, &within, &name) : NULL;
    switch (f->type) {
    case RH_FIELD_SIZE:
        *value = read_size(doc, root, f);
        break;
    case RH_FIELD_FIRST:
    case RH_FIELD_SECOND:
        *value = read_of_pair(doc, root, f);
        break;
    case RH_FIELD_FLAG:
        *value = rh_json_bool_or(doc, within, name, f->otherwise != 0);
        break;
    case RH_FIELD_RATE:
        *value = rh_json_number_or(doc, within, name, 0, 1, (double)f->otherwise) > 0;
        break;
    case RH_FIELD_RATIO:
        *value =
            llround(1000 * rh_json_number_or(doc, within, name, (double)f->low / 1000,
                                             (double)f->high / 1000, (double)f->otherwise / 1000));
        break;
    case RH_FIELD_WORD:
        *value = f->null_is_none && says_null(root, f->key) ? 0
                 : node != NULL                             ? read_word(doc, within, name, f)
                                                            : f->otherwise;
        break;
    case RH_FIELD_MAYBE_WORD:
        *value = node != NULL && rh_json_kind(node) == RH_JSON_TEXT &&
                 g_str_has_prefix(rh_json_string(doc, within, name), f->word);
        break;
    case RH_FIELD_SAID:
        *value = node != NULL ? rh_json_says_something(doc, node) : f->otherwise;
        break;
    case RH_FIELD_COUNT:
        *value = node != NULL ? rh_json_count(node) : f->otherwise;
        break;
    case RH_FIELD_CONSTANT:
        *value = f->otherwise;
        break;
    case RH_FIELD_NONE:
        break;
    }
}

void rh_fields_read(RhJson *doc, const RhJsonNode *object, const RhField *fields, RhConfig *c)
{
    for (const RhField *f = fields; f->type != RH_FIELD_NONE; f++)
        read_field(doc, object, f, rh_config_field(c, f));
}

/* Is the value anything but null, false, 0 and empty? */
bool rh_json_says_something(RhJson *doc, const RhJsonNode *node)
{
    switch (rh_json_kind(node)) {
    case RH_JSON_NULL:
    case RH_JSON_FALSE:
        return false;
    case RH_JSON_NUMBER:
        return rh_json_node_number(doc, node, -DBL_MAX, DBL_MAX) != 0;
    case RH_JSON_ARRAY:
    case RH_JSON_OBJECT:
        return rh_json_count(node) > 0;
    case RH_JSON_TRUE:
    case RH_JSON_TEXT:
    default:
        return true;
    }
}
