/* Raw samples and the fit of a GPU's constants: what was put in comes out. */
#include "calibrate/kernels/kernels_fit.h"

#include <string.h>

#include "base/error.h"
#include "platforms/platform_constants.h"
#include "platforms/profile.h"
#include "tests/kit/raw_kit.h"
#include "tests/kit/testkit.h"

/* --- the file --- */

#define ROW "gemm,bf16,1,128,256,512,0,0,0,458752,33554432,lt,9,1e-5,9e-6,1.1e-5,1980,300\n"

static void a_raw_file_is_read_as_it_stands(void)
{
    g_autoptr(RhRaw) raw = rh_raw_parse(
        "t.csv",
        KIT_HEAD
        "# remark\n" ROW "attention_backward,bf16,2,64,64,128,8,2,1,1000,2000,fa,3,2e-5,0,0,"
        "0,0\nlaunch_rate,none,0,0,0,0,0,0,0,0,0,own,9,2e-6,1e-6,3e-6,0,0\n# complete=yes\n",
        NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(raw);
    CU_ASSERT_STRING_EQUAL(raw->device, "synthetic");
    CU_ASSERT_TRUE(raw->sms_count == 132 && raw->rows->len == 3 && !raw->cut);
    const RhRawRow *gemm = &g_array_index(raw->rows, RhRawRow, 0);
    CU_ASSERT_TRUE(gemm->kernel.cls == RH_KERNEL_GEMM && gemm->cls == RK_GEMM);
    CU_ASSERT_TRUE(gemm->kernel.m == 128 && gemm->kernel.n == 256 && gemm->kernel.k == 512);
    CU_ASSERT_TRUE(gemm->seconds == 1e-5 && gemm->low_s == 9e-6 && gemm->sm_hz == 1.98e9);
    const RhRawRow *backward = &g_array_index(raw->rows, RhRawRow, 1);
    CU_ASSERT_EQUAL(backward->kernel.cls, RH_KERNEL_ATTENTION_BACKWARD);
    CU_ASSERT_TRUE(backward->kernel.causal && backward->kernel.kv_heads == 2);
    CU_ASSERT_EQUAL(g_array_index(raw->rows, RhRawRow, 2).cls, RK_LAUNCH_RATE);
}

static void a_file_cut_anywhere_keeps_its_whole_lines(void)
{
    const char *whole = KIT_HEAD ROW ROW "# complete=yes\n";
    size_t header_end = strlen(KIT_HEAD), row = strlen(ROW);
    for (size_t length = 0; length <= strlen(whole); length++) {
        g_autofree char *text = g_strndup(whole, length);
        g_autoptr(RhRaw) raw = rh_raw_parse("cut.csv", text, NULL);
        CU_ASSERT_EQUAL(raw != NULL, length >= header_end);
        if (!raw)
            continue;
        CU_ASSERT_EQUAL(raw->rows->len, MIN((length - header_end) / row, 2));
        CU_ASSERT_EQUAL(raw->cut, length < strlen(whole));
    }
}

static void kernels_that_are_not_known_are_counted_and_left_out(void)
{
    g_autoptr(RhRaw) raw =
        rh_raw_parse("t.csv",
                     KIT_HEAD ROW "conv,bf16,1,1,1,1,0,0,0,1,1,x,1,1e-5,0,0,0,0\n"
                                  "conv,bf16,1,1,1,1,0,0,0,1,1,x,1,1e-5,0,0,0,0\n"
                                  "gemm,nvfp4,1,1,1,1,0,0,0,1,1,x,1,1e-5,0,0,0,0\n",
                     NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(raw);
    CU_ASSERT_TRUE(raw->rows->len == 1 && raw->unknown_count == 3 && raw->unknown->len == 2);
    CU_ASSERT_STRING_EQUAL(g_ptr_array_index(raw->unknown, 1), "gemm nvfp4");
}

static void wrong_raw_files_are_refused_with_their_line(void)
{
    static const struct {
        const char *text, *where;
    } wrong[] = {
        {"kernel\n", ".csv:1:"},
        {RH_RAW_FIRST_LINE "\n# device=x\n# sms=0\n" KIT_HEADER, ".csv:3:"},
        {RH_RAW_FIRST_LINE "\n# sms=4\n" KIT_HEADER, ".csv:3:"},
        {RH_RAW_FIRST_LINE "\n# device=x\n# sms=4\nkernel,m\n", ".csv:4:"},
        {KIT_HEAD "gemm,bf16,1\n", ".csv:6:"},
        {KIT_HEAD ROW "gemm,bf16,1,0,4,4,0,0,0,9,9,x,1,1e-5,0,0,0,0\n", ".csv:7:"},
        {KIT_HEAD "gemm,bf16,1,4,4,4,0,0,0,9,9,x,1,-1e-5,0,0,0,0\n", ".csv:6:14:"},
        {KIT_HEAD "gemm,bf16,1,4,4,4,0,0,0,9,9,x,1,nan,0,0,0,0\n", ".csv:6:14:"},
        {KIT_HEAD "gemm,bf16,1,4,4,4,0,0,0,9,9,x,1,inf,0,0,0,0\n", ".csv:6:14:"},
        {KIT_HEAD "gemm,bf16,1,4,4,4,0,0,0,9,9,x,1,1e9,0,0,0,0\n", ".csv:6:14:"},
        {KIT_HEAD "gemm,bf16,1,4.5,4,4,0,0,0,9,9,x,1,1e-5,0,0,0,0\n", ".csv:6:4:"},
        {KIT_HEAD "gemm,bf16,1,1e30,4,4,0,0,0,9,9,x,1,1e-5,0,0,0,0\n", ".csv:6:4:"},
        {KIT_HEAD "gemm,bf16,1,4,4,4,0,0,0,9,9,x,1,1e-5,2e-5,3e-5,0,0\n", ".csv:6:"},
        {KIT_HEAD "attention,bf16,1,4,4,4,0,0,0,9,9,x,1,1e-5,0,0,0,0\n", ".csv:6:"},
        {KIT_HEAD "add,bf16,1,4,4,4,0,0,0,0,9,x,1,1e-5,0,0,0,0\n", ".csv:6:"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autoptr(GError) error = NULL;
        CU_ASSERT_PTR_NULL(rh_raw_parse("t.csv", wrong[i].text, &error));
        CU_ASSERT_TRUE_FATAL(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
        CU_ASSERT_PTR_NOT_NULL(strstr(error->message, wrong[i].where));
    }
}

/* --- the fit --- */

static const RhFitClass *find_class(const RhKernelsFit *fit, const char *name)
{
    for (guint i = 0; i < fit->classes->len; i++)
        if (strcmp(g_array_index(fit->classes, RhFitClass, i).name, name) == 0)
            return &g_array_index(fit->classes, RhFitClass, i);
    return NULL;
}

/* Copies tell no more than one row, and times of no kernel make no constants. */
static void rows_that_cannot_tell_are_refused(void)
{
    static const char row[] = "gemm,bf16,1,4096,4096,4096,0,0,0,1e8,137e9,own,9,2e-4,0,0,0,0\n";
    static const int64_t sides[] = {128, 512, 1024, 4096, 8192};
    g_autoptr(RhDevice) device = kit_device();
    g_autoptr(GString) copies = g_string_new(KIT_HEAD);
    g_autoptr(GString) absurd = g_string_new(KIT_HEAD);
    g_autoptr(GError) error = NULL;
    g_autoptr(GError) other = NULL;
    for (int i = 0; i < 50; i++)
        g_string_append(copies, row);
    for (int i = 0; i < 125; i++)
        g_string_append_printf(absurd, "gemm,bf16,1,%d,%d,%d,0,0,0,1e8,137e9,own,9,%s,0,0,0,0\n",
                               (int)sides[i % 5], (int)sides[i / 5 % 5], (int)sides[i / 25],
                               i % 2 ? "1e-8" : "1e4");
    g_autoptr(RhKernelsFit) host =
        kit_fit(KIT_HEAD "launch_rate,none,0,0,0,0,0,0,0,0,0,own,9,2.5e-6,2.4e-6,2.6e-6,0,0\n"
                         "copy_to_host_pinned,none,0,0,1,0,0,0,0,1e18,0,own,9,1e-9,0,0,0,0\n"
                         "copy_from_host_pinned,none,0,0,1,0,0,0,0,1e18,0,own,9,1e-9,0,0,0,0\n",
                device, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(host);
    CU_ASSERT_PTR_NULL(kit_fact(host, "host.bandwidth"));
    CU_ASSERT_PTR_NULL(kit_fit(copies->str, device, &error));
    CU_ASSERT_TRUE_FATAL(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
    CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "of 1 shape;"));
    CU_ASSERT_PTR_NULL(kit_fit(absurd->str, device, &other));
    CU_ASSERT_TRUE_FATAL(g_error_matches(other, RH_ERROR, RH_ERROR_INPUT));
    CU_ASSERT_PTR_NOT_NULL(strstr(other->message, "none is changed"));
}

static void fill_everything(KitRaw *kit)
{
    g_string_append(kit->text,
                    "launch_rate,none,0,0,0,0,0,0,0,0,0,own,9,2.5e-6,2.4e-6,2.6e-6,0,0\n"
                    "copy_to_host_pinned,none,0,0,1,0,0,0,0,1e9,0,own,9,0.02,0.019,0.021,0,0\n"
                    "copy_from_host_pinned,none,0,0,1,0,0,0,0,1e9,0,own,9,0.025,0.024,0.026,0,0\n");
    kit_streams(kit);
    kit_gemms(kit, RH_DTYPE_BF16, 12, 9);
    kit_gemms(kit, RH_DTYPE_FP16, 12, 3);
    kit_gemms(kit, RH_DTYPE_FP8, 12, 3);
    kit_attentions(kit, "attention", RH_KERNEL_ATTENTION);
    kit_attentions(kit, "attention_backward", RH_KERNEL_ATTENTION_BACKWARD);
}

/* Facts of `truth` by their path of --set. */
static double true_value(RhDevice *truth, const char *key)
{
    g_autoptr(RhPlatform) p = rh_platform_load("h200-sxm:1x1", NULL);
    RhFactRow row;
    rh_device_free(p->device);
    p->device = rh_device_copy(truth);
    return rh_facts_find(p, key, &row) ? rh_facts_at(p, &row)->value : (double)NAN;
}

static void known_constants_come_back_within_their_intervals(void)
{
    g_autoptr(RhDevice) truth = kit_device();
    g_autoptr(RhDevice) start = rh_device_load("h200-sxm", NULL);
    g_autoptr(GError) error = NULL;
    KitRaw kit = kit_raw(truth, 0.01);
    fill_everything(&kit);
    g_autoptr(RhKernelsFit) fit = kit_fit(kit.text->str, start, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fit);
    CU_ASSERT_EQUAL(fit->facts->len, 21);
    int32_t outside = 0;
    for (guint i = 0; i < fit->facts->len; i++) {
        const RhFittedFact *f = &g_array_index(fit->facts, RhFittedFact, i);
        if (strcmp(f->key, "host.bandwidth") == 0)
            continue;
        double value = true_value(truth, f->key);
        bool inside = f->fact.low <= value && value <= f->fact.high;
        if (!inside)
            fprintf(stderr, "  %s: %g outside %g .. %g\n", f->key, value, f->fact.low,
                    f->fact.high);
        outside += !inside;
        /* The tiles hide behind one another: k_split and rates of small ones are soft. */
        RH_CHECK_CLOSE(f->fact.value, value, 0.12);
        CU_ASSERT_TRUE(f->fact.low <= f->fact.value && f->fact.value <= f->fact.high);
    }
    CU_ASSERT_TRUE(outside <= 2); /* of 20 intervals of 95 %: one is to be expected */
    RH_CHECK_CLOSE(kit_fact(fit, "host.bandwidth")->fact.value, 4e10, 1e-9);
    CU_ASSERT_TRUE(find_class(fit, "gemm bf16 large")->held_out.count > 30);
    CU_ASSERT_TRUE(find_class(fit, "gemm bf16 large")->held_out.median_frac < 0.012);
    CU_ASSERT_TRUE(find_class(fit, "attention long")->held_out.median_frac < 0.02);
    CU_ASSERT_FALSE(fit->correction.kept); /* the form is all there is */
    kit_raw_clear(&kit);
}

static void a_cut_file_can_be_fitted_again(void)
{
    g_autoptr(RhDevice) truth = kit_device();
    KitRaw kit = kit_raw(truth, 0.01);
    fill_everything(&kit);
    for (int part = 3; part <= 4; part++) {
        g_autofree char *text = g_strndup(kit.text->str, kit.text->len * (size_t)part / 5);
        g_autoptr(RhKernelsFit) fit = kit_fit(text, truth, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(fit);
        RH_CHECK_CLOSE(kit_fact(fit, "device.gemm.bf16")->fact.value, 0.7, 0.02);
        CU_ASSERT_PTR_NOT_NULL(strstr(g_ptr_array_index(fit->notes, 0), "is not complete"));
    }
    kit_raw_clear(&kit);
}

/* The shapes held out depend on no order: the same rows backwards. */
static void what_is_held_out_depends_on_the_shape_alone(void)
{
    g_autoptr(RhDevice) truth = kit_device();
    KitRaw kit = kit_raw(truth, 0.01);
    kit_gemms(&kit, RH_DTYPE_BF16, 12, 6);
    g_auto(GStrv) lines = g_strsplit(kit.text->str + strlen(KIT_HEAD), "\n", -1);
    g_autoptr(GString) backwards = g_string_new(KIT_HEAD);
    for (guint i = g_strv_length(lines); i-- > 0;)
        if (*lines[i])
            g_string_append_printf(backwards, "%s\n", lines[i]);
    g_autoptr(RhRaw) a = rh_raw_parse("a.csv", kit.text->str, NULL);
    g_autoptr(RhRaw) b = rh_raw_parse("b.csv", backwards->str, NULL);
    g_autoptr(GArray) x = g_array_new(FALSE, FALSE, sizeof(RhFitRow));
    g_autoptr(GArray) y = g_array_new(FALSE, FALSE, sizeof(RhFitRow));
    rh_fit_rows_add(x, a, RH_KERNEL_GEMM, RH_DTYPE_BF16, 0.2);
    rh_fit_rows_add(y, b, RH_KERNEL_GEMM, RH_DTYPE_BF16, 0.2);
    CU_ASSERT_EQUAL_FATAL(x->len, y->len);
    guint held = 0;
    for (guint i = 0; i < x->len; i++) {
        const RhFitRow *p = &g_array_index(x, RhFitRow, i),
                       *q = &g_array_index(y, RhFitRow, y->len - 1 - i);
        CU_ASSERT_EQUAL(p->held_out, q->held_out);
        CU_ASSERT_EQUAL(p->sample.seconds, q->sample.seconds);
        held += p->held_out;
    }
    CU_ASSERT_TRUE(held > x->len / 20 && held < x->len / 2);
    kit_raw_clear(&kit);
}

/* Casts in the times: three parts of four are not the product. */
static double padded(const RhKernel *k)
{
    return k->dtype == RH_DTYPE_FP8 ? 1 + 3e7 / (double)(k->m * k->k) : 1;
}

static void a_peak_that_describes_nothing_is_dropped(void)
{
    g_autoptr(RhDevice) truth = kit_device();
    KitRaw kit = kit_raw(truth, 0.01);
    kit.factor = padded;
    kit_gemms(&kit, RH_DTYPE_BF16, 12, 6);
    kit_gemms(&kit, RH_DTYPE_FP8, 12, 3);
    g_autoptr(RhKernelsFit) fit = kit_fit(kit.text->str, truth, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fit);
    CU_ASSERT_PTR_NULL(kit_fact(fit, "device.gemm.fp8"));
    CU_ASSERT_EQUAL(fit->device->curves.gemm_peak_frac[RH_DTYPE_FP8].value, 0.5);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(g_ptr_array_index(fit->notes, fit->notes->len - 1), "none is changed"));
    kit_raw_clear(&kit);
}

/* --- the correction --- */

/* Bends a time as no form of tiles does: slower with wide n, quicker with deep k. */
static double bend(const RhKernel *k)
{
    if (k->cls != RH_KERNEL_GEMM)
        return 1;
    return exp(0.25 * sin(log2((double)k->n) - 9) - 0.03 * (log2((double)k->k) - 10));
}

static void a_correction_is_kept_where_it_pays(void)
{
    g_autoptr(RhDevice) truth = kit_device();
    KitRaw kit = kit_raw(truth, 0.01);
    kit.factor = bend;
    kit_gemms(&kit, RH_DTYPE_BF16, 12, 9);
    g_autoptr(RhKernelsFit) fit = kit_fit(kit.text->str, truth, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fit);
    CU_ASSERT_TRUE_FATAL(fit->correction.kept);
    CU_ASSERT_TRUE(fit->correction.with_frac < 0.8 * fit->correction.without_frac);
    const RhFitClass *with = find_class(fit, "gemm bf16 large"),
                     *without = find_class(fit, "gemm bf16 large, form");
    CU_ASSERT_PTR_NOT_NULL_FATAL(without);
    CU_ASSERT_TRUE(with->held_out.median_frac < 0.8 * without->held_out.median_frac);
    RhKernel gemm = {.cls = RH_KERNEL_GEMM,
                     .dtype = RH_DTYPE_FP16,
                     .batch = 1,
                     .m = 4096,
                     .n = 512,
                     .k = 4096,
                     .bytes = 1e7};
    double factor = rh_gemm_correction_factor(&fit->device->correction, gemm.m, gemm.n, gemm.k);
    double corrected_s = rh_kernel_time_s(fit->device, &gemm);
    g_autoptr(RhCost) why = rh_kernel_explain(fit->device, &gemm);
    CU_ASSERT_TRUE(rh_cost_check(why, 1e-9));
    CU_ASSERT_PTR_NOT_NULL(rh_cost_find(why, "correction, by shape"));
    fit->device->correction.dtype = RH_DTYPE_NONE;
    rh_device_refresh(fit->device);
    RH_CHECK_CLOSE(corrected_s, factor * rh_kernel_time_s(fit->device, &gemm), 1e-12);
    kit_raw_clear(&kit);
}

static void a_correction_is_continuous_and_between_its_nodes(void)
{
    RhGemmCorrection c = {.dtype = RH_DTYPE_BF16};
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    for (int i = 0; i < RH_CORRECTION_NODES; i++)
        c.factors[i] = 0.5 + gsl_rng_uniform(rng);
    double last = rh_gemm_correction_factor(&c, 1, 700, 1500);
    for (int64_t m = 2; m < 70000; m++) {
        double factor = rh_gemm_correction_factor(&c, m, 700, 1500);
        CU_ASSERT_TRUE_FATAL(factor > 0.5 && factor < 1.5);
        /* No jump: a step of m moves at most as far as an octave's slope allows. */
        CU_ASSERT_TRUE_FATAL(fabs(factor - last) <= 0.5 / (double)(m - 1) + 1e-12);
        last = factor;
    }
    RH_CHECK_CLOSE(rh_gemm_correction_factor(&c, 4, 256, 1024),
                   c.factors[(1 * RH_CORRECTION_N + 1) * RH_CORRECTION_K + 2], 1e-12);
    RH_CHECK_CLOSE(rh_gemm_correction_factor(&c, 1 << 30, 1, 1),
                   c.factors[(RH_CORRECTION_M - 1) * RH_CORRECTION_N * RH_CORRECTION_K], 1e-12);
    gsl_rng_free(rng);
}

/* --- the profile --- */

/* The profile says of which shapes it is, and they are those of the samples. */
static void check_shapes(const RhKernelsFit *fit, const RhDevice *device)
{
    for (int kind = 0; kind < RH_CALIBRATED_RANGE_LAST; kind++) {
        const RhCalibratedRange *own = &fit->device->curves.shapes[kind],
                                *read = &device->curves.shapes[kind];
        CU_ASSERT_PTR_NOT_NULL_FATAL(own->source);
        CU_ASSERT_STRING_EQUAL(read->source, own->source);
        for (int axis = 0; rh_calibrated_range_axis_name((RhCalibratedKind)kind, axis); axis++) {
            CU_ASSERT_EQUAL(read->low[axis], own->low[axis]);
            CU_ASSERT_EQUAL(read->high[axis], own->high[axis]);
            CU_ASSERT_TRUE(own->low[axis] < own->high[axis]);
        }
    }
}

static void a_profile_makes_a_platform_what_was_fitted(void)
{
    g_autoptr(RhDevice) truth = kit_device();
    g_autoptr(GError) error = NULL;
    KitRaw kit = kit_raw(truth, 0.01);
    kit.factor = bend;
    fill_everything(&kit);
    g_autoptr(RhKernelsFit) fit = kit_fit(kit.text->str, truth, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fit);
    g_autofree char *text = rh_kernels_fit_profile(fit, fit->device->name, NULL);
    g_autoptr(RhJson) doc = rh_json_parse("gpu.json", text, strlen(text), NULL);
    g_autoptr(RhPlatform) p = rh_platform_load("h200-sxm:8x1", NULL);
    CU_ASSERT_TRUE_FATAL(rh_platform_set(p, "device.sustained_clock", "1", NULL));
    CU_ASSERT_TRUE_FATAL(rh_platform_apply_profile_json(p, doc, &error));
    for (int64_t m = 8; m <= 8192; m *= 4) {
        RhKernel k = {.cls = RH_KERNEL_GEMM,
                      .dtype = RH_DTYPE_BF16,
                      .batch = 1,
                      .m = m,
                      .n = 3000,
                      .k = 5000,
                      .bytes = 3e7};
        RH_CHECK_CLOSE(rh_kernel_time_s(p->device, &k), rh_kernel_time_s(fit->device, &k), 1e-4);
    }
    const RhFact *peak = &p->device->curves.gemm_peak_frac[RH_DTYPE_BF16];
    CU_ASSERT_TRUE(peak->tag == RH_TAG_FITTED && peak->low < peak->value &&
                   peak->value < peak->high);
    CU_ASSERT_PTR_NOT_NULL(strstr(peak->source, "synthetic"));
    CU_ASSERT_STRING_EQUAL(peak->date, "2026-11");
    CU_ASSERT_PTR_NOT_NULL(strstr(p->profile, "gpu.json: synthetic.csv"));
    check_shapes(fit, p->device);
    g_autoptr(RhJson) again = rh_json_parse("gpu.json", text, strlen(text), NULL);
    g_autoptr(RhPlatform) other = rh_platform_load("dgx-h100", NULL);
    CU_ASSERT_FALSE(rh_platform_apply_profile_json(other, again, &error));
    CU_ASSERT_TRUE_FATAL(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
    CU_ASSERT_TRUE(strstr(error->message, "h100-sxm") && strstr(error->message, "h200-sxm"));
    kit_raw_clear(&kit);
}

static void profiles_that_would_divide_by_zero_are_refused(void)
{
    static const char *const facts[] = {"device.gemm.memory", "device.gemm.k_split",
                                        "device.gemm.tile.64x64", "device.memory"};
    for (size_t i = 0; i < G_N_ELEMENTS(facts); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(RhPlatform) p = rh_platform_load("h200-sxm:8x1", NULL);
        g_autofree char *text = g_strdup_printf(
            "{\"schema\": \"rehearse.profile/1\", \"facts\": {\"%s\": {\"value\": 0, \"tag\": "
            "\"fitted\", \"source\": \"x\"}}}",
            facts[i]);
        g_autoptr(RhJson) doc = rh_json_parse("p.json", text, strlen(text), NULL);
        CU_ASSERT_FALSE(rh_platform_apply_profile_json(p, doc, &error));
        CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
    }
}

static void the_samples_tell_their_device(void)
{
    static const struct {
        const char *marketing, *name;
        double hbm_bytes;
    } known[] = {{"NVIDIA H200", "h200-sxm", 0},
                 {"NVIDIA H100 80GB HBM3", "h100-sxm", 85e9},
                 {"NVIDIA A100-SXM4-40GB", "a100-sxm-40", 42e9},
                 {"NVIDIA A100-SXM4-80GB", "a100-sxm-80", 85e9},
                 {"NVIDIA A100-PCIE-40GB", "a100-pcie-40", 42e9},
                 {"NVIDIA H100 PCIe", "h100-pcie", 85e9},
                 {"NVIDIA H100 NVL", "h100-nvl", 99e9},
                 {"NVIDIA H200 NVL", "h200-nvl", 150e9},
                 {"NVIDIA B200", "b200-sxm", 0},
                 {"NVIDIA GB200", "gb200", 0},
                 {"NVIDIA GH200 480GB", "gh200-96", 101e9},
                 {"Tesla V100-SXM2-32GB", "v100-sxm-32", 34e9},
                 {"NVIDIA L4", "l4", 0},
                 {"NVIDIA L40S", "l40s", 0},
                 {"NVIDIA GeForce RTX 4090", "rtx-4090", 0},
                 {"NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx-pro-6000", 0},
                 {"synthetic", NULL, 0}};
    for (size_t i = 0; i < G_N_ELEMENTS(known); i++) {
        g_autoptr(GError) error = NULL;
        RhRaw raw = {
            .name = (char *)"t.csv", .device = known[i].marketing, .hbm_bytes = known[i].hbm_bytes};
        const char *name = rh_kernels_fit_device_name(&raw, &error);
        CU_ASSERT_EQUAL(g_strcmp0(name, known[i].name), 0);
        CU_ASSERT_EQUAL(name == NULL, error != NULL);
    }
}

static void samples_of_another_gpu_are_refused(void)
{
    static const char *const heads[] = {"# device=NVIDIA H100\n# sms=132\n",
                                        "# device=synthetic\n# sms=108\n"};
    g_autoptr(RhDevice) h200 = rh_device_load("h200-sxm", NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(heads); i++) {
        g_autoptr(GError) error = NULL;
        g_autofree char *text = g_strconcat(RH_RAW_FIRST_LINE "\n", heads[i], KIT_HEADER ROW, NULL);
        CU_ASSERT_PTR_NULL(kit_fit(text, h200, &error));
        CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
    }
}

static void held_sms_and_experts_are_predicted(void)
{
    g_autoptr(RhDevice) truth = kit_device();
    KitRaw kit = kit_raw(truth, 0.01);
    kit_gemms(&kit, RH_DTYPE_BF16, 12, 4);
    RhKernel gemm = {.cls = RH_KERNEL_GEMM,
                     .dtype = RH_DTYPE_BF16,
                     .batch = 1,
                     .m = 8192,
                     .n = 4096,
                     .k = 4096,
                     .bytes = 1.7e8};
    kit_row(&kit, "gemm", &gemm);
    gemm.heads = 33; /* a quarter of 132: 4/3 of the time */
    double alone_s = rh_kernel_time_s(truth, &gemm);
    char slowed[32];
    g_ascii_formatd(slowed, sizeof slowed, "%.6g", alone_s * 4 / 3);
    g_string_append_printf(
        kit.text, "gemm_beside_copy,bf16,1,8192,4096,4096,33,0,0,1,1,own,9,%s,0,0,0,0\n", slowed);
    g_autoptr(RhKernelsFit) fit = kit_fit(kit.text->str, truth, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fit);
    const RhFitClass *held = find_class(fit, "gemm beside SMs held");
    CU_ASSERT_PTR_NOT_NULL_FATAL(held);
    CU_ASSERT_TRUE(held->predicted && held->held_out.count == 1);
    CU_ASSERT_TRUE(held->held_out.median_frac < 0.05);
    kit_raw_clear(&kit);
}

int main(void)
{
    static const RhTest tests[] = {
        {"a raw file is read as it stands", a_raw_file_is_read_as_it_stands},
        {"a file cut anywhere keeps its whole lines", a_file_cut_anywhere_keeps_its_whole_lines},
        {"kernels that are not known are counted and left out",
         kernels_that_are_not_known_are_counted_and_left_out},
        {"wrong raw files are refused with their line",
         wrong_raw_files_are_refused_with_their_line},
        {"known constants come back within their intervals",
         known_constants_come_back_within_their_intervals},
        {"a cut file can be fitted again", a_cut_file_can_be_fitted_again},
        {"what is held out depends on the shape alone",
         what_is_held_out_depends_on_the_shape_alone},
        {"a peak that describes nothing is dropped", a_peak_that_describes_nothing_is_dropped},
        {"a correction is kept where it pays", a_correction_is_kept_where_it_pays},
        {"a correction is continuous and between its nodes",
         a_correction_is_continuous_and_between_its_nodes},
        {"a profile makes a platform what was fitted", a_profile_makes_a_platform_what_was_fitted},
        {"profiles that would divide by zero are refused",
         profiles_that_would_divide_by_zero_are_refused},
        {"the samples tell their device", the_samples_tell_their_device},
        {"rows that cannot tell are refused", rows_that_cannot_tell_are_refused},
        {"samples of another GPU are refused", samples_of_another_gpu_are_refused},
        {"held SMs and experts are predicted", held_sms_and_experts_are_predicted},
        {NULL, NULL}};
    return rh_test_main("kernels_fit", tests);
}
