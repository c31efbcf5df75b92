#include "calibrate/stacks/steps_predict.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/garray_access.h"
#include "sim/engine/workers/process_pool.h"
#include "strategies/search/rehearsals/rehearse.h"

#define QUICK_S 0.1 /* of a segment graph, by which the deadline may be exceeded */

RhStepClock *rh_step_model_clock(RhStepModel *model, const char *device)
{
    for (int32_t i = 0; i < model->clocks_count; i++)
        if (strcmp(model->clocks[i].device, device) == 0)
            return &model->clocks[i];
    return NULL;
}

static bool add_clocks(RhStepModel *model, GError **error)
{
    for (guint i = 0; i < model->steps->platforms->len; i++) {
        const RhPlatform *p = g_ptr_array_index(model->steps->platforms, i);
        const RhDevice *d = p->device;
        if (rh_step_model_clock(model, d->name))
            continue;
        if (model->clocks_count == RH_STEP_DEVICES_MAX)
            return rh_fail(error, RH_ERROR_INPUT, "%s: more than %d devices\nhelp: split the table",
                           model->steps->name, RH_STEP_DEVICES_MAX);
        model->clocks[model->clocks_count++] =
            (RhStepClock){d->name, d->curves.sustained_clock_frac};
    }
    return true;
}

static bool add_networks(RhStepModel *model, GError **error)
{
    for (guint i = 0; i < model->steps->networks->len; i++) {
        if (model->networks_count == RH_STEP_NETWORKS_MAX)
            return rh_fail(error, RH_ERROR_INPUT,
                           "%s: more than %d networks\nhelp: split the table", model->steps->name,
                           RH_STEP_NETWORKS_MAX);
        model->networks[model->networks_count++] = (RhStepNetwork){
            g_ptr_array_index(model->steps->networks, i), model->stack.nic_training_frac};
    }
    return true;
}

static void add_views(RhStepModel *model, const RhStack *stack)
{
    for (guint i = 0; i < model->steps->platforms->len; i++) {
        RhPlatform *view = rh_stack_platform(stack, g_ptr_array_index(model->steps->platforms, i));
        view->device->curves.sustained_clock_frac =
            rh_step_model_clock(model, view->device->name)->clock_frac;
        rh_device_refresh(view->device);
        g_ptr_array_add(model->views, view);
    }
}

void rh_step_model_refresh(RhStepModel *model)
{
    g_ptr_array_set_size(model->views, 0);
    add_views(model, &model->stack);
    for (int32_t i = 0; i < model->networks_count; i++) {
        RhStack stack = model->stack;
        stack.nic_training_frac = model->networks[i].nic_frac;
        add_views(model, &stack);
    }
}

static int32_t network_named(const RhStepModel *model, const char *name)
{
    for (int32_t i = 0; i < model->networks_count; i++)
        if (strcmp(model->networks[i].name, name) == 0)
            return i;
    return -1;
}

/* Network of a row: its table's own, or its source's; -1: the stack's. */
static int32_t network_of(const RhStepModel *model, const RhMeasuredStep *step)
{
    g_autofree char *name = g_strdup_printf("%s/%s", step->source, step->table);
    int32_t of_table = network_named(model, name);
    return of_table >= 0 ? of_table : network_named(model, step->source);
}

RhStepModel *rh_step_model_new(const RhMeasuredSteps *steps, const char *stack, GError **error)
{
    const RhStack *known = rh_stack_by_name(stack, error);
    if (!known)
        return NULL;
    g_autoptr(RhStepModel) model = g_new0(RhStepModel, 1);
    model->steps = steps;
    model->stack = *known;
    model->views = g_ptr_array_new_with_free_func((GDestroyNotify)rh_platform_free);
    model->longest_s = g_new0(double, steps->rows->len + 1);
    if (!add_clocks(model, error) || !add_networks(model, error))
        return NULL;
    rh_step_model_refresh(model);
    return g_steal_pointer(&model);
}

RhStepModel *rh_step_model_copy(const RhStepModel *model)
{
    RhStepModel *copy = g_memdup2(model, sizeof *model);
    copy->views = g_ptr_array_new_with_free_func((GDestroyNotify)rh_platform_free);
    copy->longest_s = g_memdup2(model->longest_s, (model->steps->rows->len + 1) * sizeof(double));
    rh_step_model_refresh(copy);
    return copy;
}

void rh_step_model_free(RhStepModel *model)
{
    if (!model)
        return;
    g_ptr_array_unref(model->views);
    g_free(model->longest_s);
    g_free(model);
}

