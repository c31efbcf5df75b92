/* The look-up of tokens. The table is cut by rows over the tensor-parallel ranks (Megatron-LM,
 * arXiv 1909.08053, section 3). A table narrower than the hidden state has a matrix behind it (ALBERT, arXiv
 * 1909.11942, section 3.1), which every rank has whole and multiplies with its own rows. */
#include "workloads/operators/operator.h"

static double table_entries(const RhOps *ops)
{
    return (double)rh_ops_vocab(ops) * (double)rh_ops_embedding_width(ops);
}

static bool widens(const RhOps *ops)
{
    return ops->model->embedding > 0;
}

static RhParams params(const RhOps *ops)
{
    double h = (double)ops->model->hidden, w = (double)rh_ops_embedding_width(ops);
    return (RhParams){.sharded = table_entries(ops), .replicated = widens(ops) ? (w + 1) * h : 0};
}

/* Kernels of the look-up. Backward reads each gradient row once, and adds it to a row of a dense
 * table on its one owner; the table is added to the main gradient. */
static void kernels(RhOps *ops, RhPass pass)
{
    int64_t h = ops->model->hidden, w = rh_ops_embedding_width(ops);
    double e = ops->element_bytes, elements = (double)(ops->tokens * w);
    if (rh_pass_is_forward(pass)) {
        rh_ops_stream(ops, RH_KERNEL_EMBEDDING, 2 * e * elements, 1);
        if (widens(ops))
            rh_ops_gemm(ops, 1, ops->tokens, h, w);
    } else if (pass == RH_PASS_BACKWARD_DATA && widens(ops)) {
        rh_ops_gemm(ops, 1, ops->tokens, w, h);
    } else if (pass == RH_PASS_BACKWARD_WEIGHT) {
        rh_ops_stream(ops, RH_KERNEL_EMBEDDING, e * elements * (1 + 2.0 / ops->shard->tp), 1);
        rh_ops_stream(ops, RH_KERNEL_REDUCE, rh_ops_table_gradient_bytes(ops) * table_entries(ops),
                      1);
        if (widens(ops)) {
            rh_ops_weight_gradient(ops, h, w);
            rh_ops_bias_gradient(ops, h);
        }
    }
}

/* Bytes. Backward: the dense gradient of the table. Kept: the input of the matrix behind a narrow
 * table. */
static RhOperatorBytes bytes(const RhOps *ops)
{
    double e = ops->element_bytes, output = e * rh_ops_hidden_elements(ops);
    double narrow = widens(ops) ? e * (double)(ops->tokens * rh_ops_embedding_width(ops)) : 0;
    return (RhOperatorBytes){
        .kept = narrow, .forward = output, .backward = output + narrow + e * table_entries(ops)};
}

const RhOperator rh_embedding = {
    .name = "embedding", .params = params, .kernels = kernels, .bytes = bytes};
