/* A layer that is a list of steps on pictures (workloads/image_layer_graph.h), including its norms and sums:
 * the cost of each step. Formulas: docs/theory/workload.md, "Pictures".
 */
#include <math.h>

#include "workloads/operators/image_layer_costs.h"

/* Bytes per element, counted. A norm over a batch reads its input twice, for the statistics and to
 * apply them; backward it reads input and gradient twice. */
#define NORM_FORWARD  (2 * RH_READ + RH_WRITE)
#define NORM_BACKWARD (4 * RH_READ + RH_WRITE)
/* Traffic of a ReLU. By itself it reads and writes, and backward reads its output, too. Fused by
 * the framework with a preceding norm or sum, it costs no traffic forward, and backward its output
 * alone. */
#define RELU_FORWARD        (RH_READ + RH_WRITE)
#define RELU_BACKWARD       (2 * RH_READ + RH_WRITE)
#define RELU_FUSED_BACKWARD RH_READ
/* Traffic of a sum, which reads two and writes one; its gradient is that of both. Fused with a norm
 * it reads only the other one, and backward writes the other one's gradient. */
#define SUM                (2 * RH_READ + RH_WRITE)
#define SUM_FUSED_FORWARD  RH_READ
#define SUM_FUSED_BACKWARD RH_WRITE
#define MOVE               (RH_READ + RH_WRITE)
/* Traffic of a gate, which multiplies one half of its channels by a function of the other; backward
 * reads both and the gradient. */
#define GATE_FORWARD  (2 * RH_READ + RH_WRITE)
#define GATE_BACKWARD (3 * RH_READ + 2 * RH_WRITE)
/* Bytes of the place of a window's maximum: PyTorch's max_pool2d keeps 64-bit indices. */
#define POOL_INDEX_BYTES 8.0

static RhTiles tiles_of(const RhShard *shard)
{
    int32_t across = MAX(rh_slice_across(shard->slice, shard->cp), 1);
    return (RhTiles){shard->cp / across, across, shard->halo == RH_HALO_LAYER};
}

/* The list of steps; where pictures are cut that of a rank's tile, which is then `own`. */
static const RhStepList *list_of(const RhOps *ops, RhStepList **own)
{
    const RhShard *shard = ops->shard;
    if (shard->slice == RH_SLICE_NONE || shard->cp <= 1)
        return ops->kind->steps;
    return *own = rh_step_list_tile(ops->kind->steps, tiles_of(shard));
}

static RhStepCost at_step(const RhOps *ops, const RhStepList *list, int32_t i)
{
    const RhLayerStep *step = &list->steps[i];
    return (RhStepCost){step, &list->tensors[step->from[0]], &list->tensors[list->inputs_count + i],
                        (double)ops->tokens};
}

/* --- parameters, FLOPs --- */

static double linear_entries(const RhStepCost *at)
{
    return rh_tensor_elements(&at->in->size) * at->step->out;
}

static double condition_entries(const RhStepCost *at)
{
    return (double)at->step->width * at->step->parts * at->out->size.channels;
}

static double step_params(const RhStepCost *at)
{
    double channels = at->out->size.channels, bias = at->step->bias ? channels : 0;
    switch ((RhLayerStepKind)at->step->kind) {
    case RH_STEP_OF_CONV:
    case RH_STEP_OF_TRANSPOSED:
        return rh_step_conv_entries(at) + bias;
    case RH_STEP_OF_LINEAR:
        return linear_entries(at) + bias;
    case RH_STEP_OF_NORM:
        return at->step->bias ? 2 * channels : 0;
    case RH_STEP_OF_SCALE:
        return channels;
    case RH_STEP_OF_CONDITION:
        return condition_entries(at) + at->step->parts * channels;
    case RH_STEP_OF_WINDOWS:
    case RH_STEP_OF_ATTENTION:
    case RH_STEP_OF_CROSS:
        return rh_step_attention_entries(at);
    case RH_STEP_OF_UPSAMPLE:
    case RH_STEP_OF_SILU:
    case RH_STEP_OF_GATE:
    case RH_STEP_OF_GELU:
    case RH_STEP_OF_MERGE:
    case RH_STEP_OF_RELU:
    case RH_STEP_OF_MAX_POOL:
    case RH_STEP_OF_AVERAGE_POOL:
    case RH_STEP_OF_GLOBAL_POOL:
    case RH_STEP_OF_ADD:
    case RH_STEP_OF_CONCAT:
    case RH_STEP_OF_SPLIT:
    case RH_STEP_OF_SHUFFLE:
    case RH_STEP_OF_NONE:
    case RH_STEP_OF_LAST:
    default:
        return 0;
    }
}

