#pragma once
/* An accelerator, and the time of a kernel on it.
 *
 * A device file (platforms/data/devices/NAME.json) holds the data sheet and the efficiency curves,
 * each number a fact with its source; a device with a `generation` may omit the curves. The cost
 * model (docs/theory/kernels.md):
 * - GEMM: tiles and waves over the SMs, k-loop ramp, split-k, roofline with memory; a factor over a
 *   grid of shapes where many were measured
 * - attention: causal FLOPs over a sustained rate that depends on sequence and head size
 * - others: bytes over sustained memory bandwidth, with a ramp for small sizes
 *
 * Every kernel takes at least the floor. Framework overheads are not here but in strategies/stack.
 */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cost_tree.h"
#include "base/fact.h"
#include "base/json/json.h"
#include "platforms/devices/calibrated_range.h"
#include "platforms/devices/custom_allreduce.h"
#include "platforms/devices/gemm_correction.h"
#include "platforms/devices/gpu_sharing.h"
#include "platforms/devices/kernel.h"
#include "platforms/devices/time_surface.h"

#define RH_TILES_MAX 8
/* Number of classes of head sizes of attention surfaces: 64, 128, 192, 256 and above. */
#define RH_SURFACE_HEADS 4

/* A thread-block tile that a GEMM library may choose, and the speed of its main loop. */
typedef struct {
    int32_t m, n;
    RhFact rate_frac; /* of gemm_peak_frac; 1 = the best tile of this device */
} RhGemmTile;

/* State of an accelerator for its power (platforms/devices/power.h). */
typedef enum {
    RH_POWER_COMPUTE,       /* a compute-bound kernel */
    RH_POWER_MEMORY,        /* a memory-bound kernel */
    RH_POWER_COMMUNICATION, /* no kernel; a collective or a message runs or is waited for */
    RH_POWER_IDLE,          /* nothing, clocks up */
    RH_POWER_LAST
} RhPowerState;

/* Efficiency facts; the formula that uses each is in docs/theory/kernels.md under the same name. */
typedef struct {
    int32_t tiles_count;
    RhGemmTile tiles[RH_TILES_MAX];
    RhFact gemm_peak_frac[RH_DTYPE_LAST]; /* sustained fraction of datasheet peak at large shapes,
                                             per dtype; value 0 = as bf16 */
    RhFact gemm_k_half;      /* k at which a tile's main loop reaches half of that rate */
    RhFact gemm_launch_s;    /* added to every GEMM: launch, first loads, last stores */
    RhFact gemm_memory_frac; /* of HBM peak, for memory-bound GEMMs */
    /* part of the smaller of compute and memory time that is not hidden */
    RhFact gemm_overlap_frac;
    /* cost of a partial last wave: 1 = a whole wave, 0 = its fraction */
    RhFact gemm_wave_tail_frac;
    /* rate of weight gradients of narrow activations over that of other products; 0: equal */
    RhFact gemm_gradient_frac;
    /* of HBM peak, for GEMMs of fewer rows than the smallest tile, which then are not padded to a
     * tile; 0: they are costed as all others */
    RhFact gemm_few_rows_frac;
    RhFact gemm_k_split; /* a grid smaller than the device is split along k, down to this k */
    RhFact attention_peak_frac;     /* of dense bf16 peak, forward, long sequences, head size 128 */
    RhFact attention_backward_frac; /* of the forward rate (backward has 2.5x the flops) */
    RhFact attention_s_half;        /* sequence at which attention reaches half of that rate */
    RhFact attention_d_half;        /* head size at which it reaches half of the rate at infinity */
    /* Rates of attention kernels that training runs, which rh_device_use_training() puts in their
     * place; peak 0: these. Backward has a rate and a half of its own, and heads above
     * `attention_training_head` run at that one's rate; 0: at their own. */
    RhFact attention_training_peak_frac, attention_training_s_half;
    RhFact attention_training_backward_frac, attention_training_backward_s_half;
    RhFact attention_training_head;
    /* rates of attention whose operands are fp8 over these; 0: equal */
    RhFact attention_fp8_frac, attention_fp8_backward_frac;
    /* fraction of its roofline that a scan kernel reaches; 0: all */
    RhFact scan_frac;
    RhFact memory_peak_frac; /* of HBM peak, large streaming kernels */
    /* of norms, casts and activations in training; 0: memory_peak_frac */
    RhFact memory_training_frac;
    RhFact memory_bytes_half;         /* size at which a streaming kernel reaches half of that */
    RhFact sustained_clock_frac;      /* sustained over boost clock in long runs (power) */
    RhFact kernel_floor_s;            /* shortest kernel */
    RhFact power_frac[RH_POWER_LAST]; /* of power_w, drawn in each state; value 0: unknown */
    RhCalibratedRange
        shapes[RH_CALIBRATED_RANGE_LAST]; /* calibrated ranges of GEMMs and attention */
} RhDeviceCurves;

