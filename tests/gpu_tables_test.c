/* The fit against published operator tables (aiconfigurator 095f58a51, CSV), which lie in the folder
 * that REHEARSE_TABLES names: SYSTEM/gemm/..., SYSTEM/attention/... Without it the test is skipped,
 * with exit status 77, and says so.
 *
 * Bars are what the method is to do, set before it was tried: shapes held out within 4 % in the
 * mean and 10 % at the 90th percentile where a dense table was fitted (GEMMs that training is made
 * of), and within 10 % in the median by the physical form alone, of every class. What other GEMMs
 * with the correction reach is printed beside the first bar: they do not, docs/model-calibration.md
 * says by how much. */
#include <gio/gio.h>
#include <stdio.h>
#include <string.h>

#include "tests/raw_kit.h"
#include "tests/testkit.h"

#define CACHE_S                                                                                    \
    12e-6 /* launch and key-value cache in the attention tables: docs/model-kernels.md */

#define MEAN_BAR   0.04
#define P90_BAR    0.10
#define MEDIAN_BAR 0.10 /* of the physical form */

typedef struct {
    const char *folder, *gemm, *attention; /* files below the tables' folder */
    const char *marketing, *device;
    int32_t sms_count;
    bool misses; /* its GEMMs are known to miss the bar: the test fails when they no longer do */
} System;

static const System systems[] = {
    {"a100_sxm", "gemm/trtllm/1.0.0/gemm_perf.csv.gz",
     "attention/sglang/0.5.10/context_attention_perf.csv.gz", "NVIDIA A100", "a100-sxm-80", 108,
     .misses = true},
    {"h200_sxm", "gemm/trtllm/1.3.0rc20/gemm_perf.csv.gz",
     "attention/vllm/0.24.0/context_attention_perf.csv.gz", "NVIDIA H200", "h200-sxm", 132,
     .misses = false},
};

/* NULL: no folder is named. */
static char *tables_file(const char *folder, const char *file)
{
    const char *tables = g_getenv("REHEARSE_TABLES");
    return tables ? g_build_filename(tables, folder, file, NULL) : NULL;
}

static char *gunzipped(const char *path)
{
    char chunk[65536];
    g_autoptr(GFile) file = g_file_new_for_path(path);
    g_autoptr(GFileInputStream) raw = g_file_read(file, NULL, NULL);
    if (!raw)
        return NULL;
    g_autoptr(GZlibDecompressor) gunzip = g_zlib_decompressor_new(G_ZLIB_COMPRESSOR_FORMAT_GZIP);
    g_autoptr(GInputStream) stream =
        g_converter_input_stream_new(G_INPUT_STREAM(raw), G_CONVERTER(gunzip));
    GString *text = g_string_new(NULL);
    for (gssize got; (got = g_input_stream_read(stream, chunk, sizeof chunk, NULL, NULL)) > 0;)
        g_string_append_len(text, chunk, got);
    return g_string_free(text, FALSE);
}

/* A cell by the name of its column; "" when there is none. */
static const char *cell(char **names, char **cells, const char *name)
{
    for (int i = 0; names[i] && cells[i]; i++)
        if (strcmp(names[i], name) == 0)
            return cells[i];
    return "";
}

static int64_t whole(char **names, char **cells, const char *name)
{
    return g_ascii_strtoll(cell(names, cells, name), NULL, 10);
}

static void put(GString *out, const char *kernel, const RhKernel *k, double seconds)
{
    char time[32], bytes[32];
    g_ascii_formatd(time, sizeof time, "%.9g", seconds);
    g_ascii_formatd(bytes, sizeof bytes, "%.0f", k->bytes);
    g_string_append_printf(out,
                           "%s,bf16,%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT
                           ",%" G_GINT64_FORMAT ",%d,%d,%d,%s,0,table,1,%s,0,0,0,0\n",
                           kernel, k->batch, k->m, k->n, k->k, k->heads, k->kv_heads, k->causal,
                           bytes, time);
}

static void put_gemm(GString *out, char **names, char **cells)
{
    RhKernel k = {.batch = 1,
                  .m = whole(names, cells, "m"),
                  .n = whole(names, cells, "n"),
                  .k = whole(names, cells, "k")};
    k.bytes = 2.0 * (double)(k.m * k.k + k.k * k.n + k.m * k.n);
    if (strcmp(cell(names, cells, "gemm_dtype"), "bfloat16") == 0 && k.n >= 64 && k.k >= 64)
        put(out, "gemm", &k, 1e-3 * g_ascii_strtod(cell(names, cells, "latency"), NULL));
}

