#include "workloads/config/hf_hub_table.h"

#include <glib.h>
#include <string.h>

#include "base/catalogue_folders.h"
#include "base/interned_strings.h"
#include "base/json/json.h"

typedef struct {
    const char *id, *model, *recipe;
    int64_t positions;
} Row;

typedef struct {
    const char *text, *recipe;
} Ending;

typedef struct {
    GArray *rows, *endings; /* Row, Ending */
    GPtrArray *publishers;
} Table;

static void read_model(RhJson *doc, const RhJsonNode *models, const char *model, Table *table)
{
    const RhJsonNode *formats = rh_json_object(doc, models, model);
    for (const RhJsonNode *n = formats ? rh_json_first(formats) : NULL; n; n = rh_json_next(n)) {
        const RhJsonNode *ids = rh_json_array(doc, formats, rh_json_key(n));
        for (const RhJsonNode *id = ids ? rh_json_first(ids) : NULL; id; id = rh_json_next(id)) {
            Row row = {rh_json_node_string(doc, id), rh_intern(model), rh_intern(rh_json_key(n)),
                       0};
            g_array_append_val(table->rows, row);
        }
    }
}

static void read_positions(RhJson *doc, const RhJsonNode *list, Table *table)
{
    for (guint i = 0; list && i < table->rows->len; i++) {
        Row *row = &g_array_index(table->rows, Row, i);
        row->positions = rh_json_int_or(doc, list, row->id, 1, 1 << 30, 0);
    }
}

static void read_table(RhJson *doc, Table *table)
{
    const RhJsonNode *root = rh_json_root(doc);
    rh_json_string(doc, root, "about");
    const RhJsonNode *models = rh_json_object(doc, root, "models");
    for (const RhJsonNode *n = models ? rh_json_first(models) : NULL; n; n = rh_json_next(n))
        read_model(doc, models, rh_json_key(n), table);
    read_positions(doc, rh_json_object(doc, root, "positions"), table);
    const RhJsonNode *owners = rh_json_array(doc, root, "publishers");
    for (const RhJsonNode *n = owners ? rh_json_first(owners) : NULL; n; n = rh_json_next(n))
        g_ptr_array_add(table->publishers, (void *)rh_json_node_string(doc, n));
    const RhJsonNode *endings = rh_json_object(doc, root, "endings");
    for (const RhJsonNode *n = endings ? rh_json_first(endings) : NULL; n; n = rh_json_next(n)) {
        Ending ending = {rh_intern(rh_json_key(n)), NULL};
        ending.recipe = rh_json_string(doc, endings, ending.text);
        g_array_append_val(table->endings, ending);
    }
}

/* Returns an empty table where the file cannot be read: then no further names are known. */
static Table *load(void)
{
    Table *table = g_new0(Table, 1);
    *table = (Table){g_array_new(FALSE, FALSE, sizeof(Row)),
                     g_array_new(FALSE, FALSE, sizeof(Ending)), g_ptr_array_new()};
    g_autofree char *path = g_build_filename(rh_data_dir(), "workloads", "hub.json", NULL);
    g_autoptr(RhJson) doc = rh_json_load(path, NULL);
    if (doc)
        read_table(doc, table);
    if (doc && rh_json_finish(doc, NULL))
        return table;
    g_array_set_size(table->rows, 0);
    g_array_set_size(table->endings, 0);
    return table;
}

static const Table *the_table(void)
{
    static gsize once;
    static Table *table;
    if (g_once_init_enter(&once)) {
        table = load();
        g_once_init_leave(&once, 1);
    }
    return table;
}

RhHubRow rh_hub_row(const char *id)
{
    const Table *table = the_table();
    for (guint i = 0; i < table->rows->len; i++) {
        const Row *row = &g_array_index(table->rows, Row, i);
        if (g_ascii_strcasecmp(row->id, id) == 0)
            return (RhHubRow){row->model, row->recipe, row->positions};
    }
    return (RhHubRow){0};
}

static bool is_publisher(const Table *table, const char *id, size_t length)
{
    for (guint i = 0; i < table->publishers->len; i++) {
        const char *owner = g_ptr_array_index(table->publishers, i);
        if (strlen(owner) == length && g_ascii_strncasecmp(owner, id, length) == 0)
            return true;
    }
    return false;
}

char *rh_hub_unquantized(const char *id, const char **recipe)
{
    const Table *table = the_table();
    const char *slash = strchr(id, '/');
    size_t best = 0;
    if (!slash || !is_publisher(table, id, (size_t)(slash - id)))
        return NULL;
    size_t length = strlen(slash + 1);
    for (guint i = 0; i < table->endings->len; i++) {
        const Ending *e = &g_array_index(table->endings, Ending, i);
        size_t own = strlen(e->text);
        if (own <= best || own >= length ||
            g_ascii_strcasecmp(slash + 1 + length - own, e->text) != 0)
            continue;
        best = own;
        *recipe = e->recipe;
    }
    return best > 0 ? g_strndup(slash + 1, length - best) : NULL;
}

const char *rh_hub_find(RhHubNameFunc found, const void *user)
{
    const Table *table = the_table();
    for (guint i = 0; i < table->rows->len; i++)
        if (found(g_array_index(table->rows, Row, i).id, user))
            return g_array_index(table->rows, Row, i).id;
    return NULL;
}
