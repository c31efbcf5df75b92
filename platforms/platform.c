#include "platforms/platform.h"

#include <string.h>

#include "base/catalogue_folders.h"
#include "base/error.h"
#include "base/interned_strings.h"
#include "base/json/json.h"
#include "base/text/nearest_names.h"
#include "platforms/catalogue.h"
#include "platforms/device_name_match.h"
#include "platforms/devices/power.h"
#include "platforms/fabric/collective_library.h"
#include "platforms/platform_constants.h"
#include "platforms/platform_private.h"

#define NODES_MAX (1 << 20)

static void read_tier(RhJson *doc, const RhJsonNode *node, bool root, RhSwitchLevel *tier)
{
    tier->name = rh_intern(rh_json_string(doc, node, "name"));
    tier->rail_optimised = rh_json_bool_or(doc, node, "rail_optimised", false);
    tier->hop_latency_s =
        rh_json_fact_within(doc, node, "hop_latency", RH_QUANTITY_S, &rh_range_hop_s);
    tier->oversubscription = (RhFact){.value = 1,
                                      .tag = RH_TAG_DATASHEET,
                                      .source = rh_intern("root: no uplink"),
                                      .date = rh_intern("")};
    tier->nodes_per_group = NODES_MAX;
    if (root)
        return;
    tier->nodes_per_group = (int32_t)rh_json_int(doc, node, "nodes", 1, NODES_MAX);
    tier->oversubscription = rh_json_fact_within(doc, node, "oversubscription", RH_QUANTITY_COUNT,
                                                 &rh_range_oversubscription);
}

/* Checks that groups nest, names are distinct, and rails that have merged stay merged. */
static void check_tier(RhJson *doc, const RhJsonNode *node, const RhPlatform *p, int32_t t)
{
    const RhSwitchLevel *tier = &p->tiers[t];
    static const char *const taken[] = {"nvlink",  "nic",   "host",      "nvme", "storage", "dpu",
                                        "islands", "torus", "dragonfly", "",     NULL};
    if (g_strv_contains(taken, tier->name) || strchr(tier->name, '/') != NULL)
        rh_json_problem(doc, node, NULL, "\"%s\" cannot be the name of a tier", tier->name);
    if (t == 0)
        return;
    const RhSwitchLevel *below = &p->tiers[t - 1];
    for (int32_t i = 0; i < t; i++)
        if (g_str_equal(tier->name, p->tiers[i].name))
            rh_json_problem(doc, node, NULL, "two tiers are called \"%s\"", tier->name);
    if (tier->nodes_per_group != NODES_MAX &&
        (below->nodes_per_group <= 0 || tier->nodes_per_group % below->nodes_per_group != 0))
        rh_json_problem(doc, node, NULL, "tier \"%s\": %d nodes are not a multiple of the %d below",
                        tier->name, tier->nodes_per_group, below->nodes_per_group);
    if (tier->rail_optimised && !below->rail_optimised)
        rh_json_problem(doc, node, NULL,
                        "tier \"%s\" is rail-optimised, but the rails merge in \"%s\" below it",
                        tier->name, below->name);
}

static void read_tiers(RhJson *doc, const RhJsonNode *root, RhPlatform *p)
{
    const RhJsonNode *tiers = rh_json_array_or_null(doc, root, "tiers");
    int count = rh_json_count(tiers);
    if (tiers) /* otherwise they are those of the platform derived from */
        p->tiers_count = 0;
    if (count > RH_TIERS_MAX) {
        rh_json_problem(doc, tiers, NULL, "%d tiers, at most %d", count, RH_TIERS_MAX);
        rh_json_consume_all(doc, tiers);
        return;
    }
    const RhJsonNode *node = tiers == NULL ? NULL : rh_json_first(tiers);
    for (; node != NULL; node = rh_json_next(node)) {
        int32_t t = p->tiers_count++;
        read_tier(doc, node, t == count - 1, &p->tiers[t]);
        check_tier(doc, node, p, t);
    }
    if (p->nodes_count > 1 && p->tiers_count == 0)
        rh_json_problem(doc, root, NULL, "%d nodes but no tiers to join them", p->nodes_count);
}

