/* Converts links to their names, and names to links. */
#include <string.h>

#include "base/units.h"
#include "platforms/fabric/fabric_link_numbers.h"

static char *tier_link_name(const RhSwitchLevel *tier, const RhLinkParts *x)
{
    const char *end = x->end == RH_LINK_UP ? "up" : "down";
    if (tier->rail_optimised)
        return g_strdup_printf("%s/%d/rail%d/%s", tier->name, x->owner, x->unit, end);
    return g_strdup_printf("%s/%d/%s", tier->name, x->owner, end);
}

/* Name of a wiring's link: "islands/node3/1/out", "torus/node12/x+". */
static char *wired_name(const RhPlatform *p, const RhLinkParts *x)
{
    const RhWiring *wiring = x->kind == RH_LINK_INSIDE ? p->inside : p->outside;
    g_autofree char *own = wiring->link_name(p, x->unit);
    return x->kind == RH_LINK_INSIDE ? g_strdup_printf("%s/node%d/%s", wiring->name, x->owner, own)
                                     : g_strdup_printf("%s/%s", wiring->name, own);
}

char *rh_platform_link_name(const RhPlatform *p, RhLink link)
{
    g_return_val_if_fail(link >= 0 && link < rh_platform_links_count(p), NULL);
    RhLinkParts x = rh_link_parts(p, link);
    const char *end = x.end == RH_LINK_UP ? "up" : "down";
    if (x.kind == RH_LINK_INSIDE || x.kind == RH_LINK_OUTSIDE)
        return wired_name(p, &x);
    if (x.kind == RH_LINK_NVLINK)
        return g_strdup_printf("nvlink/node%d/gpu%d/%s", x.owner / p->gpus_per_node,
                               x.owner % p->gpus_per_node, end);
    if (x.kind == RH_LINK_NIC)
        return g_strdup_printf("nic/node%d/%d/%s", x.owner, x.unit,
                               x.end == RH_LINK_UP ? "tx" : "rx");
    end = x.end == RH_LINK_UP ? "out" : "in";
    if (x.kind == RH_LINK_HOST)
        return g_strdup_printf("host/node%d/gpu%d/%s", x.owner / p->gpus_per_node,
                               x.owner % p->gpus_per_node, end);
    if (x.kind == RH_LINK_NVME)
        return g_strdup_printf("nvme/node%d/%s", x.owner, end);
    if (x.kind == RH_LINK_MEMORY)
        return g_strdup_printf("memory/node%d/%s", x.owner, end);
    if (x.kind == RH_LINK_STORAGE)
        return x.owner < p->nodes_count ? g_strdup_printf("storage/node%d/%s", x.owner, end)
                                        : g_strdup_printf("storage/servers/%s", end);
    return tier_link_name(&p->tiers[x.tier], &x);
}

/* Number below `limit` of the text "PREFIX123"; -1 for other texts. */
static int32_t number_after(const char *text, const char *prefix, int32_t limit)
{
    int64_t value = -1;
    if (text == NULL || !g_str_has_prefix(text, prefix))
        return -1;
    return rh_integer_parse(text + strlen(prefix), 0, limit - 1, &value, NULL) ? (int32_t)value
                                                                               : -1;
}

static int32_t end_by_name(const char *text, const char *up, const char *down)
{
    if (text == NULL)
        return -1;
    return g_str_equal(text, up) ? RH_LINK_UP : g_str_equal(text, down) ? RH_LINK_DOWN : -1;
}

/* Link of a wiring from its name. The wiring proposes a link, which is accepted if its name is the
 * one asked for. */
static RhLink wired_link_by_name(const RhPlatform *p, char **words, const char *name)
{
    bool inside = p->inside && g_str_equal(words[0], p->inside->name);
    const RhWiring *wiring = inside ? p->inside : p->outside;
    int32_t node = inside ? number_after(words[1], "node", p->nodes_count) : 0;
    const char *rest = name + strlen(words[0]) + 1 + (inside ? strlen(words[1]) + 1 : 0);
    int64_t each = wiring->links(p), link = wiring->link_named(p, rest);
    if (node < 0 || link < 0 || link >= each)
        return -1;
    RhLink found = (inside ? rh_wired_base(p) : rh_outside_base(p)) + (RhLink)(node * each + link);
    g_autofree char *its = rh_platform_link_name(p, found);
    return g_str_equal(its, name) ? found : -1;
}

