/* Tensor parallelism, with and without sequence parallelism.
 *
 * Megatron (Shoeybi et al. 2019, arXiv 1909.08053): column- then row-parallel GEMMs; one all-reduce
 * per block and direction. Sequence parallelism (Korthikanti et al. 2022, arXiv 2205.05198): the
 * all-reduce becomes a reduce-scatter behind the block and an all-gather before the next; backward
 * gathers the input once more for the weight gradient (figure 5 and section 4.2.2). The input
 * gradient's collective runs beside the weight-gradient GEMMs. */
#include "strategies/train/emit.h"

static bool cut(const RhEmit *e)
{
    return e->layout->tp > 1;
}

static bool sequence(const RhEmit *e)
{
    return e->pieces->shard.sequence_parallel;
}

/* Sums partial outputs: reduce-scatter along the sequence, or all-reduce. */
static int32_t sum_out(RhEmit *e, const char *label)
{
    return rh_emit_collective(e, RH_LANE_TP, sequence(e) ? RH_OP_REDUCE_SCATTER : RH_OP_ALL_REDUCE,
                              e->pieces->boundary_bytes, label);
}

static int32_t gather(RhEmit *e, const char *label)
{
    return sequence(e) ? rh_emit_collective(e, RH_LANE_TP, RH_OP_ALL_GATHER,
                                            e->pieces->boundary_bytes, label)
                       : -1;
}

/* A collective consumes what was pending: what follows waits for it alone. */
static void continue_after(RhEmit *e, int32_t collective)
{
    if (collective < 0)
        return;
    e->pending_count = 0;
    rh_emit_wait_for(e, collective);
}

void rh_emit_block_forward(RhEmit *e, const RhBlockPieces *block, const char *label, bool output)
{
    if (sequence(e)) {
        rh_emit_compute(e, label, RH_PARTS(&block->sequence_forward));
        continue_after(e, gather(e, "all-gather activations"));
        rh_emit_compute(e, label, RH_PARTS(&block->tensor_forward));
    } else {
        rh_emit_compute(e, label, RH_PARTS(&block->sequence_forward, &block->tensor_forward));
    }
    if (output)
        continue_after(e, sum_out(e, "sum activations"));
}

void rh_emit_block_backward(RhEmit *e, const RhBlockPieces *block, const char *label)
{
    if (!cut(e)) {
        rh_emit_compute(e, label,
                        RH_PARTS(&block->data, &block->weight, &block->sequence_backward));
        return;
    }
    int32_t gradient = gather(e, "all-gather gradients");
    int32_t input = gather(e, "all-gather input again");
    continue_after(e, gradient);
    rh_emit_compute(e, label, RH_PARTS(&block->data));
    int32_t sum = sum_out(e, "sum input gradients");
    rh_emit_wait_for(e, input);
    rh_emit_compute(e, label, RH_PARTS(&block->weight));
    rh_emit_wait_for(e, sum);
    rh_emit_compute(e, label, RH_PARTS(&block->sequence_backward));
}

/* The vocabulary is cut by t: every rank looks up its part, partial rows are summed. */
void rh_emit_embedding_forward(RhEmit *e)
{
    e->layer = -1;
    const RhBlockPieces *b = &e->pieces->embedding;
    rh_emit_compute(e, "embedding", RH_PARTS(&b->sequence_forward, &b->tensor_forward));
    if (cut(e))
        continue_after(e, sum_out(e, "sum embeddings"));
}

void rh_emit_embedding_backward(RhEmit *e)
{
    e->layer = -1;
    const RhBlockPieces *b = &e->pieces->embedding;
    continue_after(e, gather(e, "all-gather gradients"));
    rh_emit_compute(e, "embedding", RH_PARTS(&b->data, &b->weight, &b->sequence_backward));
}

/* Cross-entropy over a cut vocabulary: maximum, predicted logit and sum of exponentials, fp32 per
 * token. */
void rh_emit_head_forward(RhEmit *e)
{
    e->layer = -1;
    const RhBlockPieces *b = &e->pieces->head;
    rh_emit_block_forward(e, b, "head", false);
    double tokens = (double)e->pieces->shard.sequence * (double)e->pieces->shard.microbatch;
    if (cut(e))
        continue_after(e, rh_emit_collective(e, RH_LANE_TP, RH_OP_ALL_REDUCE, 3 * 4 * tokens,
                                             "cross-entropy sums"));
}

void rh_emit_head_backward(RhEmit *e)
{
    e->layer = -1;
    const RhBlockPieces *b = &e->pieces->head;
    int32_t input = gather(e, "all-gather input again");
    rh_emit_compute(e, "head", RH_PARTS(&b->data));
    int32_t sum = cut(e) ? sum_out(e, "sum input gradients") : -1;
    rh_emit_wait_for(e, input);
    rh_emit_compute(e, "head", RH_PARTS(&b->weight));
    rh_emit_wait_for(e, sum);
    rh_emit_compute(e, "head", RH_PARTS(&b->sequence_backward));
}
