/* Reads published tables of operators in CSV as raw samples; the columns identify the table. */
#include <string.h>

#include "base/interned_strings.h"
#include "calibrate/kernels/csv_columns.h"
#include "calibrate/kernels/raw_table_row.h"
#include "calibrate/kernels/raw_tables.h"

#define SIDE_LEAST                                                                                 \
    64 /* n and k of a GEMM: narrower ones use other kernels, which the form does not describe */
#define SEQUENCE_LEAST 1024 /* shorter sequences use other kernels, too */
#define HEAD_MOST      128
#define QUERIES_LEAST  4 /* per key head */
#define CACHE_S                                                                                    \
    12e-6 /* launch and key-value cache in the attention tables: docs/theory/kernels.md */
#define MS 1e-3

static bool is_value(const RhRawReading *r, const char *column, const char *text)
{
    return strcmp(rh_csv_cell(r->csv, r->row, column), text) == 0;
}

/* Type of a format's name. Times of 8 and 4 bits include casts (docs/theory/kernels.md). */
static RhDtype dtype_of(const char *name)
{
    return strcmp(name, "bfloat16") == 0  ? RH_DTYPE_BF16
           : strcmp(name, "float16") == 0 ? RH_DTYPE_FP16
                                          : RH_DTYPE_NONE;
}

static bool read_gemm(const RhRawReading *r)
{
    double m = 0, n = 0, k = 0, ms = 0;
    const char *format = rh_csv_cell(r->csv, r->row, "gemm_dtype");
    RhDtype dtype = dtype_of(format);
    if (!rh_raw_take_whole(r, "m", 1, &m) || !rh_raw_take_whole(r, "n", 1, &n) ||
        !rh_raw_take_whole(r, "k", 1, &k) || !rh_raw_take(r, "latency", 1e-6, &ms))
        return false;
    if (dtype == RH_DTYPE_NONE || n < SIDE_LEAST || k < SIDE_LEAST) {
        g_autofree char *name =
            dtype ? g_strdup("narrow gemm") : g_strconcat("gemm ", format, NULL);
        rh_raw_leave_out(r, name);
        return true;
    }
    RhKernel kernel = rh_raw_gemm(dtype, m, n, k);
    rh_raw_add(r, "gemm", &kernel, MS * ms);
    return true;
}

/* Reads causal self-attention as in training: whole sequences, no window, grouped queries. */
static bool read_attention(const RhRawReading *r)
{
    double batch = 0, s = 0, d = 0, heads = 0, kv_heads = 0, step = 0, ms = 0;
    if (!rh_raw_take_whole(r, "batch_size", 1, &batch) || !rh_raw_take_whole(r, "isl", 1, &s) ||
        !rh_raw_take_whole(r, "head_dim", 1, &d) || !rh_raw_take_whole(r, "num_heads", 1, &heads) ||
        !rh_raw_take_whole(r, "num_key_value_heads", 0, &kv_heads) ||
        !rh_raw_take_whole(r, "step", 0, &step) || !rh_raw_take(r, "latency", 1e-6, &ms))
        return false;
    kv_heads = kv_heads > 0 ? kv_heads : heads;
    bool bf16 = is_value(r, "attn_dtype", "bfloat16") && is_value(r, "kv_cache_dtype", "bfloat16");
    /* older tables have no window */
    bool whole = is_value(r, "window_size", "0") || is_value(r, "window_size", "");
    if (!bf16 || !whole || step != 0 || s < SEQUENCE_LEAST || d > HEAD_MOST ||
        QUERIES_LEAST * kv_heads > heads || heads > 1e6 || MS * ms <= CACHE_S) {
        rh_raw_leave_out(r, "attention of other formats, windows, lengths or heads");
        return true;
    }
    RhKernel kernel = {.cls = RH_KERNEL_ATTENTION,
                       .dtype = RH_DTYPE_BF16,
                       .causal = true,
                       .batch = (int64_t)batch,
                       .m = (int64_t)s,
                       .n = (int64_t)s,
                       .k = (int64_t)d,
                       .heads = (int32_t)heads,
                       .kv_heads = (int32_t)kv_heads,
                       .bytes = 4 * batch * s * d * (heads + kv_heads)};
    rh_raw_add(r, "attention", &kernel, MS * ms - CACHE_S);
    return true;
}

static const char *const gemm_needs[] = {"device", "gemm_dtype", "m", "n", "k", "latency", NULL},
                         *const attention_needs[] = {"device",
                                                     "batch_size",
                                                     "isl",
                                                     "num_heads",
                                                     "num_key_value_heads",
                                                     "head_dim",
                                                     "step",
                                                     "latency",
                                                     NULL};

/* Tables of aiconfigurator and vidur. */
static const struct {
    const char *const *needs;
    bool (*read)(const RhRawReading *r);
} tables[] = {
    {gemm_needs, read_gemm},
    {attention_needs, read_attention},
    {rh_raw_vidur_needs, rh_raw_vidur_read},
};

static int table_of(const char *text)
{
    for (size_t i = 0; i < G_N_ELEMENTS(tables); i++)
        if (rh_csv_text_has(text, tables[i].needs))
            return (int)i;
    return -1;
}

bool rh_raw_table_begins(const char *text)
{
    return table_of(text) >= 0;
}

/* Checks that a table is of one GPU and one engine, if it names them. */
static bool note_origin(const RhRawReading *r)
{
    const char *device = rh_csv_cell(r->csv, r->row, "device");
    g_autofree char *library = g_strdup_printf("%s %s", rh_csv_cell(r->csv, r->row, "framework"),
                                               rh_csv_cell(r->csv, r->row, "version"));
    if (*r->out->device && strcmp(r->out->device, device) != 0)
        return rh_csv_fail(r->csv, r->row, rh_csv_column(r->csv, "device"),
                           "is another GPU than that of the rows above", r->error);
    r->out->device = rh_intern(device);
    r->out->library_versions = rh_intern(g_strstrip(library));
    return true;
}

bool rh_raw_table_read(RhRaw *out, const char *text, GError **error)
{
    int table = table_of(text);
    g_autoptr(RhCsv) csv = rh_csv_parse(out->name, text, error);
    if (!csv)
        return false;
    g_return_val_if_fail(table >= 0, false);
    for (guint i = 0; i < csv->rows->len; i++) {
        const RhRawReading r = {out, csv, &g_array_index(csv->rows, RhCsvRow, i), error};
        if (!note_origin(&r) || !tables[table].read(&r))
            return false;
    }
    out->cut = false;
    return true;
}
