#pragma once
/* What one accelerator is, and what a kernel costs on it.
 *
 * A device file (platforms/data/devices/NAME.json) holds the data sheet and the efficiency curves,
 * each number a fact with its source. Cost model, in docs/model.md: GEMM       tile and wave
 * quantisation over sms_count, k-loop ramp, roofline with memory attention  causal flops over a
 * sustained rate that depends on sequence and head size others     bytes over sustained memory
 * bandwidth, with a ramp for small sizes every kernel at least the launch floor. Knows nothing of
 * frameworks (their gaps live in strategies/stack). */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cost.h"
#include "base/fact.h"
#include "base/json.h"
#include "platforms/kernel.h"

/* Efficiency facts; the formula that uses each is in docs/model.md under the same name. */
typedef struct {
    RhFact gemm_tile_m, gemm_tile_n;      /* count: elements per thread-block tile */
    RhFact gemm_peak_frac[RH_DTYPE_LAST]; /* sustained fraction of datasheet peak at large shapes,
                                             per dtype */
    RhFact gemm_k_half;         /* k at which a tile's main loop reaches half of that rate */
    RhFact attention_peak_frac; /* of dense bf16 peak, forward, long sequences, head size 128 */
    RhFact attention_backward_frac;
    RhFact attention_s_half;     /* sequence at which attention reaches half of that rate */
    RhFact memory_peak_frac;     /* of HBM peak, large streaming kernels */
    RhFact memory_bytes_half;    /* size at which a streaming kernel reaches half of that */
    RhFact sustained_clock_frac; /* sustained over boost clock in long runs (power) */
    RhFact kernel_floor_s;       /* shortest kernel */
} RhDeviceCurves;

typedef struct {
    const char *name; /* interned, "h100-sxm" */
    int32_t sms_count;
    RhFact peak_flops_per_s[RH_DTYPE_LAST]; /* dense; value 0 = the device has no such units */
    RhFact hbm_bytes; /* usable by a framework: capacity as the driver reports it */
    RhFact hbm_bytes_per_s;
    RhFact power_w;
    RhDeviceCurves curves;
    char *hash; /* SHA-256 of the file */
} RhDevice;

/* By catalogue name ("h100-sxm") or path of a .json. RH_ERROR_INPUT names the near ones. */
RhDevice *rh_device_load(const char *name, GError **error);
RhDevice *rh_device_parse(RhJson *doc, GError **error);
RhDevice *rh_device_copy(const RhDevice *device);
void rh_device_free(RhDevice *device);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhDevice, rh_device_free)

/* Seconds of one kernel alone on the device: max(compute, memory, floor). Pure and thread-safe; ~20
 * ns. */
double rh_kernel_time_s(const RhDevice *device, const RhKernel *kernel);

/* The same number as a tree of terms (compute, memory, floor; which one binds and by which facts).
 * Caller frees. */
RhCost *rh_kernel_explain(const RhDevice *device, const RhKernel *kernel);
