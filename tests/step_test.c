/* Lists of kernels for a real GPU: do they hold the work of the step they are named after? */
#include <string.h>

#include "tests/testkit.h"
#include "validate/step_lists.h"
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
    g_autofree char *text = rh_step_list_text(list);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "grouped_gemm,bf16,2,8192,28672,4096,0,0,0,"));
}

static void every_step_has_a_list(void)
{
    int steps = 0;
    for (const char *const *name = rh_step_names(); *name; name++, steps++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(GArray) list = rh_step_list(*name, &error);
        g_assert_no_error(error);
        CU_ASSERT_TRUE(list->len > 10 && strlen(rh_step_about(*name)) > 0);
        for (guint i = 0; i < list->len; i++)
            CU_ASSERT_TRUE(g_array_index(list, RhListedKernel, i).kernel.bytes > 0);
    }
    CU_ASSERT_TRUE(steps >= 20);
    CU_ASSERT_PTR_NULL(rh_step_list("nothing", NULL));
}

int main(void)
{
    return rh_test_main(
        "step",
        (RhTest[]){{"a_training_step_holds_every_product", a_training_step_holds_every_product},
                   {"a_decode_step_reads_weights_and_cache", a_decode_step_reads_weights_and_cache},
                   {"experts_share_their_tokens", experts_share_their_tokens},
                   {"every_step_has_a_list", every_step_has_a_list},
                   {0}});
}
