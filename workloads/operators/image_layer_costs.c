/* A layer that is a list of steps on pictures (workloads/image_layer_graph.h), including its norms and sums:
 * the cost of each step. Formulas: docs/theory/workload.md, "Pictures".
 *
 * A convolution is an implicit GEMM: one row for each place of each picture, one column for each
 * channel out, as deep as a window; cuDNN and similar libraries make the windows on the way, so the
 * picture is read once (Chetlur et al. 2014, arXiv 1410.0759, section 3). With one channel per
 * group nothing is left to multiply by matrices: such a kernel is bound by bandwidth. */
#include <math.h>

#include "workloads/image_layer_graph.h"
#include "workloads/operators/operator.h"

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
/* Bytes of the place of a window's maximum: PyTorch's max_pool2d keeps 64-bit indices. */
#define POOL_INDEX_BYTES 8.0

/* A step, its tensors, and the pictures of a micro-batch. */
typedef struct {
    const RhLayerStep *step;
    const RhStepTensor *in, *out;
    double pictures;
} At;

static At at_step(const RhOps *ops, int32_t i)
{
    const RhStepList *list = ops->kind->steps;
    const RhLayerStep *step = &list->steps[i];
    return (At){step, &list->tensors[step->from[0]], &list->tensors[list->inputs_count + i],
                (double)ops->tokens};
}

static double in_elements(const At *at)
{
    return at->pictures * rh_tensor_elements(&at->in->size);
}

static double out_elements(const At *at)
{
    return at->pictures * rh_tensor_elements(&at->out->size);
}

static double window(const At *at)
{
    return (double)at->step->kernel[0] * at->step->kernel[1];
}

/* --- parameters, FLOPs --- */

static double conv_entries(const At *at)
{
    return (double)at->out->size.channels * at->in->size.channels / at->step->groups * window(at);
}

static double linear_entries(const At *at)
{
    return rh_tensor_elements(&at->in->size) * at->step->out;
}

