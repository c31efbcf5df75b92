/* Reads a cluster in one line, for tests and quick questions:
 * "h100-sxm:8x16,nvlink:450GB/s,ib:400Gb/s" is DEVICE:GPUSxNODES, then KEY:VALUE. Values that are
 * not given come from the node of the device's generation (platforms/devices/generation.c), with
 * that platform's sources. */
#include <string.h>

#include "base/error.h"
#include "base/interned_strings.h"
#include "base/units.h"
#include "platforms/catalogue.h"
#include "platforms/devices/generation.h"
#include "platforms/platform_constants.h"
#include "platforms/platform_private.h"

#define TEMPLATE_OTHERWISE "dgx-h100"

static const char *const KEYS[] = {"nvlink",  "ib",      "eth",  "roce", "nics",
                                   "latency", "oversub", "leaf", "rail", NULL};

/* Values of the line besides facts. */
typedef struct {
    int64_t leaf_nodes;
    double oversubscription;
    bool rail_optimised;
} Tree;

/* Is it a device with a number of GPUs, which are one node: "h100-sxm:8"? */
static bool is_one_node(const char *spec, const char *colon)
{
    g_autofree char *name = g_strndup(spec, (size_t)(colon - spec));
    return g_strv_contains(rh_device_names(), name) &&
           !g_strv_contains(rh_platform_names(), name) && strspn(colon + 1, "0123456789") > 0 &&
           colon[1 + strspn(colon + 1, "0123456789")] == 0;
}

bool rh_platform_is_oneline(const char *spec)
{
    const char *colon = strchr(spec, ':');
    if (strchr(spec, ',') != NULL)
        return true;
    if (colon == NULL || !g_ascii_isdigit(colon[1]))
        return false;
    const char *x = colon + 1;
    while (g_ascii_isdigit(*x))
        x++;
    return *x == 'x' || is_one_node(spec, colon);
}

const char *rh_device_platform(const RhDevice *device)
{
    if (device->node)
        return device->node;
    return device->generation ? rh_generation_by_name(device->generation)->platform
                              : TEMPLATE_OTHERWISE;
}

static RhFact fact_from_line(double value)
{
    return (RhFact){.value = value,
                    .tag = RH_TAG_ASSUMED,
                    .source = rh_intern("one-line platform"),
                    .date = rh_intern("")};
}

/* Creates the platform with everything of the template except size and network. */
static RhPlatform *begin_oneline(const char *head, GError **error)
{
    const char *colon = strrchr(head, ':');
    g_auto(GStrv) sizes = colon == NULL ? NULL : g_strsplit(colon + 1, "x", -1);
    int64_t gpus = 0, nodes = 1;
    guint count = sizes ? g_strv_length(sizes) : 0;
    if (count < 1 || count > 2 || !rh_integer_parse(sizes[0], 1, 1024, &gpus, NULL) ||
        (count == 2 && !rh_integer_parse(sizes[1], 1, 1 << 20, &nodes, NULL))) {
        rh_fail(error, RH_ERROR_INPUT,
                "\"%s\" does not start a one-line platform\n"
                "help: DEVICE:GPUS for one node, DEVICE:GPUSxNODES for more, as in "
                "h100-sxm:8x16,ib:400Gb/s",
                head);
        return NULL;
    }
    g_autofree char *name = g_strndup(head, (size_t)(colon - head));
    g_autoptr(RhDevice) device = rh_device_load(name, error);
    if (device == NULL)
        return NULL;
    g_autoptr(RhPlatform) p = rh_platform_load_named(rh_device_platform(device), error);
    if (p == NULL)
        return NULL;
    rh_device_free(p->device);
    p->device = g_steal_pointer(&device);
    p->gpus_per_node = (int32_t)gpus;
    p->nics_per_node = (int32_t)gpus;
    p->outside = NULL; /* the line describes a tree */
    if (p->inside && (gpus <= p->island_gpus || gpus % MAX(1, p->island_gpus) != 0))
        p->island_gpus = 0; /* no islands */
    if (gpus > p->mesh.gpus)
        p->mesh.gpus = 0;
    rh_platform_settle_inside(p);
    rh_platform_hash_add(p, "device", p->device->hash);
    return rh_platform_set_nodes(p, nodes, error) ? g_steal_pointer(&p) : NULL;
}

static bool parse_value(const char *key, const char *value, RhQuantity kind, const RhRange *range,
                        double *out, GError **error)
{
    if (!rh_quantity_parse(value, kind, out, error)) {
        g_prefix_error(error, "%s: ", key);
        return false;
    }
    if (rh_range_holds(range, *out))
        return true;
    g_autofree char *wanted = rh_range_text(range, kind);
    return rh_fail(error, RH_ERROR_INPUT, "%s:%s: %s", key, value, wanted);
}

static bool parse_count(const char *key, const char *value, int64_t high, int64_t *out,
                        GError **error)
{
    if (rh_integer_parse(value, 1, high, out, error))
        return true;
    g_prefix_error(error, "%s: ", key);
    return false;
}

