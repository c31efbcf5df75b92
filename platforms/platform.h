#pragma once
/* A cluster: nodes alike, but for their devices where a file lists several, a switch inside the node, a tree of switches
 * outside.
 *
 * GPUs are numbered node by node: gpu = node * gpus_per_node + local. Directed links, numbered by
 * arithmetic (never stored one by one): NVLink up/down per GPU, NIC tx/rx per NIC, up/down per tier
 * and switch group. Tier 0 joins nodes to leaves, and so on; the last tier is the root and has no
 * uplink. Besides, links between the memories of GPUs and hosts, and to the drives of a node; only
 * copies cross them. Where a node's GPUs are not on one switch, or nodes not in a tree, links of
 * another kind lie behind all these (platforms/fabric/wiring.h). rail-optimised tier: NIC r of every node of the group hangs on its own leaf switch r, so
 * its group uplinks are per (group, rail) and same-rail traffic inside the group stays below. Does
 * not know what runs on it. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "platforms/devices/device.h"

#define RH_TIERS_MAX 8
#define RH_TORUS_MAX 4
#define RH_ROUTE_MAX 40
#define RH_MESH_MAX  16

typedef struct {
    const char *name; /* "leaf", "pod" ... interned */
    /* nodes below one switch (group) of this tier; the root tier covers all */
    int32_t nodes_per_group;
    /* downlink over uplink capacity; 1 = non-blocking; unused at the root */
    RhFact oversubscription;
    bool rail_optimised;
    /* added for each time a route climbs to this tier (up and down together) */
    RhFact hop_latency_s;
} RhSwitchLevel;

typedef struct RhWiring RhWiring; /* platforms/fabric/wiring.h */

/* Who goes first on a busy link. */
typedef enum {
    RH_SHARING_NONE,
    RH_SHARING_FAIR,       /* connections take turns, a packet each */
    RH_SHARING_FIRST_COME, /* packets leave in the order they came */
} RhSharing;

/* Where ranks talk through a host's network stack (MPI over TCP): messages go packet by packet,
 * store and forward, each rank at its own pace. Without it (`sender` NONE) bytes flow as a fluid
 * that links share max-min fairly, and the steps of a collective join its members, as GPU
 * libraries behave. */
typedef struct {
    RhSharing sender, beyond; /* on the links that leave one rank alone; on the others */
    const char *source;       /* interned: the evidence for the two */
    RhFact packet_bytes;      /* payload */
    RhFact header_bytes;      /* each packet's on the wire */
    RhFact reaction_s; /* until a host sees that a kernel has ended; mean of an exponential */
    RhFact noise_s; /* of each message's latency so much is exponential: a busy host; mean kept */
    RhFact copy_bytes_per_s; /* a message waits for its copies at both ends; 0: for none */
    RhFact burst_bytes;      /* an idle link lets so much through at once: a token bucket */
    RhFact window_bytes; /* payload that one connection may have under way; 0: all there is. A send
                            ends when its last byte is under way */
} RhMessages;

/* Nodes of another device than those before them, from this one on. */
typedef struct {
    int32_t first_node;
    RhDevice *device; /* owned */
} RhOtherDevice;

/* GPUs of a node that are joined one to another, and not by a switch. */
typedef struct {
    int32_t gpus; /* 0: there is none; those of a node are the first of these */
    RhFact links; /* that a GPU has: together nvlink_bytes_per_s */
    uint8_t joined[RH_MESH_MAX][RH_MESH_MAX]; /* links between two, each way */
    /* What follows, for the GPUs of a node (wiring_mesh.c): the directed link from one to another, or
     * -1; and a third that has links to two without any, or -1. */
    int16_t link[RH_MESH_MAX][RH_MESH_MAX];
    int8_t relay[RH_MESH_MAX][RH_MESH_MAX];
    int32_t links_count;
} RhMesh;

/* How a collective library writes to its links: what it has for few bytes waits less and moves less. */
typedef enum {
    RH_PROTOCOL_NONE, /* the one line of the link: efficiency, latency, launch */
    RH_PROTOCOL_LL,
    RH_PROTOCOL_LL128,
    RH_PROTOCOL_SIMPLE,
    RH_PROTOCOL_NVLS, /* sums and copies in the switch */
    RH_PROTOCOL_LAST,
} RhProtocol;

/* What a protocol makes of a link: in the place of its line. Latency and launch without a tag: as the line's. */
typedef struct {
    RhFact efficiency_frac; /* of the data sheet's rate; 0: the library has no such protocol here */
    RhFact latency_s;       /* per step */
    RhFact launch_s;        /* once per call */
} RhProtocolFacts;

