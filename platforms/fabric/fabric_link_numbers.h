#pragma once
/* Numbering of links, by arithmetic. Private to fabric*.c.
 *
 * Numbers, in this order (G GPUs, N nodes of c NICs, tiers t = 0 .. T-2 that have uplinks):
 *   nvlink   2 * gpu + {0 up, 1 down}
 *   nic      2 G + 2 * (node * c + nic) + {0 tx, 1 rx}
 *   tier t   base(t) + 2 * (group * rails(t) + rail) + {0 up, 1 down},  rails(t) = c or 1
 *   host     base(T) + 2 * gpu + {0 out, 1 in}, the first of those that share a link
 *   nvme     base(T) + 2 G + 2 * node + {0 out, 1 in}, where there are drives
 *   memory   after those 2 * node, where the rate of hosts' memory is known; 2 * node + 1 is unused
 *   storage  after those 2 * node + {0 out, 1 in}, then the same of the servers, where there is storage
 *   wirings  after those: inside node 0, node 1 ...; then those between nodes (wiring.h) */
#include "platforms/fabric/wiring.h"
#include "platforms/platform.h"

typedef enum { RH_LINK_UP, RH_LINK_DOWN } RhLinkEnd; /* also tx and rx, out and in */

/* Components of a link's number. */
typedef struct {
    enum {
        RH_LINK_NVLINK,
        RH_LINK_NIC,
        RH_LINK_TIER,
        RH_LINK_HOST,
        RH_LINK_NVME,
        RH_LINK_MEMORY,  /* of a node's host */
        RH_LINK_STORAGE, /* of a node; of the servers where the owner is nodes_count */
        RH_LINK_INSIDE,
        RH_LINK_OUTSIDE
    } kind;
    int32_t tier;
    int32_t owner; /* gpu, node or group */
    int32_t unit;  /* NIC, rail, or the number of a wiring's link */
    RhLinkEnd end;
} RhLinkParts;

static inline int32_t rh_tier_rails(const RhPlatform *p, int32_t t)
{
    return p->tiers[t].rail_optimised ? p->nics_per_node : 1;
}

static inline bool rh_tier_is_root(const RhPlatform *p, int32_t t)
{
    return t == p->tiers_count - 1;
}

static inline int32_t rh_tier_group(const RhPlatform *p, int32_t t, int32_t node)
{
    return rh_tier_is_root(p, t) ? 0 : node / p->tiers[t].nodes_per_group;
}

static inline int32_t rh_tier_groups(const RhPlatform *p, int32_t t)
{
    return rh_tier_group(p, t, p->nodes_count - 1) + 1;
}

static inline int32_t rh_tier_links(const RhPlatform *p, int32_t t)
{
    return rh_tier_is_root(p, t) ? 0 : 2 * rh_tier_groups(p, t) * rh_tier_rails(p, t);
}

static inline int32_t rh_nic_base(const RhPlatform *p)
{
    return 2 * p->nodes_count * p->gpus_per_node;
}

static inline int32_t rh_tier_base(const RhPlatform *p, int32_t tier)
{
    int32_t base = rh_nic_base(p) + 2 * p->nodes_count * p->nics_per_node;
    for (int32_t t = 0; t < tier; t++)
        base += rh_tier_links(p, t);
    return base;
}

static inline int32_t rh_host_base(const RhPlatform *p)
{
    return rh_tier_base(p, p->tiers_count);
}

static inline int32_t rh_nvme_base(const RhPlatform *p)
{
    return rh_host_base(p) + 2 * p->nodes_count * p->gpus_per_node;
}

static inline int32_t rh_memory_base(const RhPlatform *p)
{
    return rh_nvme_base(p) + (p->nvme_bytes_per_s.value > 0 ? 2 * p->nodes_count : 0);
}

static inline int32_t rh_storage_base(const RhPlatform *p)
{
    return rh_memory_base(p) + (p->host_memory_bytes_per_s.value > 0 ? 2 * p->nodes_count : 0);
}

static inline int32_t rh_wired_base(const RhPlatform *p)
{
    return rh_storage_base(p) + (p->storage.bytes_per_s.value > 0 ? 2 * (p->nodes_count + 1) : 0);
}

static inline int32_t rh_outside_base(const RhPlatform *p)
{
    return rh_wired_base(p) + (p->inside ? p->nodes_count * p->inside->links(p) : 0);
}

RhLinkParts rh_link_parts(const RhPlatform *p, RhLink link);
/* NIC of a GPU on its node. */
static inline int32_t rh_gpu_nic(const RhPlatform *p, int32_t gpu)
{
    int32_t local = gpu % p->gpus_per_node;
    return p->nics_per_node == p->gpus_per_node
               ? local
               : (int32_t)((int64_t)local * p->nics_per_node / p->gpus_per_node);
}
