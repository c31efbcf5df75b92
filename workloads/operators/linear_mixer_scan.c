/* The parts of linear mixers. Formulas: docs/theory/workload.md. */
#include "workloads/operators/linear_mixer_scan.h"

/* Traffic of the gate alone, beside the norm's own: read it; backward read it, write its gradient.
 * Eager: SiLU, then the product. */
static const RhStream GATE = {
    RH_READ, RH_READ + RH_WRITE, 3 * RH_READ + 2 * RH_WRITE, 4 * RH_READ + 3 * RH_WRITE, 2, 0, 0};
/* Traffic of the convolution per channel of a token: read, write; backward reads it and the
 * gradient, writes one. Eager: the convolution, then SiLU. */
#define PASS      (RH_READ + RH_WRITE)
#define PASS_BACK (2 * RH_READ + RH_WRITE)
static const RhStream CONVOLUTION = {PASS, PASS_BACK, 2 * PASS, 2 * PASS_BACK, 2, 0, 0};

void rh_scan_steps(RhOps *ops, const RhScan *scan, const RhScanStep *steps, int count, double times)
{
    double tokens = times * (double)ops->tokens;
    for (int i = 0; i < count; i++) {
        RhKernel kernel = {.cls = RH_KERNEL_SCAN,
                           .dtype = (uint8_t)ops->shard->dtype,
                           .causal = true,
                           .core = true,
                           .heads = (int32_t)scan->heads,
                           .kv_heads = (int32_t)scan->groups,
                           .v_head = (int32_t)scan->value,
                           .batch = ops->sequences,
                           .m = ops->queries,
                           .n = scan->chunk,
                           .k = scan->key,
                           .flops = tokens * steps[i].flops,
                           .bytes = tokens * steps[i].bytes};
        g_array_append_val(ops->out, kernel);
    }
}

void rh_scan_chunks(const RhOps *ops, const RhScan *s, RhScanStep steps[3])
{
    double e = ops->element_bytes, q = (double)s->chunk, states = rh_scan_state_bytes(s);
    double values = (double)(s->heads * s->value), keys = (double)(s->groups * s->key);
    double product = 2 * (double)(s->heads * s->key * s->value);
    steps[0] = (RhScanStep){product, e * (values + keys) + states};
    steps[1] = (RhScanStep){0, 2 * states};
    steps[2] =
        (RhScanStep){product + 2 * q * keys + 2 * q * values, e * (2 * values + 2 * keys) + states};
}

double rh_scan_state_bytes(const RhScan *scan)
{
    return RH_FP32 * (double)(scan->heads * scan->key * scan->value) / (double)MAX(scan->chunk, 1);
}

void rh_scan_decode(RhOps *ops, const RhScan *scan, double flops)
{
    double state = RH_FP32 * (double)(scan->heads * scan->key * scan->value);
    double columns = (double)(2 * scan->groups * scan->key + 2 * scan->heads * scan->value);
    RhScanStep step = {flops, 2 * state + ops->element_bytes * columns};
    rh_scan_steps(ops, scan, &step, 1, 1);
}

RhCacheBytes rh_scan_cache(const RhOps *ops, const RhScan *scan, double channels)
{
    double state = RH_FP32 * (double)(scan->heads * scan->key * scan->value);
    return (RhCacheBytes){.sequence =
                              state + ops->element_bytes * channels * ops->kind->conv_kernel};
}

double rh_scan_convolution_flops(const RhOps *ops, double channels)
{
    return 2 * (double)ops->tokens * channels * ops->kind->conv_kernel;
}

double rh_scan_convolution_params(const RhOps *ops, double channels)
{
    return channels * (ops->kind->conv_kernel + (ops->kind->conv_bias ? 1 : 0));
}

static void give_flops(RhOps *ops, double flops)
{
    g_array_index(ops->out, RhKernel, ops->out->len - 1).flops = flops;
}

void rh_scan_convolve(RhOps *ops, double channels, bool backward)
{
    rh_ops_elementwise(ops, RH_KERNEL_ACTIVATION, &CONVOLUTION, (double)ops->tokens * channels,
                       backward);
    give_flops(ops, rh_scan_convolution_flops(ops, channels));
}

/* Kernel of the taps' gradient: reads the input and the gradient, adds to the main gradient. */
void rh_scan_taps_gradient(RhOps *ops, double channels)
{
    double read = 2 * ops->element_bytes * (double)ops->tokens * channels;
    rh_ops_stream(
        ops, RH_KERNEL_REDUCE,
        read + rh_ops_added_gradient_bytes(ops) * rh_scan_convolution_params(ops, channels), 1);
    give_flops(ops, rh_scan_convolution_flops(ops, channels));
}

void rh_scan_in_gradient(RhOps *ops, int64_t in)
{
    rh_ops_linear_gradient(ops, in, ops->model->hidden);
    if (!ops->kind->qkv_bias)
        return;
    rh_ops_bias_gradient(ops, ops->model->hidden);
    rh_ops_bias_gradient(ops, in);
}

void rh_scan_gated_norm(RhOps *ops, double elements, bool backward)
{
    rh_ops_norm(ops, elements, backward);
    rh_ops_elementwise(ops, RH_KERNEL_ACTIVATION, &GATE, elements, backward);
}

int rh_scan_linears(const RhOps *ops, int64_t in, int64_t values, double kept,
                    RhLinear list[RH_LINEARS_MAX])
{
    int64_t h = ops->model->hidden;
    list[0] = (RhLinear){.name = RH_LINEAR_IN,
                         .in = h,
                         .out = in,
                         .by_columns = true,
                         .kept = rh_ops_normed_input_bytes(ops)};
    list[1] = (RhLinear){.name = RH_LINEAR_OUT, .in = values, .out = h, .kept = kept};
    return 2;
}
