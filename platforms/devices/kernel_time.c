/* Computes the time of a kernel. Formulas, symbols and fit errors: docs/theory/kernels.md.
 *
 * GEMM       gemm_launch + max(compute, memory) + overlap * min(compute, memory);
 *            compute = min over tiles of  waves * tile_s_per_k * (k' + k_half),
 *            x       = batch * ceil(m/tm) * ceil(n/tn) / sms,
 *            waves   = x + wave_tail * (ceil(x) - x) when x > 1, else 1,
 *            k'      = k / max(1, min(1/x, k/k_split)) when x < 1, else k; all of it times the
 *            correction, where the device has one; compute over gemm_gradient for gradients of
 *            weights out of narrow activations; with gemm_few_rows products of fewer rows than a
 *            tile compute no whole tile, and take max(compute, bytes / (few_rows B))
 * ATTENTION  flops / rate * (1 + s_half/s) * head-size factor, never less than its longest row of
 *            tiles; or its bytes; in training at the rates of training's kernels, where known
 * SCAN       flops at attention's rate, of long sequences, or its bytes; over scan_frac, but for
 *            one token of each sequence
 * others     (bytes + bytes_half) / rate
 * and never less than kernel_floor. Where surfaces of measured times are used, they take the place
 * of the first three (platforms/devices/time_surface.h). */
#include <float.h>
#include <math.h>
#include <string.h>

#include "platforms/devices/device.h"

/* Query rows of a thread block: FlashAttention-2 (arXiv 2307.08691), section 3.2. */
#define ATTENTION_TILE_ROWS 128.0

typedef struct {
    double compute_s, memory_s, launch_s, floor_s;
    double overlap_frac; /* fraction of the smaller of compute and memory time that is not hidden */
    double correction;   /* factor on the whole time */
    int tile;            /* GEMM: index of the tile chosen */
    double waves;
    double fill_frac;  /* share of the SMs that its thread blocks fill in the mean */
    double streamed_s; /* what the memory alone would take for its bytes, without a ramp */
} Parts;

static inline double ceil_shift(int64_t x, int shift)
{
    return (double)((x + ((int64_t)1 << shift) - 1) >> shift);
}

static inline double ceil_positive(double x)
{
    double whole = (double)(int64_t)x;
    return whole < x ? whole + 1 : whole;
}

/* Smallest side of a matrix instruction (mma.sync m16n8k16 of the PTX ISA, with operands exchanged;
 * wgmma has n from 8 on, too): a product of few rows is padded to a multiple of it. */
#define INSTRUCTION_ROWS 8

/* Fraction of a tile's rows that a product of few rows computes. */
static inline double few_rows_share(const RhGemmTile *tile, int64_t rows)
{
    int64_t padded = (rows + INSTRUCTION_ROWS - 1) / INSTRUCTION_ROWS * INSTRUCTION_ROWS;
    return (double)MIN(padded, tile->m) / tile->m;
}

/* Bytes of a GEMM's weights that lie in caches, as the GEMM before read them: all or none, as those that do not
 * fit push one another out. */
static inline double cached_bytes(const RhDevice *d, const RhKernel *k)
{
    double bytes = (double)(k->n * k->k) * rh_dtype_bytes(k->dtype);
    return k->again && d->rates.cache_s_per_byte > 0 && bytes <= d->cache_bytes.value ? bytes : 0;
}