static bool is_conv(const RhStepCost *at)
{
    return at->step->kind == RH_STEP_OF_CONV || at->step->kind == RH_STEP_OF_TRANSPOSED;
}

/* FLOPs of a step: of a convolution every entry is used once for each place of a picture. */
static double step_flops(const RhStepCost *at)
{
    return is_conv(at)                              ? rh_step_conv_flops(at)
           : at->step->kind == RH_STEP_OF_LINEAR    ? 2 * at->pictures * linear_entries(at)
           : at->step->kind == RH_STEP_OF_CONDITION ? 2 * at->pictures * condition_entries(at)
           : at->step->kind == RH_STEP_OF_CROSS     ? rh_step_attention_flops(at)
                                                    : 0;
}

static RhParams params(const RhOps *ops)
{
    double sum = 0;
    for (int32_t i = 0; i < ops->kind->steps->steps_count; i++) {
        RhStepCost at = at_step(ops, ops->kind->steps, i);
        sum += step_params(&at);
    }
    return (RhParams){.replicated = sum};
}

static RhFlops flops(const RhOps *ops)
{
    RhFlops sum = {0};
    g_autoptr(RhStepList) own = NULL;
    RhShard each = *ops->shard; /* what is computed twice is no work of the model */
    each.halo = RH_HALO_STEP;
    RhOps once = *ops;
    once.shard = &each;
    const RhStepList *list = list_of(&once, &own);
    for (int32_t i = 0; i < list->steps_count; i++) {
        RhStepCost at = at_step(ops, list, i);
        sum.weights += step_flops(&at);
        bool last = !at.in->has_gradient || at.step->kind == RH_STEP_OF_CROSS;
        sum.first += last ? step_flops(&at) : 0; /* no gradient goes further back */
        sum.pairs += rh_step_is_attention(at.step) ? rh_step_attention_pairs(ops, &at) : 0;
    }
    return sum;
}

/* --- kernels --- */

static void linear(RhOps *ops, const RhStepCost *at, RhPass pass)
{
    int64_t in = (int64_t)rh_tensor_elements(&at->in->size), out = at->step->out;
    if (pass == RH_PASS_BACKWARD_WEIGHT) {
        rh_ops_weight_gradient(ops, in, out);
        rh_step_bias_gradient(ops, at);
    } else if (pass != RH_PASS_BACKWARD_DATA)
        rh_ops_gemm(ops, 1, ops->tokens, out, in);
    else if (at->in->has_gradient)
        rh_ops_gemm(ops, 1, ops->tokens, in, out);
}

/* Kernels of a step that scales and shifts all places of a picture by linear layers of a vector that
 * each picture has. */
static void condition(RhOps *ops, const RhStepCost *at, RhPass pass)
{
    int64_t in = at->step->width, out = (int64_t)at->step->parts * at->out->size.channels;
    if (pass == RH_PASS_BACKWARD_WEIGHT) {
        rh_ops_stream(ops, RH_KERNEL_REDUCE, ops->element_bytes * rh_step_out_elements(at), 1);
        rh_ops_weight_gradient(ops, in, out);
    } else if (pass == RH_PASS_BACKWARD_DATA) {
        rh_ops_gemm(ops, 1, ops->tokens, in, out);
    } else {
        rh_ops_gemm(ops, 1, ops->tokens, out, in);
        rh_step_stream(ops, RH_KERNEL_ADD, MOVE, rh_step_out_elements(at));
    }
}

/* Kernels of steps without a matrix: one kernel forward, and one for the gradients of all
 * inputs. */
