/* Links by arithmetic and routes through the tree of switches.
 *
 * Numbers, in this order (G GPUs, N nodes of c NICs, tiers t = 0 .. T-2 that have uplinks):
 *   nvlink   2 * gpu + {0 up, 1 down}
 *   nic      2 G + 2 * (node * c + nic) + {0 tx, 1 rx}
 *   tier t   base(t) + 2 * (group * rails(t) + rail) + {0 up, 1 down},  rails(t) = c or 1
 *   host     base(T) + 2 * gpu + {0 out, 1 in}, the first of those that share a link
 *   nvme     base(T) + 2 G + 2 * node + {0 out, 1 in}, where there are drives
 *   wirings  behind those: of node 0, node 1 ... inside; then those between nodes (wiring.h) */
#include <string.h>

#include <math.h>

#include "base/units.h"
#include "platforms/platform.h"
#include "platforms/wiring.h"

typedef enum { END_UP, END_DOWN } End; /* also tx and rx, out and in */

/* A link taken apart. */
typedef struct {
    enum { KIND_NVLINK, KIND_NIC, KIND_TIER, KIND_HOST, KIND_NVME, KIND_INSIDE, KIND_OUTSIDE } kind;
    int32_t tier;
    int32_t owner; /* gpu, node or group */
    int32_t unit;  /* NIC, rail, or the number of a wiring's link */
    End end;
} LinkParts;

int32_t rh_platform_gpus(const RhPlatform *p)
{
    return p->nodes_count * p->gpus_per_node;
}

static inline int32_t tier_rails(const RhPlatform *p, int32_t t)
{
    return p->tiers[t].rail_optimised ? p->nics_per_node : 1;
}

static inline bool tier_is_root(const RhPlatform *p, int32_t t)
{
    return t == p->tiers_count - 1;
}

static inline int32_t tier_group(const RhPlatform *p, int32_t t, int32_t node)
{
    return tier_is_root(p, t) ? 0 : node / p->tiers[t].nodes_per_group;
}

static inline int32_t tier_groups(const RhPlatform *p, int32_t t)
{
    return tier_group(p, t, p->nodes_count - 1) + 1;
}

static inline int32_t tier_links(const RhPlatform *p, int32_t t)
{
    return tier_is_root(p, t) ? 0 : 2 * tier_groups(p, t) * tier_rails(p, t);
}

static inline int32_t nic_base(const RhPlatform *p)
{
    return 2 * rh_platform_gpus(p);
}

static inline int32_t tier_base(const RhPlatform *p, int32_t tier)
{
    int32_t base = nic_base(p) + 2 * p->nodes_count * p->nics_per_node;
    for (int32_t t = 0; t < tier; t++)
        base += tier_links(p, t);
    return base;
}

static inline int32_t host_base(const RhPlatform *p)
{
    return tier_base(p, p->tiers_count);
}

static inline int32_t nvme_base(const RhPlatform *p)
{
    return host_base(p) + 2 * rh_platform_gpus(p);
}

static inline int32_t wired_base(const RhPlatform *p)
{
    return nvme_base(p) + (p->nvme_bytes_per_s.value > 0 ? 2 * p->nodes_count : 0);
}

static inline int32_t outside_base(const RhPlatform *p)
{
    return wired_base(p) + (p->inside ? p->nodes_count * p->inside->links(p) : 0);
}

int32_t rh_platform_links_count(const RhPlatform *p)
{
    return outside_base(p) + (p->outside ? p->outside->links(p) : 0);
}

RhLink rh_platform_host_link(const RhPlatform *p, int32_t gpu, bool out)
{
    int32_t sharers = MAX(1, (int32_t)p->host_gpus_per_link.value);
    int32_t local = gpu % p->gpus_per_node, first = local / sharers * sharers;
    return host_base(p) + 2 * (gpu - local + first) + (out ? END_UP : END_DOWN);
}

RhLink rh_platform_nvme_link(const RhPlatform *p, int32_t node, bool out)
{
    return nvme_base(p) + 2 * node + (out ? END_UP : END_DOWN);
}

static inline int32_t gpu_nic(const RhPlatform *p, int32_t gpu)
{
    return (int32_t)((int64_t)(gpu % p->gpus_per_node) * p->nics_per_node / p->gpus_per_node);
}

