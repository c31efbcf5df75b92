/* The two ends of a model for pictures (ViT, arXiv 2010.11929): one product turns patches into
 * tokens, and has no gradient of its input; one token of each picture is classified. Every
 * tensor-parallel rank has both whole. */
#include "workloads/operators/operator.h"

/* Trained rows beside the product: its bias, and the token that is classified. */
#define ROWS 2

/* Parameters: the product, and these rows. */
static RhParams patches_params(const RhOps *ops)
{
    double h = (double)ops->model->hidden;
    return (RhParams){.replicated = (double)(ops->model->patch_entries + ROWS) * h};
}

static RhFlops patches_flops(const RhOps *ops)
{
    return (RhFlops){.weights =
                         2 * rh_ops_hidden_elements(ops) * (double)ops->model->patch_entries};
}

static void patches_kernels(RhOps *ops, RhPass pass)
{
    int64_t h = ops->model->hidden, entries = ops->model->patch_entries;
    if (rh_pass_is_forward(pass)) {
        rh_ops_gemm(ops, 1, ops->tokens, h, entries);
    } else if (pass == RH_PASS_BACKWARD_WEIGHT) {
        rh_ops_weight_gradient(ops, entries, h);
        rh_ops_bias_gradient(ops, h);
    }
}

static RhOperatorBytes patches_bytes(const RhOps *ops)
{
    double e = ops->element_bytes, output = e * rh_ops_hidden_elements(ops);
    return (RhOperatorBytes){.kept = e * (double)ops->tokens * (double)ops->model->patch_entries,
                             .forward = output,
                             .backward = output};
}

static double class_entries(const RhOps *ops)
{
    return (double)ops->model->vocab * (double)ops->model->hidden;
}

static RhParams classes_params(const RhOps *ops)
{
    return (RhParams){.replicated = class_entries(ops) + (double)ops->model->vocab};
}

static RhFlops classes_flops(const RhOps *ops)
{
    return (RhFlops){.weights = 2 * (double)ops->sequences * class_entries(ops)};
}

static void classes_kernels(RhOps *ops, RhPass pass)
{
    int64_t h = ops->model->hidden, classes = ops->model->vocab;
    RhOps rows = *ops;
    rows.tokens = ops->sequences;
    if (rh_pass_is_forward(pass))
        rh_ops_gemm(ops, 1, ops->sequences, classes, h);
    else if (pass == RH_PASS_BACKWARD_DATA)
        rh_ops_gemm(ops, 1, ops->sequences, h, classes);
    else if (pass == RH_PASS_BACKWARD_WEIGHT)
        rh_ops_weight_gradient(&rows, classes, h);
}

/* Bytes: the softmax of each picture, in fp32. */
static RhOperatorBytes classes_bytes(const RhOps *ops)
{
    double logits = (double)ops->sequences * (double)ops->model->vocab;
    double hidden = ops->element_bytes * (double)ops->sequences * (double)ops->model->hidden;
    return (RhOperatorBytes){.kept = RH_FP32 * logits, .backward = hidden};
}

const RhOperator rh_patches = {.name = "patches",
                               .params = patches_params,
                               .flops = patches_flops,
                               .kernels = patches_kernels,
                               .bytes = patches_bytes};

const RhOperator rh_classes = {.name = "classes",
                               .params = classes_params,
                               .flops = classes_flops,
                               .kernels = classes_kernels,
                               .bytes = classes_bytes};
