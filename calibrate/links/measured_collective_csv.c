/* Reads published tables of collectives in CSV; the columns identify the table. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/interned_strings.h"
#include "calibrate/kernels/csv_columns.h"
#include "calibrate/links/measured_private.h"
#include "platforms/devices/kernel.h"

#define SIZE_MOST 1e15
#define TIME_MOST 1e9 /* in the column's own unit */

/* Columns by name; NULL: there is none, and the default beside it applies. */
typedef struct {
    const char *needs[RH_CSV_NEEDS_MAX]; /* NULL-ended */
    const char *op;                      /* otherwise from the file's name */
    const char *ranks, *per_node;        /* in all, and on one node */
    const char *nodes;                   /* otherwise ranks / per_node; ranks are then per node */
    const char *size, *elements_of;      /* bytes, or elements of the format in that column */
    double bytes;                        /* bytes per unit of size, where that is not an element */
    const char *time;
    double seconds; /* per unit of time */
    const char *device, *version;
    const char *only, *with; /* rows whose cell `only` ends in `with` */
} Table;

#define VIDUR(time_)                                                                               \
    {                                                                                              \
        .needs = {time_, "num_workers", "size", "devices_per_node"}, .op = "collective",           \
        .ranks = "num_workers", .per_node = "devices_per_node", .size = "size", .bytes = 1,        \
        .time = time_, .seconds = 1e-3                                                             \
    }

static const Table tables[] = {
    /* aiconfigurator, nccl_perf: sizes are in elements (gathered, or of the input) */
    {.needs = {"op_name", "nccl_dtype", "num_gpus", "message_size", "latency"},
     .op = "op_name",
     .ranks = "num_gpus",
     .size = "message_size",
     .elements_of = "nccl_dtype",
     .time = "latency",
     .seconds = 1e-3,
     .device = "device",
     .version = "version"},
    /* aiconfigurator, custom_allreduce_perf, as in a graph */
    {.needs = {"op_name", "allreduce_dtype", "num_gpus", "message_size", "latency", "backend"},
     .op = "op_name",
     .ranks = "num_gpus",
     .size = "message_size",
     .elements_of = "allreduce_dtype",
     .time = "latency",
     .seconds = 1e-3,
     .device = "device",
     .version = "version",
     .only = "backend",
     .with = "_graph"},
    {.needs = {"op_name", "allreduce_dtype", "num_gpus", "message_size", "latency"},
     .op = "op_name",
     .ranks = "num_gpus",
     .size = "message_size",
     .elements_of = "allreduce_dtype",
     .time = "latency",
     .seconds = 1e-3,
     .device = "device",
     .version = "version"},
    /* apex_plus, profile/comm: whole microseconds */
    {.needs = {"gpu", "num_nodes", "num_gpus_per_node", "size(kb)", "time(us)"},
     .ranks = "num_gpus_per_node",
     .nodes = "num_nodes",
     .size = "size(kb)",
     .bytes = 1024,
     .time = "time(us)",
     .seconds = 1e-6},
    /* vidur, profiling/network */
    VIDUR("time_stats.all_reduce.median"),
    VIDUR("time_stats.send_recv.median"),
};

static const struct {
    const char *name;
    RhOp op;
} ops[] = {
    {"all_reduce", RH_OP_ALL_REDUCE},
    {"all_gather", RH_OP_ALL_GATHER},
    {"reduce_scatter", RH_OP_REDUCE_SCATTER},
    {"alltoall", RH_OP_ALL_TO_ALL},
    {"broadcast", RH_OP_BROADCAST},
    {"sendrecv", RH_OP_SHIFT},
    {"send_recv", RH_OP_SHIFT},
};

/* Operation of a name; NONE: not one of ours. */
static RhOp op_named(const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(ops); i++)
        if (strcmp(ops[i].name, name) == 0)
            return ops[i].op;
    return RH_OP_NONE;
}

static RhOp op_of_file(const char *path)
{
    g_autofree char *base = g_path_get_basename(path);
    for (size_t i = 0; i < G_N_ELEMENTS(ops); i++)
        if (strstr(base, ops[i].name))
            return ops[i].op;
    return RH_OP_NONE;
}

static const struct {
    const char *name;
    double bytes;
} formats[] = {{"half", 2}, {"float16", 2}, {"bfloat16", 2}, {"float", 4}, {"int8", 1}, {"fp8", 1}};

