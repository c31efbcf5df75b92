#include "report/warnings.h"

#include <math.h>
#include <string.h>

#include "report/format.h"
#include "strategies/framework_rules.h"
#include "strategies/knobs.h"
#include "strategies/search/rehearsals/run_metrics.h"

/* Ratio of rates at which only the other 16-bit format has matrix units: it is 8 on V100 and T4, 2
 * on an MI100; devices with units for both have equal rates. */
#define OTHER_FORMAT_TIMES 2

static void watch_free(gpointer data)
{
    RhWarning *watch = data;
    g_free(watch->text);
    g_free(watch);
}

/* Adds a warning; takes `text`, NULL is none. */
static void add_warning(GPtrArray *watches, const char *kind, char *text)
{
    if (!text)
        return;
    RhWarning *watch = g_new(RhWarning, 1);
    *watch = (RhWarning){kind, text};
    g_ptr_array_add(watches, watch);
}

/* --- warnings: a sentence that the caller frees, or NULL --- */

/* Warns of a layout that the framework of the stack does not run. */
static char *refused(const RhProblem *c, const RhLayout *layout)
{
    g_autofree char *why = rh_framework_refused(c, layout);
    return why ? g_strdup_printf("simulated although the framework does not run it: %s", why)
               : NULL;
}

/* Warns of a sequence longer than the model was made for. */
static char *beyond_positions(const RhProblem *c)
{
    if (c->model->positions <= 0 || c->job.sequence <= c->model->positions)
        return NULL;
    g_autofree char *asked = rh_text_count(c->job.sequence);
    g_autofree char *named = rh_text_count(c->model->positions);
    return g_strdup_printf("sequences have %s tokens, more than the %s positions of the model",
                           asked, named);
}

/* Warns of linear layers in a 16-bit format that the device has no units for, while it has some for
 * the other. */
static char *wrong_format(const RhProblem *c)
{
    const RhDevice *d = c->platform->device;
    RhDtype asked = c->job.recipe->linear;
    RhDtype other = asked == RH_DTYPE_BF16 ? RH_DTYPE_FP16 : RH_DTYPE_BF16;
    if (rh_dtype_bytes(asked) != rh_dtype_bytes(other))
        return NULL;
    double rate = d->peak_flops_per_s[asked].value, other_rate = d->peak_flops_per_s[other].value;
    if (rate * OTHER_FORMAT_TIMES > other_rate)
        return NULL;
    g_autofree char *here = rh_text_amount(rate, "FLOP/s");
    g_autofree char *there = rh_text_amount(other_rate, "FLOP/s");
    return g_strdup_printf("%s has no matrix units for %s: %s, against %s in %s", d->name,
                           rh_dtype_name(asked), here, there, rh_dtype_name(other));
}

/* Text of a shape: "m 131,072 x n 14,336 x k 4,096", "keys 131,072". Caller frees. */
static char *shape_text(RhCalibratedKind kind, const RhKernel *kernel)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (int axis = 0; rh_calibrated_range_axis_name(kind, axis); axis++) {
        g_autofree char *at = rh_text_count(rh_calibrated_range_at(kind, kernel, axis));
        g_string_append_printf(text, "%s%s %s", axis ? " x " : "",
                               rh_calibrated_range_axis_name(kind, axis), at);
    }
    return g_string_free(g_steal_pointer(&text), FALSE);
}

/* Warns of kernels with shapes outside of the range of the device's constants, where they take much
 * of the time. */
static char *extrapolated(RhCalibratedKind kind, const RhExtrapolated *e)
{
    int axis = rh_calibrated_range_beyond(&e->shapes, kind, &e->largest);
    if (e->share_frac < RH_EXTRAPOLATED_TOLD_FRAC || axis < 0)
        return NULL;
    g_autofree char *shape = shape_text(kind, &e->largest);
    g_autofree char *low = rh_text_count(e->shapes.low[axis]);
    g_autofree char *high = rh_text_count(e->shapes.high[axis]);
    return g_strdup_printf(
        "%.0f %% of the kernels' time is extrapolated: %s of %s, while measurements cover %s %s to "
        "%s (%s)",
        100 * e->share_frac, rh_calibrated_range_kind_name(kind), shape,
        rh_calibrated_range_axis_name(kind, axis), low, high, e->shapes.source);
}

/* Warns of experts whose times are not from a table of experts, where they take much of the
 * time. */
static char *untabled(const RhServeExtrapolation *b)
{
    if (b->untabled_frac < RH_EXTRAPOLATED_TOLD_FRAC)
        return NULL;
    return g_strdup_printf("%.0f %% of the kernels' time is spent in experts, which were not "
                           "measured on %s in this format: taken from single GEMMs",
                           100 * b->untabled_frac, b->device);
}

/* Warns of requests that ended before the service was in its steady state. */
static char *unsteady(const RhServiceMetrics *o, bool found, bool drawn)
{
    if (o->requests_enough == 0 || o->overloaded)
        return NULL;
    double span_s = (double)(o->requests_count - 1) / o->offered_per_s;
    g_autofree char *count = rh_text_count(o->requests_count),
                    *span = rh_quantity_format(span_s, RH_QUANTITY_S, 3),
                    *answer = rh_quantity_format(o->answer_s, RH_QUANTITY_S, 3),
                    *enough = rh_text_count(o->requests_enough);
    return g_strdup_printf(
        "%s requests over %s, each answered within %s, are too few for a steady state%s; "
        "about %s are enough%s",
        count, span, answer,
        found ? ", so the rate is hardly tested"
              : ", so rates include the beginning and the end of the run",
        enough, drawn ? " (--count)" : "");
}

