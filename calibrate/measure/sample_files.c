#include "calibrate/measure/sample_files.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RAW_MAGIC   "# rehearse.raw/1"
#define LIST_MAGIC  "# rehearse.kernels/1"
#define SHAPE       "kernel,dtype,batch,m,n,k,heads,kv_heads,causal,bytes,flops"
#define LINE_BYTES  1024
#define LIST_FIELDS 12

/* --- Writing --- */

/* Writes a number without printf, which follows the locale; files do not. */
static void format_number(char *out, size_t size, int digits, double value)
{
    snprintf(out, size, "%.*g", digits, value);
    for (char *c = out; *c != '\0'; c++)
        if (*c == ',')
            *c = '.';
}

/* Writes a driver's text: without line breaks, and with separators removed. */
static void text_key(FILE *file, const char *key, const char *value)
{
    if (value[0] == '\0')
        return;
    fprintf(file, "# %s=", key);
    for (const char *c = value; *c != '\0'; c++)
        fputc(*c == '\n' || *c == '\r' ? ' ' : *c, file);
    fputc('\n', file);
}

static void number_key(FILE *file, const char *key, double value)
{
    char digits[32];
    if (!(value > 0))
        return;
    format_number(digits, sizeof digits, 15, value);
    fprintf(file, "# %s=%s\n", key, digits);
}

bool rk_raw_write_head(FILE *file, const RkRawHead *head)
{
    fputs(RAW_MAGIC "\n", file);
    text_key(file, "device", head->device);
    number_key(file, "sms", head->sms);
    number_key(file, "sm_major", head->sm_major);
    fprintf(file, "# sm_minor=%d\n", head->sm_minor);
    number_key(file, "hbm_bytes", head->hbm_bytes);
    number_key(file, "l2_bytes", head->l2_bytes);
    number_key(file, "clock_mhz_max", head->clock_mhz_max);
    number_key(file, "memory_clock_mhz", head->memory_clock_mhz);
    text_key(file, "driver", head->driver);
    text_key(file, "cuda", head->cuda);
    text_key(file, "cublas", head->cublas);
    text_key(file, "cudnn", head->cudnn);
    text_key(file, "nccl", head->nccl);
    text_key(file, "blas", head->blas);
    text_key(file, "date", head->date);
    text_key(file, "host_cpu", head->host_cpu);
    fputs(SHAPE ",library,repetitions,seconds,low_s,high_s,sm_mhz,watts\n", file);
    return fflush(file) == 0;
}

static void shape(FILE *file, const char *kernel, const RkSample *s)
{
    char bytes[32], flops[32];
    format_number(bytes, sizeof bytes, 15, s->bytes);
    format_number(flops, sizeof flops, 15, s->flops);
    fprintf(file, "%s,%s,%lld,%lld,%lld,%lld,%d,%d,%d,%s,%s", kernel, rh_dtype_name(s->dtype),
            (long long)s->batch, (long long)s->m, (long long)s->n, (long long)s->k, s->heads,
            s->kv_heads, s->causal, bytes, flops);
}

static bool row_of(FILE *file, const char *kernel, const RkRawRow *row)
{
    const double values[] = {row->seconds.median, row->seconds.low, row->seconds.high, row->sm_mhz,
                             row->watts};
    shape(file, kernel, &row->sample);
    fprintf(file, ",%s,%zu", row->library, row->seconds.count);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char digits[32];
        format_number(digits, sizeof digits, 9, values[i]);
        fprintf(file, ",%s", digits);
    }
    fputc('\n', file);
    return fflush(file) == 0;
}

bool rk_raw_write_row(FILE *file, const RkRawRow *row)
{
    return row_of(file, rk_class_name(row->sample.cls), row);
}

bool rk_raw_write_whole(FILE *file, const char *kernel, int64_t launches, const RkRawRow *row)
{
    RkRawRow whole = *row;
    whole.sample = (RkSample){.dtype = row->sample.dtype, .n = launches};
    return row_of(file, kernel, &whole);
}

bool rk_raw_write_end(FILE *file, bool complete)
{
    fprintf(file, "# complete=%s\n", complete ? "yes" : "no");
    return fflush(file) == 0;
}