static void cost_gemm(const RhDevice *d, const RhKernel *k, Parts *p)
{
    const RhDeviceRates *r = &d->rates;
    const double *s_per_k = r->tile_s_per_k[k->dtype];
    double depth = (double)k->k, batch = (double)MAX(k->batch, 1);
    double splits_most = depth * r->k_split_inverse, tail = r->wave_tail, half = r->k_half;
    bool few = k->m < r->few_rows_below;
    p->compute_s = DBL_MAX;
    for (int i = 0; i < d->curves.tiles_count; i++) {
        double tiles = batch * ceil_shift(k->m, r->shift_m[i]) * ceil_shift(k->n, r->shift_n[i]);
        double x = tiles * r->sms_inverse, waves = 1, steps = depth, fill = x;
        if (x > 1) {
            waves = x + tail * (ceil_positive(x) - x);
            fill = x / waves;
        } else if (splits_most > 1 && tiles > 0) {
            double splits = MIN(1 / x, splits_most);
            steps = depth / splits;
            fill = x * splits;
        }
        double s = waves * s_per_k[i] * (steps + half);
        if (few)
            s *= few_rows_share(&d->curves.tiles[i], k->m);
        if (s < p->compute_s) {
            p->compute_s = s;
            p->tile = i;
            p->waves = waves;
            p->fill_frac = fill;
        }
    }
    if (k->narrow_gradient)
        p->compute_s *= r->gradient_roofs;
    p->memory_s = k->bytes * r->gemm_s_per_byte;
    if (k->again) {
        double cached = cached_bytes(d, k);
        p->memory_s += cached * (r->cache_s_per_byte - r->gemm_s_per_byte);
    }
    p->launch_s = d->curves.gemm_launch_s.value;
    p->overlap_frac = few ? 0 : d->curves.gemm_overlap_frac.value;
    if (few)
        p->memory_s *= r->few_rows_roofs;
    p->streamed_s = p->memory_s;
    if (r->corrected[k->dtype] && k->batch <= 1)
        p->correction = rh_gemm_correction_factor(&d->correction, k->m, k->n, k->k);
}

/* FLOPs of attention. Causal masks skip the tiles above the diagonal: half of the square when
 * queries are keys. */
static double attention_flops(const RhKernel *k, double pair_flops)
{
    double m = (double)k->m, n = (double)k->n, seen = k->causal ? n - 0.5 * MIN(m, n) : n;
    return pair_flops * (double)MAX(k->batch, 1) * (double)MAX(k->heads, 1) * m * seen;
}

static void cost_attention(const RhDevice *d, const RhKernel *k, Parts *p)
{
    const RhDeviceRates *r = &d->rates;
    const RhDeviceCurves *c = &d->curves;
    bool backward = k->cls == RH_KERNEL_ATTENTION_BACKWARD;
    int64_t value = rh_kernel_v_head(k);
    double pair_flops = rh_attention_pair_flops(k->k, value, backward);
    double flops = k->flops > 0 ? k->flops : attention_flops(k, pair_flops);
    double s = (double)MAX(k->n, 1), half = c->attention_d_half.value;
    double head = CLAMP(0.5 * (double)(k->k + value), 1, r->attention_head_most);
    double s_half = backward ? r->attention_backward_s_half : c->attention_s_half.value;
    double s_per_flop =
        (backward ? r->attention_backward_s_per_flop : r->attention_s_per_flop)[k->dtype] *
        (1 + s_half / s) * (1 + half / head) / (1 + half / 128);
    /* the longest thread block bounds the kernel when there are few; decoding splits keys */
    double block = (double)k->m < ATTENTION_TILE_ROWS ? 0 : pair_flops * ATTENTION_TILE_ROWS * s;
    p->compute_s = MAX(flops, block * r->sms) * s_per_flop;
    p->fill_frac = flops / MAX(flops, block * r->sms);
    p->memory_s = p->streamed_s = k->bytes * r->stream_s_per_byte;
}

/* Cost of a scan. Its roof is assumed to be that of fused attention, whose products are on tiles,
 * too, inside a kernel that streams keys and values. The fraction that the kernels of a chunked
 * scan reach was measured. */
static void cost_scan(const RhDevice *d, const RhKernel *k, Parts *p)
{
    double reached = d->curves.scan_frac.value;
    double roofs = k->m > 1 && reached > 0 ? 1 / reached : 1;
    p->compute_s = roofs * k->flops * d->rates.attention_s_per_flop[k->dtype];
    p->memory_s =
        roofs * (k->bytes + d->curves.memory_bytes_half.value) * d->rates.stream_s_per_byte;
    p->fill_frac = 1;
}

