#include "strategies/serve/launch/serving_engine.h"

#include <string.h>

#include "base/catalogue_folders.h"
#include "base/error.h"
#include "base/interned_strings.h"
#include "base/json/json.h"

/* --- reading --- */

static const char *const *read_list(RhJson *doc, const RhJsonNode *root, const char *key)
{
    const RhJsonNode *list = rh_json_array_or_null(doc, root, key);
    GPtrArray *words = g_ptr_array_new();
    for (const RhJsonNode *n = list ? rh_json_first(list) : NULL; n; n = rh_json_next(n))
        g_ptr_array_add(words, (void *)rh_json_node_string(doc, n));
    g_ptr_array_add(words, NULL);
    return (const char *const *)g_ptr_array_free(words, FALSE);
}

static RhEngineOptionValue *read_words(RhJson *doc, const RhJsonNode *row)
{
    const RhJsonNode *words = rh_json_object_or_null(doc, row, "words");
    GArray *list = g_array_new(TRUE, TRUE, sizeof(RhEngineOptionValue));
    for (const RhJsonNode *n = words ? rh_json_first(words) : NULL; n; n = rh_json_next(n)) {
        RhEngineOptionValue word = {rh_intern(rh_json_key(n)), NULL};
        word.means = rh_json_string(doc, words, word.said);
        g_array_append_val(list, word);
    }
    return (RhEngineOptionValue *)(void *)g_array_free(list, FALSE);
}

static RhEngineOptionKind read_kind(RhJson *doc, const RhJsonNode *row)
{
    static const char *const kinds[RH_ENGINE_FLAG_LAST] = {
        "number", "tokens", "fraction", "switch", "word", "all", "null", "ignored"};
    const char *kind = rh_json_string_or(doc, row, "kind", kinds[0]);
    for (int k = 0; k < RH_ENGINE_FLAG_LAST; k++)
        if (strcmp(kinds[k], kind) == 0)
            return (RhEngineOptionKind)k;
    rh_json_problem(doc, row, NULL, "\"%s\" is no kind of flag", kind);
    return RH_ENGINE_FLAG_IGNORED;
}

static void read_flags(RhJson *doc, const RhJsonNode *root, RhEngine *e)
{
    const RhJsonNode *rows = rh_json_array(doc, root, "flags");
    e->flags = g_array_new(FALSE, FALSE, sizeof(RhEngineOption));
    for (const RhJsonNode *n = rows ? rh_json_first(rows) : NULL; n; n = rh_json_next(n)) {
        RhEngineOption flag = {.names = read_list(doc, n, "names"),
                               .key = rh_json_string_or(doc, n, "key", ""),
                               .kind = read_kind(doc, n),
                               .on = rh_json_string_or(doc, n, "on", NULL),
                               .off = rh_json_string_or(doc, n, "off", NULL),
                               .words = read_words(doc, n),
                               .both = read_list(doc, n, "prints_recipes"),
                               .prints = rh_json_bool_or(doc, n, "prints", false),
                               .always = rh_json_bool_or(doc, n, "always", false)};
        g_array_append_val(e->flags, flag);
    }
}

static void read_defaults(RhJson *doc, const RhJsonNode *root, RhEngine *e)
{
    const RhJsonNode *rows = rh_json_array(doc, root, "defaults");
    e->defaults = g_array_new(FALSE, FALSE, sizeof(RhEngineLimits));
    for (const RhJsonNode *n = rows ? rh_json_first(rows) : NULL; n; n = rh_json_next(n)) {
        RhEngineLimits d = {.from = rh_json_string(doc, n, "from"),
                            .at_least_bytes =
                                rh_json_quantity_or(doc, n, "at_least", RH_QUANTITY_BYTES, 0),
                            .not_device = rh_json_string_or(doc, n, "not", NULL),
                            .batch = (int32_t)rh_json_int_or(doc, n, "batch", 1, 1 << 20, 0),
                            .chunk = (int32_t)rh_json_int_or(doc, n, "chunk", 1, 1 << 20, 0),
                            .memory = (int32_t)rh_json_int_or(doc, n, "memory", 1, 100, 0),
                            .source = rh_json_string(doc, n, "source")};
        g_array_append_val(e->defaults, d);
    }
    rows = rh_json_array(doc, root, "servers");
    e->servers = g_array_new(FALSE, FALSE, sizeof(RhEngineServer));
    for (const RhJsonNode *n = rows ? rh_json_first(rows) : NULL; n; n = rh_json_next(n)) {
        RhEngineServer s = {rh_json_string(doc, n, "from"), rh_json_string(doc, n, "server")};
        g_array_append_val(e->servers, s);
    }
}

