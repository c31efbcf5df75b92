#include "strategies/serve/results/metrics_over_time.h"

#include <math.h>

#include "base/garray_access.h"
#include "strategies/serve/results/service_history.h"

static const RhRequestRecord *served_at(const RhServiceResult *result, guint i)
{
    return &g_array_index(result->served, RhRequestRecord, i);
}

/* --- intervals --- */

static gint ascending(gconstpointer a, gconstpointer b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Number of bins joined into one. */
static int32_t bins_of_time(const RhServiceHistory *h, int32_t most)
{
    return (h->bins_count + most - 1) / most;
}

/* Number of intervals. A last one that the run fills by less than half belongs to the one before,
 * as its rate would be meaningless. */
static int32_t times_of(const RhServiceHistory *h, int32_t each)
{
    double width_s = each * h->bin_s;
    int32_t count = (h->bins_count + each - 1) / each;
    return count > 1 && h->t_end_s - (count - 1) * width_s < width_s / 2 ? count - 1 : count;
}

static RhMetricsOverTime time_of(const RhServiceHistory *h, int32_t first, int32_t count)
{
    RhMetricsOverTime t = {.t_begin_s = first * h->bin_s,
                           .t_end_s = fmin((first + count) * h->bin_s, h->t_end_s)};
    double width_s = t.t_end_s - t.t_begin_s;
    for (int32_t i = first; i < first + count && i < h->bins_count; i++) {
        const RhServiceBin *bin = &h->bins[i];
        t.waiting += bin->waiting_s / width_s;
        t.running += bin->running_s / width_s;
        t.replicas += bin->there_s / width_s;
        t.cached_frac += bin->cached_s / width_s;
        t.cached_most_frac = fmax(t.cached_most_frac, bin->cached_most_frac);
    }
    t.cached_frac = t.replicas > 0 ? fmin(t.cached_frac / t.replicas, 1) : 0;
    for (int m = 0; m < RH_METRIC_LAST; m++)
        t.p50_s[m] = t.p99_s[m] = (double)NAN;
    return t;
}

static int32_t place_of(const GArray *times, double t_s)
{
    const RhMetricsOverTime *first = &g_array_index(times, RhMetricsOverTime, 0);
    return CLAMP((int32_t)(t_s / first->t_end_s), 0, (int32_t)times->len - 1);
}

static RhMetricsOverTime *time_at(const GArray *times, double t_s)
{
    return &g_array_index(times, RhMetricsOverTime, place_of(times, t_s));
}

static void count_requests(GArray *times, const RhServiceResult *result)
{
    for (guint i = 0; i < result->served->len; i++) {
        const RhRequestRecord *s = served_at(result, i);
        RhMetricsOverTime *arrived = time_at(times, s->t_arrive_s),
                          *ended = time_at(times, s->t_end_s);
        arrived->arrived_per_s += 1 / (arrived->t_end_s - arrived->t_begin_s);
        if (s->outcome == RH_SERVED_DONE)
            ended->ended_per_s += 1 / (ended->t_end_s - ended->t_begin_s);
    }
}

static double quantile_of(const GArray *sorted, double share)
{
    return sorted->len > 0 ? rh_sorted_quantile(RH_ELEMENTS(sorted, double), sorted->len, share)
                           : (double)NAN;
}

static void set_quantiles(GArray *times, const RhServiceResult *result, RhMetric metric)
{
    g_autoptr(GPtrArray) values = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
    for (guint i = 0; i < times->len; i++)
        g_ptr_array_add(values, g_array_new(FALSE, FALSE, sizeof(double)));
    for (guint i = 0; i < result->served->len; i++) {
        const RhRequestRecord *s = served_at(result, i);
        double value = s->outcome == RH_SERVED_DONE ? rh_served_metric_s(s, metric) : (double)NAN;
        if (isfinite(value))
            g_array_append_val(g_ptr_array_index(values, place_of(times, s->t_arrive_s)), value);
    }
    for (guint i = 0; i < times->len; i++) {
        GArray *of = g_ptr_array_index(values, i);
        RhMetricsOverTime *t = &g_array_index(times, RhMetricsOverTime, i);
        g_array_sort(of, ascending);
        t->p50_s[metric] = quantile_of(of, 0.5);
        t->p99_s[metric] = quantile_of(of, 0.99);
    }
}

GArray *rh_served_times(const RhServiceResult *result, int32_t most)
{
    const RhServiceHistory *h = result->history;
    GArray *times = g_array_new(FALSE, FALSE, sizeof(RhMetricsOverTime));
    bool lasted = h && h->t_end_s > 0;
    int32_t each = lasted ? bins_of_time(h, most) : 0, count = lasted ? times_of(h, each) : 0;
    for (int32_t i = 0; i < count; i++) {
        RhMetricsOverTime t =
            time_of(h, i * each, i + 1 < count ? each : MAX(h->bins_count - i * each, each));
        g_array_append_val(times, t);
    }
    if (times->len == 0)
        return times;
    count_requests(times, result);
    set_quantiles(times, result, RH_METRIC_TTFT);
    set_quantiles(times, result, RH_METRIC_TPOT);
    set_quantiles(times, result, RH_METRIC_E2E);
    return times;
}

/* --- requests --- */

GArray *rh_served_values(const RhServiceResult *result, RhMetric metric)
{
    GArray *values = g_array_new(FALSE, FALSE, sizeof(double));
    for (guint i = 0; i < result->served->len; i++) {
        const RhRequestRecord *s = served_at(result, i);
        double value = s->outcome == RH_SERVED_DONE ? rh_served_metric_s(s, metric) : (double)NAN;
        if (isfinite(value))
            g_array_append_val(values, value);
    }
    g_array_sort(values, ascending);
    return values;
}

/* Orders by slowness, then by time of sending. */
static gint slowest_first(gconstpointer a, gconstpointer b, gpointer result)
{
    int32_t i = *(const int32_t *)a, k = *(const int32_t *)b;
    double x = rh_served_metric_s(served_at(result, (guint)i), RH_METRIC_E2E),
           y = rh_served_metric_s(served_at(result, (guint)k), RH_METRIC_E2E);
    return x != y ? (x < y) - (x > y) : i - k;
}

GArray *rh_served_slowest(const RhServiceResult *result, int32_t count)
{
    GArray *slowest = g_array_new(FALSE, FALSE, sizeof(int32_t));
    for (guint i = 0; i < result->served->len; i++) {
        int32_t request = (int32_t)i;
        if (served_at(result, i)->outcome == RH_SERVED_DONE)
            g_array_append_val(slowest, request);
    }
    g_array_sort_with_data(slowest, slowest_first, (gpointer)result);
    g_array_set_size(slowest, MIN(slowest->len, (guint)count));
    return slowest;
}
