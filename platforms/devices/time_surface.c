#include "platforms/devices/time_surface.h"

#include <math.h>
#include <string.h>

#include "base/interned_strings.h"

#define AT_MOST         0x1p48 /* beyond every node that a file may have */
#define LOG_FACTOR_MOST 7.0    /* e^7 = 1,097: beyond it a roofline describes nothing */

static const char *const KIND_NAMES[RH_SURFACE_LAST] = {
    [RH_SURFACE_NONE] = "none",
    [RH_SURFACE_GEMM] = "gemm",
    [RH_SURFACE_DECODE] = "attention-decode",
    [RH_SURFACE_PREFILL] = "attention-prefill",
    [RH_SURFACE_EXPERTS] = "experts",
};

const char *rh_surface_kind_name(RhSurfaceKind kind)
{
    g_return_val_if_fail(kind < RH_SURFACE_LAST, "none");
    return KIND_NAMES[kind];
}

RhSurfaceKind rh_surface_kind_by_name(const char *name)
{
    for (int i = 1; i < RH_SURFACE_LAST; i++)
        if (strcmp(KIND_NAMES[i], name) == 0)
            return (RhSurfaceKind)i;
    return RH_SURFACE_NONE;
}

/* --- axes --- */

/* Continuous position on the axis: a logarithm, but piecewise linear inside an octave. */
static inline double place_of(double x, int *octave)
{
    int64_t whole = (int64_t)x;
    int exponent = 63 - __builtin_clzll((unsigned long long)MAX(whole, 1));
    *octave = MIN(exponent, RH_SURFACE_OCTAVES);
    return exponent + x / (double)((int64_t)1 << exponent) - 1;
}

static void derive(RhSurfaceAxis *axis)
{
    int octave = 0;
    for (int i = 0; i < axis->count; i++)
        axis->place[i] = place_of(axis->at[i], &octave);
    for (int i = 0; i + 1 < axis->count; i++)
        axis->per_place[i] = 1 / (axis->place[i + 1] - axis->place[i]);
    for (int o = 0, i = 0; o <= RH_SURFACE_OCTAVES; o++) {
        while (i + 1 < axis->count && axis->place[i + 1] <= o)
            i++;
        axis->first[o] = (uint8_t)i;
    }
}

/* The node at or below x; `beyond` is the fraction of the way to the next. */
static inline int node_along(const RhSurfaceAxis *axis, double x, double *beyond)
{
    int octave = 0;
    double place = place_of(MIN(MAX(x, 1), AT_MOST), &octave);
    int i = axis->first[octave];
    while (i + 1 < axis->count && axis->place[i + 1] <= place)
        i++;
    *beyond = 0;
    if (i + 1 < axis->count && place > axis->place[i])
        *beyond = (place - axis->place[i]) * axis->per_place[i];
    return i;
}

void rh_surface_place(const RhSurface *s, const double at[3], RhSurfacePlace *place)
{
    double y = 0, z = 0;
    place->left = node_along(&s->axes[0], at[0], &place->beyond);
    int i = node_along(&s->axes[1], at[1], &y), j = node_along(&s->axes[2], at[2], &z);
    int columns = s->axes[2].count, next = i + 1 < s->axes[1].count, on = j + 1 < columns;
    for (int corner = 0; corner < 4; corner++) {
        int up = corner >> 1, across = corner & 1;
        place->right[corner] = (i + (up & next)) * columns + j + (across & on);
        place->weight[corner] = (up ? y : 1 - y) * (across ? z : 1 - z);
    }
}

double rh_surface_log_factor(const RhSurface *s, const RhSurfacePlace *place)
{
    int rank = s->rank, next = place->left + 1 < s->axes[0].count;
    const double *a = s->left + (size_t)place->left * (size_t)rank, *b = a + (next ? rank : 0);
    const double *c[4];
    double sum = 0;
    for (int i = 0; i < 4; i++)
        c[i] = s->right + (size_t)place->right[i] * (size_t)rank;
    for (int r = 0; r < rank; r++) {
        double right = place->weight[0] * c[0][r] + place->weight[1] * c[1][r] +
                       place->weight[2] * c[2][r] + place->weight[3] * c[3][r];
        sum += right * (a[r] + place->beyond * (b[r] - a[r]));
    }
    return sum;
}

/* --- kernels --- */

/* Rows of all experts; `m` is the whole number of rows per expert. */
static double grouped_rows(const RhKernel *k)
{
    return k->flops / (2 * (double)k->n * (double)k->k);
}

void rh_surface_at(const RhSurface *s, const RhKernel *k, double at[3])
{
    double heads = MAX(k->heads, 1), kv_heads = MAX(k->kv_heads, 1);
    double sequences = (double)MAX(k->batch, 1);
    if (s->kind == RH_SURFACE_GEMM) {
        at[0] = (double)k->m;
        at[1] = (double)k->n;
        at[2] = (double)k->k;
        return;
    }
    if (s->kind == RH_SURFACE_EXPERTS) {
        at[0] = grouped_rows(k) / sequences;
        at[1] = sequences;
        at[2] = (double)k->n * (double)k->k;
        return;
    }
    at[0] = heads / kv_heads;
    at[1] = sequences * (s->kind == RH_SURFACE_DECODE ? kv_heads : heads);
    at[2] = (double)k->n;
}

