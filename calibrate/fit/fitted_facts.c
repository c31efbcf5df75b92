#include "calibrate/fit/fitted_facts.h"

static void clear_fact(gpointer fact)
{
    g_free(((RhFittedFact *)fact)->key);
}

GArray *rh_fitted_facts_new(void)
{
    GArray *facts = g_array_new(FALSE, FALSE, sizeof(RhFittedFact));
    g_array_set_clear_func(facts, clear_fact);
    return facts;
}

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
    [RH_QUANTITY_TOKENS] = {"", 1},
};

static void put_quantity(RhJsonWriter *w, const char *key, double value, RhQuantity kind)
{
    char number[G_ASCII_DTOSTR_BUF_SIZE];
    g_ascii_formatd(number, sizeof number, "%.6g", value * units[kind].scale);
    g_autofree char *text = g_strconcat(number, units[kind].unit, NULL);
    rh_json_put_string(w, key, text);
}

char *rh_fitted_value_text(const RhFittedFact *f, double value)
{
    if (f->kind == RH_QUANTITY_FRAC || f->kind == RH_QUANTITY_COUNT)
        return g_strdup_printf("%.4g", value);
    return rh_quantity_format(value, f->kind, 4);
}

void rh_fitted_fact_put(RhJsonWriter *w, const RhFittedFact *f)
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

void rh_fit_figures_put(RhJsonWriter *w, const char *key, const RhFitFigures *f)
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
