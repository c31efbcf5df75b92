/* Surfaces from published tables: what is read of them, and that a known law comes back. */
#include "base/interned_strings.h"
#include "calibrate/surfaces/surfaces_fit.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "tests/kit/testkit.h"

#define GEMM_HEADER "framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency\n"
#define GEMM        "TRTLLM,1.3.0rc20,NVIDIA H200,gemm,torch_flow,"
#define CAST_HEADER "framework,version,device,op_name,kernel_source,m,k,quant_dtype,latency\n"
#define ATTENTION_HEADER                                                                           \
    "framework,version,device,op_name,kernel_source,batch_size,isl,num_heads,"                     \
    "num_key_value_heads,head_dim,window_size,beam_width,attn_dtype,kv_cache_dtype,step,latency\n"
#define DECODE "VLLM,0.24.0,NVIDIA H200,generation_attention,fa3,"

/* A law with a step at 64 rows, as tiles make it, that no roofline has. */
static double law_s(double m, double n, double k)
{
    double compute_s = 2 * fmax(m, 64) * n * k / 500e12, memory_s = n * k / 3e12;
    return (4e-6 + fmax(compute_s, memory_s)) * (m > 64 ? 1.3 : 1);
}

static RhKernelTables *gemm_table(const char *format, double cast_s, double beside_s)
{
    static const int m_of[] = {1, 2, 8, 16, 17, 64, 65, 256, 512, 1024, 4096, 8192};
    g_autoptr(GString) text = g_string_new(GEMM_HEADER);
    for (int n = 64; n <= 16384; n *= 2)
        for (int k = 64; k <= 16384; k *= 2)
            for (size_t i = 0; i < G_N_ELEMENTS(m_of); i++) {
                double ms = 1e3 * (law_s(m_of[i], n, k) + cast_s + beside_s);
                g_string_append_printf(text, GEMM "%s,%d,%d,%d,%.9f\n", format, m_of[i], n, k, ms);
            }
    return rh_tables_parse("gemm_perf.csv", text->str, NULL);
}

static RhKernelTables *cast_table(const char *op, double seconds)
{
    g_autoptr(GString) text = g_string_new(CAST_HEADER);
    static const int m_of[] = {1, 2, 8, 16, 17, 64, 65, 256, 512, 1024, 4096, 8192};
    for (int k = 64; k <= 16384; k *= 2)
        for (size_t i = 0; i < G_N_ELEMENTS(m_of); i++)
            g_string_append_printf(text,
                                   "TRTLLM,1.3.0rc20,NVIDIA H200,%s,torch_ops,%d,%d,fp8,%.9f\n", op,
                                   m_of[i], k, 1e3 * seconds);
    return rh_tables_parse("casts.csv", text->str, NULL);
}

/* Takes the tables over. */
static RhSurfacesFit *fit_holding_out(RhKernelTables **tables, int count, double holdout_frac,
                                      GError **error)
{
    g_autoptr(GPtrArray) all = g_ptr_array_new_with_free_func((GDestroyNotify)rh_tables_free);
    for (int i = 0; i < count; i++) {
        CU_ASSERT_PTR_NOT_NULL_FATAL(tables[i]);
        g_ptr_array_add(all, tables[i]);
    }
    g_autoptr(RhDevice) device = rh_device_load("h200-sxm", NULL);
    return rh_surfaces_fit(all, device, holdout_frac, "2026-11", 0, error);
}

static RhSurfacesFit *fit_of(RhKernelTables **tables, int count, GError **error)
{
    return fit_holding_out(tables, count, 0.2, error);
}

