#include "strategies/serve/results/service_metrics.h"

#include <math.h>
#include <stdlib.h>

#include "base/garray_access.h"

#define BATCHES     20                /* of batch means: 10 to 30 (Schmeiser 1982) */
#define T95         2.093024054408263 /* Student's t, 19 degrees of freedom, 97.5 % */
#define BATCH_LEAST 10                /* fewer values per batch say nothing about correlation */

/* --- estimates --- */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double rh_sorted_quantile(const double *sorted, size_t count, double share_within)
{
    double place = share_within * (double)(count - 1);
    size_t below = (size_t)floor(place);
    double part = place - (double)below;
    return below + 1 < count ? sorted[below] + part * (sorted[below + 1] - sorted[below])
                             : sorted[count - 1];
}

/* Variance of the means of batches of consecutive values; NaN where there are too few values. With
 * `at_most` NaN the values themselves are averaged, else indicators of being at most that. */
static double batch_variance(const double *values, size_t count, double at_most)
{
    size_t size = count / BATCHES, from = count - size * BATCHES;
    double sum = 0, squares = 0;
    if (size < BATCH_LEAST)
        return (double)NAN;
    for (size_t b = 0; b < BATCHES; b++) {
        double mean = 0;
        for (size_t i = 0; i < size; i++) {
            double x = values[from + b * size + i];
            mean += (isnan(at_most) ? x : x <= at_most) / (double)size;
        }
        sum += mean;
        squares += mean * mean;
    }
    return fmax(0, squares - sum * sum / BATCHES) / (BATCHES - 1);
}

/* Mean with its interval. Where no value is below 0, as for times, the interval is not either. */
static RhEstimate estimate_mean(const double *values, size_t count)
{
    bool times = true;
    double sum = 0, squares = 0, n = (double)count;
    for (size_t i = 0; i < count; i++) {
        sum += values[i];
        times &= values[i] >= 0;
    }
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - sum / n) * (values[i] - sum / n);
    double batches = batch_variance(values, count, (double)NAN);
    double half = !isnan(batches) ? T95 * sqrt(batches / BATCHES)
                  : count > 1     ? RH_Z95 * sqrt(squares / (n - 1) / n)
                                  : (double)NAN;
    double low = sum / n - half;
    return (RhEstimate){sum / n, times && low < 0 ? 0 : low, sum / n + half};
}

/* Factor by which the variance of the share below the quantile exceeds that of independent
 * values. */
static double inflation(const double *values, size_t count, double share_within, double value)
{
    double batches = batch_variance(values, count, value);
    double size = (double)(count / BATCHES);
    return isnan(batches) ? 1 : fmax(1, batches * size / (share_within * (1 - share_within)));
}

/* Quantile with its interval. The share of the values below it is normal about `share`, which gives
 * the order statistics at the interval's ends. */
static RhEstimate estimate_quantile(const double *values, const double *sorted, size_t count,
                                    double share_within)
{
    double value = rh_sorted_quantile(sorted, count, share_within), n = (double)count;
    double wide = inflation(values, count, share_within, value);
    double half = RH_Z95 * sqrt(n * share_within * (1 - share_within) * wide);
    double low = floor(n * share_within - half) - 1, high = ceil(n * share_within + half);
    return (RhEstimate){value, low < 0 ? (double)NAN : sorted[(size_t)low],
                        high > n - 1 ? (double)NAN : sorted[(size_t)high]};
}

RhServedSpread rh_spread(const double *values, size_t count)
{
    const RhEstimate none = {(double)NAN, (double)NAN, (double)NAN};
    if (count == 0)
        return (RhServedSpread){0, none, none, none, none};
    RhServedSpread spread = {.count = (int64_t)count, .mean = estimate_mean(values, count)};
    g_autofree double *sorted = g_memdup2(values, count * sizeof *values);
    qsort(sorted, count, sizeof *sorted, ascending);
    spread.p50 = estimate_quantile(values, sorted, count, 0.5);
    spread.p90 = estimate_quantile(values, sorted, count, 0.9);
    spread.p99 = estimate_quantile(values, sorted, count, 0.99);
    return spread;
}

/* Quantile of gaps from their bins, which are narrow; the order inside of them is not known, so
 * there is no interval. */
