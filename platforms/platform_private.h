#pragma once
/* Functions shared by the files that make a platform. Private to them. */
#include "base/json/json.h"
#include "platforms/platform.h"

#define RH_PLATFORM_GPUS_MAX (1 << 20) /* keeps link numbers well inside int32 */

RhPlatform *rh_platform_load_named(const char *name, GError **error)
    G_GNUC_WARN_UNUSED_RESULT; /* catalogue name or path */
bool rh_platform_is_oneline(const char *spec);
RhPlatform *rh_platform_parse_oneline(const char *spec, GError **error) G_GNUC_WARN_UNUSED_RESULT;
bool rh_platform_set_nodes(RhPlatform *p, int64_t nodes, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Adds a change to the platform's hash, so that changed platforms never share a cache entry. */
void rh_platform_hash_add(RhPlatform *p, const char *key, const char *value);
GArray *rh_other_devices_new(const GArray *like); /* a copy; NULL: none */
/* Reads "devices", where the file lists several; call it after the counts are read. */
void rh_platform_read_devices(RhJson *doc, const RhJsonNode *root, RhPlatform *p);
/* Resolves a device's path relative to the folder of the file that names it. Caller frees. */
char *rh_platform_path_of_device(const RhJson *doc, const char *name);
/* Reads the topologies of nodes and between nodes, except tiers; call it after the counts are read.
 */
void rh_platform_read_wirings(RhJson *doc, const RhJsonNode *root, RhPlatform *p);
/* Updates a node's wiring after its GPUs, islands or mesh have changed. */
void rh_platform_settle_inside(RhPlatform *p);
/* Checks that the platform's wirings allow these counts. RH_ERROR_INPUT. */
bool rh_platform_wirings_allow(const RhPlatform *p, int64_t nodes, int64_t gpus_per_node,
                               GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Returns whether kernels keep at least one SM when a collective holds `sms`. */
static inline bool rh_platform_can_hold(const RhDevice *device, double sms)
{
    return sms < device->sms_count;
}
