#include "validate/serving/mlperf_table.h"

#include <string.h>

/* Columns whose names differ from ours. */
static const struct {
    RhCaseColumn column;
    const char *name;
} renamed[] = {{RH_CASE_GPU, "accelerator"},
               {RH_CASE_GPUS, "accelerators"},
               {RH_CASE_OSL, "tokens_per_sample"},
               {RH_CASE_RPS, "target_qps"},
               {RH_CASE_THROUGHPUT, "completed_tokens_s"},
               {RH_CASE_TTFT_MS, "ttft_mean_ms"},
               {RH_CASE_TPOT_MS, "tpot_mean_ms"},
               {RH_CASE_PRECISION, "weights"}};

bool rh_mlperf_table_is(const RhCsv *csv)
{
    return rh_csv_column(csv, "scenario") >= 0 && rh_csv_column(csv, "target_qps") >= 0;
}

int32_t rh_mlperf_table_column(const RhCsv *csv, RhCaseColumn column)
{
    if (column == RH_CASE_PLATFORM) /* the submitter's words, no platform's name */
        return -1;
    for (size_t i = 0; i < G_N_ELEMENTS(renamed); i++)
        if (renamed[i].column == column)
            return rh_csv_column(csv, renamed[i].name);
    return rh_csv_column(csv, rh_case_column_name(column));
}

static const char *cell(const RhCaseTable *table, const RhCsvRow *cells, const char *name)
{
    int32_t column = rh_csv_column(table->csv, name);
    return column < 0 ? "" : cells->cells[column];
}

/* Keeps a text, which it takes over, for as long as the table. */
static const char *keep(RhCaseTable *table, char *text)
{
    g_autofree char *own = text;
    if (!table->texts)
        table->texts = g_string_chunk_new(4096);
    return g_string_chunk_insert_const(table->texts, own);
}

/* Returns the published configuration of an engine as a deployment; NULL: none is published. Caller
 * frees. */
static char *deployment_of(const RhCaseTable *table, const RhCsvRow *cells, const RhCaseRow *row)
{
    const char *batch = cell(table, cells, "max_batch"),
               *tokens = cell(table, cells, "max_num_tokens"), *kv = cell(table, cells, "kv_dtype"),
               *memory = cell(table, cells, "kv_mem_fraction");
    int64_t ranks = row->whole[RH_CASE_TP] * MAX(row->whole[RH_CASE_PP], 1);
    if (!*batch || !*tokens || ranks <= 0)
        return NULL;
    GString *text = g_string_new(NULL);
    g_string_append_printf(text, "replicas=%d,batch=%s,chunk=%s",
                           (int)MAX(row->whole[RH_CASE_GPUS] / ranks, 1), batch, tokens);
    if (*kv)
        g_string_append_printf(text, ",kv=%s", kv);
    if (*memory)
        g_string_append_printf(text, ",memory=%.0f", 100 * g_ascii_strtod(memory, NULL));
    return g_string_free(text, FALSE);
}

void rh_mlperf_table_complete(RhCaseTable *table, const RhCsvRow *cells, RhCaseRow *row)
{
    const char *scenario = cell(table, cells, "scenario"),
               *precision = cell(table, cells, "engine_precision");
    char *deployment = deployment_of(table, cells, row);
    row->text[RH_CASE_SOURCE] =
        keep(table, g_strconcat("MLPerf Inference: ", cell(table, cells, "submitter"), NULL));
    row->text[RH_CASE_NOTE] = keep(table, g_strjoin("; ", scenario, cell(table, cells, "software"),
                                                    cell(table, cells, "platform"), NULL));
    if (deployment)
        row->text[RH_CASE_DEPLOYMENT] = keep(table, deployment);
    if (*precision)
        row->text[RH_CASE_PRECISION] = precision;
    if (strcmp(scenario, "Offline") != 0) {
        row->tokens_per_s = 0;
        if (row->ttft_limit_s > 0 && row->tpot_limit_s > 0)
            row->rate_in_limits_per_s = row->rps;
    }
}
