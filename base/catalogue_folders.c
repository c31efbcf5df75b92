#include "base/catalogue_folders.h"

#include <string.h>

#include "base/error.h"
#include "base/interned_strings.h"

static bool holds_data(const char *dir)
{
    g_autofree char *platforms = g_build_filename(dir, "platforms", "data", NULL);
    return g_file_test(platforms, G_FILE_TEST_IS_DIR);
}

static char *beside_program(void)
{
    g_autofree char *program = g_file_read_link("/proc/self/exe", NULL);
    g_autofree char *bin = program ? g_path_get_dirname(program) : NULL;
    return bin ? g_build_filename(bin, "..", "share", "rehearse", NULL) : NULL;
}

const char *rh_data_dir(void)
{
    const char *told = g_getenv("REHEARSE_DATA");
    if (told && *told)
        return rh_intern(told);
    g_autofree char *beside = beside_program();
    const char *places[] = {beside, RH_DATA_DIR, RH_INSTALLED_DATA_DIR};
    for (size_t i = 0; i < G_N_ELEMENTS(places); i++)
        if (places[i] && holds_data(places[i]))
            return rh_intern(places[i]);
    return RH_INSTALLED_DATA_DIR;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char *const *read_names(const RhDataCatalogue *shelf)
{
    GPtrArray *names = g_ptr_array_new();
    g_autofree char *folder = g_build_filename(rh_data_dir(), shelf->folder, NULL);
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    for (const char *file; dir != NULL && (file = g_dir_read_name(dir)) != NULL;)
        if (g_str_has_suffix(file, ".json")) {
            g_autofree char *name = g_strndup(file, strlen(file) - strlen(".json"));
            g_ptr_array_add(names, (void *)rh_intern(name));
        }
    g_ptr_array_sort(names, compare_names);
    g_ptr_array_add(names, NULL);
    return (const char *const *)g_ptr_array_free(names, FALSE);
}

const char *const *rh_data_shelf_names(RhDataCatalogue *shelf)
{
    g_mutex_lock(&shelf->lock);
    if (!shelf->names)
        shelf->names = read_names(shelf);
    g_mutex_unlock(&shelf->lock);
    return shelf->names;
}

bool rh_data_is_path(const char *name)
{
    return strchr(name, '/') != NULL || g_str_has_suffix(name, ".json");
}

char *rh_data_shelf_path(const RhDataCatalogue *shelf, const char *name)
{
    if (shelf->takes_paths && rh_data_is_path(name))
        return g_strdup(name);
    g_autofree char *file = g_strconcat(name, ".json", NULL);
    return g_build_filename(rh_data_dir(), shelf->folder, file, NULL);
}

/* Files of this thread that wait for a file that they derive from, the first of them last. */
typedef struct Chain Chain;
struct Chain {
    const RhDataCatalogue *shelf;
    const char *name;
    const Chain *outer;
};
static _Thread_local const Chain *waiting;

static void *load(const RhDataCatalogue *shelf, const char *name, GError **error)
{
    for (const Chain *c = waiting; c; c = c->outer)
        if (c->shelf == shelf && strcmp(c->name, name) == 0) {
            rh_fail(error, RH_ERROR_INPUT, "%s derives from itself", name);
            return NULL;
        }
    Chain here = {shelf, name, waiting};
    waiting = &here;
    void *loaded = shelf->load(name, error);
    waiting = here.outer;
    return loaded;
}

const void *rh_data_shelf_get(RhDataCatalogue *shelf, const char *name, GError **error)
{
    const char *const *names = rh_data_shelf_names(shelf);
    bool path = shelf->takes_paths && rh_data_is_path(name);
    if (!path && !g_strv_contains(names, name)) {
        rh_fail_unknown(error, shelf->noun, name, names);
        return NULL;
    }
    g_mutex_lock(&shelf->lock);
    if (!shelf->read)
        shelf->read = g_hash_table_new(g_str_hash, g_str_equal);
    void *found = g_hash_table_lookup(shelf->read, name);
    g_mutex_unlock(&shelf->lock);
    if (found)
        return found;
    found = load(shelf, name, error); /* unlocked: it may load a file that it derives from */
    g_mutex_lock(&shelf->lock);
    if (found)
        g_hash_table_insert(shelf->read, (void *)rh_intern(name), found);
    g_mutex_unlock(&shelf->lock);
    return found;
}
