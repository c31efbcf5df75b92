/* Sets KEY=VALUE on a loaded platform: the table of facts (platform_constants.h), counts, tiers and links. */
#include <string.h>

#include "base/error.h"
#include "base/interned_strings.h"
#include "base/text/nearest_names.h"
#include "base/units.h"
#include "platforms/fabric/collective_library.h"
#include "platforms/fabric/nccl_protocol.h"
#include "platforms/platform_constants.h"
#include "platforms/platform_private.h"

#define DEVICE_KEY "device."
static const char *const COUNT_KEYS[] = {"nodes", "gpus_per_node", "nics_per_node", NULL};
#define COUNT_KEYS_COUNT (G_N_ELEMENTS(COUNT_KEYS) - 1)

static const RhRange slow = {0.01, 1, false}; /* relative speed of a GPU */

static bool parse_within(const char *key, const char *value, RhQuantity kind, const RhRange *range,
                         double *out, GError **error)
{
    double parsed = 0;
    g_autoptr(GError) inner = NULL;
    if (!rh_quantity_parse(value, kind, &parsed, &inner))
        return rh_fail(error, RH_ERROR_USAGE, "%s: %s", key, inner->message);
    if (!rh_range_holds(range, parsed)) {
        g_autofree char *wanted = rh_range_text(range, kind);
        return rh_fail(error, RH_ERROR_USAGE, "%s=%s: %s", key, value, wanted);
    }
    *out = parsed;
    return true;
}

static RhFact fact_set_by_user(double value)
{
    return (RhFact){.value = value,
                    .tag = RH_TAG_ASSUMED,
                    .source = rh_intern(RH_SOURCE_USER),
                    .date = rh_intern("")};
}

static bool set_fact(RhPlatform *p, const RhFactRow *row, const char *value, GError **error)
{
    double parsed = 0;
    if (!parse_within(row->key, value, row->kind, row->range, &parsed, error))
        return false;
    if (rh_facts_at(p, row) == &p->collective_sms && !rh_platform_can_hold(p->device, parsed))
        return rh_fail(error, RH_ERROR_USAGE, "%s=%s: the device has %d SMs", row->key, value,
                       p->device->sms_count);
    RhFact *fact = rh_facts_at(p, row);
    if (!row->device && fact->value > 0)
        rh_protocols_follow(p, fact, parsed / fact->value);
    *fact = fact_set_by_user(parsed);
    if (row->device)
        rh_device_refresh(p->device);
    return true;
}

/* Returns the rest of the path after "device.NAME.", NAME being that of the i-th device; NULL for
 * other paths. */
static const char *key_of_device(const RhPlatform *p, int32_t i, const char *key)
{
    g_autofree char *owner = g_strdup_printf(DEVICE_KEY "%s.", rh_platform_device(p, i)->name);
    return g_str_has_prefix(key, owner) ? key + strlen(owner) : NULL;
}

/* Index of the device that the path names; -1: none. */
static int32_t named_device(const RhPlatform *p, const char *key)
{
    for (int32_t i = 0; i < rh_platform_devices_count(p); i++)
        if (key_of_device(p, i, key))
            return i;
    return -1;
}

/* Sets a fact of a named device, as "device.a100-sxm-80.hbm", on all its nodes. *known is false
 * when no device is called so. */
static bool set_named_device(RhPlatform *p, const char *key, const char *value, bool *known,
                             GError **error)
{
    *known = false;
    for (int32_t i = 0; i < rh_platform_devices_count(p); i++) {
        const char *rest = key_of_device(p, i, key);
        if (!rest)
            continue;
        g_autofree char *plain = g_strconcat(DEVICE_KEY, rest, NULL);
        RhPlatform view = *p;
        RhFactRow row;
        view.device = rh_platform_device(p, i);
        if (!rh_facts_find(&view, plain, &row) || !row.device)
            return true;
        *known = true;
        if (!set_fact(&view, &row, value, error))
            return false;
    }
    return true;
}

