/* Time mixing and channel mixing of RWKV. The fourth (arXiv 2305.13048, section 3.1): receptance, key and value by a matrix
 * each, of the token mixed with the one before, a decaying mean in every channel, a matrix out. The fifth and the sixth
 * (arXiv 2404.05892, sections 4.1 and 4.2) have heads whose state is a matrix that decays and takes keys' products with
 * values in, a gate by one matrix more, and a norm of each head; the sixth tells its decays by a latent, and how a token is
 * mixed with the one before by five, whole on every tensor-parallel rank. The seventh (arXiv 2503.14456, section 4.1) has
 * heads whose state is a matrix under a generalised delta rule; decays, rates, gate and a share of the first layer's values
 * come from low-rank latents of R columns together, whose matrices in every tensor-parallel rank has whole; the output is
 * normed head by head, a gate scales it. Channel mixing is a plain network with a squared ReLU, which those before the
 * seventh scale by the sigmoid of one matrix more, whole on every rank.
 *
 * FLOPs that the operator needs are those of the recurrence. Assumed: the fifth to the seventh scan in chunks, as
 * flash-linear-attention's kernels for such rules; the fourth in one kernel a channel, by its bytes (its exponentials run
 * beside them). Formulas: docs/theory/workload.md. */
#include "workloads/operators/scan.h"

/* Of the mixed inputs, each of as many elements: the token and the one before are read, all are written; backward their
 * gradients are read, and one is written. */
#define MIXED(count)          ((count)*RH_WRITE + 2 * RH_READ)
#define MIXED_BACKWARD(count) ((count)*RH_READ + 2 * RH_READ + RH_WRITE)
/* The receptance's sigmoid times the network's output. */
static const RhStream GATE = {2 * RH_READ + RH_WRITE,
                              3 * RH_READ + 2 * RH_WRITE,
                              3 * RH_READ + 2 * RH_WRITE,
                              5 * RH_READ + 3 * RH_WRITE,
                              2,
                              0,
                              0};
/* Keys are made unit vectors, and scaled by rates; read four, write three. */
static const RhStream RATES = {4 * RH_READ + 3 * RH_WRITE,
                               7 * RH_READ + 4 * RH_WRITE,
                               8 * RH_READ + 6 * RH_WRITE,
                               14 * RH_READ + 8 * RH_WRITE,
                               4,
                               0,
                               0};

/* One rank's columns; those of latents, which all ranks have, and of those that mix; how many mixed inputs there are, matrices
 * that read these, and vectors of a number a column of the rank's own. */
typedef struct {
    RhScan scan;
    int64_t columns, latent, mix;
    int inputs, matrices, vectors;
} Widths;
#define MIXES 5 /* of receptance, key, value, gate and decay */

static bool has_matrix_states(const RhOps *ops)
{
    return ops->kind->state_size > 1;
}

/* The seventh's, under a delta rule; else a state decays alone. */
static bool has_rates(const RhOps *ops)
{
    return has_matrix_states(ops) && !ops->kind->full_gate;
}

/* Of the seventh a share of the first layer's values besides. */
static int vectors_of(const RhOps *ops)
{
    return !has_matrix_states(ops) ? 2 : !has_rates(ops) ? 4 : ops->kind->value_rank > 0 ? 8 : 7;
}

static int inputs_of(const RhOps *ops)
{
    return !has_matrix_states(ops) ? 3 : has_rates(ops) || ops->kind->mix_rank > 0 ? 6 : 4;
}

static Widths widths_of(const RhOps *ops)
{
    const RhLayerKind *kind = ops->kind;
    Widths w = {.scan = {.heads = rh_ops_cut(ops, kind->heads),
                         .key = kind->state_size,
                         .value = kind->head_size,
                         .chunk = kind->window_tokens},
                .latent = kind->step_rank + kind->value_rank,
                .mix = MIXES * (int64_t)kind->mix_rank,
                .inputs = inputs_of(ops),
                .matrices = kind->full_gate ? 4 : 3,
                .vectors = vectors_of(ops)};
    w.scan.groups = w.scan.heads;
    w.columns = w.scan.heads * w.scan.value;
    return w;
}

