#include "calibrate/stacks/steps_linear_fit.h"

#include <math.h>

#include "base/garray_access.h"

#define SETTLED       3e-3 /* relative change of every constant from round to round */
#define NUDGE         0.03 /* of a constant, for its derivative */
#define DEPENDS_LEAST 1e-5 /* of a step, when a constant is changed by that */
#define STEP_LEAST    0.05 /* of the linearised step, however far the constants move */

#define CLOCK_LOW  0.3
#define CLOCK_HIGH 1.0 /* of the boost clock */
#define NIC_LOW    0.02
#define NIC_HIGH   1.0

const RhStepStackConstant rh_step_stack_constants[] = {
    {"kernel_gap_s", RH_QUANTITY_S, offsetof(RhStack, kernel_gap_s), 0, 200e-6, 1e-6, false, false},
    {"nvlink_training_frac", RH_QUANTITY_FRAC, offsetof(RhStack, nvlink_training_frac), 0.05, 1.5,
     0, true, false},
    {RH_STEP_NIC_KEY, RH_QUANTITY_FRAC, offsetof(RhStack, nic_training_frac), NIC_LOW, NIC_HIGH, 0,
     true, false},
    {"straggler_frac", RH_QUANTITY_FRAC, offsetof(RhStack, straggler_frac), 0, 0.05, 1e-3, false,
     false},
    {"optimizer_bytes", RH_QUANTITY_COUNT, offsetof(RhStack, optimizer_bytes), 10, 300, 0, false,
     true},
    {0}};
static const RhMeasuredStep *step_at(const RhMeasuredSteps *steps, guint i)
{
    return &g_array_index(steps->rows, RhMeasuredStep, i);
}

bool rh_step_takes_part(const RhMeasuredStep *step)
{
    return *step->apart == 0 && !step->out_of_memory;
}

double rh_step_task_predict_s(const RhStepModel *model, const GArray *scales, guint row)
{
    return rh_step_model_segment_s(model, step_at(model->steps, row)) *
           g_array_index(scales, double, row);
}

/* --- a step, linear in its constants --- */

static double offset_along(const RhStepAxis *axis, double value)
{
    return axis->rate ? 1 / value : value;
}

static void steps_of(const RhStepTask *t, double *seconds)
{
    rh_step_model_refresh(t->model);
    for (guint i = 0; i < t->rows->len; i++)
        seconds[i] = rh_step_task_predict_s(t->model, t->scales, g_array_index(t->rows, guint, i));
}

/* Derivatives of all rows for one parameter; false when no row depends on it. */
static bool slope_of(RhStepTask *t, guint k, const double *base_s, double *slopes)
{
    RhStepAxis *axis = &g_array_index(t->axes, RhStepAxis, k);
    RhFact *fact = g_array_index(t->params, RhFitParam, k).fact;
    double value = fact->value, nudged = value > 0 ? value * (1 + NUDGE) : axis->unit;
    g_autofree double *seconds = g_new(double, t->rows->len + 1);
    bool depends = false;
    axis->at = value;
    fact->value = nudged;
    steps_of(t, seconds);
    fact->value = value;
    for (guint i = 0; i < t->rows->len; i++) {
        slopes[i] =
            (seconds[i] - base_s[i]) / (offset_along(axis, nudged) - offset_along(axis, value));
        depends |= fabs(seconds[i] / base_s[i] - 1) > DEPENDS_LEAST;
    }
    return depends;
}

/* Linearises around the present values. Drops parameters that no row depends on. */
static void linearise(RhStepTask *t)
{
    guint rows = t->rows->len;
    g_array_set_size(t->base_s, rows);
    double *base_s = RH_ELEMENTS(t->base_s, double);
    g_autoptr(GPtrArray) columns = g_ptr_array_new_with_free_func(g_free);
    steps_of(t, base_s);
    for (guint k = 0; k < t->params->len;) {
        double *column = g_new(double, rows + 1);
        if (slope_of(t, k, base_s, column)) {
            g_ptr_array_add(columns, column);
            k++;
            continue;
        }
        g_free(column);
        g_array_remove_index(t->params, k);
        g_array_remove_index(t->axes, k);
    }
    g_array_set_size(t->slopes, rows * columns->len);
    for (guint i = 0; i < rows; i++)
        for (guint k = 0; k < columns->len; k++)
            g_array_index(t->slopes, double, i * columns->len + k) =
                ((double *)g_ptr_array_index(columns, k))[i];
    rh_step_model_refresh(t->model);
}

