#pragma once
/* A cluster: equal nodes (except for their devices if a file lists several), a switch inside the
 * node, and a tree of switches outside.
 *
 * GPUs are numbered node by node: gpu = node * gpus_per_node + local. Directed links are numbered
 * by arithmetic and never stored one by one: NVLink up/down per GPU, NIC tx/rx per NIC, up/down per
 * tier and switch group. Tier 0 joins nodes to leaves, and so on; the last tier is the root and has
 * no uplink. Further links connect the memories of GPUs and hosts, and the drives of a node; only
 * copies cross them. Where a node's GPUs are not on one switch, or nodes not in a tree, links of
 * another kind follow (platforms/fabric/wiring.h). In a rail-optimised tier, NIC r of every node of
 * the group is connected to its own leaf switch r, so group uplinks are per (group, rail), and
 * same-rail traffic inside the group stays below. A platform does not know what runs on it. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "platforms/devices/device.h"

#define RH_TIERS_MAX         8
#define RH_TORUS_MAX         4
#define RH_ROUTE_MAX         40
#define RH_MESH_MAX          16
#define RH_STORAGE_ROUTE_MAX (RH_TIERS_MAX + 3)

typedef struct {
    const char *name; /* "leaf", "pod" ... interned */
    /* nodes below one switch (group) of this tier; the root tier covers all */
    int32_t nodes_per_group;
    /* downlink over uplink capacity; 1 = non-blocking; unused at the root */
    RhFact oversubscription;
    bool rail_optimised;
    /* added if a route reaches this tier (up and down together) */
    RhFact hop_latency_s;
} RhSwitchLevel;

typedef struct RhWiring RhWiring;   /* platforms/fabric/wiring.h */
typedef struct RhLibrary RhLibrary; /* platforms/fabric/collective_library.h */

/* Scheduling of packets on a busy link. */
typedef enum {
    RH_SHARING_NONE,
    RH_SHARING_FAIR,       /* round robin over connections */
    RH_SHARING_FIRST_COME, /* first in, first out */
} RhSharing;

/* Parameters of a host's network stack (MPI over TCP): messages are sent as packets, store and
 * forward, each rank at its own pace. Without them (`sender` NONE) bytes flow as a fluid that links
 * share max-min fairly, and the steps of a collective synchronise its members, as GPU libraries do.
 */
typedef struct {
    RhSharing sender, beyond; /* on links that only one rank sends to; on the others */
    const char *source;       /* interned: the evidence for both */
    RhFact packet_bytes;      /* payload */
    RhFact header_bytes;      /* header bytes per packet on the wire */
    /* delay until a host notices that a kernel has ended; mean of an exponential */
    RhFact reaction_s;
    /* exponential part of each message's latency (busy host); the mean latency is kept */
    RhFact noise_s;
    RhFact copy_bytes_per_s; /* rate of a message's copies at both ends; 0: no copies */
    RhFact burst_bytes;      /* burst size of an idle link: a token bucket */
    /* payload that one connection may have in flight; 0: unlimited. A send ends when its last byte
     * is in flight */
    RhFact window_bytes;
} RhMessages;

/* Storage that all nodes reach over the network: checkpoints are written to it and read from it. Rates of 0:
 * no limit of its own. */
typedef struct {
    RhFact bytes_per_s;      /* that it sustains for all nodes together; 0: the platform has none */
    RhFact read_bytes_per_s; /* likewise, where it reads at another rate */
    RhFact servers;          /* 0: unknown */
    RhFact server_bytes_per_s; /* network of each, per direction */
    RhFact client_bytes_per_s; /* of a node: its file-system client */
    /* A node's adapters to a network of its own, per direction; 0: bytes cross the NICs and switches that GPUs use */
    RhFact network_bytes_per_s;
} RhStorage;

/* Nodes from this one on have another device. */
typedef struct {
    int32_t first_node;
    RhDevice *device; /* owned */
} RhOtherDevice;

/* Direct links between the GPUs of a node, instead of a switch. */
typedef struct {
    int32_t gpus; /* size of the mesh, whose first GPUs a node has; 0: none */
    RhFact links; /* links per GPU, together nvlink_bytes_per_s */
    uint8_t joined[RH_MESH_MAX][RH_MESH_MAX]; /* links between two GPUs, in each direction */
    /* Derived for the GPUs of a node (wiring_nvlink_mesh.c): the directed link between two GPUs, or -1;
     * and the GPU that relays between two without a link, or -1. */
    int16_t link[RH_MESH_MAX][RH_MESH_MAX];
    int8_t relay[RH_MESH_MAX][RH_MESH_MAX];
    int32_t links_count;
} RhMesh;