static RhSharing read_sharing(RhJson *doc, const RhJsonNode *node, const char *key)
{
    const char *name = rh_json_string(doc, node, key);
    if (g_str_equal(name, "fair"))
        return RH_SHARING_FAIR;
    if (g_str_equal(name, "first-come"))
        return RH_SHARING_FIRST_COME;
    rh_json_problem(doc, node, NULL, "%s: \"%s\" is neither \"fair\" nor \"first-come\"", key,
                    name);
    return RH_SHARING_FAIR;
}

static void read_messages(RhJson *doc, const RhJsonNode *root, RhPlatform *p)
{
    if (!rh_json_has(root, "messages"))
        return;
    const RhJsonNode *node = rh_json_object(doc, root, "messages");
    bool kept = p->messages.sender != RH_SHARING_NONE && node && !rh_json_has(node, "sharing");
    const RhJsonNode *sharing = node && !kept ? rh_json_object(doc, node, "sharing") : NULL;
    if (!sharing)
        return;
    RhMessages *m = &p->messages;
    m->sender = read_sharing(doc, sharing, "sender");
    m->beyond = read_sharing(doc, sharing, "beyond");
    m->source = rh_intern(rh_json_string(doc, sharing, "source"));
}

/* Reads the name of the communication library; relative paths count from the file's folder. */
static void read_library(RhJson *doc, const RhJsonNode *root, RhPlatform *p)
{
    GError *why = NULL;
    const char *name = rh_json_string_or(doc, root, "library", NULL);
    if (!name)
        return;
    g_autofree char *path = rh_platform_path_of_device(doc, name);
    const RhLibrary *library = rh_library_by_name(path, &why);
    if (library)
        rh_platform_set_library(p, library);
    else
        rh_json_problem_of(doc, root, "library", why);
}

/* Files that derive from one another, in the order in which they were opened: char*. */
static RhPlatform *load_file(const char *path, GPtrArray *chain, GError **error);

#define DERIVED_MAX  8
#define NEAR_DEVICES 4

/* Path of the file that `doc` derives from; relative paths count from the folder of `doc`. */
static char *path_of_base(const RhJson *doc, const char *name)
{
    if (!rh_data_is_path(name) || g_path_is_absolute(name))
        return rh_catalogue_path("clusters", name);
    g_autofree char *folder = g_path_get_dirname(rh_json_name(doc));
    return g_build_filename(folder, name, NULL);
}

static RhPlatform *load_base(const char *name, const char *path, GPtrArray *chain, GError **error)
{
    if (!rh_data_is_path(name) && !g_file_test(path, G_FILE_TEST_EXISTS)) {
        rh_catalogue_fail_unknown("platform", name, rh_platform_names(), error);
        return NULL;
    }
    g_autofree char *key = g_canonicalize_filename(path, NULL);
    for (guint i = 0; i < chain->len; i++)
        if (g_str_equal(chain->pdata[i], key)) {
            rh_fail(error, RH_ERROR_INPUT, "%s derives from itself", path);
            return NULL;
        }
    if (chain->len >= DERIVED_MAX) {
        rh_fail(error, RH_ERROR_INPUT, "more than %d platforms derive from one another",
                DERIVED_MAX);
        return NULL;
    }
    return load_file(path, chain, error);
}

/* Returns the platform to be filled in: a copy of the one that "derives" names, else a new one.
 * NULL when there is no such platform; the problem is recorded in the document. */