bool rk_raw_write_grid(FILE *file, const RkSamples *samples)
{
    fputs(LIST_MAGIC "\n" SHAPE ",count\n", file);
    for (size_t i = 0; i < samples->count; i++) {
        shape(file, rk_class_name(samples->items[i].cls), &samples->items[i]);
        fputs(",1\n", file);
    }
    return fflush(file) == 0 && ferror(file) == 0;
}

/* --- Reading a list --- */

typedef struct {
    const char *file;
    int line;
    char *why;
    size_t why_size;
} Reader;

static bool fail_line(const Reader *reader, int field, const char *what, const char *value)
{
    if (field >= 0)
        snprintf(reader->why, reader->why_size, "%s:%d: column %d, \"%.40s\": %s", reader->file,
                 reader->line, field + 1, value, what);
    else
        snprintf(reader->why, reader->why_size, "%s:%d: %s", reader->file, reader->line, what);
    return false;
}

/* Reads the next line without its end; false at the end of the file or when `why` was filled. */
static bool next_line(Reader *reader, FILE *file, char line[LINE_BYTES])
{
    if (fgets(line, LINE_BYTES, file) == NULL)
        return false;
    reader->line++;
    size_t length = strlen(line);
    if (length == LINE_BYTES - 1 && line[length - 1] != '\n')
        return fail_line(reader, -1, "the line is longer than 1,022 characters", "");
    line[strcspn(line, "\r\n")] = '\0';
    return true;
}

static int split(char *line, char *fields[LIST_FIELDS + 1])
{
    int count = 0;
    for (char *next = line; next != NULL && count <= LIST_FIELDS; count++) {
        fields[count] = next;
        next = strchr(next, ',');
        if (next != NULL)
            *next++ = '\0';
    }
    return count;
}

static bool whole_number(const Reader *reader, char *const *fields, int field, int64_t max,
                         int64_t *out)
{
    char *end;
    errno = 0;
    long long value = strtoll(fields[field], &end, 10);
    if (end == fields[field] || *end != '\0' || errno != 0 || value < 0 || value > max)
        return fail_line(reader, field, "not a whole number in range", fields[field]);
    *out = value;
    return true;
}

/* Reads digits, point and exponent without strtod, which would expect the locale's comma. */
static bool real_number(const Reader *reader, char *const *fields, int field, double max,
                        double *out)
{
    const char *c = fields[field];
    double value = 0;
    int exponent = 0, digits = 0;
    for (; *c >= '0' && *c <= '9'; c++, digits++)
        value = 10 * value + (*c - '0');
    if (*c == '.')
        for (c++; *c >= '0' && *c <= '9'; c++, digits++, exponent--)
            value = 10 * value + (*c - '0');
    if (digits > 0 && (*c == 'e' || *c == 'E')) {
        char *end;
        long power = strtol(c + 1, &end, 10);
        exponent += power > 400 ? 400 : power < -400 ? -400 : (int)power;
        c = end > c + 1 ? end : c;
    }
    value *= pow(10, exponent);
    if (digits == 0 || *c != '\0' || !(value <= max))
        return fail_line(reader, field, "not a number in range", fields[field]);
    *out = value;
    return true;
}

#define SIDE_MAX  ((int64_t)1 << 40)
#define BYTES_MAX 1e15
#define FLOPS_MAX 1e21

static bool listed_numbers(const Reader *reader, char *const *fields, RkListed *out)
{
    RkSample *s = &out->sample;
    int64_t heads, kv_heads, causal;
    if (!whole_number(reader, fields, 2, SIDE_MAX, &s->batch) ||
        !whole_number(reader, fields, 3, SIDE_MAX, &s->m) ||
        !whole_number(reader, fields, 4, SIDE_MAX, &s->n) ||
        !whole_number(reader, fields, 5, SIDE_MAX, &s->k) ||
        !whole_number(reader, fields, 6, INT32_MAX, &heads) ||
        !whole_number(reader, fields, 7, INT32_MAX, &kv_heads) ||
        !whole_number(reader, fields, 8, 1, &causal) ||
        !real_number(reader, fields, 9, BYTES_MAX, &s->bytes) ||
        !real_number(reader, fields, 10, FLOPS_MAX, &s->flops) ||
        !whole_number(reader, fields, 11, SIDE_MAX, &out->count))
        return false;
    s->heads = (int32_t)heads;
    s->kv_heads = (int32_t)kv_heads;
    s->causal = causal == 1;
    return out->count > 0 || fail_line(reader, 11, "a kernel runs at least once", fields[11]);
}

