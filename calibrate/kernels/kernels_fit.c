#include "calibrate/kernels/kernels_fit.h"

#include <string.h>

#include "base/error.h"
#include "base/garray_access.h"
#include "base/interned_strings.h"
#include "calibrate/fit/sample_sufficiency.h"
#include "calibrate/kernels/raw_samples_device.h"
#include "calibrate/kernels/unfitted_kernel_errors.h"
#include "platforms/platform_constants.h"

/* Median error beyond which constants do not describe the times: of a format's single peak, of a
 * form. */
#define PEAK_MEDIAN_MOST 0.2
#define FORM_MEDIAN_MOST 0.5
#define CLOCK_FULL_FRAC  0.97 /* from here on a clock counts as the highest: readings vary so much */

/* A constant of the model, and its plausible bounds. */
typedef struct {
    const char *key;
    RhQuantity kind;
    size_t offset; /* of the RhFact in RhDevice */
    double low, high;
} Constant;

#define C(key, kind, field, low, high)                                                             \
    {                                                                                              \
        key, RH_QUANTITY_##kind, G_STRUCT_OFFSET(RhDevice, curves.field), low, high                \
    }
static const Constant memory_constants[] = {
    C("device.memory", FRAC, memory_peak_frac, 0.05, 1),
    C("device.memory.bytes_half", BYTES, memory_bytes_half, 1e3, 1e9),
};
static const Constant gemm_constants[] = {
    C("device.gemm.k_half", COUNT, gemm_k_half, 1, 3000),
    C("device.gemm.launch", S, gemm_launch_s, 1e-7, 1e-4),
    C("device.gemm.memory", FRAC, gemm_memory_frac, 0.05, 1),
    C("device.gemm.overlap", FRAC, gemm_overlap_frac, 0, 1),
    C("device.gemm.wave_tail", FRAC, gemm_wave_tail_frac, 0, 1),
    C("device.gemm.k_split", COUNT, gemm_k_split, 32, 30000),
};
static const Constant attention_constants[] = {
    C("device.attention", FRAC, attention_peak_frac, 0.02, 1.2),
    C("device.attention.s_half", COUNT, attention_s_half, 1, 20000),
    C("device.attention.d_half", COUNT, attention_d_half, 0.5, 2000),
};
static const Constant backward_constants[] = {
    C("device.attention.backward", FRAC, attention_backward_frac, 0.1, 2),
};

typedef struct {
    const GPtrArray *raws;
    RhKernelsFit *fit;
    RhDeadline deadline;
} Work;

/* --- parameters --- */

static void add_param(GArray *params, RhDevice *d, const Constant *c)
{
    RhFact *fact = (RhFact *)(void *)((char *)d + c->offset);
    RhFitParam param = {g_strdup(c->key), c->kind, fact, c->low, c->high, false};
    g_array_append_val(params, param);
}

static void add_peak(GArray *params, RhDevice *d, RhDtype dtype)
{
    RhFact *fact = &d->curves.gemm_peak_frac[dtype];
    if (fact->value <= 0)
        fact->value = d->curves.gemm_peak_frac[RH_DTYPE_BF16].value;
    RhFitParam param = {g_strdup_printf("device.gemm.%s", rh_dtype_name(dtype)),
                        RH_QUANTITY_FRAC,
                        fact,
                        0.02,
                        1.1,
                        false};
    g_array_append_val(params, param);
}

/* Adds the tiles' rates. The largest tiles have rate 1 by definition; the others' follow from the
 * data. */
static void add_tiles(GArray *params, RhDevice *d)
{
    int32_t largest = 0;
    for (int i = 0; i < d->curves.tiles_count; i++)
        largest = MAX(largest, d->curves.tiles[i].m * d->curves.tiles[i].n);
    for (int i = 0; i < d->curves.tiles_count; i++) {
        RhGemmTile *t = &d->curves.tiles[i];
        if (t->m * t->n == largest)
            continue;
        RhFitParam param = {g_strdup_printf("device.gemm.tile.%dx%d", t->m, t->n),
                            RH_QUANTITY_FRAC,
                            &t->rate_frac,
                            0.2,
                            1,
                            false};
        g_array_append_val(params, param);
    }
}