/* The tier at which the two meet. A rail-optimised tier joins only NICs of one rail. */
static int32_t meeting_tier(const RhPlatform *p, int32_t node_a, int32_t node_b, bool rail_same)
{
    int32_t t = 0;
    while (!tier_is_root(p, t) && (tier_group(p, t, node_a) != tier_group(p, t, node_b) ||
                                   (p->tiers[t].rail_optimised && !rail_same)))
        t++;
    return t;
}

/* Rails that never meet, not even at the root: traffic changes rail over NVLink before it leaves
 * the node (NCCL's PXN), by way of the first GPU of the wanted rail. */
static bool needs_proxy(const RhPlatform *p, int32_t rail_src, int32_t rail_dst)
{
    return rail_src != rail_dst && p->tiers[p->tiers_count - 1].rail_optimised;
}

static int32_t proxy_of(const RhPlatform *p, int32_t src, int32_t rail)
{
    int32_t local = (rail * p->gpus_per_node + p->nics_per_node - 1) / p->nics_per_node;
    return rh_platform_node_of(p, src) * p->gpus_per_node + local;
}

/* The links of a wiring as those of the platform; how many. */
static int32_t add_wired(const RhPlatform *p, const RhWiring *wiring, int32_t src, int32_t dst,
                         RhLink base, RhLink *links)
{
    int32_t count = wiring->route(p, src, dst, links);
    for (int32_t i = 0; i < count; i++)
        links[i] += base;
    return count;
}

/* From one GPU's port to another's of the same node. */
static int32_t add_inside(const RhPlatform *p, int32_t src, int32_t dst, RhLink *links)
{
    int32_t count = 0, node = rh_platform_node_of(p, src), first = node * p->gpus_per_node;
    bool by_host =
        p->inside && p->inside->by_host && p->inside->by_host(p, src - first, dst - first);
    links[count++] = by_host ? rh_platform_host_link(p, src, true) : 2 * src + END_UP;
    if (p->inside)
        count += add_wired(p, p->inside, src - first, dst - first,
                           wired_base(p) + node * p->inside->links(p), links + count);
    links[count++] = by_host ? rh_platform_host_link(p, dst, false) : 2 * dst + END_DOWN;
    return count;
}

int32_t rh_platform_route(const RhPlatform *p, int32_t src, int32_t dst, RhLink links[RH_ROUTE_MAX])
{
    int32_t count = 0, node_src = rh_platform_node_of(p, src),
            node_dst = rh_platform_node_of(p, dst);
    if (src == dst)
        return 0;
    if (node_src == node_dst)
        return add_inside(p, src, dst, links);
    int32_t rail_src = gpu_nic(p, src), rail_dst = gpu_nic(p, dst);
    if (needs_proxy(p, rail_src, rail_dst)) {
        count = add_inside(p, src, proxy_of(p, src, rail_dst), links);
        rail_src = rail_dst;
    }
    int32_t nics = nic_base(p), top = meeting_tier(p, node_src, node_dst, rail_src == rail_dst);
    links[count++] = nics + 2 * (node_src * p->nics_per_node + rail_src) + END_UP;
    if (p->outside)
        count += add_wired(p, p->outside, node_src, node_dst, outside_base(p), links + count);
    int32_t base = nics + 2 * p->nodes_count * p->nics_per_node, bases[RH_TIERS_MAX];
    for (int32_t t = 0; t < top; t++) {
        int32_t rails = tier_rails(p, t), rail = rails > 1 ? rail_src : 0;
        bases[t] = base;
        links[count++] = base + 2 * (tier_group(p, t, node_src) * rails + rail) + END_UP;
        base += tier_links(p, t);
    }
    for (int32_t t = top - 1; t >= 0; t--) {
        int32_t rails = tier_rails(p, t), rail = rails > 1 ? rail_dst : 0;
        links[count++] = bases[t] + 2 * (tier_group(p, t, node_dst) * rails + rail) + END_DOWN;
    }
    links[count++] = nics + 2 * (node_dst * p->nics_per_node + rail_dst) + END_DOWN;
    return count;
}