/* Parses the value of "rail", which without a value means yes. */
static bool parse_rail(const char *value, bool *out, GError **error)
{
    static const char *const yes[] = {"", "yes", "1", NULL}, *const no[] = {"no", "0", NULL};
    *out = g_strv_contains(yes, value);
    if (*out || g_strv_contains(no, value))
        return true;
    return rh_fail(error, RH_ERROR_INPUT, "rail:%s: expected yes or no", value);
}

static bool apply_value(RhPlatform *p, Tree *tree, const char *key, const char *value,
                        GError **error)
{
    double number = 0;
    int64_t count = 0;
    if (g_str_equal(key, "rail"))
        return parse_rail(value, &tree->rail_optimised, error);
    if (g_str_equal(key, "leaf"))
        return parse_count(key, value, 1 << 20, &tree->leaf_nodes, error);
    if (g_str_equal(key, "nics")) {
        if (!parse_count(key, value, p->gpus_per_node, &count, error))
            return false;
        p->nics_per_node = (int32_t)count;
        return true;
    }
    if (g_str_equal(key, "oversub"))
        return parse_value(key, value, RH_QUANTITY_COUNT, &rh_range_oversubscription,
                           &tree->oversubscription, error);
    RhFactRow row;
    const char *path = g_str_equal(key, "latency")  ? "nic.latency"
                       : g_str_equal(key, "nvlink") ? "nvlink.bandwidth"
                                                    : "nic.bandwidth";
    if (!rh_facts_find(p, path, &row) ||
        !parse_value(key, value, row.kind, row.range, &number, error))
        return false;
    *rh_facts_at(p, &row) = fact_from_line(number);
    return true;
}

/* Is the key one of three names for the rate of a NIC? */
static bool is_nic_rate(const char *key)
{
    return g_str_equal(key, "ib") || g_str_equal(key, "eth") || g_str_equal(key, "roce");
}

/* Builds one switch above all nodes, or leaves of `leaf` nodes below it. */
static bool build_tiers(RhPlatform *p, const Tree *tree, GError **error)
{
    RhFact hop_s = p->tiers_count > 0 ? p->tiers[0].hop_latency_s : fact_from_line(0);
    if (tree->leaf_nodes == 0 && tree->oversubscription != 1)
        return rh_fail(error, RH_ERROR_INPUT,
                       "oversub needs leaves\nhelp: add leaf:NODES, nodes below one leaf switch");
    p->tiers_count = 0;
    if (tree->leaf_nodes > 0)
        p->tiers[p->tiers_count++] = (RhSwitchLevel){
            .name = rh_intern("leaf"),
            .nodes_per_group = (int32_t)tree->leaf_nodes,
            .oversubscription = fact_from_line(tree->oversubscription),
            .rail_optimised = tree->rail_optimised,
            .hop_latency_s = hop_s,
        };
    p->tiers[p->tiers_count++] = (RhSwitchLevel){
        .name = rh_intern("spine"),
        .nodes_per_group = 1 << 20,
        .oversubscription = fact_from_line(1),
        .rail_optimised = tree->rail_optimised && tree->leaf_nodes == 0,
        .hop_latency_s = hop_s,
    };
    return true;
}

static bool apply_words(RhPlatform *p, char **words, GError **error)
{
    Tree tree = {.oversubscription = 1};
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint i = 1; words[i] != NULL; i++) {
        const char *colon = strchr(words[i], ':');
        g_autofree char *key =
            colon == NULL ? g_strdup(words[i]) : g_strndup(words[i], (size_t)(colon - words[i]));
        if (!g_strv_contains(KEYS, key))
            return rh_catalogue_fail_unknown("key", key, KEYS, error);
        if (!g_hash_table_add(seen, g_strdup(is_nic_rate(key) ? "ib" : key)))
            return rh_fail(error, RH_ERROR_INPUT, "\"%s\" is given twice", key);
        if (colon == NULL && !g_str_equal(key, "rail"))
            return rh_fail(error, RH_ERROR_INPUT, "\"%s\" has no value\nhelp: %s:VALUE", key, key);
        if (!apply_value(p, &tree, key, colon == NULL ? "" : colon + 1, error))
            return false;
    }
    return build_tiers(p, &tree, error);
}

RhPlatform *rh_platform_parse_oneline(const char *spec, GError **error)
{
    g_auto(GStrv) words = g_strsplit(spec, ",", -1);
    g_autoptr(RhPlatform) p = begin_oneline(words[0], error);
    if (p == NULL || !apply_words(p, words, error)) {
        g_prefix_error(error, "platform \"%s\": ", spec);
        return NULL;
    }
    p->name = rh_intern(spec);
    p->description = rh_intern("one-line platform");
    rh_platform_hash_add(p, "line", spec);
    return g_steal_pointer(&p);
}
