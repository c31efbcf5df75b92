#include "base/garray_access.h"
#include "base/interned_strings.h"
#include "calibrate/surfaces/surfaces_private.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "calibrate/fit/custom_allreduce_curve.h"
#include "calibrate/fit/fit_surface.h"
#include "calibrate/kernels/raw_samples_device.h"

/* The roofline that factors are relative to: round numbers, as the factors compensate. */
#define ROOF_LAUNCH_S 3e-6
#define ROOF_COMPUTE  0.7
#define ROOF_MEMORY   0.8

/* --- axes of each kind --- */

static const double rows_of_gemm[] = {1,    2,    4,    8,    16,   17,   32,    33,   48,
                                      49,   64,   65,   96,   97,   128,  129,   160,  161,
                                      192,  193,  224,  225,  256,  512,  768,   1024, 1280,
                                      1536, 2048, 2560, 3072, 4096, 8192, 16384, 32768};
static const double sides_of_gemm[] = {32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 65536};
static const double groups[] = {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 64, 128};
static const double streams[] = {1,   2,   4,    8,    16,   32,   64,   128,
                                 256, 512, 1024, 2048, 4096, 8192, 16384};
static const double contexts[] = {2,    16,   64,   128,   256,   512,   1024,
                                  2048, 4096, 8192, 16384, 32768, 65536, 131072};
static const double rows_of_experts[] = {1,  1.5, 2,   4,   8,   16,  24,   32,   48,
                                         64, 96,  128, 192, 256, 512, 1024, 2048, 4096};
static const double experts[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512};
static const double entries_of_experts[] = {65536,    262144,   1048576,  4194304,
                                            16777216, 67108864, 268435456};
static const double prompts[] = {1, 16, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384};

#define AXIS(nodes)                                                                                \
    {                                                                                              \
        nodes, G_N_ELEMENTS(nodes)                                                                 \
    }
static const struct {
    struct {
        const double *nodes;
        int count;
    } axes[3];
    int rank;
    int leaves; /* per tree; maximum */
} shapes[RH_SURFACE_LAST] = {
    [RH_SURFACE_GEMM] = {{AXIS(rows_of_gemm), AXIS(sides_of_gemm), AXIS(sides_of_gemm)}, 8, 512},
    [RH_SURFACE_DECODE] = {{AXIS(groups), AXIS(streams), AXIS(contexts)}, 4, 64},
    [RH_SURFACE_PREFILL] = {{AXIS(groups), AXIS(streams), AXIS(prompts)}, 4, 64},
    [RH_SURFACE_EXPERTS] = {{AXIS(rows_of_experts), AXIS(experts), AXIS(entries_of_experts)}, 3, 0},
};
#define TREES         16
#define ROWS_PER_LEAF 3 /* a table of few rows has smaller trees, so that they do not memorise it */
/* for which surfaces are made; 0: of GEMMs */
static const int64_t heads[] = {0, 64, 128, 192, 256};

/* --- one surface --- */

static RhSurface *surface_new(const RhSurfacesWork *w, const RhSurfaceOf *kind,
                              const RhSurfaceSample *first, bool casts)
{
    const double *nodes[3];
    int counts[3];
    for (int a = 0; a < 3; a++) {
        nodes[a] = shapes[kind->kind].axes[a].nodes;
        counts[a] = shapes[kind->kind].axes[a].count;
    }
    RhSurface *s = rh_surface_new(kind->kind, nodes, counts, shapes[kind->kind].rank);
    g_autofree char *source = g_strdup_printf("%s: %s, %s", first->table->name,
                                              first->table->device, first->table->library);
    bool gemm = kind->head == 0;
    double stored = gemm ? rh_dtype_bytes(kind->dtype) : strcmp(kind->format, "fp8") == 0 ? 1 : 2;
    s->dtype = kind->dtype;
    s->format = kind->format;
    s->head = (int32_t)kind->head;
    s->library = kind->library ? kind->library : rh_intern("");
    s->casts_inside = casts;
    s->operand_bytes = kind->dtype == RH_DTYPE_FP4 ? 0.5 : stored;
    s->launch_s = ROOF_LAUNCH_S;
    s->compute_frac = ROOF_COMPUTE;
    s->memory_frac = ROOF_MEMORY;
    s->source = rh_intern(source);
    s->date = w->date;
    return s;
}

