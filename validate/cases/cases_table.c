#include "validate/cases/cases_table.h"

#include <string.h>

#include "base/catalogue_folders.h"
#include "base/error.h"
#include "base/text/nearest_names.h"
#include "base/units.h"
#include "validate/serving/a2a_table.h"
#include "validate/serving/mlperf_table.h"
#include "workloads/expert_routing_fanout.h"

#define STEP_MOST_S 1e7
#define TFLOPS_MOST 1e6

/* Whole numbers; `most` is far above real values, and far below overflow. */
static const struct {
    RhCaseColumn column;
    int64_t most;
} wholes[] = {{RH_CASE_LAYERS, 1 << 16},
              {RH_CASE_HIDDEN, 1 << 24},
              {RH_CASE_HEADS, 1 << 16},
              {RH_CASE_KV_HEADS, 1 << 16},
              {RH_CASE_FFN, 1 << 24},
              {RH_CASE_VOCAB, 1 << 24},
              {RH_CASE_SEQ, 1 << 30},
              {RH_CASE_GPUS, 1 << 20},
              {RH_CASE_TP, 1 << 20},
              {RH_CASE_PP, 1 << 20},
              {RH_CASE_DP, 1 << 20},
              {RH_CASE_CP, 1 << 20},
              {RH_CASE_TOKENS, 1 << 30},
              {RH_CASE_TOPK, 1 << 20},
              {RH_CASE_EXPERTS, RH_ROUTING_EXPERTS_MAX},
              {RH_CASE_EP, 1 << 20},
              {RH_CASE_SMS, 1024},
              {RH_CASE_MICROBATCH, 1 << 20},
              {RH_CASE_GLOBAL_BATCH, 1 << 30}};

static bool check_header(const RhCsv *csv, RhCaseKind kind, GError **error)
{
    static const RhCaseColumn needed[4][5] = {
        {RH_CASE_MODEL, RH_CASE_GPU, RH_CASE_GPUS, RH_CASE_SEQ, RH_CASE_GLOBAL_BATCH},
        {RH_CASE_MODEL, RH_CASE_GPU, RH_CASE_ISL, RH_CASE_OSL, RH_CASE_AT_ONCE},
        {RH_CASE_MODEL, RH_CASE_GPU, RH_CASE_TP, RH_CASE_PRECISION, RH_CASE_NOTE},
        {RH_CASE_LIBRARY, RH_CASE_OP, RH_CASE_GPU, RH_CASE_EP, RH_CASE_TOKENS}};
    static const char *const about[4] = {
        "a table of training runs: no column \"%s\"\n"
        "note: model, gpu, gpus, seq, global_batch and what was measured",
        "a table of serving runs: no column \"%s\"\n"
        "note: model, gpu, isl, osl, batch_or_concurrency and what was measured",
        "a table of servers' caches: no column \"%s\"\n"
        "note: model, gpu, tp, precision, note (the server) and kv_tokens or kv_gib",
        "a table of exchanges between experts: no column \"%s\"\n"
        "note: library, op, gpu, ep, tokens_per_gpu and latency_us or bandwidth_GBps"};
    const RhCsvRow *header = &csv->header;
    for (int32_t i = 0; header->cells[i]; i++) {
        if (rh_case_column_by_name(header->cells[i]) != RH_CASE_COLUMNS_LAST)
            continue;
        if (rh_csv_column(csv, "layout") >= 0 && rh_csv_column(csv, "step_s") >= 0)
            return rh_fail(error, RH_ERROR_INPUT,
                           "%s:%d: a table of steps, whose layouts are in one column\n"
                           "help: `rehearse calibrate --stack NAME --from %s` reads it; here tp, "
                           "pp, ... and measured_iteration_s are columns; one run of yours is "
                           "taken by `rehearse calibrate --run-was 73s plan.json#1`",
                           csv->name, header->line, csv->name);
        const char *near = rh_near_name(header->cells[i], rh_case_column_names());
        rh_fail(error, RH_ERROR_INPUT, "%s:%d:%d: unknown column \"%.60s\"%s%s", csv->name,
                header->lines[i], header->columns[i], header->cells[i],
                near ? "\nhelp: a column with a similar name exists: " : "", near ? near : "");
        return false;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(needed[kind]); i++) {
        const char *name = rh_case_column_name(needed[kind][i]);
        if (rh_csv_column(csv, name) >= 0)
            continue;
        g_auto(GStrv) says = g_strsplit(about[kind], "%s", 2);
        return rh_fail(error, RH_ERROR_INPUT, "%s:%d: not the header of %s%s%s", csv->name,
                       header->line, says[0], name, says[1]);
    }
    return true;
}