static void clear_param(gpointer param)
{
    g_free(((RhFitParam *)param)->key);
}

static GArray *params_new(void)
{
    GArray *params = g_array_new(FALSE, FALSE, sizeof(RhFitParam));
    g_array_set_clear_func(params, clear_param);
    return params;
}

static GArray *params_of(RhDevice *d, const Constant *constants, size_t count)
{
    GArray *params = params_new();
    for (size_t i = 0; i < count; i++)
        add_param(params, d, &constants[i]);
    return params;
}

/* --- results --- */

G_GNUC_PRINTF(2, 3)
static void add_note(RhKernelsFit *fit, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    g_ptr_array_add(fit->notes, g_strdup_vprintf(format, values));
    va_end(values);
}

static void add_fact(RhKernelsFit *fit, const char *key, RhQuantity kind, RhFact *fact,
                     bool on_bound)
{
    if (!rh_facts_allow(key, fact->value)) {
        add_note(fit, "%s: %.3g is no value that it may have; it is not changed", key, fact->value);
        return;
    }
    g_autofree char *source =
        g_strconcat(fit->source, on_bound ? "; on the bound of the form" : "", NULL);
    fact->source = rh_intern(source);
    fact->date = fit->date;
    RhFittedFact fitted = {g_strdup(key), kind, *fact, on_bound};
    g_array_append_val(fit->facts, fitted);
}

static void clear_class(gpointer entry)
{
    RhFitClass *c = entry;
    g_free(c->name);
    rh_fit_figures_clear(&c->fitted);
    rh_fit_figures_clear(&c->held_out);
}

static bool has_regime(const GArray *rows, RhFitRegime regime)
{
    for (guint i = 0; i < rows->len; i++)
        if (g_array_index(rows, RhFitRow, i).regime == regime)
            return true;
    return false;
}

/* Adds one line to the report for each regime that has rows. */
static void add_classes(RhKernelsFit *fit, const char *name, const char *suffix, const GArray *rows)
{
    for (RhFitRegime regime = RH_FIT_ALL; regime < RH_FIT_REGIME_LAST; regime++) {
        if (!has_regime(rows, regime))
            continue;
        const char *word = rh_fit_regime_name(regime);
        RhFitClass c = {.name = g_strconcat(name, *word ? " " : "", word, suffix, NULL)};
        rh_fit_figures(rows, regime, false, fit->device, &c.fitted);
        rh_fit_figures(rows, regime, true, fit->device, &c.held_out);
        g_array_append_val(fit->classes, c);
    }
}

/* --- one class --- */

static GArray *rows_of(const Work *w, RhKernelClass cls, RhDtype dtype)
{
    GArray *rows = g_array_new(FALSE, FALSE, sizeof(RhFitRow));
    for (guint i = 0; i < w->raws->len; i++)
        rh_fit_rows_add(rows, g_ptr_array_index(w->raws, i), cls, dtype, w->fit->holdout_frac);
    return rows;
}

/* Copies the constants into `values`, or back. */
static void copy_values(GArray *params, RhFact *values, bool back)
{
    for (guint i = 0; i < params->len; i++) {
        RhFact *fact = g_array_index(params, RhFitParam, i).fact;
        if (back)
            *fact = values[i];
        else
            values[i] = *fact;
    }
}