void rh_step_model_copy_constants(RhStack *stack, const RhStack *from)
{
    stack->kernel_gap_s = from->kernel_gap_s;
    stack->nvlink_training_frac = from->nvlink_training_frac;
    stack->nic_training_frac = from->nic_training_frac;
    stack->straggler_frac = from->straggler_frac;
    stack->optimizer_bytes = from->optimizer_bytes;
    stack->bucket_params = from->bucket_params;
    stack->bucket_params_per_replica = from->bucket_params_per_replica;
    stack->bucket_bytes = from->bucket_bytes;
    stack->first_bucket_bytes = from->first_bucket_bytes;
    stack->bucket_cycle_s = from->bucket_cycle_s;
    stack->reserve_bytes = from->reserve_bytes;
}

/* The row's problem with the model's constants and its own kernels; `stack` is filled in. */
static RhProblem case_of(const RhStepModel *model, const RhMeasuredStep *step, RhStack *stack)
{
    guint at = 0;
    gboolean found = g_ptr_array_find(model->steps->platforms, step->platform, &at);
    g_assert(found);
    at += (guint)(1 + network_of(model, step)) * model->steps->platforms->len;
    *stack = step->habits ? *step->habits : model->stack;
    rh_step_model_copy_constants(stack, &model->stack);
    stack->flash_attention = step->flash_attention;
    stack->fused_norms = step->fused_norms;
    return (RhProblem){step->model, g_ptr_array_index(model->views, at), stack, step->job};
}

static double segment_s(const RhStepModel *model, const RhMeasuredStep *step)
{
    RhStack stack;
    RhProblem c = case_of(model, step, &stack);
    g_autoptr(RhRehearsal) quick = rh_rehearse_quick(&c, &step->layout);
    return quick->bound_segment_s;
}

typedef struct {
    const RhStepModel *model;
    const RhMeasuredStep *step;
    double answer_s, took_s; /* answer_s 0: none */
} Apart;

static GByteArray *perform_apart(int32_t item, void *user, GError **error)
{
    const Apart *a = user;
    (void)item;
    (void)error;
    gint64 t_start_us = g_get_monotonic_time();
    double answer[] = {segment_s(a->model, a->step), 0};
    answer[1] = (double)(g_get_monotonic_time() - t_start_us) * 1e-6;
    return g_byte_array_append(g_byte_array_new(), (const guint8 *)answer, sizeof answer);
}

static void answer_apart(int32_t item, const GByteArray *bytes, const GError *error, void *user)
{
    Apart *a = user;
    (void)item;
    (void)error;
    if (!bytes)
        return;
    memcpy(&a->answer_s, bytes->data, sizeof a->answer_s);
    memcpy(&a->took_s, bytes->data + sizeof a->answer_s, sizeof a->took_s);
}

/* Bound of a step, computed in a child process that ends at the deadline. */
static double segment_apart_s(const RhStepModel *model, const RhMeasuredStep *step, double *took_s)
{
    Apart a = {model, step, 0, 0};
    RhProcessPool workers = {.count = 1,
                             .jobs = 1,
                             .timeout_s = fmax(1e-3, rh_deadline_left_s(model->deadline)),
                             .perform = perform_apart,
                             .answer = answer_apart,
                             .user = &a};
    rh_process_pool_run(&workers);
    *took_s = a.took_s;
    return a.answer_s;
}

double rh_step_model_segment_s(const RhStepModel *model, const RhMeasuredStep *step)
{
    if (rh_deadline_passed(model->deadline))
        return 1;
    double *took_s = &model->longest_s[step - RH_ELEMENTS(model->steps->rows, RhMeasuredStep)];
    bool quick = *took_s > 0 && *took_s < QUICK_S;
    double apart_s = model->deadline.t_end_us && !quick ? segment_apart_s(model, step, took_s) : 0;
    if (apart_s > 0 || rh_deadline_passed(model->deadline))
        return apart_s > 0 ? apart_s : 1;
    return segment_s(model, step); /* fast, without a deadline, or the child was lost */
}

double rh_step_model_peak_bytes(const RhStepModel *model, const RhMeasuredStep *step)
{
    RhStack stack;
    RhProblem c = case_of(model, step, &stack);
    return rh_train_memory(&c, &step->layout).peak_bytes;
}

bool rh_step_model_rehearse(const RhStepModel *model, const RhMeasuredStep *step, double *seconds,
                            GError **error)
{
    RhStack stack;
    RhProblem c = case_of(model, step, &stack);
    RhEngineOptions options = {0};
    if (model->deadline.t_end_us)
        options.timeout_s = fmax(1e-3, rh_deadline_left_s(model->deadline));
    g_autoptr(RhRehearsal) r = rh_rehearse(&c, &step->layout, &options, NULL, NULL, error);
    if (!r)
        return false;
    *seconds = r->step_time_s;
    return true;
}
