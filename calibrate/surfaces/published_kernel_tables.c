#include "calibrate/surfaces/published_kernel_tables.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/interned_strings.h"
#include "base/text/text_input.h"
#include "calibrate/kernels/csv_columns.h"

#define SIDE_MOST  1099511627776.0 /* as in raw.c */
#define HEADS_MOST 1048576.0
#define MS         1e-3

typedef struct {
    RhKernelTables *out;
    const RhCsv *csv;
    const RhCsvRow *row;
    GError **error;
} Reading;

static const char *cell(const Reading *r, const char *column)
{
    return rh_csv_cell(r->csv, r->row, column);
}

static bool take_whole(const Reading *r, const char *column, double low, double high, double *out)
{
    if (!rh_csv_take(r->csv, r->row, column, low, high, out, r->error))
        return false;
    return floor(*out) == *out || rh_csv_fail(r->csv, r->row, rh_csv_column(r->csv, column),
                                              "is not a whole number", r->error);
}

static bool take_seconds(const Reading *r, double low, double *out)
{
    if (!rh_csv_take(r->csv, r->row, "latency", low, SIDE_MOST, out, r->error))
        return false;
    *out *= MS;
    return true;
}

static bool left_out(const Reading *r, const char *name)
{
    const char *interned = rh_intern(name);
    r->out->unknown_count++;
    if (!g_ptr_array_find(r->out->unknown, interned, NULL))
        g_ptr_array_add(r->out->unknown, (void *)(uintptr_t)interned);
    return true;
}

static bool add_tabled(const Reading *r, const RhTableSample *row)
{
    RhTableSample own = *row;
    own.line = r->row->line;
    if (!own.source)
        own.source = rh_intern(cell(r, "kernel_source"));
    g_array_append_val(r->out->rows, own);
    return true;
}

/* Is a kernel source the product alone? Others of 8 and 4 bits are a framework's whole linear
 * layer, which casts its input first. */
static bool is_product_alone(const char *source)
{
    return strstr(source, "deepgemm") != NULL || strstr(source, "scaled_mm") != NULL;
}

static const struct {
    const char *column, *format;
    RhDtype dtype;
} formats[] = {
    {"bfloat16", "bf16", RH_DTYPE_BF16},
    {"fp8", "fp8", RH_DTYPE_FP8},
    {"fp8_block", "fp8_block", RH_DTYPE_FP8},
    {"nvfp4", "nvfp4", RH_DTYPE_FP4},
};

/* Rows of A beyond which tables have whole tiles and one row more. */
#define WHOLE_TILES 256

/* Is a product one row more than whole tiles? With 8 bits on Hopper, 1,025 rows take as long as
 * 1,536 in vLLM's, SGLang's and, in blocks, TensorRT-LLM's tables: the worst remainder, which says
 * nothing about those up to the next whole tile. */
static bool is_row_beyond_tiles(double m)
{
    return m > WHOLE_TILES && fmod(m, WHOLE_TILES) == 1;
}

static bool read_gemm(const Reading *r)
{
    double m = 0, n = 0, k = 0;
    const char *name = cell(r, "gemm_dtype");
    RhTableSample row = {.role = RH_TABLED_KERNEL, .kind = RH_SURFACE_GEMM};
    if (!take_whole(r, "m", 1, SIDE_MOST, &m) || !take_whole(r, "n", 1, SIDE_MOST, &n) ||
        !take_whole(r, "k", 1, SIDE_MOST, &k) || !take_seconds(r, 1e-6, &row.seconds))
        return false;
    if (is_row_beyond_tiles(m))
        return left_out(r, "gemm of one row more than whole tiles");
    row.kernel = (RhKernel){
        .cls = RH_KERNEL_GEMM, .batch = 1, .m = (int64_t)m, .n = (int64_t)n, .k = (int64_t)k};
    for (size_t i = 0; i < G_N_ELEMENTS(formats); i++)
        if (strcmp(formats[i].column, name) == 0) {
            row.format = rh_intern(formats[i].format);
            row.kernel.dtype = (uint8_t)formats[i].dtype;
        }
    if (!row.format) {
        g_autofree char *what = g_strconcat("gemm ", name, NULL);
        return left_out(r, what);
    }
    row.casts_inside =
        row.kernel.dtype != RH_DTYPE_BF16 && !is_product_alone(cell(r, "kernel_source"));
    return add_tabled(r, &row);
}

