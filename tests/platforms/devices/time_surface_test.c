/* Surfaces of measured kernel times: their closed form, which kernel goes by which, and their files. */
#include "base/interned_strings.h"
#include "platforms/devices/time_surface.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "platforms/profile.h"
#include "tests/kit/testkit.h"

static const double one[] = {1}, rows[] = {1, 16, 17, 64}, sides[] = {64, 1024};

static RhSurface *flat(RhSurfaceKind kind, RhDtype dtype, const char *format, double bytes,
                       double factor)
{
    const double *const nodes[] = {one, one, one};
    const int counts[] = {1, 1, 1};
    RhSurface *s = rh_surface_new(kind, nodes, counts, 1);
    s->dtype = dtype;
    s->format = rh_intern(format);
    s->operand_bytes = bytes;
    s->head = kind == RH_SURFACE_GEMM ? 0 : 128;
    s->launch_s = 3e-6;
    s->compute_frac = 0.7;
    s->memory_frac = 0.8;
    s->source = rh_intern("a test's own law");
    s->left[0] = 1;
    s->right[0] = rh_surface_rounded(log(factor));
    return s;
}

/* An H200 with the profile that holds these; takes them over. */
static RhPlatform *platform_with(RhSurface **surfaces, int count)
{
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
    rh_json_begin_object(w, NULL);
    rh_json_put_string(w, "schema", "rehearse.profile/1");
    rh_json_put_string(w, "device", "h200-sxm");
    rh_json_begin_object(w, "facts");
    rh_json_begin_array(w, "device.kernels");
    for (int i = 0; i < count; i++) {
        rh_surface_write(w, surfaces[i]);
        rh_surface_unref(surfaces[i]);
    }
    rh_json_end_array(w);
    rh_json_end_object(w);
    rh_json_end_object(w);
    g_autofree char *text = rh_json_writer_steal(w);
    g_autoptr(GError) error = NULL;
    g_autoptr(RhJson) doc = rh_json_parse("p.json", text, strlen(text), &error);
    g_autoptr(RhPlatform) p = rh_platform_load("h200-sxm:1x1", NULL);
    if (!p || !doc || !rh_platform_apply_profile_json(p, doc, &error))
        CU_FAIL_FATAL(error ? error->message : "no platform");
    return g_steal_pointer(&p);
}

static RhKernel gemm(RhDtype dtype, int64_t m, int64_t n, int64_t k)
{
    return (RhKernel){
        .cls = RH_KERNEL_GEMM, .dtype = (uint8_t)dtype, .batch = 1, .m = m, .n = n, .k = k};
}

static RhKernel attention(RhDtype cache, int64_t batch, int64_t m, int64_t n)
{
    return (RhKernel){.cls = RH_KERNEL_ATTENTION,
                      .dtype = RH_DTYPE_BF16,
                      .kv_dtype = (uint8_t)cache,
                      .causal = m > 1,
                      .heads = 8,
                      .kv_heads = 2,
                      .batch = batch,
                      .m = m,
                      .n = n,
                      .k = 128};
}

static double log_factor(const RhSurface *s, double x, double y, double z)
{
    RhSurfacePlace place;
    rh_surface_place(s, (double[]){x, y, z}, &place);
    return rh_surface_log_factor(s, &place);
}