/* Returns the bytes of one element; 0: unknown type. */
static double element_bytes(const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(formats); i++)
        if (strcmp(formats[i].name, name) == 0)
            return formats[i].bytes;
    return 0;
}

/* --- one row --- */

typedef struct {
    RhMeasured *out;
    const RhCsv *csv;
    const Table *table;
    RhOp file_op;
    int32_t left_out;
    GError **error;
} Reading;

static bool read_place(const Reading *r, const RhCsvRow *row, RhTimed *timed)
{
    const Table *t = r->table;
    double ranks = 0, each = 0, nodes = 1;
    if (!rh_csv_take(r->csv, row, t->ranks, 1, 1 << 20, &ranks, r->error) ||
        (t->per_node && !rh_csv_take(r->csv, row, t->per_node, 1, 1 << 20, &each, r->error)) ||
        (t->nodes && !rh_csv_take(r->csv, row, t->nodes, 1, 1 << 16, &nodes, r->error)))
        return false;
    if (t->per_node)
        nodes = ranks / each;
    else if (t->nodes)
        ranks *= nodes;
    if (nodes < 1 || floor(nodes) != nodes || floor(ranks) != ranks || ranks > 1 << 20)
        return rh_csv_fail(r->csv, row, rh_csv_column(r->csv, t->ranks),
                           "are not as many ranks on every node", r->error);
    timed->ranks = (int32_t)ranks;
    timed->nodes = (int32_t)nodes;
    return true;
}

static bool is_wanted(const Reading *r, const RhCsvRow *row, const RhTimed *timed, double unit)
{
    const Table *t = r->table;
    return timed->op != RH_OP_NONE && unit > 0 && timed->ranks > 1 && timed->bytes > 0 &&
           (!t->only || g_str_has_suffix(rh_csv_cell(r->csv, row, t->only), t->with));
}

static bool read_row(Reading *r, const RhCsvRow *row)
{
    const Table *t = r->table;
    RhTimed timed = {.op = t->op ? op_named(rh_csv_cell(r->csv, row, t->op)) : r->file_op,
                     .line = row->line};
    double size = 0, time = 0,
           unit =
               t->elements_of ? element_bytes(rh_csv_cell(r->csv, row, t->elements_of)) : t->bytes;
    if (!read_place(r, row, &timed) ||
        !rh_csv_take(r->csv, row, t->size, 0, SIZE_MOST, &size, r->error) ||
        !rh_csv_take(r->csv, row, t->time, 1e-6, TIME_MOST, &time, r->error))
        return false;
    timed.bytes = size * unit;
    timed.seconds = time * t->seconds;
    if (!is_wanted(r, row, &timed, unit)) {
        r->left_out++;
        return true;
    }
    if (t->device)
        r->out->device = rh_intern(rh_csv_cell(r->csv, row, t->device));
    if (t->version)
        r->out->library = rh_intern(rh_csv_cell(r->csv, row, t->version));
    g_array_append_val(r->out->rows, timed);
    return true;
}

/* --- the file --- */

static const Table *table_of(const char *text)
{
    for (size_t i = 0; i < G_N_ELEMENTS(tables); i++)
        if (rh_csv_text_has(text, tables[i].needs))
            return &tables[i];
    return NULL;
}

static bool begins(const char *text)
{
    return table_of(text) != NULL;
}

static bool read(RhMeasured *out, const char *text, GError **error)
{
    g_autoptr(RhCsv) csv = rh_csv_parse(out->name, text, error);
    Reading r = {out, csv, table_of(text), op_of_file(out->name), 0, error};
    if (!csv)
        return false;
    if (!r.table->op && r.file_op == RH_OP_NONE)
        return rh_fail(error, RH_ERROR_INPUT,
                       "%s:%d:1: a table of times, but of which collective?\nhelp: name the file "
                       "after it: all_reduce.csv",
                       out->name, csv->header.line);
    for (guint i = 0; i < csv->rows->len; i++)
        if (!read_row(&r, &g_array_index(csv->rows, RhCsvRow, i)))
            return false;
    if (r.left_out > 0)
        rh_measured_note(out,
                         "%d rows are left out: other collectives, formats or engines, one "
                         "rank, or no bytes",
                         r.left_out);
    return true;
}

const RhMeasuredFormat rh_format_tables = {"table of collectives", begins, read};
