#include "calibrate/fit/fit_rows.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <math.h>

#define SHAPES_PER_PARAM 3

/* --- clusters of rows --- */

/* Mixes a value into a hash: FNV-1a over the bytes, then the finaliser of MurmurHash3, so that
 * neighbours differ. */
static uint32_t mix_hash(uint32_t hash, int64_t value)
{
    for (int i = 0; i < 8; i++)
        hash = (hash ^ (uint32_t)(((uint64_t)value >> (8 * i)) & 0xff)) * 16777619u;
    return hash;
}

static uint32_t finish(uint32_t hash)
{
    hash = (hash ^ (hash >> 16)) * 0x85ebca6bu;
    hash = (hash ^ (hash >> 13)) * 0xc2b2ae35u;
    return hash ^ (hash >> 16);
}

uint32_t rh_fit_cluster(const int64_t *values, size_t count)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < count; i++)
        hash = mix_hash(hash, values[i]);
    return finish(hash);
}

static uint32_t cluster_of(const RhKernel *k)
{
    uint32_t hash = 2166136261u;
    switch ((RhKernelClass)k->cls) {
    case RH_KERNEL_GEMM:
        return finish(mix_hash(mix_hash(hash, k->n), k->k));
    case RH_KERNEL_ATTENTION:
    case RH_KERNEL_ATTENTION_BACKWARD:
        return finish(mix_hash(
            mix_hash(mix_hash(mix_hash(mix_hash(hash, k->m), k->n), k->k), k->heads), k->kv_heads));
    case RH_KERNEL_NONE:
    case RH_KERNEL_SCAN:
    case RH_KERNEL_SOFTMAX:
    case RH_KERNEL_NORM:
    case RH_KERNEL_ROTARY:
    case RH_KERNEL_ACTIVATION:
    case RH_KERNEL_ADD:
    case RH_KERNEL_DEPTHWISE:
    case RH_KERNEL_POOL:
    case RH_KERNEL_CAST:
    case RH_KERNEL_EMBEDDING:
    case RH_KERNEL_CROSS_ENTROPY:
    case RH_KERNEL_OPTIMIZER:
    case RH_KERNEL_REDUCE:
    case RH_KERNEL_LAST:
        break;
    }
    return finish(mix_hash(mix_hash(hash, k->cls), (int64_t)k->bytes));
}

bool rh_fit_is_held_out(uint32_t cluster, double holdout_frac)
{
    return cluster < holdout_frac * 4294967296.0;
}

/* --- regimes --- */

const char *rh_fit_regime_name(RhFitRegime regime)
{
    static const char *const names[] = {"", "large", "medium", "small", "long", "short"};
    return names[regime];
}

/* Regime of a GEMM, and its weight as in docs/theory/kernels.md. */
static RhFitRegime gemm_regime(const RhKernel *k, double *weight)
{
    bool large = k->m >= 1024 && k->n >= 512 && k->k >= 512;
    *weight = large ? 3 : k->m < 128 ? 0.25 : 1;
    return large ? RH_FIT_LARGE : k->m < 128 ? RH_FIT_SMALL : RH_FIT_MEDIUM;
}

static RhFitRegime attention_regime(const RhKernel *k, double *weight)
{
    *weight = k->n >= 1024 ? 1 : 0.25;
    return k->n >= 1024 ? RH_FIT_LONG : RH_FIT_SHORT;
}

static bool is_streaming(RhKernelClass cls)
{
    return cls >= RH_KERNEL_SOFTMAX && cls < RH_KERNEL_LAST;
}

/* The kernel that a raw row measures, as the model sees it; class NONE: not of this class. */
static RhKernel kernel_of(const RhRawRow *row, RhKernelClass wanted)
{
    RhKernel k = row->kernel, none = {0};
    if (wanted == RH_KERNEL_ADD && row->cls == RK_COPY_DEVICE) {
        k.cls = RH_KERNEL_ADD;
        return k;
    }
    if (row->kernel.cls == RH_KERNEL_NONE || rh_raw_is_stand_in(row))
        return none;
    bool fits = wanted == RH_KERNEL_ADD ? is_streaming((RhKernelClass)k.cls) : k.cls == wanted;
    return fits ? k : none;
}

/* Seconds that a row would take at the highest clock, to which constants are fitted: of a long
 * kernel that units bound, what the clock during it tells; of others, what was measured. */
