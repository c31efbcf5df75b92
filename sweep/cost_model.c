#include "sweep/cost_model.h"

#include <math.h>

#define LEAST_S 1e-6
#define PASSES  6   /* axes of a study with filters are not independent: factors settle in a few */
#define PRIOR   0.5 /* questions of factor 1 that each value is taken to have besides */

/* Logarithms that are fitted: of some items. */
typedef struct {
    GArray *items; /* int32_t */
    GArray *logs;  /* double */
} Samples;

/* A product of factors: log(value) = mean + power * log(estimate) + the sum of the levels' effects. */
typedef struct {
    double mean, power;
    double *effects; /* of each level; NULL: no fit yet */
} Fit;

struct RhItemCosts {
    int32_t axes, items;
    int32_t *levels; /* value of each axis of each item, numbered across all axes */
    int32_t levels_count;
    double *estimates; /* logarithm of each item's work */
    Samples measured;
    Fit fit;
    double factor, spread;
};

static Samples samples_new(void)
{
    return (Samples){g_array_new(FALSE, FALSE, sizeof(int32_t)),
                     g_array_new(FALSE, FALSE, sizeof(double))};
}

static void samples_free(Samples *s)
{
    g_array_unref(s->items);
    g_array_unref(s->logs);
}

static void add_sample(Samples *s, int32_t item, double value)
{
    double log_value = log(fmax(value, LEAST_S));
    g_array_append_val(s->items, item);
    g_array_append_val(s->logs, log_value);
}

static void number_levels(RhItemCosts *c, const RhStudy *study)
{
    for (int32_t axis = 0; axis < c->axes; axis++) {
        g_autoptr(GHashTable) known = g_hash_table_new(g_str_hash, g_str_equal);
        for (int32_t i = 0; i < c->items; i++) {
            const RhStudyItem *item = g_ptr_array_index(study->items, i);
            void *level = g_hash_table_lookup(known, item->values[axis]);
            if (!level) {
                level = GINT_TO_POINTER(++c->levels_count);
                g_hash_table_insert(known, item->values[axis], level);
            }
            c->levels[i * c->axes + axis] = GPOINTER_TO_INT(level) - 1;
        }
    }
}

/* --- the fit --- */

static double fitted_log(const RhItemCosts *c, const Fit *fit, int32_t item)
{
    double sum = fit->mean + fit->power * c->estimates[item];
    for (int32_t axis = 0; axis < c->axes; axis++)
        sum += fit->effects[c->levels[item * c->axes + axis]];
    return sum;
}

/* Sets the power of the estimate, which is 1 as far as nothing says otherwise, and the mean. */
static void fit_power(const RhItemCosts *c, Fit *fit, const Samples *s)
{
    double estimate = 0, value = 0, squares = PRIOR, products = PRIOR;
    for (guint i = 0; i < s->items->len; i++) {
        estimate += c->estimates[g_array_index(s->items, int32_t, i)] / s->items->len;
        value += g_array_index(s->logs, double, i) / s->items->len;
    }
    for (guint i = 0; i < s->items->len; i++) {
        double above = c->estimates[g_array_index(s->items, int32_t, i)] - estimate;
        squares += above * above;
        products += above * (g_array_index(s->logs, double, i) - value);
    }
    fit->power = fmax(products / squares, 0);
    fit->mean = value - fit->power * estimate;
}

/* Sets the factors of one axis to what the others leave over. */
static void fit_axis(const RhItemCosts *c, Fit *fit, const Samples *s, int32_t axis)
{
    g_autofree double *sums = g_new0(double, c->levels_count + 1);
    g_autofree int32_t *counts = g_new0(int32_t, c->levels_count + 1);
    for (guint i = 0; i < s->items->len; i++) {
        int32_t item = g_array_index(s->items, int32_t, i);
        int32_t level = c->levels[item * c->axes + axis];
        sums[level] +=
            g_array_index(s->logs, double, i) - fitted_log(c, fit, item) + fit->effects[level];
        counts[level]++;
    }
    for (int32_t i = 0; i < c->levels_count; i++)
        if (counts[i] > 0)
            fit->effects[i] = sums[i] / (counts[i] + PRIOR);
}