static bool set_count(RhPlatform *p, guint which, const char *value, GError **error)
{
    const char *key = COUNT_KEYS[which];
    int64_t number = 0, low = 1, high = which == 0 ? 1 << 20 : 1024;
    g_autoptr(GError) inner = NULL;
    if (!rh_integer_parse(value, low, high, &number, &inner))
        return rh_fail(error, RH_ERROR_USAGE, "%s: %s", key, inner->message);
    int64_t gpus = which == 1 ? number : p->gpus_per_node;
    int64_t nics = which == 2 ? number : p->nics_per_node;
    if (nics > gpus)
        return rh_fail(error, RH_ERROR_USAGE, "%s=%s: %d NICs for %d GPUs: at most one NIC per GPU",
                       key, value, (int)nics, (int)gpus);
    if (p->link_changes->len + p->gpu_speeds->len > 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "%s must come before changes of single links and GPUs, which it renumbers",
                       key);
    if (which == 0 && !rh_platform_set_nodes(p, number, &inner))
        return rh_fail(error, RH_ERROR_USAGE, "%s=%s: %s", key, value, inner->message);
    if (which == 0)
        return true;
    if (which == 1 && number * p->nodes_count > RH_PLATFORM_GPUS_MAX)
        return rh_fail(error, RH_ERROR_USAGE, "%s=%s: more than %d GPUs", key, value,
                       RH_PLATFORM_GPUS_MAX);
    if (which == 1 && !rh_platform_wirings_allow(p, p->nodes_count, number, &inner))
        return rh_fail(error, RH_ERROR_USAGE, "%s=%s: %s", key, value, inner->message);
    int32_t *fields[] = {NULL, &p->gpus_per_node, &p->nics_per_node};
    *fields[which] = (int32_t)number;
    if (which == 1)
        rh_platform_settle_inside(p);
    return true;
}

/* Sets "TIER.oversubscription" or "TIER.hop_latency". *known is false when no tier has that
 * name. */
static bool set_tier(RhPlatform *p, const char *key, const char *value, bool *known, GError **error)
{
    *known = true;
    for (int32_t t = 0; t < p->tiers_count; t++) {
        RhSwitchLevel *tier = &p->tiers[t];
        size_t length = strlen(tier->name);
        if (strncmp(key, tier->name, length) != 0 || key[length] != '.')
            continue;
        const char *field = key + length + 1;
        double parsed = 0;
        if (g_str_equal(field, "hop_latency")) {
            if (!parse_within(key, value, RH_QUANTITY_S, &rh_range_hop_s, &parsed, error))
                return false;
            tier->hop_latency_s = fact_set_by_user(parsed);
            return true;
        }
        if (!g_str_equal(field, "oversubscription"))
            break;
        if (!parse_within(key, value, RH_QUANTITY_COUNT, &rh_range_oversubscription, &parsed,
                          error))
            return false;
        tier->oversubscription = fact_set_by_user(parsed);
        return true;
    }
    *known = false;
    return true;
}

static bool set_death(RhPlatform *p, RhLink link, const char *key, const char *when, GError **error)
{
    static const RhRange times = {0, 1e9, true};
    double t_s = 0;
    if (p->messages.sender == RH_SHARING_NONE)
        return rh_fail(error, RH_ERROR_USAGE,
                       "%s: links die on platforms with \"messages\" alone, not on %s", key,
                       p->name);
    if (!parse_within(key, when, RH_QUANTITY_S, &times, &t_s, error))
        return false;
    rh_platform_link_die(p, link, t_s);
    return true;
}

/* Scales one link, as "link.leaf/0/rail1/up": 0.5 or 50%; or sets its failure: "dies@300ms". */
static bool set_link(RhPlatform *p, const char *key, const char *value, GError **error)
{
    const char *name = key + strlen("link.");
    RhLink link = rh_platform_link_by_name(p, name);
    if (link < 0)
        return rh_fail(
            error, RH_ERROR_USAGE,
            "%s: %s has no link \"%s\"\nnote: links are named like nvlink/node0/gpu0/up, "
            "nic/node0/0/tx, TIER/GROUP/up or TIER/GROUP/railR/up",
            key, p->name, name);
    if (g_str_has_prefix(value, "dies@"))
        return set_death(p, link, key, value + strlen("dies@"), error);
    double scale = 0;
    if (!parse_within(key, value, RH_QUANTITY_FRAC, &rh_range_link_scale, &scale, error))
        return false;
    rh_platform_link_scale(p, link, scale);
    return true;
}

/* Number that ends `word` after `name`: 3 in "node3"; -1 for other words. */
static int64_t number_behind(const char *word, const char *name)
{
    int64_t number = -1;
    bool digits = g_str_has_prefix(word, name) && g_ascii_isdigit(word[strlen(name)]);
    return digits && rh_integer_parse(word + strlen(name), 0, G_MAXINT32, &number, NULL) ? number
                                                                                         : -1;
}

/* Sets "node3.gpu5.speed", or "node3.speed" for all its GPUs. *known is false for keys of another
 * form. */