static double gap_quantile_s(const int64_t *gaps, int64_t count, double share_within)
{
    int64_t below = 0, rank = (int64_t)ceil(share_within * (double)count);
    for (int32_t bin = 0; bin < RH_GAP_BINS; bin++) {
        below += gaps[bin];
        if (below >= rank)
            return rh_gap_s(bin);
    }
    return (double)NAN;
}

static RhServedSpread spread_of_gaps(const RhServiceResult *result)
{
    int64_t count = 0;
    double sum_s = 0;
    for (int32_t bin = 0; bin < RH_GAP_BINS; bin++) {
        count += result->gaps[bin];
        sum_s += (double)result->gaps[bin] * rh_gap_s(bin);
    }
    if (count == 0)
        return rh_spread(NULL, 0);
    return (RhServedSpread){count,
                            {sum_s / (double)count, (double)NAN, (double)NAN},
                            {gap_quantile_s(result->gaps, count, 0.5), (double)NAN, (double)NAN},
                            {gap_quantile_s(result->gaps, count, 0.9), (double)NAN, (double)NAN},
                            {gap_quantile_s(result->gaps, count, 0.99), (double)NAN, (double)NAN}};
}

/* --- times --- */

/* Spread of one number of each completed request, in order; requests without one are skipped. */
static RhServedSpread spread_of(const RhServiceResult *result,
                                double (*of)(const RhRequestRecord *, int), int what)
{
    g_autofree double *values = g_new(double, MAX(result->served->len, 1));
    size_t count = 0;
    for (guint i = 0; i < result->served->len; i++) {
        const RhRequestRecord *s = &g_array_index(result->served, RhRequestRecord, i);
        double x = s->outcome == RH_SERVED_DONE ? of(s, what) : (double)NAN;
        if (!isnan(x))
            values[count++] = x;
    }
    return rh_spread(values, count);
}

static double metric_of(const RhRequestRecord *s, int metric)
{
    return rh_served_metric_s(s, (RhMetric)metric);
}

static double part_of(const RhRequestRecord *s, int part)
{
    return rh_served_ttft_part_s(s, (RhTtftPart)part);
}

static bool keeps_all(const RhRequestRecord *s, const RhSlos *slos)
{
    if (s->outcome != RH_SERVED_DONE)
        return false;
    for (int32_t k = 0; k < slos->count; k++)
        if (rh_served_metric_s(s, slos->list[k].metric) > slos->list[k].limit_s)
            return false;
    return true;
}

static void count_requests(const RhServiceResult *result, const RhSlos *slos, RhServiceMetrics *out)
{
    int64_t met = 0;
    out->requests_count = result->served->len;
    for (guint i = 0; i < result->served->len; i++) {
        const RhRequestRecord *s = &g_array_index(result->served, RhRequestRecord, i);
        out->completed_count += s->outcome == RH_SERVED_DONE;
        out->refused_count += s->outcome == RH_SERVED_REFUSED;
        out->unfinished_count += s->outcome == RH_SERVED_UNFINISHED;
        out->timed_out_count += s->outcome == RH_SERVED_TIMED_OUT;
        out->lost_count += s->outcome == RH_SERVED_LOST;
        out->resent_count += s->resent_count;
        out->preempted_count += s->preempted_count;
        out->tokens_in += s->outcome == RH_SERVED_DONE ? s->input_tokens : 0;
        out->tokens_out += s->outcome == RH_SERVED_DONE && !out->once ? s->output_tokens : 0;
        met += keeps_all(s, slos);
    }
    out->slo_met_frac = out->requests_count ? (double)met / (double)out->requests_count : 1;
}

/* --- rates in the window --- */

/* Work done in the window for completed requests: a prompt counts when its first token was made, a
 * request by the share of its answer made in the window, so that rates of requests and of tokens
 * are of the same requests. */
typedef struct {
    double completed, met, tokens_in, tokens_out, sequence_s;
} Within;

static double overlap_s(const RhRequestRecord *s, const RhSteadyWindow *w)
{
    return fmax(0,
                fmin(s->t_end_s, w->t_begin_s + w->duration_s) - fmax(s->t_admit_s, w->t_begin_s));
}

