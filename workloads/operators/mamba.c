/* Mamba-2 (Dao and Gu 2024, arXiv 2405.21060): one matrix in, a short convolution, the state-space
 * scan in chunks (section 6), a gated norm, one matrix out. Heads have values of P columns; groups of
 * them share keys (B) and queries (C) of N. Formulas: docs/theory/workload.md.
 *
 * FLOPs that the operator needs are those of the recurrence, an update of the state and a look at it;
 * the chunked form that trains does more. Assumed, as for every scan: its products attain the rate of
 * fused attention (kernel_time.c). Fused frameworks keep the first matrix' output and the scan's, and
 * compute what is between again (mamba_ssm's split_conv1d_scan_combined, as Megatron-LM runs it). */
#include "workloads/operators/linear_mixer_scan.h"

/* One rank's columns: of values, of keys (all groups'), of the convolution, of the first matrix. */
typedef struct {
    RhScan scan;
    int64_t values, keys, channels, in;
    int64_t own;     /* columns per head: a step's length, or gates of its input and state */
    int64_t trained; /* parameters besides matrices, taps and the norm */
} Widths;

/* Widths of one rank, which has at least one group: fewer than t are replicated. */
static Widths widths_of(const RhOps *ops)
{
    const RhLayerKind *kind = ops->kind;
    Widths w = {.scan = {.heads = rh_ops_cut(ops, kind->heads),
                         .groups = MAX(rh_ops_cut(ops, kind->kv_heads), 1),
                         .key = kind->state_size,
                         .value = kind->head_size,
                         .chunk = kind->window_tokens}};
    w.values = w.scan.heads * w.scan.value;
    w.keys = w.scan.groups * w.scan.key;
    w.channels = w.values + 2 * w.keys;
    w.own = (kind->conv_kernel > 0 ? 1 : kind->gates_per_head) * w.scan.heads;
    w.trained = kind->conv_kernel > 0 ? 3 * w.own : w.own;
    w.in = w.values + w.channels + w.own; /* the gate; x, B, C; columns per head */
    return w;
}

static void shape(const RhConfig *c, RhLayerKind *kind)
{
    kind->heads = (int32_t)c->ssm.num_heads;
    kind->kv_heads = (int32_t)c->ssm.n_groups;
    kind->head_size = (int32_t)c->ssm.head_dim;
    kind->state_size = (int32_t)c->ssm.state_size;
    kind->conv_kernel = (int32_t)c->ssm.conv_kernel;
    kind->conv_bias = c->ssm.conv_bias != 0;
    kind->window_tokens = (int32_t)c->ssm.chunk_size;
    kind->qkv_bias = kind->o_bias = c->ssm.proj_bias != 0;
}

/* Parameters besides matrices and taps: for each head a decay, a skip and a step's bias, or a bias
 * of each gate; the norm's scales. */
static RhParams params(const RhOps *ops)
{
    Widths w = widths_of(ops);
    double h = (double)ops->model->hidden, bias = ops->kind->qkv_bias ? 1 : 0;
    return (RhParams){.sharded = h * (double)(w.in + w.values) + bias * (double)w.in +
                                 rh_scan_convolution_params(ops, (double)w.channels) +
                                 (double)w.trained + (double)w.values,
                      .replicated = bias * h};
}

/* FLOPs of the recurrence for a token: the state's update, and the output from it. */
static double recurrence_flops(const RhScan *s)
{
    return 4 * (double)(s->heads * s->key * s->value);
}

static RhFlops flops(const RhOps *ops)
{
    Widths w = widths_of(ops);
    double n = (double)ops->tokens,
           entries = (double)ops->model->hidden * (double)(w.in + w.values);
    return (RhFlops){.weights =
                         2 * n * entries + rh_scan_convolution_flops(ops, (double)w.channels),
                     .pairs = n * recurrence_flops(&w.scan)};
}

/* --- Kernels --- */

static void forward(RhOps *ops, const Widths *w, RhPass pass)
{
    RhScanStep steps[3];
    rh_scan_chunks(ops, &w->scan, steps);
    rh_ops_linear(ops, ops->tokens, w->in, ops->model->hidden);
    rh_scan_convolve(ops, (double)w->channels, false);
    if (pass == RH_PASS_DECODE)
        rh_scan_decode(ops, &w->scan, recurrence_flops(&w->scan));
    else
        rh_scan_steps(ops, &w->scan, steps, G_N_ELEMENTS(steps), 1);
    rh_scan_gated_norm(ops, (double)ops->tokens * (double)w->values, false);
    rh_ops_linear(ops, ops->tokens, ops->model->hidden, w->values);
}

/* Kernels of backward: the states and scores are recomputed; each product has two gradients, each
 * tensor one. */
