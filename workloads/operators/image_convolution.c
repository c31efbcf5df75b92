/* Convolutions of a layer on pictures, dilated, grouped, depthwise or transposed, as implicit GEMMs: one
 * row for each place of each picture, one column for each channel out, as deep as a window; cuDNN and
 * similar libraries make the windows on the way, so the picture is read once (Chetlur et al. 2014, arXiv
 * 1410.0759, section 3). Dilation spreads a window's places: it needs as many products. A transposed
 * convolution is the gradient of a convolution that goes the other way (Dumoulin and Visin 2016, arXiv
 * 1603.07285, section 4). */
#include <math.h>

#include "workloads/operators/image_layer_costs.h"

static double window(const RhStepCost *at)
{
    return (double)at->step->kernel[0] * at->step->kernel[1];
}

double rh_step_conv_entries(const RhStepCost *at)
{
    return (double)at->out->size.channels * at->in->size.channels / at->step->groups * window(at);
}

/* The convolution whose gradients a transposed one is; another step itself. */
static RhStepCost untransposed(const RhStepCost *at)
{
    if (at->step->kind != RH_STEP_OF_TRANSPOSED)
        return *at;
    return (RhStepCost){at->step, at->out, at->in, at->pictures};
}

/* FLOPs of a convolution that is not transposed: every entry is used once for each place. */
static double conv_flops(const RhStepCost *at)
{
    double places = at->pictures * at->out->size.height * at->out->size.width;
    return 2 * places * rh_step_conv_entries(at);
}

double rh_step_conv_flops(const RhStepCost *at)
{
    RhStepCost conv = untransposed(at);
    return conv_flops(&conv);
}

/* Bytes of a convolution: the picture in as far as windows touch it, the picture out, the weights;
 * a gradient of the picture is written everywhere, also outside all windows. */
static double conv_bytes(const RhOps *ops, const RhStepCost *at, RhPass pass)
{
    double places = at->pictures * at->out->size.height * at->out->size.width;
    double touched = fmin(rh_step_in_elements(at), places * window(at) * at->in->size.channels);
    double in = pass == RH_PASS_BACKWARD_DATA ? rh_step_in_elements(at) : touched;
    double entries = pass == RH_PASS_BACKWARD_WEIGHT ? 0 : rh_step_conv_entries(at);
    return ops->element_bytes * (in + rh_step_out_elements(at) + entries);
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
static void conv_kernel(RhOps *ops, const RhStepCost *at, RhPass pass)
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
    g_array_index(ops->out, RhKernel, ops->out->len - 1).flops = conv_flops(at);
    if (weights)
        rh_ops_add_gradient(ops, rh_step_conv_entries(at));
}

/* The pass of the convolution that a pass of a transposed one is. */
static RhPass opposite(RhPass pass)
{
    return pass == RH_PASS_BACKWARD_WEIGHT ? pass
           : pass == RH_PASS_BACKWARD_DATA ? RH_PASS_FORWARD
                                           : RH_PASS_BACKWARD_DATA;
}

void rh_step_conv_kernels(RhOps *ops, const RhStepCost *at, RhPass pass)
{
    RhStepCost conv = untransposed(at);
    if (pass == RH_PASS_BACKWARD_WEIGHT)
        rh_step_bias_gradient(ops, at);
    if (pass == RH_PASS_BACKWARD_DATA && !at->in->has_gradient)
        return;
    conv_kernel(ops, &conv, at->step->kind == RH_STEP_OF_TRANSPOSED ? opposite(pass) : pass);
}