static inline void cost_parts(const RhDevice *d, const RhKernel *k, Parts *p)
{
    p->floor_s = d->curves.kernel_floor_s.value;
    p->correction = 1;
    switch ((RhKernelClass)k->cls) {
    case RH_KERNEL_NONE:
        p->floor_s = 0;
        break;
    case RH_KERNEL_GEMM:
        cost_gemm(d, k, p);
        break;
    case RH_KERNEL_ATTENTION:
    case RH_KERNEL_ATTENTION_BACKWARD:
        cost_attention(d, k, p);
        break;
    case RH_KERNEL_SCAN:
        cost_scan(d, k, p);
        break;
    case RH_KERNEL_NORM:
    case RH_KERNEL_ACTIVATION:
    case RH_KERNEL_CAST:
        p->memory_s = (k->bytes + d->curves.memory_bytes_half.value) * d->rates.pass_s_per_byte;
        p->streamed_s = k->bytes * d->rates.pass_s_per_byte;
        break;
    case RH_KERNEL_SOFTMAX:
    case RH_KERNEL_ROTARY:
    case RH_KERNEL_ADD:
    case RH_KERNEL_DEPTHWISE:
    case RH_KERNEL_POOL:
    case RH_KERNEL_EMBEDDING:
    case RH_KERNEL_CROSS_ENTROPY:
    case RH_KERNEL_OPTIMIZER:
    case RH_KERNEL_REDUCE:
    case RH_KERNEL_LAST:
    default:
        p->memory_s = (k->bytes + d->curves.memory_bytes_half.value) * d->rates.stream_s_per_byte;
        p->streamed_s = k->bytes * d->rates.stream_s_per_byte;
        break;
    }
}

static inline double form_s(const Parts *p)
{
    return p->launch_s + MAX(p->compute_s, p->memory_s) +
           p->overlap_frac * MIN(p->compute_s, p->memory_s);
}

static inline double work_s(const Parts *p)
{
    return form_s(p) * p->correction;
}

static double surface_s(const RhDevice *d, const RhSurface *s, const RhKernel *k)
{
    double roof_s =
        rh_surface_roof_s(s, k, d->rates.peak_s_per_flop[s->dtype], d->rates.hbm_s_per_byte);
    return roof_s * rh_surface_factor(s, k, d->sms_count) * rh_surface_part(s, k);
}

double rh_kernel_time_s(const RhDevice *device, const RhKernel *kernel)
{
    const RhSurface *surface = device->used.any ? rh_device_surface(device, kernel) : NULL;
    if (surface) {
        double measured_s = surface_s(device, surface, kernel);
        return MAX(measured_s, device->curves.kernel_floor_s.value);
    }
    Parts p = {0};
    cost_parts(device, kernel, &p);
    double s = work_s(&p);
    return MAX(s, p.floor_s);
}

double rh_kernel_filled_s(const RhDevice *device, const RhKernel *kernel)
{
    double alone_s = rh_kernel_time_s(device, kernel);
    if (device->used.any && rh_device_surface(device, kernel))
        return alone_s;
    Parts p = {0};
    cost_parts(device, kernel, &p);
    double held_s = p.fill_frac * (form_s(&p) - p.launch_s);
    return MIN(alone_s, MAX(held_s, p.streamed_s) * p.correction);
}

bool rh_kernel_computes(const RhDevice *device, const RhKernel *kernel)
{
    Parts p = {0};
    cost_parts(device, kernel, &p);
    return p.compute_s > 0 && p.compute_s >= p.memory_s;
}

static char *describe_compute(const RhDevice *d, const RhKernel *k, const Parts *p)
{
    if (k->cls == RH_KERNEL_SCAN)
        return g_strdup_printf("%.3g of attention's rate, attention_peak_frac (%s)",
                               d->curves.scan_frac.value > 0 ? d->curves.scan_frac.value : 1,
                               d->curves.attention_peak_frac.source);
    if (k->cls != RH_KERNEL_GEMM)
        return g_strdup_printf("attention_peak_frac, attention_s_half (%s), sustained_clock_frac",
                               d->curves.attention_peak_frac.source);
    const RhGemmTile *t = &d->curves.tiles[p->tile];
    const RhFact *peak = &d->curves.gemm_peak_frac[k->dtype];
    if (peak->value <= 0) /* without such units the rate of bf16 applies */
        peak = &d->curves.gemm_peak_frac[RH_DTYPE_BF16];
    return g_strdup_printf("%.3g wave%s of %dx%d tiles on %d SMs; gemm_peak_frac (%s)", p->waves,
                           p->waves == 1 ? "" : "s", t->m, t->n, d->sms_count, peak->source);
}

