#include "calibrate/kernels/raw_samples.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/interned_strings.h"
#include "base/text/text_input.h"
#include "calibrate/kernels/raw_tables.h"

#define HEADER                                                                                     \
    "kernel,dtype,batch,m,n,k,heads,kv_heads,causal,bytes,flops,library,repetitions,seconds,"      \
    "low_s,high_s,sm_mhz,watts"
#define SIDE_MOST 1099511627776.0 /* 2^40: products of tiles stay exact in a double */

enum {
    CELL_KERNEL,
    CELL_DTYPE,
    CELL_BATCH,
    CELL_M,
    CELL_N,
    CELL_K,
    CELL_HEADS,
    CELL_KV_HEADS,
    CELL_CAUSAL,
    CELL_BYTES,
    CELL_FLOPS,
    CELL_LIBRARY,
    CELL_REPETITIONS,
    CELL_SECONDS,
    CELL_LOW_S,
    CELL_HIGH_S,
    CELL_SM_MHZ,
    CELL_WATTS,
    CELLS,
};

/* Ranges of cells; text cells have most 0. */
static const struct {
    const char *name;
    double least, most;
    bool whole;
} columns[CELLS] = {
    {"kernel", 0, 0, false},        {"dtype", 0, 0, false},        {"batch", 0, SIDE_MOST, true},
    {"m", 0, SIDE_MOST, true},      {"n", 0, SIDE_MOST, true},     {"k", 0, SIDE_MOST, true},
    {"heads", 0, 1e6, true},        {"kv_heads", 0, 1e6, true},    {"causal", 0, 1, true},
    {"bytes", 0, 1e18, false},      {"flops", 0, 1e24, false},     {"library", 0, 0, false},
    {"repetitions", 0, 1e12, true}, {"seconds", 1e-9, 1e5, false}, {"low_s", 0, 1e5, false},
    {"high_s", 0, 1e5, false},      {"sm_mhz", 0, 1e5, false},     {"watts", 0, 1e5, false},
};

typedef struct {
    RhRaw *raw;
    int32_t line;
    GError **error;
} Reading;

/* --- rows --- */

static RhGemmLayout layout_of(RkClass cls)
{
    return cls == RK_GEMM_NN   ? RH_GEMM_INPUT_GRADIENT
           : cls == RK_GEMM_NT ? RH_GEMM_WEIGHT_GRADIENT
                               : RH_GEMM_LINEAR;
}

static bool fail_cell(const Reading *r, int cell, const char *text, const char *what)
{
    return rh_fail(r->error, RH_ERROR_INPUT,
                   "%s:%d:%d: %s \"%.40s\" %s\nhelp: correct the cell, or delete the line; a refit "
                   "needs no single row",
                   r->raw->name, r->line, cell + 1, columns[cell].name, text, what);
}

static bool read_number(const Reading *r, int cell, const char *text, double *value)
{
    char *end = NULL;
    double x = g_ascii_strtod(text, &end);
    if (end == text || *end || isnan(x))
        return fail_cell(r, cell, text, "is not a number");
    if (columns[cell].whole && x != floor(x))
        return fail_cell(r, cell, text, "is not a whole number");
    if (x < columns[cell].least || x > columns[cell].most) {
        g_autofree char *range =
            g_strdup_printf("is outside %g to %g", columns[cell].least, columns[cell].most);
        return fail_cell(r, cell, text, range);
    }
    *value = x;
    return true;
}