/* Solves, and returns whether the form describes the times. */
static bool solve_constants(const Work *w, const char *name, const GArray *rows, GArray *params,
                            double median_most_frac)
{
    RhKernelsFit *fit = w->fit;
    RhFact before[RH_FIT_PARAMS_MAX];
    RhFitFigures figures;
    g_autoptr(GArray) samples = rh_fit_rows_samples(rows, params->len);
    g_autofree char *lack = rh_fit_lack(samples, params->len);
    if (lack || params->len > RH_FIT_PARAMS_MAX) {
        add_note(fit, "%s: %s", name, lack ? lack : "too many constants");
        return false;
    }
    copy_values(params, before, false);
    if (!rh_fit_solve(fit->device, RH_ELEMENTS(params, RhFitParam), params->len,
                      RH_ELEMENTS(samples, RhFitSample), samples->len, w->deadline.t_end_us)) {
        add_note(fit, "%s: the times of its %u rows cannot be fitted", name, samples->len);
        return false;
    }
    rh_fit_figures(rows, RH_FIT_ALL, false, fit->device, &figures);
    double median_frac = figures.median_frac;
    rh_fit_figures_clear(&figures);
    if (median_frac <= median_most_frac)
        return true;
    add_note(fit, "%s: median error %.3g %%; no constants make such times, none is changed", name,
             100 * median_frac);
    copy_values(params, before, true);
    rh_device_refresh(fit->device);
    return false;
}

/* Fits constants; with rows that cannot determine them, says so and fits nothing. */
static bool fit_constants(const Work *w, const char *name, const GArray *rows, GArray *params,
                          double median_most_frac)
{
    RhKernelsFit *fit = w->fit;
    if (rows->len == 0 || !solve_constants(w, name, rows, params, median_most_frac))
        return false;
    for (guint i = 0; i < params->len; i++) {
        RhFitParam *p = &g_array_index(params, RhFitParam, i);
        p->fact->tag = RH_TAG_FITTED;
        add_fact(fit, p->key, p->kind, p->fact, p->on_bound);
    }
    return true;
}

static void fit_class(const Work *w, const char *name, const GArray *rows, GArray *params)
{
    if (fit_constants(w, name, rows, params, FORM_MEDIAN_MOST))
        add_classes(w->fit, name, "", rows);
}

static void fit_memory(const Work *w)
{
    g_autoptr(GArray) rows = rows_of(w, RH_KERNEL_ADD, RH_DTYPE_NONE);
    g_autoptr(GArray) params =
        params_of(w->fit->device, memory_constants, G_N_ELEMENTS(memory_constants));
    fit_class(w, "memory-bound", rows, params);
}

static bool has_units(const RhDevice *d, RhDtype dtype)
{
    return d->peak_flops_per_s[dtype].value > 0;
}

/* The format with most rows, to which the form is fitted; bf16 when there is a draw. */
static RhDtype main_dtype(const Work *w)
{
    static const RhDtype dtypes[] = {RH_DTYPE_BF16, RH_DTYPE_FP16, RH_DTYPE_FP8, RH_DTYPE_TF32,
                                     RH_DTYPE_FP32};
    RhDtype most = RH_DTYPE_NONE;
    guint most_count = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(dtypes); i++) {
        g_autoptr(GArray) rows = rows_of(w, RH_KERNEL_GEMM, dtypes[i]);
        if (rows->len > most_count && has_units(w->fit->device, dtypes[i])) {
            most = dtypes[i];
            most_count = rows->len;
        }
    }
    return most;
}

/* Records the range of shapes to which the constants of a kind are now fitted. */
static void note_shapes(const Work *w, RhCalibratedKind kind, const GArray *rows)
{
    RhCalibratedRange shapes = {.source = rh_intern(w->fit->source), .date = w->fit->date};
    for (guint i = 0; i < rows->len; i++)
        rh_calibrated_range_hold(&shapes, kind, &g_array_index(rows, RhFitRow, i).sample.kernel);
    w->fit->device->curves.shapes[kind] = shapes;
}

/* Fits the form, and a correction where it helps, to the main format. */
static void fit_gemm_form(const Work *w, RhDtype dtype)
{
    RhKernelsFit *fit = w->fit;
    RhDevice *d = fit->device;
    g_autoptr(GArray) rows = rows_of(w, RH_KERNEL_GEMM, dtype);
    g_autoptr(GArray) params = params_of(d, gemm_constants, G_N_ELEMENTS(gemm_constants));
    g_autofree char *name = g_strdup_printf("gemm %s", rh_dtype_name(dtype));
    add_peak(params, d, dtype);
    add_tiles(params, d);
    if (!fit_constants(w, name, rows, params, FORM_MEDIAN_MOST))
        return;
    note_shapes(w, RH_CALIBRATED_RANGE_GEMM, rows);
    const char *source = rh_intern(fit->source);
    fit->correction = rh_fit_correction(d, rows, dtype, source, fit->date);
    if (fit->correction.kept) {
        RhGemmCorrection kept = d->correction;
        d->correction.dtype = RH_DTYPE_NONE;
        rh_device_refresh(d);
        add_classes(fit, name, ", form", rows);
        d->correction = kept;
        rh_device_refresh(d);
    }
    add_classes(fit, name, "", rows);
}

