#include "calibrate/stacks/step_time_causes.h"

#include <math.h>
#include <string.h>

#include "base/deadline.h"
#include "base/error.h"
#include "base/interned_strings.h"
#include "base/json/json.h"
#include "strategies/search/rehearsals/rehearse.h"

#define CLOSE_FRAC 2e-4 /* of the measured time: closer than any clock of a log */
#define TRIES_MOST 24
#define MOST_FRAC  1.0 /* of the data sheet's rate, that a clock or a memory sustains */

/* How far each cause may go, slower and quicker. */
static const struct {
    const char *name;
    double slowest, quickest;
} limits[RH_CAUSE_CAUSES] = {
    [RH_CAUSE_KERNELS] = {"kernels", 0.05, 4},
    [RH_CAUSE_LINKS] = {"communication", 0.01, 100},
    [RH_CAUSE_WAITING] = {"waiting", 0.02, 1},
    [RH_CAUSE_HOST] = {"host", 5e-3, 0}, /* seconds after each kernel */
};

typedef struct {
    const RhMeasuredRunQuestion *q;
    RhDeadline deadline;
    RhMeasuredCause cause;
    int32_t done;
} Trial;

const char *rh_measured_cause_name(RhMeasuredCause cause)
{
    return limits[cause].name;
}

/* --- a changed world --- */

static double scaled_frac(double frac, double scale)
{
    return fmin(MOST_FRAC, frac * scale);
}

static void scale_kernels(RhPlatform *p, double scale)
{
    RhDeviceCurves *curves = &p->device->curves;
    curves->sustained_clock_frac.value = scaled_frac(curves->sustained_clock_frac.value, scale);
    curves->memory_peak_frac.value = scaled_frac(curves->memory_peak_frac.value, scale);
    rh_device_refresh(p->device);
}

static void scale_links(RhPlatform *p, double scale)
{
    RhFact *rates[] = {&p->nvlink_bytes_per_s, &p->nic_bytes_per_s, &p->island_bytes_per_s,
                       &p->torus_bytes_per_s, &p->dragonfly_bytes_per_s};
    for (size_t i = 0; i < G_N_ELEMENTS(rates); i++)
        rates[i]->value *= scale;
}

static void change(RhMeasuredCause cause, double value, RhPlatform *hardware, RhStack *stack)
{
    if (cause == RH_CAUSE_KERNELS)
        scale_kernels(hardware, value);
    else if (cause == RH_CAUSE_LINKS)
        scale_links(hardware, value);
    else if (cause == RH_CAUSE_WAITING)
        rh_platform_gpu_slow(hardware, 0, value);
    else
        stack->kernel_gap_s.value = value;
}

/* The step with one cause at this value, or with all at their limits where `t` is of RH_CAUSE_CAUSES. */
static bool step_of(Trial *t, double value, double *step_s, GError **error)
{
    const RhMeasuredRunQuestion *q = t->q;
    RhProblem c = *q->c;
    RhStack stack = *c.stack;
    g_autoptr(RhPlatform) hardware = rh_platform_copy(q->hardware);
    for (int i = 0; i < RH_CAUSE_CAUSES; i++)
        if (t->cause == RH_CAUSE_CAUSES)
            change((RhMeasuredCause)i, value < 1 ? limits[i].slowest : limits[i].quickest, hardware,
                   &stack);
        else if (t->cause == (RhMeasuredCause)i)
            change(t->cause, value, hardware, &stack);
    g_autoptr(RhPlatform) view = rh_stack_platform(&stack, hardware);
    c.platform = view;
    c.stack = &stack;
    double left_s = rh_deadline_left_s(t->deadline);
    RhEngineOptions options = {.timeout_s = isfinite(left_s) ? fmax(left_s, 1e-3) : 0};
    if (q->progress)
        q->progress("rehearsing again", ++t->done, 0, NULL);
    g_autoptr(RhRehearsal) r = rh_rehearse(&c, q->layout, &options, NULL, NULL, error);
    if (r)
        *step_s = r->step_time_s;
    return r != NULL;
}

/* --- the search --- */