static RhRawRow row_of(const Reading *r, const char *const *cells, const double v[CELLS])
{
    RkClass cls = rk_class_by_name(cells[CELL_KERNEL]);
    RhKernelClass kernel =
        cls == RK_CLASS_NONE ? rh_kernel_class_by_name(cells[CELL_KERNEL]) : rk_class_kernel(cls);
    return (RhRawRow){.cls = cls,
                      .name = rh_intern(cells[CELL_KERNEL]),
                      .library = rh_intern(cells[CELL_LIBRARY]),
                      .kernel = {.cls = (uint8_t)kernel,
                                 .layout = (uint8_t)layout_of(cls),
                                 .dtype = (uint8_t)rh_dtype_by_name(cells[CELL_DTYPE]),
                                 .causal = v[CELL_CAUSAL] > 0,
                                 .heads = (int32_t)v[CELL_HEADS],
                                 .kv_heads = (int32_t)v[CELL_KV_HEADS],
                                 .batch = (int64_t)v[CELL_BATCH],
                                 .m = (int64_t)v[CELL_M],
                                 .n = (int64_t)v[CELL_N],
                                 .k = (int64_t)v[CELL_K],
                                 .flops = v[CELL_FLOPS],
                                 .bytes = v[CELL_BYTES]},
                      .seconds = v[CELL_SECONDS],
                      .low_s = v[CELL_LOW_S],
                      .high_s = v[CELL_HIGH_S],
                      .sm_hz = 1e6 * v[CELL_SM_MHZ],
                      .power_w = v[CELL_WATTS],
                      .repetitions = (int64_t)v[CELL_REPETITIONS],
                      .line = r->line};
}

/* Checks the dimensions that a kernel's model needs. */
static bool check_shape(const Reading *r, const RhRawRow *row)
{
    const RhKernel *k = &row->kernel;
    bool gemm = k->cls == RH_KERNEL_GEMM || row->cls == RK_GEMM_BESIDE_COPY ||
                row->cls == RK_SUSTAINED_GEMM || row->cls == RK_GROUPED_GEMM;
    bool attention = k->cls == RH_KERNEL_ATTENTION || k->cls == RH_KERNEL_ATTENTION_BACKWARD;
    const char *lack = (gemm || attention) && (k->m < 1 || k->n < 1 || k->k < 1) ? "m, n and k"
                       : attention && k->heads < 1                               ? "heads"
                       : k->cls != RH_KERNEL_NONE && !(k->bytes > 0)             ? "bytes"
                                                                                 : NULL;
    if (!lack)
        return true;
    return rh_fail(r->error, RH_ERROR_INPUT,
                   "%s:%d: %s needs %s above 0\nhelp: correct the line, or delete it", r->raw->name,
                   r->line, row->name, lack);
}

static bool check_interval(const Reading *r, const RhRawRow *row)
{
    bool unknown = row->low_s == 0 && row->high_s == 0;
    if (unknown || (row->low_s <= row->seconds && row->seconds <= row->high_s))
        return true;
    return rh_fail(r->error, RH_ERROR_INPUT,
                   "%s:%d: seconds %g do not lie within low_s %g and high_s %g\nhelp: correct the "
                   "line, or delete it; 0 and 0 are an unknown interval",
                   r->raw->name, r->line, row->seconds, row->low_s, row->high_s);
}

static void skip_unknown(RhRaw *raw, const char *name)
{
    const char *interned = rh_intern(name);
    raw->unknown_count++;
    if (!g_ptr_array_find(raw->unknown, interned, NULL))
        g_ptr_array_add(raw->unknown, (void *)interned);
}

/* Returns whether a kernel's time means nothing without its number format. */
static bool needs_format(const RhRawRow *row)
{
    RhKernelClass cls = row->kernel.cls;
    return cls == RH_KERNEL_GEMM || cls == RH_KERNEL_ATTENTION ||
           cls == RH_KERNEL_ATTENTION_BACKWARD || row->cls == RK_GEMM_BESIDE_COPY;
}