static void read_others(RhJson *doc, const RhJsonNode *root, RhEngine *e)
{
    static const struct {
        const char *key;
        RhEngineOptionCost other;
    } lists[] = {{"without_cost", RH_ENGINE_OPTION_FREE},
                 {"switches_without_cost", RH_ENGINE_OPTION_FREE_SWITCH},
                 {"not_modelled", RH_ENGINE_OPTION_UNMODELLED}};
    e->option_costs = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(lists); i++) {
        g_autofree const char *const *names = read_list(doc, root, lists[i].key);
        for (int k = 0; names[k]; k++)
            g_hash_table_insert(e->option_costs, rh_engine_path(names[k]),
                                GINT_TO_POINTER(lists[i].other));
    }
}

static void read_roles(RhJson *doc, const RhJsonNode *root, const char *key, const char *roles[2])
{
    g_autofree const char *const *list = read_list(doc, root, key);
    for (int p = 0; p < 2 && list[p]; p++)
        roles[p] = list[p];
}

/* Reads the lines of two configuration files, joined. */
static void read_role_lines(RhJson *doc, const RhJsonNode *root, const char *lines[2])
{
    const RhJsonNode *both = rh_json_array_or_null(doc, root, "role_lines");
    int p = 0;
    for (const RhJsonNode *n = both ? rh_json_first(both) : NULL; n && p < 2; n = rh_json_next(n)) {
        g_autoptr(GString) text = g_string_new(NULL);
        for (const RhJsonNode *line = rh_json_first(n); line; line = rh_json_next(line))
            g_string_append_printf(text, "%s\n", rh_json_node_string(doc, line));
        lines[p++] = rh_intern(text->str);
    }
}

static void *load_engine(const char *name, GError **error);
static RhDataCatalogue shelf = {
    .noun = "serving engine", .folder = "strategies/serve/engines", .load = load_engine};

static void *load_engine(const char *name, GError **error)
{
    g_autofree char *path = rh_data_shelf_path(&shelf, name);
    g_autoptr(RhJson) doc = rh_json_load(path, error);
    if (!doc)
        return NULL;
    const RhJsonNode *root = rh_json_root(doc);
    RhEngine *e = g_new0(RhEngine, 1); /* kept for ever, as all of a catalogue */
    e->name = rh_json_string(doc, root, "name");
    e->title = rh_json_string(doc, root, "title");
    g_autofree char *project = g_strndup(e->title, strcspn(e->title, " "));
    e->project = rh_intern(project);
    rh_json_string(doc, root, "source");
    e->commands = read_list(doc, root, "commands");
    e->images = read_list(doc, root, "images");
    e->packages = read_list(doc, root, "packages");
    e->model = read_list(doc, root, "model");
    e->command = rh_json_string_or(doc, root, "prints_command", e->commands[0]);
    e->dp_switch = rh_json_string_or(doc, root, "dp_switch", NULL);
    e->dp_line = rh_json_string_or(doc, root, "dp_line", NULL);
    e->config = rh_json_string_or(doc, root, "config", NULL);
    e->router = rh_json_string_or(doc, root, "router", NULL);
    read_roles(doc, root, "roles", e->roles);
    read_role_lines(doc, root, e->role_lines);
    read_flags(doc, root, e);
    read_defaults(doc, root, e);
    read_others(doc, root, e);
    return rh_json_finish(doc, error) ? e : NULL;
}

