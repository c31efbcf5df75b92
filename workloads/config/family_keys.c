/* The catalogue of families: files of workloads/families, each read when a model type asks for it. */
#include "workloads/config/family_keys.h"

#include <glib.h>
#include <string.h>

#include "base/catalogue_folders.h"
#include "workloads/config/family_file_read.h"
#include "workloads/config/field_rows.h"

const RhField rh_set_fields[] = {
    SIZE("layers", num_hidden_layers, LAYERS_MAX, 0),
    SIZE("hidden", hidden_size, WIDTH_MAX, 0),
    SIZE("heads", attention.num_attention_heads, HEADS_MAX, 0),
    SIZE("kv_heads", attention.num_key_value_heads, HEADS_MAX, 0),
    SIZE("head_size", attention.head_dim, HEAD_SIZE_MAX, 0),
    SIZE("ffn", intermediate_size, WIDTH_MAX, 0),
    SIZE("vocab", vocab_size, VOCAB_MAX, 0),
    SIZE("positions", max_position_embeddings, TOKENS_MAX, 0),
    COUNT("window", window.size, TOKENS_MAX, 0),
    COUNT("experts", moe.num_experts, EXPERTS_MAX, 0),
    COUNT("experts_per_token", moe.num_experts_per_tok, EXPERTS_MAX, 0),
    COUNT("predict_layers", num_nextn_predict_layers, 8, 0),
    COUNT("encoder_layers", encoder.num_hidden_layers, LAYERS_MAX, 0),
    COUNT("encoder_tokens", encoder.tokens, TOKENS_MAX, 0),
    FLAG("tied", tie_word_embeddings, 0),
    RATE("hidden_dropout", hidden_dropout, 0),
    RATE("attention_dropout", attention.dropout, 0),
    END,
};

/* --- Files --- */

static void *load(const char *name, GError **error);
static RhDataCatalogue shelf = {.noun = "family", .folder = "workloads/families", .load = load};

static const RhFamily *family_of_file(const char *name, GError **error)
{
    const RhFamilyFile *file = rh_data_shelf_get(&shelf, name, error);
    return file != NULL ? &file->families[0] : NULL;
}

static void *load(const char *name, GError **error)
{
    g_autofree char *path = rh_data_shelf_path(&shelf, name);
    g_autoptr(RhJson) doc = rh_json_load(path, error);
    return doc != NULL ? rh_family_file_read(doc, name, family_of_file, error) : NULL;
}

static int compare_families(const void *a, const void *b)
{
    return strcmp((*(const RhFamily *const *)a)->name, (*(const RhFamily *const *)b)->name);
}

static const RhFamily *const *read_all(void)
{
    GPtrArray *all = g_ptr_array_new();
    for (const char *const *name = rh_data_shelf_names(&shelf); *name != NULL; name++) {
        const RhFamilyFile *file = rh_data_shelf_get(&shelf, *name, NULL);
        for (int32_t i = 0; file != NULL && i < file->count; i++)
            g_ptr_array_add(all, &file->families[i]);
    }
    g_ptr_array_sort(all, compare_families);
    g_ptr_array_add(all, NULL);
    return (const RhFamily *const *)g_ptr_array_free(all, FALSE);
}

const RhFamily *const *rh_families(void)
{
    static const RhFamily *const *families;
    if (g_once_init_enter(&families))
        g_once_init_leave(&families, read_all());
    return families;
}

static bool holds_text(const char *name, const char *text)
{
    g_autofree char *path = rh_data_shelf_path(&shelf, name), *contents = NULL;
    return g_file_get_contents(path, &contents, NULL, NULL) && strstr(contents, text) != NULL;
}

/* Finds the family of a model type that is no file's name but stands in a file's "model_types".
 * Only files whose text contains it are parsed: parsing all of them takes some 20 ms. */
static const RhFamily *find_further_type(const char *type, GError **error)
{
    g_autofree char *text = g_strdup_printf("\"%s\"", type);
    for (const char *const *name = rh_data_shelf_names(&shelf); *name != NULL; name++) {
        if (!holds_text(*name, text))
            continue;
        const RhFamilyFile *file = rh_data_shelf_get(&shelf, *name, error);
        if (file == NULL)
            return NULL;
        for (int32_t i = 1; i < file->count; i++)
            if (g_str_equal(file->families[i].name, type))
                return &file->families[i];
    }
    return NULL;
}

const RhFamily *rh_family_find(const char *name, GError **error)
{
    static GHashTable *found; /* model types that were found in "model_types" before */
    static GMutex lock;
    if (g_strv_contains(rh_data_shelf_names(&shelf), name))
        return family_of_file(name, error);
    g_mutex_lock(&lock);
    if (found == NULL)
        found = g_hash_table_new(g_str_hash, g_str_equal);
    const RhFamily *family = g_hash_table_lookup(found, name);
    if (family == NULL) {
        family = find_further_type(name, error);
        if (family != NULL)
            g_hash_table_insert(found, (void *)family->name, (void *)family);
    }
    g_mutex_unlock(&lock);
    return family;
}

const RhFamily *rh_family_by_name(const char *name)
{
    return rh_family_find(name, NULL);
}

bool rh_family_is_own(const RhFamily *family)
{
    return g_str_equal(family->name, "layers") || g_str_equal(family->name, "pictures");
}

/* Do the first `length` letters of `other` equal `name`, ignoring underscores and case? */
static bool is_same_word(const char *name, const char *other, size_t length)
{
    size_t at = 0;
    for (; *name != 0; name++)
        if (*name != '_' && *name != '-' &&
            (at >= length || g_ascii_tolower(other[at++]) != g_ascii_tolower(*name)))
            return false;
    return at == length;
}

const RhFamily *rh_family_by_class(const char *name)
{
    const char *end = strstr(name, "For");
    if (end == NULL)
        return NULL;
    for (const RhFamily *const *f = rh_families(); *f != NULL; f++)
        if (is_same_word((*f)->name, name, (size_t)(end - name)))
            return *f;
    return NULL;
}

static const char *const *collect_names(void)
{
    GPtrArray *names = g_ptr_array_new();
    for (const RhFamily *const *f = rh_families(); *f != NULL; f++)
        g_ptr_array_add(names, (void *)(*f)->name);
    g_ptr_array_add(names, NULL);
    return (const char *const *)g_ptr_array_free(names, FALSE);
}

const char *const *rh_family_names(void)
{
    static const char *const *names;
    if (g_once_init_enter(&names))
        g_once_init_leave(&names, collect_names());
    return names;
}

int64_t rh_family_usual_size(const RhFamily *family, size_t offset)
{
    for (const RhField *f = family->fields; f->type != RH_FIELD_NONE; f++)
        if (f->offset == offset && f->in_part > 0)
            return f->in_part;
    return 0;
}