/* Adds the whole of the larger term, and the part of the smaller one that it does not hide. */
static void add_work(RhCost *root, const RhDevice *d, const RhKernel *k, const Parts *p)
{
    const RhDeviceCurves *c = &d->curves;
    const char *memory =
        k->cls == RH_KERNEL_GEMM ? c->gemm_memory_frac.source : c->memory_peak_frac.source;
    g_autofree char *compute = p->compute_s > 0 ? describe_compute(d, k, p) : g_strdup("");
    bool compute_binds = p->compute_s >= p->memory_s;
    double hidden_not_s = p->overlap_frac * MIN(p->compute_s, p->memory_s);
    if (compute_binds && p->compute_s > 0)
        rh_cost_add(root, "compute", p->compute_s, compute);
    if (!compute_binds)
        rh_cost_add(root, "memory", p->memory_s, memory);
    if (hidden_not_s > 0)
        rh_cost_add(root, compute_binds ? "memory, not hidden" : "compute, not hidden",
                    hidden_not_s, compute_binds ? memory : compute);
}

static RhCost *explain_surface(const RhDevice *d, const RhSurface *s, const RhKernel *k)
{
    double total_s = rh_kernel_time_s(d, k);
    double roof_s =
        rh_surface_roof_s(s, k, d->rates.peak_s_per_flop[s->dtype], d->rates.hbm_s_per_byte);
    RhCost *root = rh_cost_new(rh_kernel_class_name((RhKernelClass)k->cls), total_s, "");
    rh_cost_add(root, "roofline of the data sheet", roof_s, s->format);
    rh_cost_add(root, "measured, by shape", total_s - roof_s, s->source);
    return root;
}

RhCost *rh_kernel_explain(const RhDevice *device, const RhKernel *kernel)
{
    g_return_val_if_fail(device != NULL && kernel != NULL, NULL);
    const RhSurface *surface = device->used.any ? rh_device_surface(device, kernel) : NULL;
    if (surface)
        return explain_surface(device, surface, kernel);
    Parts p = {0};
    cost_parts(device, kernel, &p);
    double total_s = rh_kernel_time_s(device, kernel);
    RhCost *root = rh_cost_new(rh_kernel_class_name((RhKernelClass)kernel->cls), total_s, "");
    if (p.launch_s > 0)
        rh_cost_add(root, "launch", p.launch_s, device->curves.gemm_launch_s.source);
    add_work(root, device, kernel, &p);
    if (p.correction != 1)
        rh_cost_add(root, "correction, by shape", work_s(&p) - form_s(&p),
                    device->correction.source);
    if (p.floor_s > work_s(&p))
        rh_cost_add(root, "floor, beyond work", p.floor_s - work_s(&p),
                    device->curves.kernel_floor_s.source);
    return root;
}

static int log2_of(int32_t power_of_two)
{
    return g_bit_nth_lsf((gulong)power_of_two, -1);
}

double rh_device_power_w(const RhDevice *d)
{
    double limit_w = d->power_limit_w.value;
    return limit_w > 0 && d->power_w.value > 0 ? MIN(d->power_w.value, limit_w)
                                               : MAX(d->power_w.value, limit_w);
}

/* Power is proportional to the clock times the square of the voltage, which is proportional to the
 * clock. */
double rh_device_limit_clock_frac(const RhDevice *d)
{
    return d->power_w.value > 0 ? cbrt(rh_device_power_w(d) / d->power_w.value) : 1;
}

void rh_device_use_training(RhDevice *d)
{
    RhDeviceCurves *c = &d->curves;
    if (c->attention_training_peak_frac.value > 0 && !rh_fact_is_users(&c->attention_peak_frac)) {
        c->attention_peak_frac = c->attention_training_peak_frac;
        c->attention_s_half = c->attention_training_s_half;
        c->attention_backward_frac = c->attention_training_backward_frac;
    }
    d->training = true;
    rh_device_refresh(d);
}

static double fp8_frac(const RhFact *frac, int dtype)
{
    return dtype == RH_DTYPE_FP8 && frac->value > 0 ? frac->value : 1;
}

/* Sets the rates of attention for a clock. Formats of 16 bits and more use their own matrix units
 * where the device has them; others run as bf16, but for what fp8 is known to bring. */