static bool set_place(RhPlatform *p, const char *key, const char *value, bool *known,
                      GError **error)
{
    g_auto(GStrv) words = g_strsplit(key, ".", -1);
    guint count = g_strv_length(words);
    bool one = count == 3;
    *known = (one || count == 2) && g_str_equal(words[count - 1], "speed");
    int64_t node = *known ? number_behind(words[0], "node") : -1;
    int64_t local = *known && one ? number_behind(words[1], "gpu") : 0;
    *known &= node >= 0 && local >= 0;
    if (!*known)
        return true;
    if (node >= p->nodes_count)
        return rh_fail(error, RH_ERROR_USAGE, "%s: nodes of %s are 0 to %d", key, p->name,
                       p->nodes_count - 1);
    if (local >= p->gpus_per_node)
        return rh_fail(error, RH_ERROR_USAGE, "%s: GPUs of a node of %s are 0 to %d", key, p->name,
                       p->gpus_per_node - 1);
    double speed = 0;
    if (!parse_within(key, value, RH_QUANTITY_FRAC, &slow, &speed, error))
        return false;
    for (int32_t gpu = 0; gpu < p->gpus_per_node; gpu++)
        if (!one || gpu == local)
            rh_platform_gpu_slow(p, (int32_t)node * p->gpus_per_node + gpu, speed);
    return true;
}

/* Sets "gpu.17.speed": a slow GPU. */
static bool set_gpu(RhPlatform *p, const char *key, const char *value, GError **error)
{
    g_auto(GStrv) words = g_strsplit(key, ".", -1);
    int64_t gpu = 0;
    double speed = 0;
    g_autoptr(GError) inner = NULL;
    if (g_strv_length(words) != 3 || !g_str_equal(words[2], "speed"))
        return rh_fail(
            error, RH_ERROR_USAGE,
            "%s: a platform has no such path\nnote: of one GPU there is gpu.NUMBER.speed", key);
    if (!rh_integer_parse(words[1], 0, rh_platform_gpus(p) - 1, &gpu, &inner))
        return rh_fail(error, RH_ERROR_USAGE, "%s: GPUs of %s are numbered node by node: %s", key,
                       p->name, inner->message);
    if (!parse_within(key, value, RH_QUANTITY_FRAC, &slow, &speed, error))
        return false;
    rh_platform_gpu_slow(p, (int32_t)gpu, speed);
    return true;
}

static void add_listed(GStrvBuilder *names, const GArray *facts, const char *owner)
{
    for (guint i = 0; i < facts->len; i++) {
        g_autofree char *name = g_strconcat(owner, g_array_index(facts, RhListedFact, i).key, NULL);
        g_strv_builder_add(names, name);
    }
}

/* Adds the keys of a device after the first. */
static void add_device(GStrvBuilder *names, const RhDevice *device)
{
    g_autofree char *owner = g_strdup_printf(DEVICE_KEY "%s.", device->name);
    size_t count = 0;
    const RhFactRow *facts = rh_facts(&count);
    for (size_t i = 0; i < count; i++) {
        g_autofree char *name =
            facts[i].device ? g_strconcat(owner, facts[i].key + strlen(DEVICE_KEY), NULL) : NULL;
        if (name)
            g_strv_builder_add(names, name);
    }
    g_autoptr(GArray) tiles = rh_facts_of_tiles(device);
    add_listed(names, tiles, owner);
}

char **rh_platform_keys(const RhPlatform *p)
{
    g_autoptr(GStrvBuilder) names = g_strv_builder_new();
    size_t count = 0;
    const RhFactRow *facts = rh_facts(&count);
    for (size_t i = 0; i < count; i++)
        g_strv_builder_add(names, facts[i].key);
    g_strv_builder_addv(names, (const char **)COUNT_KEYS);
    g_autoptr(GArray) tiles = rh_facts_of_tiles(p->device), tiers = rh_facts_of_tiers(p);
    add_listed(names, tiles, DEVICE_KEY);
    for (int32_t i = 1; i < rh_platform_devices_count(p); i++)
        add_device(names, rh_platform_device(p, i));
    add_listed(names, tiers, "");
    return g_strv_builder_end(names);
}

/* Lists the keys that begin with the first `length` characters of `key`, separated by ", ", but of
 * each device after the first only its prefix; NULL when there are none. */
static char *keys_that_begin(const RhPlatform *p, char **keys, const char *key, size_t length)
{
    g_autoptr(GString) list = g_string_new(NULL);
    for (; *keys; keys++) {
        int32_t device = strncmp(*keys, key, length) == 0 ? named_device(p, *keys) : 0;
        bool folded = device > 0 && length <= strlen(DEVICE_KEY);
        if (strncmp(*keys, key, length) == 0 && !folded)
            g_string_append_printf(list, "%s%s", list->len ? ", " : "", *keys);
    }
    for (int32_t i = 1; length <= strlen(DEVICE_KEY) && i < rh_platform_devices_count(p); i++)
        if (strncmp(DEVICE_KEY, key, length) == 0)
            g_string_append_printf(list, ", " DEVICE_KEY "%s.*", rh_platform_device(p, i)->name);
    return list->len ? g_string_free(g_steal_pointer(&list), FALSE) : NULL;
}