RhLink rh_platform_link_turned(const RhPlatform *p, int32_t block, RhLink link, int32_t *alike)
{
    int32_t base = 0, tier = 0;
    bool own = true;              /* at a place of the block */
    if (link < tier_base(p, 0)) { /* most are asked for */
        if (link >= nic_base(p)) {
            base = nic_base(p);
            own = p->nics_per_node == p->gpus_per_node;
        }
        *alike = own ? block : 1;
        return own ? link - 2 * ((link - base) / 2 % block) : link;
    }
    if (link >= wired_base(p)) {
        *alike = 1;
        return link;
    }
    if (link >= host_base(p)) {
        own = link < nvme_base(p) && p->host_gpus_per_link.value <= 1;
        *alike = own ? block : 1;
        return own ? link - 2 * ((link - host_base(p)) / 2 % block) : link;
    }
    own = p->nics_per_node == p->gpus_per_node;
    if (own) {
        while (link >= tier_base(p, tier + 1))
            tier++;
        base = tier_base(p, tier);
        own = p->tiers[tier].rail_optimised;
    }
    *alike = own ? block : 1;
    return own ? link - 2 * ((link - base) / 2 % block) : link;
}

RhFootprint rh_platform_footprint(void)
{
    RhFootprint none = {.first_node = G_MAXINT32, .last_node = -1};
    for (int32_t t = 0; t < RH_TIERS_MAX; t++)
        none.least[t] = G_MAXINT32;
    return none;
}

void rh_platform_footprint_add(const RhPlatform *p, RhFootprint *set, int32_t gpu)
{
    int32_t node = rh_platform_node_of(p, gpu);
    set->first_node = MIN(set->first_node, node);
    set->last_node = MAX(set->last_node, node);
    for (int32_t t = 0; t + 1 < p->tiers_count; t++) {
        int32_t place = node % p->tiers[t].nodes_per_group;
        set->least[t] = MIN(set->least[t], place);
        set->most[t] = MAX(set->most[t], place);
    }
}

/* All below other switches, as far on for one as for any, and these as full as those. */
static bool tier_moves_alike(const RhPlatform *p, int32_t t, const RhFootprint *set, int32_t by)
{
    int32_t nodes = p->tiers[t].nodes_per_group, places = (by % nodes + nodes) % nodes;
    bool none_passes = set->most[t] + places < nodes, all_pass = set->least[t] + places >= nodes;
    if (!none_passes && !all_pass)
        return false;
    int32_t switches = (by - places) / nodes + all_pass;
    return switches == 0 || set->last_node + MAX(0, by) < p->nodes_count / nodes * nodes;
}

bool rh_platform_moves_alike(const RhPlatform *p, const RhFootprint *set, int32_t by_gpus)
{
    int32_t by = by_gpus / p->gpus_per_node;
    if (by_gpus % p->gpus_per_node != 0 || p->link_changes->len > 0 || set->last_node < 0 ||
        (p->outside && by != 0) || set->first_node + by < 0 ||
        set->last_node + by >= p->nodes_count)
        return false;
    for (int32_t t = 0; t + 1 < p->tiers_count; t++)
        if (!tier_moves_alike(p, t, set, by))
            return false;
    return true;
}

double rh_platform_route_latency_s(const RhPlatform *p, int32_t src, int32_t dst)
{
    int32_t node_src = rh_platform_node_of(p, src), node_dst = rh_platform_node_of(p, dst);
    if (src == dst)
        return 0;
    if (node_src == node_dst) {
        int32_t each = p->gpus_per_node;
        bool counts = p->inside && p->inside->hops;
        return p->nvlink_latency_s.value *
               (counts ? p->inside->hops(p, src % each, dst % each) : 1);
    }
    int32_t rail_src = gpu_nic(p, src), rail_dst = gpu_nic(p, dst);
    bool proxied = needs_proxy(p, rail_src, rail_dst);
    double latency_s = p->nic_latency_s.value + (proxied ? p->nvlink_latency_s.value : 0);
    int32_t top = meeting_tier(p, node_src, node_dst, proxied || rail_src == rail_dst);
    for (int32_t t = 0; t <= top; t++)
        latency_s += p->tiers[t].hop_latency_s.value *
                     (p->outside ? p->outside->hops(p, node_src, node_dst) : 1);
    return latency_s;
}

