/* The two ends: embedding (look-up, positions) and head (final norm, logits, cross-entropy). The
 * vocabulary is cut over the tensor-parallel ranks (Megatron-LM, arXiv 1909.08053, section 3). */
#include "workloads/ops_private.h"

/* Per logit: forward casts to fp32 (2 + 4) and reads it to write the softmax (4 + 4); backward
 * turns the softmax into the gradient in place (4 + 4) and casts it (2). 24 in all, as the public
 * step times of NVIDIA's dgxc recipes ask for. */
#define LOGIT_FORWARD_BYTES  14.0
#define LOGIT_BACKWARD_BYTES 10.0

/* A dense gradient of an embedding: zeroed, then added to the fp32 main gradient (2 + 4 + 4). */
#define EMBEDDING_GRADIENT_BYTES(e) ((e) + (e) + 8.0)

/* The positions added to the embedding; dropout's mask is one byte more. */
static const RhStream POSITIONS = {6, 0, 6, 0, 1};
static const RhStream DROPOUT = {5, 5, 5, 5, 1}; /* read, write, mask */

static void embedding_sequence(RhOps *ops, RhPass pass)
{
    double elements = ops->sequence_rows * (double)ops->model->hidden;
    bool learned = ops->model->position == RH_POSITION_LEARNED;
    if (pass == RH_PASS_FORWARD && learned)
        rh_ops_elementwise(ops, RH_KERNEL_ADD, &POSITIONS, elements, false);
    if ((pass == RH_PASS_FORWARD || pass == RH_PASS_BACKWARD_DATA) && ops->model->hidden_dropout)
        rh_ops_elementwise(ops, RH_KERNEL_ADD, &DROPOUT, elements, pass != RH_PASS_FORWARD);
    if (pass == RH_PASS_BACKWARD_WEIGHT && learned) {
        double table = (double)ops->model->positions * (double)ops->model->hidden;
        rh_ops_stream(ops, RH_KERNEL_EMBEDDING,
                      ops->element_bytes * elements +
                          EMBEDDING_GRADIENT_BYTES(ops->element_bytes) * table,
                      1);
    }
}

void rh_embedding_kernels(RhOps *ops, RhPart part, RhPass pass)
{
    double elements = (double)ops->tokens * (double)ops->model->hidden;
    double table = (double)ops->widths.vocab * (double)ops->model->hidden;
    double e = ops->element_bytes;
    if (part == RH_PART_SEQUENCE)
        embedding_sequence(ops, pass);
    else if (pass == RH_PASS_FORWARD)
        rh_ops_stream(ops, RH_KERNEL_EMBEDDING, 2 * e * elements, 1);
    else if (pass == RH_PASS_BACKWARD_WEIGHT) {
        /* Each gradient row is read once, and added to a row of the table by its one owner. */
        rh_ops_stream(ops, RH_KERNEL_EMBEDDING, e * elements * (1 + 2.0 / ops->shard->tp), 1);
        rh_ops_stream(ops, RH_KERNEL_REDUCE, EMBEDDING_GRADIENT_BYTES(e) * table, 1);
    }
}

static void head_tensor(RhOps *ops, RhPass pass)
{
    int64_t h = ops->model->hidden, v = ops->widths.vocab;
    double logits = (double)ops->tokens * (double)v;
    if (pass == RH_PASS_FORWARD) {
        rh_ops_gemm(ops, 1, ops->tokens, v, h);
        rh_ops_stream(ops, RH_KERNEL_CROSS_ENTROPY, LOGIT_FORWARD_BYTES * logits, 1);
    } else if (pass == RH_PASS_BACKWARD_DATA) {
        rh_ops_stream(ops, RH_KERNEL_CROSS_ENTROPY, LOGIT_BACKWARD_BYTES * logits, 1);
        rh_ops_gemm(ops, 1, ops->tokens, h, v);
    } else if (pass == RH_PASS_BACKWARD_WEIGHT) {
        rh_ops_weight_gradient(ops, v, h);
    }
}

void rh_head_kernels(RhOps *ops, RhPart part, RhPass pass)
{
    if (part == RH_PART_TENSOR)
        head_tensor(ops, pass);
    else if (pass == RH_PASS_FORWARD || pass == RH_PASS_BACKWARD_DATA)
        rh_ops_norm(ops, ops->sequence_rows * (double)ops->model->hidden,
                    pass == RH_PASS_BACKWARD_DATA);
}
