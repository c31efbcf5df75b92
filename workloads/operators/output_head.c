/* Logits and cross-entropy. The vocabulary is cut over the tensor-parallel ranks (Megatron-LM,
 * arXiv 1909.08053, section 3), and the loss with it, or else every rank gathers all logits; the final norm before it is the block's SEQUENCE part. */
#include "workloads/operators/operator.h"

/* Bytes per logit, counted. Forward casts to fp32 and reads that to write the softmax; backward
 * turns the softmax into the gradient in place and writes it cast. Fused: forward reads logits
 * alone, backward reads them again and writes the gradient (github.com/Dao-AILab/flash-attention,
 * csrc/xentropy). Eager, backward fills a gradient of the log-softmax, reads both, writes the
 * logits', and casts that; over cut logits PyTorch writes largest, difference, exponential and
 * difference again, backward exponential, sum and product
 * (torch/distributed/tensor/parallel/loss.py, 02eef6b8). */
static double logit_bytes(const RhOps *ops, bool backward)
{
    if (ops->shard->fused_loss)
        return backward ? RH_READ + RH_WRITE : RH_READ;
    if (ops->shard->eager_loss && ops->shard->tp > 1)
        return backward ? 9 * RH_FP32 + RH_WRITE : RH_READ + 9 * RH_FP32;
    if (ops->shard->eager_loss)
        return backward ? 5 * RH_FP32 + RH_WRITE : RH_READ + 3 * RH_FP32;
    return backward ? RH_FP32 + RH_FP32 + RH_WRITE : RH_READ + RH_FP32 + RH_FP32 + RH_FP32;
}

/* Columns of the head's matrix: those of the tokens' table, or its own (RemBERT). */
static int64_t width_of(const RhOps *ops)
{
    return ops->model->head_width > 0 ? ops->model->head_width : rh_ops_embedding_width(ops);
}

static bool narrows(const RhOps *ops)
{
    return width_of(ops) != ops->model->hidden;
}

static double matrix_entries(const RhOps *ops)
{
    return (double)rh_ops_vocab(ops) * (double)width_of(ops);
}

/* Entries of a matrix before the head's, where that is narrower than the hidden state; every rank
 * has it. */
static double narrowing_entries(const RhOps *ops)
{
    return narrows(ops) ? (double)ops->model->hidden * (double)width_of(ops) : 0;
}

/* Parameters. The matrix counts even when it is tied: placing the stages decides about tying. */
static RhParams params(const RhOps *ops)
{
    double bias = narrows(ops) ? (double)width_of(ops) : 0;
    return (RhParams){.sharded = matrix_entries(ops), .replicated = narrowing_entries(ops) + bias};
}

/* Logits whose loss this rank computes. */
static double loss_logits(const RhOps *ops)
{
    int32_t parts = ops->shard->whole_logits ? ops->shard->tp : 1;
    return (double)ops->tokens * (double)rh_ops_vocab(ops) * parts;
}

static RhFlops flops(const RhOps *ops)
{
    return (RhFlops){.weights =
                         2 * (double)ops->tokens * (matrix_entries(ops) + narrowing_entries(ops))};
}

static void kernels(RhOps *ops, RhPass pass)
{
    int64_t h = ops->model->hidden, v = rh_ops_vocab(ops), w = width_of(ops);
    int64_t rows = rh_pass_trains(pass) ? ops->tokens : ops->sequences;
    bool narrow = narrows(ops);
    double logits = loss_logits(ops);
    if (narrow && rh_pass_is_forward(pass))
        rh_ops_gemm(ops, 1, rows, w, h);
    if (!rh_pass_trains(pass)) { /* only the last token of each sequence; sampling is left out */
        rh_ops_gemm(ops, 1, rows, v, w);
    } else if (pass == RH_PASS_FORWARD) {
        rh_ops_gemm(ops, 1, rows, v, w);
        rh_ops_stream(ops, RH_KERNEL_CROSS_ENTROPY, logit_bytes(ops, false) * logits, 1);
    } else if (pass == RH_PASS_BACKWARD_DATA) {
        rh_ops_stream(ops, RH_KERNEL_CROSS_ENTROPY, logit_bytes(ops, true) * logits, 1);
        rh_ops_gemm(ops, 1, rows, w, v);
        if (narrow)
            rh_ops_gemm(ops, 1, rows, h, w);
    } else if (pass == RH_PASS_BACKWARD_WEIGHT) {
        rh_ops_weight_gradient(ops, v, w);
        if (narrow)
            rh_ops_weight_gradient(ops, w, h);
    }
}