static void a_law_comes_back_for_shapes_held_out(void)
{
    RhKernelTables *tables[] = {gemm_table("bfloat16", 0, 0)};
    g_autoptr(RhSurfacesFit) fit = fit_of(tables, 1, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fit);
    CU_ASSERT_TRUE_FATAL(fit->surfaces->len == 1 && fit->classes->len >= 4);
    const RhFitFigures *held = &g_array_index(fit->classes, RhSurfaceClass, 0).held_out;
    CU_ASSERT_TRUE(held->count >= 100 && held->mean_frac < 0.02 && held->p90_frac < 0.05);
    const RhSurface *s = g_ptr_array_index(fit->surfaces, 0);
    CU_ASSERT_EQUAL(s->dtype, RH_DTYPE_BF16);
    CU_ASSERT_TRUE(!s->casts_inside && strstr(s->source, "TRTLLM 1.3.0rc20") != NULL);
    RH_CHECK_CLOSE(s->error_mean_frac, held->mean_frac, 1e-12);
}

/* Times as a library has them that takes another kernel beyond some product of the sizes: no surface bends
 * so. */
static RhKernelTables *jumping_table(void)
{
    static const int m_of[] = {1, 2, 8, 16, 17, 64, 65, 256, 512, 1024, 4096, 8192};
    static const int side_of[] = {64, 96, 128, 256, 384, 512, 1024, 1536, 2048, 4096, 6144, 8192};
    g_autoptr(GString) text = g_string_new(GEMM_HEADER);
    for (size_t n = 0; n < G_N_ELEMENTS(side_of); n++)
        for (size_t k = 0; k < G_N_ELEMENTS(side_of); k++)
            for (size_t i = 0; i < G_N_ELEMENTS(m_of); i++) {
                double slow = (double)m_of[i] * side_of[n] > 3e5 && side_of[k] < 1000 ? 1.8 : 1;
                double ms = 1e3 * slow * law_s(m_of[i], side_of[n], side_of[k]);
                g_string_append_printf(text, GEMM "bfloat16,%d,%d,%d,%.9f\n", m_of[i], side_of[n],
                                       side_of[k], ms);
            }
    return rh_tables_parse("gemm_perf.csv", text->str, NULL);
}

