#include "platforms/profile.h"

#include <string.h>

#include "base/error.h"
#include "base/interned_strings.h"
#include "base/json/json.h"
#include "platforms/catalogue.h"
#include "platforms/fabric/nccl_protocol.h"
#include "platforms/platform_constants.h"
#include "platforms/platform_private.h"

#define SCHEMA "rehearse.profile/1"

#define CORRECTION "device.gemm.correction"
#define KERNELS    "device.kernels"
#define PEERS      "device.peer_reduce"

/* By kind of kernel: the prefix of its facts, and the key of the range of shapes that they were
 * fitted to. */
static const char *const facts_of[] = {[RH_CALIBRATED_RANGE_GEMM] = "device.gemm.",
                                       [RH_CALIBRATED_RANGE_ATTENTION] = "device.attention."};
/* Limits of what a derived kernel takes, of what the other device's takes. */
static const RhRange times_range = {0.25, 4, false};
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
    RhScaledRun scaled; /* without a stack: none */
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

/* The profile's all-reduce, empty; what there was is gone. */
static RhPeerReduce *fresh_peers(Profile *f)
{
    g_free(f->peers);
    f->peers = g_new0(RhPeerReduce, 1);
    return f->peers;
}

static void read_kernels(RhJson *doc, const RhJsonNode *facts, Profile *f)
{
    const RhJsonNode *list = rh_json_array(doc, facts, KERNELS);
    if (list && f->surfaces) {
        rh_json_problem(doc, list, NULL, "a profile that derives has kernels, and none of its own");
        rh_json_consume_all(doc, list);
        return;
    }
    if (!list)
        return;
    f->surfaces = g_ptr_array_new_with_free_func((GDestroyNotify)rh_surface_unref);
    for (const RhJsonNode *n = rh_json_first(list); n; n = rh_json_next(n)) {
        RhSurface *surface = rh_surface_read(doc, n);
        if (surface)
            g_ptr_array_add(f->surfaces, surface);
    }
}

/* --- A profile that derives from another device's --- */

/* Makes a kernel's time that on the other device, times a fraction: surfaces are relative to the data
 * sheet of the device that they are asked for. */
static void keep_time(RhSurface *s, const RhDeviceRates *other, const RhDeviceRates *own,
                      double times)
{
    s->launch_s *= times;
    s->compute_frac *= own->peak_s_per_flop[s->dtype] / other->peak_s_per_flop[s->dtype] / times;
    s->memory_frac *= own->hbm_s_per_byte / other->hbm_s_per_byte / times;
}

/* Fractions by kind of kernel, "times": {"gemm": {fact}, ...}; 1 where none is given. */
static void read_times(RhJson *doc, const RhJsonNode *root, double times[RH_SURFACE_LAST])
{
    const RhJsonNode *list = rh_json_object_or_null(doc, root, "times");
    for (int kind = 0; kind < RH_SURFACE_LAST; kind++)
        times[kind] = 1;
    for (const RhJsonNode *n = list ? rh_json_first(list) : NULL; n; n = rh_json_next(n)) {
        RhSurfaceKind kind = rh_surface_kind_by_name(rh_json_key(n));
        double value =
            rh_json_fact_within(doc, list, rh_json_key(n), RH_QUANTITY_COUNT, &times_range).value;
        if (kind == RH_SURFACE_NONE)
            rh_json_problem_at_key(doc, n, NULL, "\"%s\" is no kind of kernel", rh_json_key(n));
        else
            times[kind] = value;
    }
}

/* Reads the other device's surfaces and all-reduce. NULL: done; else what is wrong, owned. */
static GError *read_base(RhJson *base, const RhPlatform *p, const double *times, Profile *f)
{
    GError *why = NULL;
    const RhJsonNode *facts = rh_json_object(base, rh_json_root(base), "facts"),
                     *peers = facts ? rh_json_object_or_null(base, facts, PEERS) : NULL;
    g_autoptr(RhDevice) other = rh_device_load(rh_profile_device(base), &why);
    if (why)
        return why;
    if (facts)
        read_kernels(base, facts, f);
    for (guint i = 0; f->surfaces && i < f->surfaces->len; i++) {
        RhSurface *s = g_ptr_array_index(f->surfaces, i);
        keep_time(s, &other->rates, &p->device->rates, times[s->kind]);
    }
    if (peers)
        rh_peer_reduce_read(base, peers, fresh_peers(f));
    if (!f->surfaces)
        rh_fail(&why, RH_ERROR_INPUT, "%s has no times of kernels", rh_json_name(base));
    return why;
}