static RhPlatform *begin_platform(RhJson *doc, const RhJsonNode *root, GPtrArray *chain)
{
    const RhJsonNode *member = rh_json_first(root);
    while (member && !g_str_equal(rh_json_key(member), "derives"))
        member = rh_json_next(member);
    if (member) {
        g_autoptr(GError) local = NULL;
        const char *name = rh_json_string(doc, root, "derives");
        g_autofree char *path = path_of_base(doc, name);
        RhPlatform *base = load_base(name, path, chain, &local);
        if (base)
            return base;
        g_auto(GStrv) lines = g_strsplit(local->message, "\n", -1);
        bool placed = lines[1] && g_str_has_prefix(lines[1], " --> ");
        bool helped = lines[1] && g_str_has_prefix(lines[g_strv_length(lines) - 1], "help: ");
        const char *help = helped ? lines[g_strv_length(lines) - 1] + strlen("help: ") : NULL;
        rh_json_problem_at_key(doc, member, placed ? NULL : help, "%s%s%s", lines[0],
                               placed ? ", at " : "", placed ? lines[1] + strlen(" --> ") : "");
        rh_json_consume_all(doc, root);
        return NULL;
    }
    RhPlatform *p = g_new0(RhPlatform, 1);
    p->link_changes = g_array_new(FALSE, FALSE, sizeof(RhLinkChange));
    p->gpu_speeds = g_array_new(FALSE, FALSE, sizeof(RhGpuSpeed));
    p->others = rh_other_devices_new(NULL);
    RhFact *unknown[] = {&p->price_usd_per_gpu_hour,
                         &p->host_power_w,
                         &p->host_idle_power_w,
                         &p->nic_power_w,
                         &p->switches_power_w,
                         &p->pue,
                         &p->host_gpus_per_link,
                         &p->host_memory_bytes_per_s,
                         &p->host_cores,
                         &p->dpu_cores,
                         &p->dpu_core_frac,
                         &p->nvme_bytes_per_s,
                         &p->host_bytes,
                         &p->nvme_bytes,
                         &p->storage.bytes_per_s,
                         &p->storage.read_bytes_per_s,
                         &p->storage.servers,
                         &p->storage.server_bytes_per_s,
                         &p->storage.client_bytes_per_s,
                         &p->storage.network_bytes_per_s,
                         &p->island_bytes_per_s,
                         &p->mesh.links,
                         &p->torus_bytes_per_s,
                         &p->dragonfly_bytes_per_s};
    for (size_t i = 0; i < G_N_ELEMENTS(unknown); i++) {
        unknown[i]->source = rh_intern("unknown");
        unknown[i]->date = rh_intern("");
    }
    p->name = p->description = rh_intern("");
    return p;
}

static int32_t read_count(RhJson *doc, const RhJsonNode *root, const char *key, int64_t most,
                          int32_t inherited)
{
    return (int32_t)(inherited ? rh_json_int_or(doc, root, key, 1, most, inherited)
                               : rh_json_int(doc, root, key, 1, most));
}

/* Checks the host's figures; a problem is reported at the fact that the file itself gives. */
static void check_host(RhJson *doc, const RhJsonNode *root, const RhPlatform *p)
{
    g_autoptr(GError) local = NULL;
    if (rh_power_of_host_agrees(p, &local))
        return;
    const RhJsonNode *host = rh_json_object_or_null(doc, root, "host");
    const RhJsonNode *at = host ? rh_json_first(host) : NULL;
    const char *key = host && rh_json_has(host, "idle_power") ? "idle_power" : "power";
    while (at && g_strcmp0(rh_json_key(at), key) != 0)
        at = rh_json_next(at);
    rh_json_problem(doc, at ? at : root, NULL, "%s", local->message);
}

static void read_all(RhJson *doc, const RhJsonNode *root, RhPlatform *p)
{
    bool derived = p->device != NULL;
    const RhJsonNode *names = rh_json_array_or_null(doc, root, "names");
    for (const RhJsonNode *n = names ? rh_json_first(names) : NULL; n; n = rh_json_next(n))
        (void)rh_json_node_string(doc, n); /* looked up by platforms/device_name_match.h */
    p->name = rh_intern(rh_json_word(doc, root, "name"));
    p->description = rh_intern(rh_json_string_or(doc, root, "description", p->description));
    p->gpus_per_node = read_count(doc, root, "gpus_per_node", 1024, p->gpus_per_node);
    p->nodes_count = read_count(doc, root, "nodes", NODES_MAX, derived ? p->nodes_count : 1);
    p->nics_per_node = read_count(doc, root, "nics_per_node", 1024, p->nics_per_node);
    rh_facts_read(doc, root, false, derived, p);
    rh_platform_read_devices(doc, root, p);
    rh_platform_read_wirings(doc, root, p);
    read_tiers(doc, root, p);
    read_messages(doc, root, p);
    read_library(doc, root, p);
    check_host(doc, root, p);
    if (p->nics_per_node > p->gpus_per_node)
        rh_json_problem(doc, root, NULL, "%d NICs for %d GPUs: at most one NIC per GPU",
                        p->nics_per_node, p->gpus_per_node);
}