static RhLink tier_link_by_words(const RhPlatform *p, char **words, guint count)
{
    for (int32_t t = 0; t < p->tiers_count - 1; t++) {
        const RhSwitchLevel *tier = &p->tiers[t];
        if (!g_str_equal(words[0], tier->name) || count != (tier->rail_optimised ? 4u : 3u))
            continue;
        int32_t rails = rh_tier_rails(p, t), end = end_by_name(words[count - 1], "up", "down");
        int32_t group = number_after(words[1], "", rh_tier_groups(p, t));
        int32_t rail = tier->rail_optimised ? number_after(words[2], "rail", rails) : 0;
        if (group < 0 || rail < 0 || end < 0)
            return -1;
        return rh_tier_base(p, t) + 2 * (group * rails + rail) + end;
    }
    return -1;
}

/* Link of host copies, of drives or of hosts' memory from its words: "host/node3/gpu5/out",
 * "nvme/node3/in", "memory/node3/out". */
static RhLink copy_link_by_words(const RhPlatform *p, char **words, guint count)
{
    bool host = g_str_equal(words[0], "host"), memory = g_str_equal(words[0], "memory");
    int32_t node = number_after(words[1], "node", p->nodes_count);
    int32_t gpu = host ? number_after(words[2], "gpu", p->gpus_per_node) : 0;
    int32_t end = end_by_name(words[count - 1], "out", "in");
    if (count != (host ? 4u : 3u) || node < 0 || gpu < 0 || end < 0 ||
        (!host && !memory && p->nvme_bytes_per_s.value <= 0) ||
        (memory && p->host_memory_bytes_per_s.value <= 0))
        return -1;
    if (memory)
        return rh_platform_memory_link(p, node) + end;
    return host ? rh_platform_host_link(p, node * p->gpus_per_node + gpu, end == RH_LINK_UP)
                : rh_platform_nvme_link(p, node, end == RH_LINK_UP);
}

/* Link to the storage from its words: "storage/node3/out", "storage/servers/in". */
static RhLink storage_link_by_words(const RhPlatform *p, char **words, guint count)
{
    bool servers = g_str_equal(words[1], "servers");
    int32_t owner = servers ? p->nodes_count : number_after(words[1], "node", p->nodes_count);
    int32_t end = end_by_name(words[2], "out", "in");
    if (count != 3 || owner < 0 || end < 0 || p->storage.bytes_per_s.value <= 0)
        return -1;
    return rh_storage_base(p) + 2 * owner + end;
}

RhLink rh_platform_link_by_name(const RhPlatform *p, const char *name)
{
    g_return_val_if_fail(p != NULL && name != NULL, -1);
    g_auto(GStrv) words = g_strsplit(name, "/", -1);
    guint count = g_strv_length(words);
    if (count < 3)
        return -1;
    if (count == 4 && g_str_equal(words[0], "nvlink")) {
        int32_t node = number_after(words[1], "node", p->nodes_count);
        int32_t gpu = number_after(words[2], "gpu", p->gpus_per_node);
        int32_t end = end_by_name(words[3], "up", "down");
        return node < 0 || gpu < 0 || end < 0 ? -1 : 2 * (node * p->gpus_per_node + gpu) + end;
    }
    if (count == 4 && g_str_equal(words[0], "nic")) {
        int32_t node = number_after(words[1], "node", p->nodes_count);
        int32_t nic = number_after(words[2], "", p->nics_per_node);
        int32_t end = end_by_name(words[3], "tx", "rx");
        return node < 0 || nic < 0 || end < 0
                   ? -1
                   : rh_nic_base(p) + 2 * (node * p->nics_per_node + nic) + end;
    }
    if (g_str_equal(words[0], "host") || g_str_equal(words[0], "nvme") ||
        g_str_equal(words[0], "memory"))
        return copy_link_by_words(p, words, count);
    if (g_str_equal(words[0], "storage"))
        return storage_link_by_words(p, words, count);
    bool wired = (p->inside && g_str_equal(words[0], p->inside->name)) ||
                 (p->outside && g_str_equal(words[0], p->outside->name));
    return wired ? wired_link_by_name(p, words, name) : tier_link_by_words(p, words, count);
}