static void fit_gemm_peak(const Work *w, RhDtype dtype)
{
    RhDevice *d = w->fit->device;
    g_autoptr(GArray) rows = rows_of(w, RH_KERNEL_GEMM, dtype);
    g_autoptr(GArray) params = params_new();
    g_autofree char *name = g_strdup_printf("gemm %s", rh_dtype_name(dtype));
    if (rows->len == 0)
        return;
    if (!has_units(d, dtype)) {
        add_note(w->fit, "%s: by its data sheet %s has no such units; %u rows are not used", name,
                 d->name, rows->len);
        return;
    }
    /* times of more than the product, as with casts, have no peak: none is better than a wrong
     * one */
    add_peak(params, d, dtype);
    if (fit_constants(w, name, rows, params, PEAK_MEDIAN_MOST))
        add_classes(w->fit, name, "", rows);
}

static void fit_gemm(const Work *w)
{
    RhDtype first = main_dtype(w);
    if (first != RH_DTYPE_NONE)
        fit_gemm_form(w, first);
    for (int t = 1; t < RH_DTYPE_LAST; t++)
        if ((RhDtype)t != first)
            fit_gemm_peak(w, (RhDtype)t);
}

/* Are there several head sizes, as their factor requires? */
static bool heads_vary(const GArray *rows)
{
    for (guint i = 1; i < rows->len; i++)
        if (g_array_index(rows, RhFitRow, i).sample.kernel.k !=
            g_array_index(rows, RhFitRow, 0).sample.kernel.k)
            return true;
    return false;
}

static void fit_attention(const Work *w)
{
    RhDevice *d = w->fit->device;
    g_autoptr(GArray) forward = rows_of(w, RH_KERNEL_ATTENTION, RH_DTYPE_NONE);
    g_autoptr(GArray) backward = rows_of(w, RH_KERNEL_ATTENTION_BACKWARD, RH_DTYPE_NONE);
    size_t constants = G_N_ELEMENTS(attention_constants) - (heads_vary(forward) ? 0 : 1);
    g_autoptr(GArray) params = params_of(d, attention_constants, constants);
    g_autoptr(GArray) one = params_of(d, backward_constants, G_N_ELEMENTS(backward_constants));
    if (fit_constants(w, "attention", forward, params, FORM_MEDIAN_MOST)) {
        add_classes(w->fit, "attention", "", forward);
        note_shapes(w, RH_CALIBRATED_RANGE_ATTENTION, forward);
    }
    fit_class(w, "attention backward", backward, one);
}

/* --- constants without a solver --- */

static const RhRawRow *quickest(const Work *w, const char *name)
{
    const RhRawRow *best = NULL;
    for (guint i = 0; i < w->raws->len; i++) {
        const RhRaw *raw = g_ptr_array_index(w->raws, i);
        for (guint k = 0; k < raw->rows->len; k++) {
            const RhRawRow *row = &g_array_index(raw->rows, RhRawRow, k);
            if (strcmp(row->name, name) == 0 && (!best || row->seconds < best->seconds))
                best = row;
        }
    }
    return best;
}

static RhFact measured(const RhRawRow *row)
{
    return (RhFact){
        .value = row->seconds, .tag = RH_TAG_MEASURED, .low = row->low_s, .high = row->high_s};
}

/* Measures the floor from an empty kernel between events: no kernel is shorter. How often the host
 * launches one (launch_rate) is the host's pace, and only stands in for it. */
