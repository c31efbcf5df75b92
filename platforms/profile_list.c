/* Lists of profiles, read before they are laid over a platform. */
#include <string.h>

#include "base/catalogue_folders.h"
#include "base/json/json.h"
#include "platforms/catalogue.h"
#include "platforms/profile.h"

const char *rh_profile_device(RhJson *doc)
{
    return rh_json_string_or(doc, rh_json_root(doc), "device", "");
}

bool rh_profile_is_file(const char *name)
{
    return rh_data_is_path(name) || g_file_test(name, G_FILE_TEST_EXISTS);
}

char *rh_profile_path(const char *name)
{
    bool links = g_strv_contains(rh_links_profile_names(), name);
    return rh_profile_is_file(name) ? g_strdup(name)
                                    : rh_catalogue_path(links ? "links" : "profiles", name);
}

char **rh_profile_split(const char *names)
{
    return g_file_test(names, G_FILE_TEST_EXISTS)
               ? g_strdupv((char *[]){(char *)(uintptr_t)names, NULL})
               : g_strsplit(names, ",", -1);
}

/* Does a profile of the list hold for this document? One that cannot be read does not. */
static bool any_profile(const char *names, bool (*holds)(RhJson *doc, const void *user),
                        const void *user)
{
    g_auto(GStrv) list = rh_profile_split(names);
    bool any = false;
    for (char **name = list; *name; name++) {
        g_autofree char *path = rh_profile_path(*name);
        g_autoptr(RhJson) doc = rh_json_load(path, NULL);
        any |= doc && holds(doc, user);
    }
    return any;
}

static bool is_of_another(RhJson *doc, const void *platform)
{
    const char *device = rh_profile_device(doc);
    return *device && strcmp(device, ((const RhPlatform *)platform)->device->name) != 0;
}

bool rh_profile_is_of(const char *names, const RhPlatform *p)
{
    return !any_profile(names, is_of_another, p);
}

static bool has_links(RhJson *doc, const void *user)
{
    (void)user;
    const RhJsonNode *facts = rh_json_object_or_null(doc, rh_json_root(doc), "facts");
    for (const RhJsonNode *at = facts ? rh_json_first(facts) : NULL; at; at = rh_json_next(at))
        if (!g_str_has_prefix(rh_json_key(at), "device."))
            return true;
    return false;
}

bool rh_profile_has_links(const char *names)
{
    return any_profile(names, has_links, NULL);
}
