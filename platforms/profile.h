#pragma once
/* A profile: facts measured on a machine that replace those of a similar platform.
 *
 *     {"schema": "rehearse.profile/1", "platform": "lab-star", "about": "...",
 *      "facts": {"nic.latency": {"value": "0.11ms", "low": "0.10ms", "high": "0.12ms",
 *                                "tag": "fitted", "source": "...", "date": "2026-11"}, ...}}
 *
 * Keys are the paths of `--set`, and also "device.gemm.correction" (devices/gemm_correction.h),
 * "device.kernels", a list (devices/time_surface.h), "device.peer_reduce" (devices/custom_allreduce.h), and
 * "device.gemm.shapes" and "device.attention.shapes" (devices/calibrated_range.h): a profile with
 * facts of a class of kernels but no shapes removes the device's shapes. Facts of a device apply to
 * the one that "device" names.
 *
 * A device whose kernels take a fraction of another's needs no tables of its own: "derives" names
 * the catalogue's profile of the other, whose "device.kernels" and "device.peer_reduce" count, and
 * "times" the fraction for each kind of kernel:
 *
 *     "derives": "b200-sxm-vllm-0.24.0", "times": {"gemm": {"value": 0.96, "tag": ...}, ...} */
#include "base/json/json.h"
#include "platforms/platform.h"

/* "run": {"stack": "megatron", "model": "llama-3.1-8b", "measured_s": 73, "predicted_s": 64.2} names
 * the one run that its constants were scaled to, by which error bars are judged. */

/* Applies profiles, each from a file or by a name of the catalogue, separated by commas: the later
 * ones lie over the earlier ones. RH_ERROR_IO, RH_ERROR_INPUT with positions. The platform's hash
 * then depends on the profiles'. */
bool rh_platform_apply_profile(RhPlatform *p, const char *names,
                               GError **error) G_GNUC_WARN_UNUSED_RESULT;
bool rh_platform_apply_profile_json(RhPlatform *p, RhJson *doc,
                                    GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Returns the catalogue's profile of links that was measured on GPUs and links like those of the
 * platform's nodes, under the library as it comes; NULL: none. */
const char *rh_platform_links_profile(const RhPlatform *p);
/* The profiles of a list; caller g_strfreevs. */
char **rh_profile_split(const char *names);
/* Is a profile's name that of a file? And its path; caller frees. */
bool rh_profile_is_file(const char *name);
char *rh_profile_path(const char *name);
/* Is none of the profiles of another device than the platform's? */
bool rh_profile_is_of(const char *names, const RhPlatform *p);
/* Does one of the profiles have constants of links? */
bool rh_profile_has_links(const char *names);
/* Returns the device that a profile's facts describe, interned; "" for none. */
const char *rh_profile_device(RhJson *doc);
/* Returns the key of a kind of shapes, such as "device.gemm.shapes". */
const char *rh_profile_shapes_key(RhCalibratedKind kind);
