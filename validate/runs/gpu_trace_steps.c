#include "validate/runs/gpu_trace_steps.h"

#include <math.h>

#include "base/error.h"
#include "base/garray_access.h"

RhGpuTrace *rh_gpu_trace_new(void)
{
    RhGpuTrace *trace = g_new0(RhGpuTrace, 1);
    trace->spans = g_array_new(FALSE, FALSE, sizeof(RhGpuInterval));
    trace->steps = g_array_new(FALSE, FALSE, sizeof(RhGpuTraceStep));
    return trace;
}

void rh_gpu_trace_free(RhGpuTrace *trace)
{
    if (!trace)
        return;
    g_array_unref(trace->spans);
    g_array_unref(trace->steps);
    g_free(trace);
}

static const RhGpuInterval *span_at(const RhGpuTrace *trace, guint i)
{
    return &g_array_index(trace->spans, RhGpuInterval, i);
}

static RhGpuTraceStep *step_at(const RhGpuTrace *trace, guint i)
{
    return &g_array_index(trace->steps, RhGpuTraceStep, i);
}

/* --- one GPU --- */

/* The device that worked longest, and how many there are. */
static int32_t busiest(const RhGpuTrace *trace, guint *devices)
{
    g_autoptr(GHashTable) place = g_hash_table_new(NULL, NULL);
    g_autoptr(GArray) busy = g_array_new(FALSE, TRUE, sizeof(double));
    int32_t most = span_at(trace, 0)->device;
    double most_us = -1;
    for (guint i = 0; i < trace->spans->len; i++) {
        const RhGpuInterval *span = span_at(trace, i);
        gpointer key = GINT_TO_POINTER(span->device + 2);
        guint at = GPOINTER_TO_UINT(g_hash_table_lookup(place, key));
        if (at == 0) {
            g_array_set_size(busy, busy->len + 1);
            at = busy->len;
            g_hash_table_insert(place, key, GUINT_TO_POINTER(at));
        }
        double *sum = &g_array_index(busy, double, at - 1);
        *sum += span->t_end_us - span->t_us;
        if (*sum > most_us) {
            most_us = *sum;
            most = span->device;
        }
    }
    *devices = busy->len;
    return most;
}

static void keep_device(RhGpuTrace *trace, int32_t device)
{
    guint kept = 0;
    for (guint i = 0; i < trace->spans->len; i++)
        if (span_at(trace, i)->device == device)
            g_array_index(trace->spans, RhGpuInterval, kept++) = *span_at(trace, i);
    g_array_set_size(trace->spans, kept);
}

static int earlier(const void *a, const void *b)
{
    const RhGpuInterval *x = a, *y = b;
    return (x->t_us > y->t_us) - (x->t_us < y->t_us);
}

/* --- steps --- */