static void refresh_attention(RhDevice *d, double clock)
{
    const RhDeviceCurves *c = &d->curves;
    double bf16 = d->peak_flops_per_s[RH_DTYPE_BF16].value;
    for (int t = 0; t < RH_DTYPE_LAST; t++) {
        double own = d->peak_flops_per_s[t].value;
        double peak = own > 0 && rh_dtype_bytes((RhDtype)t) >= 2 ? own : bf16;
        double s_per_flop = 1.0 / (peak * c->attention_peak_frac.value * clock);
        d->rates.attention_s_per_flop[t] = s_per_flop / fp8_frac(&c->attention_fp8_frac, t);
        d->rates.attention_backward_s_per_flop[t] = s_per_flop / c->attention_backward_frac.value /
                                                    fp8_frac(&c->attention_fp8_backward_frac, t);
    }
    bool trains = d->training && c->attention_training_peak_frac.value > 0 &&
                  !rh_fact_is_users(&c->attention_peak_frac);
    double head = trains ? c->attention_training_head.value : 0;
    d->rates.attention_head_most = head > 0 ? head : DBL_MAX;
    d->rates.attention_backward_s_half =
        trains ? c->attention_training_backward_s_half.value : c->attention_s_half.value;
}

void rh_device_refresh(RhDevice *d)
{
    RhDeviceRates *r = &d->rates;
    const RhDeviceCurves *c = &d->curves;
    double clock = c->sustained_clock_frac.value * rh_device_limit_clock_frac(d);
    r->sms = d->sms_count;
    r->sms_inverse = 1.0 / d->sms_count;
    double bf16 = d->peak_flops_per_s[RH_DTYPE_BF16].value;
    for (int t = 1; t < RH_DTYPE_LAST; t++) {
        double peak = d->peak_flops_per_s[t].value, frac = c->gemm_peak_frac[t].value;
        if (peak <= 0) /* without such units it runs as bf16 */
            peak = bf16;
        if (frac <= 0)
            frac = c->gemm_peak_frac[RH_DTYPE_BF16].value;
        for (int i = 0; i < c->tiles_count; i++)
            r->tile_s_per_k[t][i] = 2.0 * c->tiles[i].m * c->tiles[i].n * d->sms_count /
                                    (peak * frac * c->tiles[i].rate_frac.value * clock);
    }
    memcpy(r->tile_s_per_k[RH_DTYPE_NONE], r->tile_s_per_k[RH_DTYPE_BF16],
           sizeof r->tile_s_per_k[0]);
    for (int i = 0; i < c->tiles_count; i++) {
        r->shift_m[i] = log2_of(c->tiles[i].m);
        r->shift_n[i] = log2_of(c->tiles[i].n);
    }
    for (int t = 1; t < RH_DTYPE_LAST; t++)
        r->corrected[t] = rh_gemm_correction_fits(&d->correction, (RhDtype)t);
    r->corrected[RH_DTYPE_NONE] = r->corrected[RH_DTYPE_BF16];
    for (int t = 0; t < RH_DTYPE_LAST; t++) {
        double peak = d->peak_flops_per_s[t].value;
        r->peak_s_per_flop[t] = 1 / ((peak > 0 ? peak : bf16) * rh_device_limit_clock_frac(d));
    }
    r->hbm_s_per_byte = 1 / d->hbm_bytes_per_s.value;
    r->wave_tail = c->gemm_wave_tail_frac.value;
    r->k_half = c->gemm_k_half.value;
    r->k_split_inverse = 1.0 / c->gemm_k_split.value;
    r->gradient_roofs = c->gemm_gradient_frac.value > 0 ? 1 / c->gemm_gradient_frac.value : 1;
    double few = c->gemm_few_rows_frac.value;
    r->few_rows_below = few > 0 ? INT64_MAX : 0;
    for (int i = 0; i < c->tiles_count; i++)
        r->few_rows_below = MIN(r->few_rows_below, c->tiles[i].m);
    r->few_rows_roofs = few > 0 ? c->gemm_memory_frac.value / few : 0;
    r->gemm_s_per_byte = 1.0 / (d->hbm_bytes_per_s.value * c->gemm_memory_frac.value);
    r->cache_s_per_byte = d->cache_bytes_per_s.value > 0
                              ? 1.0 / (d->cache_bytes_per_s.value * c->gemm_memory_frac.value)
                              : 0;
    double passes = d->training ? c->memory_training_frac.value : 0;
    r->pass_s_per_byte =
        1.0 / (d->hbm_bytes_per_s.value * (passes > 0 && !rh_fact_is_users(&c->memory_peak_frac)
                                               ? passes
                                               : c->memory_peak_frac.value));
    r->stream_s_per_byte = 1.0 / (d->hbm_bytes_per_s.value * c->memory_peak_frac.value);
    refresh_attention(d, clock);
}