/* Causal self-attention of training: whole sequences, no window, grouped queries. */
static void put_attention(GString *out, char **names, char **cells)
{
    int64_t s = whole(names, cells, "isl");
    RhKernel k = {.causal = true,
                  .batch = whole(names, cells, "batch_size"),
                  .m = s,
                  .n = s,
                  .k = whole(names, cells, "head_dim"),
                  .heads = (int32_t)whole(names, cells, "num_heads"),
                  .kv_heads = (int32_t)whole(names, cells, "num_key_value_heads")};
    k.kv_heads = k.kv_heads ? k.kv_heads : k.heads;
    k.bytes = 4.0 * (double)(k.batch * s * k.k) * (k.heads + k.kv_heads);
    bool bf16 = strcmp(cell(names, cells, "attn_dtype"), "bfloat16") == 0 &&
                strcmp(cell(names, cells, "kv_cache_dtype"), "bfloat16") == 0;
    double seconds = 1e-3 * g_ascii_strtod(cell(names, cells, "latency"), NULL) - CACHE_S;
    if (bf16 && whole(names, cells, "window_size") == 0 && whole(names, cells, "step") == 0 &&
        s >= 1024 && k.k <= 128 && 4 * k.kv_heads <= k.heads && seconds > 0)
        put(out, "attention", &k, seconds);
}

typedef void (*PutFunc)(GString *out, char **names, char **cells);

static bool convert(GString *out, const char *folder, const char *file, PutFunc put_row)
{
    g_autofree char *path = tables_file(folder, file);
    g_autofree char *text = gunzipped(path);
    if (!text)
        return false;
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_auto(GStrv) names = g_strsplit(lines[0], ",", -1);
    for (char **line = lines + 1; *line; line++) {
        g_auto(GStrv) cells = g_strsplit(*line, ",", -1);
        if (**line)
            put_row(out, names, cells);
    }
    return true;
}

static const RhFitFigures *held_out(const RhKernelsFit *fit, const char *name)
{
    for (guint i = 0; i < fit->classes->len; i++) {
        const RhFitClass *c = &g_array_index(fit->classes, RhFitClass, i);
        if (strcmp(c->name, name) != 0)
            continue;
        const RhFitFigures *f = &c->held_out;
        printf("\n    %s %s: held out %d, median %.1f %%, mean %.1f %%, p90 %.1f %%",
               fit->device->name, name, f->count, 100 * f->median_frac, 100 * f->mean_frac,
               100 * f->p90_frac);
        CU_ASSERT_TRUE(f->count >= 150);
        return f;
    }
    CU_FAIL_FATAL("the class is reported");
    return NULL;
}

static void check_form(const RhKernelsFit *fit, const char *name)
{
    CU_ASSERT_TRUE(held_out(fit, name)->median_frac <= MEDIAN_BAR);
}

static void check_corrected(const RhKernelsFit *fit, const char *name, bool misses)
{
    const RhFitFigures *f = held_out(fit, name);
    bool met = f->mean_frac <= MEAN_BAR && f->p90_frac <= P90_BAR;
    if (!met)
        printf(": MISSES mean %.0f %%, p90 %.0f %%", 100 * MEAN_BAR, 100 * P90_BAR);
    CU_ASSERT_EQUAL(met, !misses);
}

static void check_system(const System *s)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_printf(text, RH_RAW_FIRST_LINE "\n# device=%s\n# sms=%d\n" KIT_HEADER, s->marketing,
                    s->sms_count);
    if (!convert(text, s->folder, s->gemm, put_gemm) ||
        !convert(text, s->folder, s->attention, put_attention)) {
        fprintf(stderr, "  no tables of %s in $REHEARSE_TABLES\n", s->folder);
        CU_FAIL("the tables are there");
        return;
    }
    g_autoptr(RhDevice) device = rh_device_load(s->device, NULL);
    g_autoptr(GPtrArray) raws = g_ptr_array_new_with_free_func((GDestroyNotify)rh_raw_free);
    g_ptr_array_add(raws, rh_raw_parse("tables.csv", text->str, NULL));
    CU_ASSERT_PTR_NOT_NULL_FATAL(g_ptr_array_index(raws, 0));
    g_autoptr(RhKernelsFit) fit = rh_kernels_fit(raws, device, 0.2, "2026-11-21", 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fit);
    CU_ASSERT_TRUE(fit->correction.kept);
    check_corrected(fit, "gemm bf16 large", s->misses);
    held_out(fit, "gemm bf16 medium");
    held_out(fit, "gemm bf16 small");
    check_form(fit, "gemm bf16 large, form");
    check_form(fit, "gemm bf16 medium, form");
    check_form(fit, "gemm bf16 small, form");
    check_form(fit, "attention long");
}

static void shapes_held_out_of_published_tables_stay_under_their_bars(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(systems); i++)
        check_system(&systems[i]);
}

int main(void)
{
    if (!g_getenv("REHEARSE_TABLES")) {
        puts("skipped: REHEARSE_TABLES names no folder of operator tables");
        return 77;
    }
    static const RhTest tests[] = {{"shapes held out of published tables stay under their bars",
                                    shapes_held_out_of_published_tables_stay_under_their_bars},
                                   {NULL, NULL}};
    return rh_test_main("gpu_tables", tests);
}