/* Reads a degree. Tables of serving also have degrees in words ("8 (node)"), and 0 where a server
 * has no such ranks: other texts count as not given. */
static int64_t whole_or_words(const char *text, int64_t most)
{
    char *end;
    gint64 value = g_ascii_strtoll(text, &end, 10);
    return *end || value < 0 || value > most ? 0 : value;
}

static bool read_percentiles(const RhCsv *csv, const int32_t *at, const RhCsvRow *cells,
                             RhCaseColumn first, double *seconds, GError **error)
{
    for (int i = 0; i < RH_CASE_PERCENTILES; i++) {
        if (!rh_csv_number(csv, cells, at[first + i], 1e-9, 1e12, &seconds[i], error))
            return false;
        seconds[i] *= 1e-3;
    }
    return true;
}

static bool read_row(const RhCsv *csv, const int32_t *at, const RhCsvRow *cells, bool serving,
                     RhCaseRow *row, GError **error)
{
    row->file = csv->name;
    row->line = cells->line;
    for (int i = 0; i < RH_CASE_COLUMNS_LAST; i++)
        row->text[i] = at[i] < 0 ? "" : g_strstrip(cells->cells[at[i]]);
    for (size_t i = 0; i < G_N_ELEMENTS(wholes); i++) {
        RhCaseColumn c = wholes[i].column;
        if (serving)
            row->whole[c] = whole_or_words(row->text[c], wholes[i].most);
        else if (!rh_csv_whole(csv, cells, at[c], 1, wholes[i].most, &row->whole[c], error))
            return false;
    }
    double unused, ttft_ms, tpot_ms, ttft_limit_ms, tpot_limit_ms, gib, us, gb_per_s;
    if (!rh_csv_number(csv, cells, at[RH_CASE_RPS], 0, 1e9, &row->rps, error) ||
        !rh_csv_number(csv, cells, at[RH_CASE_THROUGHPUT], 1e-9, 1e12, &row->tokens_per_s, error) ||
        !rh_csv_number(csv, cells, at[RH_CASE_TTFT_MS], 1e-9, 1e12, &ttft_ms, error) ||
        !rh_csv_number(csv, cells, at[RH_CASE_TPOT_MS], 1e-9, 1e12, &tpot_ms, error) ||
        !rh_csv_number(csv, cells, at[RH_CASE_TTFT_LIMIT_MS], 0, 1e12, &ttft_limit_ms, error) ||
        !rh_csv_number(csv, cells, at[RH_CASE_TPOT_LIMIT_MS], 0, 1e12, &tpot_limit_ms, error) ||
        !rh_csv_number(csv, cells, at[RH_CASE_KV_TOKENS], 1, 1e15, &row->cache_tokens, error) ||
        !rh_csv_number(csv, cells, at[RH_CASE_KV_GIB], 1e-3, 1e9, &gib, error) ||
        !rh_csv_number(csv, cells, at[RH_CASE_LATENCY_US], 1e-3, 1e12, &us, error) ||
        !rh_csv_number(csv, cells, at[RH_CASE_BANDWIDTH], 1e-6, 1e9, &gb_per_s, error))
        return false;
    row->exchange_s = 1e-6 * us;
    row->exchange_bytes_per_s = 1e9 * gb_per_s;
    row->cache_bytes = RH_GIB_BYTES * gib;
    row->ttft_s = 1e-3 * ttft_ms;
    row->tpot_s = 1e-3 * tpot_ms;
    row->ttft_limit_s = 1e-3 * ttft_limit_ms;
    row->tpot_limit_s = 1e-3 * tpot_limit_ms;
    return read_percentiles(csv, at, cells, RH_CASE_TTFT_P50_MS, row->ttft_percentiles_s, error) &&
           read_percentiles(csv, at, cells, RH_CASE_TPOT_P50_MS, row->tpot_percentiles_s, error) &&
           rh_csv_number(csv, cells, at[RH_CASE_STEP_S], 1e-9, STEP_MOST_S, &row->step_s, error) &&
           rh_csv_number(csv, cells, at[RH_CASE_TFLOPS], 1e-9, TFLOPS_MOST, &row->tflops, error) &&
           rh_csv_number(csv, cells, at[RH_CASE_MFU], 0, 10, &unused, error) &&
           rh_csv_number(csv, cells, at[RH_CASE_PARAMS], 0, 1e18, &unused, error);
}