/* Reads heads, shape of one sequence and format of the cache; false when a cell is wrong. */
static bool read_attention_shape(const Reading *r, RhTableSample *row, double *length, double *step)
{
    double batch = 0, d = 0, heads = 0, kv_heads = 0;
    if (!take_whole(r, "batch_size", 1, SIDE_MOST, &batch) ||
        !take_whole(r, "isl", 1, SIDE_MOST, length) || !take_whole(r, "step", 0, SIDE_MOST, step) ||
        !take_whole(r, "head_dim", 1, HEADS_MOST, &d) ||
        !take_whole(r, "num_heads", 1, HEADS_MOST, &heads) ||
        !take_whole(r, "num_key_value_heads", 0, HEADS_MOST, &kv_heads) ||
        !take_seconds(r, 1e-6, &row->seconds))
        return false;
    bool fp8 = strcmp(cell(r, "kv_cache_dtype"), "fp8") == 0;
    row->format = rh_intern(fp8 ? "fp8" : "bf16");
    row->kernel = (RhKernel){.cls = RH_KERNEL_ATTENTION,
                             .dtype = RH_DTYPE_BF16,
                             .kv_dtype = fp8 ? RH_DTYPE_FP8 : RH_DTYPE_BF16,
                             .batch = (int64_t)batch,
                             .heads = (int32_t)heads,
                             .kv_heads = (int32_t)(kv_heads > 0 ? kv_heads : heads),
                             .k = (int64_t)d};
    return true;
}

/* Is attention plain? Queries in 8 bits use kernels of their own; windows see fewer keys than there
 * are. */
static bool is_plain(const Reading *r)
{
    const char *window = cell(r, "window_size"), *cache = cell(r, "kv_cache_dtype");
    return (strcmp(window, "0") == 0 || *window == 0) &&
           strcmp(cell(r, "attn_dtype"), "bfloat16") == 0 &&
           (strcmp(cache, "bfloat16") == 0 || strcmp(cache, "fp8") == 0);
}

static bool read_attention(const Reading *r)
{
    double length = 0, step = 0;
    RhTableSample row = {.role = RH_TABLED_KERNEL};
    if (!read_attention_shape(r, &row, &length, &step))
        return false;
    bool decode = strcmp(cell(r, "op_name"), "generation_attention") == 0;
    if (!is_plain(r) || (!decode && step > 0))
        return left_out(r, "attention of windows, 8-bit queries or chunks");
    row.kind = decode ? RH_SURFACE_DECODE : RH_SURFACE_PREFILL;
    row.kernel.causal = !decode;
    row.kernel.m = decode ? 1 : (int64_t)length;
    row.kernel.n = (int64_t)(length + (decode ? step : 0));
    return add_tabled(r, &row);
}

static bool read_cast(const Reading *r)
{
    double m = 0, k = 0;
    RhTableSample row = {.format = rh_intern(cell(r, "quant_dtype"))};
    if (!take_whole(r, "m", 1, SIDE_MOST, &m) || !take_whole(r, "k", 1, SIDE_MOST, &k) ||
        !take_seconds(r, 0, &row.seconds))
        return false;
    row.role = strcmp(cell(r, "op_name"), "compute_scale") == 0 ? RH_TABLED_SCALE : RH_TABLED_CAST;
    row.kernel = (RhKernel){.cls = RH_KERNEL_CAST, .m = (int64_t)m, .k = (int64_t)k};
    return add_tabled(r, &row);
}

/* Experts that so many tokens ask, as in workloads/operators/expert_tokens.c. */
static double experts_asked(double tokens, double chosen, double experts)
{
    return fmax(round(experts * (1 - pow(1 - fmin(chosen / experts, 1), tokens))), 1);
}

/* Load of the busiest rank, which was timed, over the mean. The table drew loads of experts,
 * distributed evenly in their logarithms from 1 to 0.8 of the tokens, or over a range of 200 where
 * tokens ask fewer than all (ai-dynamo/aiconfigurator 095f58a, collector/helper.py), whose
 * coefficient of variation over a range of x is sqrt(ln x (x + 1) / (2 (x - 1)) - 1); a rank's sum
 * is nearly normal, and of ep normal values the largest lies at the (ep - 3/8) / (ep + 1/4)
 * quantile (Blom 1958). */
static double busiest_rank(double tokens, double chosen, double experts, double ep)
{
    double x = tokens * chosen > experts ? fmax(0.8 * tokens, 2) : 200;
    double varies = sqrt(fmax(log(x) * (x + 1) / (2 * (x - 1)) - 1, 0) * ep / experts);
    double largest = gsl_cdf_ugaussian_Pinv((ep - 0.375) / (ep + 0.25));
    return ep <= 1 ? 1 : fmin(1 + varies * sqrt(1 - 1 / ep) * largest, ep);
}

/* Formats of experts, whose weights alone may be narrow, with the bytes of an element then. The
 * precision in which such kernels multiply is their own choice. */
