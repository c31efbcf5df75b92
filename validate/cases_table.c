#include "validate/cases_table.h"

#include <string.h>

#include "base/error.h"

static const char *const names[RH_CASE_COLUMNS_LAST + 1] = {
#define COLUMN_NAME(word, name) name,
    RH_CASE_COLUMNS(COLUMN_NAME)
#undef COLUMN_NAME
};

/* Of a table of serving runs, which this one is often found beside. */
static const char *const serving[] = {"isl", "osl", "ttft_ms", "tpot_ms", NULL};

#define STEP_MOST_S 1e7
#define TFLOPS_MOST 1e6

/* Whole numbers; `most` is far above what there is, and far below what overflows. */
static const struct {
    RhCaseColumn column;
    int64_t most;
} wholes[] = {
    {RH_CASE_LAYERS, 1 << 16},   {RH_CASE_HIDDEN, 1 << 24},     {RH_CASE_HEADS, 1 << 16},
    {RH_CASE_KV_HEADS, 1 << 16}, {RH_CASE_FFN, 1 << 24},        {RH_CASE_VOCAB, 1 << 24},
    {RH_CASE_SEQ, 1 << 30},      {RH_CASE_GPUS, 1 << 20},       {RH_CASE_TP, 1 << 20},
    {RH_CASE_PP, 1 << 20},       {RH_CASE_DP, 1 << 20},         {RH_CASE_CP, 1 << 20},
    {RH_CASE_EP, 1 << 20},       {RH_CASE_MICROBATCH, 1 << 20}, {RH_CASE_GLOBAL_BATCH, 1 << 30}};

const char *rh_case_column_name(RhCaseColumn column)
{
    return names[column];
}

RhCaseColumn rh_case_column_by_name(const char *name)
{
    int column = 0;
    while (column < RH_CASE_COLUMNS_LAST && strcmp(names[column], name) != 0)
        column++;
    return (RhCaseColumn)column;
}

static bool check_header(const RhCsv *csv, GError **error)
{
    static const RhCaseColumn needed[] = {RH_CASE_MODEL, RH_CASE_GPU, RH_CASE_GPUS, RH_CASE_SEQ,
                                          RH_CASE_GLOBAL_BATCH};
    const RhCsvRow *header = &csv->header;
    for (int32_t i = 0; header->cells[i]; i++) {
        if (rh_case_column_by_name(header->cells[i]) != RH_CASE_COLUMNS_LAST)
            continue;
        if (g_strv_contains(serving, header->cells[i]))
            return rh_fail(error, RH_ERROR_INPUT,
                           "%s:%d:%d: this is a table of serving runs (\"%s\")\n"
                           "note: tables of training runs alone can be judged so far",
                           csv->name, header->lines[i], header->columns[i], header->cells[i]);
        const char *near = rh_nearest_name(header->cells[i], names);
        rh_fail(error, RH_ERROR_INPUT, "%s:%d:%d: unknown column \"%.60s\"%s%s", csv->name,
                header->lines[i], header->columns[i], header->cells[i],
                near ? "\nhelp: a column with a similar name exists: " : "", near ? near : "");
        return false;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(needed); i++)
        if (rh_csv_column(csv, names[needed[i]]) < 0)
            return rh_fail(error, RH_ERROR_INPUT,
                           "%s:%d: not the header of a table of training runs: no column \"%s\"\n"
                           "note: model, gpu, gpus, seq, global_batch and what was measured",
                           csv->name, header->line, names[needed[i]]);
    return true;
}

static bool read_row(const RhCsv *csv, const int32_t *at, const RhCsvRow *cells, RhCaseRow *row,
                     GError **error)
{
    row->file = csv->name;
    row->line = cells->line;
    for (int i = 0; i < RH_CASE_COLUMNS_LAST; i++)
        row->text[i] = at[i] < 0 ? "" : g_strstrip(cells->cells[at[i]]);
    for (size_t i = 0; i < G_N_ELEMENTS(wholes); i++) {
        RhCaseColumn c = wholes[i].column;
        if (!rh_csv_whole(csv, cells, at[c], 1, wholes[i].most, 0, &row->whole[c], error))
            return false;
    }
    double unused;
    return rh_csv_number(csv, cells, at[RH_CASE_STEP_S], 1e-9, STEP_MOST_S, 0, &row->step_s,
                         error) &&
           rh_csv_number(csv, cells, at[RH_CASE_TFLOPS], 1e-9, TFLOPS_MOST, 0, &row->tflops,
                         error) &&
           rh_csv_number(csv, cells, at[RH_CASE_MFU], 0, 10, 0, &unused, error) &&
           rh_csv_number(csv, cells, at[RH_CASE_PARAMS], 0, 1e18, 0, &unused, error);
}

static RhCaseTable *table_of(RhCsv *csv, GError **error)
{
    g_autoptr(RhCaseTable) table = g_new0(RhCaseTable, 1);
    int32_t at[RH_CASE_COLUMNS_LAST];
    table->name = g_strdup(csv->name);
    table->csv = csv;
    table->rows = g_array_new(FALSE, TRUE, sizeof(RhCaseRow));
    if (!check_header(csv, error))
        return NULL;
    for (int i = 0; i < RH_CASE_COLUMNS_LAST; i++)
        at[i] = rh_csv_column(csv, names[i]);
    for (guint i = 0; i < csv->rows->len; i++) {
        RhCaseRow row = {0};
        if (!read_row(csv, at, &g_array_index(csv->rows, RhCsvRow, i), &row, error))
            return NULL;
        g_array_append_val(table->rows, row);
    }
    return g_steal_pointer(&table);
}

RhCaseTable *rh_case_table_load(const char *path, GError **error)
{
    RhCsv *csv = rh_csv_load(path, error);
    return csv ? table_of(csv, error) : NULL;
}

RhCaseTable *rh_case_table_parse(const char *name, const char *text, GError **error)
{
    RhCsv *csv = rh_csv_parse(name, text, error);
    return csv ? table_of(csv, error) : NULL;
}

void rh_case_table_free(RhCaseTable *table)
{
    if (!table)
        return;
    rh_csv_free(table->csv);
    rh_steps_free(table->steps);
    g_free(table->name);
    g_array_unref(table->rows);
    g_free(table);
}