/* Bytes where ranks keep their part of the logits. Kept: the softmax in fp32, from which backward
 * starts (4 s b V / t; Korthikanti et al. 2022, arXiv 2205.05198, section 4.3). While the head
 * runs, the logits in `e` bytes and their fp32 copy live too: 10 B a logit at the peak. A fused
 * loss keeps the logits themselves, and a number per token. */
static RhOperatorBytes cut_logit_bytes(const RhOps *ops, double logits, double input_gradient)
{
    double e = ops->element_bytes, gathered = rh_ops_gathered_bytes(ops);
    bool fused = ops->shard->fused_loss;
    return (RhOperatorBytes){.kept = (fused ? e : RH_FP32) * logits,
                             .forward = (fused ? 0 : RH_FP32 + e) * logits + gathered,
                             .backward = e * logits + input_gradient};
}

/* Bytes of an eager loss. Kept: the log-softmax in fp32, and the freed block of the logits, of 16
 * bits, into which no fp32 tensor fits (below). Backward, it lives beside its own gradient and the
 * logits' in fp32; where ranks cut the logits, beside the gradient's seed, the sum with the softmax
 * and the product. */
static RhOperatorBytes eager_logit_bytes(const RhOps *ops, double logits, double input_gradient)
{
    double e = ops->element_bytes, tensors = ops->shard->tp > 1 ? 3 : 2;
    double behind = e * logits + input_gradient;
    return (RhOperatorBytes){.kept = (e + RH_FP32) * logits,
                             .forward =
                                 (tensors - 1) * RH_FP32 * logits + rh_ops_gathered_bytes(ops),
                             .backward = MAX(tensors * RH_FP32 * logits, behind)};
}

/* Bytes of logits on a stage that holds its outputs: the logits of the previous micro-batch, whose
 * buffer the next one uses, and memory that PyTorch's allocator cannot give out again. It takes the
 * smallest free block and splits it (docs.pytorch.org, CUDA semantics: max_split_size_mb is
 * unlimited by default). So held logits lie in a block that was fp32's, the other half of which is
 * too small for the next; where ranks gather, so do their parts; and one more block is kept whole
 * by what layers leave in it. Replayed tensor by tensor in
 * tests/workloads/caching_allocator_test.c. */
static double held_logit_bytes(const RhOps *ops)
{
    double e = ops->element_bytes, halves = ops->shard->tp > 1 ? 2 : 1;
    return ops->shard->keeps_outputs ? e + halves * (RH_FP32 - e) + RH_FP32 : 0;
}

/* Bytes where every rank gathers all logits, on which PyTorch's cross_entropy works. Kept: the
 * logits in `e` bytes and as log-softmax in fp32, beside which forward has their fp32 copy.
 * Backward, the gradient of the log-softmax and that of the logits live together in fp32 (14 B a
 * logit), before the second is cast and cut apart again. */
static RhOperatorBytes whole_logit_bytes(const RhOps *ops, double logits, double input_gradient)
{
    double e = ops->element_bytes;
    double in_loss = 2 * RH_FP32 * logits, behind = e * logits + input_gradient;
    return (RhOperatorBytes){.kept = (e + RH_FP32 + held_logit_bytes(ops)) * logits,
                             .forward = RH_FP32 * logits + rh_ops_gathered_bytes(ops),
                             .backward = MAX(in_loss, behind)};
}

static RhOperatorBytes bytes(const RhOps *ops)
{
    double logits = loss_logits(ops);
    double input_gradient =
        ops->element_bytes * rh_ops_hidden_elements(ops) + rh_ops_gathered_bytes(ops);
    RhOperatorBytes b = (ops->shard->whole_logits ? whole_logit_bytes
                         : ops->shard->eager_loss ? eager_logit_bytes
                                                  : cut_logit_bytes)(ops, logits, input_gradient);
    if (narrows(ops))
        b.kept += ops->element_bytes * (double)(ops->tokens * width_of(ops));
    return b;
}

static int linears(const RhOps *ops, RhLinear list[RH_LINEARS_MAX])
{
    list[0] = (RhLinear){.in = ops->model->hidden,
                         .out = rh_ops_vocab(ops),
                         .by_columns = true,
                         .kept = rh_ops_normed_input_bytes(ops)};
    return 1;
}

const RhOperator rh_head = {.name = "head",
                            .params = params,
                            .flops = flops,
                            .kernels = kernels,
                            .bytes = bytes,
                            .linears = linears};
