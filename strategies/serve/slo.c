/* Service levels: reading and judging them. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/units.h"
#include "strategies/serve/outcome.h"

static bool fail(const char *text, GError **error)
{
    return rh_fail(error, RH_ERROR_USAGE,
                   "\"%s\" is no service level\nhelp: write p99<5s, p90<300ms or mean<200ms; "
                   "several with commas",
                   text);
}

/* "p99", "p99.9", "mean". */
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
        return fail(text, error);
    g_autofree char *word = g_strstrip(g_strndup(text, (gsize)(less - text)));
    g_autofree char *limit = g_strstrip(g_strdup(less + 1 + (less[1] == '=')));
    if (!read_share(word, &slo->share))
        return fail(text, error);
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
    return parts[0] != NULL || fail(text, error);
}

/* With the fewest digits that say it. */
static char *limit_text(double limit_s)
{
    double read_s = 0;
    for (int digits = 1;; digits++) {
        g_autofree char *text = rh_quantity_format(limit_s, RH_QUANTITY_S, digits);
        rh_quantity_parse(text, RH_QUANTITY_S, &read_s, NULL);
        if (digits >= 6 || fabs(read_s - limit_s) <= 1e-12 * limit_s)
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

/* So many of so many are within. A share's interval is Wilson's (1927). */
static RhSloVerdict judge_share(const RhSlo *slo, double within, double count)
{
    double share = within / count, z = RH_Z95;
    double half =
        z / (1 + z * z / count) * sqrt(share * (1 - share) / count + z * z / (4 * count * count));
    double middle = (share + z * z / (2 * count)) / (1 + z * z / count);
    return (RhSloVerdict){share, half, share >= slo->share, middle - half >= slo->share};
}

static RhSloVerdict judge_gaps(const RhSlo *slo, const RhServiceResult *result)
{
    double within = 0, count = 0, sum_s = 0;
    for (int32_t bin = 0; bin < RH_GAP_BINS; bin++) {
        double gaps = (double)result->gaps[bin], gap_s = rh_gap_s(bin);
        count += gaps;
        sum_s += gaps * gap_s;
        within += gap_s <= slo->limit_s ? gaps : 0;
    }
    if (count <= 0)
        return (RhSloVerdict){(double)NAN, (double)NAN, true, true};
    if (slo->share > 0)
        return judge_share(slo, within, count);
    return (RhSloVerdict){sum_s / count, 0, sum_s / count <= slo->limit_s,
                          sum_s / count <= slo->limit_s};
}

RhSloVerdict rh_slo_judge(const RhSlo *slo, const RhServiceResult *result)
{
    double within = 0, count = 0, sum_s = 0, squares = 0, done = 0;
    if (slo->metric == RH_METRIC_TBT)
        return judge_gaps(slo, result);
    for (guint i = 0; i < result->served->len; i++) {
        const RhServed *s = &g_array_index(result->served, RhServed, i);
        double x = rh_served_metric_s(s, slo->metric);
        bool ended = s->outcome == RH_SERVED_DONE;
        if (ended && isnan(x))
            continue; /* a single token has no gap */
        count++;
        if (!ended)
            continue;
        done++;
        within += x <= slo->limit_s;
        sum_s += x;
        squares += x * x;
    }
    if (count <= 0)
        return (RhSloVerdict){(double)NAN, (double)NAN, true, true};
    if (slo->share > 0)
        return judge_share(slo, within, count);
    if (done <= 0)
        return (RhSloVerdict){(double)NAN, (double)NAN, false, false};
    double mean_s = sum_s / done, variance = fmax(0, squares / done - mean_s * mean_s);
    double half_s = RH_Z95 * sqrt(variance / done);
    return (RhSloVerdict){mean_s, half_s, mean_s <= slo->limit_s, mean_s + half_s <= slo->limit_s};
}