static bool shape_complete(const RkSample *s)
{
    switch ((int)s->cls) {
    case RK_GEMM:
    case RK_GEMM_NN:
    case RK_GEMM_NT:
    case RK_GROUPED_GEMM:
        return s->batch > 0 && s->m > 0 && s->n > 0 && s->k > 0;
    case RK_ATTENTION:
    case RK_ATTENTION_BACKWARD:
        return s->batch > 0 && s->m > 0 && s->n > 0 && s->k > 0 && s->heads > 0 && s->kv_heads > 0;
    default:
        return true;
    }
}

static bool listed(const Reader *reader, char *line, RkListed *out)
{
    char *fields[LIST_FIELDS + 1];
    if (split(line, fields) != LIST_FIELDS)
        return fail_line(reader, -1, "12 columns are wanted: " SHAPE ",count", "");
    *out = (RkListed){.count = 0};
    out->sample.cls = rk_class_by_name(fields[0]);
    out->sample.dtype = rh_dtype_by_name(fields[1]);
    if (out->sample.cls == RK_CLASS_NONE || out->sample.cls > RK_PERMUTE)
        return fail_line(reader, 0, "no kernel class of a list", fields[0]);
    if (out->sample.dtype == RH_DTYPE_NONE || out->sample.dtype == RH_DTYPE_FP4)
        return fail_line(reader, 1, "no dtype (fp32, tf32, fp16, bf16, fp8)", fields[1]);
    if (!listed_numbers(reader, fields, out))
        return false;
    out->shape = out->sample;
    if (!shape_complete(&out->shape) || !rk_sample_shape_from_bytes(&out->shape))
        return fail_line(reader, -1, "neither the shape nor the bytes of the kernel are given", "");
    return true;
}

static bool append(RkList *list, size_t *capacity, RkListed item)
{
    if (list->count == *capacity) {
        size_t wanted = *capacity > 0 ? 2 * *capacity : 64;
        RkListed *items = (RkListed *)realloc(list->items, wanted * sizeof *items);
        if (items == NULL)
            return false;
        list->items = items;
        *capacity = wanted;
    }
    list->items[list->count++] = item;
    return true;
}

static bool read_rows(Reader *reader, FILE *file, RkList *list)
{
    char line[LINE_BYTES];
    size_t capacity = 0;
    while (next_line(reader, file, line)) {
        RkListed item;
        if (line[0] == '#' || line[0] == '\0')
            continue;
        if (!listed(reader, line, &item))
            return false;
        if (!append(list, &capacity, item))
            return fail_line(reader, -1, "no memory for the list", "");
    }
    if (reader->why[0] == '\0' && list->count == 0)
        return fail_line(reader, -1, "the list holds no kernel", "");
    return reader->why[0] == '\0';
}

/* Reads the header; comment lines may stand before it. */
static bool read_header(Reader *reader, FILE *file)
{
    char line[LINE_BYTES];
    if (!next_line(reader, file, line) || strcmp(line, LIST_MAGIC) != 0)
        return reader->line = 1,
               fail_line(reader, -1, "the first line must be \"" LIST_MAGIC "\"", "");
    while (next_line(reader, file, line))
        if (line[0] != '#')
            return strcmp(line, SHAPE ",count") == 0 ||
                   fail_line(reader, -1, "the header must be \"" SHAPE ",count\"", "");
    return fail_line(reader, -1, "the header is missing", "");
}

bool rk_list_read(FILE *file, const char *name, RkList *out, char *why, size_t why_size)
{
    Reader reader = {.file = name, .why = why, .why_size = why_size};
    RkList list = {NULL, 0};
    why[0] = '\0';
    if (!read_header(&reader, file) || !read_rows(&reader, file, &list)) {
        rk_list_clear(&list);
        return false;
    }
    *out = list;
    return true;
}

void rk_list_clear(RkList *list)
{
    free(list->items);
    *list = (RkList){NULL, 0};
}
