/* Gated DeltaNet (Yang et al. 2024, arXiv 2412.06464), as in Qwen3-Next and Qwen3.5: queries, keys,
 * values and a gate from one matrix, a short convolution over the first three, the gated delta rule
 * in chunks (section 3.3; DeltaNet, arXiv 2406.06484), a gated norm of each head, one matrix out.
 * There are fewer heads of keys than of values; queries and keys are repeated. Formulas:
 * docs/theory/workload.md. The operator's FLOPs are those of the recurrence; the chunked form does
 * more.
 *
 * Kimi delta attention (arXiv 2510.26692, section 3) has a decay for each column of a key instead
 * of each head; decays and gate come from latents of R columns, which every rank makes whole, and
 * its chunks also read the decays. The gate of Kimi K3 and of Ling 3.0 comes from the hidden state,
 * as DeltaNet's does; so do Ling 3.0's decays. */
#include "workloads/operators/linear_mixer_scan.h"

/* One rank's columns: of values, of keys, of repeated keys, of the convolution, of the first
 * matrix. */
typedef struct {
    RhScan scan;
    int64_t values, keys, repeated, channels, in;
    int64_t rank, decays;  /* columns of a latent; columns with a decay of their own, 0 where whole
                            * heads decay */
    int64_t latents, gate; /* how many latents there are; columns of a gate that comes from one */
} Widths;

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
    w.repeated = w.scan.heads * w.scan.key;
    w.channels = w.values + 2 * w.keys;
    w.rank = kind->dt_rank;
    bool by_column = w.rank > 0 || kind->full_rank_gate; /* decays */
    w.decays = by_column ? w.repeated : 0;
    w.latents = w.rank == 0 ? 0 : kind->full_rank_gate ? 1 : 2;
    w.gate = w.latents == 2 ? w.values : 0;
    w.in = w.channels + w.scan.heads + w.latents * w.rank; /* one rate per head */
    w.in += w.latents == 2 ? 0 : w.values;                 /* the gate */
    w.in += w.latents > 0 ? 0 : by_column ? w.decays : w.scan.heads;
    return w;
}

static void shape(const RhConfig *c, RhLayerKind *kind)
{
    kind->heads = (int32_t)c->ssm.num_heads;
    kind->kv_heads = (int32_t)c->ssm.n_groups;
    kind->head_size = (int32_t)c->ssm.head_dim;
    kind->state_size = (int32_t)c->ssm.state_size;
    kind->conv_kernel = (int32_t)c->ssm.conv_kernel;
    kind->window_tokens = (int32_t)c->ssm.chunk_size;
}

static void kimi_shape(const RhConfig *c, RhLayerKind *kind)
{
    shape(c, kind);
    kind->dt_rank = (int32_t)c->ssm.dt_rank;
    kind->full_rank_gate = c->ssm.full_rank_gate != 0;
}

/* Entries of the matrices that read from latents. */
static double latent_entries(const Widths *w)
{
    return (double)(w->rank * (w->decays + w->gate));
}

/* Parameters besides matrices and taps: for each head a decay and a step's bias, or a bias of each
 * decay; the norm's scales. */
static RhParams params(const RhOps *ops)
{
    Widths w = widths_of(ops);
    double h = (double)ops->model->hidden;
    double heads = (double)w.scan.heads;
    return (RhParams){.sharded = h * (double)(w.in - w.latents * w.rank + w.values) +
                                 latent_entries(&w) +
                                 rh_scan_convolution_params(ops, (double)w.channels) + heads +
                                 (w.decays > 0 ? (double)w.decays : heads),
                      .replicated = (double)w.scan.value + h * (double)(w.latents * w.rank)};
}

/* FLOPs of the recurrence for a token: reading the state at its key, the update, and the output. */
static double recurrence_flops(const RhScan *s)
{
    return 6 * (double)(s->heads * s->key * s->value);
}

static RhFlops flops(const RhOps *ops)
{
    Widths w = widths_of(ops);
    double n = (double)ops->tokens,
           entries = (double)ops->model->hidden * (double)(w.in + w.values) + latent_entries(&w);
    return (RhFlops){.weights =
                         2 * n * entries + rh_scan_convolution_flops(ops, (double)w.channels),
                     .pairs = n * recurrence_flops(&w.scan)};
}