static bool read_row(const Reading *r, const char *text)
{
    g_auto(GStrv) cells = g_strsplit(text, ",", -1);
    double values[CELLS] = {0};
    if (g_strv_length(cells) != CELLS)
        return rh_fail(r->error, RH_ERROR_INPUT,
                       "%s:%d: %u cells, %d are wanted\nnote: " HEADER
                       "\nhelp: correct the line, or delete it",
                       r->raw->name, r->line, g_strv_length(cells), CELLS);
    for (int i = 0; i < CELLS; i++)
        if (columns[i].most > 0 && !read_number(r, i, cells[i], &values[i]))
            return false;
    RhRawRow row = row_of(r, (const char *const *)cells, values);
    bool known = row.cls != RK_CLASS_NONE || row.kernel.cls != RH_KERNEL_NONE;
    if (!known || (needs_format(&row) && row.kernel.dtype == RH_DTYPE_NONE)) {
        g_autofree char *name =
            known ? g_strdup_printf("%s %s", cells[CELL_KERNEL], cells[CELL_DTYPE])
                  : g_strdup(cells[CELL_KERNEL]);
        skip_unknown(r->raw, name);
        return true;
    }
    if (!check_shape(r, &row) || !check_interval(r, &row))
        return false;
    g_array_append_val(r->raw->rows, row);
    return true;
}

/* --- comment lines before the rows --- */

static bool read_count(const Reading *r, const char *key, const char *value, double most,
                       double *out)
{
    char *end = NULL;
    double x = g_ascii_strtod(value, &end);
    if (end == value || *end || !(x > 0) || x > most)
        return rh_fail(r->error, RH_ERROR_INPUT, "%s:%d: %s=%.40s is not a number above 0",
                       r->raw->name, r->line, key, value);
    *out = x;
    return true;
}

/* Reads "# key=value"; keys without meaning for a fit, and remarks, are skipped. */
static bool read_comment(const Reading *r, const char *text)
{
    RhRaw *raw = r->raw;
    const char *start = text + 1, *equals = strchr(start, '=');
    double number = 0;
    if (!equals)
        return true;
    g_autofree char *key = g_strstrip(g_strndup(start, (gsize)(equals - start)));
    g_autofree char *value = g_strstrip(g_strdup(equals + 1));
    if (strcmp(key, "device") == 0)
        raw->device = rh_intern(value);
    else if (strcmp(key, "date") == 0)
        raw->date = rh_intern(value);
    else if (strcmp(key, "complete") == 0)
        raw->cut = strcmp(value, "yes") != 0;
    else if (strcmp(key, "cublas") == 0 || strcmp(key, "cudnn") == 0 || strcmp(key, "blas") == 0) {
        g_autofree char *list = g_strdup_printf("%s%s%s %s", raw->library_versions,
                                                *raw->library_versions ? ", " : "", key, value);
        raw->library_versions = rh_intern(list);
    } else if (strcmp(key, "sms") == 0) {
        if (!read_count(r, key, value, 4096, &number))
            return false;
        raw->sms_count = (int32_t)number;
    } else if (strcmp(key, "hbm_bytes") == 0)
        return read_count(r, key, value, 1e15, &raw->hbm_bytes);
    else if (strcmp(key, "clock_mhz_max") == 0 && strcmp(value, "0") != 0) {
        if (!read_count(r, key, value, 1e5, &number))
            return false;
        raw->clock_most_hz = 1e6 * number;
    }
    return true;
}

static bool check_head(const Reading *r)
{
    const char *lack = *r->raw->device == 0 ? "device" : r->raw->sms_count == 0 ? "sms" : NULL;
    if (!lack)
        return true;
    return rh_fail(r->error, RH_ERROR_INPUT,
                   "%s:%d: no line \"# %s=...\" stands before the header\nhelp: add it; it says "
                   "which GPU the samples are of",
                   r->raw->name, r->line, lack);
}

static bool read_header(const Reading *r, const char *text)
{
    if (strcmp(text, HEADER) == 0)
        return check_head(r);
    return rh_fail(r->error, RH_ERROR_INPUT, "%s:%d: not the header of raw samples\nnote: " HEADER,
                   r->raw->name, r->line);
}

/* --- the file --- */

static bool begins_own(const char *text)
{
    size_t length = strlen(RH_RAW_FIRST_LINE);
    return strncmp(text, RH_RAW_FIRST_LINE, length) == 0 &&
           (text[length] == '\n' || text[length] == '\r' || text[length] == 0);
}

