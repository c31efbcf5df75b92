/* Griffin's recurrent block (De et al. 2024, arXiv 2402.19427, sections 2.3 and 2.4), as RecurrentGemma has it (arXiv
 * 2404.07839): two matrices in, for a gate and a value of w columns each; the value goes through a depthwise
 * convolution and the RG-LRU; times the gate's GeLU it goes through one matrix out. Of each column the RG-LRU keeps one
 * number, which a gate lets decay and another feeds; each gate is a matrix of a head's columns by as many.
 *
 * FLOPs that the operator needs are the matrices', the convolution's, and an update a column. One kernel scans, as
 * Griffin's own does (section 4): it reads values and gates and writes states, which are its output. Formulas:
 * docs/theory/workload.md. */
#include "workloads/operators/scan.h"

/* The output times the gate's GeLU: read both, write one; backward read three, write two. Eager: GeLU by itself. */
static const RhStream PRODUCT = {2 * RH_READ + RH_WRITE,
                                 3 * RH_READ + 2 * RH_WRITE,
                                 3 * RH_READ + 2 * RH_WRITE,
                                 4 * RH_READ + 3 * RH_WRITE,
                                 2,
                                 0,
                                 0};

/* One rank's columns, and heads of so many each. */
typedef struct {
    RhScan scan;
    int64_t wide, heads, size;
} Widths;

static Widths widths_of(const RhOps *ops)
{
    const RhLayerKind *kind = ops->kind;
    Widths w = {.heads = rh_ops_cut(ops, kind->heads), .size = kind->head_size};
    w.wide = w.heads * w.size;
    w.scan =
        (RhScan){.heads = w.wide, .groups = 1, .key = 1, .value = 1, .chunk = kind->window_tokens};
    return w;
}

static void shape(const RhConfig *c, RhLayerKind *kind)
{
    kind->heads = kind->kv_heads = (int32_t)c->scan_heads;
    kind->head_size = (int32_t)c->scan_head_size;
    kind->state_size = 1;
    kind->conv_size = (int32_t)c->conv_size;
    kind->conv_bias = c->conv_bias != 0;
    kind->window_tokens = (int32_t)c->chunk;
    kind->qkv_bias = kind->out_bias = c->scan_bias != 0;
}

/* Entries of the three matrices, and of both gates'. */
static double entries_of(const RhOps *ops, const Widths *w)
{
    return (double)w->wide * (3 * (double)ops->model->hidden + 2 * (double)w->size);
}

/* Beside matrices and taps: of each column a decay, and a bias of each gate. */
static RhParams params(const RhOps *ops)
{
    Widths w = widths_of(ops);
    double h = (double)ops->model->hidden, d = (double)w.wide, bias = ops->kind->qkv_bias ? 1 : 0;
    return (RhParams){.sharded = entries_of(ops, &w) + rh_scan_convolution_params(ops, d) + 3 * d +
                                 2 * bias * d,
                      .replicated = bias * h};
}

/* Of the recurrence, a token: a column decays and is fed. */
static double recurrence_flops(const Widths *w)
{
    return 2 * (double)w->wide;
}

static RhFlops flops(const RhOps *ops)
{
    Widths w = widths_of(ops);
    double n = (double)ops->tokens;
    return (RhFlops){.weights = 2 * n * entries_of(ops, &w) +
                                rh_scan_convolution_flops(ops, (double)w.wide),
                     .pairs = n * recurrence_flops(&w)};
}

/* --- Kernels --- */

static void scan(RhOps *ops, const Widths *w, RhScanStep step)
{
    rh_scan_steps(ops, &w->scan, &step, 1, 1);
    g_array_index(ops->out, RhKernel, ops->out->len - 1).dtype = RH_DTYPE_FP32;
}

static void product(RhOps *ops, const Widths *w, bool backward)
{
    rh_ops_elementwise(ops, RH_KERNEL_ACTIVATION, &PRODUCT, (double)ops->tokens * (double)w->wide,
                       backward);
}