typedef struct {
    const char *name; /* "dgx-h100:8" as the user may type it again */
    const char *description;
    RhDevice *device; /* of the first node, and of all but `others`; owned */
    GArray *others;   /* RhOtherDevice, nodes ascending */
    int32_t gpus_per_node;
    int32_t nodes_count;
    int32_t nics_per_node;     /* GPU local l uses NIC l * nics / gpus */
    RhFact nvlink_bytes_per_s; /* per GPU and direction, datasheet */
    RhFact nvlink_efficiency_frac;
    RhFact nvlink_latency_s; /* per step of a collective inside the node: software and wire */
    RhFact
        nvlink_copy_frac; /* a ring's protocols: what a member's own chunk takes beside those it sends */
    RhFact nic_bytes_per_s; /* per NIC and direction, datasheet */
    RhFact nic_efficiency_frac;
    RhFact nic_latency_s; /* per step between nodes, before tier hops */
    RhProtocolFacts nvlink_protocols[RH_PROTOCOL_LAST]; /* of collectives inside a node */
    RhProtocolFacts nic_protocols[RH_PROTOCOL_LAST];    /* of those between nodes */
    RhFact host_bytes_per_s;   /* PCIe or C2C to the host's memory, of a link and direction */
    RhFact host_gpus_per_link; /* GPUs that share such a link, as below one PCIe switch; 0: as 1 */
    RhFact nvme_bytes_per_s;   /* of a node's drives and direction; 0: there are none */
    RhFact host_bytes;         /* a node's memory; 0: unknown */
    RhFact nvme_bytes;         /* what a node's drives hold; 0: unknown */
    const RhWiring *inside;    /* NULL: all GPUs of a node on one switch */
    int32_t island_gpus;       /* islands: GPUs of each; 0: there are none */
    RhFact island_bytes_per_s; /* of each island's link to the others, and direction */
    RhMesh mesh;               /* over which GPUs are joined, before islands' links */
    const RhWiring *outside;   /* NULL: the tree of tiers; else there is one tier, the root */
    int32_t torus_count, torus[RH_TORUS_MAX]; /* dimensions, and nodes along each */
    RhFact torus_bytes_per_s;                 /* of a link between neighbours, and direction */
    int32_t dragonfly_nodes;                  /* of a group */
    RhFact dragonfly_bytes_per_s;             /* from a group to another one */
    RhFact collective_launch_s;               /* once per collective call */
    RhFact collective_sms; /* SMs a collective or send/recv kernel holds while it moves bytes */
    RhMessages messages;
    RhFact host_power_w;      /* of a node, its GPUs and NICs aside; 0: unknown */
    RhFact host_idle_power_w; /* the same while its GPUs idle; no tag: unknown */
    RhFact nic_power_w;       /* of a NIC; 0: unknown */
    RhFact switches_power_w;  /* of switches and optics, for each NIC; 0: unknown */
    RhFact pue; /* power of the building over that of the machines in it; 0: unknown */
    RhFact price_usd_per_gpu_hour; /* value 0 = unknown */
    int32_t tiers_count;           /* 0: one node only */
    RhSwitchLevel tiers[RH_TIERS_MAX];
    GArray *link_changes; /* RhLinkChange; one for a link at most */
    GArray *gpu_speeds;   /* RhGpuSpeed; ascending, one for a GPU at most */
    const char *profile;  /* interned: the file laid over it and what it is of; NULL: none */
    char *hash;
} RhPlatform;

typedef int32_t RhLink;
/* A what-if of one link. */
typedef struct {
    RhLink link;
    double scale;    /* of its capacity */
    double t_dies_s; /* nothing passes from then on; infinite: never */
} RhLinkChange;

/* A what-if of one GPU: its kernels take 1 / speed as long, memory-bound or not. Where bounds are to hold, at most
 * 1: what is bounded without it is bounded with it. */
typedef struct {
    int32_t gpu;
    double speed;
} RhGpuSpeed;

/* FILE.json, catalogue NAME, NAME:NODES, or one line "h100-sxm:8x16,nvlink:450GB/s,ib:400Gb/s"
 * (GPUs per node x nodes; keys: nvlink, ib|eth|roce (rate per NIC), nics, latency, oversub, leaf
 * (nodes), rail). */
RhPlatform *rh_platform_load(const char *spec, GError **error);
/* Changes a fact of a loaded platform: path like "nic.bandwidth=200Gb/s". RH_ERROR_USAGE for unknown
 * paths. */
bool rh_platform_set(RhPlatform *platform, const char *key, const char *value, GError **error);
/* Every path that can be set, but for single links; NULL-ended, g_strfreev frees it. */
char **rh_platform_keys(const RhPlatform *platform);
RhPlatform *rh_platform_copy(const RhPlatform *platform);
void rh_platform_free(RhPlatform *platform);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhPlatform, rh_platform_free)

/* The catalogue's platform whose node and network a device has where no other is said. */
const char *rh_device_platform(const RhDevice *device);

int32_t rh_platform_gpus(const RhPlatform *p);
/* How many devices there are, each of them by number, and a GPU's. (platform_devices.c) */
int32_t rh_platform_devices_count(const RhPlatform *p);
RhDevice *rh_platform_device(const RhPlatform *p, int32_t device);
int32_t rh_platform_device_of(const RhPlatform *p, int32_t gpu);
/* A copy with the devices of another, which has as many; with one of its own alone. Caller frees. */
RhPlatform *rh_platform_with_devices(const RhPlatform *p, const RhPlatform *of);
RhPlatform *rh_platform_of_device(const RhPlatform *p, int32_t device);
/* On the device that is quickest at it. */
double rh_platform_least_kernel_s(const RhPlatform *p, const RhKernel *kernel);
/* "h100-sxm; of a100-sxm-80 from node 2 on". Caller frees. */
char *rh_platform_devices_text(const RhPlatform *p);
static inline int32_t rh_platform_node_of(const RhPlatform *p, int32_t gpu)
{
    return gpu / p->gpus_per_node;
}

