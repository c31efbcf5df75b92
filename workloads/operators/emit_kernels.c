/* Emits the kernels that operators are made of. The source of every byte count:
 * docs/theory/workload.md. */
#include "workloads/operators/operator.h"

const RhPasses rh_passes_assumed = RH_PASSES_ASSUMED;

const RhPasses *rh_ops_passes(const RhOps *ops)
{
    return ops->shard->passes ? ops->shard->passes : &rh_passes_assumed;
}

#define EAGER_RMS_NORM_STEPS 8 /* including those on statistics */

/* Traffic of rotary embeddings: read and write. Eager, for each of q and k: negate a half,
 * concatenate, two products, a sum; sines and cosines, shared by the heads, are the last half
 * byte. */
#define FUSED_ROTARY (RH_READ + RH_WRITE)
#define EAGER_ROTARY                                                                               \
    (0.5 * (RH_READ + RH_WRITE) + 3 * (RH_READ + RH_WRITE) + (2 * RH_READ + RH_WRITE) + 0.5)
static const RhStream ROTARY = {.fused_forward = FUSED_ROTARY,
                                .eager_forward = EAGER_ROTARY,
                                .eager_steps = 10,
                                .fused_summed = FUSED_ROTARY,
                                .eager_summed = EAGER_ROTARY};

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

bool rh_ops_is_narrow(const RhOps *ops)
{
    const RhRecipe *recipe = ops->shard->recipe;
    return recipe != NULL && recipe->linear != recipe->dtype;
}

RhDtype rh_ops_linear_dtype(const RhOps *ops)
{
    return rh_ops_is_narrow(ops) ? ops->shard->recipe->linear : ops->shard->dtype;
}

double rh_ops_operand_bytes(const RhOps *ops)
{
    return rh_ops_is_narrow(ops) ? ops->shard->recipe->operand_bytes : ops->element_bytes;
}

double rh_ops_kept_copy_bytes(const RhOps *ops)
{
    return rh_ops_is_narrow(ops) ? ops->shard->recipe->kept_bytes : 0;
}

double rh_ops_kept_bytes(const RhOps *ops)
{
    return rh_ops_is_narrow(ops) ? ops->shard->recipe->kept_bytes : ops->element_bytes;
}

static bool gates_are_narrow(const RhOps *ops)
{
    return ops->shard->narrow_gates && rh_ops_is_narrow(ops);
}

double rh_ops_kept_gate_bytes(const RhOps *ops)
{
    return gates_are_narrow(ops) ? ops->shard->recipe->kept_bytes : ops->element_bytes;
}

void rh_ops_keep_gate(RhOps *ops, double elements)
{
    if (gates_are_narrow(ops))
        rh_ops_stream(ops, RH_KERNEL_CAST, rh_ops_kept_gate_bytes(ops) * elements, 1);
}

void rh_ops_widen_gate(RhOps *ops, double elements)
{
    if (gates_are_narrow(ops))
        rh_ops_stream(ops, RH_KERNEL_CAST,
                      (rh_ops_kept_gate_bytes(ops) + ops->element_bytes) * elements, 1);
}

double rh_ops_wide_gate_bytes(const RhOps *ops, double elements)
{
    return gates_are_narrow(ops) ? ops->element_bytes * elements : 0;
}

/* Lets the activation that was emitted last cast what it writes. */
static bool cast_with_activation(RhOps *ops, double elements)
{
    const RhRecipe *recipe = ops->shard->recipe;
    if (!ops->shard->fused_casts || ops->out->len == 0)
        return false;
    RhKernel *last = &g_array_index(ops->out, RhKernel, ops->out->len - 1);
    if (last->cls != RH_KERNEL_ACTIVATION || recipe->fused_cast_bytes >= recipe->cast_bytes)
        return false;
    if (recipe->fused_cast_bytes < ops->element_bytes)
        last->bytes += recipe->fused_cast_bytes * elements;
    else /* it finds the largest value alone */
        rh_ops_stream(ops, RH_KERNEL_CAST, recipe->fused_cast_bytes * elements, 1);
    return true;
}

void rh_ops_cast(RhOps *ops, double elements)
{
    if (rh_ops_is_narrow(ops) && !cast_with_activation(ops, elements))
        rh_ops_stream(ops, RH_KERNEL_CAST, ops->shard->recipe->cast_bytes * elements, 1);
}

/* Makes a GEMM multiply a part of its depth, for which it reads all its weights. */
static void skip_zeros(RhKernel *gemm, double depth_frac)
{
    gemm->k = MAX((int64_t)(depth_frac * (double)gemm->k), 1);
    gemm->flops *= depth_frac;
    gemm->weight_bytes /= (float)depth_frac;
}

void rh_ops_narrow_weights(RhOps *ops, double weights)
{
    const RhRecipe *recipe = ops->shard->recipe;
    RhKernel *gemm = &g_array_index(ops->out, RhKernel, ops->out->len - 1);
    if (recipe == NULL || recipe->weight_alone_bytes <= 0 ||
        (recipe->experts_alone && !gemm->grouped))
        return;
    gemm->weight_bytes = (float)recipe->weight_alone_bytes;
    gemm->bytes -= (ops->element_bytes - recipe->weight_alone_bytes) * weights;
    if (recipe->depth_frac > 0)
        skip_zeros(gemm, recipe->depth_frac);
}