static void forward(RhOps *ops, const Widths *w, RhPass pass)
{
    rh_ops_linear(ops, ops->tokens, 2 * w->wide, ops->model->hidden);
    rh_scan_convolve(ops, (double)w->wide, false);
    rh_ops_gemm(ops, 2 * w->heads, ops->tokens, w->size, w->size);
    if (pass == RH_PASS_DECODE)
        rh_scan_decode(ops, &w->scan, recurrence_flops(w));
    else
        scan(ops, w, (RhScanStep){recurrence_flops(w), ops->element_bytes * 4 * (double)w->wide});
    product(ops, w, false);
    rh_ops_linear(ops, ops->tokens, ops->model->hidden, w->wide);
}

/* The scan goes the other way, with two gradients of its product; it reads values, gates, states and their gradient,
 * and writes the gradients of values and gates. */
static void backward(RhOps *ops, const Widths *w)
{
    RhScanStep back = {2 * recurrence_flops(w), ops->element_bytes * 8 * (double)w->wide};
    rh_ops_linear(ops, ops->tokens, w->wide, ops->model->hidden);
    product(ops, w, true);
    scan(ops, w, back);
    rh_ops_gemm(ops, 2 * w->heads, ops->tokens, w->size, w->size);
    rh_scan_convolve(ops, (double)w->wide, true);
    rh_ops_linear(ops, ops->tokens, ops->model->hidden, 2 * w->wide);
}

static void weight_gradients(RhOps *ops, const Widths *w)
{
    rh_ops_linear_gradient(ops, ops->model->hidden, w->wide);
    rh_ops_gemm(ops, 2 * w->heads, w->size, w->size, ops->tokens);
    rh_ops_add_gradient(ops, 2 * (double)(w->wide * w->size));
    rh_ops_bias_gradient(ops, 2 * w->wide);
    rh_scan_taps_gradient(ops, (double)w->wide);
    rh_scan_in_gradient(ops, 2 * w->wide);
}

static void kernels(RhOps *ops, RhPass pass)
{
    Widths w = widths_of(ops);
    if (rh_pass_is_forward(pass) || pass == RH_PASS_RECOMPUTE_FULL)
        forward(ops, &w, pass);
    else if (pass == RH_PASS_BACKWARD_DATA)
        backward(ops, &w);
    else if (pass == RH_PASS_BACKWARD_WEIGHT)
        weight_gradients(ops, &w);
}

/* Kept: the first matrix' output, the convolution's, both gates, the states, and the second matrix' input. */
static RhOperatorBytes bytes(const RhOps *ops)
{
    Widths w = widths_of(ops);
    double n = (double)ops->tokens * (double)w.wide, e = ops->element_bytes;
    double wide = e * rh_ops_hidden_elements(ops), gathered = rh_ops_gathered_bytes(ops);
    return (RhOperatorBytes){.kept = 6 * e * n + rh_ops_kept_bytes(ops) * n,
                             .forward = wide + gathered,
                             .backward = 6 * e * n + wide + gathered};
}

static RhCacheBytes cache(const RhOps *ops)
{
    Widths w = widths_of(ops);
    return rh_scan_cache(ops, &w.scan, (double)w.wide);
}

/* The gates' are never adapted. */
static int linears(const RhOps *ops, RhLinear list[RH_LINEARS_MAX])
{
    Widths w = widths_of(ops);
    double input = (double)(ops->tokens * w.wide) * rh_ops_kept_bytes(ops);
    return rh_scan_linears(ops, 2 * w.wide, w.wide, input, list);
}

const RhOperator rh_rg_lru = {.name = "RG-LRU",
                              .shape = shape,
                              .params = params,
                              .flops = flops,
                              .kernels = kernels,
                              .bytes = bytes,
                              .cache = cache,
                              .linears = linears};
