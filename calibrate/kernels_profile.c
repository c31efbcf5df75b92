/* The fit of a device's kernels as a profile (platforms/profile.h). */
#include "calibrate/kernels_fit.h"

/* A unit in which the values of a kind are written. */
static const struct {
    const char *unit;
    double scale;
} units[] = {
    [RH_QUANTITY_NONE] = {"", 1},
    [RH_QUANTITY_S] = {"us", 1e6},
    [RH_QUANTITY_BYTES] = {"kB", 1e-3},
    [RH_QUANTITY_BYTES_PER_S] = {"GB/s", 1e-9},
    [RH_QUANTITY_FLOPS_PER_S] = {"TFLOP/s", 1e-12},
    [RH_QUANTITY_W] = {"W", 1},
    [RH_QUANTITY_USD] = {"USD", 1},
    [RH_QUANTITY_FRAC] = {"", 1},
    [RH_QUANTITY_COUNT] = {"", 1},
};

static void put_quantity(RhJsonWriter *w, const char *key, double value, RhQuantity kind)
{
    char number[G_ASCII_DTOSTR_BUF_SIZE];
    g_ascii_formatd(number, sizeof number, "%.6g", value * units[kind].scale);
    g_autofree char *text = g_strconcat(number, units[kind].unit, NULL);
    rh_json_put_string(w, key, text);
}

static void put_fact(RhJsonWriter *w, const RhFittedFact *f)
{
    rh_json_begin_object(w, f->key);
    put_quantity(w, "value", f->fact.value, f->kind);
    if (f->fact.low != 0 || f->fact.high != 0) {
        put_quantity(w, "low", f->fact.low, f->kind);
        put_quantity(w, "high", f->fact.high, f->kind);
    }
    rh_json_put_string(w, "tag", rh_tag_name(f->fact.tag));
    rh_json_put_string(w, "source", f->fact.source);
    rh_json_put_string(w, "date", f->fact.date);
    rh_json_end_object(w);
}

static void put_figures(RhJsonWriter *w, const char *key, const RhFitFigures *f)
{
    if (f->count == 0) {
        rh_json_put_null(w, key);
        return;
    }
    rh_json_begin_object(w, key);
    rh_json_put_int(w, "count", f->count);
    rh_json_put_number(w, "median_abs_error_frac", f->median_frac);
    rh_json_put_number(w, "p90_abs_error_frac", f->p90_frac);
    rh_json_put_number(w, "bias_frac", f->bias_frac);
    rh_json_put_number(w, "worst_error_frac", f->worst_frac);
    rh_json_put_string(w, "worst", f->worst);
    rh_json_end_object(w);
}

static void put_classes(RhJsonWriter *w, const RhKernelsFit *fit)
{
    rh_json_begin_array(w, "classes");
    for (guint i = 0; i < fit->classes->len; i++) {
        const RhFitClass *c = &g_array_index(fit->classes, RhFitClass, i);
        rh_json_begin_object(w, NULL);
        rh_json_put_string(w, "name", c->name);
        rh_json_put_bool(w, "predicted", c->predicted);
        put_figures(w, "fitted", &c->fitted);
        put_figures(w, "held_out", &c->held_out);
        rh_json_end_object(w);
    }
    rh_json_end_array(w);
}

/* Readers of profiles look at the facts alone; this is for people, and for scripts that judge. */
static void put_quality(RhJsonWriter *w, const RhKernelsFit *fit)
{
    const RhCorrectionTrial *trial = &fit->correction;
    rh_json_begin_object(w, "fit");
    rh_json_put_number(w, "holdout_frac", fit->holdout_frac);
    if (fit->clock_frac > 0)
        rh_json_put_number(w, "clock_frac", fit->clock_frac);
    put_classes(w, fit);
    rh_json_begin_object(w, "correction");
    rh_json_put_bool(w, "kept", trial->kept);
    rh_json_put_int(w, "samples_count", trial->rows_count);
    rh_json_put_number(w, "error_without_frac", trial->without_frac);
    rh_json_put_number(w, "error_with_frac", trial->with_frac);
    rh_json_end_object(w);
    rh_json_begin_array(w, "notes");
    for (guint i = 0; i < fit->notes->len; i++)
        rh_json_put_string(w, NULL, g_ptr_array_index(fit->notes, i));
    rh_json_end_array(w);
    rh_json_end_object(w);
}

char *rh_kernels_fit_profile(const RhKernelsFit *fit)
{
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
    rh_json_begin_object(w, NULL);
    rh_json_put_string(w, "schema", "rehearse.profile/1");
    rh_json_put_string(w, "device", fit->device->name);
    rh_json_put_string(w, "about", fit->source);
    put_quality(w, fit);
    rh_json_begin_object(w, "facts");
    for (guint i = 0; i < fit->facts->len; i++)
        put_fact(w, &g_array_index(fit->facts, RhFittedFact, i));
    if (fit->correction.kept)
        rh_gemm_correction_write(w, "device.gemm.correction", &fit->device->correction);
    rh_json_end_object(w);
    rh_json_end_object(w);
    return rh_json_writer_steal(w);
}
