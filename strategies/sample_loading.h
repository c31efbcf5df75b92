#pragma once
/* Loading of samples by the host: reading, decoding and augmenting them takes a core's time, in the
 * rank before each step, or in workers beside it. Docs: docs/theory/sharing.md.
 *
 * Knows: cores, workers, seconds of a sample. Does not know: models, layouts, programs. */
#include "platforms/platform.h"

/* Where a rank's workers run. */
typedef enum {
    RH_LOADER_HOST, /* on the cores of the node */
    RH_LOADER_DPU,  /* on those of the node's DPUs, which send samples through the NIC */
    RH_LOADER_LAST
} RhLoaderPlace;

typedef struct {
    double sample_s; /* of a host's core for a sample; 0: loading takes no time */
    int32_t workers; /* of a rank; 0: the rank itself loads a step's samples before the step */
    RhLoaderPlace place;
} RhSampleLoader;

/* A node's ranks that load samples, what each loads in a step, and the bytes of one sample. */
typedef struct {
    int32_t ranks;
    double samples, sample_bytes;
} RhLoaderWork;

/* Does it load beside the step, for the next one, and not before it? */
static inline bool rh_loads_beside(const RhSampleLoader *loader)
{
    return loader->workers > 0 || loader->place == RH_LOADER_DPU;
}
/* Returns the seconds in which a rank's samples of a step are loaded. Workers share a node's cores;
 * without workers a DPU's cores are all used. Unknown cores of a host are enough. */
double rh_loading_s(const RhSampleLoader *loader, const RhPlatform *platform,
                    const RhLoaderWork *work);
/* Has the platform what the loader wants? RH_ERROR_USAGE: what it lacks. */
bool rh_loader_check(const RhSampleLoader *loader, const RhPlatform *platform,
                     GError **error) G_GNUC_WARN_UNUSED_RESULT;

bool rh_loader_place_by_name(const char *name, RhLoaderPlace *place); /* false: unknown */
#define RH_LOADER_PLACES "host|dpu"
