#include "validate/serving/a2a_table.h"

#include <string.h>

#include "workloads/expert_routing_fanout.h"

#define NODE_GPUS 8
#define TIME_MOST 1e12 /* us */

/* Columns with a direction's time, NULL-ended: a layer waits for their sum. */
typedef struct {
    const char *op, *dtype;
    const char *times[3];
    const char *sms; /* NULL: the kernels choose */
} Way;

/* Columns of the low-latency kernels, and of the normal ones: the transfer, and before it the
 * exchange of counts. */
static const Way tables[][2] = {
    {{"dispatch", "FP8", {"dispatch_avg_t_us", NULL}, NULL},
     {"combine", "BF16", {"combine_avg_t_us", NULL}, NULL}},
    {{"dispatch", "FP8", {"dispatch_transmit_us", "dispatch_notify_us", NULL}, "dispatch_sms"},
     {"combine", "BF16", {"combine_transmit_us", "combine_notify_us", NULL}, "combine_sms"}},
};

/* A column of whole numbers up to `most`, and the case's column that holds so many times it. */
typedef struct {
    const char *name;
    RhCaseColumn column;
    int64_t most, times;
} Whole;

/* Whole numbers that both directions share. */
static const Whole shared[] = {{"node_num", RH_CASE_EP, 1 << 16, NODE_GPUS},
                               {"hidden_size", RH_CASE_HIDDEN, 1 << 24, 1},
                               {"num_token", RH_CASE_TOKENS, 1 << 30, 1},
                               {"num_topk", RH_CASE_TOPK, 1 << 20, 1},
                               {"num_experts", RH_CASE_EXPERTS, RH_ROUTING_EXPERTS_MAX, 1}};

static const Way *ways_of(const RhCsv *csv)
{
    for (size_t i = 0; i < G_N_ELEMENTS(tables); i++)
        if (rh_csv_column(csv, tables[i][0].times[0]) >= 0 &&
            rh_csv_column(csv, tables[i][1].times[0]) >= 0)
            return tables[i];
    return NULL;
}

bool rh_exchange_table_is(const RhCsv *csv)
{
    return ways_of(csv) != NULL;
}

static const char *cell(const RhCsv *csv, const RhCsvRow *cells, const char *name)
{
    int32_t column = rh_csv_column(csv, name);
    return column < 0 ? "" : cells->cells[column];
}

/* Writes a whole number as a number and as its text, for reports. */
static bool say_whole(RhCaseTable *table, const RhCsvRow *cells, const Whole *whole, RhCaseRow *row,
                      GError **error)
{
    int64_t value = 0;
    if (!rh_csv_whole(table->csv, cells, rh_csv_column(table->csv, whole->name), 1, whole->most,
                      &value, error))
        return false;
    g_autofree char *text = g_strdup_printf("%" G_GINT64_FORMAT, value * whole->times);
    row->whole[whole->column] = value * whole->times;
    row->text[whole->column] = value > 0 ? g_string_chunk_insert_const(table->texts, text) : "";
    return true;
}

static bool say_time(const RhCsv *csv, const RhCsvRow *cells, const Way *way, RhCaseRow *row,
                     GError **error)
{
    for (int i = 0; way->times[i]; i++) {
        double us = 0;
        if (!rh_csv_number(csv, cells, rh_csv_column(csv, way->times[i]), 0, TIME_MOST, &us, error))
            return false;
        row->exchange_s += 1e-6 * us;
    }
    return true;
}

static bool read_way(RhCaseTable *table, const RhCsvRow *cells, const Way *way, GError **error)
{
    const RhCsv *csv = table->csv;
    RhCaseRow row = {.file = csv->name, .line = cells->line};
    g_autofree char *source =
        g_strdup_printf("%s %s", cell(csv, cells, "framework"), cell(csv, cells, "version"));
    for (int i = 0; i < RH_CASE_COLUMNS_LAST; i++)
        row.text[i] = "";
    row.text[RH_CASE_SOURCE] = g_string_chunk_insert_const(table->texts, g_strstrip(source));
    row.text[RH_CASE_LIBRARY] = cell(csv, cells, "kernel_source");
    row.text[RH_CASE_MODE] = cell(csv, cells, "op_name");
    row.text[RH_CASE_GPU] = cell(csv, cells, "device");
    row.text[RH_CASE_OP] = way->op;
    row.text[RH_CASE_DTYPE] = way->dtype;
    for (size_t i = 0; i < G_N_ELEMENTS(shared); i++)
        if (!say_whole(table, cells, &shared[i], &row, error))
            return false;
    const Whole sms = {way->sms, RH_CASE_SMS, 1024, 1};
    if ((way->sms && !say_whole(table, cells, &sms, &row, error)) ||
        !say_time(csv, cells, way, &row, error))
        return false;
    g_array_append_val(table->rows, row);
    return true;
}

bool rh_exchange_table_read(RhCaseTable *table, GError **error)
{
    const RhCsv *csv = table->csv;
    const Way *ways = ways_of(csv);
    table->texts = g_string_chunk_new(1 << 12);
    for (guint i = 0; i < csv->rows->len; i++)
        for (int w = 0; w < 2; w++)
            if (!read_way(table, &g_array_index(csv->rows, RhCsvRow, i), &ways[w], error))
                return false;
    return true;
}