static int by_number(const void *a, const void *b)
{
    const RhGpuTraceStep *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

/* Joins annotations of one number, as several streams or threads have one: those of the GPU, where
 * there are any. */
static void join_steps(RhGpuTrace *trace)
{
    GArray *joined = g_array_new(FALSE, FALSE, sizeof(RhGpuTraceStep));
    bool on_gpu = false;
    for (guint i = 0; i < trace->steps->len; i++)
        on_gpu |= step_at(trace, i)->on_gpu;
    g_array_sort(trace->steps, by_number);
    for (guint i = 0; i < trace->steps->len; i++) {
        const RhGpuTraceStep *step = step_at(trace, i);
        RhGpuTraceStep *last =
            joined->len > 0 ? &g_array_index(joined, RhGpuTraceStep, joined->len - 1) : NULL;
        if (step->on_gpu != on_gpu)
            continue;
        if (last && last->number == step->number) {
            last->t_us = fmin(last->t_us, step->t_us);
            last->t_end_us = fmax(last->t_end_us, step->t_end_us);
        } else {
            g_array_append_val(joined, *step);
        }
    }
    g_array_unref(trace->steps);
    trace->steps = joined;
}

static double last_end(const RhGpuTrace *trace)
{
    double end = 0;
    for (guint i = 0; i < trace->spans->len; i++)
        end = fmax(end, span_at(trace, i)->t_end_us);
    return end;
}

/* Lets a step last until the next begins. */
static void close_steps(RhGpuTrace *trace)
{
    GArray *steps = trace->steps;
    double end = last_end(trace);
    if (steps->len == 0) {
        RhGpuTraceStep whole = {-1, span_at(trace, 0)->t_us, end, 1, true};
        g_array_append_val(steps, whole);
        return;
    }
    for (guint i = 0; i + 1 < steps->len; i++)
        step_at(trace, i)->t_end_us = step_at(trace, i + 1)->t_us;
    RhGpuTraceStep *last = step_at(trace, steps->len - 1);
    if (!last->on_gpu && steps->len > 1)
        g_array_set_size(steps, steps->len - 1);
    else if (!last->on_gpu)
        last->t_end_us = fmax(last->t_end_us, end);
}

/* --- the parts of one --- */

typedef bool Counts(RhStepPart part);

static bool computes(RhStepPart part)
{
    return part < RH_PART_COPY;
}

static bool computes_or_communicates(RhStepPart part)
{
    return part != RH_PART_COPY;
}

static bool is_any(RhStepPart part)
{
    (void)part;
    return true;
}

/* Time of the step in which a span that counts runs; spans are sorted by their beginnings. */
static double covered_us(const RhGpuTrace *trace, const RhGpuTraceStep *step, Counts *counts)
{
    double sum = 0, until = step->t_us;
    for (guint i = 0; i < trace->spans->len; i++) {
        const RhGpuInterval *span = span_at(trace, i);
        double end = fmin(span->t_end_us, step->t_end_us);
        if (span->t_us >= step->t_end_us)
            break;
        if (!counts((RhStepPart)span->part) || end <= until)
            continue;
        sum += end - fmax(span->t_us, until);
        until = end;
    }
    return sum;
}

static void fill_parts(const RhGpuTrace *trace, const RhGpuTraceStep *step, RhStepParts *out)
{
    double compute = covered_us(trace, step, computes),
           both = covered_us(trace, step, computes_or_communicates),
           all = covered_us(trace, step, is_any), length = step->t_end_us - step->t_us;
    for (guint i = 0; i < trace->spans->len; i++) {
        const RhGpuInterval *span = span_at(trace, i);
        double part = fmin(span->t_end_us, step->t_end_us) - fmax(span->t_us, step->t_us);
        if (part > 0)
            out->busy_s[span->part] += 1e-6 * part;
    }
    out->step_s = 1e-6 * length;
    out->compute_s = 1e-6 * compute;
    out->exposed_s = 1e-6 * fmax(both - compute, 0);
    out->copies_s = 1e-6 * fmax(all - both, 0);
    out->idle_s = 1e-6 * fmax(length - all, 0);
}

static const RhGpuTraceStep *median_step(const RhGpuTrace *trace, double seconds)
{
    const RhGpuTraceStep *best = step_at(trace, 0);
    for (guint i = 1; i < trace->steps->len; i++) {
        const RhGpuTraceStep *step = step_at(trace, i);
        if (fabs(1e-6 * (step->t_end_us - step->t_us) - seconds) <
            fabs(1e-6 * (best->t_end_us - best->t_us) - seconds))
            best = step;
    }
    return best;
}

static bool add_samples(const RhGpuTrace *trace, RhRunLog *log, GError **error)
{
    for (guint i = 0; i < trace->steps->len; i++) {
        const RhGpuTraceStep *step = step_at(trace, i);
        RhRunSample sample = {1e-6 * (step->t_end_us - step->t_us), step->number, step->line, 1};
        if (!(sample.seconds > 0))
            return rh_fail(error, RH_ERROR_INPUT,
                           "%s:%d:1: step %" G_GINT64_FORMAT " takes no time", log->name,
                           step->line, step->number);
        g_array_append_val(log->samples, sample);
    }
    return true;
}

bool rh_gpu_trace_settle(RhGpuTrace *trace, RhRunLog *log, GError **error)
{
    guint devices = 0;
    if (trace->spans->len == 0)
        return rh_fail(error, RH_ERROR_INPUT,
                       "%s:1:1: no kernel of a GPU is in the trace\nhelp: profile with "
                       "activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]",
                       log->name);
    log->whole_trace = trace->steps->len == 0;
    keep_device(trace, busiest(trace, &devices));
    g_array_sort(trace->spans, earlier);
    join_steps(trace);
    close_steps(trace);
    if (!add_samples(trace, log, error))
        return false;
    log->typical = rh_run_typical(log->samples);
    log->devices = (int32_t)devices;
    log->parts = g_new0(RhStepParts, 1);
    const RhGpuTraceStep *step = median_step(trace, log->typical.seconds);
    log->parts_step = step->number;
    fill_parts(trace, step, log->parts);
    return true;
}