static double residual(void *user, size_t i)
{
    const RhStepTask *t = user;
    double base_s = g_array_index(t->base_s, double, i), seconds = base_s;
    for (guint k = 0; k < t->params->len; k++) {
        const RhStepAxis *axis = &g_array_index(t->axes, RhStepAxis, k);
        double value = g_array_index(t->params, RhFitParam, k).fact->value;
        seconds += g_array_index(t->slopes, double, i * t->params->len + k) *
                   (offset_along(axis, value) - offset_along(axis, axis->at));
    }
    const RhMeasuredStep *step = step_at(t->model->steps, g_array_index(t->rows, guint, i));
    return log(fmax(seconds, STEP_LEAST * base_s) / step->seconds);
}

static void refresh_nothing(void *user)
{
    (void)user;
}

/* --- one fit --- */

static void add_rate(RhStepTask *t, const char *key, RhFact *fact, double low, double high)
{
    RhFitParam param = {(char *)(uintptr_t)key, RH_QUANTITY_FRAC, fact, low, high, false};
    RhStepAxis axis = {.rate = true};
    g_array_append_val(t->params, param);
    g_array_append_val(t->axes, axis);
}

static void add_params(RhStepTask *t)
{
    for (const RhStepStackConstant *s = rh_step_stack_constants; s->key; s++) {
        RhFact *fact = (RhFact *)(void *)((char *)&t->model->stack + s->offset);
        RhFitParam param = {(char *)(uintptr_t)s->key, s->kind, fact, s->low, s->high, false};
        RhStepAxis axis = {s->rate, s->unit, 0};
        if (axis.rate && !(fact->value > 0)) /* it is the platform's own, which is not fitted for
                                              * the stack */
            continue;
        g_array_append_val(t->params, param);
        g_array_append_val(t->axes, axis);
    }
    for (int32_t i = 0; i < t->model->clocks_count; i++)
        add_rate(t, "sustained_clock", &t->model->clocks[i].clock_frac, CLOCK_LOW, CLOCK_HIGH);
    for (int32_t i = 0; i < t->model->networks_count; i++)
        add_rate(t, RH_STEP_NIC_KEY, &t->model->networks[i].nic_frac, NIC_LOW, NIC_HIGH);
}

void rh_step_task_clear(RhStepTask *t)
{
    GArray *all[] = {t->rows, t->params, t->axes, t->weights, t->clusters, t->base_s, t->slopes};
    for (size_t i = 0; i < G_N_ELEMENTS(all); i++)
        g_array_unref(all[i]);
}

RhStepTask rh_step_task_new(RhStepModel *model, const GArray *scales, RhStepKeepFunc keep,
                            const void *which)
{
    RhStepTask t = {model,
                    scales,
                    g_array_new(FALSE, FALSE, sizeof(guint)),
                    g_array_new(FALSE, FALSE, sizeof(RhFitParam)),
                    g_array_new(FALSE, FALSE, sizeof(RhStepAxis)),
                    g_array_new(FALSE, FALSE, sizeof(double)),
                    g_array_new(FALSE, FALSE, sizeof(uint32_t)),
                    g_array_new(FALSE, FALSE, sizeof(double)),
                    g_array_new(FALSE, FALSE, sizeof(double))};
    for (guint i = 0; i < model->steps->rows->len; i++) {
        const RhMeasuredStep *step = step_at(model->steps, i);
        double one = 1;
        if (!rh_step_takes_part(step) || (keep && !keep(step, which)))
            continue;
        g_array_append_val(t.rows, i);
        g_array_append_val(t.weights, one);
        g_array_append_val(t.clusters, step->group);
    }
    add_params(&t);
    linearise(&t);
    return t;
}

/* Returns the fact of `model` in the place that `fact` has in `other`. */
static RhFact *counterpart(RhStepModel *model, const RhStepModel *other, const RhFact *fact)
{
    return (RhFact *)(void *)((char *)model + ((const char *)fact - (const char *)other));
}

/* Does a row of the task depend on parameter k? */
static bool is_depended_on(const RhStepTask *t, guint k)
{
    for (guint i = 0; i < t->rows->len; i++)
        if (fabs(g_array_index(t->slopes, double, i * t->params->len + k)) > 0)
            return true;
    return false;
}

/* Removes parameter k and its column of slopes. */
static void drop_param(RhStepTask *t, guint k)
{
    guint count = t->params->len, at = 0;
    for (guint i = 0; i < t->rows->len * count; i++)
        if (i % count != k)
            g_array_index(t->slopes, double, at++) = g_array_index(t->slopes, double, i);
    g_array_set_size(t->slopes, at);
    g_array_remove_index(t->params, k);
    g_array_remove_index(t->axes, k);
}

