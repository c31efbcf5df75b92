/* Selects the rows of tables that a surface is fitted to. */
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <math.h>
#include <string.h>

#include "base/garray_access.h"
#include "calibrate/surfaces/surfaces_private.h"

/* Median time of small products beyond which a table was timed as a host launches kernels one by
 * one, not as a graph does: vLLM's fp8_block, 58 to 83 us where others take 5 to 10. */
#define LAUNCH_BOUND_S       30e-6
#define SMALL_ROWS           64
#define SMALL_ENTRIES        1048576.0
#define CACHE_LARGE_BYTES    2.5e8 /* beyond any cache of a GPU */
#define IMPOSSIBLE_MOST_FRAC 0.1   /* of the large rows of a table that is otherwise used */
#define CAST_MOST_FRAC       0.9   /* of a time: the rest would be noise */

void rh_surfaces_note(const RhSurfacesWork *w, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    g_ptr_array_add(w->fit->notes, g_strdup_vprintf(format, values));
    va_end(values);
}

static bool is_of(const RhSurfaceOf *kind, const RhTableSample *row)
{
    return row->role == RH_TABLED_KERNEL && row->kind == kind->kind &&
           row->format == kind->format && row->kernel.dtype == kind->dtype &&
           (kind->head == 0 || row->kernel.k == kind->head) &&
           (!kind->library || row->library == kind->library);
}

char *rh_surface_of_name(const RhSurfaceOf *kind)
{
    const char *name = rh_surface_kind_name(kind->kind);
    if (kind->head != 0)
        return g_strdup_printf("%s d%d, cache %s", name, (int)kind->head, kind->format);
    bool named = kind->library && *kind->library;
    return g_strdup_printf("%s %s%s%s", name, kind->format, named ? ", " : "",
                           named ? kind->library : "");
}

static gint64 shape_key(const RhKernel *k)
{
    return (gint64)(((guint64)k->m << 32) ^ (guint64)k->k);
}

/* Seconds of casts by the shape of their input: GHashTable of int64 to double. */
static GHashTable *casts_of(const RhSurfacesWork *w, const char *library, RhTableRole role)
{
    GHashTable *out = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    for (guint i = 0; i < w->tables->len; i++) {
        const RhKernelTables *t = g_ptr_array_index(w->tables, i);
        for (guint k = 0; t->library == library && k < t->rows->len; k++) {
            const RhTableSample *row = &g_array_index(t->rows, RhTableSample, k);
            if (row->role != role)
                continue;
            gint64 *key = g_new(gint64, 1);
            *key = shape_key(&row->kernel);
            g_hash_table_insert(out, key, (gpointer)&row->seconds);
        }
    }
    return out;
}

static double cast_s(GHashTable *casts, const RhKernel *k)
{
    gint64 key = shape_key(k);
    const double *seconds = g_hash_table_lookup(casts, &key);
    return seconds ? *seconds : HUGE_VAL; /* more than any time */
}

/* Subtracts casts from whole linear layers, where the casts were timed, too. 4-bit inputs are cast
 * in the layer before, except for their scale. */
static void subtract_casts(const RhSurfacesWork *w, const RhSurfaceOf *kind, GArray *samples)
{
    const RhSurfaceSample *first = &g_array_index(samples, RhSurfaceSample, 0);
    bool four = kind->dtype == RH_DTYPE_FP4, plain = strcmp(kind->format, "fp8") == 0;
    g_autoptr(GHashTable) scales = casts_of(w, first->table->library, RH_TABLED_SCALE);
    g_autoptr(GHashTable) casts = casts_of(w, first->table->library, RH_TABLED_CAST);
    if (!first->row->casts_inside || !(four || plain) || g_hash_table_size(scales) == 0)
        return;
    guint kept = 0;
    for (guint i = 0; i < samples->len; i++) {
        RhSurfaceSample s = g_array_index(samples, RhSurfaceSample, i);
        double off = cast_s(scales, &s.row->kernel) + (four ? 0 : cast_s(casts, &s.row->kernel));
        if (!(off <= CAST_MOST_FRAC * s.seconds))
            continue;
        s.seconds -= off;
        g_array_index(samples, RhSurfaceSample, kept++) = s;
    }
    if (kept < samples->len)
        rh_surfaces_note(
            w, "gemm %s: %u of %u rows take hardly longer than their casts, or these are unknown",
            kind->format, samples->len - kept, samples->len);
    g_array_set_size(samples, kept);
}

static double stream_s(const RhSurfacesWork *w, double bytes)
{
    RhKernel k = {.cls = RH_KERNEL_ADD, .bytes = bytes};
    return rh_kernel_time_s(w->device, &k);
}

