#include "workloads/config/multimodal_decoders.h"

#include "base/catalogue_folders.h"
#include "base/interned_strings.h"
#include "base/json/json.h"

typedef struct {
    const char *type, *decoder;
    double from; /* lowest version that has this decoder; 0 where the type has one decoder */
    bool versioned;
} Row;

struct RhMultimodal {
    GArray *rows;      /* Row; versions of a type in ascending order */
    GPtrArray *towers; /* model types of encoders */
};

static void read_table(RhJson *doc, RhMultimodal *table)
{
    const RhJsonNode *root = rh_json_root(doc);
    rh_json_string_or(doc, root, "about", "");
    const RhJsonNode *decoders = rh_json_object(doc, root, "decoders");
    for (const RhJsonNode *n = rh_json_first(decoders); n != NULL; n = rh_json_next(n)) {
        Row row = {.type = rh_intern(rh_json_key(n))};
        row.decoder = rh_json_word(doc, decoders, rh_json_key(n));
        g_array_append_val(table->rows, row);
    }
    const RhJsonNode *versions = rh_json_array(doc, root, "versions");
    for (const RhJsonNode *n = rh_json_first(versions); n != NULL; n = rh_json_next(n)) {
        Row row = {.type = rh_json_word(doc, n, "model_type"), .versioned = true};
        row.from = rh_json_number(doc, n, "from", 0, 1000);
        row.decoder = rh_json_word(doc, n, "decoder");
        g_array_append_val(table->rows, row);
    }
    const RhJsonNode *towers = rh_json_array(doc, root, "towers");
    for (const RhJsonNode *n = rh_json_first(towers); n != NULL; n = rh_json_next(n))
        g_ptr_array_add(table->towers, (void *)rh_json_node_string(doc, n));
}

static RhMultimodal *load(GError **error)
{
    g_autofree char *path = g_build_filename(rh_data_dir(), "workloads", "multimodal.json", NULL);
    g_autoptr(RhJson) doc = rh_json_load(path, error);
    if (doc == NULL)
        return NULL;
    RhMultimodal *table = g_new0(RhMultimodal, 1);
    table->rows = g_array_new(FALSE, FALSE, sizeof(Row));
    table->towers = g_ptr_array_new();
    read_table(doc, table);
    if (rh_json_finish(doc, error))
        return table;
    g_array_unref(table->rows);
    g_ptr_array_unref(table->towers);
    g_free(table);
    return NULL;
}

const RhMultimodal *rh_multimodal(GError **error)
{
    static RhMultimodal *table;
    static GMutex lock;
    g_mutex_lock(&lock);
    if (table == NULL)
        table = load(error);
    g_mutex_unlock(&lock);
    return table;
}

const char *rh_multimodal_decoder(const RhMultimodal *table, const char *type)
{
    for (guint i = 0; i < table->rows->len; i++) {
        const Row *row = &g_array_index(table->rows, Row, i);
        if (!row->versioned && g_str_equal(row->type, type))
            return row->decoder;
    }
    return NULL;
}

const char *rh_multimodal_version(const RhMultimodal *table, const char *type, double version)
{
    const char *found = NULL;
    for (guint i = 0; i < table->rows->len; i++) {
        const Row *row = &g_array_index(table->rows, Row, i);
        if (row->versioned && g_str_equal(row->type, type) && version >= row->from)
            found = row->decoder;
    }
    return found;
}

bool rh_multimodal_is_towers(const RhMultimodal *table, const char *type)
{
    for (guint i = 0; i < table->towers->len; i++)
        if (g_str_equal(g_ptr_array_index(table->towers, i), type))
            return true;
    return false;
}
