#include "strategies/serve/results/request_records.h"

#include <math.h>

void rh_service_result_free(RhServiceResult *result)
{
    if (!result)
        return;
    if (result->served)
        g_array_unref(result->served);
    if (result->works)
        g_array_unref(result->works);
    if (result->moves)
        g_array_unref(result->moves);
    rh_service_history_free(result->history);
    g_free(result);
}

void rh_served_read_in_vain(RhRequestRecord *served)
{
    served->lost_prompt_tokens += served->read_tokens;
    served->read_tokens = 0;
}

double rh_found_frac(const RhServiceResult *result)
{
    double prompts = (double)(result->tokens_in + result->tokens_found);
    return result->remembers && prompts > 0 ? (double)result->tokens_found / prompts : (double)NAN;
}

int64_t rh_preempted_count(const RhServiceResult *result)
{
    int64_t count = 0;
    for (guint i = 0; i < result->served->len; i++)
        count += g_array_index(result->served, RhRequestRecord, i).preempted_count;
    return count;
}

int32_t rh_gap_bin(double gap_s)
{
    if (!(gap_s > RH_GAP_LEAST_S))
        return 0;
    return (int32_t)fmin(1 + log(gap_s / RH_GAP_LEAST_S) / log(RH_GAP_RATIO), RH_GAP_BINS - 1);
}

double rh_gap_s(int32_t bin)
{
    return RH_GAP_LEAST_S * pow(RH_GAP_RATIO, bin - 0.5);
}

bool rh_served_window_has(const RhSteadyWindow *w, double t_s)
{
    return t_s >= w->t_begin_s && t_s <= w->t_begin_s + w->duration_s;
}

/* Tokens made within the window: the first one, and the others in equal gaps until the last. */
double rh_served_made_within(const RhRequestRecord *s, const RhSteadyWindow *w)
{
    double first = rh_served_window_has(w, s->t_first_s), span_s = s->t_end_s - s->t_first_s;
    if (!(span_s > 0))
        return rh_served_window_has(w, s->t_end_s) ? s->output_tokens : 0;
    double from_s = fmax(s->t_first_s, w->t_begin_s),
           until_s = fmin(s->t_end_s, w->t_begin_s + w->duration_s);
    return first + (s->output_tokens - 1) * fmax(until_s - from_s, 0) / span_s;
}

GArray *rh_served_came_within(const RhServiceResult *result)
{
    GArray *came = g_array_sized_new(FALSE, FALSE, sizeof(RhRequestRecord), result->served->len);
    for (guint i = 0; i < result->served->len; i++) {
        const RhRequestRecord *s = &g_array_index(result->served, RhRequestRecord, i);
        if (rh_served_window_has(&result->window, s->t_arrive_s))
            g_array_append_val(came, *s);
    }
    return came;
}
