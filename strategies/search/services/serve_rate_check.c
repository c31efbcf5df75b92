/* Judges whether a deployment keeps the levels at a rate, by simulating requests against it. */
#include <math.h>

#include "strategies/search/services/serve_plan.h"

#define SPAN_LEAST_S 120.0
/* duration in multiples of the longest limit; a growing queue shows by then */
#define SPAN_LIMITS 40.0
#define DRIFT_FRAC                                                                                 \
    0.1 /* fraction of the limit on the first token by which the second half may wait longer */
#define BACKLOG_FRAC                                                                               \
    0.25 /* fraction of a whole answer's time, likewise: tokens may wait where prompts do not */
#define REQUESTS_FEW 200
#define DRAWN_MOST                                                                                 \
    40000 /* requests of a further draw, by which many servers are tried at a part of the rate */
#define SEED_STEP 15485863           /* a prime, so that draws of neighbouring seeds differ */
#define Z2        3.8414588206941245 /* square of the normal quantile of a 95 % interval */

static double span_of(const RhServePlanOptions *o)
{
    double longest_s = 0;
    for (int32_t k = 0; k < o->slos.count; k++)
        longest_s = fmax(longest_s, o->slos.list[k].limit_s);
    return o->span_s > 0 ? o->span_s : fmax(SPAN_LEAST_S, SPAN_LIMITS * longest_s);
}

double rh_serve_requests_least(const RhSlos *slos)
{
    double least = 2;
    for (int32_t k = 0; k < slos->count; k++)
        if (slos->list[k].metric != RH_METRIC_TBT && slos->list[k].share > 0)
            least = fmax(least, Z2 * slos->list[k].share / (1 - slos->list[k].share));
    return ceil(least) + 1;
}

/* Number of requests that arrive in the span. */
static guint count_at(const RhRequests *requests, const RhServePlanOptions *options,
                      double rate_per_s)
{
    double few = fmax(REQUESTS_FEW, 4 * rh_serve_requests_least(&options->slos));
    return (guint)fmin(fmax(few, ceil(rate_per_s * span_of(options))), requests->list->len);
}

/* The first `count` requests, their times scaled to the rate: of drawn ones to what a draw at that
 * rate would give (their own rate differs by chance), as simulations of a service draw them. */
static RhRequests *at_rate(const RhRequests *requests, const RhServePlanOptions *options,
                           double rate_per_s, guint count)
{
    RhRequests *out = rh_requests_new(requests->format);
    double theirs = options->drawn && options->drawn->rate_per_s > 0
                        ? options->drawn->rate_per_s
                        : rh_requests_rate_per_s(requests);
    double stretch = theirs / rate_per_s;
    g_array_append_vals(out->list, requests->list->data, count);
    g_array_append_vals(out->blocks, requests->blocks->data, requests->blocks->len);
    out->block_tokens = requests->block_tokens;
    for (guint i = 0; i < count; i++)
        g_array_index(out->list, RhRequest, i).t_s *= stretch;
    return out;
}

/* Level that is missed by most; -1: none is. */
static int32_t worst_level(const RhSlos *slos, const RhServiceMetrics *o)
{
    int32_t worst = -1;
    double most = -1;
    for (int32_t k = 0; k < slos->count; k++) {
        const RhSlo *slo = &slos->list[k];
        const RhSloVerdict *v = &o->verdicts[k];
        double by = slo->share > 0 ? (slo->share - v->allowed) / (1 - slo->share)
                                   : v->allowed / slo->limit_s - 1;
        if (!v->kept_surely && by > most) {
            most = by;
            worst = k;
        }
    }
    return worst;
}

static double mean_s(const GArray *served, RhMetric metric, guint from, guint to)
{
    double sum_s = 0, count = 0;
    for (guint i = from; i < to; i++) {
        const RhRequestRecord *s = &g_array_index(served, RhRequestRecord, i);
        if (s->outcome != RH_SERVED_DONE)
            continue;
        sum_s += rh_served_metric_s(s, metric);
        count++;
    }
    return count > 0 ? sum_s / count : 0;
}

static double drift_s(const GArray *served, RhMetric metric)
{
    guint half = served->len / 2;
    return mean_s(served, metric, half, served->len) - mean_s(served, metric, 0, half);
}

/* Does the service keep up? At a rate slightly too high the queue has not grown much when the
 * requests end, but it grows: the second half waits longer than the first, by more than the random
 * drift of a stable queue. */
static bool keeps_up(const GArray *served, const RhSlos *slos, const RhServiceMetrics *o)
{
    double allowed_s = o->metrics[RH_METRIC_E2E].mean.value;
    for (int32_t k = 0; k < slos->count; k++)
        if (slos->list[k].metric == RH_METRIC_TTFT)
            allowed_s = fmin(allowed_s, slos->list[k].limit_s);
    return !(drift_s(served, RH_METRIC_TTFT) > DRIFT_FRAC * allowed_s) &&
           !(drift_s(served, RH_METRIC_E2E) > BACKLOG_FRAC * o->metrics[RH_METRIC_E2E].mean.value);
}

