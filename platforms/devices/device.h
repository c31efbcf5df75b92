#pragma once
/* What one accelerator is, and what a kernel costs on it.
 *
 * A device file (platforms/data/devices/NAME.json) holds the data sheet and the efficiency curves,
 * each number a fact with its source; of a device with a `generation` the curves may be left out. The cost model, in docs/theory/kernels.md:
 * - GEMM: tiles and waves over the SMs, k-loop ramp, split along k, roofline with memory; where
 *   many were timed, a factor over a grid of shapes
 * - attention: causal flops over a sustained rate that depends on sequence and head size
 * - others: bytes over sustained memory bandwidth, with a ramp for small sizes
 *
 * Every kernel takes at least the floor. Knows nothing of frameworks: their gaps live in
 * strategies/stack. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cost.h"
#include "base/fact.h"
#include "base/json.h"
#include "platforms/devices/calibrated_range.h"
#include "platforms/devices/gemm_correction.h"
#include "platforms/devices/kernel.h"
#include "platforms/devices/peer_reduce.h"
#include "platforms/devices/surface.h"

#define RH_TILES_MAX 8
/* Head sizes that surfaces of attention are kept apart by: 64, 128, 192, 256 and more. */
#define RH_SURFACE_HEADS 4

/* One thread-block tile a GEMM library may choose, and how fast its main loop runs. */
typedef struct {
    int32_t m, n;
    RhFact rate_frac; /* of gemm_peak_frac; 1 = the best tile of this device */
} RhGemmTile;

/* What an accelerator does, as far as its power goes (platforms/devices/power.h). */
typedef enum {
    RH_POWER_COMPUTE,       /* a kernel that its arithmetic bounds */
    RH_POWER_MEMORY,        /* a kernel that memory bounds */
    RH_POWER_COMMUNICATION, /* no kernel; a collective or a message holds SMs, or waits on them */
    RH_POWER_IDLE,          /* nothing, clocks up */
    RH_POWER_LAST
} RhPowerState;

/* Efficiency facts; the formula that uses each is in docs/theory/kernels.md under the same name. */
typedef struct {
    int32_t tiles_count;
    RhGemmTile tiles[RH_TILES_MAX];
    RhFact gemm_peak_frac[RH_DTYPE_LAST]; /* sustained fraction of datasheet peak at large shapes,
                                             per dtype; value 0 = as bf16 */
    RhFact gemm_k_half;       /* k at which a tile's main loop reaches half of that rate */
    RhFact gemm_launch_s;     /* added to every GEMM: launch, first loads, last stores */
    RhFact gemm_memory_frac;  /* of HBM peak, when a GEMM is bound by its operands */
    RhFact gemm_overlap_frac; /* part of the smaller of compute and memory that is not hidden */
    /* what an unfilled last wave costs: 1 = a whole wave, 0 = its share */
    RhFact gemm_wave_tail_frac;
    /* rate of weights' gradients of narrow activations over that of other products; 0: the same */
    RhFact gemm_gradient_frac;
    RhFact gemm_k_split; /* a grid smaller than the device is split along k, down to this k */
    RhFact attention_peak_frac;     /* of dense bf16 peak, forward, long sequences, head size 128 */
    RhFact attention_backward_frac; /* of the forward rate (backward has 2.5x the flops) */
    RhFact attention_s_half;        /* sequence at which attention reaches half of that rate */
    RhFact attention_d_half;        /* head size at which it reaches half of the rate at infinity */
    RhFact scan_frac;               /* of its roof that a scan's kernel reaches; 0: all of it */
    RhFact memory_peak_frac;        /* of HBM peak, large streaming kernels */
    RhFact memory_bytes_half;       /* size at which a streaming kernel reaches half of that */
    RhFact sustained_clock_frac;    /* sustained over boost clock in long runs (power) */
    RhFact kernel_floor_s;          /* shortest kernel */
    RhFact power_frac[RH_POWER_LAST]; /* of power_w, drawn in each state; value 0: unknown */
    RhCalibratedRange
        shapes[RH_CALIBRATED_RANGE_LAST]; /* that the constants of GEMMs and attention are of */
} RhDeviceCurves;

/* What the cost model reads: plain numbers derived from the facts by rh_device_refresh(). */
typedef struct {
    int32_t shift_m[RH_TILES_MAX], shift_n[RH_TILES_MAX]; /* log2 of the tile */
    double tile_s_per_k[RH_DTYPE_LAST][RH_TILES_MAX];     /* one tile, one step of k, one SM */
    double gemm_s_per_byte, stream_s_per_byte;
    double attention_s_per_flop[RH_DTYPE_LAST],
        attention_backward_s_per_flop[RH_DTYPE_LAST]; /* whole device, head size 128 */
    double sms, sms_inverse, wave_tail, k_half, k_split_inverse, gradient_roofs;
    bool corrected[RH_DTYPE_LAST]; /* is there a correction of GEMMs in this format */
    double peak_s_per_flop[RH_DTYPE_LAST], hbm_s_per_byte; /* the data sheet's, power limit in */
} RhDeviceRates;

