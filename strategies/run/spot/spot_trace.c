#include "strategies/run/spot/spot_trace.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/text/csv.h"

#define TIME_MOST_S 1e12
#define NODES_MOST  1000000
#define PRICE_MOST  1e6

double rh_spot_price_sum(const RhSpotPrice *prices, int32_t count, double from_s, double to_s)
{
    double sum = 0;
    for (int32_t i = 0; i < count && (i == 0 || prices[i].t_s < to_s); i++) {
        double begin_s = i == 0 ? from_s : fmax(prices[i].t_s, from_s);
        double end_s = i + 1 < count ? fmin(prices[i + 1].t_s, to_s) : to_s;
        sum += prices[i].usd_per_gpu_hour * fmax(end_s - begin_s, 0);
    }
    return sum;
}

typedef struct {
    const RhCsv *csv;
    int32_t seconds, event, node, instances, usd; /* columns */
    GArray *events, *prices;
    GHashTable *ids;     /* name -> number, from 1 */
    GHashTable *present; /* numbers of nodes that are there */
    int32_t first, next; /* numbers of counted nodes: those in between are there */
} Reader;

/* A row that names the node. */
static bool read_event(Reader *r, const RhCsvRow *row, double t_s, GError **error)
{
    const char *word = row->cells[r->event], *name = row->cells[r->node];
    bool joins = strcmp(word, "add") == 0;
    if (!joins && strcmp(word, "remove") != 0)
        return rh_csv_fail_help(r->csv, row, r->event, "is no event", "add or remove", error);
    int32_t id = GPOINTER_TO_INT(g_hash_table_lookup(r->ids, name));
    if (id == 0) {
        id = (int32_t)g_hash_table_size(r->ids) + 1;
        g_hash_table_insert(r->ids, (char *)name, GINT_TO_POINTER(id));
    }
    if (joins == g_hash_table_contains(r->present, GINT_TO_POINTER(id)))
        return rh_csv_fail_help(r->csv, row, r->node, joins ? "is there already" : "is not there",
                                "a node is added, then removed", error);
    if (joins)
        g_hash_table_add(r->present, GINT_TO_POINTER(id));
    else
        g_hash_table_remove(r->present, GINT_TO_POINTER(id));
    RhSpotEvent one = {t_s, id, joins};
    g_array_append_val(r->events, one);
    return true;
}

/* A row that counts them. */
static bool read_count(Reader *r, const RhCsvRow *row, double t_s, GError **error)
{
    int64_t count;
    if (!rh_csv_whole(r->csv, row, r->instances, 0, NODES_MOST, &count, error))
        return false;
    for (; r->next - r->first < count; r->next++) {
        RhSpotEvent one = {t_s, r->next, true};
        g_array_append_val(r->events, one);
    }
    for (; r->next - r->first > count; r->first++) {
        RhSpotEvent one = {t_s, r->first, false};
        g_array_append_val(r->events, one);
    }
    return true;
}

/* The price that a row gives; a row that gives nothing else needs no event. */
static bool read_price(Reader *r, const RhCsvRow *row, double t_s, GError **error)
{
    RhSpotPrice one = {.t_s = t_s};
    if (r->usd < 0 || !*row->cells[r->usd])
        return true;
    if (!rh_csv_number(r->csv, row, r->usd, 0, PRICE_MOST, &one.usd_per_gpu_hour, error))
        return false;
    g_array_append_val(r->prices, one);
    return true;
}

static bool is_price_alone(const Reader *r, const RhCsvRow *row)
{
    return r->usd >= 0 && *row->cells[r->usd] &&
           !*row->cells[r->instances >= 0 ? r->instances : r->event];
}

static bool read_rows(Reader *r, GError **error)
{
    double before_s = 0;
    for (guint i = 0; i < r->csv->rows->len; i++) {
        const RhCsvRow *row = &g_array_index(r->csv->rows, RhCsvRow, i);
        double t_s;
        if (!rh_csv_number(r->csv, row, r->seconds, 0, TIME_MOST_S, &t_s, error))
            return false;
        if (t_s < before_s)
            return rh_csv_fail_help(r->csv, row, r->seconds, "is before the row in front of it",
                                    "sort the rows by time", error);
        before_s = t_s;
        if (!read_price(r, row, t_s, error))
            return false;
        if (!is_price_alone(r, row) &&
            !(r->instances >= 0 ? read_count : read_event)(r, row, t_s, error))
            return false;
    }
    return r->events->len > 0 || rh_fail(error, RH_ERROR_INPUT, "%s: no node in it", r->csv->name);
}

bool rh_spot_trace_load(const char *path, GArray *events, GArray *prices, GError **error)
{
    g_autoptr(RhCsv) csv = rh_csv_load(path, error);
    if (!csv)
        return false;
    Reader r = {.csv = csv,
                .seconds = rh_csv_column(csv, "seconds"),
                .event = rh_csv_column(csv, "event"),
                .node = rh_csv_column(csv, "node"),
                .instances = rh_csv_column(csv, "instances"),
                .usd = rh_csv_column(csv, "usd_per_gpu_hour"),
                .events = events,
                .prices = prices};
    if (r.seconds < 0 || (r.instances < 0 && (r.event < 0 || r.node < 0)))
        return rh_fail(error, RH_ERROR_INPUT,
                       "%s:1:1: no trace of nodes\nhelp: the columns are seconds,instances, or "
                       "seconds,event,node with add and remove",
                       path);
    r.ids = g_hash_table_new(g_str_hash, g_str_equal);
    r.present = g_hash_table_new(NULL, NULL);
    bool read = read_rows(&r, error);
    g_hash_table_unref(r.ids);
    g_hash_table_unref(r.present);
    return read;
}
