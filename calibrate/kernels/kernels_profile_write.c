/* Writes the fit of a device's kernels as a profile (platforms/profile.h). */
#include "calibrate/kernels/kernels_fit.h"
#include "platforms/profile.h"

static void put_class(RhJsonWriter *w, const char *name, bool predicted, const RhFitFigures *fitted,
                      const RhFitFigures *held_out)
{
    rh_json_begin_object(w, NULL);
    rh_json_put_string(w, "name", name);
    rh_json_put_bool(w, "predicted", predicted);
    rh_fit_figures_put(w, "fitted", fitted);
    rh_fit_figures_put(w, "held_out", held_out);
    rh_json_end_object(w);
}

static void put_classes(RhJsonWriter *w, const RhKernelsFit *fit, const RhSurfacesFit *surfaces)
{
    rh_json_begin_array(w, "classes");
    for (guint i = 0; fit && i < fit->classes->len; i++) {
        const RhFitClass *c = &g_array_index(fit->classes, RhFitClass, i);
        put_class(w, c->name, c->predicted, &c->fitted, &c->held_out);
    }
    for (guint i = 0; surfaces && i < surfaces->classes->len; i++) {
        const RhSurfaceClass *c = &g_array_index(surfaces->classes, RhSurfaceClass, i);
        if (!c->part)
            put_class(w, c->name, false, &c->fitted, &c->held_out);
    }
    rh_json_end_array(w);
}

static void put_form(RhJsonWriter *w, const RhKernelsFit *fit)
{
    const RhCorrectionTrial *trial = &fit->correction;
    rh_json_put_number(w, "holdout_frac", fit->holdout_frac);
    if (fit->clock_frac > 0)
        rh_json_put_number(w, "clock_frac", fit->clock_frac);
    rh_json_begin_object(w, "correction");
    rh_json_put_bool(w, "kept", trial->kept);
    rh_json_put_int(w, "samples_count", trial->rows_count);
    rh_json_put_number(w, "error_without_frac", trial->without_frac);
    rh_json_put_number(w, "error_with_frac", trial->with_frac);
    rh_json_end_object(w);
}

static void put_notes(RhJsonWriter *w, const GPtrArray *notes)
{
    for (guint i = 0; notes && i < notes->len; i++)
        rh_json_put_string(w, NULL, g_ptr_array_index(notes, i));
}

/* Writes the quality of the fit, for people and scripts; readers of profiles only use the facts. */
static void put_quality(RhJsonWriter *w, const RhKernelsFit *fit, const RhSurfacesFit *surfaces)
{
    rh_json_begin_object(w, "fit");
    if (fit)
        put_form(w, fit);
    put_classes(w, fit, surfaces);
    rh_json_begin_array(w, "notes");
    put_notes(w, fit ? fit->notes : NULL);
    put_notes(w, surfaces ? surfaces->notes : NULL);
    rh_json_end_array(w);
    rh_json_end_object(w);
}

static void put_surfaces(RhJsonWriter *w, const RhSurfacesFit *surfaces)
{
    rh_json_begin_array(w, "device.kernels");
    for (guint i = 0; i < surfaces->surfaces->len; i++)
        rh_surface_write(w, g_ptr_array_index(surfaces->surfaces, i));
    rh_json_end_array(w);
}

char *rh_kernels_fit_profile(const RhKernelsFit *fit, const char *device,
                             const RhSurfacesFit *surfaces)
{
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
    rh_json_begin_object(w, NULL);
    rh_json_put_string(w, "schema", "rehearse.profile/1");
    rh_json_put_string(w, "device", device);
    rh_json_put_string(w, "about", fit ? fit->source : "kernels of serving, from published tables");
    put_quality(w, fit, surfaces);
    rh_json_begin_object(w, "facts");
    for (guint i = 0; fit && i < fit->facts->len; i++)
        rh_fitted_fact_put(w, &g_array_index(fit->facts, RhFittedFact, i));
    if (fit && fit->correction.kept)
        rh_gemm_correction_write(w, "device.gemm.correction", &fit->device->correction);
    for (int kind = 0; fit && kind < RH_CALIBRATED_RANGE_LAST; kind++)
        if (fit->device->curves.shapes[kind].source)
            rh_calibrated_range_write(w, rh_profile_shapes_key((RhCalibratedKind)kind),
                                      (RhCalibratedKind)kind, &fit->device->curves.shapes[kind]);
    if (surfaces && surfaces->surfaces->len > 0)
        put_surfaces(w, surfaces);
    if (surfaces && surfaces->peers.curves_count > 0)
        rh_peer_reduce_write(w, "device.peer_reduce", &surfaces->peers);
    rh_json_end_object(w);
    rh_json_end_object(w);
    return rh_json_writer_steal(w);
}
