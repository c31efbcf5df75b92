#include "platforms/devices/kernels_to_measure.h"

#include "base/error.h"

const char *rh_kernel_list_name(const RhListedKernel *l)
{
    static const char *const layouts[] = {[RH_GEMM_LINEAR] = "gemm",
                                          [RH_GEMM_INPUT_GRADIENT] = "gemm_nn",
                                          [RH_GEMM_WEIGHT_GRADIENT] = "gemm_nt"};
    if (l->grouped)
        return "grouped_gemm";
    return l->kernel.cls == RH_KERNEL_GEMM ? layouts[l->kernel.layout]
                                           : rh_kernel_class_name((RhKernelClass)l->kernel.cls);
}

static void put_row(GString *out, const RhListedKernel *l)
{
    const RhKernel *k = &l->kernel;
    char flops[G_ASCII_DTOSTR_BUF_SIZE], bytes[G_ASCII_DTOSTR_BUF_SIZE];
    /* a grouped GEMM counts the tokens of all experts */
    int64_t m = l->grouped ? k->m * k->batch : k->m;
    g_string_append_printf(out,
                           "%s,%s,%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT
                           ",%" G_GINT64_FORMAT ",%d,%d,%d,%s,%s,%" G_GINT64_FORMAT "\n",
                           rh_kernel_list_name(l), rh_dtype_name((RhDtype)k->dtype), k->batch, m,
                           k->n, k->k, k->heads, k->kv_heads, k->causal,
                           g_ascii_formatd(bytes, sizeof bytes, "%.0f", k->bytes),
                           g_ascii_formatd(flops, sizeof flops, "%.0f", k->flops), l->count);
}

char *rh_kernel_list_text(const GArray *list, GError **error)
{
    for (guint i = 0; i < list->len; i++) {
        const RhKernel *k = &g_array_index(list, RhListedKernel, i).kernel;
        if (rh_kernel_v_head(k) != k->k) {
            rh_fail(error, RH_ERROR_INPUT,
                    "attention with keys of %" G_GINT64_FORMAT " and values of %d columns a head "
                    "cannot be performed: rehearse-kernels has one head size",
                    k->k, k->v_head);
            return NULL;
        }
    }
    GString *out =
        g_string_new("# rehearse.kernels/1\n"
                     "kernel,dtype,batch,m,n,k,heads,kv_heads,causal,bytes,flops,count\n");
    for (guint i = 0; i < list->len; i++)
        put_row(out, &g_array_index(list, RhListedKernel, i));
    return g_string_free(out, FALSE);
}