/* The middle of two values: of factors their geometric mean, of seconds the arithmetic one. */
static double middle(RhMeasuredCause cause, double a, double b)
{
    return cause == RH_CAUSE_HOST ? (a + b) / 2 : sqrt(a * b);
}

/* Finds the value between `from`, whose step is too near the prediction, and `to`, whose step is
 * beyond the measured time. */
static bool close_in(Trial *t, double from, double to, double *value, GError **error)
{
    double measured = t->q->measured_s;
    bool slower = measured > 0;
    double from_s = 0, step_s = 0;
    if (!step_of(t, from, &from_s, error))
        return false;
    slower = from_s < measured;
    for (int i = 0; i < TRIES_MOST; i++) {
        *value = middle(t->cause, from, to);
        if (!step_of(t, *value, &step_s, error))
            return false;
        if (fabs(step_s / measured - 1) < CLOSE_FRAC)
            return true;
        if ((step_s < measured) == slower)
            from = *value;
        else
            to = *value;
    }
    return true;
}

static double now_of(const Trial *t)
{
    return t->cause == RH_CAUSE_HOST ? t->q->c->stack->kernel_gap_s.value : 1;
}

static bool explain_cause(Trial *t, double predicted_s, RhMeasuredCauseAnswer *out, GError **error)
{
    bool slower = t->q->measured_s > predicted_s;
    double end = slower ? limits[t->cause].slowest : limits[t->cause].quickest, reached_s = 0;
    out->now = out->value = now_of(t);
    if (fabs(t->q->measured_s / predicted_s - 1) < CLOSE_FRAC) {
        out->explains = true;
        return true;
    }
    if (!step_of(t, end, &reached_s, error))
        return false;
    out->reached_s = reached_s;
    out->explains = slower ? reached_s >= t->q->measured_s : reached_s <= t->q->measured_s;
    return !out->explains || close_in(t, out->now, end, &out->value, error);
}

/* Sum of the terms of a step whose names hold one of these words. */
static double terms_s(const RhCost *costs, const char *const *words)
{
    double sum = 0;
    for (guint i = 0; costs && i < costs->children->len; i++) {
        const RhCost *term = costs->children->pdata[i];
        for (const char *const *word = words; *word; word++)
            if (strstr(term->name, *word)) {
                sum += term->value_s;
                break;
            }
    }
    return sum;
}

static void fill_shares(const RhRehearsal *r, RhMeasuredRun *out)
{
    static const char *const compute[] = {"compute", NULL}, *const exposed[] = {"exposed", NULL},
                             *const waiting[] = {"waiting", NULL};
    out->causes[RH_CAUSE_KERNELS].share_s = terms_s(r->costs, compute);
    out->causes[RH_CAUSE_LINKS].share_s = terms_s(r->costs, exposed);
    out->causes[RH_CAUSE_WAITING].share_s = terms_s(r->costs, waiting);
}

/* Waiting is a consequence: there is no constant that would make it less. What would is bounded by
 * what it takes now. */
static void explain_less_waiting(RhMeasuredRun *out)
{
    RhMeasuredCauseAnswer *w = &out->causes[RH_CAUSE_WAITING];
    double less_s = out->predicted_s - out->measured_s;
    if (less_s <= 0 || w->share_s <= 0)
        return;
    w->explains = less_s <= w->share_s;
    w->value = w->explains ? 1 - less_s / w->share_s : 0;
    w->reached_s = out->predicted_s - w->share_s;
}

bool rh_measured_run_explained(const RhMeasuredRun *run)
{
    bool any = false;
    for (int i = 0; i < RH_CAUSE_CAUSES; i++)
        any |= run->causes[i].explains;
    return any;
}