static void measure_floor(const Work *w)
{
    const RhRawRow *row = quickest(w, "empty");
    if (!row) {
        row = quickest(w, "launch_rate");
        row = row ? row : quickest(w, "launch");
        if (!row)
            return;
        add_note(w->fit,
                 "device.kernel_floor is the pace of launches (%s), which may be the host's: "
                 "these files have no row of `empty`",
                 row->name);
    }
    RhFact *floor = &w->fit->device->curves.kernel_floor_s;
    *floor = measured(row);
    add_fact(w->fit, "device.kernel_floor", RH_QUANTITY_S, floor, false);
}

/* Takes the clock that power leaves to long products, where it is clearly below the most. */
static void measure_clock(const Work *w, RhFact *clock)
{
    double frac = w->fit->clock_frac;
    if (frac <= 0 || frac >= CLOCK_FULL_FRAC)
        return;
    *clock = (RhFact){.value = frac, .tag = RH_TAG_MEASURED};
    add_fact(w->fit, "device.sustained_clock", RH_QUANTITY_FRAC, clock, false);
}

/* Measures the host link: the slower direction of pinned memory at its largest size. */
static void measure_host(const Work *w)
{
    static const RkClass ways[] = {RK_COPY_TO_HOST_PINNED, RK_COPY_FROM_HOST_PINNED};
    RhFact host = {0};
    for (size_t way = 0; way < G_N_ELEMENTS(ways); way++) {
        const RhRawRow *most = NULL;
        for (guint i = 0; i < w->raws->len; i++) {
            const RhRaw *raw = g_ptr_array_index(w->raws, i);
            for (guint k = 0; k < raw->rows->len; k++) {
                const RhRawRow *row = &g_array_index(raw->rows, RhRawRow, k);
                if (row->cls == ways[way] && (!most || row->kernel.bytes > most->kernel.bytes))
                    most = row;
            }
        }
        if (!most || most->kernel.bytes <= 0)
            return;
        double rate = most->kernel.bytes / most->seconds;
        if (host.value > 0 && host.value <= rate)
            continue;
        host = (RhFact){.value = rate, .tag = RH_TAG_MEASURED};
        if (most->low_s > 0) {
            host.low = most->kernel.bytes / most->high_s;
            host.high = most->kernel.bytes / most->low_s;
        }
    }
    add_fact(w->fit, "host.bandwidth", RH_QUANTITY_BYTES_PER_S, &host, false);
}

/* --- whole fit --- */

/* Notes the classes that constants come from and that no file has a row of. */
static void note_missing(RhKernelsFit *fit, const GPtrArray *raws)
{
    static const struct {
        RhKernelClass cls;
        const char *name;
    } wanted[] = {{RH_KERNEL_GEMM, "GEMM"},
                  {RH_KERNEL_ATTENTION, "attention"},
                  {RH_KERNEL_ATTENTION_BACKWARD, "attention backward"},
                  {RH_KERNEL_ADD, "memory-bound kernels"}};
    for (size_t i = 0; i < G_N_ELEMENTS(wanted); i++) {
        g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(RhFitRow));
        for (guint k = 0; k < raws->len; k++)
            rh_fit_rows_add(rows, g_ptr_array_index(raws, k), wanted[i].cls, RH_DTYPE_NONE, 0);
        if (rows->len == 0)
            add_note(fit, "no rows of %s: its constants stay what they were", wanted[i].name);
    }
}

static int32_t count_stand_ins(const RhRaw *raw)
{
    int32_t count = 0;
    for (guint i = 0; i < raw->rows->len; i++)
        count += rh_raw_is_stand_in(&g_array_index(raw->rows, RhRawRow, i));
    return count;
}