static void backward(RhOps *ops, const Widths *w)
{
    double outputs = (double)ops->tokens * (double)w->values;
    RhScanStep steps[3], scores = {2 * (double)w->scan.chunk * (double)w->keys, 0};
    rh_scan_chunks(ops, &w->scan, steps);
    rh_ops_linear(ops, ops->tokens, w->values, ops->model->hidden);
    if (ops->shard->fused_elementwise) {
        rh_scan_convolve(ops, (double)w->channels, false);
        rh_scan_gated_norm(ops, outputs, false);
    }
    rh_scan_gated_norm(ops, outputs, true);
    rh_scan_steps(ops, &w->scan, steps, 2, 1);
    rh_scan_steps(ops, &w->scan, &scores, 1, 1);
    rh_scan_steps(ops, &w->scan, steps, G_N_ELEMENTS(steps), 2);
    rh_scan_convolve(ops, (double)w->channels, true);
    rh_ops_linear(ops, ops->tokens, ops->model->hidden, w->in);
}

static void weight_gradients(RhOps *ops, const Widths *w)
{
    rh_ops_linear_gradient(ops, ops->model->hidden, w->values);
    if (ops->kind->conv_kernel > 0)
        rh_scan_taps_gradient(ops, (double)w->channels);
    rh_scan_in_gradient(ops, w->in);
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

/* Bytes. Kept: the first matrix' output and the scan's; an eager framework keeps the convolution's
 * and the norm's as well. Working: their gradients beside the states between chunks. */
static RhOperatorBytes bytes(const RhOps *ops)
{
    Widths w = widths_of(ops);
    double n = (double)ops->tokens, e = ops->element_bytes, wide = rh_ops_hidden_elements(ops);
    double states = n * rh_scan_state_bytes(&w.scan), gathered = rh_ops_gathered_bytes(ops);
    double copies = rh_ops_norm_copies(ops) * (double)w.values;
    double between =
        ops->shard->fused_elementwise ? 0 : e * (double)(w.channels + w.values) + copies;
    double gradients = e * (n * (double)(w.in + w.values) + wide);
    return (RhOperatorBytes){.kept = n * (e * (double)(w.in + w.values) + between),
                             .forward = e * wide + gathered + states,
                             .backward = gradients + gathered + 2 * states};
}

static RhCacheBytes cache(const RhOps *ops)
{
    Widths w = widths_of(ops);
    return rh_scan_cache(ops, &w.scan, (double)w.channels);
}

/* Linear layers. The norm's output is kept by eager frameworks alone. */
static int linears(const RhOps *ops, RhLinear list[RH_LINEARS_MAX])
{
    Widths w = widths_of(ops);
    double normed = (double)ops->tokens * ops->element_bytes * (double)w.values;
    return rh_scan_linears(ops, w.in, w.values, ops->shard->fused_elementwise ? 0 : normed, list);
}

/* A row of this operator with another shape. */
#define SCAN(name_, shape_)                                                                        \
    {                                                                                              \
        .name = (name_), .shape = (shape_), .params = params, .flops = flops, .kernels = kernels,  \
        .bytes = bytes, .cache = cache, .linears = linears                                         \
    }

const RhOperator rh_mamba = SCAN("mamba", shape);

/* Lightning attention (Qin et al. 2024, arXiv 2405.17381; MiniMax-01, arXiv 2501.08313): Mamba-2
 * without a convolution and with decays that are not trained. Its activation is where the
 * convolution's would be; queries, keys and values have equally many heads. */
static void lightning_shape(const RhConfig *c, RhLayerKind *kind)
{
    kind->heads = kind->kv_heads = (int32_t)c->attention.num_attention_heads;
    kind->head_size = kind->state_size = (int32_t)c->attention.head_dim;
    kind->window_tokens = (int32_t)c->ssm.chunk_size;
}

const RhOperator rh_lightning = SCAN("lightning attention", lightning_shape);

/* mLSTM, xLSTM's matrix memory (Beck et al. 2024, arXiv 2405.04517, section 2.3; in chunks: arXiv
 * 2503.14376): Mamba-2 without a convolution, with keys of another size than values, and two
 * exponential gates per head, for the input and for the state. The vector beside the state by which
 * outputs are divided, one more column, is left out. */
static void mlstm_shape(const RhConfig *c, RhLayerKind *kind)
{
    kind->heads = kind->kv_heads = (int32_t)c->ssm.num_heads;
    kind->head_size = (int32_t)c->ssm.head_dim;
    kind->state_size = (int32_t)c->ssm.state_size;
    kind->gates_per_head = (int32_t)c->ssm.gates_per_head;
    kind->window_tokens = (int32_t)c->ssm.chunk_size;
    kind->qkv_bias = kind->o_bias = c->ssm.proj_bias != 0;
}

const RhOperator rh_mlstm = SCAN("mLSTM", mlstm_shape);
