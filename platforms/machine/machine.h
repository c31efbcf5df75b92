#pragma once
/* Describes a real machine from the output of its tools: nvidia-smi's topology and list of GPUs,
 * rocm-smi's, hwloc's and NCCL's XML, what InfiniBand's tools discover, Slurm's topology, a list of
 * nodes or an MPI hostfile. The result becomes a platform file that derives from the nearest node
 * of the catalogue, with a source for each figure. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "platforms/platform.h"

#define RH_MACHINE_TIERS 3 /* levels of switches below the topmost */

/* Groups of nodes below one switch of a level. */
typedef struct {
    int32_t nodes;
    double oversubscription; /* 0: not said */
    bool rails;              /* each NIC of a node has a switch of its own; false: not said */
} RhMachineTier;

typedef struct {
    char *gpu_name; /* "NVIDIA H100 80GB HBM3"; NULL: unknown */
    int32_t gpus;   /* GPUs per node; 0: unknown */
    /* per GPU: memory reported by the driver, power limit; 0: unknown */
    double memory_bytes, power_w;
    bool has_links;  /* a topology was read */
    int32_t nvlinks; /* between any two GPUs of an island; 0: PCIe */
    /* consecutive GPUs joined by NVLink or a PCIe switch; GPUs per node: one island; 1: none */
    int32_t island_gpus;
    bool uneven;          /* islands differ */
    int32_t nvlinks_most; /* most NVLinks of one GPU in `joined` */
    /* NVLinks between two GPUs, symmetric; zeros for more GPUs, or if asymmetric */
    uint8_t joined[RH_MESH_MAX][RH_MESH_MAX];
    int32_t nics;                 /* NICs close to a GPU; -1: unknown */
    int32_t nodes;                /* 0: unknown */
    int32_t domain_nodes;         /* nodes that one NVLink domain spans, as a scheduler's blocks
                                   * say; 0: unknown */
    double host_bytes;            /* 0: not said */
    double host_link_bytes_per_s; /* a GPU's PCIe link, one direction; 0: unknown */
    double nic_bytes_per_s;       /* of one NIC; 0: unknown */
    /* Levels of switches, the lowest first; the topmost, which joins all, is not listed. */
    RhMachineTier tiers[RH_MACHINE_TIERS];
    int32_t tiers_count;
    bool rails;      /* the topmost level has a switch for each NIC of a node, and nothing above */
    bool has_fabric; /* a tool said how nodes are joined */
    char *fabric_note; /* what of that could not be kept; NULL */
    /* "topo.txt (nvidia-smi topo)"; nodes and the fabric between them have one source */
    char *gpus_source, *links_source, *host_source, *nodes_source;
} RhMachine;

void rh_machine_clear(RhMachine *m);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RhMachine, rh_machine_clear)

/* Adds the information of a tool's output, whose tool is recognised by its content. `name` is used
 * in messages and sources. Colour escapes are ignored. RH_ERROR_INPUT with FILE:LINE:COLUMN. */
bool rh_machine_read(RhMachine *m, const char *name, const char *text, size_t length,
                     GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Returns the tool whose output a text is, "nvidia-smi topo -m"; NULL: of none, but perhaps a list
 * of nodes. */
const char *rh_machine_tool(const char *text);
/* Returns the platform file. `date`, "2026-11", is that of the measured facts. *hints (may be NULL)
 * receives lines about information that the file lacks. Caller frees both. RH_ERROR_INPUT when the
 * GPU is unknown or not in the catalogue. */
char *rh_machine_platform(const RhMachine *m, const char *date, char **hints,
                          GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* --- readers, one per file --- */
typedef struct {
    const char *tool;
    bool (*owns)(const char *text);
    bool (*read)(RhMachine *m, const char *name, const char *text, GError **error);
    size_t source; /* offset of the RhMachine member that holds the source */
} RhMachineReader;
extern const RhMachineReader rh_machine_topology, rh_machine_query, rh_machine_list, rh_machine_csv,
    rh_machine_hwloc, rh_machine_nccl, rh_machine_rocm, rh_machine_slurm, rh_machine_slurm_yaml,
    rh_machine_infiniband, rh_machine_nodes;
/* Returns the words of a line, between spaces and tabs. Caller frees. */
char **rh_machine_words(const char *line);
/* Returns the value of an element's attribute in a GMarkup handler; "" without it. */
const char *rh_machine_attribute(const char **names, const char **values, const char *name);
/* Adds the names of a list as Slurm writes it, "gpu[01-16],login1", which ends at white space.
 * `start`: of the line, for positions. */
bool rh_machine_names(const char *file, int32_t line, const char *start, const char *list,
                      GHashTable *names, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* A switch or a block of a scheduler's topology. */
typedef struct {
    char *name;        /* owned */
    GHashTable *nodes; /* names of the nodes below it; owned */
    GPtrArray *below;  /* char *: names of the switches below it; owned */
    int32_t level;     /* 0: nodes below it */
} RhSlurmSwitch;
/* A scheduler's topology: switches of a tree, or blocks. */
typedef struct {
    GPtrArray *switches, *blocks; /* RhSlurmSwitch, owned */
    int32_t block_size;           /* nodes; 0: not said */
} RhSlurmTopology;
void rh_slurm_topology_init(RhSlurmTopology *topology);
void rh_slurm_topology_clear(RhSlurmTopology *topology);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RhSlurmTopology, rh_slurm_topology_clear)
/* Adds an empty switch or block. Borrowed. */
RhSlurmSwitch *rh_slurm_topology_add(GPtrArray *to, const char *name);
/* Turns the topology into the machine's nodes and tiers. `name`: of the file. */
bool rh_slurm_topology_settle(RhSlurmTopology *topology, const char *name, RhMachine *m,
                              GError **error) G_GNUC_WARN_UNUSED_RESULT;