RhStepTask rh_step_task_select(const RhStepTask *all, RhStepModel *model, RhStepKeepFunc keep,
                               const void *which)
{
    RhStepTask t = *all;
    guint count = all->params->len;
    t.model = model;
    t.rows = g_array_new(FALSE, FALSE, sizeof(guint));
    t.params = g_array_copy(all->params);
    t.axes = g_array_copy(all->axes);
    t.weights = g_array_new(FALSE, FALSE, sizeof(double));
    t.clusters = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    t.base_s = g_array_new(FALSE, FALSE, sizeof(double));
    t.slopes = g_array_new(FALSE, FALSE, sizeof(double));
    for (guint k = 0; k < count; k++) {
        RhFitParam *param = &g_array_index(t.params, RhFitParam, k);
        param->fact = counterpart(model, all->model, param->fact);
    }
    for (guint i = 0; i < all->rows->len; i++) {
        guint row = g_array_index(all->rows, guint, i);
        if (!keep(step_at(model->steps, row), which))
            continue;
        g_array_append_val(t.rows, row);
        g_array_append_val(t.weights, g_array_index(all->weights, double, i));
        g_array_append_val(t.clusters, g_array_index(all->clusters, uint32_t, i));
        g_array_append_val(t.base_s, g_array_index(all->base_s, double, i));
        g_array_append_vals(t.slopes, &g_array_index(all->slopes, double, i *count), count);
    }
    for (guint k = count; k > 0; k--)
        if (!is_depended_on(&t, k - 1))
            drop_param(&t, k - 1);
    return t;
}

static double moved_step_s(const RhStepTask *t)
{
    double most = 0;
    for (guint k = 0; k < t->params->len; k++) {
        const RhStepAxis *axis = &g_array_index(t->axes, RhStepAxis, k);
        double value = g_array_index(t->params, RhFitParam, k).fact->value;
        most = fmax(most, fabs(value - axis->at) / fmax(fabs(axis->at), axis->unit));
    }
    return most;
}

bool rh_step_task_solve(RhStepTask *t, int rounds, bool point_alone)
{
    RhFitModel model = {.samples_count = t->rows->len,
                        .weights = RH_ELEMENTS(t->weights, double),
                        .clusters = RH_ELEMENTS(t->clusters, uint32_t),
                        .residual = residual,
                        .refresh = refresh_nothing,
                        .user = t,
                        .t_end_us = t->model->deadline.t_end_us,
                        .near = true,
                        .point_alone = point_alone};
    for (int round = 0; round < rounds; round++) {
        if (!rh_fit_solve_model(&model, RH_ELEMENTS(t->params, RhFitParam), t->params->len))
            return false;
        bool settled = moved_step_s(t) < SETTLED;
        if (round + 1 < rounds)
            linearise(t);
        if (settled)
            break;
    }
    rh_step_model_refresh(t->model);
    return !rh_deadline_passed(t->model->deadline);
}

void rh_step_task_fix(RhStepTask *t, const RhFact *fact)
{
    for (guint k = t->params->len; k > 0; k--)
        if (g_array_index(t->params, RhFitParam, k - 1).fact == fact)
            drop_param(t, k - 1);
}

static bool is_told(const RhStepTask *t, const RhFact *fact)
{
    for (guint k = 0; k < t->params->len; k++)
        if (g_array_index(t->params, RhFitParam, k).fact == fact)
            return true;
    return false;
}

void rh_step_task_fill_untold(RhStepTask *t)
{
    RhStepModel *m = t->model;
    double sum = 0;
    int count = 0;
    for (int32_t i = 0; i < m->clocks_count; i++)
        if (is_told(t, &m->clocks[i].clock_frac)) {
            sum += m->clocks[i].clock_frac.value;
            count++;
        }
    for (int32_t i = 0; i < m->clocks_count; i++)
        if (!is_told(t, &m->clocks[i].clock_frac) && count > 0)
            m->clocks[i].clock_frac.value = sum / count;
    for (int32_t i = 0; i < m->networks_count; i++)
        if (!is_told(t, &m->networks[i].nic_frac))
            m->networks[i].nic_frac.value = m->stack.nic_training_frac.value;
    rh_step_model_refresh(m);
}

void rh_step_task_hold(RhStepTask *t, const RhFact *fact)
{
    for (guint k = 0; k < t->params->len; k++)
        if (g_array_index(t->params, RhFitParam, k).fact == fact) {
            g_array_remove_index(t->params, k);
            g_array_remove_index(t->axes, k);
            linearise(t);
            return;
        }
}
