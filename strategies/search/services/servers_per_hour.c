#include "strategies/search/services/servers_per_hour.h"

#include <math.h>
#include <string.h>

#include "base/deadline.h"
#include "base/error.h"
#include "base/garray_access.h"
#include "base/text/csv.h"

#define HOUR_S       3600.0
#define DAY_HOURS    24
#define RATE_MOST    1e9
#define KINDS_MOST   3
#define NEAR_FRAC    1.1 /* of the least estimate: kinds with more are not planned */
#define REPLICA_ROOM (1 - 1e-9)

/* --- rates of a day --- */

static bool read_row(const RhCsv *csv, const RhCsvRow *row, int32_t hours, int32_t per_s,
                     GArray *rates, GError **error)
{
    double hour, rate;
    if (!rh_csv_number(csv, row, hours, 0, RH_DAY_S / HOUR_S, &hour, error) ||
        !rh_csv_number(csv, row, per_s, 0, RATE_MOST, &rate, error))
        return false;
    if (rates->len == 0 && hour > 0)
        return rh_csv_fail_help(csv, row, hours, "is not where the day begins",
                                "a first row from hour 0", error);
    RhDayRate *before = rates->len > 0 ? RH_AT(rates, RhDayRate, rates->len - 1) : NULL;
    if (hour * HOUR_S >= RH_DAY_S || (before && hour * HOUR_S <= before->from_s))
        return rh_csv_fail_help(csv, row, hours, "does not follow the row before it in a day",
                                "hours from 0 on, ascending, below 24", error);
    if (before)
        before->to_s = hour * HOUR_S;
    RhDayRate one = {hour * HOUR_S, RH_DAY_S, rate};
    g_array_append_val(rates, one);
    return true;
}

/* Means of the hours of a day; what comes in an hour that the trace does not reach the end of is left out, but of the
 * only day. */
static bool rates_of_trace(const char *path, const RhRequests *trace, GArray *rates, GError **error)
{
    int64_t counts[DAY_HOURS] = {0};
    double last_s = RH_AT(trace->list, RhRequest, trace->list->len - 1)->t_s;
    int64_t begun = (int64_t)(last_s / HOUR_S) + 1, whole = MAX(begun - 1, DAY_HOURS);
    if (!trace->timed || begun < DAY_HOURS)
        return rh_fail(error, RH_ERROR_INPUT,
                       "%s:1:1: no day: its requests come within %.3g hours\nhelp: a trace of 24 "
                       "hours or more, or a table hours,per_s",
                       path, trace->timed ? last_s / HOUR_S : 0);
    for (guint i = 0; i < trace->list->len; i++) {
        int64_t hour = (int64_t)(RH_AT(trace->list, RhRequest, i)->t_s / HOUR_S);
        counts[hour % DAY_HOURS] += hour < whole;
    }
    for (int64_t hour = 0; hour < DAY_HOURS; hour++) {
        double days = (double)(whole / DAY_HOURS + (hour < whole % DAY_HOURS));
        RhDayRate one = {(double)hour * HOUR_S, (double)(hour + 1) * HOUR_S,
                         (double)MAX(counts[hour], 1) / (days * HOUR_S)};
        g_array_append_val(rates, one);
    }
    return true;
}

static bool rates_of_table(const RhCsv *csv, const char *path, GArray *rates, GError **error)
{
    int32_t hours = rh_csv_column(csv, "hours"), per_s = rh_csv_column(csv, "per_s");
    double most = 0;
    for (guint i = 0; i < csv->rows->len; i++) {
        if (!read_row(csv, RH_AT(csv->rows, RhCsvRow, i), hours, per_s, rates, error))
            return false;
        most = fmax(most, RH_AT(rates, RhDayRate, i)->per_s);
    }
    return most > 0 || rh_fail(error, RH_ERROR_INPUT, "%s: no rate above 0 in it", path);
}

bool rh_day_rates_load(const char *path, GArray *rates, GError **error)
{
    g_autoptr(GError) unreadable = NULL;
    g_autoptr(RhCsv) csv = rh_csv_load(path, &unreadable);
    if (csv && rh_csv_column(csv, "hours") >= 0 && rh_csv_column(csv, "per_s") >= 0)
        return rates_of_table(csv, path, rates, error);
    if (g_error_matches(unreadable, RH_ERROR, RH_ERROR_IO)) {
        g_propagate_error(error, g_steal_pointer(&unreadable));
        return false;
    }
    g_autoptr(RhRequests) trace = rh_requests_load(path, true, NULL);
    if (trace)
        return rates_of_trace(path, trace, rates, error);
    return rh_fail(error, RH_ERROR_INPUT,
                   "%s:1:1: no rates of a day\nhelp: the columns are hours,per_s: from which hour "
                   "on how many requests come in a second; or a trace of requests",
                   path);
}

/* --- replicas over a day --- */

