/* Bandwidth of links: rated, scaled, and the time at which they fail. */
#include <math.h>

#include "platforms/fabric/fabric_link_numbers.h"

/* Nodes below one group of a tier; the last group may hold fewer. */
static int32_t group_nodes(const RhPlatform *p, int32_t t, int32_t group)
{
    int32_t per_group = p->tiers[t].nodes_per_group;
    return MIN(per_group, p->nodes_count - group * per_group);
}

static double limited(double bytes_per_s, const RhFact *limit)
{
    return limit->value > 0 ? fmin(bytes_per_s, limit->value) : bytes_per_s;
}

static double storage_link_bytes_per_s(const RhPlatform *p, const RhLinkParts *parts)
{
    const RhStorage *s = &p->storage;
    double nics = p->nic_bytes_per_s.value * p->nic_efficiency_frac.value * p->nics_per_node;
    if (parts->owner < p->nodes_count)
        return limited(s->network_bytes_per_s.value > 0 ? s->network_bytes_per_s.value : nics,
                       &s->client_bytes_per_s);
    bool reads = parts->end == RH_LINK_DOWN && s->read_bytes_per_s.value > 0;
    double rate = reads ? s->read_bytes_per_s.value : s->bytes_per_s.value;
    RhFact servers = {.value = s->servers.value * s->server_bytes_per_s.value};
    return limited(rate, &servers);
}

static void scale_storage(RhStorage *s, double times)
{
    RhFact *const rates[] = {&s->bytes_per_s, &s->read_bytes_per_s, &s->server_bytes_per_s,
                             &s->client_bytes_per_s, &s->network_bytes_per_s};
    for (size_t i = 0; i < G_N_ELEMENTS(rates); i++)
        rates[i]->value *= times;
}

double rh_platform_link_rated_bytes_per_s(const RhPlatform *p, RhLink link)
{
    RhLinkParts parts = rh_link_parts(p, link);
    if (parts.kind == RH_LINK_NVLINK)
        return p->nvlink_bytes_per_s.value * p->nvlink_efficiency_frac.value;
    if (parts.kind == RH_LINK_INSIDE)
        return p->inside->bytes_per_s(p, parts.unit);
    if (parts.kind == RH_LINK_OUTSIDE)
        return p->outside->bytes_per_s(p, parts.unit);
    if (parts.kind == RH_LINK_HOST)
        return p->host_bytes_per_s.value;
    if (parts.kind == RH_LINK_NVME)
        return p->nvme_bytes_per_s.value;
    if (parts.kind == RH_LINK_MEMORY)
        return p->host_memory_bytes_per_s.value;
    double nic = p->nic_bytes_per_s.value * p->nic_efficiency_frac.value;
    if (parts.kind == RH_LINK_STORAGE)
        return storage_link_bytes_per_s(p, &parts);
    if (parts.kind == RH_LINK_NIC)
        return nic;
    double bytes_per_s = nic * group_nodes(p, parts.tier, parts.owner) * p->nics_per_node /
                         rh_tier_rails(p, parts.tier);
    for (int32_t t = 0; t <= parts.tier; t++)
        bytes_per_s /= p->tiers[t].oversubscription.value;
    return bytes_per_s;
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
    int32_t nics = rh_nic_base(p), tiers = nics + 2 * p->nodes_count * p->nics_per_node;
    if (link >= 0 && link < tiers && p->link_changes->len == 0) /* most calls ask for these */
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
    even->host_memory_bytes_per_s.value *= most;
    scale_storage(&even->storage, most);
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