static Within within_of(const RhServiceResult *result, const RhSlos *slos)
{
    const RhSteadyWindow *w = &result->window;
    Within in = {0};
    for (guint i = 0; i < result->served->len; i++) {
        const RhRequestRecord *s = &g_array_index(result->served, RhRequestRecord, i);
        if (s->outcome != RH_SERVED_DONE)
            continue;
        double made = rh_served_made_within(s, w), part = made / MAX(s->output_tokens, 1);
        in.completed += part;
        in.met += keeps_all(s, slos) ? part : 0;
        in.tokens_in += rh_served_window_has(w, s->t_first_s) ? s->input_tokens : 0;
        in.tokens_out += result->once ? 0 : made;
        in.sequence_s += overlap_s(s, w);
    }
    return in;
}

static double share_within(double what, double of)
{
    return of > 0 ? what / of : 0;
}

static double for_each_done(double what, double of)
{
    return of > 0 ? what / of : (double)NAN;
}

static void set_rates(const RhServiceResult *result, const RhSlos *slos, RhServiceMetrics *out)
{
    const RhSteadyWindow *w = &result->window;
    Within in = within_of(result, slos);
    double energy_j = w->energy_j > 0 ? w->energy_j : (double)NAN;
    out->steady = w->steady;
    out->window_begin_s = w->t_begin_s;
    out->window_s = w->duration_s;
    out->tokens_per_s = share_within(in.tokens_out, w->duration_s);
    out->tokens_per_s_per_gpu = share_within(in.tokens_out, w->gpu_s);
    out->request_rate_per_s = share_within(in.completed, w->duration_s);
    out->goodput_per_s = share_within(in.met, w->duration_s);
    out->sequences_mean = share_within(in.sequence_s, w->replica_s);
    out->energy_j_per_token = for_each_done(energy_j, in.tokens_out);
    out->energy_j_per_request = for_each_done(energy_j, in.completed);
    out->cost_usd_per_token = for_each_done(w->cost_usd, in.tokens_out);
    out->cost_usd_per_token_in = for_each_done(w->cost_usd, out->once ? 0 : in.tokens_in);
    out->cost_usd_per_token_both =
        for_each_done(w->cost_usd, out->once ? 0 : in.tokens_in + in.tokens_out);
    out->cost_usd_per_request = for_each_done(w->cost_usd, in.completed);
}

/* --- overload --- */

#define ANSWERS_ENOUGH  20
#define REQUESTS_ENOUGH 200 /* a window needs a hundred */
/* deviation beyond the randomness of requests that end while others arrive */
#define OVERLOAD_SIGMAS 3.0

/* Requests [from, until), in the order in which they arrived. */
typedef struct {
    guint from, until;
} Part;

static double queue_s(const GArray *served, Part part)
{
    double sum_s = 0;
    for (guint i = part.from; i < part.until; i++)
        sum_s += rh_served_ttft_part_s(&g_array_index(served, RhRequestRecord, i), RH_TTFT_QUEUE);
    return sum_s / (part.until - part.from);
}

/* Are all requests sent when clients want (an open loop)? */
static bool is_open(const RhServiceResult *result)
{
    const RhRequestRecord *before = NULL;
    for (guint i = 0; i < result->served->len; i++) {
        const RhRequestRecord *s = &g_array_index(result->served, RhRequestRecord, i);
        if (before && s->t_arrive_s < before->t_arrive_s)
            return false;
        before = s;
    }
    return result->open && !result->fails;
}

static double offered_per_s(const RhServiceResult *result)
{
    const RhRequestRecord *all = RH_ELEMENTS(result->served, RhRequestRecord);
    guint n = result->served->len;
    return n > 1 && is_open(result) ? share_within(n - 1, all[n - 1].t_arrive_s - all[0].t_arrive_s)
                                    : 0;
}

/* Rounds up to two digits. */
static int64_t round_up(double count)
{
    double unit = pow(10, floor(log10(count)) - 1);
    return (int64_t)(ceil(count / unit) * unit);
}

/* Number of requests that suffice: those that arrive in twenty times the duration of most answers,
 * so that all but a twentieth meet a service in its steady state. Where that many did arrive, twice
 * as many. */
