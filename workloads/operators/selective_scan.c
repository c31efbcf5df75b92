/* Mamba's first selective scan (Gu and Dao 2023, arXiv 2312.00752, section 3): the matrix in makes
 * values and a gate, and each value's channel has a state of N columns of its own; a step's length,
 * a key (B) and a query (C) come from the values through a narrow matrix, the length through a
 * latent of R. Formulas: docs/theory/workload.md.
 *
 * One kernel scans (section 3.3.2), whose products are no matrices: they run at the rate of fp32.
 * The exponentials are assumed to run beside them. Fused frameworks keep what mamba_ssm's
 * mamba_inner_fn does with checkpoint_lvl 1: the convolution and the steps' lengths are recomputed
 * in backward. With tensor parallelism each rank has its part of the sum over channels in the R +
 * 2N columns; the collective that sums them is left out.
 *
 * PLaMo 2 (Preferred Networks, 2025) has heads of such channels, whose step and decay are one
 * number each: their scan is Mamba-2's, in chunks. */
#include "workloads/operators/linear_mixer_scan.h"

/* One rank's columns: channels of the state, the inputs of a step (R, B, C), and lengths of
 * steps. */
typedef struct {
    RhScan scan;
    int64_t wide, dt_bc, rank, lengths;
} Widths;

static bool has_heads(const Widths *w)
{
    return w->scan.value > 1;
}

static Widths widths_of(const RhOps *ops)
{
    const RhLayerKind *kind = ops->kind;
    Widths w = {.scan = {.heads = rh_ops_cut(ops, kind->heads),
                         .groups = 1,
                         .key = kind->state_size,
                         .value = kind->head_size,
                         .chunk = kind->window_tokens},
                .rank = kind->dt_rank};
    w.wide = w.scan.heads * w.scan.value;
    w.lengths = w.scan.heads;
    w.dt_bc = w.rank + 2 * w.scan.key;
    return w;
}

static void shape(const RhConfig *c, RhLayerKind *kind)
{
    kind->heads = (int32_t)c->ssm.num_heads;
    kind->kv_heads = 1;
    kind->head_size = (int32_t)c->ssm.head_dim;
    kind->state_size = (int32_t)c->ssm.state_size;
    kind->dt_rank = (int32_t)c->ssm.dt_rank;
    kind->dt_bc_norms = c->ssm.dt_bc_norms != 0;
    kind->conv_kernel = (int32_t)c->ssm.conv_kernel;
    kind->conv_bias = c->ssm.conv_bias != 0;
    kind->window_tokens = (int32_t)c->ssm.chunk_size;
    kind->qkv_bias = kind->o_bias = c->ssm.proj_bias != 0;
}

/* Entries of the four matrices. */
static double entries_of(const RhOps *ops, const Widths *w)
{
    return (double)w->wide * (3 * (double)ops->model->hidden + (double)w->dt_bc) +
           (double)(w->rank * w->lengths);
}

/* Parameters besides matrices and taps: for each channel a decay per column, or for each head one;
 * a skip and a step's bias. */
static RhParams params(const RhOps *ops)
{
    Widths w = widths_of(ops);
    double h = (double)ops->model->hidden, d = (double)w.wide, bias = ops->kind->qkv_bias ? 1 : 0;
    double decays = has_heads(&w) ? 1 : (double)w.scan.key;
    return (RhParams){.sharded = entries_of(ops, &w) + rh_scan_convolution_params(ops, d) +
                                 (double)w.lengths * (decays + 2) + 2 * bias * d,
                      .replicated = bias * h + (ops->kind->dt_bc_norms ? (double)w.dt_bc : 0)};
}

/* FLOPs of the recurrence for a token: the state's update, and the output from it. */
static double recurrence_flops(const RhScan *s)
{
    return 4 * (double)(s->heads * s->key * s->value);
}

static RhFlops flops(const RhOps *ops)
{
    Widths w = widths_of(ops);
    double n = (double)ops->tokens;
    return (RhFlops){.weights = 2 * n * entries_of(ops, &w) +
                                rh_scan_convolution_flops(ops, (double)w.wide),
                     .pairs = n * recurrence_flops(&w.scan)};
}

/* --- Kernels --- */

static void scan_channels(RhOps *ops, const Widths *w, RhScanStep step)
{
    rh_scan_steps(ops, &w->scan, &step, 1, 1);
    g_array_index(ops->out, RhKernel, ops->out->len - 1).dtype = RH_DTYPE_FP32;
}

/* Kernels of a scan with heads; the last step reads the gate as well. Backward recomputes states
 * and scores, as in Mamba-2. */
static void scan_heads(RhOps *ops, const Widths *w, bool backward)
{
    RhScanStep steps[3], scores = {2 * (double)w->scan.chunk * (double)w->scan.key, 0};
    rh_scan_chunks(ops, &w->scan, steps);
    steps[2].bytes += ops->element_bytes * (double)w->wide;
    if (backward) {
        rh_scan_steps(ops, &w->scan, steps, 2, 1);
        rh_scan_steps(ops, &w->scan, &scores, 1, 1);
    }
    rh_scan_steps(ops, &w->scan, steps, G_N_ELEMENTS(steps), backward ? 2 : 1);
}

