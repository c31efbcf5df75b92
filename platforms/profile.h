#pragma once
/* A profile: facts measured on a machine, to be laid over a platform that is like it.
 *
 *   {"schema": "rehearse.profile/1", "platform": "lab-star", "about": "...",
 *    "facts": {"nic.latency": {"value": "0.11ms", "low": "0.10ms", "high": "0.12ms",
 *                              "tag": "fitted", "source": "...", "date": "2026-11"}, ...}}
 *
 * Keys are the paths of `--set`, "device.gemm.correction" (platforms/devices/gemm_correction.h) and
 * "device.kernels", a list (platforms/devices/surface.h), and "device.peer_reduce" (platforms/devices/peer_reduce.h); and
 * "device.gemm.shapes", "device.attention.shapes" (platforms/devices/calibrated_range.h): a profile with facts of a kind of kernel and
 * no shapes takes the device's away. Facts of a device hold for the one that "device" names. */
#include "base/json.h"
#include "platforms/platform.h"

/* A file, or a name of the catalogue. RH_ERROR_IO, RH_ERROR_INPUT with positions. The platform's hash
 * tells the profile's. */
bool rh_platform_apply_profile(RhPlatform *p, const char *name, GError **error);
bool rh_platform_apply_profile_json(RhPlatform *p, RhJson *doc, GError **error);
/* The device that a profile's facts are of; "" when they are of none. Interned. */
const char *rh_profile_device(RhJson *doc);
/* "device.gemm.shapes" */
const char *rh_profile_shapes_key(RhShapesKind kind);