char *rh_platform_path_of_device(const RhJson *doc, const char *name)
{
    if (!rh_data_is_path(name) || g_path_is_absolute(name))
        return g_strdup(name);
    g_autofree char *folder = g_path_get_dirname(rh_json_name(doc));
    return g_build_filename(folder, name, NULL);
}

static bool load_device(RhJson *doc, const char *name, RhPlatform *p, GError **error)
{
    GError *why = NULL;
    if (name) {
        g_autofree char *path = rh_platform_path_of_device(doc, name);
        g_clear_pointer(&p->device, rh_device_free);
        p->device = rh_device_load(path, &why);
    }
    if (why) {
        rh_json_problem_of(doc, rh_json_root(doc), "device", why);
        return rh_json_finish(doc, error);
    }
    if (!rh_platform_can_hold(p->device, p->collective_sms.value))
        return rh_fail(error, RH_ERROR_INPUT, "%s: collective.sms is %g, but %s has %d SMs",
                       rh_json_name(doc), p->collective_sms.value, p->device->name,
                       p->device->sms_count);
    return true;
}

static RhPlatform *parse(RhJson *doc, GPtrArray *chain, GError **error)
{
    const RhJsonNode *root = rh_json_root(doc);
    g_autoptr(RhPlatform) p = begin_platform(doc, root, chain);
    if (!p) {
        rh_json_refuse(doc, error);
        return NULL;
    }
    g_autofree char *hash_of_base = g_steal_pointer(&p->hash);
    bool listed = p->device != NULL || rh_json_has(root, "devices");
    const char *device =
        listed ? rh_json_string_or(doc, root, "device", NULL) : rh_json_string(doc, root, "device");
    read_all(doc, root, p);
    if (!rh_json_finish(doc, error) || !load_device(doc, device, p, error) ||
        !rh_platform_set_nodes(p, p->nodes_count, error))
        return NULL;
    p->hash = g_compute_checksum_for_string(G_CHECKSUM_SHA256, rh_json_hash(doc), -1);
    if (hash_of_base)
        rh_platform_hash_add(p, "derives", hash_of_base);
    if (p->library)
        rh_platform_hash_add(p, "library", p->library->hash);
    for (int32_t i = 0; i < rh_platform_devices_count(p); i++)
        rh_platform_hash_add(p, "device", rh_platform_device(p, i)->hash);
    return g_steal_pointer(&p);
}

static RhPlatform *load_file(const char *path, GPtrArray *chain, GError **error)
{
    g_autoptr(RhJson) doc = rh_json_load_described(path, "platform", error);
    if (doc == NULL)
        return NULL;
    g_ptr_array_add(chain, g_canonicalize_filename(path, NULL));
    return parse(doc, chain, error);
}

void rh_platform_hash_add(RhPlatform *p, const char *key, const char *value)
{
    g_autofree char *old = p->hash;
    g_autofree char *text = g_strdup_printf("%s\n%s=%s", old, key, value);
    p->hash = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);
}