static void factors_are_linear_between_nodes_and_flat_outside(void)
{
    const double *const nodes[] = {rows, sides, sides};
    const int counts[] = {4, 2, 2};
    g_autoptr(RhSurface) s = rh_surface_new(RH_SURFACE_GEMM, nodes, counts, 2);
    for (int i = 0; i < 4; i++) {
        s->left[2 * i] = 1;
        s->left[2 * i + 1] = i;
        for (int r = 0; r < 2; r++)
            s->right[2 * i + r] = 0.1 * (i + 1) + r;
    }
    RH_CHECK_CLOSE(log_factor(s, 1, 64, 64), 0.1, 1e-12);
    RH_CHECK_CLOSE(log_factor(s, 16, 64, 1024), 0.2 + 1.2, 1e-12);
    RH_CHECK_CLOSE(log_factor(s, 17, 1024, 1024), 0.4 + 2 * 1.4, 1e-12);
    RH_CHECK_CLOSE(log_factor(s, 4, 64, 64), 0.1 + 0.5 * 1.1, 1e-12); /* 2 of 4 octaves on */
    RH_CHECK_CLOSE(log_factor(s, 1, 256, 64), 0.1 + 0.5 * 0.2, 1e-12);
    RH_CHECK_CLOSE(log_factor(s, 1e9, 1e9, 1e9), 0.4 + 3 * 1.4, 1e-12);
    RH_CHECK_CLOSE(log_factor(s, 1e30, 1e30, 1e30), 0.4 + 3 * 1.4, 1e-12);
    RH_CHECK_CLOSE(log_factor(s, 0.1, 1, 1), 0.1, 1e-12);
}

static void counts_that_arrays_cannot_hold_make_no_surface(void)
{
    const double *const nodes[] = {one, one, one};
    CU_ASSERT_PTR_NULL(rh_surface_new(RH_SURFACE_GEMM, nodes, (int[]){0, 1, 1}, 1));
    CU_ASSERT_PTR_NULL(rh_surface_new(RH_SURFACE_GEMM, nodes, (int[]){1, 1, 1}, 13));
    CU_ASSERT_PTR_NULL(rh_surface_new(RH_SURFACE_GEMM, nodes, (int[]){1, 64, 64}, 1));
}

/* H200: 989 TFLOP/s of bf16, twice that of fp8, 4.8 TB/s. */
static double roof_s(double flops, double peak, double bytes)
{
    return 3e-6 + fmax(flops / (0.7 * peak), bytes / (0.8 * 4.8e12));
}

static void kernels_take_factor_times_roofline_once_surfaces_are_used(void)
{
    RhSurface *surfaces[] = {flat(RH_SURFACE_GEMM, RH_DTYPE_BF16, "bf16", 2, 1),
                             flat(RH_SURFACE_GEMM, RH_DTYPE_FP8, "fp8", 1, 2),
                             flat(RH_SURFACE_GEMM, RH_DTYPE_FP8, "fp8_block", 1, 4)};
    surfaces[2]->casts_inside = true;
    g_autoptr(RhPlatform) p = platform_with(surfaces, 3);
    g_autoptr(RhPlatform) bare = rh_platform_load("h200-sxm:1x1", NULL);
    RhKernel wide = gemm(RH_DTYPE_BF16, 8192, 8192, 8192), thin = gemm(RH_DTYPE_FP8, 1, 4096, 4096);
    double unused_s = rh_kernel_time_s(bare->device, &wide);
    RH_CHECK_CLOSE(rh_kernel_time_s(p->device, &wide), unused_s, 1e-12);
    CU_ASSERT_TRUE(rh_device_use_surfaces(p->device, "fp8"));
    double fp8_s = rh_kernel_time_s(p->device, &thin);
    RH_CHECK_CLOSE(rh_kernel_time_s(p->device, &wide), roof_s(2 * pow(8192, 3), 989e12, 0), 1e-3);
    RH_CHECK_CLOSE(fp8_s, 2 * roof_s(0, 1, 4097.0 * 4096 + 2 * 4096), 1e-3);
    CU_ASSERT_FALSE(rh_device_casts_inside(p->device, RH_DTYPE_FP8));
    CU_ASSERT_TRUE(rh_device_use_surfaces(p->device, "fp8_block"));
    RH_CHECK_CLOSE(rh_kernel_time_s(p->device, &thin), 2 * fp8_s, 2e-3);
    CU_ASSERT_TRUE(rh_device_casts_inside(p->device, RH_DTYPE_FP8));
    g_autoptr(RhDevice) copy = rh_device_copy(p->device);
    RH_CHECK_CLOSE(rh_kernel_time_s(copy, &thin), 2 * fp8_s, 2e-3);
    g_autoptr(RhCost) why = rh_kernel_explain(copy, &thin);
    RH_CHECK_CLOSE(why->value_s, 2 * fp8_s, 2e-3);
    CU_ASSERT_FALSE(rh_device_use_surfaces(p->device, "nvfp4"));
}