/* Requests that are judged: those that arrived in the steady window, if there are enough; else
 * all. */
static GArray *evaluated_requests(const RhServiceResult *result, const RhSlos *slos)
{
    g_autoptr(GArray) came = rh_served_came_within(result);
    return came->len >= rh_serve_requests_least(slos) ? g_steal_pointer(&came)
                                                      : g_array_ref(result->served);
}

/* Simulates the first `count` requests at a rate; caller frees. *slos: the levels, with their
 * allowance. */
static RhServiceResult *simulate(RhService *service, const RhRequests *requests,
                                 const RhServePlanOptions *options, double rate_per_s, guint count,
                                 RhServeEntry *entry, RhSlos *slos)
{
    const RhClient open = {0};
    g_autoptr(RhRequests) list = at_rate(requests, options, rate_per_s, count);
    RhServiceResult *result = rh_service_run(service, list, &open, NULL);
    g_return_val_if_fail(result != NULL, NULL);
    *slos = options->slos;
    slos->allowance = options->allowances[entry->deployment.pools_count > 1];
    entry->rate_per_s = rate_per_s;
    entry->kv_peak_frac = result->kv_peak_frac;
    entry->busy_frac = result->window.busy_frac;
    return result;
}

/* Simulates the requests of a span at a rate; does the service keep up? */
static bool simulate_span(RhService *service, const RhRequests *requests,
                          const RhServePlanOptions *options, double rate_per_s, RhServeEntry *entry)
{
    RhSlos slos;
    g_autoptr(RhServiceResult) result =
        simulate(service, requests, options, rate_per_s, count_at(requests, options, rate_per_s),
                 entry, &slos);
    if (!result)
        return false;
    g_autoptr(GArray) counted = evaluated_requests(result, &options->slos);
    entry->outcome = rh_service_metrics_among(result, counted, &slos);
    return keeps_up(counted, &slos, &entry->outcome);
}

/* Records what broke at this rate, if no lower rate is known to be broken. */
static void note_broken(const RhServePlanOptions *options, const RhServeEntry *tried,
                        RhServeEntry *entry)
{
    if (entry->broken_per_s > 0 && tried->rate_per_s >= entry->broken_per_s)
        return;
    entry->broken_per_s = tried->rate_per_s;
    entry->binding = worst_level(&options->slos, &tried->outcome);
    entry->cache_full = tried->outcome.preempted_count > 0;
}

bool rh_serve_keeps(RhService *service, const RhRequests *requests,
                    const RhServePlanOptions *options, double rate_per_s, RhServeEntry *entry)
{
    RhServeEntry tried = *entry;
    bool up = simulate_span(service, requests, options, rate_per_s, &tried);
    bool kept = up && tried.outcome.slos_kept_surely;
    if (kept)
        *entry = tried;
    else
        note_broken(options, &tried, entry);
    return kept;
}

RhRequests *rh_serve_draw(const RhRequests *requests, const RhServePlanOptions *options,
                          int32_t index)
{
    RhRequestsPlan plan = *options->drawn;
    plan.seed += (uint64_t)index * SEED_STEP;
    plan.deadline = (RhDeadline){0};
    plan.count = MIN(plan.count, DRAWN_MOST);
    if (!options->lengths_given)
        return rh_requests_draw(&plan);
    RhRequests *out = rh_requests_new(requests->format);
    g_array_append_vals(out->list, requests->list->data, requests->list->len);
    g_array_append_vals(out->blocks, requests->blocks->data, requests->blocks->len);
    out->block_tokens = requests->block_tokens;
    rh_requests_arrive(out, &plan);
    return out;
}

bool rh_serve_keeps_too(RhService *service, const RhRequests *requests,
                        const RhServePlanOptions *options, double rate_per_s, RhServeEntry *entry)
{
    RhServeEntry tried = *entry;
    simulate_span(service, requests, options, rate_per_s, &tried);
    if (tried.outcome.slos_kept_allowed)
        return true;
    note_broken(options, &tried, entry);
    return false;
}

bool rh_serve_settle(RhService *service, const RhRequests *requests,
                     const RhServePlanOptions *options, double rate_per_s, RhServeEntry *entry)
{
    RhServeEntry tried = *entry;
    RhSlos slos;
    g_autoptr(RhServiceResult) result =
        simulate(service, requests, options, rate_per_s, requests->list->len, &tried, &slos);
    if (!result)
        return false;
    tried.outcome = rh_service_metrics(result, &slos);
    bool kept = tried.outcome.slos_kept_surely && !tried.outcome.overloaded;
    if (!kept)
        note_broken(options, &tried, &tried);
    else if (!tried.outcome.steady)
        rh_service_metrics_at_rate(&tried.outcome, rate_per_s);
    *entry = tried;
    return kept;
}