/* Marks the last GEMM as a linear layer's, with so many elements of operands (m x k and k x n
 * together). */
static void make_linear(RhOps *ops, double operand_elements)
{
    RhKernel *gemm = &g_array_index(ops->out, RhKernel, ops->out->len - 1);
    gemm->dtype = (uint8_t)rh_ops_linear_dtype(ops);
    gemm->bytes -= (ops->element_bytes - rh_ops_operand_bytes(ops)) * operand_elements;
}

void rh_ops_linear(RhOps *ops, int64_t m, int64_t n, int64_t k)
{
    double dm = (double)m, dn = (double)n, dk = (double)k;
    rh_ops_cast(ops, dm * dk);
    rh_ops_gemm(ops, 1, m, n, k);
    make_linear(ops, dm * dk + dk * dn);
    rh_ops_narrow_weights(ops, dk * dn);
}

/* Rows of the i-th of `parts` parts that are as equal as can be. */
static int64_t rows_of(const RhOps *ops, int64_t i, int64_t parts)
{
    return ops->tokens * (i + 1) / parts - ops->tokens * i / parts;
}

static bool pulls(const RhOps *ops)
{
    return ops->in_steps && ops->shard->pulls_rows;
}

/* Emits a linear layer whose input is gathered in parts: a rank's own rows first, then the others
 * as they come around a ring (Transformer Engine's ring_exchange). PyTorch's symmetric memory
 * (_pipelined_multi_all_gather_and_consume) copies its own to where the others read them, then
 * theirs one after another. */
void rh_ops_linear_gathered(RhOps *ops, int64_t n, int64_t k)
{
    int32_t steps = ops->in_steps ? ops->shard->tp : 1;
    if (pulls(ops))
        rh_ops_stream(ops, RH_KERNEL_ADD,
                      2 * rh_ops_operand_bytes(ops) * (double)rows_of(ops, 0, steps) * (double)k,
                      1);
    for (int32_t i = 0; i < steps; i++) {
        if (steps > 1)
            rh_ops_exchange(ops, (RhExchange){.kind = RH_EXCHANGE_ROWS_IN, .step = i});
        rh_ops_linear(ops, rows_of(ops, i, steps), n, k);
    }
    if (steps > 1)
        rh_ops_exchange(ops, (RhExchange){0});
}

/* Number of parts in Transformer Engine's pipeline: its num_splits (module/base.py,
 * initialize_ub). */
#define SUM_SPLITS 4

/* Adds up the products of a rank's own rows that the other ranks have made. */
static void add_partial_sums(RhOps *ops, int64_t n)
{
    double own = ops->element_bytes * (double)rows_of(ops, 0, ops->shard->tp) * (double)n;
    rh_ops_exchange(ops, (RhExchange){.kind = RH_EXCHANGE_ROWS_ADD});
    rh_ops_stream(ops, RH_KERNEL_REDUCE, (ops->shard->tp + 1) * own, 1);
}

/* Emits a linear layer whose output is reduce-scattered in parts. With PyTorch's symmetric memory
 * (_pipelined_produce_and_all2all) every part belongs to another rank, which copies it; the rank's
 * own is the last. */
void rh_ops_linear_summed(RhOps *ops, int64_t n, int64_t k)
{
    int32_t splits = pulls(ops) ? ops->shard->tp : ops->in_steps ? SUM_SPLITS : 1;
    for (int32_t i = 0; i < splits; i++) {
        int64_t rows = rows_of(ops, i, splits);
        if (rows == 0)
            continue;
        bool own = pulls(ops) && i == splits - 1;
        if (splits > 1)
            rh_ops_exchange(
                ops,
                (RhExchange){.kind = RH_EXCHANGE_ROWS_OUT,
                             .step = i,
                             .bytes = own ? 0 : ops->element_bytes * (double)rows * (double)n});
        rh_ops_linear(ops, rows, n, k);
    }
    if (pulls(ops))
        add_partial_sums(ops, n);
    if (splits > 1)
        rh_ops_exchange(ops, (RhExchange){0});
}

void rh_ops_mark_core(RhOps *ops, guint first)
{
    for (guint i = first; i < ops->out->len; i++)
        g_array_index(ops->out, RhKernel, i).core = true;
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
    const RhShard *shard = ops->shard;
    bool fused = cls == RH_KERNEL_NORM      ? shard->fused_norms
                 : cls == RH_KERNEL_SOFTMAX ? shard->fused_softmax
                                            : shard->fused_elementwise;
    double excess = rh_ops_passes(ops)->backward_excess.value;
    double back = fused ? excess * stream->fused_summed + stream->fused_backward
                        : excess * stream->eager_summed + stream->eager_backward;
    double there = fused ? stream->fused_forward : stream->eager_forward;
    double per_element = backward ? back : there;
    rh_ops_stream(ops, cls, per_element * elements * ops->element_bytes / 2,
                  fused ? 1 : stream->eager_steps);
}

