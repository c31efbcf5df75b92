#pragma once
/* Table of the facts of platforms and devices: their paths, places in files, kinds and ranges.
 *
 * Files, profiles, `--set` and one-line platforms all use it, so that they accept the same values.
 */
#include "base/json/json.h"
#include "platforms/platform.h"

typedef enum {
    RH_FACT_NEEDED,       /* required unless the file derives from another or has a generation */
    RH_FACT_DATASHEET,    /* required for a device, even with a generation */
    RH_FACT_OPTIONAL,     /* optional */
    RH_FACT_WITH_SECTION, /* optional if its section is missing */
} RhFactRequirement;

typedef struct {
    const char *key;   /* path of --set and of profiles; device.* belong to the device */
    const char *place; /* path in the file: "gemm.peak.bf16" */
    RhQuantity kind;
    const RhRange *range;
    RhFactRequirement need;
    bool device;   /* member of RhDevice, else of RhPlatform */
    size_t offset; /* offset of the RhFact in it */
} RhFactRow;

/* Returns whether a device can take this constant from its generation. */
bool rh_facts_of_generation(const RhFactRow *row);
/* Returns the rows of platforms and devices, in the order in which `--set` lists them. */
const RhFactRow *rh_facts(size_t *count);
/* Finds the row of a path, including tiles of the platform's device ("device.gemm.tile.128x64");
 * returns false when there is none. */
bool rh_facts_find(const RhPlatform *p, const char *key, RhFactRow *found);
/* Returns whether the fact of this path may have this value; true for unknown paths. */
bool rh_facts_allow(const char *key, double value);
/* Return the fact in this platform or its device. */
RhFact *rh_facts_at(RhPlatform *p, const RhFactRow *row);
const RhFact *rh_facts_seen(const RhPlatform *p, const RhFactRow *row);
/* Returns the latest date of the platform's facts, its device included: "YYYY-MM"; "" for none.
 * Borrowed. */
const char *rh_facts_newest(const RhPlatform *p);
/* Reads the device's rows, or the platform's, from a file into the struct `base`; problems are
 * collected in the document. `derived`: facts that the file omits keep their value. */
void rh_facts_read(RhJson *doc, const RhJsonNode *root, bool device, bool derived, void *base);

/* --- facts in lists, which have no row --- */

typedef struct {
    char *key; /* "gemm.tile.128x64" without "device."; "leaf.hop_latency"; owned */
    RhQuantity kind;
    const RhRange *range;
    const RhFact *fact;  /* borrowed */
    bool without_effect; /* the root's oversubscription, since it has no uplink */
} RhListedFact;
/* Return arrays of RhListedFact of a device's tiles and of a platform's tiers; free with
 * g_array_unref. */
GArray *rh_facts_of_tiles(const RhDevice *device);
GArray *rh_facts_of_tiers(const RhPlatform *p);
extern const RhRange rh_range_tile, rh_range_hop_s, rh_range_oversubscription, rh_range_link_scale;