static double step_params(const At *at)
{
    double channels = at->out->size.channels, bias = at->step->bias ? channels : 0;
    switch ((RhLayerStepKind)at->step->kind) {
    case RH_STEP_OF_CONV:
        return conv_entries(at) + bias;
    case RH_STEP_OF_LINEAR:
        return linear_entries(at) + bias;
    case RH_STEP_OF_NORM:
        return 2 * channels;
    case RH_STEP_OF_SCALE:
        return channels;
    case RH_STEP_OF_WINDOWS:
        return at->step->heads * (2.0 * at->step->window - 1) * (2.0 * at->step->window - 1);
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

/* FLOPs of a step: every entry is used once for each place of the output picture. */
static double step_flops(const At *at)
{
    double places = at->pictures * at->out->size.height * at->out->size.width;
    return at->step->kind == RH_STEP_OF_CONV     ? 2 * places * conv_entries(at)
           : at->step->kind == RH_STEP_OF_LINEAR ? 2 * at->pictures * linear_entries(at)
                                                 : 0;
}

/* Context of windowed attention: windows count as sequences of their places; the last ones are
 * padded. */
static RhOps of_windows(const RhOps *ops, const At *at)
{
    int32_t w = at->step->window;
    int64_t down = (at->out->size.height + w - 1) / w, across = (at->out->size.width + w - 1) / w;
    RhOps view = *ops;
    view.sequences = ops->tokens * down * across;
    view.queries = view.keys = (int64_t)w * w;
    view.tokens = view.sequences * view.queries;
    return view;
}

static RhCore core_of(const At *at)
{
    int32_t d = at->out->size.channels / at->step->heads;
    return (RhCore){.heads = at->step->heads, .kv_heads = at->step->heads, .key = d, .value = d};
}

/* Pairs of a step: every place of a window with every other, once for scores and once for
 * values. */
static double step_pairs(const RhOps *ops, const At *at)
{
    if (at->step->kind != RH_STEP_OF_WINDOWS)
        return 0;
    RhOps view = of_windows(ops, at);
    return 4 * (double)view.tokens * (double)view.keys * at->out->size.channels;
}

static RhParams params(const RhOps *ops)
{
    double sum = 0;
    for (int32_t i = 0; i < ops->kind->steps->steps_count; i++) {
        At at = at_step(ops, i);
        sum += step_params(&at);
    }
    return (RhParams){.replicated = sum};
}

static RhFlops flops(const RhOps *ops)
{
    RhFlops sum = {0};
    for (int32_t i = 0; i < ops->kind->steps->steps_count; i++) {
        At at = at_step(ops, i);
        sum.weights += step_flops(&at);
        sum.first += at.in->has_gradient ? 0 : step_flops(&at);
        sum.pairs += step_pairs(ops, &at);
    }
    return sum;
}

/* --- kernels --- */

static void stream(RhOps *ops, RhKernelClass cls, double per_element, double elements)
{
    if (per_element > 0)
        rh_ops_stream(ops, cls, per_element * elements * ops->element_bytes / 2, 1);
}

/* Bytes of a convolution: the picture in as far as windows touch it, the picture out, the weights;
 * a gradient of the picture is written everywhere, also outside all windows. */
static double conv_bytes(const RhOps *ops, const At *at, RhPass pass)
{
    double places = at->pictures * at->out->size.height * at->out->size.width;
    double touched = fmin(in_elements(at), places * window(at) * at->in->size.channels);
    double in = pass == RH_PASS_BACKWARD_DATA ? in_elements(at) : touched;
    double entries = pass == RH_PASS_BACKWARD_WEIGHT ? 0 : conv_entries(at);
    return ops->element_bytes * (in + out_elements(at) + entries);
}

/* Channels as matrix units take them: padded to multiples of eight, or four for pictures of three
 * (NVIDIA, Convolutional Layers User's Guide, "Channels In and Out": cuDNN pads by itself from
 * 7.6.3 on). */
static int64_t filled(int64_t channels)
{
    return channels <= 4 ? 4 : (channels + 7) / 8 * 8;
}

/* Kernel of a convolution. Forward and the gradient of the picture have a row for each place; the
 * gradient of weights sums over places. With strides the gradient of the picture needs as many
 * products as forward does. */
static void conv_kernel(RhOps *ops, const At *at, RhPass pass)
{
    int64_t places = (int64_t)at->pictures * at->out->size.height * at->out->size.width;
    int64_t groups = at->step->groups, each = at->in->size.channels / groups;
    int64_t in = filled(each), out = filled(at->out->size.channels / groups);
    int64_t taps = (int64_t)window(at);
    bool weights = pass == RH_PASS_BACKWARD_WEIGHT, data = pass == RH_PASS_BACKWARD_DATA;
    double bytes = conv_bytes(ops, at, pass);
    if (each == 1 && groups > 1) {
        rh_ops_stream(ops, RH_KERNEL_DEPTHWISE, bytes, 1);
    } else {
        if (weights)
            rh_ops_gemm(ops, groups, out, in * taps, places);
        else
            rh_ops_gemm(ops, groups, places, data ? in : out, (data ? out : in) * taps);
        g_array_index(ops->out, RhKernel, ops->out->len - 1).bytes = bytes;
    }
    g_array_index(ops->out, RhKernel, ops->out->len - 1).flops = step_flops(at);
    if (weights)
        rh_ops_add_gradient(ops, conv_entries(at));
}

static void bias_gradient(RhOps *ops, const At *at)
{
    double read = ops->element_bytes * out_elements(at);
    double added = rh_ops_added_gradient_bytes(ops) * at->out->size.channels;
    if (at->step->bias)
        rh_ops_stream(ops, RH_KERNEL_REDUCE, read + added, 1);
}

static void conv_kernels(RhOps *ops, const At *at, RhPass pass)
{
    if (pass == RH_PASS_BACKWARD_WEIGHT)
        bias_gradient(ops, at);
    if (pass != RH_PASS_BACKWARD_DATA || at->in->has_gradient)
        conv_kernel(ops, at, pass);
}

static void linear(RhOps *ops, const At *at, RhPass pass)
{
    int64_t in = (int64_t)rh_tensor_elements(&at->in->size), out = at->step->out;
    if (pass == RH_PASS_BACKWARD_WEIGHT) {
        rh_ops_weight_gradient(ops, in, out);
        bias_gradient(ops, at);
    } else if (pass != RH_PASS_BACKWARD_DATA)
        rh_ops_gemm(ops, 1, ops->tokens, out, in);
    else if (at->in->has_gradient)
        rh_ops_gemm(ops, 1, ops->tokens, in, out);
}

/* Kernels of windowed attention. Places are copied into windows and back, and moved by half a
 * window before and after where these are shifted. Biases of scores by distance are assumed to be
 * made in registers, as with ALiBi; their gradient is left out. */
static void window_kernels(RhOps *ops, const At *at, RhPass pass)
{
    RhOps view = of_windows(ops, at);
    RhCore core = core_of(at);
    double places = (double)view.queries;
    const RhCoreBlock square = {
        .queries = view.queries, .keys = view.keys, .rows = view.keys, .pairs = places * places};
    if (pass == RH_PASS_BACKWARD_WEIGHT)
        return;
    if (ops->shard->flash)
        rh_core_fused(&view, &core, pass, &square);
    else
        rh_core_kernels(&view, &core, pass);
    for (int i = 0; i < (at->step->shifted ? 4 : 2); i++)
        stream(ops, RH_KERNEL_ADD, MOVE, out_elements(at));
}

/* Kernels of steps without a matrix: one kernel forward, and one for the gradients of all
 * inputs. */
static void streams(RhOps *ops, const At *at, bool back)
{
    double out = out_elements(at), in = in_elements(at), e = ops->element_bytes;
    bool rides = at->step->rides && ops->shard->fused_elementwise;
    switch ((RhLayerStepKind)at->step->kind) {
    case RH_STEP_OF_NORM:
        if (at->step->by_place)
            stream(ops, RH_KERNEL_NORM, back ? 2 * RH_READ + RH_WRITE : RH_READ + RH_WRITE, out);
        else
            stream(ops, RH_KERNEL_NORM, back ? NORM_BACKWARD : NORM_FORWARD, out);
        break;
    case RH_STEP_OF_GELU: /* backward reads its input and the gradient, as a scale does */
    case RH_STEP_OF_SCALE:
        stream(ops, RH_KERNEL_ACTIVATION, back ? RELU_BACKWARD : RELU_FORWARD, out);
        break;
    case RH_STEP_OF_RELU:
        stream(ops, RH_KERNEL_ACTIVATION,
               rides ? (back ? RELU_FUSED_BACKWARD : 0) : (back ? RELU_BACKWARD : RELU_FORWARD),
               out);
        break;
    case RH_STEP_OF_ADD:
        for (int32_t i = 1; i < at->step->from_count; i++)
            stream(ops, RH_KERNEL_ADD,
                   rides && i == 1 ? (back ? SUM_FUSED_BACKWARD : SUM_FUSED_FORWARD)
                                   : (back ? 0 : SUM),
                   out);
        break;
    case RH_STEP_OF_MAX_POOL:
        rh_ops_stream(ops, RH_KERNEL_POOL, e * (in + out) + POOL_INDEX_BYTES * out, 1);
        break;
    case RH_STEP_OF_AVERAGE_POOL:
    case RH_STEP_OF_GLOBAL_POOL:
        rh_ops_stream(ops, RH_KERNEL_POOL, e * (in + out), 1);
        break;
    case RH_STEP_OF_CONCAT:
    case RH_STEP_OF_MERGE:
    case RH_STEP_OF_SHUFFLE:
        stream(ops, RH_KERNEL_ADD, MOVE, out);
        break;
    case RH_STEP_OF_SPLIT: /* a view; backward its gradient goes to its place */
        stream(ops, RH_KERNEL_ADD, back ? MOVE : 0, out);
        break;
    case RH_STEP_OF_CONV:
    case RH_STEP_OF_LINEAR:
    case RH_STEP_OF_WINDOWS:
    case RH_STEP_OF_NONE:
    case RH_STEP_OF_LAST:
    default:
        break;
    }
}

static void step_kernels(RhOps *ops, const At *at, RhPass pass)
{
    if (at->step->kind == RH_STEP_OF_CONV)
        conv_kernels(ops, at, pass);
    else if (at->step->kind == RH_STEP_OF_LINEAR)
        linear(ops, at, pass);
    else if (at->step->kind == RH_STEP_OF_WINDOWS)
        window_kernels(ops, at, pass);
    else if (pass == RH_PASS_BACKWARD_DATA ? at->out->has_gradient
                                           : pass != RH_PASS_BACKWARD_WEIGHT)
        streams(ops, at, pass == RH_PASS_BACKWARD_DATA);
}

/* Kernels that sum the gradients of a tensor with several readers, except views, whose gradients
 * have places of their own. */
static void sum_gradients(RhOps *ops)
{
    const RhStepList *list = ops->kind->steps;
    for (int32_t i = 0; i < list->inputs_count + list->steps_count; i++) {
        const RhStepTensor *t = &list->tensors[i];
        int32_t sums = t->has_gradient ? t->uses - 1 : 0;
        for (int32_t k = 0; k < list->steps_count; k++)
            sums -= list->steps[k].kind == RH_STEP_OF_SPLIT && list->steps[k].from[0] == i;
        for (; sums > 0; sums--)
            stream(ops, RH_KERNEL_ADD, SUM, (double)ops->tokens * rh_tensor_elements(&t->size));
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
    return behind && (step->kind == RH_STEP_OF_NORM || step->kind == RH_STEP_OF_RELU);
}

/* Kernels of a step at inference: statistics of norms are known, and the place of a window's
 * maximum is not kept. */
static void inference_kernels(RhOps *ops, const At *at)
{
    if (is_folded(ops->kind->steps, at->step))
        return;
    if (at->step->kind == RH_STEP_OF_NORM)
        stream(ops, RH_KERNEL_NORM, MOVE, out_elements(at));
    else if (at->step->kind == RH_STEP_OF_MAX_POOL)
        rh_ops_stream(ops, RH_KERNEL_POOL,
                      ops->element_bytes * (in_elements(at) + out_elements(at)), 1);
    else
        step_kernels(ops, at, RH_PASS_FORWARD);
}

static void kernels(RhOps *ops, RhPass pass)
{
    bool forward = rh_pass_is_forward(pass) || pass == RH_PASS_RECOMPUTE_FULL;
    int32_t count = ops->kind->steps->steps_count;
    if (!forward && pass != RH_PASS_BACKWARD_DATA && pass != RH_PASS_BACKWARD_WEIGHT)
        return;
    for (int32_t i = 0; i < count; i++) {
        At at = at_step(ops, forward ? i : count - 1 - i);
        if (pass == RH_PASS_PREFILL)
            inference_kernels(ops, &at);
        else
            step_kernels(ops, &at, forward ? RH_PASS_FORWARD : pass);
    }
    if (pass == RH_PASS_BACKWARD_DATA)
        sum_gradients(ops);
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
    const RhStepList *list = ops->kind->steps;
    double elements = 0, indices = 0, cores = 0, e = ops->element_bytes, n = (double)ops->tokens;
    for (int32_t k = 0; k < list->inputs_count + list->steps_count; k++)
        elements += list->tensors[k].kept == 1 ? rh_tensor_elements(&list->tensors[k].size) : 0;
    for (int32_t i = 0; i < list->steps_count; i++) {
        At at = at_step(ops, i);
        indices += list->steps[i].kind == RH_STEP_OF_MAX_POOL ? out_elements(&at) : 0;
        if (list->steps[i].kind == RH_STEP_OF_WINDOWS) {
            RhOps view = of_windows(ops, &at);
            RhCore core = core_of(&at);
            cores += rh_core_kept_bytes(&view, &core);
        }
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