/* --- Kernels --- */

/* Steps of the scan for a token, in chunks of C: keys by keys, the inverse of a triangle (C^3 / 3
 * multiply-adds a chunk) and its products with keys and values (w, u); states; outputs. Products
 * are whole squares. The triangle is in fp32 between the first two steps, written and read; the
 * kernels are those of flash-linear-attention. */
static void steps_of(const RhOps *ops, const Widths *w, RhScanStep steps[3])
{
    const RhScan *s = &w->scan;
    double e = ops->element_bytes, c = (double)s->chunk, heads = (double)s->heads;
    double k = (double)w->repeated, v = (double)w->values, triangle = c * heads;
    double product = 2 * (double)(s->heads * s->key * s->value);
    double states = rh_scan_state_bytes(s) * e / RH_FP32;
    steps[0] =
        (RhScanStep){2 * c * (2 * k + v) + 2 * c * triangle / 3,
                     e * (2 * k + v) + 2 * RH_FP32 * triangle + 2 * e * triangle + e * (k + v)};
    steps[1] = (RhScanStep){2 * product, e * (2 * k + v) + states + e * v};
    steps[2] = (RhScanStep){2 * c * (k + v) + product, e * (2 * k + v) + states + e * v};
    for (int i = 0; i < 3; i++)
        steps[i].bytes += e * (double)w->decays;
}

/* Makes the decays and the gate from latents; backward, their gradients. */
static void latents(RhOps *ops, const Widths *w, bool backward)
{
    const int64_t columns[] = {w->decays, w->gate};
    for (size_t i = 0; i < G_N_ELEMENTS(columns); i++)
        if (columns[i] > 0 && w->rank > 0)
            rh_ops_linear(ops, ops->tokens, backward ? w->rank : columns[i],
                          backward ? columns[i] : w->rank);
}

/* Makes the inputs of the scan from the hidden state: with one matrix in training. Engines use four
 * for Qwen3.5's DeltaNet (queries, keys and values; the gate; rates; decays, the last two in 16
 * bits whatever the recipe): sglang/srt/models/qwen3_5.py at 573bbb94, which follows vLLM. */
static void inputs(RhOps *ops, const Widths *w, RhPass pass)
{
    int64_t h = ops->model->hidden;
    if (pass == RH_PASS_FORWARD || w->latents > 0 || w->decays > 0) {
        rh_ops_linear(ops, ops->tokens, w->in, h);
        return;
    }
    rh_ops_linear(ops, ops->tokens, w->channels, h);
    rh_ops_linear(ops, ops->tokens, w->values, h);
    for (int i = 0; i < 2; i++)
        rh_ops_gemm(ops, 1, ops->tokens, w->scan.heads, h);
}

static void forward(RhOps *ops, const Widths *w, RhPass pass)
{
    RhScanStep steps[3];
    steps_of(ops, w, steps);
    inputs(ops, w, pass);
    rh_scan_convolve(ops, (double)w->channels, false);
    latents(ops, w, false);
    rh_ops_norm(ops, 2 * (double)ops->tokens * (double)w->keys, false); /* of queries and keys */
    if (pass == RH_PASS_DECODE)
        rh_scan_decode(ops, &w->scan, recurrence_flops(&w->scan));
    else
        rh_scan_steps(ops, &w->scan, steps, G_N_ELEMENTS(steps), 1);
    rh_scan_gated_norm(ops, (double)ops->tokens * (double)w->values, false);
    rh_ops_linear(ops, ops->tokens, ops->model->hidden, w->values);
}

/* Kernels of backward: w, u and the states are recomputed (the inverse is kept); each product has
 * two gradients, each tensor one. */