static void add_extrapolated(GPtrArray *watches, const RhProblem *c, const RhLayout *layout)
{
    RhExtrapolated beyond[RH_CALIBRATED_RANGE_LAST];
    rh_run_metrics_extrapolated(c, layout, beyond);
    for (int kind = 0; kind < RH_CALIBRATED_RANGE_LAST; kind++)
        add_warning(watches, "extrapolated", extrapolated((RhCalibratedKind)kind, &beyond[kind]));
}

/* Warns of an MFU below that of nine in ten measured steps on the device, even if the step were
 * faster by its error bar. */
static char *low_mfu(const RhRehearsal *r)
{
    const RhTypicalMfu *u = r->usual;
    if (!u || r->mfu_frac * (1 + rh_report_error_frac(r)) >= u->low_frac)
        return NULL;
    return g_strdup_printf(
        "%.1f %% MFU is low; %.0f %% of %d measured runs on %s have %.0f to %.0f %% (%s models, %s)",
        100 * r->mfu_frac, 100 * RH_RECORD_SHARE, u->steps, u->device, 100 * u->low_frac,
        100 * u->high_frac, u->kind, u->dtype);
}

/* Warns that nothing fits as surely as was asked; the odds are given elsewhere, here safer
 * layouts. */
static char *unsafe(const RhPlan *plan, const RhPlanOptions *options)
{
    if (!plan->unsafe)
        return NULL;
    const RhSmallestChange *change =
        plan->changes->len > 0 ? g_ptr_array_index(plan->changes, 0) : NULL;
    g_autofree char *text = change ? rh_report_change(change) : NULL;
    const char *with = text && !g_str_has_prefix(text, "without") ? "with " : "";
    g_autofree char *safer =
        change ? g_strdup_printf("; a layout does %s%s (%s)", with, text, change->effect)
               : g_strdup("");
    return g_strdup_printf("no layout fits as surely as --risk %.3g%% requires%s",
                           100 * options->risk_frac, safer);
}

/* Warns of a job with too many GPUs: even in the best layout they wait longer than they work. */
static char *waiting(const RhProblem *c, const RhRehearsal *r)
{
    double bubble = rh_report_bubble_frac(r), exposed = rh_report_exposed_frac(r);
    if (bubble + exposed <= 0.5)
        return NULL;
    g_autofree char *gpus = rh_text_count(c->job.gpus);
    g_autofree char *tokens = rh_text_count(c->job.global_batch * c->job.sequence);
    return g_strdup_printf(
        "GPUs wait for %.0f %% of the step, %.0f %% for other stages and %.0f %% "
        "for communication: %s %s a step are few for %s GPUs",
        100 * (bubble + exposed), 100 * bubble, 100 * exposed, tokens,
        r->pictures ? "pictures" : "tokens", gpus);
}

GPtrArray *rh_report_run_warnings(const RhQuestion *q, const RhRehearsal *r)
{
    GPtrArray *watches = g_ptr_array_new_with_free_func(watch_free);
    add_warning(watches, "framework", refused(q->c, &r->layout));
    add_warning(watches, "positions", beyond_positions(q->c));
    add_warning(watches, "format", wrong_format(q->c));
    add_extrapolated(watches, q->c, &r->layout);
    add_warning(watches, "mfu", low_mfu(r));
    return watches;
}

GPtrArray *rh_report_plan_warnings(const RhQuestion *q, const RhPlan *plan,
                                   const RhPlanOptions *options)
{
    GPtrArray *watches = g_ptr_array_new_with_free_func(watch_free);
    if (plan->entries->len == 0)
        return watches;
    const RhRehearsal *best = g_ptr_array_index(plan->entries, 0);
    add_warning(watches, "memory", unsafe(plan, options));
    add_warning(watches, "positions", beyond_positions(q->c));
    add_warning(watches, "format", wrong_format(q->c));
    add_extrapolated(watches, q->c, &best->layout);
    add_warning(watches, "mfu", low_mfu(best));
    add_warning(watches, "waiting", waiting(q->c, best));
    return watches;
}

GPtrArray *rh_report_service_warnings(const RhProblem *c, const RhServeExtrapolation *beyond,
                                      const RhServiceMetrics *outcome, bool found, bool drawn)
{
    GPtrArray *watches = g_ptr_array_new_with_free_func(watch_free);
    add_warning(watches, "format", wrong_format(c));
    for (int kind = 0; beyond && kind < RH_CALIBRATED_RANGE_LAST; kind++)
        add_warning(watches, "extrapolated",
                    extrapolated((RhCalibratedKind)kind, &beyond->kinds[kind]));
    if (beyond)
        add_warning(watches, "untabled", untabled(beyond));
    if (outcome)
        add_warning(watches, "unsteady", unsteady(outcome, found, drawn));
    return watches;
}

/* --- as text --- */

void rh_report_warnings_text(GString *out, const GPtrArray *watches)
{
    for (guint i = 0; i < watches->len; i++) {
        const RhWarning *watch = g_ptr_array_index(watches, i);
        g_autofree char *line = g_strdup_printf("warning: %s", watch->text);
        rh_text_wrap(out, line, 2, 79);
    }
}

void rh_report_warnings_markdown(GString *out, const GPtrArray *watches)
{
    for (guint i = 0; i < watches->len; i++) {
        const RhWarning *watch = g_ptr_array_index(watches, i);
        g_autofree char *text = rh_text_markdown(watch->text);
        g_string_append_printf(out, "Warning (%s): %s.\n", watch->kind, text);
    }
}
