#include "sweep/cost_model.h"

#include <math.h>

#define LEAST_S 1e-6
#define PASSES  6   /* axes of a study with filters are not independent: factors settle in a few */
#define PRIOR   0.5 /* questions of factor 1 that each value is taken to have besides */

struct RhItemCosts {
    int32_t axes, items;
    int32_t *levels; /* value of each axis of each item, numbered across all axes */
    int32_t levels_count;
    GArray *asked;   /* int32_t: items */
    GArray *logs;    /* double: logarithms of their seconds */
    double *effects; /* of each level; NULL: no fit yet */
    double mean, factor, spread;
};

RhItemCosts *rh_item_costs_new(const RhStudy *study)
{
    RhItemCosts *c = g_new0(RhItemCosts, 1);
    c->axes = (int32_t)study->axes->len;
    c->items = (int32_t)study->items->len;
    c->levels = g_new0(int32_t, (gsize)c->axes * (gsize)c->items + 1);
    c->asked = g_array_new(FALSE, FALSE, sizeof(int32_t));
    c->logs = g_array_new(FALSE, FALSE, sizeof(double));
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
    return c;
}

void rh_item_costs_free(RhItemCosts *c)
{
    if (!c)
        return;
    g_free(c->levels);
    g_free(c->effects);
    g_array_unref(c->asked);
    g_array_unref(c->logs);
    g_free(c);
}

void rh_item_costs_add(RhItemCosts *c, int32_t item, double seconds)
{
    double log_s = log(fmax(seconds, LEAST_S));
    g_array_append_val(c->asked, item);
    g_array_append_val(c->logs, log_s);
}

int32_t rh_item_costs_count(const RhItemCosts *c)
{
    return (int32_t)c->asked->len;
}

static double fitted_log(const RhItemCosts *c, int32_t item)
{
    double sum = c->mean;
    for (int32_t axis = 0; axis < c->axes; axis++)
        sum += c->effects[c->levels[item * c->axes + axis]];
    return sum;
}

/* Sets the factors of one axis to what the others leave over. */
static void fit_axis(RhItemCosts *c, int32_t axis, double *sums, int32_t *counts)
{
    for (int32_t i = 0; i < c->levels_count; i++) {
        sums[i] = 0;
        counts[i] = 0;
    }
    for (guint i = 0; i < c->asked->len; i++) {
        int32_t item = g_array_index(c->asked, int32_t, i);
        int32_t level = c->levels[item * c->axes + axis];
        sums[level] += g_array_index(c->logs, double, i) - fitted_log(c, item) + c->effects[level];
        counts[level]++;
    }
    for (int32_t i = 0; i < c->levels_count; i++)
        if (counts[i] > 0)
            c->effects[i] = sums[i] / (counts[i] + PRIOR);
}

/* Logarithms have the geometric mean: the factor makes sums of seconds agree. */
static void fit_factor(RhItemCosts *c)
{
    double measured_s = 0, fitted_s = 0, squares = 0;
    for (guint i = 0; i < c->asked->len; i++) {
        measured_s += exp(g_array_index(c->logs, double, i));
        fitted_s += exp(fitted_log(c, g_array_index(c->asked, int32_t, i)));
    }
    c->factor = measured_s / fitted_s;
    for (guint i = 0; i < c->asked->len; i++) {
        double ratio = exp(g_array_index(c->logs, double, i) -
                           fitted_log(c, g_array_index(c->asked, int32_t, i))) /
                       c->factor;
        squares += (ratio - 1) * (ratio - 1);
    }
    c->spread = sqrt(squares / c->asked->len);
}

void rh_item_costs_fit(RhItemCosts *c)
{
    if (c->asked->len == 0)
        return;
    g_autofree double *sums = g_new0(double, c->levels_count + 1);
    g_autofree int32_t *counts = g_new0(int32_t, c->levels_count + 1);
    g_free(c->effects);
    c->effects = g_new0(double, c->levels_count + 1);
    c->mean = 0;
    for (guint i = 0; i < c->logs->len; i++)
        c->mean += g_array_index(c->logs, double, i) / c->logs->len;
    for (int32_t pass = 0; pass < PASSES; pass++)
        for (int32_t axis = 0; axis < c->axes; axis++)
            fit_axis(c, axis, sums, counts);
    fit_factor(c);
}

double rh_item_costs_seconds(const RhItemCosts *c, int32_t item)
{
    return c->effects ? c->factor * exp(fitted_log(c, item)) : 0;
}

double rh_item_costs_spread(const RhItemCosts *c)
{
    return c->effects ? c->spread : 0;
}
