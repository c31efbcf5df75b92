/* Times of one request: what each is called, and its value. */
#include <math.h>

#include "strategies/serve/results/service_metrics.h"

const char *rh_metric_name(RhMetric metric)
{
    static const char *const names[] = {"ttft", "tpot", "tbt", "e2e"};
    return names[metric];
}

const char *rh_metric_about(RhMetric metric)
{
    static const char *const abouts[] = {"TTFT (first token)", "TPOT (per token)",
                                         "ITL (token gaps)", "E2E (last token)"};
    return abouts[metric];
}

const char *rh_ttft_part_name(RhTtftPart part)
{
    static const char *const names[] = {"queue", "prefill", "interference", "transfer", "failures"};
    return names[part];
}

double rh_served_metric_s(const RhRequestRecord *s, RhMetric metric)
{
    switch (metric) {
    case RH_METRIC_TTFT:
        return s->t_first_s - s->t_arrive_s;
    case RH_METRIC_TPOT:
        return s->output_tokens > 1 ? (s->t_end_s - s->t_first_s) / (s->output_tokens - 1)
                                    : (double)NAN;
    case RH_METRIC_TBT:
        return s->output_tokens > 1 ? s->tbt_max_s : (double)NAN;
    case RH_METRIC_E2E:
        return s->t_end_s - s->t_arrive_s;
    case RH_METRIC_LAST:
        break;
    }
    g_return_val_if_reached((double)NAN);
}

double rh_served_ttft_part_s(const RhRequestRecord *s, RhTtftPart part)
{
    switch (part) {
    case RH_TTFT_QUEUE:
        return s->t_admit_s - s->t_arrive_s - s->t_lost_s + s->t_slot_s;
    case RH_TTFT_PREFILL:
        return s->t_first_s - s->t_admit_s - s->t_stall_s - s->t_transfer_s - s->t_slot_s;
    case RH_TTFT_INTERFERENCE:
        return s->t_stall_s;
    case RH_TTFT_TRANSFER:
        return s->t_transfer_s;
    case RH_TTFT_FAILURES:
        return s->t_lost_s;
    case RH_TTFT_LAST:
        break;
    }
    g_return_val_if_reached((double)NAN);
}
