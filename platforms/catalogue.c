#include "platforms/catalogue.h"

#include <string.h>

#include "base/data.h"
#include "base/error.h"
#include "platforms/platform.h"

bool rh_catalogue_is_path(const char *name)
{
    return strchr(name, '/') != NULL || g_str_has_suffix(name, ".json");
}

char *rh_catalogue_path(const char *kind, const char *name)
{
    if (rh_catalogue_is_path(name))
        return g_strdup(name);
    g_autofree char *file = g_strconcat(name, ".json", NULL);
    return g_build_filename(rh_data_dir(), "platforms", "data", kind, file, NULL);
}

bool rh_catalogue_fail_unknown(const char *what, const char *name, const char *const *names,
                               GError **error)
{
    g_autofree char *all = g_strjoinv(", ", (char **)names);
    const char *near = rh_nearest_name(name, names);
    g_autofree char *help =
        near == NULL ? g_strdup("") : g_strdup_printf("\nhelp: a similar name exists: %s", near);
    return rh_fail(error, RH_ERROR_INPUT, "unknown %s \"%s\"\nnote: known: %s%s", what, name,
                   *all != '\0' ? all : "(none found; is REHEARSE_DATA right?)", help);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorted, NULL-ended, interned names of the .json files of one folder. */
static const char *const *read_names(const char *kind)
{
    g_autofree char *path = g_build_filename(rh_data_dir(), "platforms", "data", kind, NULL);
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

/* Read once per process and kept: callers borrow the names for ever. */
const char *const *rh_platform_names(void)
{
    static const char *const *names;
    if (g_once_init_enter(&names))
        g_once_init_leave(&names, read_names("clusters"));
    return names;
}

const char *const *rh_device_names(void)
{
    static const char *const *names;
    if (g_once_init_enter(&names))
        g_once_init_leave(&names, read_names("devices"));
    return names;
}