static void a_cache_of_8_bits_has_surfaces_of_its_own(void)
{
    RhSurface *surfaces[] = {flat(RH_SURFACE_DECODE, RH_DTYPE_BF16, "bf16", 2, 1),
                             flat(RH_SURFACE_DECODE, RH_DTYPE_BF16, "fp8", 1, 1)};
    g_autoptr(RhPlatform) p = platform_with(surfaces, 2);
    RhKernel wide = attention(RH_DTYPE_NONE, 64, 1, 8192);
    RhKernel narrow = attention(RH_DTYPE_FP8, 64, 1, 8192);
    CU_ASSERT_TRUE(rh_device_use_surfaces(p->device, NULL));
    double cache = 64.0 * 2 * 2 * 128 * 8192, rest = 64.0 * 2 * 8 * 2 * 128;
    RH_CHECK_CLOSE(rh_kernel_time_s(p->device, &wide), roof_s(0, 1, 2 * cache + rest), 1e-3);
    RH_CHECK_CLOSE(rh_kernel_time_s(p->device, &narrow), roof_s(0, 1, cache + rest), 1e-3);
    RhKernel small_head = wide;
    for (small_head.k = 64; small_head.k <= 256;
         small_head.k += 64) /* by the nearest that there is */
        CU_ASSERT_PTR_EQUAL(rh_device_surface(p->device, &small_head),
                            rh_device_surface(p->device, &wide));
    CU_ASSERT_PTR_NOT_NULL(rh_device_surface(p->device, &wide));
}

/* Experts' products go by a surface of their own; products of heads, which are batches as well, by the
 * form. */
static void grouped_products_have_a_surface_of_their_own(void)
{
    RhSurface *surfaces[] = {flat(RH_SURFACE_GEMM, RH_DTYPE_BF16, "bf16", 2, 1),
                             flat(RH_SURFACE_EXPERTS, RH_DTYPE_BF16, "bf16", 2, 2)};
    g_autoptr(RhPlatform) p = platform_with(surfaces, 2);
    RhKernel grouped = gemm(RH_DTYPE_BF16, 4, 2048, 4096);
    grouped.batch = 64;
    grouped.grouped = true;
    grouped.flops = 2.0 * 200 * 2048 * 4096; /* 200 rows: not all have 4 */
    RhKernel heads = grouped;
    heads.grouped = false;
    CU_ASSERT_PTR_NULL(rh_device_surface(p->device, &grouped));
    CU_ASSERT_TRUE(rh_device_use_surfaces(p->device, NULL));
    double bytes = 2 * (64.0 * 2048 * 4096 + 200.0 * 4096) + 2 * 200.0 * 2048;
    RH_CHECK_CLOSE(rh_kernel_time_s(p->device, &grouped), 2 * roof_s(0, 1, bytes), 1e-3);
    CU_ASSERT_PTR_NULL(rh_device_surface(p->device, &heads));
}

/* The first of several surfaces of a format counts, or that of the library asked for; one that is not there
 * changes nothing, and other formats stay. */