static void shape(const RhConfig *c, RhLayerKind *kind)
{
    kind->heads = kind->kv_heads = (int32_t)c->scan_heads;
    kind->head_size = (int32_t)c->scan_head_size;
    kind->state_size = (int32_t)c->state_size;
    kind->window_tokens = (int32_t)c->chunk;
    kind->step_rank = (int32_t)(c->decay_rank + c->rate_rank + c->gate_rank);
    kind->value_rank = (int32_t)c->value_rank;
    kind->mix_rank = (int32_t)c->mix_rank;
    kind->full_gate = c->full_gate != 0;
}

static RhParams params(const RhOps *ops)
{
    Widths w = widths_of(ops);
    double h = (double)ops->model->hidden, d = (double)w.columns;
    return (RhParams){.sharded = d * ((w.matrices + 1) * h + (double)w.latent + w.vectors),
                      .replicated = h * ((double)(w.latent + 2 * w.mix) + w.inputs)};
}

/* A token: of the seventh's matrices what the state holds under its key, two updates and a look at it, of others an update and
 * a look; of channels two means and their share. */
static double recurrence_flops(const RhOps *ops, const Widths *w)
{
    double each = has_matrix_states(ops) && !has_rates(ops) ? 4 : 8;
    return each * (double)w->columns * (has_matrix_states(ops) ? (double)w->scan.key : 1);
}

static RhFlops flops(const RhOps *ops)
{
    Widths w = widths_of(ops);
    double n = (double)ops->tokens, h = (double)ops->model->hidden, d = (double)w.columns;
    double matrices = (w.matrices + 1) * h * d + (double)w.latent * (h + d);
    return (RhFlops){.weights = 2 * n * (matrices + 2 * h * (double)w.mix),
                     .pairs = n * recurrence_flops(ops, &w)};
}

/* --- Kernels --- */

static void mix(RhOps *ops, int inputs, bool backward)
{
    double each = backward ? MIXED_BACKWARD(inputs) : MIXED(inputs);
    rh_ops_stream(ops, RH_KERNEL_ADD, each / 2 * ops->element_bytes * rh_ops_hidden_elements(ops),
                  1);
}

static void latents(RhOps *ops, const Widths *w, bool backward)
{
    int64_t h = ops->model->hidden, r = w->latent, d = w->columns;
    if (r == 0)
        return;
    rh_ops_linear(ops, ops->tokens, r, backward ? d : h);
    rh_ops_linear(ops, ops->tokens, backward ? h : d, r);
}

/* How each of five inputs is mixed, from a latent of each. */
static void mixing(RhOps *ops, const Widths *w, bool backward)
{
    int64_t h = ops->model->hidden, rank = ops->kind->mix_rank;
    if (rank == 0)
        return;
    if (backward)
        rh_ops_gemm(ops, MIXES, ops->tokens, rank, h);
    rh_ops_linear(ops, ops->tokens, backward ? h : w->mix, backward ? w->mix : h);
    if (!backward)
        rh_ops_gemm(ops, MIXES, ops->tokens, h, rank);
}

/* A state that decays, in chunks of C, as Mamba-2's: states at the ends of chunks from keys, values and decays; these handed
 * on; outputs from receptances, the states and the chunk's own tokens. */
static int decaying_steps(const RhOps *ops, const Widths *w, RhScanStep steps[3])
{
    double e = ops->element_bytes, c = (double)w->scan.chunk, d = (double)w->columns;
    double product = 2 * d * (double)w->scan.key;
    double states = rh_scan_state_bytes(&w->scan) * e / RH_FP32;
    steps[0] = (RhScanStep){product, 3 * e * d + states};
    steps[1] = (RhScanStep){0, 2 * states};
    steps[2] = (RhScanStep){product + 2 * c * 2 * d, 5 * e * d + states};
    return 3;
}

/* In chunks of C: four products among the chunk's keys and a triangle's inverse, what it makes of keys and values; the
 * states, with two updates; outputs. Of channels: one step over r, k, v. */
