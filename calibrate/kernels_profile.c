/* The fit of a device's kernels as a profile (platforms/profile.h). */
#include "calibrate/kernels_fit.h"

static void put_classes(RhJsonWriter *w, const RhKernelsFit *fit)
{
    rh_json_begin_array(w, "classes");
    for (guint i = 0; i < fit->classes->len; i++) {
        const RhFitClass *c = &g_array_index(fit->classes, RhFitClass, i);
        rh_json_begin_object(w, NULL);
        rh_json_put_string(w, "name", c->name);
        rh_json_put_bool(w, "predicted", c->predicted);
        rh_fit_figures_put(w, "fitted", &c->fitted);
        rh_fit_figures_put(w, "held_out", &c->held_out);
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
        rh_fitted_fact_put(w, &g_array_index(fit->facts, RhFittedFact, i));
    if (fit->correction.kept)
        rh_gemm_correction_write(w, "device.gemm.correction", &fit->device->correction);
    rh_json_end_object(w);
    rh_json_end_object(w);
    return rh_json_writer_steal(w);
}
