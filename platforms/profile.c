#include "platforms/profile.h"

#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "platforms/catalogue.h"
#include "platforms/facts.h"
#include "platforms/platform_private.h"

#define SCHEMA "rehearse.profile/1"

#define CORRECTION "device.gemm.correction"
#define KERNELS    "device.kernels"
#define PEERS      "device.peer_reduce"

static void apply_fact(RhJson *doc, const RhJsonNode *facts, const RhJsonNode *node, RhPlatform *p)
{
    RhFactRow row;
    const char *key = rh_json_key(node);
    if (!rh_facts_find(p, key, &row)) {
        rh_json_problem_at_key(doc, node,
                               "known are the paths of a platform's facts, as nic.bandwidth",
                               "no fact of a platform "
                               "is called \"%s\"",
                               key);
        rh_json_consume_all(doc, node);
        return;
    }
    *rh_facts_at(p, &row) = rh_json_fact_within(doc, facts, key, row.kind, row.range);
}

/* Another profile's are replaced. */
static void apply_kernels(RhJson *doc, const RhJsonNode *facts, RhDevice *d)
{
    const RhJsonNode *list = rh_json_array(doc, facts, KERNELS);
    if (!list)
        return;
    if (d->surfaces)
        g_ptr_array_unref(d->surfaces);
    d->surfaces = g_ptr_array_new_with_free_func((GDestroyNotify)rh_surface_unref);
    d->used = (RhSurfacesUsed){0};
    for (const RhJsonNode *n = rh_json_first(list); n; n = rh_json_next(n)) {
        RhSurface *surface = rh_surface_read(doc, n);
        if (surface)
            g_ptr_array_add(d->surfaces, surface);
    }
}

static void apply_facts(RhJson *doc, const RhJsonNode *facts, RhPlatform *p)
{
    for (const RhJsonNode *n = rh_json_first(facts); n; n = rh_json_next(n)) {
        if (strcmp(rh_json_key(n), KERNELS) == 0)
            apply_kernels(doc, facts, p->device);
        else if (strcmp(rh_json_key(n), PEERS) == 0 && rh_json_object(doc, facts, PEERS))
            rh_peer_reduce_read(doc, n, &p->device->peers);
        else if (strcmp(rh_json_key(n), CORRECTION) != 0)
            apply_fact(doc, facts, n, p);
        else if (rh_json_object(doc, facts, CORRECTION))
            rh_gemm_correction_read(doc, n, &p->device->correction);
    }
}

static bool is_of_device(const RhJsonNode *facts)
{
    for (const RhJsonNode *n = rh_json_first(facts); n; n = rh_json_next(n))
        if (g_str_has_prefix(rh_json_key(n), "device."))
            return true;
    return false;
}

/* Facts of links do not ask which device is at their ends. */
static void check_device(RhJson *doc, const RhJsonNode *root, const RhJsonNode *facts,
                         const RhPlatform *p)
{
    const char *device = rh_profile_device(doc);
    if (!*device || strcmp(device, p->device->name) == 0 || !is_of_device(facts))
        return;
    g_autofree char *help = g_strdup_printf("a platform of %s, or a profile calibrated for %s",
                                            device, p->device->name);
    const RhJsonNode *node = rh_json_first(root);
    while (node && strcmp(rh_json_key(node), "device") != 0)
        node = rh_json_next(node);
    rh_json_problem(doc, node, help, "the profile is of the device %s, the platform %s has %s",
                    device, p->name, p->device->name);
}

const char *rh_profile_device(RhJson *doc)
{
    return rh_json_string_or(doc, rh_json_root(doc), "device", "");
}

bool rh_platform_apply_profile(RhPlatform *p, const char *name, GError **error)
{
    bool file = rh_catalogue_is_path(name) || g_file_test(name, G_FILE_TEST_EXISTS);
    g_autofree char *path = file ? g_strdup(name) : rh_catalogue_path("profiles", name);
    if (!file && !g_file_test(path, G_FILE_TEST_EXISTS))
        return rh_catalogue_fail_unknown("profile", name, rh_profile_names(), error);
    g_autoptr(RhJson) doc = rh_json_load(path, error);
    return doc && rh_platform_apply_profile_json(p, doc, error);
}

/* "h200.json: raw.csv: NVIDIA H200, ...": what reports say of it. */
static void note_profile(RhPlatform *p, const RhJson *doc, const char *about)
{
    g_autofree char *file = g_path_get_basename(rh_json_name(doc));
    g_autofree char *text = g_strconcat(file, *about ? ": " : "", about, NULL);
    p->profile = g_intern_string(text);
}

bool rh_platform_apply_profile_json(RhPlatform *p, RhJson *doc, GError **error)
{
    const RhJsonNode *root = rh_json_root(doc);
    if (strcmp(rh_json_string(doc, root, "schema"), SCHEMA) != 0)
        rh_json_problem(doc, root, NULL, "not a profile: \"schema\" must be \"%s\"", SCHEMA);
    rh_json_consume(doc, root, "platform");
    const char *about = rh_json_string_or(doc, root, "about", "");
    const RhJsonNode *quality = rh_json_object_or_null(doc, root, "fit");
    if (quality)
        rh_json_consume_all(doc, quality);
    const RhJsonNode *facts = rh_json_object(doc, root, "facts");
    if (facts) {
        check_device(doc, root, facts, p);
        apply_facts(doc, facts, p);
    }
    if (!rh_json_finish(doc, error))
        return false;
    rh_platform_hash_add(p, "profile", rh_json_hash(doc));
    note_profile(p, doc, about);
    rh_device_refresh(p->device);
    return true;
}
