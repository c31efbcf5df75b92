/* Lists of kernels for a real GPU: do they hold the work of the step they are named after? */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/json/json.h"
#include "tests/kit/testkit.h"
#include "validate/step_kernel_lists.h"
#include "validate/step_kernels_vs_model.h"
#include "workloads/model.h"

static double flops_of(const GArray *list, RhKernelClass cls)
{
    double flops = 0;
    for (guint i = 0; i < list->len; i++) {
        const RhListedKernel *l = &g_array_index(list, RhListedKernel, i);
        if (l->kernel.cls == cls)
            flops += l->kernel.flops * (double)l->count;
    }
    return flops;
}

/* Weights of one layer of llama-3.1-8b: q and out 4096^2 each, k and v 4096 x 1024, ffn 3 x 4096 x
 * 14336; forward, and twice that backward, 2 flops a weight and token. */
static void a_training_step_holds_every_product(void)
{
    g_autoptr(GArray) list = rh_step_list("llama-3.1-8b-tp2", NULL);
    double weights = 2 * 4096.0 * 4096 + 2 * 4096.0 * 1024 + 3 * 4096.0 * 14336;
    double layers = 8, tokens = 2 * 4096, tp = 2;
    RH_CHECK_CLOSE(flops_of(list, RH_KERNEL_GEMM), 6 * weights * tokens * layers / tp, 1e-9);
    /* causal: half of 4 s^2 h forward, 2.5 of that backward */
    double core = 4 * 4096.0 * 4096 * 4096 / 2 * 2 * layers / tp;
    RH_CHECK_CLOSE(flops_of(list, RH_KERNEL_ATTENTION), core, 1e-9);
    RH_CHECK_CLOSE(flops_of(list, RH_KERNEL_ATTENTION_BACKWARD), 2.5 * core, 1e-9);
}

static void a_decode_step_reads_weights_and_cache(void)
{
    g_autoptr(GArray) list = rh_step_list("decode-8b-b64-c4096", NULL);
    double weights = 2 * 4096.0 * 4096 + 2 * 4096.0 * 1024 + 3 * 4096.0 * 14336, gemm_bytes = 0,
           cache_bytes = 0;
    for (guint i = 0; i < list->len; i++) {
        const RhListedKernel *l = &g_array_index(list, RhListedKernel, i);
        gemm_bytes += l->kernel.cls == RH_KERNEL_GEMM ? l->kernel.bytes : 0;
        cache_bytes += l->kernel.cls == RH_KERNEL_ATTENTION ? l->kernel.bytes : 0;
    }
    RH_CHECK_CLOSE(flops_of(list, RH_KERNEL_GEMM), 2 * weights * 64 * 4, 1e-9);
    CU_ASSERT_TRUE(gemm_bytes > 2 * weights * 4 && gemm_bytes < 2.2 * weights * 4);
    /* keys and values of 8 heads of 128 */
    CU_ASSERT_TRUE(cache_bytes > 4 * 64 * 4096.0 * 2 * 1024 * 2);
}

static void experts_share_their_tokens(void)
{
    g_autoptr(GArray) list = rh_step_list("experts-mixtral-ep4", NULL);
    RH_CHECK_CLOSE(flops_of(list, RH_KERNEL_GEMM), 4 * 2 * 8192.0 * 3 * 4096 * 14336, 1e-9);
    g_autofree char *text = rh_kernel_list_text(list, NULL);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "grouped_gemm,bf16,2,8192,28672,4096,0,0,0,"));
}

static void a_list_cannot_say_two_head_sizes(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GArray) list = g_array_new(FALSE, TRUE, sizeof(RhListedKernel));
    RhListedKernel same = {.kernel = {.cls = RH_KERNEL_ATTENTION, .k = 128, .v_head = 128}};
    g_array_append_val(list, same);
    g_autofree char *text = rh_kernel_list_text(list, NULL);
    CU_ASSERT_PTR_NOT_NULL(text);
    RhListedKernel other = {.kernel = {.cls = RH_KERNEL_ATTENTION, .k = 192, .v_head = 128}};
    g_array_append_val(list, other);
    CU_ASSERT_PTR_NULL(rh_kernel_list_text(list, &error));
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
}

static void every_step_has_a_list(void)
{
    int steps = 0;
    for (const char *const *name = rh_step_names(); *name; name++, steps++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(GArray) list = rh_step_list(*name, &error);
        g_assert_no_error(error);
        CU_ASSERT_TRUE(list->len > 10);
        for (guint i = 0; i < list->len; i++)
            CU_ASSERT_TRUE(g_array_index(list, RhListedKernel, i).kernel.bytes > 0);
    }
    CU_ASSERT_TRUE(steps >= 20);
    CU_ASSERT_PTR_NULL(rh_step_list("nothing", NULL));
}

/* --- the loop, on samples that are made up: every kernel takes `slower` of its prediction --- */