/* Links crossed from GPU src to GPU dst, in order; returns how many (0 when src == dst). O(tiers).
 */
int rh_platform_route(const RhPlatform *p, int32_t src, int32_t dst, RhLink links[RH_ROUTE_MAX]);
/* Between the GPU's memory and its host's, out of the GPU or into it; GPUs that share a link have
 * the same. */
RhLink rh_platform_host_link(const RhPlatform *p, int32_t gpu, bool out);
/* Between a host's memory and its drives, which must be there; `out`: to the drives. */
RhLink rh_platform_nvme_link(const RhPlatform *p, int32_t node, bool out);
/* Where GPUs of a set lie, as far as moving all of them by as many GPUs can tell: their nodes, and
 * of every tier with a way up the least and the most place of a node below its switch. */
typedef struct {
    int32_t first_node, last_node; /* no GPU yet: the first is behind the last */
    int32_t least[RH_TIERS_MAX], most[RH_TIERS_MAX];
} RhFootprint;

RhFootprint rh_platform_footprint(void);
void rh_platform_footprint_add(const RhPlatform *p, RhFootprint *set, int32_t gpu);
/* Would the set, moved by so many GPUs, meet links like its own between GPUs, each shared by the
 * same of its members? Then all collectives of the moved set take the times of the set. */
bool rh_platform_moves_alike(const RhPlatform *p, const RhFootprint *set, int32_t by_gpus);
/* May any two of the first so many nodes change places, and no step would take longer or shorter? They are alike, under
 * one switch of every tier. */
bool rh_platform_nodes_alike(const RhPlatform *p, int32_t nodes);
/* Routes of one kind take as long and are as fast on idle links, whichever GPUs they join: by the tier
 * where they turn, where all switches that they cross are full. -1: of no kind that is known. */
int32_t rh_platform_route_kind(const RhPlatform *p, int32_t src, int32_t dst);
/* One step's latency over that route. */
double rh_platform_route_latency_s(const RhPlatform *p, int32_t src, int32_t dst);
int32_t rh_platform_links_count(const RhPlatform *p);
/* Of the links that turn into one another when GPUs change places in blocks of `block` neighbours:
 * the first, and how many there are, at every other number from there on. A block lies in a node, with a NIC and
 * a host link for each GPU, or one for all of it. */
RhLink rh_platform_link_turned(const RhPlatform *p, int32_t block, RhLink link, int32_t *alike);
/* Links between switches of the tree: [first, end). Of these [first, ample_end) carry all that the NICs
 * below can send or take at once, so they hold nobody back; not claimed where single links were
 * changed. */
typedef struct {
    RhLink first, ample_end, end;
} RhSwitchLinks;
RhSwitchLinks rh_platform_switch_links(const RhPlatform *p);
/* Is this a link that holds nobody back? */
static inline bool rh_switch_link_is_ample(const RhSwitchLinks *links, RhLink link)
{
    return link >= links->first && link < links->ample_end;
}
/* Before what-ifs of single links: datasheet x efficiency. */
double rh_platform_link_rated_bytes_per_s(const RhPlatform *p, RhLink link);
/* Effective capacity: the same x what-if scale. */
double rh_platform_link_bytes_per_s(const RhPlatform *p, RhLink link);
/* "nvlink/node3/gpu5/up", "nic/node0/2/tx", "leaf/4/rail1/up", "host/node0/gpu4/out",
 * "nvme/node0/in". Caller frees. */
char *rh_platform_link_name(const RhPlatform *p, RhLink link);
/* The link of that name, or -1. */
RhLink rh_platform_link_by_name(const RhPlatform *p, const char *name);
void rh_platform_link_scale(RhPlatform *p, RhLink link, double scale);
/* The same fabric with no link changed by itself, each as quick as here or quicker: nothing takes longer on it. Caller
 * frees. */
RhPlatform *rh_platform_evened(const RhPlatform *p);
/* Seconds of the rehearsal; infinite for a link that lives. */
double rh_platform_link_dies_s(const RhPlatform *p, RhLink link);
void rh_platform_link_die(RhPlatform *p, RhLink link, double t_dies_s);

double rh_platform_gpu_speed(const RhPlatform *p, int32_t gpu); /* 1 where nothing is said */
void rh_platform_gpu_slow(RhPlatform *p, int32_t gpu, double speed);

/* Catalogue: NULL-ended arrays of names, sorted; owned by the module, found next to the program's
 * data (REHEARSE_DATA, else the source tree the program was built from). */
const char *const *rh_platform_names(void);
const char *const *rh_device_names(void);
/* Of the catalogue's profiles (profile.h): DEVICE-SOFTWARE-VERSION. */
const char *const *rh_profile_names(void);