static void fit_factors(const RhItemCosts *c, Fit *fit, const Samples *s)
{
    g_free(fit->effects);
    fit->effects = g_new0(double, c->levels_count + 1);
    fit_power(c, fit, s);
    for (int32_t pass = 0; pass < PASSES; pass++)
        for (int32_t axis = 0; axis < c->axes; axis++)
            fit_axis(c, fit, s, axis);
}

/* --- the estimate --- */

/* Estimates the work of items spread over the study; that of the others, and of those whose work is not known, by the
 * factors of their values. */
static void estimate_items(RhItemCosts *c, const RhStudy *study, RhItemWork work, void *user)
{
    Samples known = samples_new();
    g_autofree bool *is_known = g_new0(bool, c->items + 1);
    int32_t asked = MIN(c->items, RH_ITEM_ESTIMATES_MAX);
    for (int32_t k = 0; k < asked; k++) {
        int32_t i = (int32_t)((int64_t)k * c->items / asked);
        double amount = work(g_ptr_array_index(study->items, i), user);
        is_known[i] = amount > 0;
        if (amount > 0)
            add_sample(&known, i, amount);
    }
    if (known.items->len > 0 && known.items->len < (guint)c->items) {
        Fit fit = {0};
        fit_factors(c, &fit, &known);
        for (int32_t i = 0; i < c->items; i++)
            c->estimates[i] = fitted_log(c, &fit, i);
        g_free(fit.effects);
    }
    for (guint i = 0; i < known.items->len; i++)
        c->estimates[g_array_index(known.items, int32_t, i)] = g_array_index(known.logs, double, i);
    samples_free(&known);
}

RhItemCosts *rh_item_costs_new(const RhStudy *study, RhItemWork work, void *user)
{
    RhItemCosts *c = g_new0(RhItemCosts, 1);
    c->axes = (int32_t)study->axes->len;
    c->items = (int32_t)study->items->len;
    c->levels = g_new0(int32_t, (gsize)c->axes * (gsize)c->items + 1);
    c->estimates = g_new0(double, c->items + 1);
    c->measured = samples_new();
    number_levels(c, study);
    if (work)
        estimate_items(c, study, work, user);
    return c;
}

void rh_item_costs_free(RhItemCosts *c)
{
    if (!c)
        return;
    g_free(c->levels);
    g_free(c->estimates);
    g_free(c->fit.effects);
    samples_free(&c->measured);
    g_free(c);
}

/* --- what was measured --- */

void rh_item_costs_add(RhItemCosts *c, int32_t item, double seconds)
{
    add_sample(&c->measured, item, seconds);
}

int32_t rh_item_costs_count(const RhItemCosts *c)
{
    return (int32_t)c->measured.items->len;
}

/* Logarithms have the geometric mean: the factor makes sums of seconds agree. */
static void fit_sum(RhItemCosts *c)
{
    const Samples *s = &c->measured;
    double measured_s = 0, fitted_s = 0, squares = 0;
    for (guint i = 0; i < s->items->len; i++) {
        measured_s += exp(g_array_index(s->logs, double, i));
        fitted_s += exp(fitted_log(c, &c->fit, g_array_index(s->items, int32_t, i)));
    }
    c->factor = measured_s / fitted_s;
    for (guint i = 0; i < s->items->len; i++) {
        double ratio = exp(g_array_index(s->logs, double, i) -
                           fitted_log(c, &c->fit, g_array_index(s->items, int32_t, i))) /
                       c->factor;
        squares += (ratio - 1) * (ratio - 1);
    }
    c->spread = sqrt(squares / s->items->len);
}

void rh_item_costs_fit(RhItemCosts *c)
{
    if (c->measured.items->len == 0)
        return;
    fit_factors(c, &c->fit, &c->measured);
    fit_sum(c);
}

double rh_item_costs_seconds(const RhItemCosts *c, int32_t item)
{
    return c->fit.effects ? c->factor * exp(fitted_log(c, &c->fit, item)) : exp(c->estimates[item]);
}

double rh_item_costs_spread(const RhItemCosts *c)
{
    return c->fit.effects ? c->spread : 0;
}