/* Adds a weight's gradient to the main gradient. A fused framework (Megatron-LM:
 * gradient_accumulation_fusion) lets the GEMM read and write the fp32 main gradient, 8 B an entry;
 * an eager one writes the gradient in 2 B and adds it with a kernel of its own (read 2, read and
 * write 4). */
void rh_ops_add_gradient(RhOps *ops, double entries)
{
    double written = ops->element_bytes * entries;
    RhKernel *kernel = &g_array_index(ops->out, RhKernel, ops->out->len - 1);
    if (ops->shard->fused_elementwise && rh_ops_added_gradient_bytes(ops) == RH_FP32 + RH_FP32 &&
        !kernel->narrow_gradient)
        kernel->layout = RH_GEMM_WEIGHT_GRADIENT;
    kernel->bytes +=
        ops->shard->fused_elementwise ? rh_ops_added_gradient_bytes(ops) * entries : written;
    if (!ops->shard->fused_elementwise)
        rh_ops_stream(ops, RH_KERNEL_REDUCE, rh_ops_added_gradient_bytes(ops) * entries + written,
                      1);
}

static void weight_gradient(RhOps *ops, int64_t rows, int64_t columns, bool linear)
{
    double entries = (double)rows * (double)columns;
    rh_ops_gemm(ops, 1, rows, columns, ops->tokens);
    if (linear)
        make_linear(ops, (double)ops->tokens * (double)(rows + columns));
    RhKernel *gemm = &g_array_index(ops->out, RhKernel, ops->out->len - 1);
    gemm->narrow_gradient = linear && rh_ops_is_narrow(ops);
    gemm->bytes -= ops->element_bytes * entries;
    rh_ops_add_gradient(ops, entries);
}

void rh_ops_weight_gradient(RhOps *ops, int64_t rows, int64_t columns)
{
    weight_gradient(ops, rows, columns, false);
}

void rh_ops_linear_gradient(RhOps *ops, int64_t rows, int64_t columns)
{
    weight_gradient(ops, rows, columns, true);
}

void rh_ops_bias_gradient(RhOps *ops, int64_t columns)
{
    double read = ops->element_bytes * (double)ops->tokens * (double)columns;
    rh_ops_stream(ops, RH_KERNEL_REDUCE, read + rh_ops_added_gradient_bytes(ops) * (double)columns,
                  1);
}

void rh_ops_norm(RhOps *ops, double elements, bool backward)
{
    const RhPasses *passes = rh_ops_passes(ops);
    bool one = ops->model->norm == RH_NORM_LAYER; /* LayerNorm is one kernel, in eager frameworks
                                                   * too */
    double fused = passes->norm_bytes.value, eager = one ? fused : passes->eager_norm_bytes.value;
    RhStream stream = {.fused_forward = fused,
                       .eager_forward = eager,
                       .eager_steps = one ? 1 : EAGER_RMS_NORM_STEPS,
                       .fused_summed = fused,
                       .eager_summed = eager};
    if (ops->model->norm != RH_NORM_NONE)
        rh_ops_elementwise(ops, RH_KERNEL_NORM, &stream, elements, backward);
}

/* Number of copies of a norm's input that are kept: an eager RMSNorm keeps two in fp32, the cast
 * one and the normalised one. */
double rh_ops_norm_copies(const RhOps *ops)
{
    bool eager = ops->model->norm == RH_NORM_RMS && !ops->shard->fused_norms;
    return eager ? 2 * RH_FP32 : 0;
}

void rh_ops_rotary(RhOps *ops, double elements, bool backward)
{
    rh_ops_elementwise(ops, RH_KERNEL_ROTARY, &ROTARY, elements, backward);
}

/* Traffic of a gate. Eager: sigmoid, then product. */
#define GATE_FORWARD  (2 * RH_READ + RH_WRITE)
#define GATE_BACKWARD (3 * RH_READ + 2 * RH_WRITE)
#define SIGMOID       (RH_READ + RH_WRITE)
static const RhStream GATE = {GATE_FORWARD,
                              GATE_BACKWARD,
                              SIGMOID + GATE_FORWARD,
                              SIGMOID + RH_READ + GATE_BACKWARD,
                              2,
                              0,
                              0};

void rh_ops_gate(RhOps *ops, double elements, bool backward)
{
    rh_ops_elementwise(ops, RH_KERNEL_ACTIVATION, &GATE, elements, backward);
}

void rh_ops_exchange(RhOps *ops, RhExchange exchange)
{
    exchange.kernel = (int32_t)ops->out->len;
    if (ops->exchanges)
        g_array_append_val(ops->exchanges, exchange);
}

double rh_ops_added_gradient_bytes(const RhOps *ops)
{
    return ops->shard->gradient_bytes > 0 ? 2.0 * ops->shard->gradient_bytes : 8;
}

double rh_ops_table_gradient_bytes(const RhOps *ops)
{
    return 2 * ops->element_bytes + rh_ops_added_gradient_bytes(ops);
}