/* A mixture's second grouped GEMM: down. */
static RhKernel second_of(const RhKernel *up)
{
    RhKernel down = *up;
    down.n = up->k;
    down.k = up->n / 2;
    down.flops = up->flops / 2;
    return down;
}

static RhSurfacePoint *points_of(const RhSurfacesWork *w, const RhSurface *s, const GArray *samples)
{
    RhSurfacePoint *points = g_new0(RhSurfacePoint, samples->len);
    const RhDeviceRates *rates = &w->device->rates;
    for (guint i = 0; i < samples->len; i++) {
        const RhSurfaceSample *sample = &g_array_index(samples, RhSurfaceSample, i);
        const RhKernel *k = &sample->row->kernel;
        double roof_s =
            rh_surface_roof_s(s, k, rates->peak_s_per_flop[s->dtype], rates->hbm_s_per_byte);
        rh_surface_at(s, k, points[i].at);
        if (k->grouped) {
            RhKernel down = second_of(k);
            roof_s += rh_surface_roof_s(s, &down, rates->peak_s_per_flop[s->dtype],
                                        rates->hbm_s_per_byte);
            points[i].at[2] *= M_SQRT1_2; /* between the two, which differ by 2 */
        }
        rh_surface_features(s, k, points[i].at, w->device->sms_count, points[i].features);
        points[i].log_ratio = log(sample->seconds / roof_s);
        points[i].held_out = sample->held_out;
    }
    return points;
}

/* Rounds values as the file does. */
static void round_values(double *values, int count)
{
    for (int i = 0; i < count; i++)
        values[i] = rh_surface_rounded(values[i]);
}

/* Records the measured ranges; for experts, those of both products. */
static void hold_shapes(RhSurface *s, const GArray *samples)
{
    RhCalibratedKind kind = rh_surface_shapes_kind(s->kind);
    s->measured = (RhCalibratedRange){.source = s->source, .date = s->date};
    for (guint i = 0; i < samples->len; i++) {
        const RhKernel *k = &g_array_index(samples, RhSurfaceSample, i).row->kernel;
        rh_calibrated_range_hold(&s->measured, kind, k);
        if (k->grouped) {
            RhKernel down = second_of(k);
            rh_calibrated_range_hold(&s->measured, kind, &down);
        }
    }
}

/* --- errors --- */

/* Ranges by which errors are reported: of rows of a GEMM, of keys. */
static const struct {
    const char *name;
    RhSurfaceKind kind; /* NONE: attention */
    double from, to;
} ranges[] = {
    {"m <= 32", RH_SURFACE_GEMM, 1, 32},
    {"m <= 256", RH_SURFACE_GEMM, 33, 256},
    {"m <= 1024", RH_SURFACE_GEMM, 257, 1024},
    {"m > 1024", RH_SURFACE_GEMM, 1025, HUGE_VAL},
    {"below 1024 keys", RH_SURFACE_NONE, 1, 1023},
    {"from 1024 keys", RH_SURFACE_NONE, 1024, HUGE_VAL},
};

static double along_range(const RhKernel *k)
{
    return k->cls == RH_KERNEL_GEMM ? (double)k->m : (double)k->n;
}

static void figures_of(const RhSurface *s, const GArray *samples, const RhSurfacePoint *points,
                       double from, double to, bool held_out, RhFitFigures *out)
{
    g_autoptr(GArray) errors = g_array_new(FALSE, FALSE, sizeof(double));
    const RhSurfaceSample *worst = NULL;
    double worst_frac = -1;
    for (guint i = 0; i < samples->len; i++) {
        const RhSurfaceSample *sample = &g_array_index(samples, RhSurfaceSample, i);
        double x = along_range(&sample->row->kernel);
        if (points[i].held_out != held_out || x < from || x > to)
            continue;
        double off = exp(rh_surface_point_off(s, &points[i])) - 1;
        g_array_append_val(errors, off);
        if (fabs(off) > worst_frac) {
            worst_frac = fabs(off);
            worst = sample;
        }
    }
    *out = (RhFitFigures){0};
    rh_fit_figures_of(RH_ELEMENTS(errors, double), errors->len, out);
    if (worst)
        out->worst = g_strdup_printf("%s:%d", worst->table->name, worst->row->line);
}