static void a_library_of_experts_can_be_chosen(void)
{
    static const struct {
        const char *library;
        bool there;
        double factor;
    } rows_of[] = {
        {NULL, false, 2}, {"trtllm-gen", true, 3}, {"triton", false, 2}, {"cutlass", true, 2}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows_of); i++) {
        RhSurface *surfaces[] = {flat(RH_SURFACE_EXPERTS, RH_DTYPE_BF16, "bf16", 2, 5),
                                 flat(RH_SURFACE_EXPERTS, RH_DTYPE_FP8, "fp8_block", 1, 2),
                                 flat(RH_SURFACE_EXPERTS, RH_DTYPE_FP8, "fp8_block", 1, 3)};
        surfaces[1]->library = rh_intern("cutlass");
        surfaces[2]->library = rh_intern("trtllm-gen");
        g_autoptr(RhPlatform) p = platform_with(surfaces, 3);
        RhKernel grouped = gemm(RH_DTYPE_FP8, 4, 2048, 4096),
                 wide = gemm(RH_DTYPE_BF16, 4, 2048, 4096);
        grouped.batch = wide.batch = 64;
        grouped.grouped = wide.grouped = true;
        grouped.flops = wide.flops = 2.0 * 200 * 2048 * 4096;
        if (rows_of[i].library)
            CU_ASSERT_EQUAL(rh_device_choose_experts(p->device, "fp8_block", rows_of[i].library),
                            rows_of[i].there);
        rh_device_use_surfaces(p->device, "fp8_block");
        double bytes = 64.0 * 2048 * 4096 + 200.0 * 4096 + 2 * 200.0 * 2048;
        RH_CHECK_CLOSE(rh_kernel_time_s(p->device, &grouped),
                       rows_of[i].factor * roof_s(0, 1, bytes), 1e-3);
        CU_ASSERT_PTR_NOT_NULL(rh_device_surface(p->device, &wide));
    }
}

/* A prompt in chunks is as long as the prompt, and each chunk longer than the one before. */
static void chunks_of_a_prompt_share_its_time(void)
{
    RhSurface *surfaces[] = {flat(RH_SURFACE_PREFILL, RH_DTYPE_BF16, "bf16", 2, 1)};
    surfaces[0]->launch_s = 0;
    g_autoptr(RhPlatform) p = platform_with(surfaces, 1);
    CU_ASSERT_TRUE(rh_device_use_surfaces(p->device, NULL));
    double sum_s = 0, before_s = 0;
    for (int64_t n = 8192; n <= 65536; n += 8192) {
        RhKernel chunk = attention(RH_DTYPE_NONE, 1, 8192, n);
        double s = rh_kernel_time_s(p->device, &chunk);
        CU_ASSERT_TRUE(s > before_s);
        sum_s += before_s = s;
    }
    RhKernel whole = attention(RH_DTYPE_NONE, 1, 65536, 65536);
    RH_CHECK_CLOSE(sum_s, rh_kernel_time_s(p->device, &whole), 1e-9);
}

/* Twice the time above 96 rows, half of it where the last wave of 128 x 128 tiles is nearly empty: on 132
 * SMs, 133 tiles take two waves. */
#define RULES "{\"cuts\":{\"m\":[96],\"128x128\":[0.6]},\"trees\":[\"a0 0 6931\",\"b0 -6931 0\"]}"

static void trees_are_asked_with_the_kernel_and_the_device(void)
{
    RhSurface *s = flat(RH_SURFACE_GEMM, RH_DTYPE_BF16, "bf16", 2, 1);
    g_autoptr(RhJson) doc = rh_json_parse("f.json", RULES, strlen(RULES), NULL);
    s->trees = rh_forest_read(doc, rh_json_root(doc), rh_surface_features_names(RH_SURFACE_GEMM));
    CU_ASSERT_PTR_NOT_NULL_FATAL(s->trees);
    double launch_s = s->launch_s;
    g_autoptr(RhPlatform) p = platform_with(&s, 1);
    CU_ASSERT_TRUE_FATAL(rh_device_use_surfaces(p->device, NULL));
    static const struct {
        int64_t m, n;
        double factor;
    } cases[] = {
        {64, 132 * 128, 1}, {128, 132 * 128, 2}, {128, 133 * 128, 1}, {64, 133 * 128, 0.5}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        RhKernel k = gemm(RH_DTYPE_BF16, cases[i].m, cases[i].n, 1024);
        double flops = 2.0 * (double)cases[i].m * (double)cases[i].n * 1024;
        double bytes = 2.0 * ((double)cases[i].m * 1024 + (double)cases[i].n * 1024 +
                              (double)cases[i].m * (double)cases[i].n);
        double work_s = fmax(flops * p->device->rates.peak_s_per_flop[RH_DTYPE_BF16] / 0.7,
                             bytes * p->device->rates.hbm_s_per_byte / 0.8);
        RH_CHECK_CLOSE(rh_kernel_time_s(p->device, &k), cases[i].factor * (launch_s + work_s),
                       1e-4);
    }
}

