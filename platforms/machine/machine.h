#pragma once
/* Describes a real machine from the output of its tools: nvidia-smi's topology and list of GPUs,
 * hwloc's XML, a Slurm node list or an MPI hostfile. The result becomes a platform file that
 * derives from the nearest node of the catalogue, with a source for each figure. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "platforms/platform.h"

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
    char *gpus_source, *links_source, *host_source,
        *nodes_source; /* "topo.txt (nvidia-smi topo)" */
} RhMachine;

void rh_machine_clear(RhMachine *m);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RhMachine, rh_machine_clear)

/* Adds the information of a tool's output, whose tool is recognised by its content. `name` is used
 * in messages and sources. Colour escapes are ignored. RH_ERROR_INPUT with FILE:LINE:COLUMN. */
bool rh_machine_read(RhMachine *m, const char *name, const char *text, size_t length,
                     GError **error) G_GNUC_WARN_UNUSED_RESULT;

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
extern const RhMachineReader rh_machine_topology, rh_machine_query, rh_machine_csv,
    rh_machine_hwloc, rh_machine_nodes;
