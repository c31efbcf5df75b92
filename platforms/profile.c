#include "platforms/profile.h"

#include <string.h>

#include "base/catalogue_folders.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/json.h"
#include "platforms/catalogue.h"
#include "platforms/fabric/protocol.h"
#include "platforms/facts.h"
#include "platforms/platform_private.h"

#define SCHEMA "rehearse.profile/1"

#define CORRECTION "device.gemm.correction"
#define KERNELS    "device.kernels"
#define PEERS      "device.peer_reduce"

/* By kind of kernel: the prefix of its facts, and the key of the range of shapes that they were
 * fitted to. */
static const char *const facts_of[] = {[RH_CALIBRATED_RANGE_GEMM] = "device.gemm.",
                                       [RH_CALIBRATED_RANGE_ATTENTION] = "device.attention."};
static const char *const shapes_of[] = {[RH_CALIBRATED_RANGE_GEMM] = "device.gemm.shapes",
                                        [RH_CALIBRATED_RANGE_ATTENTION] =
                                            "device.attention.shapes"};

const char *rh_profile_shapes_key(RhCalibratedKind kind)
{
    return shapes_of[kind];
}

/* A parsed profile, with those of its facts that the platform has. */
typedef struct {
    const char *device;           /* interned; "": for any device */
    GArray *facts;                /* Said */
    GPtrArray *surfaces;          /* RhSurface; NULL: it lists no kernels; never changed in place */
    RhPeerReduce *peers;          /* NULL: not given */
    RhGemmCorrection *correction; /* NULL: not given */
    bool fits_kind[RH_CALIBRATED_RANGE_LAST]; /* the profile has constants of that kind of kernel */
    /* shapes that these constants were fitted to, where they are given */
    RhCalibratedRange shapes[RH_CALIBRATED_RANGE_LAST];
    char *hash;
    const char *note; /* "h200.json: raw.csv: NVIDIA H200, ...": shown in reports; interned */
} Profile;

typedef struct {
    const char *key; /* interned */
    RhFact fact;
} Said;

static void profile_free(Profile *f)
{
    g_array_unref(f->facts);
    if (f->surfaces)
        g_ptr_array_unref(f->surfaces);
    g_free(f->peers);
    g_free(f->correction);
    g_free(f->hash);
    g_free(f);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Profile, profile_free)

/* --- Reading --- */

static void read_fact(RhJson *doc, const RhJsonNode *facts, const RhJsonNode *node,
                      const RhPlatform *p, Profile *f)
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
    Said said = {rh_intern(key), rh_json_fact_within(doc, facts, key, row.kind, row.range)};
    if (strcmp(key, "collective.sms") == 0 && !rh_platform_can_hold(p->device, said.fact.value))
        rh_json_problem(doc, node, NULL, "collective.sms is %g, but %s has %d SMs", said.fact.value,
                        p->device->name, p->device->sms_count);
    g_array_append_val(f->facts, said);
}

static void read_kernels(RhJson *doc, const RhJsonNode *facts, Profile *f)
{
    const RhJsonNode *list = rh_json_array(doc, facts, KERNELS);
    if (!list)
        return;
    f->surfaces = g_ptr_array_new_with_free_func((GDestroyNotify)rh_surface_unref);
    for (const RhJsonNode *n = rh_json_first(list); n; n = rh_json_next(n)) {
        RhSurface *surface = rh_surface_read(doc, n);
        if (surface)
            g_ptr_array_add(f->surfaces, surface);
    }
}

static bool read_shapes(RhJson *doc, const RhJsonNode *facts, const RhJsonNode *n, Profile *f)
{
    const char *key = rh_json_key(n);
    for (int kind = 0; kind < RH_CALIBRATED_RANGE_LAST; kind++) {
        f->fits_kind[kind] |= g_str_has_prefix(key, facts_of[kind]);
        if (strcmp(key, shapes_of[kind]) != 0)
            continue;
        if (rh_json_object(doc, facts, key))
            rh_calibrated_range_read(doc, n, (RhCalibratedKind)kind, &f->shapes[kind]);
        return true;
    }
    return false;
}

static void read_facts(RhJson *doc, const RhJsonNode *facts, const RhPlatform *p, Profile *f)
{
    for (const RhJsonNode *n = rh_json_first(facts); n; n = rh_json_next(n)) {
        if (read_shapes(doc, facts, n, f))
            continue;
        if (strcmp(rh_json_key(n), KERNELS) == 0)
            read_kernels(doc, facts, f);
        else if (strcmp(rh_json_key(n), PEERS) == 0 && rh_json_object(doc, facts, PEERS))
            rh_peer_reduce_read(doc, n, f->peers = g_new0(RhPeerReduce, 1));
        else if (strcmp(rh_json_key(n), CORRECTION) != 0)
            read_fact(doc, facts, n, p, f);
        else if (rh_json_object(doc, facts, CORRECTION))
            rh_gemm_correction_read(doc, n, f->correction = g_new0(RhGemmCorrection, 1));
    }
}