static void make_step_inputs(RhOps *ops, const Widths *w)
{
    rh_ops_linear(ops, ops->tokens, w->dt_bc, w->wide);
    if (ops->kind->dt_bc_norms)
        rh_ops_norm(ops, (double)ops->tokens * (double)w->dt_bc, false);
    rh_ops_linear(ops, ops->tokens, w->lengths, w->rank);
}

/* Kernels of forward. The scan reads values, lengths, gate, B and C, and writes its output before
 * and after the gate. */
static void forward(RhOps *ops, const Widths *w, RhPass pass)
{
    double bytes = ops->element_bytes * (double)(5 * w->wide + 2 * w->scan.key);
    rh_ops_linear(ops, ops->tokens, 2 * w->wide, ops->model->hidden);
    rh_scan_convolve(ops, (double)w->wide, false);
    make_step_inputs(ops, w);
    if (pass == RH_PASS_DECODE)
        rh_scan_decode(ops, &w->scan, recurrence_flops(&w->scan));
    else if (has_heads(w))
        scan_heads(ops, w, false);
    else
        scan_channels(
            ops, w,
            (RhScanStep){recurrence_flops(&w->scan), bytes + rh_scan_state_bytes(&w->scan)});
    rh_ops_linear(ops, ops->tokens, ops->model->hidden, w->wide);
}

/* Kernels of backward. The scan recomputes its states, then makes two gradients of each product. It
 * reads its inputs, its outputs and the output's gradient, and writes four gradients of channels
 * and the gated output. */
static void backward(RhOps *ops, const Widths *w)
{
    int64_t d = w->wide;
    RhScanStep back = {3 * recurrence_flops(&w->scan),
                       ops->element_bytes * (double)(9 * d + 4 * w->scan.key) +
                           2 * rh_scan_state_bytes(&w->scan)};
    rh_ops_linear(ops, ops->tokens, d, ops->model->hidden);
    if (ops->shard->fused_elementwise) {
        rh_scan_convolve(ops, (double)d, false);
        rh_ops_linear(ops, ops->tokens, w->lengths, w->rank);
    }
    if (has_heads(w))
        scan_heads(ops, w, true);
    else
        scan_channels(ops, w, back);
    rh_ops_linear(ops, ops->tokens, w->rank, w->lengths);
    if (ops->kind->dt_bc_norms)
        rh_ops_norm(ops, (double)ops->tokens * (double)w->dt_bc, true);
    rh_ops_linear(ops, ops->tokens, d, w->dt_bc);
    rh_scan_convolve(ops, (double)d, true);
    rh_ops_linear(ops, ops->tokens, ops->model->hidden, 2 * d);
}

static void weight_gradients(RhOps *ops, const Widths *w)
{
    rh_ops_linear_gradient(ops, ops->model->hidden, w->wide);
    rh_ops_linear_gradient(ops, w->lengths, w->rank);
    rh_ops_bias_gradient(ops, w->lengths);
    rh_ops_linear_gradient(ops, w->dt_bc, w->wide);
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

/* Bytes kept: the first matrix' output, the inputs of steps, the scan's output, states between
 * chunks; an eager framework keeps the convolution's output and the steps' lengths as well. */
static RhOperatorBytes bytes(const RhOps *ops)
{
    Widths w = widths_of(ops);
    double n = (double)ops->tokens, e = ops->element_bytes, d = (double)w.wide;
    double wide = rh_ops_hidden_elements(ops), gathered = rh_ops_gathered_bytes(ops);
    double copies = ops->kind->dt_bc_norms ? (e + rh_ops_norm_copies(ops)) * (double)w.dt_bc : 0;
    double between = ops->shard->fused_elementwise ? 0 : e * (d + (double)w.lengths);
    double kept = e * (3 * d + (double)w.dt_bc) + copies + between + rh_scan_state_bytes(&w.scan);
    return (RhOperatorBytes){.kept = n * kept,
                             .forward = e * (wide + 2 * n * d) + gathered,
                             .backward = e * (wide + 6 * n * d) + gathered};
}

static RhCacheBytes cache(const RhOps *ops)
{
    Widths w = widths_of(ops);
    return rh_scan_cache(ops, &w.scan, (double)w.wide);
}

/* Linear layers. Those that make the inputs of steps are never adapted; the input of the last one
 * is recomputed in backward. */
static int linears(const RhOps *ops, RhLinear list[RH_LINEARS_MAX])
{
    Widths w = widths_of(ops);
    return rh_scan_linears(ops, 2 * w.wide, w.wide, 0, list);
}

const RhOperator rh_selective_scan = {.name = "selective scan",
                                      .shape = shape,
                                      .params = params,
                                      .flops = flops,
                                      .kernels = kernels,
                                      .bytes = bytes,
                                      .cache = cache,
                                      .linears = linears};
