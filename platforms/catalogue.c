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

/* "h100-nvl, h100-sxm" of "h100": the word and a dash; NULL: fewer than two. Caller frees. */
static char *names_begun(const char *word, const char *const *names)
{
    g_autofree char *begin = g_strconcat(word, "-", NULL);
    g_autoptr(GPtrArray) found = g_ptr_array_new();
    for (; *names; names++)
        if (g_str_has_prefix(*names, begin))
            g_ptr_array_add(found, (gpointer)*names);
    bool several = found->len > 1;
    g_ptr_array_add(found, NULL);
    return several ? g_strjoinv(", ", (char **)found->pdata) : NULL;
}

bool rh_catalogue_fail_unknown(const char *what, const char *name, const char *const *names,
                               GError **error)
{
    g_autofree char *all = g_strjoinv(", ", (char **)names);
    g_autofree char *begun = names_begun(name, names);
    const char *near = begun ? NULL : rh_nearest_name(name, names);
    g_autofree char *help = begun  ? g_strdup_printf("\nhelp: names that begin so: %s", begun)
                            : near ? g_strdup_printf("\nhelp: a similar name exists: %s", near)
                                   : g_strdup("");
    return rh_fail(error, RH_ERROR_INPUT, "unknown %s \"%s\"\nnote: known: %s%s", what, name,
                   *all != '\0' ? all : "(none found; is REHEARSE_DATA right?)", help);
}

/* Callers borrow the names for ever. */
const char *const *rh_platform_names(void)
{
    static RhDataShelf clusters = {.folder = "platforms/data/clusters"};
    return rh_data_shelf_names(&clusters);
}

const char *const *rh_device_names(void)
{
    static RhDataShelf devices = {.folder = "platforms/data/devices"};
    return rh_data_shelf_names(&devices);
}

const char *const *rh_profile_names(void)
{
    static RhDataShelf profiles = {.folder = "platforms/data/profiles"};
    return rh_data_shelf_names(&profiles);
}
