#pragma once
/* Figures of a service's records: what docs/theory/serving.md defines, once, for every report.
 *
 *     RhSlos slos = {0};
 *     rh_slos_parse(&slos, RH_METRIC_TTFT, "p99<5s,mean<500ms", &error);
 *     RhServiceMetrics outcome = rh_service_metrics(result, &slos);
 *     ... outcome.metrics[RH_METRIC_TTFT].p99.value, outcome.slo_met_frac ... */
#include <stdbool.h>

#include "accuracy/error_statistics.h"
#include "strategies/serve/results/request_records.h"

typedef enum {
    RH_METRIC_TTFT, /* sent until the first token */
    RH_METRIC_TPOT, /* first token until the last, over the tokens but one */
    RH_METRIC_TBT,  /* gap between two tokens of a request */
    RH_METRIC_E2E,  /* sent until the last token */
    RH_METRIC_LAST
} RhMetric;
const char *rh_metric_name(RhMetric metric);  /* "ttft" */
const char *rh_metric_about(RhMetric metric); /* "TTFT (first token)" */

/* Parts of the time to the first token, which sum to it. */
typedef enum {
    RH_TTFT_QUEUE,        /* sent (for the last time) until first scheduled */
    RH_TTFT_PREFILL,      /* iterations that worked on its prompt */
    RH_TTFT_INTERFERENCE, /* iterations that did not, once it was scheduled */
    RH_TTFT_TRANSFER,     /* keys and values on their way */
    RH_TTFT_FAILURES,     /* sent until sent again for the last time, as servers failed */
    RH_TTFT_LAST
} RhTtftPart;
const char *rh_ttft_part_name(RhTtftPart part);

/* A figure and its 95 % interval; NaN: unknown, or open on that side. */
typedef struct {
    double value, low, high;
} RhEstimate;

typedef struct {
    int64_t count; /* 0: all others are NaN */
    RhEstimate mean, p50, p90, p99;
} RhServedSpread;

/* Returns the quantile `share` of at least one value in ascending order, interpolated between the
 * nearest ranks as numpy.percentile does. */
double rh_sorted_quantile(const double *sorted, size_t count, double share);
/* `values` in the order in which they came to be. The interval of the mean is that of
 * batch means; of a quantile, that of order statistics, widened as neighbours are alike. */
RhServedSpread rh_spread(const double *values, size_t count);

/* A service level: "p99<5s" is kept when at least 99 % of the requests (of TBT: of the gaps) keep
 * below 5 s. */
typedef struct {
    RhMetric metric;
    double share; /* 0.99; 0: the mean */
    double limit_s;
} RhSlo;

/* By what times may be longer than they are said to be: to the first token, and of each further
 * one. */
typedef struct {
    double ttft_frac, tpot_frac;
    const char
        *widest_of; /* interned kind of models, of whose bars it is the widest; NULL: its own */
} RhSloAllowance;

#define RH_SLOS_MAX 16
typedef struct {
    int32_t count;
    RhSlo list[RH_SLOS_MAX];
    RhSloAllowance allowance; /* what levels are kept with, to be kept surely */
} RhSlos;

/* Appends what "p99<5s" or "p90<300ms,mean<200ms" says. RH_ERROR_USAGE; *slos is then as it was. */
bool rh_slos_parse(RhSlos *slos, RhMetric metric, const char *text,
                   GError **error) G_GNUC_WARN_UNUSED_RESULT;
char *rh_slo_text(const RhSlo *slo); /* "ttft p99<5 s"; caller frees */

/* How a level was kept. */
typedef struct {
    double measured;   /* share within the limit, or the mean, s; NaN: nothing to judge by */
    double margin;     /* 95 %: half the width of what `measured` may be */
    double allowed;    /* as `measured`, were every time longer by the allowance */
    bool kept;         /* as measured */
    bool kept_likely;  /* also at the bad end of its interval */
    bool kept_allowed; /* as measured, with the allowance */
    bool kept_surely;  /* at the bad end, with the allowance */
} RhSloVerdict;

/* Requests that were refused or left unfinished break every quantile; a mean is of those done. */
RhSloVerdict rh_slo_judge(const RhSlo *slo, const RhSloAllowance *allowance,
                          const RhServiceResult *result);

typedef struct {
    bool once; /* the model makes no tokens: figures of tokens are 0, or NaN */
    int64_t requests_count, completed_count, refused_count, unfinished_count, preempted_count;
    int64_t timed_out_count, lost_count;
    int64_t resent_count;          /* times that a request was sent again */
    int64_t tokens_in, tokens_out; /* of completed requests */
    double duration_s;             /* of the run */
    /* Rates of completed requests in the result's window. */
    bool steady;
    double window_begin_s, window_s;
    double tokens_per_s; /* generated */
    double tokens_per_s_per_gpu;
    double request_rate_per_s;
    double goodput_per_s;      /* of those that keep every limit of theirs */
    double energy_j_per_token; /* generated; NaN: unknown, or no token */
    /* All that the GPUs cost, over tokens generated, over tokens of prompts, over both; NaN: without a price, or one */
    double cost_usd_per_token, cost_usd_per_token_in, cost_usd_per_token_both;
    double energy_j_per_request, cost_usd_per_request; /* NaN: as above */
    double offered_per_s; /* requests that came, sent by clients that wait for nobody; 0: they do */
    /* Approximate number of requests for which the run would have a steady window; 0: it has one,
     * or no number would suffice. */
    int64_t requests_enough;
    double answer_s;       /* 99 % of the answers take no longer */
    double sequences_mean; /* of completed requests, that a server had at once */
    bool overloaded;       /* more came than was served, and the queue grew as long as they did */
    /* of all requests, those that keep every limit of theirs; 1 without levels */
    double slo_met_frac;
    RhServedSpread metrics[RH_METRIC_LAST];
    RhServedSpread ttft_parts[RH_TTFT_LAST];
    RhSloVerdict verdicts[RH_SLOS_MAX]; /* of the levels, in their order */
    bool slos_kept, slos_kept_allowed, slos_kept_surely;
} RhServiceMetrics;

RhServiceMetrics rh_service_metrics(const RhServiceResult *result, const RhSlos *slos);
/* Rates and costs of a service that keeps up with requests that come at a rate: those of a run
 * without a steady stretch are of its beginning and end as well. */
void rh_service_metrics_at_rate(RhServiceMetrics *metrics, double rate_per_s);
/* Returns the metrics with times and verdicts of only these requests (RhRequestRecord, some of the
 * result's). */
RhServiceMetrics rh_service_metrics_among(const RhServiceResult *result, GArray *served,
                                          const RhSlos *slos);

/* Return the metric, and the part of TTFT, of one request in seconds; NaN: it has none. TBT is its
 * longest gap. */
double rh_served_metric_s(const RhRequestRecord *served, RhMetric metric);
double rh_served_ttft_part_s(const RhRequestRecord *served, RhTtftPart part);