/* A mixture's two products are timed as one: trees could not tell them apart. */
static void experts_have_no_trees(void)
{
    CU_ASSERT_PTR_NULL(rh_surface_features_names(RH_SURFACE_EXPERTS)[0]);
    for (int kind = RH_SURFACE_GEMM; kind < RH_SURFACE_LAST; kind++) {
        int count = 0;
        while (rh_surface_features_names((RhSurfaceKind)kind)[count])
            count++;
        CU_ASSERT_TRUE(count <= RH_FOREST_FEATURES_MAX);
    }
}

static void a_wrong_surface_is_refused_with_its_place(void)
{
    static const struct {
        const char *from, *to, *says;
    } wrong[] = {
        {"\"gemm\"", "\"gems\"", "none whose times"},
        {"\"bf16\"", "\"bf61\"", "\"dtype\" must be"},
        {"\"rank\": 1", "\"rank\": 99", "rank"},
        {"\".693\"", "\".693 1\"", "expected 1 numbers"},
        {"\".693\"", "\"nan\"", "expected 1 numbers"},
        {"\"3us\"", "\"3h\"", "launch"},
    };
    g_autoptr(RhSurface) s = flat(RH_SURFACE_GEMM, RH_DTYPE_BF16, "bf16", 2, 2);
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
    rh_surface_write(w, s);
    g_autofree char *text = rh_json_writer_steal(w);
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autoptr(GString) changed = g_string_new(text);
        CU_ASSERT_TRUE_FATAL(g_string_replace(changed, wrong[i].from, wrong[i].to, 1) == 1);
        g_autoptr(RhJson) doc = rh_json_parse("s.json", changed->str, changed->len, NULL);
        g_autoptr(GError) error = NULL;
        g_autoptr(RhSurface) read = rh_surface_read(doc, rh_json_root(doc));
        CU_ASSERT_FALSE(rh_json_finish(doc, &error));
        CU_ASSERT_TRUE(error && strstr(error->message, wrong[i].says) != NULL);
        CU_ASSERT_TRUE(error && strstr(error->message, "s.json:") != NULL);
        CU_ASSERT_TRUE(read == NULL || read->rank == 1);
    }
}

int main(void)
{
    static const RhTest tests[] = {
        {"factors are linear between nodes and flat outside",
         factors_are_linear_between_nodes_and_flat_outside},
        {"counts that arrays cannot hold make no surface",
         counts_that_arrays_cannot_hold_make_no_surface},
        {"kernels take factor times roofline once surfaces are used",
         kernels_take_factor_times_roofline_once_surfaces_are_used},
        {"a cache of 8 bits has surfaces of its own", a_cache_of_8_bits_has_surfaces_of_its_own},
        {"grouped products have a surface of their own",
         grouped_products_have_a_surface_of_their_own},
        {"a library of experts can be chosen", a_library_of_experts_can_be_chosen},
        {"chunks of a prompt share its time", chunks_of_a_prompt_share_its_time},
        {"trees are asked with the kernel and the device",
         trees_are_asked_with_the_kernel_and_the_device},
        {"experts have no trees", experts_have_no_trees},
        {"a wrong surface is refused with its place", a_wrong_surface_is_refused_with_its_place},
        {NULL, NULL}};
    return rh_test_main("surface", tests);
}
