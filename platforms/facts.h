#pragma once
/* The facts of platforms and devices: one table of their paths, places in files, kinds and ranges.
 *
 * Files, profiles, `--set` and one-line platforms are all read by it, so that no way in lets
 * through what another refuses. */
#include "base/json.h"
#include "platforms/platform.h"

typedef enum {
    RH_FACT_NEEDED,       /* but where the file derives from another, or has a generation */
    RH_FACT_DATASHEET,    /* of a device, whatever its generation: nobody else has it */
    RH_FACT_OPTIONAL,     /* may be missing in its file */
    RH_FACT_WITH_SECTION, /* may be missing where its section is missing */
} RhFactNeed;

typedef struct {
    const char *key;   /* the path of --set and of profiles; device.* are the device's */
    const char *place; /* in the file: "gemm.peak.bf16" */
    RhQuantity kind;
    const RhRange *range;
    RhFactNeed need;
    bool device;   /* of the RhDevice, else of the RhPlatform */
    size_t offset; /* of the RhFact in it */
} RhFactRow;

/* Is this a constant that a device may have from its generation? */
bool rh_facts_of_generation(const RhFactRow *row);
/* The rows of both, in the order in which `--set` lists them. */
const RhFactRow *rh_facts(size_t *count);
/* The row of a path, tiles of the platform's device ("device.gemm.tile.128x64") among them; false
 * when there is none. */
bool rh_facts_find(const RhPlatform *p, const char *key, RhFactRow *found);
/* May the fact of this path have this value? True for paths of no row. */
bool rh_facts_allow(const char *key, double value);
/* The fact itself, in this platform or its device. */
RhFact *rh_facts_at(RhPlatform *p, const RhFactRow *row);
const RhFact *rh_facts_seen(const RhPlatform *p, const RhFactRow *row);
/* The latest date that a fact of the platform, its device included, says: "YYYY-MM"; "" for none.
 * Borrowed. */
const char *rh_facts_newest(const RhPlatform *p);
/* Reads the device's rows, or the platform's, from a file into the struct `base`; problems are
 * collected in the document. `derived`: what the file leaves out stays as it is. */
void rh_facts_read(RhJson *doc, const RhJsonNode *root, bool device, bool derived, void *base);

/* --- facts that stand in lists, and so have no row --- */

typedef struct {
    char *key; /* "gemm.tile.128x64", behind "device."; "leaf.hop_latency"; owned */
    RhQuantity kind;
    const RhRange *range;
    const RhFact *fact;  /* borrowed */
    bool without_effect; /* the root's oversubscription: it joins all nodes and has no uplink */
} RhListedFact;
/* RhListedFact of a device's tiles, of a platform's tiers: g_array_unref frees them. */
GArray *rh_facts_of_tiles(const RhDevice *device);
GArray *rh_facts_of_tiers(const RhPlatform *p);
extern const RhRange rh_range_tile, rh_range_hop_s, rh_range_oversubscription, rh_range_link_scale;