static const struct {
    const char *column, *format;
    RhDtype dtype;
    double weight_bytes;
} experts_formats[] = {
    {"bfloat16", "bf16", RH_DTYPE_BF16, 0},
    {"fp8", "fp8", RH_DTYPE_FP8, 0},
    {"fp8_block", "fp8_block", RH_DTYPE_FP8, 0},
    {"nvfp4", "nvfp4", RH_DTYPE_FP4, 0},
    {"int4_wo", "int4", RH_DTYPE_BF16, 0.5 + 2.5 / 128},
    {"w4a16_mxfp4", "mxfp4", RH_DTYPE_BF16, 0.5 + 1.0 / 32},
    {"w4a8_mxfp4_mxfp8", "mxfp4", RH_DTYPE_BF16, 0.5 + 1.0 / 32},
};

static void take_experts_format(const Reading *r, RhTableSample *row)
{
    for (size_t i = 0; i < G_N_ELEMENTS(experts_formats); i++)
        if (strcmp(experts_formats[i].column, cell(r, "moe_dtype")) == 0) {
            row->format = rh_intern(experts_formats[i].format);
            row->kernel.dtype = (uint8_t)experts_formats[i].dtype;
            row->kernel.weight_bytes = (float)experts_formats[i].weight_bytes;
        }
}

/* Libraries of grouped products by a part of a kernel's name, in order: engines call the same
 * kernels by names of their own. `min_latency` is TensorRT-LLM's name of its generated ones. */
static const struct {
    const char *part, *library;
} experts_libraries[] = {
    {"min_latency", "trtllm-gen"}, {"flashinfer_trtllm", "trtllm-gen"},
    {"cutedsl", "cutedsl"},        {"cutlass", "cutlass"},
    {"deepgemm", "deepgemm"},      {"marlin", "marlin"},
    {"triton", "triton"},
};

static const char *library_of(const char *source)
{
    for (size_t i = 0; i < G_N_ELEMENTS(experts_libraries); i++)
        if (strstr(source, experts_libraries[i].part))
            return rh_intern(experts_libraries[i].library);
    return rh_intern("");
}

/* Reads the first of a mixture's two grouped GEMMs, up and gate; the time is of both, and of the
 * kernels between and around them. One rank has all experts, or parts of all; or one of several has
 * an ep-th of them, which the mean rank's tokens ask. Experts are asked by a power law, as by users
 * of all engines. */
static bool read_experts(const Reading *r)
{
    double tokens = 0, h = 0, f = 0, chosen = 0, experts = 0, tp = 0, ep = 0;
    RhTableSample row = {.role = RH_TABLED_KERNEL, .kind = RH_SURFACE_EXPERTS};
    if (!take_whole(r, "num_tokens", 1, SIDE_MOST, &tokens) ||
        !take_whole(r, "hidden_size", 1, SIDE_MOST, &h) ||
        !take_whole(r, "inter_size", 1, SIDE_MOST, &f) ||
        !take_whole(r, "topk", 1, HEADS_MOST, &chosen) ||
        !take_whole(r, "num_experts", 1, HEADS_MOST, &experts) ||
        !take_whole(r, "moe_tp_size", 1, HEADS_MOST, &tp) ||
        !take_whole(r, "moe_ep_size", 1, HEADS_MOST, &ep) || !take_seconds(r, 1e-6, &row.seconds))
        return false;
    double asked = fmax(round(experts_asked(tokens, chosen, experts) / ep), 1),
           rows = fmax(tokens * chosen / ep * busiest_rank(tokens, chosen, experts, ep), asked);
    f = ceil(f / tp);
    row.spread = ep > 1;
    row.kernel = (RhKernel){.cls = RH_KERNEL_GEMM,
                            .grouped = true,
                            .batch = (int64_t)asked,
                            .m = (int64_t)ceil(rows / asked),
                            .n = 2 * (int64_t)f,
                            .k = (int64_t)h,
                            .flops = 4 * rows * f * h};
    take_experts_format(r, &row);
    row.library = library_of(cell(r, "kernel_source"));
    /* one source multiplies in 8 bits or in 16: kernels of their own */
    g_autofree char *source =
        g_strdup_printf("%s %s", cell(r, "kernel_source"), cell(r, "moe_dtype"));
    row.source = rh_intern(source);
    bool plain = strcmp(cell(r, "distribution"), "power_law_1.01") == 0 &&
                 strstr(cell(r, "kernel_source"), "nongated") == NULL &&
                 strstr(cell(r, "kernel_source"), "_as_silu") == NULL;
    return row.format && plain ? add_tabled(r, &row)
                               : left_out(r, "experts of other formats, loads and spreads");
}