static void streams(RhOps *ops, const RhStepCost *at, bool back)
{
    double out = rh_step_out_elements(at), in = rh_step_in_elements(at), e = ops->element_bytes;
    bool rides = at->step->rides && ops->shard->fused_elementwise;
    switch ((RhLayerStepKind)at->step->kind) {
    case RH_STEP_OF_NORM:
        if (at->step->over == RH_NORM_OF_PLACES)
            rh_step_stream(ops, RH_KERNEL_NORM, back ? 2 * RH_READ + RH_WRITE : RH_READ + RH_WRITE,
                           out);
        else
            rh_step_stream(ops, RH_KERNEL_NORM, back ? NORM_BACKWARD : NORM_FORWARD, out);
        break;
    case RH_STEP_OF_GATE:
        rh_step_stream(ops, RH_KERNEL_ACTIVATION, back ? GATE_BACKWARD : GATE_FORWARD, out);
        break;
    case RH_STEP_OF_SILU:
    case RH_STEP_OF_GELU: /* backward reads its input and the gradient, as a scale does */
    case RH_STEP_OF_SCALE:
        rh_step_stream(ops, RH_KERNEL_ACTIVATION, back ? RELU_BACKWARD : RELU_FORWARD, out);
        break;
    case RH_STEP_OF_RELU:
        rh_step_stream(
            ops, RH_KERNEL_ACTIVATION,
            rides ? (back ? RELU_FUSED_BACKWARD : 0) : (back ? RELU_BACKWARD : RELU_FORWARD), out);
        break;
    case RH_STEP_OF_ADD:
        for (int32_t i = 1; i < at->step->from_count; i++)
            rh_step_stream(ops, RH_KERNEL_ADD,
                           rides && i == 1 ? (back ? SUM_FUSED_BACKWARD : SUM_FUSED_FORWARD)
                                           : (back ? 0 : SUM),
                           out);
        break;
    case RH_STEP_OF_MAX_POOL:
        rh_ops_stream(ops, RH_KERNEL_POOL, e * (in + out) + POOL_INDEX_BYTES * out, 1);
        break;
    case RH_STEP_OF_UPSAMPLE: /* neighbours are read together */
    case RH_STEP_OF_AVERAGE_POOL:
    case RH_STEP_OF_GLOBAL_POOL:
        rh_ops_stream(ops, RH_KERNEL_POOL, e * (in + out), 1);
        break;
    case RH_STEP_OF_CONCAT:
    case RH_STEP_OF_MERGE:
    case RH_STEP_OF_SHUFFLE:
        rh_step_stream(ops, RH_KERNEL_ADD, MOVE, out);
        break;
    case RH_STEP_OF_SPLIT: /* a view; backward its gradient goes to its place */
        rh_step_stream(ops, RH_KERNEL_ADD, back ? MOVE : 0, out);
        break;
    case RH_STEP_OF_CONV:
    case RH_STEP_OF_TRANSPOSED:
    case RH_STEP_OF_LINEAR:
    case RH_STEP_OF_CONDITION:
    case RH_STEP_OF_WINDOWS:
    case RH_STEP_OF_ATTENTION:
    case RH_STEP_OF_CROSS:
    case RH_STEP_OF_NONE:
    case RH_STEP_OF_LAST:
    default:
        break;
    }
}

static void step_kernels(RhOps *ops, const RhStepCost *at, RhPass pass)
{
    if (is_conv(at))
        rh_step_conv_kernels(ops, at, pass);
    else if (at->step->kind == RH_STEP_OF_LINEAR)
        linear(ops, at, pass);
    else if (at->step->kind == RH_STEP_OF_CONDITION)
        condition(ops, at, pass);
    else if (rh_step_is_attention(at->step))
        rh_step_attention_kernels(ops, at, pass);
    else if (pass == RH_PASS_BACKWARD_DATA ? at->out->has_gradient
                                           : pass != RH_PASS_BACKWARD_WEIGHT)
        streams(ops, at, pass == RH_PASS_BACKWARD_DATA);
}

/* Kernels that sum the gradients of a tensor with several readers, except views, whose gradients
 * have places of their own. */
static void sum_gradients(RhOps *ops, const RhStepList *list)
{
    for (int32_t i = 0; i < list->inputs_count + list->steps_count; i++) {
        const RhStepTensor *t = &list->tensors[i];
        int32_t sums = t->has_gradient ? t->uses - 1 : 0;
        for (int32_t k = 0; k < list->steps_count; k++)
            sums -= list->steps[k].kind == RH_STEP_OF_SPLIT && list->steps[k].from[0] == i;
        for (; sums > 0; sums--)
            rh_step_stream(ops, RH_KERNEL_ADD, SUM,
                           (double)ops->tokens * rh_tensor_elements(&t->size));
    }
}

