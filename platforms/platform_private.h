#pragma once
/* Shared by the files that make a platform; nobody else includes it. */
#include "base/json.h"
#include "platforms/platform.h"

#define RH_PLATFORM_GPUS_MAX (1 << 20) /* keeps link numbers well inside int32 */

RhPlatform *rh_platform_load_named(const char *name, GError **error); /* catalogue name or path */
bool rh_platform_is_oneline(const char *spec);
RhPlatform *rh_platform_parse_oneline(const char *spec, GError **error);
bool rh_platform_set_nodes(RhPlatform *p, int64_t nodes, GError **error);
/* Folds a change into the platform's hash, so that what-ifs never share a cache entry. */
void rh_platform_hash_add(RhPlatform *p, const char *key, const char *value);
GArray *rh_other_devices_new(const GArray *like); /* a copy; NULL: none */
/* "devices", where the file lists several; after the counts. */
void rh_platform_read_devices(RhJson *doc, const RhJsonNode *root, RhPlatform *p);
/* A path counts from the folder of the file that has it. Caller frees. */
char *rh_platform_path_of_device(const RhJson *doc, const char *name);
/* How a file says that GPUs of a node or nodes are joined, but for tiers; after the counts. */
void rh_platform_read_wirings(RhJson *doc, const RhJsonNode *root, RhPlatform *p);
/* Which wiring a node has, after its GPUs, islands or mesh have changed. */
void rh_platform_settle_inside(RhPlatform *p);
/* Can the platform have so many? RH_ERROR_INPUT. */
bool rh_platform_wirings_allow(const RhPlatform *p, int64_t nodes, int64_t gpus_per_node,
                               GError **error);
/* Kernels need an SM beside those that a collective holds. */
static inline bool rh_platform_can_hold(const RhDevice *device, double sms)
{
    return sms < device->sms_count;
}