static void backward(RhOps *ops, const Widths *w)
{
    double k = (double)w->repeated, v = (double)w->values, c = (double)w->scan.chunk;
    RhScanStep steps[3],
        again = {2 * c * (k + v), ops->element_bytes * (2 * (k + v) + c * (double)w->scan.heads)};
    steps_of(ops, w, steps);
    rh_ops_linear(ops, ops->tokens, w->values, ops->model->hidden);
    rh_scan_gated_norm(ops, (double)ops->tokens * v, true);
    rh_scan_steps(ops, &w->scan, &again, 1, 1);
    rh_scan_steps(ops, &w->scan, &steps[1], 1, 1);
    rh_scan_steps(ops, &w->scan, steps, G_N_ELEMENTS(steps), 2);
    rh_ops_norm(ops, 2 * (double)ops->tokens * (double)w->keys, true);
    rh_scan_convolve(ops, (double)w->channels, true);
    latents(ops, w, true);
    rh_ops_linear(ops, ops->tokens, ops->model->hidden, w->in);
}

static void weight_gradients(RhOps *ops, const Widths *w)
{
    rh_ops_linear_gradient(ops, ops->model->hidden, w->values);
    rh_scan_taps_gradient(ops, (double)w->channels);
    if (w->latents > 0)
        rh_ops_linear_gradient(ops, w->decays, w->rank);
    if (w->gate > 0)
        rh_ops_linear_gradient(ops, w->gate, w->rank);
    rh_ops_linear_gradient(ops, w->in, ops->model->hidden);
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
    else if (pass == RH_PASS_RECOMPUTE_SELECTIVE && rh_ops_replays(ops, RH_RECOMPUTE_SCAN_NORM))
        rh_scan_gated_norm(ops, (double)ops->tokens * (double)w.values, false);
}

/* Bytes. Kept: the first matrix' output, the convolution's, normed and repeated queries and keys,
 * the inverse, the scan's output and the norm's. Working: their gradients beside the states between
 * chunks. */
static RhOperatorBytes bytes(const RhOps *ops)
{
    Widths w = widths_of(ops);
    double n = (double)ops->tokens, e = ops->element_bytes, wide = rh_ops_hidden_elements(ops);
    double inverse = (double)(w.scan.chunk * w.scan.heads);
    int64_t told = w.latents > 0 ? w.decays + w.gate : 0;
    double columns = (double)(w.in + w.channels + 2 * w.repeated + 2 * w.values + told) + inverse;
    double copies = rh_ops_norm_copies(ops) * (double)(w.values + 2 * w.keys);
    double states = n * rh_scan_state_bytes(&w.scan) * e / RH_FP32;
    double gathered = rh_ops_gathered_bytes(ops);
    double gradients = e * (n * (double)(w.in + 2 * w.repeated + 2 * w.values + told) + wide);
    bool again = rh_ops_replays(ops, RH_RECOMPUTE_SCAN_NORM);
    return (RhOperatorBytes){.kept = n * (e * columns + copies),
                             .dropped = again ? n * e * (double)w.values : 0,
                             .forward = e * wide + gathered + states,
                             .backward = gradients + gathered + 2 * states};
}

static RhCacheBytes cache(const RhOps *ops)
{
    Widths w = widths_of(ops);
    return rh_scan_cache(ops, &w.scan, (double)w.channels);
}

/* Linear layers. The matrices of latents are never adapted. */
static int linears(const RhOps *ops, RhLinear list[RH_LINEARS_MAX])
{
    Widths w = widths_of(ops);
    bool again = rh_ops_replays(ops, RH_RECOMPUTE_SCAN_NORM);
    double normed = (double)ops->tokens * ops->element_bytes * (double)w.values;
    return rh_scan_linears(ops, w.in, w.values, again ? 0 : normed, list);
}

/* A row of this operator with another shape. */
#define DELTA_NET(name_, shape_)                                                                   \
    {                                                                                              \
        .name = (name_), .shape = (shape_), .params = params, .flops = flops, .kernels = kernels,  \
        .bytes = bytes, .cache = cache, .linears = linears, .modules = RH_RECOMPUTE_SCAN_NORM      \
    }

const RhOperator rh_delta_net = DELTA_NET("gated DeltaNet", shape);

const RhOperator rh_kimi_delta = DELTA_NET("Kimi delta attention", kimi_shape);
