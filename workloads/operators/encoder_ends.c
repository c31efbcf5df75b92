/* The two ends of an encoder before a decoder. Its tokens are looked up in the decoder's table (T5,
 * arXiv 1910.10683; BART, arXiv 1910.13461), or made of a spectrum by two convolutions over time
 * (Whisper, arXiv 2212.04356, section 2.2: three taps each, the second in steps of two, GELU after
 * both), which every tensor-parallel rank has whole. After its last layer there may be a norm; the
 * output is kept, once for all layers of the decoder that read it. */
#include <math.h>

#include "workloads/operators/operator.h"

/* --- Tokens from the decoder's table --- */

/* Kernels of the encoder's look-up. Its gradient rows are added to the gradient that the decoder's
 * look-up has made. */
static void look_up_kernels(RhOps *ops, RhPass pass)
{
    double moved = ops->element_bytes * rh_ops_hidden_elements(ops);
    if (rh_pass_is_forward(pass))
        rh_ops_stream(ops, RH_KERNEL_EMBEDDING, 2 * moved, 1);
    else if (pass == RH_PASS_BACKWARD_WEIGHT)
        rh_ops_stream(ops, RH_KERNEL_EMBEDDING, moved * (1 + 2.0 / MAX(ops->shard->tp, 1)), 1);
}

static RhOperatorBytes look_up_bytes(const RhOps *ops)
{
    double output = ops->element_bytes * rh_ops_hidden_elements(ops);
    return (RhOperatorBytes){.forward = output, .backward = output};
}

const RhOperator rh_look_up_alike = {
    .name = "look-up in the decoder's table", .kernels = look_up_kernels, .bytes = look_up_bytes};

/* --- Tokens from a spectrum --- */

#define TAPS   3
#define STRIDE 2

/* Traffic of GELU: reads and writes; backward reads two and writes one. */
static const RhStream GELU = {RH_READ + RH_WRITE,
                              2 * RH_READ + RH_WRITE,
                              RH_READ + RH_WRITE,
                              2 * RH_READ + RH_WRITE,
                              1,
                              0,
                              0};

/* Frames of the spectrum, with h columns each after the first convolution. */
static int64_t frames_of(const RhOps *ops)
{
    return STRIDE * ops->tokens;
}

static RhParams sounds_params(const RhOps *ops)
{
    double h = (double)ops->model->hidden, rows = (double)ops->model->num_mel_bins;
    return (RhParams){.replicated = TAPS * h * (rows + h) + 2 * h};
}

static void activate(RhOps *ops, int64_t rows, bool backward)
{
    rh_ops_elementwise(ops, RH_KERNEL_ACTIVATION, &GELU, (double)rows * (double)ops->model->hidden,
                       backward);
}

static void sounds_kernels(RhOps *ops, RhPass pass)
{
    int64_t h = ops->model->hidden, rows = ops->model->num_mel_bins, frames = frames_of(ops);
    RhOps first = *ops;
    first.tokens = frames;
    if (rh_pass_is_forward(pass)) {
        rh_ops_gemm(ops, 1, frames, h, TAPS * rows);
        activate(ops, frames, false);
        rh_ops_gemm(ops, 1, ops->tokens, h, TAPS * h);
        activate(ops, ops->tokens, false);
    } else if (pass == RH_PASS_BACKWARD_DATA) {
        activate(ops, ops->tokens, true);
        rh_ops_gemm(ops, 1, ops->tokens, TAPS * h, h);
        activate(ops, frames, true);
    } else if (pass == RH_PASS_BACKWARD_WEIGHT) {
        rh_ops_weight_gradient(&first, TAPS * rows, h);
        rh_ops_bias_gradient(&first, h);
        rh_ops_weight_gradient(ops, TAPS * h, h);
        rh_ops_bias_gradient(ops, h);
    }
}

/* Bytes kept: the spectrum, and inputs and outputs of both activations except the one that the
 * first layer keeps. */
static RhOperatorBytes sounds_bytes(const RhOps *ops)
{
    double e = ops->element_bytes, h = (double)ops->model->hidden, tokens = (double)ops->tokens;
    double frames = (double)frames_of(ops), rows = (double)ops->model->num_mel_bins;
    return (RhOperatorBytes){.kept = e * (frames * (rows + 2 * h) + tokens * h),
                             .forward = e * tokens * h,
                             .backward = e * (tokens + 2 * frames) * h};
}

const RhOperator rh_sounds = {
    .name = "sounds", .params = sounds_params, .kernels = sounds_kernels, .bytes = sounds_bytes};

/* --- The last layer's network --- */

static double end_norm(const RhOps *ops)
{
    return ops->kind->end_norm ? rh_ops_norm_params(ops) : 0;
}

static RhParams end_params(const RhOps *ops)
{
    RhParams p = ops->kind->inner_ffn->params(ops);
    p.replicated += end_norm(ops);
    return p;
}

static RhFlops end_flops(const RhOps *ops)
{
    return ops->kind->inner_ffn->flops(ops);
}

static void end_kernels(RhOps *ops, RhPass pass)
{
    bool again = pass == RH_PASS_RECOMPUTE_FULL, norm = ops->kind->end_norm;
    double elements = rh_ops_sequence_elements(ops);
    if (norm && pass == RH_PASS_BACKWARD_DATA)
        rh_ops_norm(ops, elements, true);
    ops->kind->inner_ffn->kernels(ops, pass);
    if (norm && (again || rh_pass_is_forward(pass)))
        rh_ops_norm(ops, elements, false);
}

/* Bytes of the encoder's end. The output that decoders read is kept whatever is recomputed; with a
 * norm its input, too. */
static RhOperatorBytes end_bytes(const RhOps *ops)
{
    RhOperatorBytes b = ops->kind->inner_ffn->bytes(ops);
    double input = ops->kind->end_norm ? ops->element_bytes + rh_ops_norm_copies(ops) : 0;
    b.kept += (ops->element_bytes + input) * rh_ops_sequence_elements(ops);
    return b;
}

static int linears(const RhOps *ops, RhLinear list[RH_LINEARS_MAX])
{
    return ops->kind->inner_ffn->linears(ops, list);
}

/* Does the network take all tokens of a tensor-parallel group? Experts that are sent their tokens
 * do not. */
static bool takes_whole(const RhOps *ops)
{
    const RhOperator *inner = ops->kind->inner_ffn;
    return inner->takes_whole == NULL || inner->takes_whole(ops);
}

void rh_encoder_end_wrap(RhLayerKind *kind, bool norm)
{
    kind->inner_ffn = kind->ffn;
    kind->ffn = &rh_encoder_end;
    kind->end_norm = norm;
}

const RhOperator rh_encoder_end = {.name = "ffn, then the encoder's output",
                                   .params = end_params,
                                   .flops = end_flops,
                                   .kernels = end_kernels,
                                   .bytes = end_bytes,
                                   .linears = linears,
                                   .takes_whole = takes_whole,
                                   .gathers_operands = true};
