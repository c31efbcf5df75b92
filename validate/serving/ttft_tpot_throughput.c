#include "validate/serving/ttft_tpot_throughput.h"

#include "base/garray_access.h"
#include "strategies/serve/results/service_metrics.h"

void rh_served_means(const RhServiceResult *result, double *ttft_mean_s, double *tpot_mean_s)
{
    double ttft_s = 0, tpot_s = 0;
    int32_t done = 0, longer = 0;
    for (guint i = 0; i < result->served->len; i++) {
        const RhRequestRecord *s = &g_array_index(result->served, RhRequestRecord, i);
        if (s->outcome != RH_SERVED_DONE)
            continue;
        ttft_s += s->t_first_s - s->t_arrive_s;
        done++;
        if (s->output_tokens < 2)
            continue;
        tpot_s += (s->t_end_s - s->t_first_s) / (s->output_tokens - 1);
        longer++;
    }
    *ttft_mean_s = done ? ttft_s / done : 0;
    *tpot_mean_s = longer ? tpot_s / longer : 0;
}

static gint ascending(gconstpointer a, gconstpointer b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void percentiles_of(GArray *times, double *into)
{
    static const double shares[RH_CASE_PERCENTILES] = {0.5, 0.9, 0.99, 0.999};
    g_array_sort(times, ascending);
    for (int i = 0; i < RH_CASE_PERCENTILES; i++)
        into[i] = times->len > 0
                      ? rh_sorted_quantile(RH_ELEMENTS(times, double), times->len, shares[i])
                      : 0;
}

void rh_served_percentiles(const RhServiceResult *result, double *ttft_s, double *tpot_s)
{
    g_autoptr(GArray) first = g_array_new(FALSE, FALSE, sizeof(double));
    g_autoptr(GArray) each = g_array_new(FALSE, FALSE, sizeof(double));
    for (guint i = 0; i < result->served->len; i++) {
        const RhRequestRecord *s = &g_array_index(result->served, RhRequestRecord, i);
        if (s->outcome != RH_SERVED_DONE)
            continue;
        double ttft = s->t_first_s - s->t_arrive_s,
               tpot = (s->t_end_s - s->t_first_s) / MAX(s->output_tokens - 1, 1);
        g_array_append_val(first, ttft);
        if (s->output_tokens > 1)
            g_array_append_val(each, tpot);
    }
    percentiles_of(first, ttft_s);
    percentiles_of(each, tpot_s);
}

double rh_served_tokens_per_s(const RhServiceResult *result)
{
    return result->duration_s > 0 ? (double)result->tokens_out / result->duration_s : 0;
}
