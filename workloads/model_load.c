/* Models from files: published config.json files and the catalogue (workloads/data). */
#include <string.h>

#include "base/data.h"
#include "base/error.h"
#include "base/json.h"
#include "workloads/model_private.h"

static const RhJsonNode *member(const RhJsonNode *object, const char *key)
{
    const RhJsonNode *node = rh_json_first(object);
    while (node != NULL && !g_str_equal(rh_json_key(node), key))
        node = rh_json_next(node);
    return node;
}

/* --- Fields --- */

static int64_t read_size(RhJson *doc, const RhJsonNode *root, const RhField *f)
{
    return f->otherwise == RH_FIELD_REQUIRED
               ? rh_json_int(doc, root, f->key, f->low, f->high)
               : rh_json_int_or(doc, root, f->key, f->low, f->high, f->otherwise);
}

static void read_fields(RhJson *doc, const RhJsonNode *root, const RhFamily *family, RhConfig *c)
{
    for (const RhField *f = family->fields; f->type != RH_FIELD_NONE; f++) {
        int64_t *value = rh_config_field(c, f);
        switch (f->type) {
        case RH_FIELD_SIZE:
            *value = read_size(doc, root, f);
            break;
        case RH_FIELD_FLAG:
            *value = rh_json_bool_or(doc, root, f->key, f->otherwise != 0);
            break;
        case RH_FIELD_RATE:
            *value = rh_json_number_or(doc, root, f->key, 0, 1, (double)f->otherwise) > 0;
            break;
        case RH_FIELD_CONSTANT:
            *value = f->otherwise;
            break;
        case RH_FIELD_NONE:
            break;
        }
    }
}

static bool has_key(const RhFamily *family, const char *key)
{
    for (const RhField *f = family->fields; f->type != RH_FIELD_NONE; f++)
        if (f->key != NULL && g_str_equal(f->key, key))
            return true;
    return false;
}

/* Keys of the family that the file leaves out: what a misspelt key may have meant. */
static GPtrArray *absent_keys(const RhJsonNode *root, const RhFamily *family)
{
    GPtrArray *keys = g_ptr_array_new();
    for (const RhField *f = family->fields; f->type != RH_FIELD_NONE; f++)
        if (f->key != NULL && member(root, f->key) == NULL)
            g_ptr_array_add(keys, (void *)f->key);
    g_ptr_array_add(keys, NULL);
    return keys;
}

/* Published files hold dozens of keys that are not about shape. They are ignored, but not one
 * that says the model is of another kind, nor one that looks like a misspelling of a missing key.
 */
static void check_other_keys(RhJson *doc, const RhJsonNode *root, const RhFamily *family)
{
    g_autoptr(GPtrArray) absent = absent_keys(root, family);
    const RhJsonNode *node = rh_json_first(root);
    for (; node != NULL; node = rh_json_next(node)) {
        const char *key = rh_json_key(node), *refused = rh_family_refused_key(family, key);
        if (refused != NULL && rh_json_has(root, key))
            rh_json_problem_at_key(doc, node, "only models of one stack of layers are known",
                                   "\"%s\": this model is %s, not a plain %s", key, refused,
                                   family->name);
        if (refused != NULL || has_key(family, key) || rh_family_key_is_foreign(key))
            continue;
        const char *near = rh_nearest_name(key, (const char *const *)absent->pdata);
        if (near == NULL)
            continue;
        g_autofree char *help = g_strdup_printf("a key with a similar name exists: \"%s\"", near);
        rh_json_problem_at_key(doc, node, help, "unknown key \"%s\"", key);
    }
}

static const RhFamily *read_family(RhJson *doc, const RhJsonNode *root)
{
    const char *type = rh_json_string(doc, root, "model_type");
    const RhFamily *family = rh_family_by_name(type);
    if (family != NULL || !rh_json_has(root, "model_type"))
        return family;
    g_autofree char *names = g_strjoinv(", ", (char **)rh_family_names());
    g_autofree char *help = g_strdup_printf("supported: %s", names);
    rh_json_problem(doc, member(root, "model_type"), help, "model_type \"%s\" is not supported",
                    type);
    return NULL;
}

/* --- Layers --- */

/* layer_types: one word per layer, for families that can slide. */
static void read_layer_types(RhJson *doc, const RhJsonNode *root, const RhConfig *c, RhModel *m)
{
    const RhJsonNode *list = rh_json_array_or_null(doc, root, "layer_types");
    if (list == NULL)
        return;
    if (rh_json_count(list) != c->layers) {
        rh_json_problem(doc, list, NULL, "layer_types names %d layers of %" G_GINT64_FORMAT,
                        rh_json_count(list), c->layers);
        return;
    }
    g_autofree bool *sliding = g_new0(bool, c->layers);
    int32_t i = 0;
    for (const RhJsonNode *n = rh_json_first(list); n != NULL; n = rh_json_next(n), i++) {
        const char *type = rh_json_node_string(doc, n);
        sliding[i] = g_str_equal(type, "sliding_attention");
        if (!sliding[i] && !g_str_equal(type, "full_attention"))
            rh_json_problem(doc, n, "known: full_attention, sliding_attention",
                            "layer type \"%s\" is not supported", type);
        if (sliding[i] && c->window == 0)
            rh_json_problem(doc, n, "set sliding_window (and use_sliding_window)",
                            "layer %d slides, but no window is given", i);
    }
    rh_model_set_kinds(m, c, sliding);
}

/* Qwen's list of layers that stay dense. */
static void read_dense_layers(RhJson *doc, const RhJsonNode *root)
{
    const RhJsonNode *list = rh_json_array_or_null(doc, root, "mlp_only_layers");
    if (list != NULL && rh_json_count(list) > 0)
        rh_json_problem(doc, list, "[]: experts in every layer",
                        "mlp_only_layers: single layers without experts are not built yet");
}