static void note_files(RhKernelsFit *fit, const GPtrArray *raws)
{
    for (guint i = 0; i < raws->len; i++) {
        const RhRaw *raw = g_ptr_array_index(raws, i);
        int32_t stand_ins = count_stand_ins(raw);
        if (raw->cut)
            add_note(fit, "%s is not complete: %u rows are whole", raw->name, raw->rows->len);
        if (stand_ins > 0)
            add_note(fit,
                     "%s: %d rows of attention by rehearse-kernels' own kernel are not used: "
                     "frameworks do not run it (cuDNN was missing or wrong)",
                     raw->name, stand_ins);
        if (raw->unknown_count == 0)
            continue;
        g_ptr_array_add(raw->unknown, NULL);
        g_autofree char *names = g_strjoinv(", ", (char **)raw->unknown->pdata);
        g_ptr_array_set_size(raw->unknown, (gint)raw->unknown->len - 1);
        add_note(fit, "%s: %d row%s of kernels that this version does not know: %s", raw->name,
                 raw->unknown_count, raw->unknown_count == 1 ? "" : "s", names);
    }
}

static RhKernelsFit *fit_new(const GPtrArray *raws, const RhDevice *device, double holdout_frac,
                             const char *today)
{
    RhKernelsFit *fit = g_new0(RhKernelsFit, 1);
    const RhRaw *first = g_ptr_array_index(raws, 0);
    g_autofree char *month = g_strndup(*first->date ? first->date : today, 7);
    fit->device = rh_device_copy(device);
    fit->facts = rh_fitted_facts_new();
    fit->classes = g_array_new(FALSE, FALSE, sizeof(RhFitClass));
    g_array_set_clear_func(fit->classes, clear_class);
    fit->notes = g_ptr_array_new_with_free_func(g_free);
    fit->source = rh_kernels_files_source(raws);
    fit->date = rh_intern(month);
    fit->holdout_frac = holdout_frac;
    fit->clock_frac = rh_kernels_files_clock_frac(raws);
    return fit;
}

/* Fits everything; samples are short, so they count as run at the boost clock. */
static void fit_all(const Work *w)
{
    RhDevice *d = w->fit->device;
    RhFact clock = d->curves.sustained_clock_frac;
    d->curves.sustained_clock_frac.value = 1;
    d->correction = (RhGemmCorrection){0};
    memset(d->curves.shapes, 0, sizeof d->curves.shapes);
    measure_floor(w);
    rh_device_refresh(d);
    fit_memory(w);
    fit_gemm(w);
    fit_attention(w);
    measure_host(w);
    rh_kernels_predict(w->fit, w->raws, w->deadline);
    measure_clock(w, &clock);
    d->curves.sustained_clock_frac = clock;
    rh_device_refresh(d);
}

RhKernelsFit *rh_kernels_fit(const GPtrArray *raws, const RhDevice *device, double holdout_frac,
                             const char *today, double timeout_s, GError **error)
{
    g_return_val_if_fail(raws != NULL && raws->len > 0 && device != NULL, NULL);
    if (!rh_kernels_files_check(raws, device, error))
        return NULL;
    g_autoptr(RhKernelsFit) fit = fit_new(raws, device, holdout_frac, today);
    Work work = {raws, fit, rh_deadline_in(timeout_s)};
    note_files(fit, raws);
    note_missing(fit, raws);
    fit_all(&work);
    if (rh_deadline_passed(work.deadline)) {
        rh_fail(error, RH_ERROR_NO_ANSWER, "the fit takes longer than %g s", timeout_s);
        return NULL;
    }
    if (fit->facts->len > 0)
        return g_steal_pointer(&fit);
    g_ptr_array_add(fit->notes, NULL);
    g_autofree char *notes = g_strjoinv("\nnote: ", (char **)fit->notes->pdata);
    rh_fail(error, RH_ERROR_INPUT, "%s: no constant can be fitted to these rows%s%s",
            ((RhRaw *)g_ptr_array_index(raws, 0))->name, *notes ? "\nnote: " : "", notes);
    g_ptr_array_set_size(fit->notes, (gint)fit->notes->len - 1);
    return NULL;
}

void rh_kernels_fit_free(RhKernelsFit *fit)
{
    if (!fit)
        return;
    rh_device_free(fit->device);
    g_array_unref(fit->facts);
    g_array_unref(fit->classes);
    g_ptr_array_unref(fit->notes);
    g_free(fit->source);
    g_free(fit);
}