static bool is_full(const RhPlatform *p, int32_t t, int32_t node)
{
    return (tier_group(p, t, node) + 1) * p->tiers[t].nodes_per_group <= p->nodes_count;
}

int32_t rh_platform_route_kind(const RhPlatform *p, int32_t src, int32_t dst)
{
    int32_t node_src = rh_platform_node_of(p, src), node_dst = rh_platform_node_of(p, dst);
    int32_t rail_src = gpu_nic(p, src), rail_dst = gpu_nic(p, dst);
    if (src == dst || p->link_changes->len > 0 || p->inside || p->outside)
        return -1;
    if (node_src == node_dst)
        return 0;
    if (needs_proxy(p, rail_src, rail_dst))
        return -1;
    int32_t top = meeting_tier(p, node_src, node_dst, rail_src == rail_dst);
    for (int32_t t = 0; t < top; t++)
        if (!is_full(p, t, node_src) || !is_full(p, t, node_dst))
            return -1;
    return 1 + top;
}

/* Behind all others. */
static LinkParts wired_parts(const RhPlatform *p, RhLink link)
{
    if (link >= outside_base(p))
        return (LinkParts){.kind = KIND_OUTSIDE, .unit = link - outside_base(p)};
    int32_t index = link - wired_base(p), each = p->inside->links(p);
    return (LinkParts){.kind = KIND_INSIDE, .owner = index / each, .unit = index % each};
}

static LinkParts link_parts(const RhPlatform *p, RhLink link)
{
    if (link >= wired_base(p))
        return wired_parts(p, link);
    LinkParts parts = {.end = (link & 1) ? END_DOWN : END_UP};
    int32_t base = nic_base(p);
    if (link < base) {
        parts.kind = KIND_NVLINK;
        parts.owner = link / 2;
        return parts;
    }
    if (link >= host_base(p)) {
        parts.kind = link >= nvme_base(p) ? KIND_NVME : KIND_HOST;
        parts.owner = (link - (link >= nvme_base(p) ? nvme_base(p) : host_base(p))) / 2;
        return parts;
    }
    int32_t index = (link - base) / 2, units = p->nics_per_node;
    parts.kind = KIND_NIC;
    base += 2 * p->nodes_count * p->nics_per_node;
    if (link >= base) {
        parts.kind = KIND_TIER;
        while (link >= base + tier_links(p, parts.tier))
            base += tier_links(p, parts.tier++);
        index = (link - base) / 2;
        units = tier_rails(p, parts.tier);
    }
    parts.owner = index / units;
    parts.unit = index % units;
    return parts;
}

/* Nodes below one group; the last one may hold fewer. */
static int32_t group_nodes(const RhPlatform *p, int32_t t, int32_t group)
{
    int32_t per_group = p->tiers[t].nodes_per_group;
    return MIN(per_group, p->nodes_count - group * per_group);
}

double rh_platform_link_rated_bytes_per_s(const RhPlatform *p, RhLink link)
{
    LinkParts parts = link_parts(p, link);
    if (parts.kind == KIND_NVLINK)
        return p->nvlink_bytes_per_s.value * p->nvlink_efficiency_frac.value;
    if (parts.kind == KIND_INSIDE)
        return p->inside->bytes_per_s(p, parts.unit);
    if (parts.kind == KIND_OUTSIDE)
        return p->outside->bytes_per_s(p, parts.unit);
    if (parts.kind == KIND_HOST)
        return p->host_bytes_per_s.value;
    if (parts.kind == KIND_NVME)
        return p->nvme_bytes_per_s.value;
    double nic = p->nic_bytes_per_s.value * p->nic_efficiency_frac.value;
    if (parts.kind == KIND_NIC)
        return nic;
    double bytes_per_s = nic * group_nodes(p, parts.tier, parts.owner) * p->nics_per_node /
                         tier_rails(p, parts.tier);
    for (int32_t t = 0; t <= parts.tier; t++)
        bytes_per_s /= p->tiers[t].oversubscription.value;
    return bytes_per_s;
}