/* Lists keys like an unknown one: those that share most of its words, for "device.peak.bf17"
 * "device.peak.*", for "nic.count" "nic.*" and "nics_per_node". NULL when there are none. */
static char *keys_of_family(const RhPlatform *p, char **keys, const char *key)
{
    for (const char *dot = key + strlen(key); dot > key; dot--) {
        char *found = *dot == '.' && strchr(key, '.') < dot
                          ? keys_that_begin(p, keys, key, (size_t)(dot + 1 - key))
                          : NULL;
        if (found)
            return found;
    }
    size_t length = strcspn(key, "._");
    return length > 1 ? keys_that_begin(p, keys, key, length) : NULL;
}

#define LIBRARY_KEY "library"

/* Patterns of the keys of single links and GPUs, and the key whose value is a name. */
static const char *const OTHER_KEYS[] = {"link.NAME", "gpu.NUMBER.speed", "nodeN.gpuM.speed",
                                         "nodeN.speed", LIBRARY_KEY};

/* Lists the first word of each key, once: "nvlink.*, nic.*, ..., nodes". Caller frees. */
static char *first_words(char **keys)
{
    g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
    for (; *keys; keys++) {
        size_t length = strcspn(*keys, ".");
        char *word = g_strdup_printf("%.*s%s", (int)length, *keys, (*keys)[length] ? ".*" : "");
        if (g_ptr_array_find_with_equal_func(words, word, g_str_equal, NULL))
            g_free(word);
        else
            g_ptr_array_add(words, word);
    }
    g_ptr_array_add(words, NULL);
    return g_strjoinv(", ", (char **)words->pdata);
}

static bool fail_unknown(const RhPlatform *p, const char *key, GError **error)
{
    g_autoptr(GStrvBuilder) names = g_strv_builder_new();
    g_auto(GStrv) known = rh_platform_keys(p);
    const char *near = rh_near_name(key, (const char *const *)known);
    g_strv_builder_addv(names, (const char **)known);
    for (size_t i = 0; i < G_N_ELEMENTS(OTHER_KEYS); i++)
        g_strv_builder_add(names, OTHER_KEYS[i]);
    g_auto(GStrv) keys = g_strv_builder_end(names);
    g_autofree char *list = keys_of_family(p, keys, key) ?: first_words(keys);
    g_autofree char *help =
        near ? g_strdup_printf("\nhelp: a similar path exists: %s", near) : g_strdup("");
    return rh_fail(error, RH_ERROR_USAGE, "%s: a platform has no such path\nnote: %s%s", key, list,
                   help);
}

static bool set_library(RhPlatform *p, const char *value, GError **error)
{
    const RhLibrary *library = rh_library_by_name(value, error);
    if (!library)
        return false;
    rh_platform_set_library(p, library);
    p->library_given = true;
    rh_platform_hash_add(p, LIBRARY_KEY, library->hash);
    return true;
}

static bool set_any(RhPlatform *p, const char *key, const char *value, GError **error)
{
    RhFactRow row;
    if (rh_facts_find(p, key, &row))
        return set_fact(p, &row, value, error);
    for (guint i = 0; i < COUNT_KEYS_COUNT; i++)
        if (g_str_equal(COUNT_KEYS[i], key))
            return set_count(p, i, value, error);
    if (g_str_equal(key, LIBRARY_KEY))
        return set_library(p, value, error);
    if (g_str_has_prefix(key, "link."))
        return set_link(p, key, value, error);
    if (g_str_has_prefix(key, "gpu."))
        return set_gpu(p, key, value, error);
    bool known = false;
    if (!set_place(p, key, value, &known, error))
        return false;
    if (!known && !set_named_device(p, key, value, &known, error))
        return false;
    if (!known && !set_tier(p, key, value, &known, error))
        return false;
    return known ? true : fail_unknown(p, key, error);
}

bool rh_platform_set(RhPlatform *platform, const char *key, const char *value, GError **error)
{
    g_return_val_if_fail(platform != NULL && key != NULL && value != NULL, false);
    if (!set_any(platform, key, value, error))
        return false;
    rh_platform_hash_add(platform, key, value);
    return true;
}