static void add_class(RhSurfacesFit *fit, const RhSurface *s, const GArray *samples,
                      const RhSurfacePoint *points, char *name, double from, double to)
{
    RhSurfaceClass c = {.name = name, .part = from > 0};
    figures_of(s, samples, points, from, to, false, &c.fitted);
    figures_of(s, samples, points, from, to, true, &c.held_out);
    g_array_append_val(fit->classes, c);
}

static void evaluate_surface(RhSurfacesFit *fit, RhSurface *s, const RhSurfaceOf *kind,
                             const GArray *samples, const RhSurfacePoint *points)
{
    g_autofree char *name = rh_surface_of_name(kind);
    add_class(fit, s, samples, points, g_strdup(name), 0, HUGE_VAL);
    const RhSurfaceClass *whole =
        &g_array_index(fit->classes, RhSurfaceClass, fit->classes->len - 1);
    const RhFitFigures *all = whole->held_out.count > 0 ? &whole->held_out : &whole->fitted;
    s->error_mean_frac = all->mean_frac;
    s->error_p90_frac = all->p90_frac;
    for (size_t i = 0; i < G_N_ELEMENTS(ranges); i++)
        if ((ranges[i].kind == RH_SURFACE_GEMM) == (kind->head == 0))
            add_class(fit, s, samples, points, g_strdup_printf("%s, %s", name, ranges[i].name),
                      ranges[i].from, ranges[i].to);
}

/* --- fit --- */

static bool solve_surface(RhSurface *s, const RhSurfacePoint *points, size_t count, bool all)
{
    if (!rh_fit_surface(s, points, count, all, all))
        return false;
    round_values(s->left, s->axes[0].count * s->rank);
    round_values(s->right, s->axes[1].count * s->axes[2].count * s->rank);
    return true;
}

static void grow_trees(RhSurface *s, const RhSurfacePoint *points, size_t count, bool all)
{
    int leaves = MIN(shapes[s->kind].leaves, (int)count / (ROWS_PER_LEAF * TREES));
    if (leaves > 1)
        rh_fit_surface_trees(s, points, count, all, TREES, leaves);
}

/* Mean error of held-out rows; infinite where there are none. */
static double held_out_error_frac(const RhSurface *s, const RhSurfacePoint *points, size_t count)
{
    double sum = 0;
    size_t held_out = 0;
    for (size_t i = 0; i < count; i++)
        if (points[i].held_out) {
            sum += fabs(exp(rh_surface_point_off(s, &points[i])) - 1);
            held_out++;
        }
    return held_out > 0 ? sum / (double)held_out : HUGE_VAL;
}

/* Adds trees where they help. False, and none are kept: held-out rows are predicted worse with
 * trees. */
static bool grow_where_they_help(RhSurface *s, const RhSurfacePoint *points, size_t count)
{
    double without_frac = held_out_error_frac(s, points, count);
    grow_trees(s, points, count, false);
    bool help = held_out_error_frac(s, points, count) <= without_frac;
    if (!help)
        g_clear_pointer(&s->trees, rh_forest_free);
    return help;
}

/* Evaluates a GEMM surface with single shapes held out, whatever else the table has of their
 * matrices. */
static void judge_single_shapes(const RhSurfacesWork *w, RhSurface *s, const GArray *samples,
                                const RhSurfacePoint *points, char *name)
{
    g_autofree RhSurfacePoint *own = g_memdup2(points, samples->len * sizeof *points);
    for (guint i = 0; i < samples->len; i++) {
        const RhKernel *k = &g_array_index(samples, RhSurfaceSample, i).row->kernel;
        const int64_t shape[] = {k->m, k->n, k->k};
        own[i].held_out =
            rh_fit_is_held_out(rh_fit_cluster(shape, G_N_ELEMENTS(shape)), w->holdout_frac);
    }
    RhSurfaceClass c = {.name = name, .part = true};
    g_clear_pointer(&s->trees, rh_forest_free);
    if (solve_surface(s, own, samples->len, false)) {
        grow_trees(s, own, samples->len, false);
        figures_of(s, samples, own, 0, HUGE_VAL, false, &c.fitted);
        figures_of(s, samples, own, 0, HUGE_VAL, true, &c.held_out);
    }
    g_array_append_val(w->fit->classes, c);
}

