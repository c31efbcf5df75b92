/* The SEQUENCE part of the embedding: learned positions, types of tokens, a norm, and dropout. */
#include "workloads/operators/operator.h"

/* Traffic of a sum: read two, write the sum. */
#define SUM (2 * RH_READ + RH_WRITE)
static const RhStream POSITIONS = {SUM, 0, SUM, 0, 1, 0, 0};
/* Traffic of dropout: read, write, and the mask. */
#define MASKED (RH_READ + RH_WRITE + RH_MASK)
static const RhStream DROPOUT = {MASKED, MASKED, MASKED, MASKED, 1, 0, 0};

/* Fraction of the hidden state's columns that the table of tokens has. */
static double narrowed(const RhOps *ops)
{
    return (double)rh_ops_embedding_width(ops) / (double)ops->model->hidden;
}

static double table_entries(const RhOps *ops)
{
    bool learned = ops->model->position == RH_POSITION_LEARNED;
    return learned ? (double)ops->model->positions * (double)rh_ops_embedding_width(ops) : 0;
}

/* Entries of biases of scores by distance, which attention adds in registers: as with ALiBi,
 * nothing more is read. */
static double distance_entries(const RhOps *ops)
{
    return (double)ops->model->relative_bias_entries;
}

static double types_entries(const RhOps *ops)
{
    return (double)ops->model->token_types * (double)rh_ops_embedding_width(ops);
}

static RhParams params(const RhOps *ops)
{
    return (RhParams){
        .replicated = table_entries(ops) + types_entries(ops) + distance_entries(ops) +
                      (ops->model->embedding_norm ? narrowed(ops) * rh_ops_norm_params(ops) : 0)};
}

static void kernels(RhOps *ops, RhPass pass)
{
    double elements = narrowed(ops) * rh_ops_sequence_elements(ops), table = table_entries(ops);
    if (rh_pass_is_forward(pass) && table > 0)
        rh_ops_elementwise(ops, RH_KERNEL_ADD, &POSITIONS, elements, false);
    if (rh_pass_is_forward(pass) && ops->model->token_types > 0)
        rh_ops_elementwise(ops, RH_KERNEL_ADD, &POSITIONS, elements, false);
    if (ops->model->embedding_norm && (rh_pass_is_forward(pass) || pass == RH_PASS_BACKWARD_DATA))
        rh_ops_norm(ops, elements, pass == RH_PASS_BACKWARD_DATA);
    if ((pass == RH_PASS_FORWARD || pass == RH_PASS_BACKWARD_DATA) && ops->model->hidden_dropout)
        rh_ops_elementwise(ops, RH_KERNEL_ADD, &DROPOUT, elements, pass != RH_PASS_FORWARD);
    if (pass == RH_PASS_BACKWARD_WEIGHT && table > 0)
        rh_ops_stream(ops, RH_KERNEL_EMBEDDING,
                      ops->element_bytes * elements + rh_ops_table_gradient_bytes(ops) * table, 1);
}

/* Bytes kept: dropout's mask, a byte an element; the norm's input. */
static RhOperatorBytes bytes(const RhOps *ops)
{
    double mask = ops->model->hidden_dropout ? 1 : 0;
    double input = ops->model->embedding_norm ? ops->element_bytes + rh_ops_norm_copies(ops) : 0;
    return (RhOperatorBytes){.kept =
                                 (mask + input) * narrowed(ops) * rh_ops_sequence_elements(ops)};
}

const RhOperator rh_positions = {
    .name = "positions", .params = params, .kernels = kernels, .bytes = bytes};
