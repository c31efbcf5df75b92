/* A log without its reader: its memory, and the time that most of its iterations took. */
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>

#include "validate/runs/run_log.h"

#define FEW         4    /* samples: fewer are all kept */
#define WARMUP_FRAC 0.15 /* assumed: iterations of one job differ by a few percent */
#define STALL_FRAC  0.25 /* assumed, likewise; a checkpoint or an evaluation takes seconds */

RhRunLog *rh_run_log_new(const char *name, const char *format)
{
    RhRunLog *log = g_new0(RhRunLog, 1);
    log->name = g_strdup(name);
    log->format = format;
    log->samples = g_array_new(FALSE, TRUE, sizeof(RhRunSample));
    log->rank = -1;
    return log;
}

void rh_run_log_free(RhRunLog *log)
{
    if (!log)
        return;
    g_free(log->name);
    g_array_unref(log->samples);
    g_free(log->parts);
    g_free(log);
}

/* --- the typical time --- */

static double median_of(double *values, size_t count)
{
    gsl_sort(values, 1, count);
    return gsl_stats_median_from_sorted_data(values, 1, count);
}

static double seconds_at(const GArray *samples, guint i)
{
    return g_array_index(samples, RhRunSample, i).seconds;
}

static bool is_far(double seconds, double typical, double frac)
{
    return seconds > typical * (1 + frac) || seconds < typical / (1 + frac);
}

RhRunTypical rh_run_typical(const GArray *samples)
{
    guint count = samples->len, half = count / 2, kept = 0, from = 0;
    RhRunTypical t = {.samples = (int32_t)count};
    if (count == 0)
        return t;
    g_autofree double *values = g_new(double, count);
    for (guint i = half; i < count; i++)
        values[kept++] = seconds_at(samples, i);
    double middle = median_of(values, kept);
    while (count >= FEW && from < half && is_far(seconds_at(samples, from), middle, WARMUP_FRAC))
        from++;
    kept = 0;
    for (guint i = from; i < count; i++) {
        double seconds = seconds_at(samples, i);
        if (count < FEW || !is_far(seconds, middle, STALL_FRAC))
            values[kept++] = seconds;
    }
    t.warmup = (int32_t)from;
    t.stalls = (int32_t)(count - from - kept);
    t.seconds = median_of(values, kept);
    double high = gsl_stats_quantile_from_sorted_data(values, 1, kept, 0.9),
           low = gsl_stats_quantile_from_sorted_data(values, 1, kept, 0.1);
    t.spread_frac = (high - low) / 2 / t.seconds;
    return t;
}
