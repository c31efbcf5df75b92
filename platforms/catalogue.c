#include "platforms/catalogue.h"

#include <string.h>

#include "base/data.h"
#include "base/error.h"
#include "platforms/platform.h"

#define NEAR_MOST 6 /* of those that a command lists */

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

/* How far a name is from the word: 0 begins with it and a dash, 1 has it between dashes, 2 + edits else. */
typedef struct {
    const char *name;
    int away;
} Near;

static int by_nearness(gconstpointer a, gconstpointer b)
{
    const Near *x = a, *y = b;
    return x->away != y->away ? (x->away > y->away) - (x->away < y->away)
                              : strcmp(x->name, y->name);
}

static Near near_of(const char *word, const char *name)
{
    g_autofree char *begin = g_strconcat(word, "-", NULL);
    g_auto(GStrv) parts = g_strsplit_set(name, "-.", -1);
    int edits = MIN(rh_name_edits(word, name), RH_NAME_MAX + 1);
    int away = g_str_has_prefix(name, begin)                       ? 0
               : g_strv_contains((const char *const *)parts, word) ? 1
                                                                   : 2 + edits;
    return (Near){name, away};
}

/* "h100-nvl, h100-sxm" of "h100": nearest first; of fewer than all those alone that are about as near. Caller frees. */
static char *nearest_names(const char *word, const char *const *names, guint most)
{
    g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(Near));
    g_autoptr(GString) text = g_string_new(NULL);
    for (; *names; names++) {
        Near n = near_of(word, *names);
        g_array_append_val(all, n);
    }
    g_array_sort(all, by_nearness);
    for (guint i = 0; i < MIN(all->len, most); i++) {
        const Near *n = &g_array_index(all, Near, i);
        if (most < G_MAXUINT && n->away > g_array_index(all, Near, 0).away + 1)
            break;
        g_string_append_printf(text, "%s%s", i ? ", " : "", n->name);
    }
    return g_string_free(g_steal_pointer(&text), FALSE);
}

bool rh_catalogue_fail_unknown(const char *what, const char *name, const char *const *names,
                               GError **error)
{
    static const char *const shown[] = {"platform", "device", NULL};
    bool listed = g_strv_contains(shown, what);
    g_autofree char *near = nearest_names(name, names, listed ? NEAR_MOST : G_MAXUINT);
    g_autofree char *more =
        listed ? g_strdup_printf("; `rehearse show %ss` lists all", what) : g_strdup("");
    return rh_fail(error, RH_ERROR_INPUT, "unknown %s \"%s\"\nhelp: nearest: %s%s", what, name,
                   *near ? near : "(none found; is REHEARSE_DATA right?)", more);
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
