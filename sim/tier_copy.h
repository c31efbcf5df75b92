#pragma once
/* Copies between tiers of memory: the links that one crosses, and its speed on idle links. */
#include "platforms/platform.h"
#include "sim/program.h"

#define RH_COPY_LINKS_MAX (RH_STORAGE_ROUTE_MAX + 2)

/* Lists the links that a COPY on this GPU crosses, in order, and returns their number: the host
 * link between HBM and host memory, the link of the drives between host memory and NVMe, those of
 * the network between host memory and the storage, and all that lie between two others; of the
 * host's own work its memory. */
int rh_copy_route(const RhPlatform *platform, const RhTask *copy, int32_t gpu,
                  RhLink links[RH_COPY_LINKS_MAX]);
/* Returns the bandwidth of the copy's slowest link in bytes/s. */
double rh_copy_bytes_per_s(const RhPlatform *platform, const RhTask *copy, int32_t gpu);
/* Checks that the platform has all tiers that the program copies between. RH_ERROR_INPUT names the
 * missing one. */
bool rh_copies_possible(const RhProgram *p, const RhPlatform *platform,
                        GError **error) G_GNUC_WARN_UNUSED_RESULT;