double rh_surface_factor(const RhSurface *s, const RhKernel *kernel, int sms)
{
    double at[3];
    RhSurfacePlace place;
    rh_surface_at(s, kernel, at);
    rh_surface_place(s, at, &place);
    double sum = rh_surface_log_factor(s, &place);
    if (s->trees) {
        float features[RH_FOREST_FEATURES_MAX];
        rh_surface_features(s, kernel, at, sms, features);
        sum += rh_forest_at(s->trees, features);
    }
    return exp(CLAMP(sum, -LOG_FACTOR_MOST, LOG_FACTOR_MOST));
}

RhCalibratedKind rh_surface_shapes_kind(RhSurfaceKind kind)
{
    return kind == RH_SURFACE_GEMM || kind == RH_SURFACE_EXPERTS ? RH_CALIBRATED_RANGE_GEMM
                                                                 : RH_CALIBRATED_RANGE_ATTENTION;
}

/* Returns the (query, key) pairs of an attention head: half of a square under a causal mask. */
static double query_key_pairs(const RhKernel *k)
{
    double m = (double)k->m, n = (double)k->n;
    return m * (k->causal ? n - 0.5 * MIN(m, n) : n);
}

/* The kernel that a table would have timed: for a chunk, the whole prompt up to its last token. */
static RhKernel tabled(const RhSurface *s, const RhKernel *k)
{
    RhKernel whole = *k;
    if (s->kind == RH_SURFACE_PREFILL)
        whole.m = k->n;
    return whole;
}

double rh_surface_part(const RhSurface *s, const RhKernel *k)
{
    RhKernel whole = tabled(s, k);
    return whole.m == k->m ? 1 : query_key_pairs(k) / query_key_pairs(&whole);
}

double rh_surface_flops(const RhSurface *s, const RhKernel *kernel)
{
    RhKernel whole = tabled(s, kernel);
    const RhKernel *k = &whole;
    double batch = (double)MAX(k->batch, 1);
    if (s->kind == RH_SURFACE_EXPERTS)
        return k->flops;
    if (s->kind == RH_SURFACE_GEMM)
        return 2 * batch * (double)k->m * (double)k->n * (double)k->k;
    return batch * MAX(k->heads, 1) * query_key_pairs(k) *
           rh_attention_pair_flops(k->k, rh_kernel_v_head(k), false);
}

double rh_surface_bytes(const RhSurface *s, const RhKernel *kernel)
{
    RhKernel whole = tabled(s, kernel);
    const RhKernel *k = &whole;
    double batch = (double)MAX(k->batch, 1), m = (double)k->m, n = (double)k->n, d = (double)k->k;
    double columns = d + (double)rh_kernel_v_head(k);
    double weight_bytes = k->weight_bytes > 0 ? (double)k->weight_bytes : s->operand_bytes;
    if (s->kind == RH_SURFACE_EXPERTS)
        return (weight_bytes * batch * n + s->operand_bytes * grouped_rows(k)) * d +
               2 * grouped_rows(k) * n;
    if (s->kind == RH_SURFACE_GEMM)
        return batch * ((s->operand_bytes * m + weight_bytes * n) * d + 2 * m * n);
    return batch * columns * (MAX(k->kv_heads, 1) * n * s->operand_bytes + 2 * k->heads * m);
}

double rh_surface_roof_s(const RhSurface *s, const RhKernel *kernel, double s_per_flop,
                         double s_per_byte)
{
    double compute_s = rh_surface_flops(s, kernel) * s_per_flop / s->compute_frac;
    double memory_s = rh_surface_bytes(s, kernel) * s_per_byte / s->memory_frac;
    return s->launch_s + MAX(compute_s, memory_s);
}

/* --- construction --- */

RhSurface *rh_surface_new(RhSurfaceKind kind, const double *const nodes[3], const int counts[3],
                          int rank)
{
    for (int a = 0; a < 3; a++)
        if (counts[a] < 1 || counts[a] > RH_SURFACE_NODES_MAX)
            return NULL;
    size_t places = (size_t)counts[1] * (size_t)counts[2];
    if (rank < 1 || rank > RH_SURFACE_RANK_MAX || places > RH_SURFACE_PLACES_MAX)
        return NULL;
    RhSurface *s = g_atomic_rc_box_new0(RhSurface);
    s->kind = kind;
    s->rank = rank;
    for (int a = 0; a < 3; a++) {
        s->axes[a].count = counts[a];
        memcpy(s->axes[a].at, nodes[a], (size_t)counts[a] * sizeof(double));
        derive(&s->axes[a]);
    }
    s->left = g_new0(double, (size_t)counts[0] * (size_t)rank);
    s->right = g_new0(double, places *(size_t)rank);
    s->source = s->date = s->format = s->library = rh_intern("");
    return s;
}

static void clear(gpointer surface)
{
    RhSurface *s = surface;
    g_free(s->left);
    g_free(s->right);
    rh_forest_free(s->trees);
}

RhSurface *rh_surface_ref(RhSurface *surface)
{
    return g_atomic_rc_box_acquire(surface);
}

void rh_surface_unref(RhSurface *surface)
{
    if (surface)
        g_atomic_rc_box_release_full(surface, clear);
}
