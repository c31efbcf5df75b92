#include "validate/serving/served_means.h"

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

double rh_served_tokens_per_s(const RhServiceResult *result)
{
    return result->duration_s > 0 ? (double)result->tokens_out / result->duration_s : 0;
}