static bool is_of_device(const RhJsonNode *facts)
{
    for (const RhJsonNode *n = rh_json_first(facts); n; n = rh_json_next(n))
        if (g_str_has_prefix(rh_json_key(n), "device."))
            return true;
    return false;
}

/* Checks that the profile's device is in the platform. Facts of links apply whatever device is at
 * their ends. */
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

static Profile *read_profile(RhJson *doc, const RhPlatform *p, GError **error)
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
    g_autoptr(Profile) f = g_new0(Profile, 1);
    f->facts = g_array_new(FALSE, FALSE, sizeof(Said));
    f->device = rh_profile_device(doc);
    f->hash = g_strdup(rh_json_hash(doc));
    g_autofree char *file = g_path_get_basename(rh_json_name(doc));
    g_autofree char *note = g_strconcat(file, *about ? ": " : "", about, NULL);
    f->note = rh_intern(note);
    if (facts) {
        check_device(doc, root, facts, p);
        read_facts(doc, facts, p, f);
    }
    return rh_json_finish(doc, error) ? g_steal_pointer(&f) : NULL;
}

/* --- Applying to a platform --- */

/* Was the profile read for a platform that has the same facts? */
static bool fits(const Profile *f, const RhPlatform *p)
{
    RhFactRow row;
    for (guint i = 0; i < f->facts->len; i++)
        if (!rh_facts_find(p, g_array_index(f->facts, Said, i).key, &row))
            return false;
    return strcmp(f->device, p->device->name) == 0;
}

/* Writes the profile's facts and surfaces into the platform. Surfaces of another profile are
 * replaced. */
static void apply_profile(const Profile *f, RhPlatform *p)
{
    RhFactRow row;
    RhDevice *d = p->device;
    for (guint i = 0; i < f->facts->len; i++) {
        const Said *said = &g_array_index(f->facts, Said, i);
        const RhFact *line =
            rh_facts_find(p, said->key, &row) && !row.device ? rh_facts_at(p, &row) : NULL;
        if (line && line->value > 0) /* profiles of protocols have those constants, which are set
                                      * below */
            rh_protocols_follow(p, line, said->fact.value / line->value);
    }
    for (guint i = 0; i < f->facts->len; i++) {
        const Said *said = &g_array_index(f->facts, Said, i);
        if (rh_facts_find(p, said->key, &row))
            *rh_facts_at(p, &row) = said->fact;
    }
    if (f->surfaces) {
        if (d->surfaces)
            g_ptr_array_unref(d->surfaces);
        d->surfaces = g_ptr_array_ref(f->surfaces);
        d->used = (RhSurfacesUsed){0};
    }
    if (f->peers)
        d->peers = *f->peers;
    if (f->correction)
        d->correction = *f->correction;
    for (int kind = 0; kind < RH_CALIBRATED_RANGE_LAST; kind++)
        if (f->fits_kind[kind])
            d->curves.shapes[kind] = f->shapes[kind];
    rh_platform_hash_add(p, "profile", f->hash);
    p->profile = f->note;
    rh_device_refresh(d);
}

/* Profiles of the catalogue by their paths, read once: thousands of deployments of a plan name the
 * same one. Files named by users may have changed since. */
static GHashTable *known_profiles(void)
{
    static GHashTable *known;
    if (!known)
        known =
            g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)profile_free);
    return known;
}

bool rh_platform_apply_profile(RhPlatform *p, const char *name, GError **error)
{
    bool file = rh_data_is_path(name) || g_file_test(name, G_FILE_TEST_EXISTS);
    g_autofree char *path = file ? g_strdup(name) : rh_catalogue_path("profiles", name);
    const Profile *known = file ? NULL : g_hash_table_lookup(known_profiles(), path);
    if (known && fits(known, p)) {
        apply_profile(known, p);
        return true;
    }
    if (!file && !g_file_test(path, G_FILE_TEST_EXISTS))
        return rh_catalogue_fail_unknown("profile", name, rh_profile_names(), error);
    g_autoptr(RhJson) doc = rh_json_load(path, error);
    g_autoptr(Profile) f = doc ? read_profile(doc, p, error) : NULL;
    if (!f)
        return false;
    apply_profile(f, p);
    if (!file)
        g_hash_table_insert(known_profiles(), g_steal_pointer(&path), g_steal_pointer(&f));
    return true;
}

bool rh_platform_apply_profile_json(RhPlatform *p, RhJson *doc, GError **error)
{
    g_autoptr(Profile) f = read_profile(doc, p, error);
    if (f)
        apply_profile(f, p);
    return f != NULL;
}