bool rh_raw_begins(const char *text)
{
    return begins_own(text) || rh_raw_table_begins(text);
}

static RhRaw *raw_new(const char *name)
{
    RhRaw *raw = g_new0(RhRaw, 1);
    raw->name = g_strdup(name);
    raw->device = raw->date = raw->library_versions = rh_intern("");
    raw->rows = g_array_new(FALSE, FALSE, sizeof(RhRawRow));
    raw->unknown = g_ptr_array_new();
    raw->cut = true;
    return raw;
}

/* Reads the lines. Without its end of line, the last one may have lost digits. */
static bool read_lines(RhRaw *raw, const char *text, GError **error)
{
    bool headed = false;
    Reading r = {raw, 0, error};
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (int i = 1; lines[i] && lines[i + 1]; i++) {
        const char *line = g_strchomp(lines[i]);
        r.line = i + 1;
        if (*line == 0)
            continue;
        bool fine = *line == '#' ? read_comment(&r, line)
                    : headed     ? read_row(&r, line)
                                 : read_header(&r, line);
        if (!fine)
            return false;
        headed = headed || *line != '#';
    }
    if (headed)
        return true;
    return rh_fail(error, RH_ERROR_INPUT,
                   "%s: cut before its header: there are no samples in it\nhelp: measure again",
                   raw->name);
}

RhRaw *rh_raw_parse(const char *name, const char *text, GError **error)
{
    g_return_val_if_fail(name != NULL && text != NULL, NULL);
    g_autoptr(RhRaw) raw = raw_new(name);
    if (rh_raw_table_begins(text))
        return rh_raw_table_read(raw, text, error) ? g_steal_pointer(&raw) : NULL;
    if (!begins_own(text)) {
        rh_fail(error, RH_ERROR_INPUT, "%s:1: the first line must be \"" RH_RAW_FIRST_LINE "\"",
                name);
        return NULL;
    }
    return read_lines(raw, text, error) ? g_steal_pointer(&raw) : NULL;
}

RhRaw *rh_raw_load(const char *path, GError **error)
{
    g_autofree char *text = rh_text_load(path, error);
    return text ? rh_raw_parse(path, text, error) : NULL;
}

void rh_raw_free(RhRaw *raw)
{
    if (!raw)
        return;
    g_free(raw->name);
    g_array_unref(raw->rows);
    g_ptr_array_unref(raw->unknown);
    g_free(raw);
}

bool rh_raw_is_stand_in(const RhRawRow *row)
{
    bool attention =
        row->kernel.cls != RH_KERNEL_NONE &&
        (row->kernel.cls == RH_KERNEL_ATTENTION || row->kernel.cls == RH_KERNEL_ATTENTION_BACKWARD);
    return attention && g_strcmp0(row->library, "own") == 0;
}

double rh_raw_clock_frac(const RhRaw *raw, const RhRawRow *row)
{
    return row->sm_hz > 0 && raw->clock_most_hz > 0 ? row->sm_hz / raw->clock_most_hz : 0;
}

char *rh_raw_describe(const RhRawRow *row)
{
    const RhKernel *k = &row->kernel;
    GString *out = g_string_new(row->name);
    if (k->dtype)
        g_string_append_printf(out, " %s", rh_dtype_name((RhDtype)k->dtype));
    if (k->batch > 1)
        g_string_append_printf(out, " batch=%" G_GINT64_FORMAT, k->batch);
    if (k->m > 0)
        g_string_append_printf(out,
                               " m=%" G_GINT64_FORMAT " n=%" G_GINT64_FORMAT " k=%" G_GINT64_FORMAT,
                               k->m, k->n, k->k);
    if (k->heads > 0)
        g_string_append_printf(out, " heads=%d", k->heads);
    if (k->m == 0)
        g_string_append_printf(out, " bytes=%.6g", k->bytes);
    g_string_append_printf(out, " (line %d)", row->line);
    return g_string_free(out, FALSE);
}