/* Is the step fused into a convolution at inference? Its output is scaled, or cut off below 0,
 * where it is made (NVIDIA TensorRT Developer Guide, "Types of Fusions": Convolution and ReLU,
 * Scale and Activation, Elementwise). */
static bool is_folded(const RhStepList *list, const RhLayerStep *step)
{
    int32_t maker = step->from[0] - list->inputs_count;
    bool behind = maker >= 0 && list->steps[maker].kind == RH_STEP_OF_CONV &&
                  list->tensors[step->from[0]].uses == 1;
    bool scale = step->kind == RH_STEP_OF_NORM && step->over == RH_NORM_OF_BATCH;
    return behind && (scale || step->kind == RH_STEP_OF_RELU);
}

/* Kernels of a step at inference: statistics of norms are known, and the place of a window's
 * maximum is not kept. */
static void inference_kernels(RhOps *ops, const RhStepCost *at)
{
    if (is_folded(ops->kind->steps, at->step))
        return;
    if (at->step->kind == RH_STEP_OF_NORM && at->step->over == RH_NORM_OF_BATCH)
        rh_step_stream(ops, RH_KERNEL_NORM, MOVE, rh_step_out_elements(at));
    else if (at->step->kind == RH_STEP_OF_MAX_POOL)
        rh_ops_stream(ops, RH_KERNEL_POOL,
                      ops->element_bytes * (rh_step_in_elements(at) + rh_step_out_elements(at)), 1);
    else
        step_kernels(ops, at, RH_PASS_FORWARD);
}

/* Adds an exchange of edges with the tiles on either side; of two tiles either is the other's only
 * neighbour, and both send at once. */
static void exchange_edges(RhOps *ops, int32_t tiles, int32_t step, double bytes)
{
    for (int32_t way = 0; way < MIN(tiles - 1, 2) && bytes > 0; way++)
        rh_ops_exchange(ops,
                        (RhExchange){.kind = RH_EXCHANGE_HALO, .step = step + way, .bytes = bytes});
}

/* Adds the exchanges of `halo` rows and columns of a tensor: columns first; then whole rows, with the
 * corners that came with the columns. */
static void exchange_both(RhOps *ops, const RhTensor *t, const int32_t halo[2])
{
    RhTiles tiles = tiles_of(ops->shard);
    double place = ops->element_bytes * (double)ops->tokens * t->channels;
    int32_t corners = tiles.across > 1 ? 2 * halo[1] : 0;
    exchange_edges(ops, tiles.across, 0, place * halo[1] * t->height);
    exchange_edges(ops, tiles.down, 2, place * halo[0] * (t->width + corners));
}

/* Adds the exchanges before a step with windows: edges of what it reads, or backward of the gradient
 * of what it made. */
static void exchange_halo(RhOps *ops, const RhStepCost *at, RhPass pass)
{
    bool back = pass == RH_PASS_BACKWARD_DATA;
    if (pass == RH_PASS_BACKWARD_WEIGHT || (back && !at->in->has_gradient))
        return;
    const RhTensor *t = back ? &at->out->size : &at->in->size;
    int32_t halo[2] = {rh_step_halo(at->step, false), rh_step_halo(at->step, true)};
    for (int side = 0; side < 2; side++)
        if (back && halo[side] > 0) /* that many windows reach over the edge */
            halo[side] = (halo[side] + at->step->stride[side] - 1) / at->step->stride[side];
    exchange_both(ops, t, halo);
}

/* Adds the exchanges of a layer whose edges come once: of all its inputs before the first step, or of
 * their gradients behind the last. */
static void exchange_inputs(RhOps *ops, const RhStepList *tile, bool back)
{
    RhTiles tiles = tiles_of(ops->shard);
    g_autofree int32_t *margins = (int32_t *)rh_step_list_margins(ops->kind->steps, tiles);
    for (int32_t i = 0; i < tile->inputs_count; i++)
        if (!back || tile->tensors[i].has_gradient)
            exchange_both(ops, &tile->tensors[i].size, margins + 2 * i);
}

