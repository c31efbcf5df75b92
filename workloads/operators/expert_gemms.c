/* Products of all experts of a rank. */
#include "workloads/operators/expert_gemms.h"

/* Emits a product of all experts as one kernel, or one after another with a kernel each. */
static void push_product(RhOps *ops, RhKernel kernel)
{
    int64_t count = ops->shard->experts_apart ? kernel.batch : 1;
    if (count > 1) {
        kernel.grouped = false;
        kernel.batch = 1;
        kernel.flops /= (double)count;
        kernel.bytes /= (double)count;
    }
    for (int64_t i = 0; i < count; i++)
        g_array_append_val(ops->out, kernel);
}

void rh_grouped_cast(RhOps *ops, const RhRouted *r, double elements)
{
    int64_t count = ops->shard->experts_apart ? rh_routed_busy(r) : 1;
    for (int64_t i = 0; i < count; i++)
        rh_ops_cast(ops, elements / (double)count);
}

void rh_grouped_gemm(RhOps *ops, const RhRouted *r, int64_t n, int64_t k)
{
    int64_t busy = rh_routed_busy(r);
    double tokens = (double)r->tokens, entries = (double)n * (double)k;
    RhKernel kernel = {.cls = RH_KERNEL_GEMM,
                       .dtype = (uint8_t)rh_ops_linear_dtype(ops),
                       .grouped = true,
                       .batch = busy,
                       .m = rh_routed_rows(r),
                       .n = n,
                       .k = k,
                       .flops = 2 * tokens * entries,
                       .bytes = rh_ops_operand_bytes(ops) *
                                    ((double)busy * entries + tokens * (double)k) +
                                ops->element_bytes * tokens * (double)n};
    rh_grouped_cast(ops, r, tokens * (double)k);
    push_product(ops, kernel);
    rh_ops_narrow_weights(ops, (double)busy * entries);
}

void rh_grouped_gradient(RhOps *ops, const RhRouted *r, int64_t rows, int64_t columns)
{
    int64_t busy = rh_routed_busy(r);
    double tokens = (double)r->tokens, entries = (double)busy * (double)rows * (double)columns;
    bool fused = ops->shard->fused_elementwise;
    RhKernel kernel = {.cls = RH_KERNEL_GEMM,
                       .dtype = (uint8_t)rh_ops_linear_dtype(ops),
                       .narrow_gradient = rh_ops_is_narrow(ops),
                       .batch = busy,
                       .m = rows,
                       .n = columns,
                       .k = rh_routed_rows(r),
                       .flops = 2 * tokens * (double)rows * (double)columns,
                       .bytes = rh_ops_operand_bytes(ops) * tokens * (double)(rows + columns) +
                                (fused ? rh_ops_added_gradient_bytes(ops) : ops->element_bytes) *
                                    entries};
    push_product(ops, kernel);
    if (!fused)
        rh_ops_stream(ops, RH_KERNEL_REDUCE,
                      (rh_ops_added_gradient_bytes(ops) + ops->element_bytes) * entries, 1);
}
