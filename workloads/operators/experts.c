#include "workloads/operators/experts.h"

/* Every expert's matrix (k x n) is read, whoever asks for it. */
static void grouped_gemm(const RhExperts *e, int64_t n, int64_t k, GArray *out)
{
    double element = rh_dtype_bytes(e->dtype), weights = (double)(e->experts * n * k);
    RhKernel kernel = {.cls = RH_KERNEL_GEMM,
                       .dtype = (uint8_t)e->dtype,
                       .batch = e->experts,
                       .m = e->tokens / e->experts,
                       .n = n,
                       .k = k,
                       .flops = 2.0 * (double)(e->tokens * n * k),
                       .bytes = element * (weights + (double)(e->tokens * (n + k)))};
    g_array_append_val(out, kernel);
}

/* SwiGLU: reads gate and up, writes the product. */
static void activation(const RhExperts *e, GArray *out)
{
    RhKernel kernel = {.cls = RH_KERNEL_ACTIVATION,
                       .dtype = (uint8_t)e->dtype,
                       .bytes = 3.0 * rh_dtype_bytes(e->dtype) * (double)(e->tokens * e->ffn)};
    g_array_append_val(out, kernel);
}

void rh_experts_kernels(const RhExperts *e, GArray *out)
{
    g_return_if_fail(e != NULL && e->experts > 0 && out != NULL);
    grouped_gemm(e, 2 * e->ffn, e->hidden, out);
    activation(e, out);
    grouped_gemm(e, e->hidden, e->ffn, out);
}
