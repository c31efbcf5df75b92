/* Kernels without a matrix that several kinds of steps have. */
#include "workloads/operators/image_layer_costs.h"

void rh_step_stream(RhOps *ops, RhKernelClass cls, double per_element, double elements)
{
    if (per_element > 0)
        rh_ops_stream(ops, cls, per_element * elements * ops->element_bytes / 2, 1);
}

void rh_step_bias_gradient(RhOps *ops, const RhStepCost *at)
{
    double read = ops->element_bytes * rh_step_out_elements(at);
    double added = rh_ops_added_gradient_bytes(ops) * at->out->size.channels;
    if (at->step->bias)
        rh_ops_stream(ops, RH_KERNEL_REDUCE, read + added, 1);
}
