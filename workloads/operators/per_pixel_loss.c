/* The end of a model that says something of every place of a picture (segmentation, diffusion): the loss
 * over all elements of its last tensor, without weights of its own. Softmax or difference, it reads the
 * tensor and writes what backward starts from, in fp32 (output_head.c counts logits so). */
#include "workloads/operators/operator.h"

static double elements(const RhOps *ops)
{
    return (double)ops->sequences * (double)ops->model->hidden;
}

static void kernels(RhOps *ops, RhPass pass)
{
    double e = ops->element_bytes;
    if (pass == RH_PASS_FORWARD || pass == RH_PASS_BACKWARD_DATA)
        rh_ops_stream(ops, RH_KERNEL_CROSS_ENTROPY, (e + RH_FP32) * elements(ops), 1);
}

static RhOperatorBytes bytes(const RhOps *ops)
{
    return (RhOperatorBytes){.kept = RH_FP32 * elements(ops),
                             .backward = ops->element_bytes * elements(ops)};
}

const RhOperator rh_place_loss = {.name = "place loss", .kernels = kernels, .bytes = bytes};
