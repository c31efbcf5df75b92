#include "strategies/run/failure_file.h"

#include "base/error.h"
#include "base/text/csv.h"
#include "base/units.h"
#include "strategies/run/failure_rates.h"

#define TIME_MOST_S 1e12
#define RATE_MOST   1e9
#define NODES_MOST  1000000

/* --- times of failures --- */

static bool read_component(const RhCsv *csv, const RhCsvRow *row, const RhFailureRates *rates,
                           int32_t *out, GError **error)
{
    int32_t column = rh_csv_column(csv, "component");
    *out = -1;
    if (column < 0 || !*row->cells[column])
        return true;
    *out = rh_failure_rates_find(rates, row->cells[column]);
    if (*out >= 0)
        return true;
    g_autofree char *known = rh_failure_rates_components(rates);
    return rh_csv_fail_help(csv, row, column, "is no component of the rates", known, error);
}

static bool read_times(const RhCsv *csv, const RhFailureRates *rates, GArray *trace, GError **error)
{
    int32_t column = rh_csv_column(csv, "seconds");
    double before_s = 0;
    for (guint i = 0; i < csv->rows->len; i++) {
        const RhCsvRow *row = &g_array_index(csv->rows, RhCsvRow, i);
        RhTimedFailure one;
        if (!rh_csv_number(csv, row, column, 0, TIME_MOST_S, &one.t_s, error) ||
            !read_component(csv, row, rates, &one.component, error))
            return false;
        if (one.t_s < before_s)
            return rh_csv_fail_help(csv, row, column, "is before the failure in front of it",
                                    "sort the lines by time", error);
        before_s = one.t_s;
        g_array_append_val(trace, one);
    }
    return true;
}

/* --- rates of components --- */

/* A time like "10min"; an empty cell, or no column, leaves it to the run. */
static bool read_own_time(const RhCsv *csv, const RhCsvRow *row, const char *name, RhOwnTime *out,
                          GError **error)
{
    int32_t column = rh_csv_column(csv, name);
    if (column < 0 || !*row->cells[column])
        return true;
    out->known = true;
    return (rh_quantity_parse(row->cells[column], RH_QUANTITY_S, &out->time_s, NULL) &&
            out->time_s >= 0) ||
           rh_csv_fail_help(csv, row, column, "is no time", "like 30s, 10min or 2d", error);
}

static bool read_rate(const RhCsv *csv, const RhCsvRow *row, RhFact *out, GError **error)
{
    int32_t gpus = rh_csv_column(csv, "per_gpu_hour"),
            nodes = rh_csv_column(csv, "per_1000_node_days");
    int32_t column = gpus >= 0 ? gpus : nodes;
    double rate;
    if (!rh_csv_number(csv, row, column, 0, RATE_MOST, &rate, error))
        return false;
    *out = (RhFact){.value = gpus >= 0 ? rate : rh_failure_rate_of_node_days(rate),
                    .tag = RH_TAG_NONE,
                    .source = g_intern_string(csv->name)};
    return rate > 0 || rh_csv_fail_help(csv, row, column, "is no rate",
                                        "more than 0; or leave the row out", error);
}

static bool read_row(const RhCsv *csv, const RhCsvRow *row, RhFailureRates *out, GError **error)
{
    int32_t name = rh_csv_column(csv, "component");
    if (out->components_count == RH_FAILURE_COMPONENTS_MAX)
        return rh_csv_fail_help(csv, row, name, "is one component too many", "16 are possible",
                                error);
    RhFailureComponent *c = &out->components[out->components_count];
    int64_t nodes;
    if (rh_failure_rates_find(out, row->cells[name]) >= 0)
        return rh_csv_fail_help(csv, row, name, "stands twice", "a row for each component", error);
    if (!read_rate(csv, row, &c->per_gpu_hour, error) ||
        !rh_csv_whole(csv, row, rh_csv_column(csv, "nodes"), 0, NODES_MOST, &nodes, error) ||
        !read_own_time(csv, row, "detection", &c->detection, error) ||
        !read_own_time(csv, row, "diagnosis", &c->diagnosis, error) ||
        !read_own_time(csv, row, "repair", &c->repair, error))
        return false;
    c->name = g_intern_string(row->cells[name]);
    c->nodes_away = (int32_t)nodes;
    out->components_count++;
    return true;
}

static bool read_rates(const RhCsv *csv, RhFailureRates *rates, GError **error)
{
    RhFailureRates out = {.name = g_intern_string(csv->name), .about = g_intern_string(csv->name)};
    for (guint i = 0; i < csv->rows->len; i++)
        if (!read_row(csv, &g_array_index(csv->rows, RhCsvRow, i), &out, error))
            return false;
    *rates = out;
    return true;
}

bool rh_failure_file_load(const char *path, RhFailureRates *rates, GArray *trace, GError **error)
{
    g_autoptr(RhCsv) csv = rh_csv_load(path, error);
    if (!csv)
        return false;
    bool times = rh_csv_column(csv, "seconds") >= 0;
    bool often =
        rh_csv_column(csv, "component") >= 0 &&
        (rh_csv_column(csv, "per_gpu_hour") >= 0 || rh_csv_column(csv, "per_1000_node_days") >= 0);
    if ((!times && !often) || csv->rows->len == 0)
        return rh_fail(error, RH_ERROR_INPUT,
                       "%s:1:1: %s\nhelp: the first line names the columns: seconds, and then the "
                       "time of a failure a line; or component,per_1000_node_days,nodes,detection,"
                       "diagnosis,repair",
                       path,
                       times || often ? "no failure in it" : "neither times of failures nor rates");
    return times ? read_times(csv, rates, trace, error) : read_rates(csv, rates, error);
}
