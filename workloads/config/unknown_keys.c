/* Reports keys of a file that no family reads as its own: those that say the model is of another
 * kind, and likely misspellings. */
#include <float.h>
#include <string.h>

#include "base/error.h"
#include "base/interned_strings.h"
#include "base/text/nearest_names.h"
#include "workloads/model_private.h"

/* Does the family read this key, or keys inside it ("a" for "a.b")? */
bool rh_family_has_key(const RhFamily *family, const char *key)
{
    size_t length = strlen(key);
    for (const RhField *f = family->fields; f->type != RH_FIELD_NONE; f++)
        if (f->key != NULL && g_str_has_prefix(f->key, key) &&
            (f->key[length] == 0 || f->key[length] == '.'))
            return true;
    return false;
}

/* Keys of the family that the file leaves out: candidates for misspelt keys. */
static GPtrArray *absent_keys(const RhJsonNode *root, const RhFamily *family)
{
    GPtrArray *keys = g_ptr_array_new();
    for (const RhField *f = family->fields; f->type != RH_FIELD_NONE; f++)
        if (f->key != NULL && rh_json_find(root, f->key, NULL, NULL) == NULL)
            g_ptr_array_add(keys, (void *)f->key);
    g_ptr_array_add(keys, NULL);
    return keys;
}

/* Checks "torch_dtype" or "dtype". A format's name only says how weights are stored, while a job's
 * recipe decides how they are computed with; anything else but null is a mistake. */
static void check_format(RhJson *doc, const RhJsonNode *node)
{
    const char *key = rh_json_key(node);
    bool names = g_str_equal(key, "torch_dtype") || g_str_equal(key, "dtype");
    if (names && rh_json_kind(node) != RH_JSON_TEXT && rh_json_kind(node) != RH_JSON_NULL)
        rh_json_problem(doc, node, NULL, "%s: a format's name, as \"bfloat16\", or null", key);
}

/* Published files hold dozens of keys that are not about shape. They are ignored, except those that
 * say the model is of another kind, and those that look like a misspelling of a missing key. */
void rh_check_other_keys(RhJson *doc, const RhJsonNode *root, const RhFamily *family)
{
    g_autoptr(GPtrArray) absent = absent_keys(root, family);
    const RhJsonNode *node = rh_json_first(root);
    for (; node != NULL; node = rh_json_next(node)) {
        const char *key = rh_json_key(node), *refused = rh_family_refused_key(family, key);
        const char *counted = rh_family_counted_key(family, key);
        if (counted != NULL && rh_json_says_something(doc, node))
            rh_json_problem_at_key(doc, node,
                                   "what it adds would not be counted; a model of any kind can be "
                                   "described layer by layer: \"model_type\": \"layers\" "
                                   "(docs/guide/models.md)",
                                   "\"%s\": this model is %s, not a plain %s", key, counted,
                                   family->name);
        if (refused != NULL && rh_json_says_something(doc, node))
            rh_json_problem_at_key(doc, node, "only models of one stack of layers are known",
                                   "\"%s\": this model is %s, not a plain %s", key, refused,
                                   family->name);
        if (refused != NULL || rh_family_has_key(family, key))
            continue;
        check_format(doc, node);
        const char *near = rh_near_name(key, (const char *const *)absent->pdata);
        if (near == NULL || rh_key_is_ignored(key)) /* the foreign check is slower, so it comes
                                                     * last */
            continue;
        g_autofree char *help = g_strdup_printf("a key with a similar name exists: \"%s\"", near);
        rh_json_problem_at_key(doc, node, help, "unknown key \"%s\"", key);
    }
}

/* Checks objects whose members the family reads ("decoder.head_dim"): reports keys that look like a
 * misspelling of a missing one. `prefix` is the object's path, with its dot. */
static void check_part(RhJson *doc, const RhJsonNode *root, const RhFamily *family,
                       const char *prefix)
{
    size_t length = strlen(prefix);
    g_autofree char *path = g_strndup(prefix, length - 1);
    const RhJsonNode *part = rh_json_find(root, path, NULL, NULL);
    g_autoptr(GPtrArray) absent = g_ptr_array_new();
    g_autoptr(GHashTable) known = g_hash_table_new(g_str_hash, g_str_equal);
    for (const RhField *f = family->fields; f->type != RH_FIELD_NONE; f++)
        if (f->key != NULL && g_str_has_prefix(f->key, prefix)) {
            g_hash_table_add(known, (void *)(f->key + length));
            if (rh_json_find(root, f->key, NULL, NULL) == NULL)
                g_ptr_array_add(absent, (void *)(f->key + length));
        }
    g_ptr_array_add(absent, NULL);
    bool is_part = part != NULL && rh_json_kind(part) == RH_JSON_OBJECT;
    for (const RhJsonNode *n = is_part ? rh_json_first(part) : NULL; n != NULL;
         n = rh_json_next(n)) {
        const char *key = rh_json_key(n);
        const char *near = g_hash_table_contains(known, key)
                               ? NULL
                               : rh_near_name(key, (const char *const *)absent->pdata);
        if (near == NULL || rh_key_is_ignored(key))
            continue;
        g_autofree char *help = g_strdup_printf("a key with a similar name exists: \"%s\"", near);
        rh_json_problem_at_key(doc, n, help, "unknown key \"%s\"", key);
    }
}

void rh_check_parts(RhJson *doc, const RhJsonNode *root, const RhFamily *family)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    for (const RhField *f = family->fields; f->type != RH_FIELD_NONE; f++) {
        const char *dot = f->key != NULL ? strrchr(f->key, '.') : NULL;
        g_autofree char *prefix =
            dot != NULL ? g_strndup(f->key, (size_t)(dot + 1 - f->key)) : NULL;
        if (prefix != NULL && g_hash_table_add(seen, (void *)rh_intern(prefix)))
            check_part(doc, root, family, prefix);
    }
}