/* Time that the k-th replica is needed, and the gaps between, of a day that begins anew. */
static RhDayReplicas replica_day(const RhDayRate *rates, const int32_t *needed, guint count,
                                 double start_s, int32_t k)
{
    RhDayReplicas day = {0};
    guint first = 0;
    while (first < count && needed[first] >= k) /* begin where it is not needed */
        first++;
    if (first == count)
        return (RhDayReplicas){.replica_s = RH_DAY_S};
    double gap_s = 0;
    bool was_needed = false;
    for (guint i = 0; i < 2 * count; i++) { /* the first day only sets the gap before the second */
        const RhDayRate *part = &rates[(first + i) % count];
        double length_s = part->to_s - part->from_s;
        bool counts = i >= count;
        if (needed[(first + i) % count] < k) {
            gap_s = (was_needed ? 0 : gap_s) + length_s;
            was_needed = false;
            continue;
        }
        if (counts && !was_needed) {
            day.replica_s += fmin(gap_s, start_s);
            day.starts += gap_s > start_s;
        }
        day.replica_s += counts ? length_s : 0;
        was_needed = true;
    }
    return day;
}

RhDayReplicas rh_day_replicas(const RhDayRate *rates, const int32_t *needed, guint count,
                              double start_s)
{
    RhDayReplicas all = {0};
    int32_t most = 0;
    for (guint i = 0; i < count; i++)
        most = MAX(most, needed[i]);
    for (int32_t k = 1; k <= most; k++) {
        RhDayReplicas one = replica_day(rates, needed, count, start_s, k);
        all.replica_s += one.replica_s;
        all.starts += one.starts;
    }
    return all;
}

/* --- kinds --- */

void rh_serve_day_clear(RhServeDay *day)
{
    g_clear_pointer(&day->needed, g_array_unref);
}

typedef struct {
    const RhServing *serving;
    const RhRequests *requests;
    RhServePlanOptions options;
    GArray *rates;
    RhDeadline deadline;
    GArray *order; /* guint: parts of the day, the least rate first */
    RhDayServers *needed;
} Day;

static const RhDayRate *part_of(const Day *d, guint place)
{
    return RH_AT(d->rates, RhDayRate, g_array_index(d->order, guint, place));
}

static RhDayServers *needed_at(const Day *d, guint place)
{
    return &d->needed[g_array_index(d->order, guint, place)];
}

static RhDayServers servers_of(const RhDeployment *deployment)
{
    RhDayServers servers = {0};
    for (int32_t p = 0; p < deployment->pools_count; p++)
        servers.replicas[p] = deployment->pools[p].replicas;
    return servers;
}

static bool fail_late(GError **error)
{
    return rh_fail(
        error, RH_ERROR_NO_ANSWER,
        "time ran out before all rates of the day were planned\nhelp: more time, or fewer rates");
}

/* Fewest replicas that keep the levels at the rate of a place in the order; none without requests. */
static bool size_place(Day *d, const char *server, guint place, GError **error)
{
    d->options.rate_per_s = part_of(d, place)->per_s;
    *needed_at(d, place) = (RhDayServers){0};
    if (d->options.rate_per_s <= 0)
        return true;
    if (d->deadline.t_end_us)
        d->options.timeout_s = rh_deadline_left_s(d->deadline);
    if (rh_deadline_passed(d->deadline))
        return fail_late(error);
    g_autoptr(RhServePlan) plan =
        rh_serve_plan(d->serving, server, d->requests, &d->options, error);
    if (!plan)
        return false;
    if (plan->entries->len == 0 && plan->timed_out)
        return fail_late(error);
    if (plan->entries->len == 0)
        return rh_fail(error, RH_ERROR_NO_ANSWER,
                       "at %g requests a second the levels are not kept by the deployment that "
                       "keeps them at the highest rate",
                       d->options.rate_per_s);
    const RhServeEntry *best = RH_AT(plan->entries, RhServeEntry, 0);
    *needed_at(d, place) = servers_of(&best->deployment);
    return true;
}

/* Replicas of the places in between: where both ends need as many, so do all. */
static bool size_between(Day *d, const char *server, guint low, guint high, GError **error)
{
    const RhDayServers *at_low = needed_at(d, low);
    bool alike = memcmp(at_low, needed_at(d, high), sizeof *at_low) == 0;
    if (high - low < 2)
        return true;
    for (guint i = low + 1; alike && i < high; i++)
        *needed_at(d, i) = *at_low;
    guint middle = (low + high) / 2;
    return alike ||
           (size_place(d, server, middle, error) && size_between(d, server, low, middle, error) &&
            size_between(d, server, middle, high, error));
}

/* Adds the day of one pool to that of the deployment. */
static void add_pool(const Day *d, const RhService *service, int32_t pool, RhServeDay *out)
{
    guint count = d->rates->len;
    g_autofree int32_t *needed = g_new(int32_t, count);
    for (guint i = 0; i < count; i++)
        needed[i] = d->needed[i].replicas[pool];
    double start_s = rh_service_kv_budget(service, pool).start_s;
    double gpus = rh_pool_gpus(&out->deployment.pools[pool]);
    RhDayReplicas day = rh_day_replicas(RH_ELEMENTS(d->rates, RhDayRate), needed, count, start_s);
    out->start_s = fmax(out->start_s, start_s);
    out->starts += day.starts;
    out->gpu_hours += day.replica_s / HOUR_S * gpus;
    out->gpu_hours_flat += out->deployment.pools[pool].replicas * gpus * RH_DAY_S / HOUR_S;
}

