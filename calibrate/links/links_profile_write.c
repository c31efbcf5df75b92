/* Writes the fit of a platform's links as a profile (platforms/profile.h). */
#include "calibrate/links/links_fit.h"

static void put_segments(RhJsonWriter *w, const RhLinksClass *c)
{
    rh_json_begin_array(w, "segments");
    for (int i = 0; i < c->segments_count; i++) {
        const RhSegment *s = &c->segments[i];
        rh_json_begin_object(w, NULL);
        rh_json_put_number(w, "first_bytes", s->first_bytes);
        rh_json_put_number(w, "last_bytes", s->last_bytes);
        rh_json_put_int(w, "sizes_count", s->points_count);
        rh_json_put_number(w, "fixed_s", s->fixed_s);
        rh_json_put_number(w, "fixed_error_s", s->fixed_error_s);
        rh_json_put_number(w, "s_per_byte", s->s_per_byte);
        rh_json_put_number(w, "s_per_byte_error", s->s_per_byte_error);
        rh_json_end_object(w);
    }
    rh_json_end_array(w);
}

static void put_quality(RhJsonWriter *w, const RhLinksFit *fit)
{
    rh_json_begin_object(w, "fit");
    rh_json_put_number(w, "holdout_frac", fit->holdout_frac);
    rh_json_begin_array(w, "classes");
    for (guint i = 0; i < fit->classes->len; i++) {
        const RhLinksClass *c = &g_array_index(fit->classes, RhLinksClass, i);
        rh_json_begin_object(w, NULL);
        rh_json_put_string(w, "name", c->name);
        rh_fit_figures_put(w, "before", &c->before);
        rh_fit_figures_put(w, "fitted", &c->fitted);
        rh_fit_figures_put(w, "held_out", &c->held_out);
        put_segments(w, c);
        rh_json_end_object(w);
    }
    rh_json_end_array(w);
    rh_json_begin_array(w, "notes");
    for (guint i = 0; i < fit->notes->len; i++)
        rh_json_put_string(w, NULL, g_ptr_array_index(fit->notes, i));
    rh_json_end_array(w);
    if (fit->untold_rate)
        rh_json_put_string(w, "untold", fit->untold_rate);
    rh_json_end_object(w);
}

char *rh_links_fit_profile(const RhLinksFit *fit)
{
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
    rh_json_begin_object(w, NULL);
    rh_json_put_string(w, "schema", "rehearse.profile/1");
    rh_json_put_string(w, "platform", fit->platform->name);
    rh_json_put_string(w, "about", fit->source);
    put_quality(w, fit);
    rh_json_begin_object(w, "facts");
    for (guint i = 0; i < fit->facts->len; i++)
        rh_fitted_fact_put(w, &g_array_index(fit->facts, RhFittedFact, i));
    rh_json_end_object(w);
    rh_json_end_object(w);
    return rh_json_writer_steal(w);
}