static void report(RhJson *doc, const RhJsonNode *root, const RhFamily *family,
                   const GArray *problems)
{
    for (guint i = 0; i < problems->len; i++) {
        const RhShapeProblem *p = &g_array_index(problems, RhShapeProblem, i);
        const RhJsonNode *at = NULL;
        for (const RhField *f = family->fields; at == NULL && f->type != RH_FIELD_NONE; f++)
            if (f->key != NULL && f->offset == p->offset)
                at = member(root, f->key);
        rh_json_problem(doc, at != NULL ? at : root, p->help, "%s", p->text);
    }
}

/* Missing and broken sizes came back as the low bound of their range, so the shape is always
 * computable. */
static RhModel *read_model(RhJson *doc, const RhJsonNode *root, const RhFamily *family,
                           const char *name)
{
    RhConfig c = {0};
    read_fields(doc, root, family, &c);
    check_other_keys(doc, root, family);
    g_autoptr(GArray) problems = rh_config_resolve(family, &c, family->fields);
    report(doc, root, family, problems);
    RhModel *m = rh_model_new(name, family, &c);
    read_layer_types(doc, root, &c, m);
    if (c.experts > 0)
        read_dense_layers(doc, root);
    m->hash = g_strdup(rh_json_hash(doc));
    return m;
}

/* Where the decoder is said: in a part of its own, when there are encoders of pictures or sounds beside
 * it, which are left out. */
static const RhJsonNode *decoder_of(RhJson *doc, const RhJsonNode *root)
{
    const RhJsonNode *type = member(root, "model_type"), *text = member(root, "text_config");
    if (type == NULL || text == NULL || !rh_json_has(root, "text_config"))
        return root;
    const char *name = rh_json_string(doc, root, "model_type");
    return rh_family_by_name(name) != NULL ? root : rh_json_object(doc, root, "text_config");
}

RhModel *rh_model_parse(RhJson *doc, const char *name, GError **error)
{
    g_return_val_if_fail(doc != NULL && name != NULL, NULL);
    const RhJsonNode *root = rh_json_root(doc), *decoder = decoder_of(doc, root);
    const RhFamily *family = read_family(doc, decoder);
    g_autoptr(RhModel) m = family == NULL ? NULL : read_model(doc, decoder, family, name);
    rh_json_consume_all(doc, root);
    if (!rh_json_finish(doc, error))
        return NULL;
    return g_steal_pointer(&m);
}

/* --- Catalogue and paths --- */

static char *data_dir(void)
{
    return g_build_filename(rh_data_dir(), "workloads", "data", NULL);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char *const *read_names(void)
{
    g_autofree char *path = data_dir();
    GPtrArray *names = g_ptr_array_new();
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    for (const char *file; dir != NULL && (file = g_dir_read_name(dir)) != NULL;)
        if (g_str_has_suffix(file, ".json")) {
            g_autofree char *name = g_strndup(file, strlen(file) - strlen(".json"));
            g_ptr_array_add(names, (void *)g_intern_string(name));
        }
    g_ptr_array_sort(names, compare_names);
    g_ptr_array_add(names, NULL);
    return (const char *const *)g_ptr_array_free(names, FALSE);
}

const char *const *rh_model_names(void)
{
    static const char *const *names;
    if (g_once_init_enter(&names))
        g_once_init_leave(&names, read_names());
    return names;
}

static void fail_unknown(const char *spec, GError **error)
{
    guint count = g_strv_length((char **)rh_model_names());
    const char *near = rh_nearest_name(spec, rh_model_names());
    g_autofree char *help =
        near != NULL ? g_strdup_printf("a similar name exists: %s", near)
                     : g_strdup("or give a Hugging Face config.json, or the folder holding one");
    rh_fail(
        error, RH_ERROR_INPUT,
        "unknown workload \"%s\"\nnote: %u models are known (rehearse show workloads)%s\nhelp: %s",
        spec, count, count > 0 ? "" : ": is REHEARSE_DATA right?", help);
}

/* The file behind `spec`; NULL when it can only be a catalogue name, and that is unknown. */
static char *path_of(const char *spec)
{
    if (g_strv_contains(rh_model_names(), spec)) {
        g_autofree char *dir = data_dir();
        g_autofree char *file = g_strconcat(spec, ".json", NULL);
        return g_build_filename(dir, file, NULL);
    }
    if (g_file_test(spec, G_FILE_TEST_IS_DIR))
        return g_build_filename(spec, "config.json", NULL);
    bool is_path = strchr(spec, '/') != NULL || g_str_has_suffix(spec, ".json");
    return is_path ? g_strdup(spec) : NULL;
}

/* "llama-3.1-8b.json" is llama-3.1-8b, "my-model/config.json" is my-model. */
static char *name_of(const char *path)
{
    g_autofree char *base = g_path_get_basename(path);
    if (g_str_equal(base, "config.json")) {
        g_autofree char *absolute = g_canonicalize_filename(path, NULL);
        g_autofree char *dir = g_path_get_dirname(absolute);
        return g_path_get_basename(dir);
    }
    return g_str_has_suffix(base, ".json") ? g_strndup(base, strlen(base) - strlen(".json"))
                                           : g_steal_pointer(&base);
}

RhModel *rh_model_load(const char *spec, GError **error)
{
    g_return_val_if_fail(spec != NULL, NULL);
    g_autofree char *path = path_of(spec);
    if (path == NULL) {
        fail_unknown(spec, error);
        return NULL;
    }
    g_autoptr(RhJson) doc = rh_json_load(path, error);
    if (doc == NULL)
        return NULL;
    g_autofree char *name = name_of(path);
    return rh_model_parse(doc, name, error);
}