static void count_tokens(const Day *d, RhServeDay *out)
{
    const GArray *list = d->requests->list;
    double input = 0, output = 0;
    for (guint i = 0; i < list->len; i++) {
        input += RH_AT(list, RhRequest, i)->input_tokens;
        output += RH_AT(list, RhRequest, i)->output_tokens;
    }
    for (guint i = 0; i < d->rates->len; i++) {
        const RhDayRate *part = RH_AT(d->rates, RhDayRate, i);
        out->requests_count += part->per_s * (part->to_s - part->from_s);
    }
    out->input_tokens_count = out->requests_count * input / MAX(list->len, 1);
    out->output_tokens_count = out->requests_count * output / MAX(list->len, 1);
}

static bool day_of_kind(Day *d, const RhServeEntry *entry, RhServeDay *out, GError **error)
{
    guint count = d->rates->len, last = count - 1;
    const RhDeployment *deployment = &entry->deployment;
    memcpy(d->options.fixed, deployment->pools, sizeof d->options.fixed);
    d->options.mode = deployment->pools_count > 1 ? RH_SERVE_DISAGGREGATED : RH_SERVE_COLOCATED;
    *needed_at(d, last) = servers_of(deployment);
    if (last > 0 && (!size_place(d, deployment->server, 0, error) ||
                     !size_between(d, deployment->server, 0, last, error)))
        return false;
    g_autoptr(RhService) service = rh_service_new(d->serving, deployment, error);
    if (!service)
        return false;
    *out = (RhServeDay){.deployment = *deployment,
                        .rates = d->rates,
                        .needed = g_array_new(FALSE, FALSE, sizeof(RhDayServers))};
    for (int32_t p = 0; p < deployment->pools_count; p++)
        add_pool(d, service, p, out);
    count_tokens(d, out);
    g_array_append_vals(out->needed, d->needed, count);
    return true;
}

/* GPU-hours if each replica kept its share of the highest rate at all rates. */
static double estimate(const RhServeEntry *entry, const GArray *rates, double peak_per_s)
{
    double sum_s = 0;
    for (int32_t p = 0; p < entry->deployment.pools_count; p++) {
        const RhPool *pool = &entry->deployment.pools[p];
        double each_per_s = peak_per_s / pool->replicas;
        for (guint i = 0; i < rates->len; i++) {
            const RhDayRate *part = RH_AT(rates, RhDayRate, i);
            sum_s += ceil(part->per_s / each_per_s * REPLICA_ROOM) * (part->to_s - part->from_s) *
                     rh_pool_gpus(pool);
        }
    }
    return sum_s / HOUR_S;
}

static int by_rate(const void *a, const void *b, void *rates)
{
    double x = RH_AT((const GArray *)rates, RhDayRate, *(const guint *)a)->per_s;
    double y = RH_AT((const GArray *)rates, RhDayRate, *(const guint *)b)->per_s;
    return x < y ? -1 : x > y ? 1 : *(const guint *)a < *(const guint *)b ? -1 : 1;
}

static bool best_day(Day *d, const RhServePlan *plan, RhServeDay *out, GError **error)
{
    double peak = part_of(d, d->rates->len - 1)->per_s, least = HUGE_VAL;
    for (guint i = 0; i < plan->entries->len; i++)
        least = fmin(least, estimate(RH_AT(plan->entries, RhServeEntry, i), d->rates, peak));
    int32_t tried = 0;
    for (guint i = 0; i < plan->entries->len && tried < KINDS_MOST; i++) {
        const RhServeEntry *entry = RH_AT(plan->entries, RhServeEntry, i);
        RhServeDay one = {0};
        if (estimate(entry, d->rates, peak) > NEAR_FRAC * least)
            continue;
        if (!day_of_kind(d, entry, &one, error)) {
            rh_serve_day_clear(out);
            return false;
        }
        tried++;
        if (out->needed && one.gpu_hours >= out->gpu_hours) {
            rh_serve_day_clear(&one);
            continue;
        }
        rh_serve_day_clear(out);
        *out = one;
    }
    return true;
}

bool rh_serve_plan_day(const RhServing *serving, const RhRequests *requests,
                       const RhServePlanOptions *options, const RhServePlan *plan, GArray *rates,
                       RhServeDay *out, GError **error)
{
    Day d = {.serving = serving,
             .requests = requests,
             .options = *options,
             .rates = rates,
             .deadline = rh_deadline_in(options->timeout_s),
             .order = g_array_new(FALSE, FALSE, sizeof(guint)),
             .needed = g_new0(RhDayServers, rates->len + 1)};
    for (guint i = 0; i < rates->len; i++)
        g_array_append_val(d.order, i);
    g_array_sort_with_data(d.order, by_rate, (void *)rates);
    *out = (RhServeDay){0};
    bool found = best_day(&d, plan, out, error);
    g_array_unref(d.order);
    g_free(d.needed);
    return found;
}