/* Adds the sum over all tiles behind a global pool, whose gradient every tile makes by itself. */
static void sum_tiles(RhOps *ops, const RhStepCost *at, bool forward)
{
    if (forward && at->step->kind == RH_STEP_OF_GLOBAL_POOL)
        rh_ops_exchange(ops, (RhExchange){.kind = RH_EXCHANGE_TILES_SUM,
                                          .bytes = ops->element_bytes * rh_step_out_elements(at)});
}

static void kernels(RhOps *ops, RhPass pass)
{
    bool forward = rh_pass_is_forward(pass) || pass == RH_PASS_RECOMPUTE_FULL;
    int32_t count = ops->kind->steps->steps_count;
    if (!forward && pass != RH_PASS_BACKWARD_DATA && pass != RH_PASS_BACKWARD_WEIGHT)
        return;
    g_autoptr(RhStepList) own = NULL;
    const RhStepList *list = list_of(ops, &own);
    bool once = own && ops->shard->halo == RH_HALO_LAYER;
    if (once && forward)
        exchange_inputs(ops, own, false);
    for (int32_t i = 0; i < count; i++) {
        RhStepCost at = at_step(ops, list, forward ? i : count - 1 - i);
        if (own && !once)
            exchange_halo(ops, &at, pass);
        if (pass == RH_PASS_PREFILL)
            inference_kernels(ops, &at);
        else
            step_kernels(ops, &at, forward ? RH_PASS_FORWARD : pass);
        if (own)
            sum_tiles(ops, &at, forward);
    }
    if (pass == RH_PASS_BACKWARD_DATA)
        sum_gradients(ops, list);
    if (once && pass == RH_PASS_BACKWARD_DATA)
        exchange_inputs(ops, own, true);
}

/* --- bytes --- */

/* Largest number of elements that live at once: of tensors that are not kept, or of gradients. */
static double fullest_elements(const RhStepList *list, bool gradients)
{
    double most = 0;
    for (int32_t i = 0; i < list->steps_count; i++) {
        double now = 0;
        for (int32_t k = 0; k < list->inputs_count + list->steps_count; k++) {
            const RhStepTensor *t = &list->tensors[k];
            bool counts = gradients ? t->has_gradient != 0 : t->kept == 0;
            if (t->root == k && counts && t->first_use <= i && i <= t->last_use)
                now += rh_tensor_elements(&t->size);
        }
        most = fmax(most, now);
    }
    return most;
}

static RhOperatorBytes bytes(const RhOps *ops)
{
    g_autoptr(RhStepList) own = NULL;
    const RhStepList *list = list_of(ops, &own);
    double elements = 0, indices = 0, cores = 0, e = ops->element_bytes, n = (double)ops->tokens;
    for (int32_t k = 0; k < list->inputs_count + list->steps_count; k++)
        elements += list->tensors[k].kept == 1 ? rh_tensor_elements(&list->tensors[k].size) : 0;
    for (int32_t i = 0; i < list->steps_count; i++) {
        RhStepCost at = at_step(ops, list, i);
        indices += list->steps[i].kind == RH_STEP_OF_MAX_POOL ? rh_step_out_elements(&at) : 0;
        cores += rh_step_is_attention(at.step) ? rh_step_attention_kept_bytes(ops, &at) : 0;
    }
    return (RhOperatorBytes){.kept = e * n * elements + POOL_INDEX_BYTES * indices + cores,
                             .forward = e * n * fullest_elements(list, false),
                             .backward = e * n * fullest_elements(list, true)};
}

/* Sets no figures: a layer's list of steps, which model.c shapes, describes it. */
static void no_figures(const RhConfig *config, RhLayerKind *kind)
{
    (void)config;
    (void)kind;
}

const RhOperator rh_steps = {.name = "steps",
                             .shape = no_figures,
                             .params = params,
                             .flops = flops,
                             .kernels = kernels,
                             .bytes = bytes,
                             .alone = true};

/* Emits no kernels: pictures come as they are, and the first layer keeps them. */
static void no_kernels(RhOps *ops, RhPass pass)
{
    (void)ops;
    (void)pass;
}

static RhOperatorBytes no_bytes(const RhOps *ops)
{
    (void)ops;
    return (RhOperatorBytes){0};
}

const RhOperator rh_pictures = {.name = "pictures", .kernels = no_kernels, .bytes = no_bytes};