/* The surfaces that kernel times go by: NULL where none does. */
typedef struct {
    bool any;
    const RhSurface *gemm[RH_DTYPE_LAST], *experts[RH_DTYPE_LAST];
    const RhSurface *decode[RH_DTYPE_LAST][RH_SURFACE_HEADS]; /* by the format of the cache */
    const RhSurface *prefill[RH_DTYPE_LAST][RH_SURFACE_HEADS];
} RhSurfacesUsed;

typedef struct {
    const char *name; /* interned, "h100-sxm" */
    const char
        *generation;  /* interned, a name of platforms/devices/generation.h; NULL: none is said */
    const char *node; /* interned: the platform whose node and network it has where no other is
                               said; NULL: its generation's */
    int32_t sms_count;
    RhFact peak_flops_per_s[RH_DTYPE_LAST]; /* dense; value 0 = the device has no such units */
    RhFact hbm_bytes; /* usable by a framework: capacity as the driver reports it */
    RhFact hbm_bytes_per_s;
    RhFact power_w;       /* 0: unknown */
    RhFact power_limit_w; /* 0: none but that */
    RhDeviceCurves curves;
    RhGemmCorrection correction; /* of single GEMMs; dtype NONE: none */
    GPtrArray *surfaces; /* RhSurface, owned; of a profile; NULL: none. Never changed in place */
    RhPeerReduce peers;  /* of a profile */
    RhSurfacesUsed used; /* of them; rh_device_use_surfaces() */
    RhDeviceRates rates; /* derived; call rh_device_refresh() after changing a fact */
    char *hash;          /* SHA-256 of the file */
} RhDevice;

/* By catalogue name ("h100-sxm") or path of a .json. RH_ERROR_INPUT names the near ones. */
RhDevice *rh_device_load(const char *name, GError **error);
RhDevice *rh_device_parse(RhJson *doc, GError **error);
/* Watts it may draw: the smaller of its power and its limit; 0: unknown. */
double rh_device_power_w(const RhDevice *device);
/* The clock under the power limit over that without: 1 where there is none. */
double rh_device_limit_clock_frac(const RhDevice *device);
/* Recomputes `rates` from the facts. */
void rh_device_refresh(RhDevice *device);
RhDevice *rh_device_copy(const RhDevice *device);
void rh_device_free(RhDevice *device);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhDevice, rh_device_free)

/* Takes kernel times from the surfaces that the device's profile brought, as serving does; without
 * this call none is used. `linear` is the format of linear layers of 8 or 4 bits, "fp8", "fp8_block"
 * or "nvfp4"; other kernels go by "bf16", and by the format of their cache. NULL: bf16 alone. False,
 * and that format by its form, when there is no surface of that name. */
bool rh_device_use_surfaces(RhDevice *device, const char *linear);
/* Do GEMM times in this format hold the cast of the left operand? Then it is no kernel of its own. */
bool rh_device_casts_inside(const RhDevice *device, RhDtype dtype);
/* Surfaces of experts in this format are from then on those of `from`, which another profile was laid over, where it
 * has any; rh_device_use_surfaces() takes them. */
void rh_device_take_experts(RhDevice *device, const RhDevice *from, const char *format);
/* The surface that this kernel's time is from; NULL: from a form. */
const RhSurface *rh_device_surface(const RhDevice *device, const RhKernel *kernel);

/* Seconds of an engine's all-reduce of so many bytes inside a node (platforms/devices/peer_reduce.h); HUGE_VAL
 * where the device's profile does not tell. */
double rh_peer_reduce_s(const RhDevice *device, int32_t ranks, double bytes);

/* What kernels keep of a device of so many SMs while `count` collectives or messages move bytes, each of which
 * holds `held` SMs: one SM at least. `sms` above 0. */
static inline double rh_sms_left_frac(double sms, double held, int32_t count)
{
    return MAX(1.0, sms - count * held) / sms;
}

/* Seconds of one kernel alone on the device: the larger of compute, memory and floor. Pure and
 * thread-safe; ~30 ns. */
double rh_kernel_time_s(const RhDevice *device, const RhKernel *kernel);

/* Does arithmetic bound the kernel there, rather than memory? */
bool rh_kernel_computes(const RhDevice *device, const RhKernel *kernel);

/* The same number as a tree of terms (compute, memory, floor; which one binds and by which facts).
 * Caller frees. */
RhCost *rh_kernel_explain(const RhDevice *device, const RhKernel *kernel);