/* Subtracts separate kernels of operators: copies of tokens into the order of experts and back, and
 * the activation between (workloads/operators/mixture_of_experts.c). At least half of the time remains. */
static void subtract_streams(const RhSurfacesWork *w, GArray *samples)
{
    for (guint i = 0; i < samples->len; i++) {
        RhSurfaceSample *s = &g_array_index(samples, RhSurfaceSample, i);
        const RhKernel *k = &s->row->kernel;
        double rows = k->flops / (2 * (double)k->n * (double)k->k);
        double off = 2 * stream_s(w, 2 * 2 * rows * (double)k->k) +
                     stream_s(w, 2 * 1.5 * rows * (double)k->n);
        s->seconds = fmax(s->seconds - off, 0.5 * s->seconds);
    }
}

static bool is_launch_bound(const GArray *samples)
{
    g_autoptr(GArray) small = g_array_new(FALSE, FALSE, sizeof(double));
    for (guint i = 0; i < samples->len; i++) {
        const RhSurfaceSample *s = &g_array_index(samples, RhSurfaceSample, i);
        const RhKernel *k = &s->row->kernel;
        if (k->m <= SMALL_ROWS && (double)k->n * (double)k->k <= SMALL_ENTRIES)
            g_array_append_val(small, s->seconds);
    }
    if (small->len == 0)
        return false;
    gsl_sort(RH_ELEMENTS(small, double), 1, small->len);
    return gsl_stats_median_from_sorted_data(RH_ELEMENTS(small, double), 1, small->len) >
           LAUNCH_BOUND_S;
}

/* Is a kernel held out? All m of one matrix, and all lengths with equal numbers of sequences,
 * belong together. */
static bool is_held_out(const RhSurfacesWork *w, const RhKernel *k)
{
    const int64_t matrix[] = {k->n, k->k}, sequences[] = {k->heads, k->kv_heads, k->batch, k->k};
    bool gemm = k->cls == RH_KERNEL_GEMM;
    return rh_fit_is_held_out(gemm ? rh_fit_cluster(matrix, G_N_ELEMENTS(matrix))
                                   : rh_fit_cluster(sequences, G_N_ELEMENTS(sequences)),
                              w->holdout_frac);
}

/* Bytes of a key-value cache that no GPU cache holds. Rows that read it faster than memory allows
 * are impossible: such tables shared blocks between sequences (TensorRT-LLM 1.0.0 on A100 has 291
 * of 570 such rows). */
static double cache_bytes(const RhKernel *k)
{
    double element = k->kv_dtype == RH_DTYPE_FP8 ? 1 : 2;
    return 2 * element * (double)k->batch * k->kv_heads * (double)k->k * (double)k->n;
}

static bool is_large(const RhTableSample *row)
{
    return row->kind == RH_SURFACE_DECODE && cache_bytes(&row->kernel) > CACHE_LARGE_BYTES;
}

static bool is_impossible(const RhSurfacesWork *w, const RhTableSample *row)
{
    return is_large(row) &&
           row->seconds < cache_bytes(&row->kernel) * w->device->rates.hbm_s_per_byte;
}

/* Returns whether rows of several ranks are needed. The number of a rank's own tokens is unknown in
 * them, so they count only where a file has too few rows of one rank with all experts. */
static bool needs_spread(const RhKernelTables *t, const RhSurfaceOf *kind)
{
    int alone = 0;
    for (guint k = 0; k < t->rows->len; k++) {
        const RhTableSample *row = &g_array_index(t->rows, RhTableSample, k);
        alone += is_of(kind, row) && !row->spread;
    }
    return alone < RH_SURFACE_ROWS_LEAST;
}

/* Kernel source used for one shape: an engine has several and takes one, assumed to be that with
 * most rows. For GEMMs the shape decides, and all count. */
static const char *main_source(const RhKernelTables *t, const RhSurfaceOf *kind, bool spread)
{
    g_autoptr(GHashTable) counts = g_hash_table_new(g_str_hash, g_str_equal);
    const char *most = NULL;
    int most_count = 0;
    for (guint k = 0; kind->kind != RH_SURFACE_GEMM && k < t->rows->len; k++) {
        const RhTableSample *row = &g_array_index(t->rows, RhTableSample, k);
        if (!is_of(kind, row) || (row->spread && !spread))
            continue;
        int count = GPOINTER_TO_INT(g_hash_table_lookup(counts, row->source)) + 1;
        g_hash_table_insert(counts, (gpointer)row->source, GINT_TO_POINTER(count));
        if (count > most_count) {
            most_count = count;
            most = row->source;
        }
    }
    return most;
}

