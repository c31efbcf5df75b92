#pragma once
/* Steps of a layer on pictures: what their files in this folder share. Private to it. */
#include "workloads/image_layer_graph.h"
#include "workloads/operators/operator.h"

/* A step, its tensors and the pictures of a micro-batch: all that its cost depends on. */
typedef struct {
    const RhLayerStep *step;
    const RhStepTensor *in, *out;
    double pictures;
} RhStepCost;

static inline double rh_step_in_elements(const RhStepCost *at)
{
    return at->pictures * rh_tensor_elements(&at->in->size);
}

static inline double rh_step_out_elements(const RhStepCost *at)
{
    return at->pictures * rh_tensor_elements(&at->out->size);
}

/* Adds a kernel that moves so many bytes per element; `per_element` is of elements of two bytes. */
void rh_step_stream(RhOps *ops, RhKernelClass cls, double per_element, double elements);
/* Adds the kernel that sums the gradient of a step's bias, if it has one. */
void rh_step_bias_gradient(RhOps *ops, const RhStepCost *at);

/* --- image_convolution.c --- */

/* Returns the entries of a convolution's weights, transposed or not. */
double rh_step_conv_entries(const RhStepCost *at);
double rh_step_conv_flops(const RhStepCost *at);
void rh_step_conv_kernels(RhOps *ops, const RhStepCost *at, RhPass pass);

/* --- image_attention.c --- */

/* Returns the entries of the weights that make keys and values out of another sequence, and of the
 * biases of windows by distance. */
double rh_step_attention_entries(const RhStepCost *at);
/* Returns the FLOPs of these weights; of pairs of places. */
double rh_step_attention_flops(const RhStepCost *at);
double rh_step_attention_pairs(const RhOps *ops, const RhStepCost *at);
double rh_step_attention_kept_bytes(const RhOps *ops, const RhStepCost *at);
void rh_step_attention_kernels(RhOps *ops, const RhStepCost *at, RhPass pass);
static inline bool rh_step_is_attention(const RhLayerStep *step)
{
    return step->kind == RH_STEP_OF_WINDOWS || step->kind == RH_STEP_OF_ATTENTION ||
           step->kind == RH_STEP_OF_CROSS;
}