bool rh_measured_run_explain(const RhMeasuredRunQuestion *q, RhMeasuredRun *out, GError **error)
{
    Trial t = {.q = q, .deadline = rh_deadline_in(q->timeout_s)};
    RhEngineOptions options = {.timeout_s = q->timeout_s};
    RhMeasuredRun run = {.measured_s = q->measured_s,
                         .stack = rh_intern(q->c->stack->name),
                         .model = rh_intern(q->c->model->name)};
    if (q->hardware->others->len > 0)
        return rh_fail(error, RH_ERROR_INPUT,
                       "%s has several kinds of devices: one run does not tell them apart",
                       q->hardware->name);
    g_autoptr(RhRehearsal) r = rh_rehearse(q->c, q->layout, &options, NULL, NULL, error);
    if (!r)
        return false;
    run.predicted_s = r->step_time_s;
    for (int cause = 0; cause < RH_CAUSE_CAUSES; cause++) {
        t.cause = (RhMeasuredCause)cause;
        if (!explain_cause(&t, run.predicted_s, &run.causes[cause], error))
            return false;
    }
    fill_shares(r, &run);
    explain_less_waiting(&run);
    t.cause = RH_CAUSE_CAUSES;
    if (!rh_measured_run_explained(&run) &&
        !step_of(&t, run.measured_s > run.predicted_s ? 0 : 1, &run.together_s, error))
        return false;
    const RhDeviceCurves *curves = &q->hardware->device->curves;
    const RhMeasuredCauseAnswer *kernels = &run.causes[RH_CAUSE_KERNELS];
    run.by_kernels = q->kernels_s > 0 && q->predicted_kernels_s > 0;
    run.scale = run.by_kernels      ? q->predicted_kernels_s / q->kernels_s
                : kernels->explains ? kernels->value
                                    : 0;
    run.clock_frac = scaled_frac(curves->sustained_clock_frac.value, run.scale);
    run.memory_frac = scaled_frac(curves->memory_peak_frac.value, run.scale);
    *out = run;
    return true;
}

/* --- the profile --- */

static void put_fact(RhJsonWriter *w, const char *key, double value, const char *source,
                     const char *date)
{
    rh_json_begin_object(w, key);
    rh_json_put_number(w, "value", value);
    rh_json_put_string(w, "tag", "fitted");
    rh_json_put_string(w, "source", source);
    rh_json_put_string(w, "date", date);
    rh_json_end_object(w);
}

/* Writes what each cause would have to be, for programs that read the profile. */
static void put_causes(RhJsonWriter *w, const RhMeasuredRun *run)
{
    rh_json_begin_object(w, "fit");
    rh_json_begin_array(w, "causes");
    for (int i = 0; i < RH_CAUSE_CAUSES; i++) {
        const RhMeasuredCauseAnswer *c = &run->causes[i];
        rh_json_begin_object(w, NULL);
        rh_json_put_string(w, "name", limits[i].name);
        rh_json_put_bool(w, "explains", c->explains);
        rh_json_put_number(w, "now", c->now);
        if (c->explains)
            rh_json_put_number(w, "value", c->value);
        else
            rh_json_put_number(w, "reached_s", c->reached_s);
        rh_json_end_object(w);
    }
    rh_json_end_array(w);
    rh_json_end_object(w);
}

char *rh_measured_run_profile(const RhMeasuredRun *run, const RhPlatform *hardware,
                              const char *source, const char *date)
{
    if (run->scale <= 0)
        return NULL;
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
    g_autofree char *about = g_strdup_printf(
        "one scale of the kernels' rates, %.4g, by %s of %.6g s: %s", run->scale,
        run->by_kernels ? "the kernels in a step" : "a step", run->measured_s, source);
    rh_json_begin_object(w, NULL);
    rh_json_put_string(w, "schema", "rehearse.profile/1");
    rh_json_put_string(w, "platform", hardware->name);
    rh_json_put_string(w, "device", hardware->device->name);
    rh_json_put_string(w, "about", about);
    rh_json_begin_object(w, "run");
    rh_json_put_string(w, "stack", run->stack);
    rh_json_put_string(w, "model", run->model);
    rh_json_put_number(w, "measured_s", run->measured_s);
    rh_json_put_number(w, "predicted_s", run->predicted_s);
    rh_json_end_object(w);
    put_causes(w, run);
    rh_json_begin_object(w, "facts");
    put_fact(w, "device.sustained_clock", run->clock_frac, about, date);
    put_fact(w, "device.memory", run->memory_frac, about, date);
    rh_json_end_object(w);
    rh_json_end_object(w);
    return rh_json_writer_steal(w);
}