static RhCaseKind kind_of(const RhCsv *csv)
{
    if (rh_csv_column(csv, rh_case_column_name(RH_CASE_KV_TOKENS)) >= 0 ||
        rh_csv_column(csv, rh_case_column_name(RH_CASE_KV_GIB)) >= 0)
        return RH_CASE_CACHES;
    if (rh_csv_column(csv, rh_case_column_name(RH_CASE_LATENCY_US)) >= 0 ||
        rh_exchange_table_is(csv))
        return RH_CASE_EXCHANGES;
    return rh_mlperf_table_is(csv) || rh_csv_column(csv, rh_case_column_name(RH_CASE_ISL)) >= 0
               ? RH_CASE_SERVING
               : RH_CASE_TRAINING;
}

static RhCaseTable *table_of(RhCsv *csv, GError **error)
{
    g_autoptr(RhCaseTable) table = g_new0(RhCaseTable, 1);
    int32_t at[RH_CASE_COLUMNS_LAST];
    table->name = g_strdup(csv->name);
    table->csv = csv;
    table->rows = g_array_new(FALSE, TRUE, sizeof(RhCaseRow));
    table->kind = kind_of(csv);
    if (rh_exchange_table_is(csv))
        return rh_exchange_table_read(table, error) ? g_steal_pointer(&table) : NULL;
    bool mlperf = rh_mlperf_table_is(csv);
    if (!mlperf && !check_header(csv, table->kind, error))
        return NULL;
    for (int i = 0; i < RH_CASE_COLUMNS_LAST; i++)
        at[i] = mlperf ? rh_mlperf_table_column(csv, (RhCaseColumn)i)
                       : rh_csv_column(csv, rh_case_column_name(i));
    for (guint i = 0; i < csv->rows->len; i++) {
        RhCaseRow row = {0};
        if (!read_row(csv, at, &g_array_index(csv->rows, RhCsvRow, i),
                      table->kind != RH_CASE_TRAINING, &row, error))
            return NULL;
        if (mlperf)
            rh_mlperf_table_complete(table, &g_array_index(csv->rows, RhCsvRow, i), &row);
        g_array_append_val(table->rows, row);
    }
    return g_steal_pointer(&table);
}

bool rh_case_table_peek(const char *path, RhCaseKind *kind)
{
    g_autoptr(RhCsv) csv = rh_csv_load(path, NULL);
    if (!csv)
        return false;
    *kind = kind_of(csv);
    return *kind != RH_CASE_TRAINING || check_header(csv, *kind, NULL);
}

RhCaseTable *rh_case_table_load(const char *path, GError **error)
{
    g_autofree char *file = g_strconcat(path, ".csv", NULL);
    g_autofree char *own = g_build_filename(rh_data_dir(), "validate", "data", file, NULL);
    bool named = !strchr(path, '/') && !g_file_test(path, G_FILE_TEST_EXISTS) &&
                 g_file_test(own, G_FILE_TEST_EXISTS);
    RhCsv *csv = rh_csv_load(named ? own : path, error);
    return csv ? table_of(csv, error) : NULL;
}

RhCaseTable *rh_case_table_parse(const char *name, const char *text, GError **error)
{
    RhCsv *csv = rh_csv_parse(name, text, error);
    return csv ? table_of(csv, error) : NULL;
}

bool rh_case_wanted(const RhCaseRow *row, const char *word)
{
    static const RhCaseColumn columns[] = {RH_CASE_SOURCE, RH_CASE_MODEL, RH_CASE_NOTE};
    for (size_t i = 0; word && i < G_N_ELEMENTS(columns); i++)
        if (strstr(row->text[columns[i]], word))
            return true;
    return !word;
}

void rh_case_table_free(RhCaseTable *table)
{
    if (!table)
        return;
    rh_csv_free(table->csv);
    rh_steps_free(table->steps);
    g_clear_pointer(&table->texts, g_string_chunk_free);
    g_free(table->name);
    g_array_unref(table->rows);
    g_free(table);
}