static int64_t requests_enough(const RhServiceResult *result, const RhServiceMetrics *o)
{
    const RhSteadyWindow *w = &result->window;
    if (w->steady || o->completed_count == 0 || !(o->offered_per_s > 0) || !isfinite(w->answer_s))
        return 0;
    double enough = fmax(ANSWERS_ENOUGH * w->answer_s * o->offered_per_s, REQUESTS_ENOUGH);
    return round_up(enough > (double)o->requests_count ? enough : 2 * (double)o->requests_count);
}

/* Judges overload: while the second half of the requests arrived, fewer ended, and later ones
 * waited longer, by at least half of what a growing queue would cause. */
static void judge_load(const RhServiceResult *result, RhServiceMetrics *out)
{
    const GArray *served = result->served;
    guint n = served->len, half = n / 2;
    if (n < 8 || out->completed_count < n || !is_open(result))
        return;
    const RhRequestRecord *all = RH_ELEMENTS(served, RhRequestRecord);
    double late_s = all[n - 1].t_arrive_s - all[half].t_arrive_s, came = n - half, ended = 0;
    for (guint i = 0; i < n; i++)
        ended += all[i].t_end_s > all[half].t_arrive_s && all[i].t_end_s <= all[n - 1].t_arrive_s;
    double grown_s =
        queue_s(served, (Part){n - n / 4, n}) - queue_s(served, (Part){half - n / 4, half});
    out->overloaded = late_s > 0 && ended < came - OVERLOAD_SIGMAS * sqrt(came) &&
                      grown_s > 0.5 * late_s * (1 - ended / came);
}

/* --- all metrics --- */

static void set_times(const RhServiceResult *result, const RhSlos *slos, RhServiceMetrics *out)
{
    for (int m = 0; m < RH_METRIC_LAST; m++)
        out->metrics[m] =
            m == RH_METRIC_TBT ? spread_of_gaps(result) : spread_of(result, metric_of, m);
    for (int p = 0; p < RH_TTFT_LAST; p++)
        out->ttft_parts[p] = spread_of(result, part_of, p);
    out->slos_kept = out->slos_kept_allowed = out->slos_kept_surely = true;
    for (int32_t k = 0; k < slos->count; k++) {
        out->verdicts[k] = rh_slo_judge(&slos->list[k], &slos->allowance, result);
        out->slos_kept &= out->verdicts[k].kept;
        out->slos_kept_allowed &= out->verdicts[k].kept_allowed;
        out->slos_kept_surely &= out->verdicts[k].kept_surely;
    }
}

/* Computes metrics; times are of `timed`, which has some of the requests. */
static RhServiceMetrics outcome_of(const RhServiceResult *result, const RhServiceResult *timed,
                                   const RhSlos *slos)
{
    static const RhSlos no_slos = {0};
    RhServiceMetrics out = {.once = result->once, .duration_s = result->duration_s};
    slos = slos ? slos : &no_slos;
    count_requests(result, slos, &out);
    set_rates(result, slos, &out);
    out.offered_per_s = offered_per_s(result);
    judge_load(result, &out);
    out.requests_enough = out.overloaded ? 0 : requests_enough(result, &out);
    out.answer_s = result->window.answer_s;
    set_times(timed, slos, &out);
    return out;
}

RhServiceMetrics rh_service_metrics(const RhServiceResult *result, const RhSlos *slos)
{
    return outcome_of(result, result, slos);
}

void rh_service_metrics_at_rate(RhServiceMetrics *o, double rate_per_s)
{
    double times = share_within(rate_per_s, o->request_rate_per_s);
    if (!(times > 0))
        return;
    double *const rates[] = {&o->tokens_per_s, &o->tokens_per_s_per_gpu, &o->request_rate_per_s,
                             &o->goodput_per_s};
    double *const costs[] = {&o->cost_usd_per_token, &o->cost_usd_per_token_in,
                             &o->cost_usd_per_token_both, &o->cost_usd_per_request};
    for (size_t i = 0; i < G_N_ELEMENTS(rates); i++)
        *rates[i] *= times;
    for (size_t i = 0; i < G_N_ELEMENTS(costs); i++)
        *costs[i] /= times;
}

RhServiceMetrics rh_service_metrics_among(const RhServiceResult *result, GArray *served,
                                          const RhSlos *slos)
{
    RhServiceResult timed = *result;
    timed.served = served;
    return outcome_of(result, &timed, slos);
}