static void jumps_are_told_by_trees(void)
{
    RhKernelTables *tables[] = {jumping_table()};
    g_autoptr(RhSurfacesFit) fit = fit_of(tables, 1, NULL);
    CU_ASSERT_TRUE_FATAL(fit && fit->surfaces->len == 1);
    const RhFitFigures *held = &g_array_index(fit->classes, RhSurfaceClass, 0).held_out;
    const RhSurface *s = g_ptr_array_index(fit->surfaces, 0);
    CU_ASSERT_TRUE(held->count >= 100 && held->mean_frac < 0.04 && held->p90_frac < 0.1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(s->trees);
    CU_ASSERT_TRUE(s->trees->roots->len == 16);
    CU_ASSERT_TRUE(s->trees->nodes->len < 2 * 1728 / 3); /* a leaf for three rows at most */
    RhKernelTables *again[] = {jumping_table()};
    g_autoptr(RhSurfacesFit) whole = fit_holding_out(again, 1, 0, NULL);
    CU_ASSERT_TRUE_FATAL(whole && whole->surfaces->len == 1);
    CU_ASSERT_PTR_NOT_NULL(((const RhSurface *)g_ptr_array_index(whole->surfaces, 0))->trees);
}

/* Returns the fitted seconds of 1,024 rows of a square matrix. */
static double seconds_at(const RhSurface *s, double side)
{
    g_autoptr(RhDevice) d = rh_device_load("h200-sxm", NULL);
    RhKernel k = {.cls = RH_KERNEL_GEMM,
                  .dtype = (uint8_t)s->dtype,
                  .batch = 1,
                  .m = 1024,
                  .n = (int64_t)side,
                  .k = (int64_t)side};
    return rh_surface_factor(s, &k, d->sms_count) *
           rh_surface_roof_s(s, &k, d->rates.peak_s_per_flop[s->dtype], d->rates.hbm_s_per_byte);
}

static void casts_that_were_timed_are_taken_off(void)
{
    RhKernelTables *with[] = {gemm_table("fp8", 7e-6, 2e-6), cast_table("compute_scale", 7e-6),
                              cast_table("scale_matrix", 2e-6)};
    RhKernelTables *without[] = {gemm_table("fp8", 7e-6, 2e-6)};
    g_autoptr(RhSurfacesFit) fit = fit_of(with, 3, NULL);
    g_autoptr(RhSurfacesFit) whole = fit_of(without, 1, NULL);
    CU_ASSERT_TRUE_FATAL(fit && whole && fit->surfaces->len == 1 && whole->surfaces->len == 1);
    const RhSurface *alone = g_ptr_array_index(fit->surfaces, 0);
    const RhSurface *layer = g_ptr_array_index(whole->surfaces, 0);
    CU_ASSERT_TRUE(!alone->casts_inside && layer->casts_inside);
    RH_CHECK_CLOSE(seconds_at(alone, 1024), law_s(1024, 1024, 1024), 0.03);
    RH_CHECK_CLOSE(seconds_at(layer, 1024), law_s(1024, 1024, 1024) + 9e-6, 0.03);
}

static void a_format_timed_with_launches_is_left_to_another_file(void)
{
    RhKernelTables *slow = gemm_table("fp8_block", 0, 60e-6), *good = gemm_table("fp8_block", 0, 0);
    RhKernelTables *tables[] = {slow, good};
    g_autoptr(RhSurfacesFit) fit = fit_of(tables, 2, NULL);
    CU_ASSERT_TRUE_FATAL(fit && fit->surfaces->len == 1 && fit->notes->len == 1);
    CU_ASSERT_TRUE(strstr(g_ptr_array_index(fit->notes, 0), "launches") != NULL);
    RH_CHECK_CLOSE(seconds_at(g_ptr_array_index(fit->surfaces, 0), 1024), law_s(1024, 1024, 1024),
                   0.03);
    RhKernelTables *only[] = {gemm_table("fp8_block", 0, 60e-6)};
    g_autoptr(GError) error = NULL;
    RhSurfacesFit *none = fit_of(only, 1, &error);
    CU_ASSERT_PTR_NULL(none);
    CU_ASSERT_TRUE(error && strstr(error->message, "launches") != NULL);
}

/* Decoding of `kernel`, `faster` times as fast as the memory of an H200 allows. */
static RhKernelTables *decode_table(const char *kernel, double faster)
{
    g_autoptr(GString) text = g_string_new(ATTENTION_HEADER);
    for (int heads = 8; heads <= 64; heads *= 2)
        for (int batch = 1; batch <= 256; batch *= 2)
            for (int n = 2; n <= 65536; n *= 2) {
                double s =
                    (heads > 16 ? 0 : 4e-6) + 2.0 * 2 * batch * 8 * 128 * n / 4.8e12 / faster;
                g_string_append_printf(text,
                                       "VLLM,0.24.0,NVIDIA H200,generation_attention,%s,%d,1,%d,8,"
                                       "128,0,1,bfloat16,bfloat16,%d,%.9f\n",
                                       kernel, batch, heads, n - 1, 1e3 * (s + 1e-6));
            }
    return rh_tables_parse("generation.csv", text->str, NULL);
}

static void caches_read_faster_than_memory_are_no_samples(void)
{
    RhKernelTables *wrong[] = {decode_table("fa3", 1.5)};
    g_autoptr(GError) error = NULL;
    RhSurfacesFit *none = fit_of(wrong, 1, &error);
    CU_ASSERT_PTR_NULL(none);
    CU_ASSERT_TRUE(error && strstr(error->message, "faster than memory") != NULL);
    RhKernelTables *tables[] = {decode_table("fa3", 1.5), decode_table("fa2", 0.8)};
    g_autoptr(RhSurfacesFit) fit = fit_of(tables, 2, NULL);
    CU_ASSERT_TRUE_FATAL(fit && fit->surfaces->len == 1);
    const RhFitFigures *held = &g_array_index(fit->classes, RhSurfaceClass, 0).held_out;
    CU_ASSERT_TRUE(held->mean_frac < 0.02);
}

/* The kernel with more rows is the one that the engine runs, of two kernels for the same shapes. */
static void kernels_of_one_table_are_not_mixed(void)
{
    RhKernelTables *table = decode_table("fa3", 0.8);
    guint count = table->rows->len;
    for (guint i = 0; i < count; i += 2) {
        RhTableSample other = g_array_index(table->rows, RhTableSample, i);
        other.source = rh_intern("triton");
        other.seconds *= 3;
        g_array_append_val(table->rows, other);
    }
    RhKernelTables *tables[] = {table};
    g_autoptr(RhSurfacesFit) fit = fit_of(tables, 1, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fit);
    const RhSurfaceClass *all = &g_array_index(fit->classes, RhSurfaceClass, 0);
    CU_ASSERT_EQUAL((guint)(all->fitted.count + all->held_out.count), count);
    CU_ASSERT_TRUE(all->held_out.p90_frac < 0.02);
}

static void attention_is_read_with_its_cache(void)
{
    g_autoptr(RhKernelTables) t = rh_tables_parse(
        "generation.csv",
        ATTENTION_HEADER DECODE "32,1,64,8,128,0,1,bfloat16,fp8,4095,0.25\n" DECODE
                                "32,1,64,0,128,0,1,bfloat16,bfloat16,4095,0.25\n" DECODE
                                "32,1,64,8,128,1024,1,bfloat16,bfloat16,4095,0.25\n",
        NULL);
    CU_ASSERT_TRUE_FATAL(t && t->rows->len == 2 && t->unknown_count == 1);
    const RhTableSample *row = &g_array_index(t->rows, RhTableSample, 0);
    CU_ASSERT_TRUE(row->kind == RH_SURFACE_DECODE && row->kernel.kv_dtype == RH_DTYPE_FP8);
    CU_ASSERT_TRUE(row->kernel.m == 1 && row->kernel.n == 4096 && row->kernel.kv_heads == 8);
    CU_ASSERT_EQUAL(g_array_index(t->rows, RhTableSample, 1).kernel.kv_heads,
                    64); /* 0: as queries */
    RH_CHECK_CLOSE(row->seconds, 0.25e-3, 1e-12);
}

/* Below 256 rows every number is read; above, none that is one more than whole tiles. */
static void rows_beyond_whole_tiles_are_left_out(void)
{
    g_autoptr(RhKernelTables) t = rh_tables_parse(
        "gemm_perf.csv",
        GEMM_HEADER GEMM "fp8,129,8192,8192,0.047\n" GEMM "fp8,256,8192,8192,0.034\n" GEMM
                         "fp8,257,8192,8192,0.073\n" GEMM "fp8,1024,8192,8192,0.109\n" GEMM
                         "fp8,1025,8192,8192,0.169\n" GEMM "fp8,1280,8192,8192,0.145\n",
        NULL);
    CU_ASSERT_TRUE_FATAL(t && t->rows->len == 4 && t->unknown_count == 2);
    for (guint i = 0; i < t->rows->len; i++) {
        int64_t m = g_array_index(t->rows, RhTableSample, i).kernel.m;
        CU_ASSERT(m == 129 || m % 256 == 0);
    }
}

#define MOE_HEADER                                                                                 \
    "framework,version,device,op_name,kernel_source,moe_dtype,num_tokens,hidden_size,inter_size,"  \
    "topk,num_experts,moe_tp_size,moe_ep_size,distribution,latency\n"
#define MOE "SGLang,0.5.14,NVIDIA H200,moe,triton,"

/* 8 tokens that ask 8 of 256 each ask 57: 256 (1 - (1 - 1/32)^8) = 57.4. */
static void experts_are_read_as_their_first_product(void)
{
    g_autoptr(RhKernelTables) t =
        rh_tables_parse("moe_perf.csv",
                        MOE_HEADER MOE "fp8_block,8,7168,2048,8,256,2,1,power_law_1.01,0.1\n" MOE
                                       "fp8_block,8,7168,2048,8,256,2,1,balanced,0.1\n" MOE
                                       "fp8_block,8,7168,2048,8,256,1,4,power_law_1.01,0.1\n" MOE
                                       "int2_wo,8,7168,2048,8,256,1,1,power_law_1.01,0.1\n",
                        NULL);
    CU_ASSERT_TRUE_FATAL(t && t->rows->len == 2 && t->unknown_count == 2);
    const RhTableSample *row = &g_array_index(t->rows, RhTableSample, 0);
    const RhKernel *k = &row->kernel;
    CU_ASSERT_TRUE(row->kind == RH_SURFACE_EXPERTS && k->grouped && k->dtype == RH_DTYPE_FP8);
    CU_ASSERT_TRUE(k->batch == 57 && k->m == 2 && k->n == 2048 && k->k == 7168);
    CU_ASSERT_EQUAL(k->flops, 2.0 * 64 * 2048 * 7168);
    CU_ASSERT_TRUE(!row->spread && g_array_index(t->rows, RhTableSample, 1).spread);
    CU_ASSERT_STRING_EQUAL(row->library, "triton");
}

/* Experts in NVFP4 by two libraries: `rows` of each of 8 numbers of tokens, the second takes three times as long. */
static RhKernelTables *experts_table(const char *kernel, int shapes, double times)
{
    static const int tokens_of[] = {1, 2, 4, 16, 64, 256, 1024, 4096};
    g_autoptr(GString) text = g_string_new(MOE_HEADER);
    for (size_t i = 0; i < G_N_ELEMENTS(tokens_of); i++)
        for (int shape = 1; shape <= shapes; shape++) {
            double bytes = 0.5 * 3 * 128.0 * shape * 64 * 4096, flops = 6.0 * tokens_of[i] * 8 * 64;
            double seconds = 6e-6 + bytes / 4e12 + flops * shape * 4096 / 4e14;
            g_string_append_printf(text,
                                   "TRTLLM,1.3.0rc20,NVIDIA H200,moe,%s,nvfp4,%d,4096,%d,8,128,1,1,"
                                   "power_law_1.01,%.9f\n",
                                   kernel, tokens_of[i], 64 * shape, 1e3 * times * seconds);
        }
    return rh_tables_parse("moe_perf.csv", text->str, NULL);
}

/* Each library has a surface of its own; that with most rows of the first file comes first, and a
 * second file has those that the first lacks. */
static void libraries_of_experts_are_not_mixed(void)
{
    RhKernelTables *tables[] = {experts_table("moe_torch_flow_cutlass", 40, 3),
                                experts_table("sglang_flashinfer_trtllm_moe", 40, 1)};
    RhKernelTables *few = experts_table("moe_torch_flow_min_latency", 30, 1);
    g_array_append_vals(tables[0]->rows, few->rows->data, few->rows->len);
    rh_tables_free(few);
    for (int i = 0; i < 400; i++) { /* of several ranks: these make no library the first */
        RhTableSample other = g_array_index(tables[0]->rows, RhTableSample, 320 + i % 200);
        other.spread = true;
        g_array_append_val(tables[0]->rows, other);
    }
    g_autoptr(RhSurfacesFit) fit = fit_of(tables, 2, NULL);
    CU_ASSERT_TRUE_FATAL(fit && fit->surfaces->len == 2);
    const RhSurface *first = g_ptr_array_index(fit->surfaces, 0),
                    *second = g_ptr_array_index(fit->surfaces, 1);
    CU_ASSERT_STRING_EQUAL(first->library, "cutlass");
    CU_ASSERT_STRING_EQUAL(second->library, "trtllm-gen");
    CU_ASSERT_TRUE(strstr(second->source, "TRTLLM 1.3.0rc20") != NULL);
    for (guint i = 0; i < fit->classes->len; i++)
        CU_ASSERT_TRUE(g_array_index(fit->classes, RhSurfaceClass, i).held_out.mean_frac < 0.1);
    CU_ASSERT_STRING_EQUAL(g_array_index(fit->classes, RhSurfaceClass, 0).name,
                           "experts nvfp4, cutlass");
}

/* One of two ranks that have 64 of 128 experts each. 1,024 tokens that ask 4: loads from 1 to 819 vary by 1.538 of
 * their mean, sums of 64 of them by 0.192, the larger of two is 0.589 of sqrt(1/2) of that above it: 1.08 x 2,048 rows. */
static void of_several_ranks_the_busiest_is_read(void)
{
    g_autoptr(RhKernelTables) t = rh_tables_parse(
        "moe_perf.csv",
        MOE_HEADER MOE "w4a8_mxfp4_mxfp8,1024,2880,2880,4,128,1,2,power_law_1.01,0.1\n" MOE
                       "w4a16_mxfp4,1,2880,2880,4,128,1,1,power_law_1.01,0.1\n",
        NULL);
    CU_ASSERT_TRUE_FATAL(t && t->rows->len == 2);
    const RhTableSample *row = &g_array_index(t->rows, RhTableSample, 0),
                        *other = &g_array_index(t->rows, RhTableSample, 1);
    const RhKernel *k = &row->kernel;
    CU_ASSERT_TRUE(row->spread && row->format == other->format && !other->spread);
    CU_ASSERT_STRING_EQUAL(row->format, "mxfp4");
    RH_CHECK_CLOSE((double)k->weight_bytes, 0.53125, 1e-9);
    CU_ASSERT_EQUAL(k->batch, 64);
    RH_CHECK_CLOSE(k->flops / (4.0 * 2880 * 2880), 1.08 * 2048, 0.003);
    CU_ASSERT_EQUAL(other->kernel.batch, 4);
}

static void what_is_wrong_is_said_with_its_place(void)
{
    static const struct {
        const char *text, *says;
    } wrong[] = {
        {"a,b\n1,2\n", "no table of kernels"},
        {GEMM_HEADER GEMM "fp8,1,64,64,none\n", "t.csv:2:"},
        {GEMM_HEADER GEMM "fp8,1.5,64,64,1\n", "is not a whole number"},
        {GEMM_HEADER GEMM "fp8,1,64,64,1\nX,1,NVIDIA B200,gemm,a,fp8,1,64,64,1\n", "another GPU"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(RhKernelTables) t = rh_tables_parse("t.csv", wrong[i].text, &error);
        CU_ASSERT_PTR_NULL(t);
        CU_ASSERT_TRUE(error && strstr(error->message, wrong[i].says) != NULL);
    }
    g_autoptr(GPtrArray) tables = g_ptr_array_new_with_free_func((GDestroyNotify)rh_tables_free);
    g_autoptr(RhDevice) other = rh_device_load("b200-sxm", NULL);
    g_autoptr(GError) error = NULL;
    g_ptr_array_add(tables, gemm_table("bfloat16", 0, 0));
    g_autoptr(RhSurfacesFit) fit = rh_surfaces_fit(tables, other, 0.2, "2026-11", 0, &error);
    CU_ASSERT_PTR_NULL(fit);
    CU_ASSERT_TRUE(error && strstr(error->message, "not of b200-sxm") != NULL);
}

int main(void)
{
    static const RhTest tests[] = {
        {"a law comes back for shapes held out", a_law_comes_back_for_shapes_held_out},
        {"jumps are told by trees", jumps_are_told_by_trees},
        {"casts that were timed are taken off", casts_that_were_timed_are_taken_off},
        {"a format timed with launches is left to another file",
         a_format_timed_with_launches_is_left_to_another_file},
        {"caches read faster than memory are no samples",
         caches_read_faster_than_memory_are_no_samples},
        {"kernels of one table are not mixed", kernels_of_one_table_are_not_mixed},
        {"rows beyond whole tiles are left out", rows_beyond_whole_tiles_are_left_out},
        {"attention is read with its cache", attention_is_read_with_its_cache},
        {"experts are read as their first product", experts_are_read_as_their_first_product},
        {"libraries of experts are not mixed", libraries_of_experts_are_not_mixed},
        {"of several ranks the busiest is read", of_several_ranks_the_busiest_is_read},
        {"what is wrong is said with its place", what_is_wrong_is_said_with_its_place},
        {NULL, NULL}};
    return rh_test_main("surfaces_fit", tests);
}