/* Protocols of a collective library: those for small messages have less latency and less bandwidth.
 */
typedef enum {
    RH_PROTOCOL_NONE, /* the link's fitted line: efficiency, latency, launch */
    RH_PROTOCOL_LL,
    RH_PROTOCOL_LL128,
    RH_PROTOCOL_SIMPLE,
    RH_PROTOCOL_NVLS,  /* reduction and multicast in the switch */
    RH_PROTOCOL_SHARP, /* the same in the switches between nodes */
    RH_PROTOCOL_LAST,
} RhProtocol;

/* Constants of a link under a protocol, which replace its line. Latency and launch without a tag:
 * as the line's. */
typedef struct {
    RhFact efficiency_frac; /* of the data sheet's rate; 0: the library has no such protocol here */
    RhFact latency_s;       /* per step */
    RhFact launch_s;        /* once per call */
} RhProtocolFacts;

/* The run whose measured step a profile's constants were scaled to (calibrate/stacks/step_time_causes.h). */
typedef struct {
    const char *stack, *model; /* interned; NULL: there is none */
    double residual_frac;      /* measured over predicted less 1, before the scale */
} RhScaledRun;

typedef struct {
    const char *name; /* "dgx-h100:8", in a form that the user can type */
    const char *description;
    RhDevice *device; /* of the first node, and of all except `others`; owned */
    GArray *others;   /* RhOtherDevice, nodes ascending */
    int32_t gpus_per_node;
    int32_t nodes_count;
    int32_t nics_per_node;     /* GPU local l uses NIC l * nics / gpus */
    RhFact nvlink_bytes_per_s; /* per GPU and direction, datasheet */
    RhFact nvlink_efficiency_frac;
    RhFact nvlink_latency_s; /* per step of a collective inside the node: software and wire */
    RhFact
        /* ring protocols: cost of copying a member's own chunk relative to sending it */
        nvlink_copy_frac;
    RhFact nic_bytes_per_s; /* per NIC and direction, datasheet */
    RhFact nic_efficiency_frac;
    RhFact nic_latency_s; /* per step between nodes, before tier hops */
    RhProtocolFacts nvlink_protocols[RH_PROTOCOL_LAST]; /* collectives inside a node */
    RhProtocolFacts nic_protocols[RH_PROTOCOL_LAST];    /* collectives between nodes */
    RhFact host_bytes_per_s;   /* PCIe or C2C to host memory, per link and direction */
    RhFact host_gpus_per_link; /* GPUs that share such a link, as below a PCIe switch; 0: as 1 */
    /* Memory of a node's sockets together, read and written; 0: unknown */
    RhFact host_memory_bytes_per_s;
    RhFact host_cores;       /* of a node; 0: unknown */
    RhFact dpu_cores;        /* of a node's data processing units; 0: it has none */
    RhFact dpu_core_frac;    /* speed of such a core over a host's */
    RhFact nvme_bytes_per_s; /* per node and direction of its drives; 0: no drives */
    RhStorage storage;
    RhFact host_bytes;         /* memory of a node; 0: unknown */
    RhFact nvme_bytes;         /* capacity of a node's drives; 0: unknown */
    const RhWiring *inside;    /* NULL: all GPUs of a node on one switch */
    int32_t island_gpus;       /* GPUs per island; 0: no islands */
    RhFact island_bytes_per_s; /* each island's link to the others, per direction */
    RhMesh mesh;               /* takes precedence over islands */
    const RhWiring *outside;   /* NULL: the tree of tiers; else there is one tier, the root */
    int32_t torus_count, torus[RH_TORUS_MAX]; /* dimensions, and nodes along each */
    RhFact torus_bytes_per_s;                 /* link between neighbours, per direction */
    int32_t dragonfly_nodes;                  /* nodes per group */
    RhFact dragonfly_bytes_per_s;             /* from one group to another */
    RhFact collective_launch_s;               /* once per collective call */
    RhFact collective_sms; /* SMs a collective or send/recv kernel holds while it moves bytes */
    RhMessages messages;
    const RhLibrary *library;      /* that its ranks communicate with; NULL: of its kind */
    bool library_given;            /* by the user: no stack replaces it */
    RhFact host_power_w;           /* node without its GPUs and NICs; 0: unknown */
    RhFact host_idle_power_w;      /* node with idle GPUs, likewise; no tag: unknown */
    RhFact nic_power_w;            /* per NIC; 0: unknown */
    RhFact switches_power_w;       /* switches and optics, per NIC; 0: unknown */
    RhFact pue;                    /* power of the building over that of its machines; 0: unknown */
    RhFact price_usd_per_gpu_hour; /* value 0 = unknown */
    int32_t tiers_count;           /* 0: one node only */
    RhSwitchLevel tiers[RH_TIERS_MAX];
    GArray *link_changes;  /* RhLinkChange; at most one per link */
    GArray *gpu_speeds;    /* RhGpuSpeed; ascending, at most one per GPU */
    const char *profile;   /* interned: the applied profile and what it describes; NULL: none */
    RhScaledRun scaled;    /* of that profile; without a stack: none */
    bool kernels_profiled; /* it has kernels of the device: a server's own tables stay away */
    char *hash;
} RhPlatform;