static int steps_of(const RhOps *ops, const Widths *w, RhScanStep steps[3])
{
    const RhScan *s = &w->scan;
    double e = ops->element_bytes, c = (double)s->chunk, d = (double)w->columns;
    double triangle = c * (double)s->heads, product = 2 * d * (double)s->key;
    double states = rh_scan_state_bytes(s) * e / RH_FP32;
    if (!has_matrix_states(ops)) {
        steps[0] = (RhScanStep){recurrence_flops(ops, w), 4 * e * d};
        return 1;
    }
    if (!has_rates(ops))
        return decaying_steps(ops, w, steps);
    steps[0] = (RhScanStep){2 * c * 6 * d + 2 * c * triangle / 3,
                            6 * e * d + 4 * RH_FP32 * triangle + 2 * e * d};
    steps[1] = (RhScanStep){3 * product, 6 * e * d + states};
    steps[2] = (RhScanStep){2 * c * 2 * d + product, 4 * e * d + states};
    return 3;
}

static void scale(RhOps *ops, const Widths *w, bool backward)
{
    double elements = (double)ops->tokens * (double)w->columns;
    if (has_matrix_states(ops))
        rh_scan_gated_norm(ops, elements, backward);
    else
        rh_ops_elementwise(ops, RH_KERNEL_ACTIVATION, &GATE, elements, backward);
}

static void rates(RhOps *ops, const Widths *w, bool backward)
{
    if (has_rates(ops))
        rh_ops_elementwise(ops, RH_KERNEL_ACTIVATION, &RATES,
                           (double)ops->tokens * (double)w->columns, backward);
}

static void forward(RhOps *ops, const Widths *w, RhPass pass)
{
    RhScanStep steps[3];
    int count = steps_of(ops, w, steps);
    int64_t h = ops->model->hidden;
    mixing(ops, w, false);
    mix(ops, w->inputs, false);
    for (int i = 0; i < w->matrices; i++)
        rh_ops_linear(ops, ops->tokens, w->columns, h);
    latents(ops, w, false);
    rates(ops, w, false);
    if (pass == RH_PASS_DECODE)
        rh_scan_decode(ops, &w->scan, recurrence_flops(ops, w));
    else
        rh_scan_steps(ops, &w->scan, steps, count, 1);
    scale(ops, w, false);
    rh_ops_linear(ops, ops->tokens, h, w->columns);
}

/* States are made again; each product has two gradients, each tensor one. */
static void backward(RhOps *ops, const Widths *w)
{
    RhScanStep steps[3];
    int count = steps_of(ops, w, steps);
    int64_t h = ops->model->hidden;
    rh_ops_linear(ops, ops->tokens, w->columns, h);
    scale(ops, w, true);
    if (count > 1)
        rh_scan_steps(ops, &w->scan, &steps[1], 1, 1);
    rh_scan_steps(ops, &w->scan, steps, count, 2);
    rates(ops, w, true);
    latents(ops, w, true);
    for (int i = 0; i < w->matrices; i++)
        rh_ops_linear(ops, ops->tokens, h, w->columns);
    mix(ops, w->inputs, true);
    mixing(ops, w, true);
}

