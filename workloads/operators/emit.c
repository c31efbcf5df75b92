/* The kernels that operators are made of. The source of every byte count: docs/model-workload.md.
 */
#include "workloads/operators/operator.h"

/* Round counts of bytes per element that reproduce the public step times of the Aleph Alpha layout
 * sweep (fused and eager RMSNorm) and of NVIDIA's dgxc recipes; backward 1.2 x. Assumed. */
static const RhStream RMS_NORM = {8, 9.6, 68, 81.6, 8};
static const RhStream LAYER_NORM = {8, 9.6, 8, 9.6, 1}; /* one kernel in eager frameworks too */

/* Read and write. Eager: rotate half (negate, concatenate), two products and a sum, for each of q
 * and k. */
static const RhStream ROTARY = {4, 4.8, 20.5, 24.6, 10};

void rh_ops_gemm(RhOps *ops, int64_t batch, int64_t m, int64_t n, int64_t k)
{
    double dm = (double)m, dn = (double)n, dk = (double)k, count = (double)batch;
    RhKernel kernel = {.cls = RH_KERNEL_GEMM,
                       .dtype = (uint8_t)ops->shard->dtype,
                       .batch = batch,
                       .m = m,
                       .n = n,
                       .k = k,
                       .flops = 2 * count * dm * dn * dk,
                       .bytes = ops->element_bytes * count * (dm * dk + dk * dn + dm * dn)};
    g_array_append_val(ops->out, kernel);
}

void rh_ops_stream(RhOps *ops, RhKernelClass cls, double bytes, int steps)
{
    RhKernel kernel = {
        .cls = (uint8_t)cls, .dtype = (uint8_t)ops->shard->dtype, .bytes = bytes / steps};
    for (int i = 0; i < steps; i++)
        g_array_append_val(ops->out, kernel);
}

void rh_ops_elementwise(RhOps *ops, RhKernelClass cls, const RhStream *stream, double elements,
                        bool backward)
{
    bool fused = ops->shard->fused_norms;
    double per_element = fused ? (backward ? stream->fused_backward : stream->fused_forward)
                               : (backward ? stream->eager_backward : stream->eager_forward);
    rh_ops_stream(ops, cls, per_element * elements * ops->element_bytes / 2,
                  fused ? 1 : stream->eager_steps);
}

/* A fused framework (Megatron-LM: gradient_accumulation_fusion) lets the GEMM read and write the
 * fp32 main gradient, 8 B an entry; an eager one writes the gradient in 2 B and adds it with a
 * kernel of its own (read 2, read and write 4). */
void rh_ops_weight_gradient(RhOps *ops, int64_t rows, int64_t columns)
{
    double entries = (double)rows * (double)columns;
    rh_ops_gemm(ops, 1, rows, columns, ops->tokens);
    if (ops->shard->fused_norms) {
        RhKernel *gemm = &g_array_index(ops->out, RhKernel, ops->out->len - 1);
        gemm->bytes += (8 - ops->element_bytes) * entries;
        return;
    }
    rh_ops_stream(ops, RH_KERNEL_REDUCE, (8 + ops->element_bytes) * entries, 1);
}

void rh_ops_bias_gradient(RhOps *ops, int64_t columns)
{
    double read = ops->element_bytes * (double)ops->tokens * (double)columns;
    rh_ops_stream(ops, RH_KERNEL_REDUCE, read + 8.0 * (double)columns, 1);
}

void rh_ops_norm(RhOps *ops, double elements, bool backward)
{
    const RhStream *stream = ops->model->norm == RH_NORM_LAYER ? &LAYER_NORM : &RMS_NORM;
    if (ops->model->norm != RH_NORM_NONE)
        rh_ops_elementwise(ops, RH_KERNEL_NORM, stream, elements, backward);
}

void rh_ops_rotary(RhOps *ops, double elements, bool backward)
{
    rh_ops_elementwise(ops, RH_KERNEL_ROTARY, &ROTARY, elements, backward);
}