RhSwitchLinks rh_platform_switch_links(const RhPlatform *p)
{
    RhSwitchLinks links = {tier_base(p, 0), tier_base(p, 0), host_base(p)};
    for (int32_t t = 0; t < p->tiers_count && p->link_changes->len == 0; t++) {
        if (p->tiers[t].oversubscription.value > 1)
            break;
        links.ample_end += tier_links(p, t);
    }
    return links;
}

static const RhLinkChange *change_of(const RhPlatform *p, RhLink link)
{
    for (guint i = 0; i < p->link_changes->len; i++) {
        const RhLinkChange *change = &g_array_index(p->link_changes, RhLinkChange, i);
        if (change->link == link)
            return change;
    }
    return NULL;
}

static RhLinkChange *change_for(RhPlatform *p, RhLink link)
{
    RhLinkChange unchanged = {link, 1, (double)INFINITY};
    if (!change_of(p, link))
        g_array_append_val(p->link_changes, unchanged);
    return (RhLinkChange *)change_of(p, link);
}

double rh_platform_link_bytes_per_s(const RhPlatform *p, RhLink link)
{
    int32_t nics = nic_base(p), tiers = nics + 2 * p->nodes_count * p->nics_per_node;
    if (link >= 0 && link < tiers && p->link_changes->len == 0) /* most are asked for */
        return link < nics ? p->nvlink_bytes_per_s.value * p->nvlink_efficiency_frac.value
                           : p->nic_bytes_per_s.value * p->nic_efficiency_frac.value;
    g_return_val_if_fail(link >= 0 && link < rh_platform_links_count(p), 0);
    const RhLinkChange *change = change_of(p, link);
    return rh_platform_link_rated_bytes_per_s(p, link) * (change ? change->scale : 1);
}

void rh_platform_link_scale(RhPlatform *p, RhLink link, double scale)
{
    g_return_if_fail(link >= 0 && link < rh_platform_links_count(p) && scale > 0);
    change_for(p, link)->scale = scale;
}

RhPlatform *rh_platform_evened(const RhPlatform *p)
{
    RhPlatform *even = rh_platform_copy(p);
    double most = 1;
    for (guint i = 0; i < p->link_changes->len; i++)
        most = fmax(most, g_array_index(p->link_changes, RhLinkChange, i).scale);
    g_array_set_size(even->link_changes, 0);
    even->nvlink_efficiency_frac.value *= most;
    even->nic_efficiency_frac.value *= most;
    even->host_bytes_per_s.value *= most;
    even->nvme_bytes_per_s.value *= most;
    for (RhProtocol i = RH_PROTOCOL_NONE; i < RH_PROTOCOL_LAST; i++) {
        even->nvlink_protocols[i].efficiency_frac.value *= most;
        even->nic_protocols[i].efficiency_frac.value *= most;
    }
    return even;
}

double rh_platform_link_dies_s(const RhPlatform *p, RhLink link)
{
    const RhLinkChange *change = change_of(p, link);
    return change ? change->t_dies_s : (double)INFINITY;
}

void rh_platform_link_die(RhPlatform *p, RhLink link, double t_dies_s)
{
    g_return_if_fail(link >= 0 && link < rh_platform_links_count(p) && t_dies_s >= 0);
    change_for(p, link)->t_dies_s = t_dies_s;
}

static char *tier_link_name(const RhTier *tier, const LinkParts *x)
{
    const char *end = x->end == END_UP ? "up" : "down";
    if (tier->rail_optimised)
        return g_strdup_printf("%s/%d/rail%d/%s", tier->name, x->owner, x->unit, end);
    return g_strdup_printf("%s/%d/%s", tier->name, x->owner, end);
}

/* "islands/node3/1/out", "torus/node12/x+" */
static char *wired_name(const RhPlatform *p, const LinkParts *x)
{
    const RhWiring *wiring = x->kind == KIND_INSIDE ? p->inside : p->outside;
    g_autofree char *own = wiring->link_name(p, x->unit);
    return x->kind == KIND_INSIDE ? g_strdup_printf("%s/node%d/%s", wiring->name, x->owner, own)
                                  : g_strdup_printf("%s/%s", wiring->name, own);
}

