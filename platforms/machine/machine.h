#pragma once
/* A machine as its own tools describe it: nvidia-smi's topology and list of GPUs, hwloc's XML, a
 * Slurm list of nodes or an MPI hostfile. What they say becomes a platform file that derives from the nearest
 * node of the catalogue; each figure says where it comes from. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "platforms/platform.h"

typedef struct {
    char *gpu_name;               /* "NVIDIA H100 80GB HBM3"; NULL: not said */
    int32_t gpus;                 /* of a node; 0: not said */
    double memory_bytes, power_w; /* of a GPU: as the driver reports it, its limit; 0: not said */
    bool has_links;               /* a topology was read */
    int32_t nvlinks;              /* between any two GPUs of an island; 0: PCIe */
    int32_t island_gpus;          /* GPUs side by side that NVLink or a PCIe switch joins; those
                                         of a node: one island; 1: none is joined to another */
    bool uneven;                  /* joined in groups that are not alike */
    int32_t nvlinks_most;         /* of the GPU that has most of them below */
    uint8_t joined[RH_MESH_MAX][RH_MESH_MAX]; /* NVLinks between two GPUs, as many to as fro; of
                                                 more GPUs, or where they differ, none */
    int32_t nics;                             /* those close to a GPU; -1: not said */
    int32_t nodes;                            /* 0: not said */
    double host_bytes;                        /* 0: not said */
    double host_link_bytes_per_s;             /* a GPU's PCIe link, one direction; 0: not said */
    char *gpus_source, *links_source, *host_source,
        *nodes_source; /* "topo.txt (nvidia-smi topo)" */
} RhMachine;

void rh_machine_clear(RhMachine *m);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RhMachine, rh_machine_clear)

/* Adds what a text says; which tool it is of is seen from what stands in it. `name` stands in messages and sources.
 * Escapes that colour it are passed over. RH_ERROR_INPUT with FILE:LINE:COLUMN. */
bool rh_machine_read(RhMachine *m, const char *name, const char *text, size_t length,
                     GError **error);

/* The platform file. `date`, "2026-11", is that of the measured facts. Hints are lines for people, on what is not in
 * the file; may be NULL. Texts are the caller's. RH_ERROR_INPUT when nothing says which GPU it is, or the
 * catalogue has no such GPU. */
char *rh_machine_platform(const RhMachine *m, const char *date, char **hints, GError **error);

/* --- readers, a file each: true when the text is theirs --- */
typedef struct {
    const char *tool;
    bool (*owns)(const char *text);
    bool (*read)(RhMachine *m, const char *name, const char *text, GError **error);
    size_t source; /* of the field of RhMachine that names it */
} RhMachineReader;
extern const RhMachineReader rh_machine_topology, rh_machine_query, rh_machine_csv,
    rh_machine_hwloc, rh_machine_nodes;