/* Reads an all-reduce. Sizes are in elements of two bytes. Only graphs of the engine's own kernels
 * count, as a host's launches differ. */
static bool read_reduce(const Reading *r, bool counts)
{
    double ranks = 0, elements = 0;
    RhTableSample row = {.role = RH_TABLED_REDUCE};
    if (!take_whole(r, "num_gpus", 1, HEADS_MOST, &ranks) ||
        !take_whole(r, "message_size", 1, SIDE_MOST, &elements) ||
        !take_seconds(r, 1e-6, &row.seconds))
        return false;
    row.kernel = (RhKernel){.batch = (int64_t)ranks, .bytes = 2 * elements};
    return counts ? add_tabled(r, &row) : left_out(r, "other collectives, formats and launches");
}

static bool read_own_reduce(const Reading *r)
{
    bool eager = strstr(cell(r, "kernel_source"), "eager") != NULL;
    return read_reduce(r, !eager && strcmp(cell(r, "allreduce_dtype"), "bfloat16") == 0);
}

static bool read_nccl(const Reading *r)
{
    return read_reduce(r, strcmp(cell(r, "op_name"), "all_reduce") == 0 &&
                              strcmp(cell(r, "nccl_dtype"), "half") == 0);
}

/* Tables of aiconfigurator. */
static const struct {
    const char *needs[RH_CSV_NEEDS_MAX];
    bool (*read)(const Reading *r);
} known[] = {
    {{"device", "kernel_source", "gemm_dtype", "m", "n", "k", "latency"}, read_gemm},
    {{"device", "op_name", "batch_size", "isl", "num_heads", "num_key_value_heads", "head_dim",
      "step", "latency"},
     read_attention},
    {{"device", "op_name", "quant_dtype", "m", "k", "latency"}, read_cast},
    {{"device", "kernel_source", "moe_dtype", "num_tokens", "inter_size", "topk", "moe_tp_size",
      "latency"},
     read_experts},
    {{"device", "kernel_source", "allreduce_dtype", "num_gpus", "message_size", "latency"},
     read_own_reduce},
    {{"device", "op_name", "nccl_dtype", "num_gpus", "message_size", "latency"}, read_nccl},
};

static int known_of(const char *text)
{
    for (size_t i = 0; i < G_N_ELEMENTS(known); i++)
        if (rh_csv_text_has(text, known[i].needs))
            return (int)i;
    return -1;
}

/* Checks that a table is of one GPU and one engine. */
static bool note_origin(const Reading *r)
{
    const char *device = cell(r, "device"), *framework = cell(r, "framework");
    if (*r->out->device)
        return strcmp(r->out->device, device) == 0 ||
               rh_csv_fail(r->csv, r->row, rh_csv_column(r->csv, "device"),
                           "is another GPU than that of the rows above", r->error);
    g_autofree char *library = g_strdup_printf("%s %s", framework, cell(r, "version"));
    r->out->device = rh_intern(device);
    r->out->framework = rh_intern(framework);
    r->out->library = rh_intern(g_strstrip(library));
    return true;
}

RhKernelTables *rh_tables_parse(const char *name, const char *text, GError **error)
{
    int table = known_of(text);
    if (table < 0) {
        rh_fail(
            error, RH_ERROR_INPUT,
            "%s:1:1: no table of kernels that is known\nhelp: aiconfigurator's gemm_perf, "
            "attention_perf, "
            "computescale_perf, scale_matrix_perf, moe_perf, custom_allreduce_perf and nccl_perf are",
            name);
        return NULL;
    }
    g_autoptr(RhCsv) csv = rh_csv_parse(name, text, error);
    if (!csv)
        return NULL;
    g_autoptr(RhKernelTables) out = g_new0(RhKernelTables, 1);
    out->name = g_strdup(name);
    out->device = out->framework = out->library = rh_intern("");
    out->rows = g_array_new(FALSE, FALSE, sizeof(RhTableSample));
    out->unknown = g_ptr_array_new();
    for (guint i = 0; i < csv->rows->len; i++) {
        const Reading r = {out, csv, &g_array_index(csv->rows, RhCsvRow, i), error};
        if (!note_origin(&r) || !known[table].read(&r))
            return NULL;
    }
    return g_steal_pointer(&out);
}

RhKernelTables *rh_tables_load(const char *path, GError **error)
{
    g_autofree char *text = rh_text_load(path, error);
    return text ? rh_tables_parse(path, text, error) : NULL;
}

void rh_tables_free(RhKernelTables *tables)
{
    if (!tables)
        return;
    g_array_unref(tables->rows);
    g_ptr_array_unref(tables->unknown);
    g_free(tables->name);
    g_free(tables);
}
