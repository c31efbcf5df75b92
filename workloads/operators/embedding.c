/* The look-up of tokens. The table is cut by rows over the tensor-parallel ranks (Megatron-LM,
 * arXiv 1909.08053, section 3). */
#include "workloads/operators/operator.h"

static double table_entries(const RhOps *ops)
{
    return (double)rh_ops_vocab(ops) * (double)ops->model->hidden;
}

static RhParams params(const RhOps *ops)
{
    return (RhParams){.sharded = table_entries(ops)};
}

/* Backward: each gradient row is read once, and added to a row of a dense table by its one owner;
 * the table is added to the main gradient. */
static void kernels(RhOps *ops, RhPass pass)
{
    double e = ops->element_bytes, elements = rh_ops_hidden_elements(ops);
    if (rh_pass_is_forward(pass)) {
        rh_ops_stream(ops, RH_KERNEL_EMBEDDING, 2 * e * elements, 1);
    } else if (pass == RH_PASS_BACKWARD_WEIGHT) {
        rh_ops_stream(ops, RH_KERNEL_EMBEDDING, e * elements * (1 + 2.0 / ops->shard->tp), 1);
        rh_ops_stream(ops, RH_KERNEL_REDUCE, rh_ops_table_gradient_bytes(ops) * table_entries(ops),
                      1);
    }
}

/* Backward: the dense gradient of the table. */
static RhOperatorBytes bytes(const RhOps *ops)
{
    double e = ops->element_bytes, output = e * rh_ops_hidden_elements(ops);
    return (RhOperatorBytes){.forward = output, .backward = output + e * table_entries(ops)};
}

const RhOperator rh_embedding = {
    .name = "embedding", .params = params, .kernels = kernels, .bytes = bytes};