static double seconds_at_boost(const RhRaw *raw, const RhRawRow *row, RhFitRegime regime)
{
    bool bound_by_units = regime == RH_FIT_LARGE || regime == RH_FIT_LONG;
    double clock_frac = bound_by_units ? rh_raw_clock_frac(raw, row) : 0;
    return clock_frac > 0 ? row->seconds * MIN(clock_frac, 1) : row->seconds;
}

void rh_fit_rows_add(GArray *rows, const RhRaw *raw, RhKernelClass cls, RhDtype dtype,
                     double holdout_frac)
{
    for (guint i = 0; i < raw->rows->len; i++) {
        const RhRawRow *r = &g_array_index(raw->rows, RhRawRow, i);
        RhFitRow row = {.raw = r, .file = raw->name, .sample.weight = 1};
        RhKernel *k = &row.sample.kernel;
        *k = kernel_of(r, cls);
        if (k->cls == RH_KERNEL_NONE || (dtype != RH_DTYPE_NONE && k->dtype != dtype))
            continue;
        if (cls == RH_KERNEL_GEMM)
            row.regime = gemm_regime(k, &row.sample.weight);
        else if (cls != RH_KERNEL_ADD)
            row.regime = attention_regime(k, &row.sample.weight);
        row.sample.seconds = seconds_at_boost(raw, r, row.regime);
        row.sample.cluster = cluster_of(k);
        row.held_out = rh_fit_is_held_out(row.sample.cluster, holdout_frac);
        g_array_append_val(rows, row);
    }
}

GArray *rh_fit_rows_samples(const GArray *rows, size_t params_count)
{
    GArray *samples = g_array_new(FALSE, FALSE, sizeof(RhFitSample));
    g_autoptr(GHashTable) shapes = g_hash_table_new(NULL, NULL);
    for (guint i = 0; i < rows->len; i++) {
        const RhFitRow *row = &g_array_index(rows, RhFitRow, i);
        if (row->held_out)
            continue;
        g_array_append_val(samples, row->sample);
        g_hash_table_add(shapes, GUINT_TO_POINTER(row->sample.cluster));
    }
    if (g_hash_table_size(shapes) < SHAPES_PER_PARAM * params_count)
        for (guint i = 0; i < samples->len; i++)
            g_array_index(samples, RhFitSample, i).cluster = i;
    return samples;
}

/* --- error figures --- */

void rh_fit_figures_of(double *errors_frac, size_t count, RhFitFigures *figures)
{
    *figures = (RhFitFigures){.count = (int32_t)count};
    if (count == 0)
        return;
    figures->bias_frac = gsl_stats_mean(errors_frac, 1, count);
    for (size_t i = 0; i < count; i++) {
        if (fabs(errors_frac[i]) > fabs(figures->worst_frac))
            figures->worst_frac = errors_frac[i];
        errors_frac[i] = fabs(errors_frac[i]);
    }
    figures->mean_frac = gsl_stats_mean(errors_frac, 1, count);
    gsl_sort(errors_frac, 1, count);
    figures->median_frac = gsl_stats_median_from_sorted_data(errors_frac, 1, count);
    figures->p90_frac = gsl_stats_quantile_from_sorted_data(errors_frac, 1, count, 0.9);
}

void rh_fit_figures(const GArray *rows, RhFitRegime regime, bool held_out, const RhDevice *device,
                    RhFitFigures *figures)
{
    g_autofree double *errors_frac = g_new(double, rows->len + 1);
    const RhFitRow *worst = NULL;
    double worst_frac = -1;
    size_t count = 0;
    for (guint i = 0; i < rows->len; i++) {
        const RhFitRow *row = &g_array_index(rows, RhFitRow, i);
        if (row->held_out != held_out || (regime != RH_FIT_ALL && row->regime != regime))
            continue;
        double off = rh_kernel_time_s(device, &row->sample.kernel) / row->sample.seconds - 1;
        errors_frac[count++] = off;
        if (fabs(off) > worst_frac) {
            worst_frac = fabs(off);
            worst = row;
        }
    }
    rh_fit_figures_of(errors_frac, count, figures);
    figures->worst = worst ? rh_raw_describe(worst->raw) : NULL;
}

void rh_fit_figures_clear(RhFitFigures *figures)
{
    g_clear_pointer(&figures->worst, g_free);
}
