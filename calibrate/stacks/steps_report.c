#include <math.h>
#include <string.h>

#include "calibrate/stacks/steps_fit.h"

static double predicted_at(const RhStepPrediction *p, size_t offset)
{
    return *(const double *)(const void *)((const char *)p + offset);
}

static bool counts(const RhStepPrediction *p, const char *source, const char *apart)
{
    return (!source || strcmp(p->step->source, source) == 0) &&
           strcmp(p->step->apart, apart ? apart : "") == 0;
}

void rh_steps_figures(const RhStepsFit *fit, const char *source, const char *apart, size_t offset,
                      RhFitFigures *figures)
{
    g_autofree double *errors_frac = g_new(double, fit->predictions->len + 1);
    const RhMeasuredStep *worst = NULL;
    double worst_frac = -1;
    size_t count = 0;
    for (guint i = 0; i < fit->predictions->len; i++) {
        const RhStepPrediction *p = &g_array_index(fit->predictions, RhStepPrediction, i);
        double seconds = predicted_at(p, offset);
        if (!counts(p, source, apart) || seconds <= 0)
            continue;
        double off = seconds / p->step->seconds - 1;
        errors_frac[count++] = off;
        if (fabs(off) > worst_frac) {
            worst_frac = fabs(off);
            worst = p->step;
        }
    }
    rh_fit_figures_of(errors_frac, count, figures);
    figures->worst = worst ? rh_step_describe(worst) : NULL;
}

static void put_constant(RhJsonWriter *w, const RhStepConstant *c)
{
    rh_json_begin_object(w, NULL);
    rh_json_put_string(w, "key", c->key);
    rh_json_put_string(w, "of", c->of);
    rh_json_put_number(w, "value", c->kept ? c->before : c->fact.value);
    rh_json_put_number(w, "before", c->before);
    if (c->determined) {
        rh_json_put_number(w, "fitted", c->fact.value);
        rh_json_put_number(w, "low", c->fact.low);
        rh_json_put_number(w, "high", c->fact.high);
    }
    rh_json_put_bool(w, "determined", c->determined);
    rh_json_put_bool(w, "counted", c->counted);
    rh_json_put_bool(w, "on_bound", c->on_bound);
    rh_json_end_object(w);
}

static void put_reserve(RhJsonWriter *w, const RhStepReserve *r)
{
    if (r->failed_count == 0) {
        rh_json_put_null(w, "reserve");
        return;
    }
    rh_json_begin_object(w, "reserve");
    rh_json_put_number(w, "bytes", r->reserve_bytes);
    rh_json_put_number(w, "low_bytes", r->low_bytes);
    rh_json_put_number(w, "high_bytes", r->high_bytes);
    rh_json_put_number(w, "spread_frac", r->spread_frac);
    rh_json_put_int(w, "ran_count", r->ran_count);
    rh_json_put_int(w, "failed_count", r->failed_count);
    rh_json_put_int(w, "caught_before", r->caught_before);
    rh_json_put_int(w, "caught_fitted", r->caught_fitted);
    rh_json_put_int(w, "refused_before", r->refused_before);
    rh_json_put_int(w, "refused_fitted", r->refused_fitted);
    rh_json_end_object(w);
}

static void put_seconds(RhJsonWriter *w, const char *key, double seconds)
{
    if (seconds > 0)
        rh_json_put_number(w, key, seconds);
    else
        rh_json_put_null(w, key);
}

static void put_row(RhJsonWriter *w, const RhStepPrediction *p)
{
    g_autofree char *what = rh_step_describe(p->step);
    rh_json_begin_object(w, NULL);
    rh_json_put_string(w, "source", p->step->source);
    rh_json_put_string(w, "row", what);
    rh_json_put_string(w, "apart", *p->step->apart ? p->step->apart : NULL);
    rh_json_put_number(w, "measured_s", p->step->seconds);
    put_seconds(w, "before_s", p->before_s);
    put_seconds(w, "fitted_s", p->fitted_s);
    put_seconds(w, "held_out_s", p->held_out_s);
    put_seconds(w, "source_out_s", p->source_out_s);
    rh_json_end_object(w);
}

char *rh_steps_fit_json(const RhStepsFit *fit)
{
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
    rh_json_begin_object(w, NULL);
    rh_json_put_string(w, "schema", "rehearse.stack-fit/1");
    rh_json_put_string(w, "stack", fit->stack);
    rh_json_put_int(w, "rows", fit->rows_count);
    rh_json_put_int(w, "groups", fit->groups_count);
    rh_json_put_int(w, "sources", fit->sources_count);
    rh_json_begin_array(w, "constants");
    for (guint i = 0; i < fit->constants->len; i++)
        put_constant(w, &g_array_index(fit->constants, RhStepConstant, i));
    rh_json_end_array(w);
    put_reserve(w, &fit->reserve);
    rh_json_begin_array(w, "steps");
    for (guint i = 0; i < fit->predictions->len; i++)
        put_row(w, &g_array_index(fit->predictions, RhStepPrediction, i));
    rh_json_end_array(w);
    rh_json_end_object(w);
    return rh_json_writer_steal(w);
}
