/* Reads service levels and judges them. */
#include <math.h>
#include <string.h>

#include "accuracy/error_bar_record.h"
#include "base/error.h"
#include "base/units.h"
#include "strategies/serve/results/service_metrics.h"

static bool fail_level(const char *text, GError **error)
{
    return rh_fail(error, RH_ERROR_USAGE,
                   "\"%s\" is not a service level\nhelp: write p99<5s, p90<300ms or mean<200ms; "
                   "several with commas",
                   text);
}

/* Reads "p99", "p99.9" or "mean". */
static bool read_share(const char *word, double *share)
{
    char *end = NULL;
    if (strcmp(word, "mean") == 0) {
        *share = 0;
        return true;
    }
    if (*word != 'p' || !g_ascii_isdigit(word[1]))
        return false;
    *share = g_ascii_strtod(word + 1, &end) / 100;
    return *end == 0 && *share > 0 && *share < 1;
}

static bool read_slo(const char *text, RhSlo *slo, GError **error)
{
    const char *less = strchr(text, '<');
    if (!less)
        return fail_level(text, error);
    g_autofree char *word = g_strstrip(g_strndup(text, (gsize)(less - text)));
    g_autofree char *limit = g_strstrip(g_strdup(less + 1 + (less[1] == '=')));
    if (!read_share(word, &slo->share))
        return fail_level(text, error);
    GError *local = NULL;
    if (!rh_quantity_parse(limit, RH_QUANTITY_S, &slo->limit_s, &local)) {
        local->code = RH_ERROR_USAGE;
        g_propagate_prefixed_error(error, local, "\"%s\": ", text);
        return false;
    }
    return slo->limit_s > 0 || rh_fail(error, RH_ERROR_USAGE, "\"%s\" can never be kept", text);
}

bool rh_slos_parse(RhSlos *slos, RhMetric metric, const char *text, GError **error)
{
    g_auto(GStrv) parts = g_strsplit(text, ",", -1);
    RhSlos read = *slos;
    for (char **part = parts; *part; part++) {
        if (read.count == RH_SLOS_MAX)
            return rh_fail(error, RH_ERROR_USAGE, "more than %d service levels", RH_SLOS_MAX);
        RhSlo *slo = &read.list[read.count++];
        slo->metric = metric;
        if (!read_slo(g_strstrip(*part), slo, error))
            return false;
    }
    *slos = read;
    return parts[0] != NULL || fail_level(text, error);
}

/* Text of a limit with as few digits as represent it. */
static char *limit_text(double limit_s)
{
    double read_s = 0;
    for (int digits = 1;; digits++) {
        g_autofree char *text = rh_quantity_format(limit_s, RH_QUANTITY_S, digits);
        bool read = rh_quantity_parse(text, RH_QUANTITY_S, &read_s, NULL);
        if (digits >= 6 || (read && fabs(read_s - limit_s) <= 1e-12 * limit_s))
            return g_steal_pointer(&text);
    }
}

char *rh_slo_text(const RhSlo *slo)
{
    g_autofree char *limit = limit_text(slo->limit_s);
    if (slo->share <= 0)
        return g_strdup_printf("%s mean<%s", rh_metric_name(slo->metric), limit);
    return g_strdup_printf("%s p%.4g<%s", rh_metric_name(slo->metric), 100 * slo->share, limit);
}

/* Verdict without anything to judge by. */
static const RhSloVerdict nothing = {.measured = (double)NAN,
                                     .margin = (double)NAN,
                                     .allowed = (double)NAN,
                                     .kept = true,
                                     .kept_likely = true,
                                     .kept_allowed = true,
                                     .kept_surely = true};

/* Times of requests, or gaps, as they are and with the allowance. */
typedef struct {
    double count, done; /* including unfinished requests; those that have a time */
    double within[2];
    double sum_s[2], squares[2];
} Times;

static void add_time(Times *t, const RhSlo *slo, double x_s, double allowed_s, double count)
{
    double times_s[] = {x_s, allowed_s};
    t->count += count;
    t->done += count;
    for (int i = 0; i < 2; i++) {
        t->within[i] += times_s[i] <= slo->limit_s ? count : 0;
        t->sum_s[i] += count * times_s[i];
        t->squares[i] += count * times_s[i] * times_s[i];
    }
}