/* Plain numbers of the cost model, derived from the facts by rh_device_refresh(). */
typedef struct {
    int32_t shift_m[RH_TILES_MAX], shift_n[RH_TILES_MAX]; /* log2 of the tile */
    double tile_s_per_k[RH_DTYPE_LAST][RH_TILES_MAX];     /* one tile, one step of k, one SM */
    double gemm_s_per_byte, stream_s_per_byte, cache_s_per_byte;
    double pass_s_per_byte; /* of norms, casts and activations */
    double attention_s_per_flop[RH_DTYPE_LAST],
        attention_backward_s_per_flop[RH_DTYPE_LAST]; /* whole device, head size 128 */
    double attention_backward_s_half, attention_head_most;
    double sms, sms_inverse, wave_tail, k_half, k_split_inverse, gradient_roofs;
    int64_t few_rows_below;        /* GEMMs of fewer rows have */
    double few_rows_roofs;         /* so many times the memory time of others; 0: as others */
    bool corrected[RH_DTYPE_LAST]; /* whether GEMMs in this format have a correction */
    double peak_s_per_flop[RH_DTYPE_LAST], hbm_s_per_byte; /* data sheet with power limit */
} RhDeviceRates;

/* Surfaces in use for kernel times; NULL: none. */
typedef struct {
    bool any;
    const RhSurface *gemm[RH_DTYPE_LAST], *experts[RH_DTYPE_LAST];
    const RhSurface *decode[RH_DTYPE_LAST][RH_SURFACE_HEADS]; /* by format of the cache */
    const RhSurface *prefill[RH_DTYPE_LAST][RH_SURFACE_HEADS];
} RhSurfacesUsed;

typedef struct {
    const char *name; /* interned, "h100-sxm" */
    const char
        *generation; /* interned, a name of platforms/devices/generation.h; NULL: none is said */
    /* interned: platform of its default node and network; NULL: its generation's */
    const char *node;
    int32_t sms_count;
    RhFact peak_flops_per_s[RH_DTYPE_LAST]; /* dense; value 0 = the device has no such units */
    RhFact hbm_bytes; /* usable by a framework: capacity as the driver reports it */
    RhFact hbm_bytes_per_s;
    RhFact cache_bytes, cache_bytes_per_s; /* caches next to the cores, all together; 0: not said */
    RhFact power_w;                        /* 0: unknown */
    RhFact power_limit_w;                  /* 0: no lower limit */
    RhDeviceCurves curves;
    RhGemmCorrection correction; /* for single GEMMs; dtype NONE: none */
    GPtrArray *surfaces; /* RhSurface, owned; of a profile; NULL: none. Never changed in place */
    RhPeerReduce peers;  /* from a profile */
    RhSurfacesUsed used; /* selection by rh_device_use_surfaces() */
    bool training;       /* set by rh_device_use_training() */
    /* Processes that share it; kernel times are of one that has it to itself (rh_bundle_time_s) */
    RhGpuClients clients;
    RhDeviceRates rates; /* derived; call rh_device_refresh() after changing a fact */
    char *hash;          /* SHA-256 of the file */
} RhDevice;