const RhEngine *rh_serving_engine(const char *name, GError **error)
{
    return rh_data_shelf_get(&shelf, name, error);
}

const char *const *rh_serving_engine_names(void)
{
    return rh_data_shelf_names(&shelf);
}

/* --- rows --- */

char *rh_engine_path(const char *flag)
{
    char *path = g_strdup(flag + strspn(flag, "-"));
    return g_strdelimit(path, "-", '_');
}

static bool is_named(const RhEngineOption *flag, const char *path)
{
    for (int i = 0; flag->names[i]; i++) {
        g_autofree char *own = rh_engine_path(flag->names[i]);
        if (strcmp(own, path) == 0)
            return true;
    }
    return false;
}

const RhEngineOption *rh_engine_flag(const RhEngine *e, const char *path)
{
    for (guint i = 0; i < e->flags->len; i++) {
        const RhEngineOption *flag = &g_array_index(e->flags, RhEngineOption, i);
        if (is_named(flag, path))
            return flag;
    }
    return NULL;
}

RhEngineOptionCost rh_engine_option_cost(const RhEngine *e, const char *path)
{
    return (RhEngineOptionCost)GPOINTER_TO_INT(g_hash_table_lookup(e->option_costs, path));
}

const RhEngineOption *rh_engine_printed(const RhEngine *e, const char *key)
{
    for (guint i = 0; i < e->flags->len; i++) {
        const RhEngineOption *flag = &g_array_index(e->flags, RhEngineOption, i);
        if (flag->prints && strcmp(flag->key, key) == 0)
            return flag;
    }
    return NULL;
}

const char *rh_engine_meaning(const RhEngineOption *flag, const char *said)
{
    for (const RhEngineOptionValue *w = flag->words; said && w->said; w++)
        if (g_ascii_strcasecmp(w->said, said) == 0)
            return w->means;
    return NULL;
}

const char *rh_engine_word(const RhEngineOption *flag, const char *means)
{
    for (const RhEngineOptionValue *w = flag->words; w->said; w++)
        if (strcmp(w->means, means) == 0)
            return w->said;
    return NULL;
}

/* --- versions --- */

int rh_version_compare(const char *a, const char *b)
{
    for (int part = 0; part < 4; part++) {
        char *ends[2];
        guint64 x = g_ascii_strtoull(a, &ends[0], 10), y = g_ascii_strtoull(b, &ends[1], 10);
        if (x != y)
            return x < y ? -1 : 1;
        a = *ends[0] == '.' ? ends[0] + 1 : "";
        b = *ends[1] == '.' ? ends[1] + 1 : "";
    }
    return 0;
}

static bool is_for(const RhEngineLimits *row, const char *version, const RhDevice *device)
{
    return (!version || rh_version_compare(version, row->from) >= 0) &&
           device->hbm_bytes.value >= row->at_least_bytes &&
           !(row->not_device && strstr(device->name, row->not_device));
}

const RhEngineLimits *rh_engine_limits(const RhEngine *e, const char *version,
                                       const RhDevice *device)
{
    const RhEngineLimits *last = NULL;
    for (guint i = 0; i < e->defaults->len; i++) {
        const RhEngineLimits *row = &g_array_index(e->defaults, RhEngineLimits, i);
        if (is_for(row, version, device))
            last = row;
    }
    return last;
}

const char *rh_engine_server(const RhEngine *e, const char *version)
{
    const char *server = e->name;
    for (guint i = 0; version && i < e->servers->len; i++) {
        const RhEngineServer *row = &g_array_index(e->servers, RhEngineServer, i);
        if (rh_version_compare(version, row->from) >= 0)
            server = row->server;
    }
    return server;
}