char *rh_platform_link_name(const RhPlatform *p, RhLink link)
{
    g_return_val_if_fail(link >= 0 && link < rh_platform_links_count(p), NULL);
    LinkParts x = link_parts(p, link);
    const char *end = x.end == END_UP ? "up" : "down";
    if (x.kind == KIND_INSIDE || x.kind == KIND_OUTSIDE)
        return wired_name(p, &x);
    if (x.kind == KIND_NVLINK)
        return g_strdup_printf("nvlink/node%d/gpu%d/%s", x.owner / p->gpus_per_node,
                               x.owner % p->gpus_per_node, end);
    if (x.kind == KIND_NIC)
        return g_strdup_printf("nic/node%d/%d/%s", x.owner, x.unit, x.end == END_UP ? "tx" : "rx");
    end = x.end == END_UP ? "out" : "in";
    if (x.kind == KIND_HOST)
        return g_strdup_printf("host/node%d/gpu%d/%s", x.owner / p->gpus_per_node,
                               x.owner % p->gpus_per_node, end);
    if (x.kind == KIND_NVME)
        return g_strdup_printf("nvme/node%d/%s", x.owner, end);
    return tier_link_name(&p->tiers[x.tier], &x);
}
/* "PREFIX123" as a number below `limit`, or -1. */
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
    return g_str_equal(text, up) ? END_UP : g_str_equal(text, down) ? END_DOWN : -1;
}

/* The wiring says which link it may be; it is when that has this name. */
static RhLink wired_link_by_name(const RhPlatform *p, char **words, const char *name)
{
    bool inside = p->inside && g_str_equal(words[0], p->inside->name);
    const RhWiring *wiring = inside ? p->inside : p->outside;
    int32_t node = inside ? number_after(words[1], "node", p->nodes_count) : 0;
    const char *rest = name + strlen(words[0]) + 1 + (inside ? strlen(words[1]) + 1 : 0);
    int64_t each = wiring->links(p), link = wiring->link_named(p, rest);
    if (node < 0 || link < 0 || link >= each)
        return -1;
    RhLink found = (inside ? wired_base(p) : outside_base(p)) + (RhLink)(node * each + link);
    g_autofree char *its = rh_platform_link_name(p, found);
    return g_str_equal(its, name) ? found : -1;
}

static RhLink tier_link_by_words(const RhPlatform *p, char **words, guint count)
{
    for (int32_t t = 0; t < p->tiers_count - 1; t++) {
        const RhTier *tier = &p->tiers[t];
        if (!g_str_equal(words[0], tier->name) || count != (tier->rail_optimised ? 4u : 3u))
            continue;
        int32_t rails = tier_rails(p, t), end = end_by_name(words[count - 1], "up", "down");
        int32_t group = number_after(words[1], "", tier_groups(p, t));
        int32_t rail = tier->rail_optimised ? number_after(words[2], "rail", rails) : 0;
        if (group < 0 || rail < 0 || end < 0)
            return -1;
        return tier_base(p, t) + 2 * (group * rails + rail) + end;
    }
    return -1;
}

/* "host/node3/gpu5/out", "nvme/node3/in" */
static RhLink copy_link_by_words(const RhPlatform *p, char **words, guint count)
{
    bool host = g_str_equal(words[0], "host");
    int32_t node = number_after(words[1], "node", p->nodes_count);
    int32_t gpu = host ? number_after(words[2], "gpu", p->gpus_per_node) : 0;
    int32_t end = end_by_name(words[count - 1], "out", "in");
    if (count != (host ? 4u : 3u) || node < 0 || gpu < 0 || end < 0 ||
        (!host && p->nvme_bytes_per_s.value <= 0))
        return -1;
    return host ? rh_platform_host_link(p, node * p->gpus_per_node + gpu, end == END_UP)
                : rh_platform_nvme_link(p, node, end == END_UP);
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
                   : nic_base(p) + 2 * (node * p->nics_per_node + nic) + end;
    }
    if (g_str_equal(words[0], "host") || g_str_equal(words[0], "nvme"))
        return copy_link_by_words(p, words, count);
    bool wired = (p->inside && g_str_equal(words[0], p->inside->name)) ||
                 (p->outside && g_str_equal(words[0], p->outside->name));
    return wired ? wired_link_by_name(p, words, name) : tier_link_by_words(p, words, count);
}
