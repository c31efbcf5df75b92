#include "accuracy/validation_suite_results.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <math.h>
#include <string.h>

#include "accuracy/error_statistics.h"

const char *rh_control_name(RhControl control)
{
    static const char *const names[RH_CONTROL_LAST] = {"fluid", "alpha-beta", "SMPI"};
    return names[control];
}

static void case_clear(void *data)
{
    RhValidationCase *c = data;
    g_free(c->id);
    g_free(c->outcome);
    g_free(c->skipped);
}

RhValidation *rh_validation_new(const char *suite)
{
    RhValidation *v = g_new0(RhValidation, 1);
    v->suite = g_strdup(suite);
    v->cases = g_array_new(FALSE, TRUE, sizeof(RhValidationCase));
    g_array_set_clear_func(v->cases, case_clear);
    v->missed = g_ptr_array_new_with_free_func(g_free);
    v->notes = g_ptr_array_new_with_free_func(g_free);
    return v;
}

void rh_validation_free(RhValidation *v)
{
    if (!v)
        return;
    g_array_unref(v->cases);
    g_ptr_array_unref(v->missed);
    g_ptr_array_unref(v->notes);
    g_free(v->suite);
    g_free(v->made_on);
    g_free(v);
}

static const RhValidationCase *case_at(const RhValidation *v, guint i)
{
    return &g_array_index(v->cases, RhValidationCase, i);
}

const char **rh_validation_groups(const RhValidation *v)
{
    const char **groups = g_new0(const char *, v->cases->len + 1);
    for (guint i = 0, count = 0; i < v->cases->len; i++)
        if (!g_strv_contains(groups, case_at(v, i)->group))
            groups[count++] = case_at(v, i)->group;
    return groups;
}

/* The evaluated cases of a group, as columns. */
typedef struct {
    size_t count;
    double *measured, *predicted, *spread, *start, *control[RH_CONTROL_LAST];
    const char **ids;
    size_t starts_count, control_count[RH_CONTROL_LAST];
} Columns;

static Columns columns_new(size_t room)
{
    Columns c = {0};
    double **all[] = {&c.measured, &c.predicted, &c.spread, &c.start};
    for (size_t i = 0; i < G_N_ELEMENTS(all); i++)
        *all[i] = g_new0(double, room + 1);
    for (int i = 0; i < RH_CONTROL_LAST; i++)
        c.control[i] = g_new0(double, room + 1);
    c.ids = g_new0(const char *, room + 1);
    return c;
}

static void columns_clear(Columns *c)
{
    double *all[] = {c->measured, c->predicted, c->spread, c->start};
    for (size_t i = 0; i < G_N_ELEMENTS(all); i++)
        g_free(all[i]);
    for (int i = 0; i < RH_CONTROL_LAST; i++)
        g_free(c->control[i]);
    g_free(c->ids);
}

static void add_case(Columns *c, const RhValidationCase *x)
{
    size_t i = c->count++;
    c->measured[i] = x->measured;
    c->predicted[i] = x->predicted;
    c->ids[i] = x->id;
    c->spread[i] = x->spread_frac;
    if (x->start_error_frac >= 0)
        c->start[c->starts_count++] = x->start_error_frac;
    for (int k = 0; k < RH_CONTROL_LAST; k++)
        if (x->control[k] > 0)
            c->control[k][c->control_count[k]++] = fabs(x->control[k] / x->measured - 1);
}

static double median_of(double *values, size_t count)
{
    gsl_sort(values, 1, count);
    return gsl_stats_median_from_sorted_data(values, 1, count);
}

static void rank_figures(const Columns *c, RhValidationFigures *f)
{
    f->spearman = f->kendall = (double)NAN;
    if (c->count < 3)
        return;
    g_autofree double *work = g_new(double, 2 * c->count);
    f->spearman = gsl_stats_spearman(c->measured, 1, c->predicted, 1, c->count, work);
    f->kendall = rh_kendall_tau(c->measured, c->predicted, c->count);
    f->regret_frac = rh_regret_frac(c->measured, c->predicted, c->count);
}

RhValidationFigures rh_validation_figures(const RhValidation *v, const char *group)
{
    RhValidationFigures f = {.start_error_frac = -1};
    Columns c = columns_new(v->cases->len);
    for (guint i = 0; i < v->cases->len; i++) {
        const RhValidationCase *x = case_at(v, i);
        if (group && strcmp(group, x->group) != 0)
            continue;
        f.skipped_count += x->skipped != NULL;
        if (!x->skipped && !x->outcome)
            add_case(&c, x);
    }
    RhErrorStatistics figures = rh_error_statistics(c.measured, c.predicted, c.count);
    f.count = figures.count;
    f.median_abs_error_frac = figures.median_abs_error_frac;
    f.mape_frac = figures.mape_frac;
    f.p90_abs_error_frac = figures.p90_abs_error_frac;
    f.worst_abs_error_frac = figures.worst_abs_error_frac;
    f.bias_frac = figures.bias_frac;
    f.worst_id = figures.worst < 0 ? NULL : c.ids[figures.worst];
    if (c.count > 0) {
        rank_figures(&c, &f);
        for (int k = 0; k < RH_CONTROL_LAST; k++)
            f.control_mape_frac[k] = c.control_count[k] > 0
                                         ? gsl_stats_mean(c.control[k], 1, c.control_count[k])
                                         : (double)NAN;
        f.spread_frac = median_of(c.spread, c.count);
        if (c.starts_count > 0)
            f.start_error_frac = median_of(c.start, c.starts_count);
    }
    columns_clear(&c);
    return f;
}