typedef int32_t RhLink;
/* A hypothetical change of one link. */
typedef struct {
    RhLink link;
    double scale;    /* factor on its capacity */
    double t_dies_s; /* time of failure; infinite: never */
} RhLinkChange;

/* A hypothetical speed of one GPU: kernels take 1 / speed times as long, whatever bounds them. At
 * most 1 where lower bounds must hold, because bounds ignore it. */
typedef struct {
    int32_t gpu;
    double speed;
} RhGpuSpeed;

/* Loads a platform from FILE.json, catalogue NAME, NAME:NODES, or one line
 * "h100-sxm:8x16,nvlink:450GB/s,ib:400Gb/s" (GPUs per node x nodes; keys: nvlink, ib|eth|roce (rate
 * per NIC), nics, latency, oversub, leaf (nodes), rail). */
RhPlatform *rh_platform_load(const char *spec, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Sets a fact of a loaded platform by its path, such as "nic.bandwidth=200Gb/s". RH_ERROR_USAGE for
 * unknown paths. */
bool rh_platform_set(RhPlatform *platform, const char *key, const char *value,
                     GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Returns every path that can be set, except those of single links; NULL-terminated, free with
 * g_strfreev. */
char **rh_platform_keys(const RhPlatform *platform);
RhPlatform *rh_platform_copy(const RhPlatform *platform);
void rh_platform_free(RhPlatform *platform);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhPlatform, rh_platform_free)

/* Returns the catalogue's platform whose node and network a device has by default. */
const char *rh_device_platform(const RhDevice *device);

int32_t rh_platform_gpus(const RhPlatform *p);
/* Return the number of device types, the type of a number, and the number of a GPU's type
 * (platform_devices.c). */
int32_t rh_platform_devices_count(const RhPlatform *p);
RhDevice *rh_platform_device(const RhPlatform *p, int32_t device);
int32_t rh_platform_device_of(const RhPlatform *p, int32_t gpu);
/* Return a copy with the devices of another platform, which has as many, or with only one of its
 * own device types. Caller frees. */
RhPlatform *rh_platform_with_devices(const RhPlatform *p, const RhPlatform *of);
RhPlatform *rh_platform_of_device(const RhPlatform *p, int32_t device);
/* Returns the kernel's seconds on the fastest device type. */
double rh_platform_least_kernel_s(const RhPlatform *p, const RhKernel *kernel);
/* Describes the device types: "h100-sxm; of a100-sxm-80 from node 2 on". Caller frees. */
char *rh_platform_devices_text(const RhPlatform *p);
static inline int32_t rh_platform_node_of(const RhPlatform *p, int32_t gpu)
{
    return gpu / p->gpus_per_node;
}

/* Lists the links from GPU src to GPU dst in order; returns their number (0 when src == dst).
 * O(tiers). */
int rh_platform_route(const RhPlatform *p, int32_t src, int32_t dst, RhLink links[RH_ROUTE_MAX]);
/* Returns the link between a GPU's memory and its host's, outward or inward; GPUs that share a link
 * have the same one. */
RhLink rh_platform_host_link(const RhPlatform *p, int32_t gpu, bool out);
/* Returns the link between a host's memory and its drives, which must exist; `out`: to the drives.
 */
RhLink rh_platform_nvme_link(const RhPlatform *p, int32_t node, bool out);
/* Returns the memory of a node's host, whose rate must be known, as a link that its work crosses. */
RhLink rh_platform_memory_link(const RhPlatform *p, int32_t node);
/* Lists the links that bytes of a GPU's node cross to the storage, which must exist, or from it, and returns their
 * number: the GPU's NIC and the switches above it (or the storage's own network), what the node's client can do,
 * and the servers. Where nodes are not in a tree, no link between nodes is counted. */
int rh_platform_storage_route(const RhPlatform *p, int32_t gpu, bool out,
                              RhLink links[RH_STORAGE_ROUTE_MAX]);
/* Returns the rate at which so many nodes, the first of the platform, write together, or read: that of the
 * narrowest of these links, with nothing else on them. */
double rh_platform_storage_bytes_per_s(const RhPlatform *p, int32_t nodes, bool out);
/* Position of a set of GPUs, as far as it decides whether the set can be shifted: its nodes, and
 * for every tier with uplinks the smallest and largest position of a node below its switch. */
typedef struct {
    int32_t first_node, last_node; /* empty set: first_node > last_node */
    int32_t least[RH_TIERS_MAX], most[RH_TIERS_MAX];
} RhFootprint;

RhFootprint rh_platform_footprint(void);
void rh_platform_footprint_add(const RhPlatform *p, RhFootprint *set, int32_t gpu);
/* Returns whether the set, shifted by so many GPUs, has equivalent links between its GPUs, each
 * shared by the same members. Then all collectives of the shifted set take the same times. */
bool rh_platform_moves_alike(const RhPlatform *p, const RhFootprint *set, int32_t by_gpus);
/* Returns whether any two of the first `nodes` nodes can be exchanged without changing a step's
 * time: they are equal, under one switch of every tier. */
bool rh_platform_nodes_alike(const RhPlatform *p, int32_t nodes);
/* Returns the kind of a route; routes of one kind have equal latency and bandwidth on idle links.
 * It is the tier at which the route turns if all switches on it are full; -1: unknown kind. */
int32_t rh_platform_route_kind(const RhPlatform *p, int32_t src, int32_t dst);
/* Returns the latency of one step over the route. */
double rh_platform_route_latency_s(const RhPlatform *p, int32_t src, int32_t dst);
int32_t rh_platform_links_count(const RhPlatform *p);
/* Returns the first of the links that rotating every block of `block` neighbouring GPUs maps to
 * each other, and their number in *alike; they are every second number from there on. A block lies
 * in a node, with a NIC and a host link for each GPU, or one for all of it. */
RhLink rh_platform_link_turned(const RhPlatform *p, int32_t block, RhLink link, int32_t *alike);
/* Links between switches of the tree: [first, end). Those in [first, ample_end) can carry all that
 * the NICs below can send or receive at once, so they are never a bottleneck; empty where single
 * links were changed. */
typedef struct {
    RhLink first, ample_end, end;
} RhSwitchLinks;
RhSwitchLinks rh_platform_switch_links(const RhPlatform *p);
/* Returns whether the link can never be a bottleneck. */
static inline bool rh_switch_link_is_ample(const RhSwitchLinks *links, RhLink link)
{
    return link >= links->first && link < links->ample_end;
}
/* Returns the bandwidth of a link without hypothetical changes: datasheet x efficiency. */
double rh_platform_link_rated_bytes_per_s(const RhPlatform *p, RhLink link);
/* Returns the effective bandwidth: the rated one x the hypothetical scale. */
double rh_platform_link_bytes_per_s(const RhPlatform *p, RhLink link);
/* Returns a link's name: "nvlink/node3/gpu5/up", "nic/node0/2/tx", "leaf/4/rail1/up",
 * "host/node0/gpu4/out", "nvme/node0/in", "storage/node0/out", "storage/servers/in". Caller frees. */
char *rh_platform_link_name(const RhPlatform *p, RhLink link);
/* Returns the link of that name, or -1. */
RhLink rh_platform_link_by_name(const RhPlatform *p, const char *name);
void rh_platform_link_scale(RhPlatform *p, RhLink link, double scale);
/* Returns a copy without changes of single links in which each link is at least as fast as here, so
 * nothing takes longer on it. Caller frees. */
RhPlatform *rh_platform_evened(const RhPlatform *p);
/* Returns the time of a link's failure in seconds; infinite for a working link. */
double rh_platform_link_dies_s(const RhPlatform *p, RhLink link);
void rh_platform_link_die(RhPlatform *p, RhLink link, double t_dies_s);

double rh_platform_gpu_speed(const RhPlatform *p, int32_t gpu); /* 1 by default */
void rh_platform_gpu_slow(RhPlatform *p, int32_t gpu, double speed);

/* Return the catalogue's names: NULL-terminated, sorted, owned by the module, from the program's
 * data (REHEARSE_DATA, else the source tree the program was built from). */
const char *const *rh_platform_names(void);
const char *const *rh_device_names(void);
/* Returns the names of the catalogue's profiles (profile.h): DEVICE-SOFTWARE-VERSION of kernels,
 * then PLATFORM-LIBRARY-VERSION of links; the others list either kind alone. */
const char *const *rh_profile_names(void);
const char *const *rh_kernels_profile_names(void);
const char *const *rh_links_profile_names(void);