/* Loads a device by catalogue name ("h100-sxm") or path of a .json. RH_ERROR_INPUT names the near
 * ones. */
RhDevice *rh_device_load(const char *name, GError **error) G_GNUC_WARN_UNUSED_RESULT;
RhDevice *rh_device_parse(RhJson *doc, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Returns the maximum power in W: the smaller of its power and its limit; 0: unknown. */
double rh_device_power_w(const RhDevice *device);
/* Returns the ratio of clocks with and without the power limit: 1 where there is none. */
double rh_device_limit_clock_frac(const RhDevice *device);
/* Puts the rates of training's attention kernels in the place of those of serving's, where the
 * device has both and the user has not set the latter; then rh_device_refresh(). */
void rh_device_use_training(RhDevice *device);
/* Recomputes `rates` from the facts. */
void rh_device_refresh(RhDevice *device);
RhDevice *rh_device_copy(const RhDevice *device);
void rh_device_free(RhDevice *device);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhDevice, rh_device_free)

/* Uses the surfaces of the device's profile for kernel times, as serving does; without this call
 * none is used. `linear` is the format of linear layers of 8 or 4 bits, "fp8", "fp8_block" or
 * "nvfp4"; other kernels use "bf16" and the format of their cache. NULL: bf16 only. Returns false,
 * and uses the formula for that format, when it has no surface. */
bool rh_device_use_surfaces(RhDevice *device, const char *linear);
/* Returns whether GEMM times in this format include the cast of the left operand, which is then no
 * separate kernel. */
bool rh_device_casts_inside(const RhDevice *device, RhDtype dtype);
/* Replaces the expert surfaces of this format by those of `from`, which has another profile, where
 * it has any; rh_device_use_surfaces() then selects them. */
void rh_device_take_experts(RhDevice *device, const RhDevice *from, const char *format);
/* Keeps of this format the expert surfaces of one library ("trtllm-gen"), where there is one; false and all
 * stay: there is none. rh_device_use_surfaces() then selects it. */
bool rh_device_choose_experts(RhDevice *device, const char *format, const char *library);
/* Returns the surface that gives this kernel's time; NULL: the formula does. */
const RhSurface *rh_device_surface(const RhDevice *device, const RhKernel *kernel);

/* Returns the seconds of an engine's all-reduce inside a node (platforms/devices/custom_allreduce.h);
 * HUGE_VAL where the device's profile lacks it. */
double rh_peer_reduce_s(const RhDevice *device, int32_t ranks, double bytes);

/* Returns the fraction of the SMs left to kernels while `count` collectives or messages hold `held`
 * SMs each: one SM at least. Requires sms > 0. */
static inline double rh_sms_left_frac(double sms, double held, int32_t count)
{
    return MAX(1.0, sms - count * held) / sms;
}

/* Returns the seconds of one kernel alone on the device: the largest of compute, memory and floor.
 * Pure and thread-safe; about 30 ns. */
double rh_kernel_time_s(const RhDevice *device, const RhKernel *kernel);

/* Returns the seconds of the whole device that the kernel takes: its time times the larger of the
 * share of SMs that its thread blocks fill and the share of the memory's rate that it uses. Launch,
 * ramp and a last wave leave room; a kernel timed by a surface leaves none. */
double rh_kernel_filled_s(const RhDevice *device, const RhKernel *kernel);

/* Returns whether the kernel is compute-bound on the device. */
bool rh_kernel_computes(const RhDevice *device, const RhKernel *kernel);

/* Explains a kernel's time as a tree of terms (compute, memory, floor; which one binds and by which
 * facts). Caller frees. */
RhCost *rh_kernel_explain(const RhDevice *device, const RhKernel *kernel);