static bool is_late(const RhSurfacesWork *w)
{
    return w->t_end_us > 0 && g_get_monotonic_time() > w->t_end_us;
}

/* Fits points: first without the held-out ones, to evaluate the errors; then all. */
static bool fit_points(const RhSurfacesWork *w, RhSurface *s, const RhSurfaceOf *kind,
                       const GArray *samples, const RhSurfacePoint *points)
{
    if (!solve_surface(s, points, samples->len, false))
        return false;
    bool trees = grow_where_they_help(s, points, samples->len);
    evaluate_surface(w->fit, s, kind, samples, points);
    if (kind->kind == RH_SURFACE_GEMM)
        judge_single_shapes(w, s, samples, points,
                            g_strdup_printf("gemm %s, single shapes", kind->format));
    g_clear_pointer(&s->trees, rh_forest_free);
    if (!solve_surface(s, points, samples->len, true))
        return false;
    if (trees)
        grow_trees(s, points, samples->len, true);
    return true;
}

static void fit_kind(const RhSurfacesWork *w, const RhSurfaceOf *kind)
{
    if (is_late(w))
        return;
    g_autoptr(GArray) samples = rh_surface_samples(w, kind);
    g_autofree char *name = rh_surface_of_name(kind);
    if (samples->len == 0)
        return;
    if (samples->len < RH_SURFACE_ROWS_LEAST) {
        rh_surfaces_note(w, "%s: %u rows are too few", name, samples->len);
        return;
    }
    const RhSurfaceSample *first = &g_array_index(samples, RhSurfaceSample, 0);
    bool casts = first->row->casts_inside && first->seconds == first->row->seconds;
    g_autoptr(RhSurface) s = surface_new(w, kind, first, casts);
    g_autofree RhSurfacePoint *points = points_of(w, s, samples);
    if (!fit_points(w, s, kind, samples, points)) {
        rh_surfaces_note(w, "%s: the times of its %u rows cannot be fitted", name, samples->len);
        return;
    }
    hold_shapes(s, samples);
    g_ptr_array_add(w->fit->surfaces, g_steal_pointer(&s));
}

/* --- whole fit --- */

static const RhSurfaceOf kinds[] = {
    {RH_SURFACE_GEMM, RH_DTYPE_BF16, "bf16", 0, NULL},
    {RH_SURFACE_GEMM, RH_DTYPE_FP8, "fp8", 0, NULL},
    {RH_SURFACE_GEMM, RH_DTYPE_FP8, "fp8_block", 0, NULL},
    {RH_SURFACE_GEMM, RH_DTYPE_FP4, "nvfp4", 0, NULL},
    {RH_SURFACE_DECODE, RH_DTYPE_BF16, "bf16", 0, NULL},
    {RH_SURFACE_DECODE, RH_DTYPE_BF16, "fp8", 0, NULL},
    {RH_SURFACE_PREFILL, RH_DTYPE_BF16, "bf16", 0, NULL},
    {RH_SURFACE_PREFILL, RH_DTYPE_BF16, "fp8", 0, NULL},
    {RH_SURFACE_EXPERTS, RH_DTYPE_BF16, "bf16", 0, NULL},
    {RH_SURFACE_EXPERTS, RH_DTYPE_FP8, "fp8", 0, NULL},
    {RH_SURFACE_EXPERTS, RH_DTYPE_FP8, "fp8_block", 0, NULL},
    {RH_SURFACE_EXPERTS, RH_DTYPE_BF16, "mxfp4", 0, NULL},
    {RH_SURFACE_EXPERTS, RH_DTYPE_FP4, "nvfp4", 0, NULL},
    {RH_SURFACE_EXPERTS, RH_DTYPE_BF16, "int4", 0, NULL},
};

/* Fits a surface for each library that has kernels of this kind, in the order of
 * rh_surface_libraries(). */
static void fit_libraries(const RhSurfacesWork *w, RhSurfaceOf kind)
{
    g_autoptr(GPtrArray) libraries = rh_surface_libraries(w, &kind);
    for (guint i = 0; i < libraries->len; i++) {
        kind.library = g_ptr_array_index(libraries, i);
        fit_kind(w, &kind);
    }
}