static void weight_gradients(RhOps *ops, const Widths *w)
{
    int64_t h = ops->model->hidden;
    rh_ops_linear_gradient(ops, h, w->columns);
    if (w->latent > 0) {
        rh_ops_linear_gradient(ops, w->columns, w->latent);
        rh_ops_linear_gradient(ops, w->latent, h);
    }
    for (int i = 0; i < w->matrices; i++)
        rh_ops_linear_gradient(ops, w->columns, h);
    for (int i = 0; i < MIXES && w->mix > 0; i++)
        rh_ops_linear_gradient(ops, h, ops->kind->mix_rank);
    if (w->mix > 0)
        rh_ops_linear_gradient(ops, w->mix, h);
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

/* Kept: the mixed inputs; what matrices make of them; what latents make, in and out, and what rates made of keys; the scan's
 * output, and the last matrix' input. Working: gradients of the scan's, states between chunks. */
static RhOperatorBytes bytes(const RhOps *ops)
{
    Widths w = widths_of(ops);
    double n = (double)ops->tokens, e = ops->element_bytes, d = (double)w.columns;
    bool states_are_matrices = has_matrix_states(ops);
    double told = (double)w.latent + (has_rates(ops) ? 7 : w.latent > 0 ? 1 : 0) * d;
    double mixed = n * (double)w.mix + (w.mix > 0 ? MIXES : 0) * rh_ops_hidden_elements(ops);
    double states = states_are_matrices ? n * rh_scan_state_bytes(&w.scan) * e / RH_FP32 : 0;
    double wide = rh_ops_hidden_elements(ops);
    double normed = states_are_matrices ? n * rh_ops_norm_copies(ops) * d : 0;
    int gradients = has_rates(ops) ? 7 : w.matrices + 1;
    return (RhOperatorBytes){
        .kept = e * (w.inputs * wide + mixed + n * ((w.matrices + 2) * d + told)) + normed,
        .forward = e * wide + rh_ops_gathered_bytes(ops) + states,
        .backward = e * (wide + n * gradients * d) + rh_ops_gathered_bytes(ops) + 2 * states};
}

/* The state, and the token before; of channels two means and their largest exponent. */
static RhCacheBytes cache(const RhOps *ops)
{
    Widths w = widths_of(ops);
    double each = has_matrix_states(ops) ? (double)w.scan.key : 3;
    return (RhCacheBytes){.sequence = RH_FP32 * each * (double)w.columns +
                                      ops->element_bytes * (double)ops->model->hidden};
}

const RhOperator rh_time_mixing = {.name = "time mixing",
                                   .shape = shape,
                                   .params = params,
                                   .flops = flops,
                                   .kernels = kernels,
                                   .bytes = bytes,
                                   .cache = cache};

/* --- Channel mixing --- */

static void channel_shape(const RhConfig *c, RhLayerKind *kind)
{
    rh_ffn.shape(c, kind);
    kind->receptance = c->receptance != 0;
}

static int channel_inputs(const RhOps *ops)
{
    return ops->kind->receptance ? 2 : 1;
}

static RhParams channel_params(const RhOps *ops)
{
    RhParams p = rh_ffn.params(ops);
    double h = (double)ops->model->hidden;
    p.replicated += h * channel_inputs(ops) + (ops->kind->receptance ? h * h : 0);
    return p;
}

static RhFlops channel_flops(const RhOps *ops)
{
    RhFlops f = rh_ffn.flops(ops);
    double h = (double)ops->model->hidden;
    f.weights += ops->kind->receptance ? 2 * (double)ops->tokens * h * h : 0;
    return f;
}

static void receptance(RhOps *ops, bool backward)
{
    int64_t h = ops->model->hidden;
    if (!ops->kind->receptance)
        return;
    if (!backward)
        rh_ops_linear(ops, ops->tokens, h, h);
    rh_ops_elementwise(ops, RH_KERNEL_ACTIVATION, &GATE, rh_ops_hidden_elements(ops), backward);
    if (backward)
        rh_ops_linear(ops, ops->tokens, h, h);
}

static void channel_kernels(RhOps *ops, RhPass pass)
{
    bool runs = rh_pass_is_forward(pass) || pass == RH_PASS_RECOMPUTE_FULL;
    bool back = pass == RH_PASS_BACKWARD_DATA;
    if (runs)
        mix(ops, channel_inputs(ops), false);
    if (back)
        receptance(ops, true);
    rh_ffn.kernels(ops, pass);
    if (runs)
        receptance(ops, false);
    if (back)
        mix(ops, channel_inputs(ops), true);
    if (pass == RH_PASS_BACKWARD_WEIGHT && ops->kind->receptance)
        rh_ops_linear_gradient(ops, ops->model->hidden, ops->model->hidden);
}

/* Besides: the mixed inputs, the receptance and what it scales. */
static RhOperatorBytes channel_bytes(const RhOps *ops)
{
    RhOperatorBytes b = rh_ffn.bytes(ops);
    int more = channel_inputs(ops) + (ops->kind->receptance ? 2 : 0);
    b.kept += ops->element_bytes * more * rh_ops_hidden_elements(ops);
    return b;
}

const RhOperator rh_channel_mixing = {.name = "channel mixing",
                                      .shape = channel_shape,
                                      .params = channel_params,
                                      .flops = channel_flops,
                                      .kernels = channel_kernels,
                                      .bytes = channel_bytes};