#define RAW_HEADER                                                                                  \
    "# rehearse.raw/1\n# device=NVIDIA H200\n# sms=132\n"                                           \
    "kernel,dtype,batch,m,n,k,heads,kv_heads,causal,bytes,flops,library,repetitions,seconds,low_s," \
    "high_s,sm_mhz,watts\n"

static void put_sample(GString *out, const RhListedKernel *l, double seconds)
{
    const RhKernel *k = &l->kernel;
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    int64_t m = l->grouped ? k->m * k->batch : k->m;
    g_ascii_formatd(text, sizeof text, "%.9g", seconds);
    g_string_append_printf(out,
                           "%s,bf16,%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT
                           ",%" G_GINT64_FORMAT ",%d,%d,%d,%.0f,%.0f,library,9,%s,%s,%s,0,0\n",
                           rh_kernel_list_name(l), k->batch, m, k->n, k->k, k->heads, k->kv_heads,
                           k->causal, k->bytes, k->flops, text, text, text);
}

static char *made_up_folder(const char *name, const RhPlatform *p, double slower)
{
    g_autofree char *folder = g_dir_make_tmp("step-test-XXXXXX", NULL);
    g_autofree char *path = g_strdup_printf("%s/%s.raw.csv", folder, name);
    g_autoptr(GArray) list = rh_step_list(name, NULL);
    GString *text = g_string_new(RAW_HEADER);
    char whole[G_ASCII_DTOSTR_BUF_SIZE];
    double sum_s = 0;
    for (guint i = 0; i < list->len; i++) {
        const RhListedKernel *l = &g_array_index(list, RhListedKernel, i);
        double seconds = slower * rh_kernel_time_s(p->device, &l->kernel);
        put_sample(text, l, seconds);
        sum_s += seconds * (double)l->count;
    }
    g_ascii_formatd(whole, sizeof whole, "%.9g", sum_s);
    g_string_append_printf(text,
                           "sequence,bf16,0,0,9,0,0,0,0,0,0,own,9,%s,%s,%s,0,0\n# complete=yes\n",
                           whole, whole, whole);
    CU_ASSERT_TRUE(rh_file_write(path, text->str, text->len, NULL));
    g_string_free(text, TRUE);
    return g_steal_pointer(&folder);
}

static void check_loop(const char *name, double slower, guint missed_least, guint missed_most)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhPlatform) p = rh_platform_load("h200-sxm:1x1", NULL);
    g_autofree char *folder = made_up_folder(name, p, slower);
    RhStepOptions options = {.from = folder, .only = name}; /* the device is the samples' own */
    g_autoptr(RhValidation) v = rh_step_validate(&options, &error);
    g_assert_no_error(error);
    RhValidationFigures step = rh_validation_figures(v, "step");
    RhValidationFigures gemm = rh_validation_figures(v, "gemm");
    CU_ASSERT_EQUAL(step.count, 1);
    CU_ASSERT_TRUE(gemm.count > 3);
    RH_CHECK_CLOSE(step.median_abs_error_frac, fabs(1 / slower - 1), 1e-6);
    RH_CHECK_CLOSE(gemm.median_abs_error_frac, fabs(1 / slower - 1), 1e-6);
    CU_ASSERT_TRUE(v->missed->len >= missed_least && v->missed->len <= missed_most);
    g_autofree char *path = g_strdup_printf("%s/%s.raw.csv", folder, name);
    g_unlink(path);
    g_rmdir(folder);
}

static void errors_are_those_put_in(void)
{
    check_loop("llama-3.1-8b-tp8", 1.02, 0, 0);
    check_loop("gpt2-124m", 1.2, 3, 20); /* the step twice, and classes */
    check_loop("decode-8b-b16-c4096", 0.98, 0, 0);
}

static void steps_that_were_not_measured_are_skipped(void)
{
    RhStepOptions options = {.from = "/nowhere", .only = "decode"};
    g_autoptr(RhValidation) v = rh_step_validate(&options, NULL);
    RhValidationFigures all = rh_validation_figures(v, NULL);
    CU_ASSERT_TRUE(all.count == 0 && all.skipped_count == 16 && v->missed->len == 16);
}

int main(void)
{
    return rh_test_main(
        "step",
        (RhTest[]){
            {"a_training_step_holds_every_product", a_training_step_holds_every_product},
            {"a_decode_step_reads_weights_and_cache", a_decode_step_reads_weights_and_cache},
            {"experts_share_their_tokens", experts_share_their_tokens},
            {"a_list_cannot_say_two_head_sizes", a_list_cannot_say_two_head_sizes},
            {"every_step_has_a_list", every_step_has_a_list},
            {"errors_are_those_put_in", errors_are_those_put_in},
            {"steps_that_were_not_measured_are_skipped", steps_that_were_not_measured_are_skipped},
            {0}});
}