/* Half the width of a share's interval, and its unfavourable end: Wilson's (1927). */
static double share_half(double share, double count, double *bad)
{
    double z = RH_Z95;
    double half =
        z / (1 + z * z / count) * sqrt(share * (1 - share) / count + z * z / (4 * count * count));
    *bad = (share + z * z / (2 * count)) / (1 + z * z / count) - half;
    return half;
}

static RhSloVerdict judge_share(const RhSlo *slo, const Times *t)
{
    double share = t->within[0] / t->count, allowed = t->within[1] / t->count, bad, bad_allowed;
    double half = share_half(share, t->count, &bad);
    share_half(allowed, t->count, &bad_allowed);
    return (RhSloVerdict){.measured = share,
                          .margin = half,
                          .allowed = allowed,
                          .kept = share >= slo->share,
                          .kept_likely = bad >= slo->share,
                          .kept_allowed = allowed >= slo->share,
                          .kept_surely = bad_allowed >= slo->share};
}

static double mean_half_s(const Times *t, int i)
{
    double mean_s = t->sum_s[i] / t->done;
    return RH_Z95 * sqrt(fmax(0, t->squares[i] / t->done - mean_s * mean_s) / t->done);
}

/* Judges a mean. `chance`: its interval counts; means of very many gaps have none. */
static RhSloVerdict judge_mean(const RhSlo *slo, const Times *t, bool chance)
{
    double mean_s = t->sum_s[0] / t->done, allowed_s = t->sum_s[1] / t->done;
    double half_s = chance ? mean_half_s(t, 0) : 0, allowed_half_s = chance ? mean_half_s(t, 1) : 0;
    return (RhSloVerdict){.measured = mean_s,
                          .margin = half_s,
                          .allowed = allowed_s,
                          .kept = mean_s <= slo->limit_s,
                          .kept_likely = mean_s + half_s <= slo->limit_s,
                          .kept_allowed = allowed_s <= slo->limit_s,
                          .kept_surely = allowed_s + allowed_half_s <= slo->limit_s};
}

static RhSloVerdict judge_gaps(const RhSlo *slo, const RhSloAllowance *a,
                               const RhServiceResult *result)
{
    Times times = {0};
    for (int32_t bin = 0; bin < RH_GAP_BINS; bin++) {
        double gap_s = rh_gap_s(bin);
        add_time(&times, slo, gap_s, rh_upper_end(gap_s, a->tpot_frac), (double)result->gaps[bin]);
    }
    if (times.count <= 0)
        return nothing;
    return slo->share > 0 ? judge_share(slo, &times) : judge_mean(slo, &times, false);
}

/* A request's time with the allowance: that of its first token, and of the following ones. */
static double allowed_s(const RhRequestRecord *s, RhMetric metric, const RhSloAllowance *a)
{
    double x_s = rh_served_metric_s(s, metric);
    if (metric == RH_METRIC_TPOT)
        return rh_upper_end(x_s, a->tpot_frac);
    double first_s = rh_served_metric_s(s, RH_METRIC_TTFT);
    return rh_upper_end(first_s, a->ttft_frac) + rh_upper_end(x_s - first_s, a->tpot_frac);
}

RhSloVerdict rh_slo_judge(const RhSlo *slo, const RhSloAllowance *a, const RhServiceResult *result)
{
    Times times = {0};
    if (slo->metric == RH_METRIC_TBT)
        return judge_gaps(slo, a, result);
    for (guint i = 0; i < result->served->len; i++) {
        const RhRequestRecord *s = &g_array_index(result->served, RhRequestRecord, i);
        double x_s = rh_served_metric_s(s, slo->metric);
        if (s->outcome != RH_SERVED_DONE)
            times.count++;
        else if (!isnan(x_s)) /* a single token has no gap */
            add_time(&times, slo, x_s, allowed_s(s, slo->metric, a), 1);
    }
    if (times.count <= 0)
        return nothing;
    if (slo->share > 0)
        return judge_share(slo, &times);
    if (times.done <= 0)
        return (RhSloVerdict){
            .measured = (double)NAN, .margin = (double)NAN, .allowed = (double)NAN};
    return judge_mean(slo, &times, true);
}