bool rh_platform_set_nodes(RhPlatform *p, int64_t nodes, GError **error)
{
    if (nodes > 1 && p->tiers_count == 0)
        return rh_fail(error, RH_ERROR_INPUT, "%s has no network between nodes\nhelp: add tiers",
                       p->name);
    if (nodes * p->gpus_per_node > RH_PLATFORM_GPUS_MAX)
        return rh_fail(error, RH_ERROR_INPUT,
                       "%" G_GINT64_FORMAT " nodes of %d GPUs exceed %d GPUs", nodes,
                       p->gpus_per_node, NODES_MAX);
    if (!rh_platform_wirings_allow(p, nodes, p->gpus_per_node, error))
        return false;
    if (p->others->len > 0 && nodes != p->nodes_count)
        return rh_fail(error, RH_ERROR_INPUT,
                       "%s lists the devices of its %d nodes\nhelp: other numbers of nodes are "
                       "another list",
                       p->name, p->nodes_count);
    p->nodes_count = (int32_t)nodes;
    return true;
}

/* Splits "NAME:8" into NAME and 8; nodes stays 0 when there is no such ending. */
static bool split_nodes(const char *spec, char **name, int64_t *nodes, GError **error)
{
    const char *colon = strrchr(spec, ':');
    *name = colon == NULL ? g_strdup(spec) : g_strndup(spec, (size_t)(colon - spec));
    if (colon == NULL)
        return true;
    g_autoptr(GError) inner = NULL;
    if (rh_integer_parse(colon + 1, 1, NODES_MAX, nodes, &inner))
        return true;
    return rh_fail(error, RH_ERROR_INPUT,
                   "platform \"%s\": \"%s\" is not a number of nodes\n"
                   "help: NAME:NODES, as in dgx-h100:8, or one line, as in "
                   "h100-sxm:8x16,ib:400Gb/s",
                   spec, colon + 1);
}

RhPlatform *rh_platform_load_named(const char *name, GError **error)
{
    g_autofree char *path = rh_catalogue_path("clusters", name);
    if (!rh_data_is_path(name) && !g_file_test(path, G_FILE_TEST_EXISTS)) {
        const char *own = rh_platform_of_name(name);
        if (!own) {
            g_autofree char *near = rh_near_names(name, rh_device_names(), NEAR_DEVICES);
            rh_catalogue_fail_unknown("platform", name, rh_platform_names(), error);
            if (near)
                rh_error_help(error, "devices: %s, of which NAME:8 is a node of eight", near);
            return NULL;
        }
        g_free(path);
        path = rh_catalogue_path("clusters", own);
    }
    g_autoptr(GPtrArray) chain = g_ptr_array_new_with_free_func(g_free);
    return load_file(path, chain, error);
}

RhPlatform *rh_platform_load(const char *spec, GError **error)
{
    g_return_val_if_fail(spec != NULL, NULL);
    if (rh_platform_is_oneline(spec))
        return rh_platform_parse_oneline(spec, error);
    g_autofree char *name = NULL;
    int64_t nodes = 0;
    if (!split_nodes(spec, &name, &nodes, error))
        return NULL;
    g_autoptr(RhPlatform) p = rh_platform_load_named(name, error);
    if (p == NULL || nodes == 0)
        return g_steal_pointer(&p);
    if (!rh_platform_set_nodes(p, nodes, error))
        return NULL;
    g_autofree char *text = g_strdup_printf("%" G_GINT64_FORMAT, nodes);
    rh_platform_hash_add(p, "nodes", text);
    p->name = rh_intern(spec);
    return g_steal_pointer(&p);
}

RhPlatform *rh_platform_copy(const RhPlatform *platform)
{
    g_return_val_if_fail(platform != NULL, NULL);
    RhPlatform *copy = g_memdup2(platform, sizeof *platform);
    copy->device = rh_device_copy(platform->device);
    copy->others = rh_other_devices_new(platform->others);
    copy->link_changes = g_array_copy(platform->link_changes);
    copy->gpu_speeds = g_array_copy(platform->gpu_speeds);
    copy->hash = g_strdup(platform->hash);
    return copy;
}

void rh_platform_free(RhPlatform *platform)
{
    if (platform == NULL)
        return;
    rh_device_free(platform->device);
    if (platform->others != NULL)
        g_array_unref(platform->others);
    if (platform->link_changes != NULL)
        g_array_unref(platform->link_changes);
    if (platform->gpu_speeds != NULL)
        g_array_unref(platform->gpu_speeds);
    g_free(platform->hash);
    g_free(platform);
}
