#include "calibrate/stacks/steps_leave_out_fit.h"

#include "base/garray_access.h"

struct RhStepsHeldOut {
    RhStepModel *model;
    GArray *scales; /* double: 1 of each row, as bounds stand for steps */
    RhStepTask all;
};

RhStepsHeldOut *rh_steps_held_out_new(const RhMeasuredSteps *steps, const char *stack,
                                      RhDeadline deadline, GError **error)
{
    RhStepModel *model = rh_step_model_new(steps, stack, error);
    if (!model)
        return NULL;
    RhStepsHeldOut *w = g_new0(RhStepsHeldOut, 1);
    double one = 1;
    w->model = model;
    model->deadline = deadline;
    w->scales = g_array_new(FALSE, FALSE, sizeof(double));
    for (guint i = 0; i < steps->rows->len; i++)
        g_array_append_val(w->scales, one);
    w->all = rh_step_task_new(model, w->scales, NULL, NULL);
    for (const RhStepStackConstant *s = rh_step_stack_constants; s->key; s++)
        if (s->counted)
            rh_step_task_fix(
                &w->all, (const RhFact *)(const void *)((const char *)&model->stack + s->offset));
    return w;
}

void rh_steps_held_out_free(RhStepsHeldOut *w)
{
    if (!w)
        return;
    rh_step_task_clear(&w->all);
    rh_step_model_free(w->model);
    g_array_unref(w->scales);
    g_free(w);
}

RhStepModel *rh_steps_held_out(const RhStepsHeldOut *w, RhStepKeepFunc keep, const void *which)
{
    g_autoptr(RhStepModel) model = rh_step_model_copy(w->model);
    RhStepTask task = rh_step_task_select(&w->all, model, keep, which);
    bool solved = task.params->len > 0 && task.rows->len > task.params->len &&
                  rh_step_task_solve(&task, 1, true);
    if (solved)
        rh_step_task_fill_untold(&task);
    rh_step_task_clear(&task);
    return solved ? g_steal_pointer(&model) : NULL;
}