static void fit_all(const RhSurfacesWork *w)
{
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++)
        for (size_t h = 0; h < G_N_ELEMENTS(heads); h++) {
            RhSurfaceOf kind = kinds[i];
            kind.format = rh_intern(kind.format);
            kind.head = heads[h];
            bool attention = kind.kind == RH_SURFACE_DECODE || kind.kind == RH_SURFACE_PREFILL;
            if (attention != (heads[h] != 0))
                continue;
            if (kind.kind == RH_SURFACE_EXPERTS)
                fit_libraries(w, kind);
            else
                fit_kind(w, &kind);
        }
}

static void fit_peers(const RhSurfacesWork *w)
{
    RhSurfaceClass c = {0};
    if (!rh_fit_peers(w->tables, w->date, &w->fit->peers, &c.held_out))
        return;
    c.name = g_strdup("all-reduce in a node");
    g_array_append_val(w->fit->classes, c);
}

static void note_files(const RhSurfacesWork *w)
{
    for (guint i = 0; i < w->tables->len; i++) {
        const RhKernelTables *t = g_ptr_array_index(w->tables, i);
        g_autoptr(GString) names = g_string_new(NULL);
        for (guint k = 0; k < t->unknown->len; k++)
            g_string_append_printf(names, "%s%s", k ? ", " : "",
                                   (const char *)g_ptr_array_index(t->unknown, k));
        if (t->unknown_count > 0)
            rh_surfaces_note(w, "%s: %d row%s left out: %s", t->name, t->unknown_count,
                             t->unknown_count == 1 ? "" : "s", names->str);
    }
}

static void clear_class(gpointer entry)
{
    RhSurfaceClass *c = entry;
    g_free(c->name);
    rh_fit_figures_clear(&c->fitted);
    rh_fit_figures_clear(&c->held_out);
}

static bool check_tables(const GPtrArray *tables, const RhDevice *device, GError **error)
{
    for (guint i = 0; i < tables->len; i++) {
        const RhKernelTables *t = g_ptr_array_index(tables, i);
        if (!rh_kernels_files_may_be(t->device, device))
            return rh_fail(error, RH_ERROR_INPUT, "%s is of \"%s\", not of %s", t->name, t->device,
                           device->name);
    }
    return true;
}

RhSurfacesFit *rh_surfaces_fit(const GPtrArray *tables, const RhDevice *device, double holdout_frac,
                               const char *date, double timeout_s, GError **error)
{
    g_return_val_if_fail(tables != NULL && device != NULL, NULL);
    if (!check_tables(tables, device, error))
        return NULL;
    g_autoptr(RhSurfacesFit) fit = g_new0(RhSurfacesFit, 1);
    fit->surfaces = g_ptr_array_new_with_free_func((GDestroyNotify)rh_surface_unref);
    fit->classes = g_array_new(FALSE, FALSE, sizeof(RhSurfaceClass));
    g_array_set_clear_func(fit->classes, clear_class);
    fit->notes = g_ptr_array_new_with_free_func(g_free);
    RhSurfacesWork w = {tables, device, fit, holdout_frac, rh_intern(date), 0};
    if (timeout_s > 0)
        w.t_end_us = g_get_monotonic_time() + (int64_t)(1e6 * fmin(timeout_s, 1e9));
    note_files(&w);
    fit_all(&w);
    fit_peers(&w);
    if (is_late(&w)) {
        rh_fail(error, RH_ERROR_NO_ANSWER, "the fit takes longer than %g s", timeout_s);
        return NULL;
    }
    if (fit->surfaces->len > 0 || fit->peers.curves_count > 0)
        return g_steal_pointer(&fit);
    rh_fail(error, RH_ERROR_INPUT, "%s: no kernel has rows enough to be fitted%s%s",
            tables->len ? ((RhKernelTables *)g_ptr_array_index(tables, 0))->name : "no file",
            fit->notes->len ? "\nnote: " : "",
            fit->notes->len ? (char *)g_ptr_array_index(fit->notes, 0) : "");
    return NULL;
}

void rh_surfaces_fit_free(RhSurfacesFit *fit)
{
    if (!fit)
        return;
    g_ptr_array_unref(fit->surfaces);
    g_array_unref(fit->classes);
    g_ptr_array_unref(fit->notes);
    g_free(fit);
}