/* "derives": the catalogue's profile of another device, whose kernels' times this one has, times a fraction. */
static void read_derived(RhJson *doc, const RhJsonNode *root, const RhPlatform *p, Profile *f)
{
    const char *name = rh_json_string_or(doc, root, "derives", NULL);
    if (!name)
        return;
    double times[RH_SURFACE_LAST];
    GError *why = NULL;
    read_times(doc, root, times);
    g_autofree char *path = rh_catalogue_path("profiles", name);
    g_autoptr(RhJson) base = rh_json_load(path, &why);
    if (base)
        why = read_base(base, p, times, f);
    if (why) {
        rh_json_problem_of(doc, root, "derives", why);
        return;
    }
    char *both = g_strconcat(f->hash, rh_json_hash(base), NULL);
    g_free(f->hash);
    f->hash = both;
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
            rh_peer_reduce_read(doc, n, fresh_peers(f));
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
    bool derived = rh_json_string_or(doc, root, "derives", NULL) != NULL;
    if (!*device || strcmp(device, p->device->name) == 0 || (!derived && !is_of_device(facts)))
        return;
    g_autofree char *help = g_strdup_printf("a platform of %s, or a profile calibrated for %s",
                                            device, p->device->name);
    const RhJsonNode *node = rh_json_first(root);
    while (node && strcmp(rh_json_key(node), "device") != 0)
        node = rh_json_next(node);
    rh_json_problem(doc, node, help, "the profile is of the device %s, the platform %s has %s",
                    device, p->name, p->device->name);
}

static void read_run(RhJson *doc, const RhJsonNode *root, Profile *f)
{
    const RhJsonNode *run = rh_json_object_or_null(doc, root, "run");
    if (!run)
        return;
    double measured_s = rh_json_number(doc, run, "measured_s", 1e-9, 1e9),
           predicted_s = rh_json_number(doc, run, "predicted_s", 1e-9, 1e9);
    f->scaled =
        (RhScaledRun){rh_intern(rh_json_word(doc, run, "stack")),
                      rh_intern(rh_json_word(doc, run, "model")), measured_s / predicted_s - 1};
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
    read_run(doc, root, f);
    read_derived(doc, root, p, f);
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
    if (f->scaled.stack)
        p->scaled = f->scaled;
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
    for (int kind = 0; kind < RH_CALIBRATED_RANGE_LAST; kind++)
        p->kernels_profiled |= f->surfaces || f->fits_kind[kind];
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

static bool apply_one(RhPlatform *p, const char *name, GError **error)
{
    bool file = rh_profile_is_file(name);
    g_autofree char *path = rh_profile_path(name);
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

bool rh_platform_apply_profile(RhPlatform *p, const char *names, GError **error)
{
    g_auto(GStrv) list = rh_profile_split(names);
    g_autoptr(GString) notes = g_string_new(NULL);
    for (char **name = list; *name; name++) {
        if (!apply_one(p, *name, error))
            return false;
        g_string_append_printf(notes, "%s%s", name == list ? "" : "; ", p->profile);
    }
    p->profile = rh_intern(notes->str);
    return true;
}

/* Have the platforms alike GPUs, on a switch with alike links inside their nodes? */
static bool has_links_of(const RhPlatform *a, const RhPlatform *b)
{
    return strcmp(a->device->name, b->device->name) == 0 && !a->inside && !b->inside &&
           a->nvlink_bytes_per_s.value == b->nvlink_bytes_per_s.value;
}

const char *rh_platform_links_profile(const RhPlatform *p)
{
    for (const char *const *name = rh_links_profile_names(); *name; name++) {
        g_autofree char *path = rh_catalogue_path("links", *name);
        g_autoptr(RhJson) doc = rh_json_load(path, NULL);
        const char *of = doc ? rh_json_string_or(doc, rh_json_root(doc), "platform", "") : "";
        g_autoptr(RhPlatform) measured = *of ? rh_platform_load(of, NULL) : NULL;
        if (measured && has_links_of(measured, p))
            return *name;
    }
    return NULL;
}

bool rh_platform_apply_profile_json(RhPlatform *p, RhJson *doc, GError **error)
{
    g_autoptr(Profile) f = read_profile(doc, p, error);
    if (f)
        apply_profile(f, p);
    return f != NULL;
}
