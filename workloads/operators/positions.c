/* The SEQUENCE part of the embedding: learned positions, and dropout. */
#include "workloads/operators/operator.h"

/* Read two, write the sum. */
#define SUM (2 * RH_READ + RH_WRITE)
static const RhStream POSITIONS = {SUM, 0, SUM, 0, 1};
/* Read, write, and the mask. */
#define MASKED (RH_READ + RH_WRITE + RH_MASK)
static const RhStream DROPOUT = {MASKED, MASKED, MASKED, MASKED, 1};

static double table_entries(const RhOps *ops)
{
    bool learned = ops->model->position == RH_POSITION_LEARNED;
    return learned ? (double)ops->model->positions * (double)ops->model->hidden : 0;
}

static RhParams params(const RhOps *ops)
{
    return (RhParams){.replicated = table_entries(ops)};
}

static void kernels(RhOps *ops, RhPass pass)
{
    double elements = rh_ops_sequence_elements(ops), table = table_entries(ops);
    if (rh_pass_is_forward(pass) && table > 0)
        rh_ops_elementwise(ops, RH_KERNEL_ADD, &POSITIONS, elements, false);
    if ((pass == RH_PASS_FORWARD || pass == RH_PASS_BACKWARD_DATA) && ops->model->hidden_dropout)
        rh_ops_elementwise(ops, RH_KERNEL_ADD, &DROPOUT, elements, pass != RH_PASS_FORWARD);
    if (pass == RH_PASS_BACKWARD_WEIGHT && table > 0)
        rh_ops_stream(ops, RH_KERNEL_EMBEDDING,
                      ops->element_bytes * elements + rh_ops_table_gradient_bytes(ops) * table, 1);
}

/* Kept: dropout's mask, a byte an element. */
static RhOperatorBytes bytes(const RhOps *ops)
{
    return (RhOperatorBytes){.kept =
                                 ops->model->hidden_dropout ? rh_ops_sequence_elements(ops) : 0};
}

const RhOperator rh_positions = {
    .name = "positions", .params = params, .kernels = kernels, .bytes = bytes};
