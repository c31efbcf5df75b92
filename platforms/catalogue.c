#include "platforms/catalogue.h"

#include <string.h>

#include "base/catalogue_folders.h"
#include "base/error.h"
#include "base/text/nearest_names.h"
#include "platforms/platform.h"

#define NEAR_MOST 6

char *rh_catalogue_path(const char *kind, const char *name)
{
    if (rh_data_is_path(name))
        return g_strdup(name);
    g_autofree char *file = g_strconcat(name, ".json", NULL);
    return g_build_filename(rh_data_dir(), "platforms", "data", kind, file, NULL);
}

bool rh_catalogue_fail_unknown(const char *what, const char *name, const char *const *names,
                               GError **error)
{
    static const char *const shown[] = {"platform", "device", NULL};
    bool listed = g_strv_contains(shown, what);
    g_autofree char *near = rh_near_names(name, names, NEAR_MOST),
                    *all = g_strjoinv(", ", (char **)names);
    g_autoptr(GString) text = g_string_new(NULL);
    if (!listed && *names)
        g_string_append_printf(text, "\nnote: %ss: %s", what, all);
    if (!*names)
        g_string_append(text, "\nhelp: none were found: is REHEARSE_DATA right?");
    else if (near || listed)
        g_string_append_printf(text, "\nhelp: %s%s%s", near ? "nearest: " : "", near ? near : "",
                               near && listed ? "; " : "");
    if (listed && *names)
        g_string_append_printf(text, "`rehearse show %ss` lists all", what);
    return rh_fail(error, RH_ERROR_INPUT, "unknown %s \"%s\"%s", what, name, text->str);
}

/* Callers may keep the names for the life of the process. */
const char *const *rh_platform_names(void)
{
    static RhDataCatalogue clusters = {.folder = "platforms/data/clusters"};
    return rh_data_shelf_names(&clusters);
}

const char *const *rh_device_names(void)
{
    static RhDataCatalogue devices = {.folder = "platforms/data/devices"};
    return rh_data_shelf_names(&devices);
}

const char *const *rh_kernels_profile_names(void)
{
    static RhDataCatalogue kernels = {.folder = "platforms/data/profiles"};
    return rh_data_shelf_names(&kernels);
}

const char *const *rh_links_profile_names(void)
{
    static RhDataCatalogue links = {.folder = "platforms/data/links"};
    return rh_data_shelf_names(&links);
}

/* Names of the profiles of kernels, and behind them those of links. */
static gpointer all_profiles(gpointer unused)
{
    (void)unused;
    GPtrArray *all = g_ptr_array_new();
    for (const char *const *name = rh_kernels_profile_names(); *name; name++)
        g_ptr_array_add(all, (void *)*name);
    for (const char *const *name = rh_links_profile_names(); *name; name++)
        g_ptr_array_add(all, (void *)*name);
    g_ptr_array_add(all, NULL);
    return g_ptr_array_free(all, FALSE);
}

const char *const *rh_profile_names(void)
{
    static GOnce once = G_ONCE_INIT;
    return g_once(&once, all_profiles, NULL);
}