/* Orders libraries by their rows of one rank, which the table `user` counts. */
static gint by_rows(gconstpointer a, gconstpointer b, gpointer user)
{
    int rows_a = GPOINTER_TO_INT(g_hash_table_lookup(user, *(const char *const *)a)),
        rows_b = GPOINTER_TO_INT(g_hash_table_lookup(user, *(const char *const *)b));
    return rows_b - rows_a;
}

/* Appends the libraries of one file that `out` lacks. Only that with most rows may have few of one
 * rank with all experts: others are for single models. */
static void add_libraries(const RhKernelTables *t, const RhSurfaceOf *kind, GPtrArray *out)
{
    g_autoptr(GHashTable) counts = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GPtrArray) own = g_ptr_array_new();
    for (guint k = 0; k < t->rows->len; k++) {
        const RhTableSample *row = &g_array_index(t->rows, RhTableSample, k);
        if (!is_of(kind, row) || g_ptr_array_find(out, row->library, NULL))
            continue;
        int count = GPOINTER_TO_INT(g_hash_table_lookup(counts, row->library));
        if (!g_hash_table_contains(counts, row->library))
            g_ptr_array_add(own, (gpointer)row->library);
        g_hash_table_insert(counts, (gpointer)row->library,
                            GINT_TO_POINTER(count + (row->spread ? 0 : 1)));
    }
    g_ptr_array_sort_with_data(own, by_rows, counts);
    for (guint k = 0; k < own->len; k++) {
        RhSurfaceOf one = *kind;
        one.library = g_ptr_array_index(own, k);
        if (out->len == 0 || !needs_spread(t, &one))
            g_ptr_array_add(out, (gpointer)one.library);
    }
}

GPtrArray *rh_surface_libraries(const RhSurfacesWork *w, const RhSurfaceOf *kind)
{
    GPtrArray *out = g_ptr_array_new();
    for (guint i = 0; i < w->tables->len; i++)
        add_libraries(g_ptr_array_index(w->tables, i), kind, out);
    return out;
}

static void add_samples(const RhSurfacesWork *w, const RhSurfaceOf *kind, const RhKernelTables *t,
                        GArray *out, int *large, int *impossible)
{
    bool spread = needs_spread(t, kind);
    const char *source = main_source(t, kind, spread);
    for (guint k = 0; k < t->rows->len; k++) {
        const RhTableSample *row = &g_array_index(t->rows, RhTableSample, k);
        if (!is_of(kind, row) || (source && row->source != source) || (row->spread && !spread))
            continue;
        *large += is_large(row);
        if (is_impossible(w, row)) {
            ++*impossible;
            continue;
        }
        RhSurfaceSample s = {t, row, row->seconds, is_held_out(w, &row->kernel)};
        g_array_append_val(out, s);
    }
}

/* Returns the fault of a file's rows of this kind; NULL: none. */
static const char *fault_of(const RhSurfaceOf *kind, const GArray *samples, int large,
                            int impossible)
{
    if (impossible > IMPOSSIBLE_MOST_FRAC * large)
        return "read caches faster than memory allows";
    if (kind->kind == RH_SURFACE_GEMM && is_launch_bound(samples))
        return "were timed with the host's launches";
    return NULL;
}

/* Takes samples from the first file with usable rows of the kind. */
GArray *rh_surface_samples(const RhSurfacesWork *w, const RhSurfaceOf *kind)
{
    GArray *out = g_array_new(FALSE, FALSE, sizeof(RhSurfaceSample));
    for (guint i = 0; i < w->tables->len && out->len == 0; i++) {
        const RhKernelTables *t = g_ptr_array_index(w->tables, i);
        int large = 0, impossible = 0;
        add_samples(w, kind, t, out, &large, &impossible);
        const char *fault = fault_of(kind, out, large, impossible);
        g_autofree char *name = rh_surface_of_name(kind);
        if (fault) {
            rh_surfaces_note(w, "%s: rows of %s %s; none is used", t->name, name, fault);
            g_array_set_size(out, 0);
        } else if (impossible > 0) {
            rh_surfaces_note(w, "%s: %d of %u rows of %s read caches faster than memory allows",
                             t->name, impossible, out->len + (guint)impossible, name);
        }
    }
    if (out->len > 0 && kind->kind == RH_SURFACE_GEMM)
        subtract_casts(w, kind, out);
    if (kind->kind == RH_SURFACE_EXPERTS)
        subtract_streams(w, out);
    return out;
}
