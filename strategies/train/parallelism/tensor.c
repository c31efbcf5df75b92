/* Tensor parallelism, with and without sequence parallelism.
 *
 * Megatron (Shoeybi et al. 2019, arXiv 1909.08053): column- then row-parallel GEMMs; one all-reduce
 * per block and direction. Sequence parallelism (Korthikanti et al. 2022, arXiv 2205.05198): the
 * all-reduce becomes a reduce-scatter behind the block and an all-gather before the next; backward
 * gathers the input once more for the weight gradient (figure 5 and section 4.2.2). The input
 * gradient's collective runs beside the weight-gradient GEMMs.
 *
 * Overlap (Transformer Engine's user buffers; Wang et al. 2023, "Overlap communication with dependent
 * computation via decomposition", ASPLOS): what a linear layer reads is not gathered beforehand, but
 * goes around a ring while it multiplies the rows that are there; what it makes is scattered split by
 * split while it makes the next. Which layers do, operators say (rh_ops_linear_gathered, _summed).
 *
 * Scatter/gather (Narayanan et al. 2021, arXiv 2104.04473, section 4.1): without sequence parallelism all
 * ranks have the same to send to another stage; each sends its share, and they gather it there. */
#include "base/error.h"
#include "strategies/train/parallelism/parallelism.h"

static bool sequence(const RhLayerOpsBuilder *w)
{
    return w->model_cost->shard.sequence_parallel;
}

static int32_t collective(RhLayerOpsBuilder *w, RhOp op, double bytes, const char *label)
{
    return rh_layer_ops_collective(w, RH_LANE_TP, RH_GROUP_TENSOR, op, bytes, label);
}

/* Sums partial outputs, or gradients: reduce-scatter along the sequence, or all-reduce. */
static int32_t sum_out(RhLayerOpsBuilder *w, double bytes, const char *label)
{
    return collective(w, sequence(w) ? RH_OP_REDUCE_SCATTER : RH_OP_ALL_REDUCE, bytes, label);
}

static int32_t gather(RhLayerOpsBuilder *w, const char *label)
{
    return sequence(w) ? collective(w, RH_OP_ALL_GATHER, w->at->gathered_bytes, label) : -1;
}

/* Gathers an output's gradient, without the other inputs that the block reads. */
static int32_t gather_gradients(RhLayerOpsBuilder *w)
{
    bool both = w->model_cost->c->model->encoder;
    double whole = w->at->boundary_bytes + (both ? w->at->other_bytes : 0);
    double own = whole > 0 ? w->at->boundary_bytes / whole : 1;
    return sequence(w) ? collective(w, RH_OP_ALL_GATHER, own * w->at->gathered_bytes,
                                    "all-gather gradients")
                       : -1;
}

/* Gathers the input again for the gradients of weights. */
static int32_t gather_again(RhLayerOpsBuilder *w)
{
    return w->model_cost->c->stack->keeps_gathered ? -1 : gather(w, "all-gather input again");
}

static bool in_steps(const RhKernelSequence *sequence, RhExchangeKind kind)
{
    for (int32_t i = 0; i < sequence->parts_count; i++)
        if (sequence->parts[i].exchange.kind == kind)
            return true;
    return false;
}

/* Adds a linear layer that gathers its rows while it multiplies. In backward, the gradient of
 * weights also waits for the input, which is gathered again after the ring's last step. */
static void rows_in(RhLayerOpsBuilder *w, const char *label, const RhKernelSequence *part)
{
    bool last = part->exchange.step == w->layout->tp - 1;
    bool weights_next = w->pass == RH_SLOT_BACKWARD && w->phase != RH_PHASE_RECOMPUTE &&
                        w->at->weight.kernels_count > 0;
    RhRingStep ring = {RH_LANE_TP, RH_GROUP_TENSOR,
                       last ? 0 : w->at->gathered_bytes / w->layout->tp,
                       w->model_cost->shard.pulls_rows ? "copy rows" : "pass rows on"};
    if (last && weights_next)
        w->before_weight = gather_again(w);
    rh_layer_ops_ring_step(w, &ring, label, part);
}

/* Adds a linear layer that sums its output in splits. Its successors wait for the last split's sum
 * (forward_out); a rank's own rows are not sent. */
static void rows_out(RhLayerOpsBuilder *w, const char *label, const RhKernelSequence *part)
{
    bool copied = w->model_cost->shard.pulls_rows;
    rh_layer_ops_kernels(w, label, RH_PARTS(part));
    if (w->summed && part->exchange.bytes > 0)
        w->step_brings =
            collective(w, copied ? RH_OP_SHIFT : RH_OP_REDUCE_SCATTER, part->exchange.bytes,
                       copied ? "copy rows of activations" : "sum rows of activations");
}

static void rows_add(RhLayerOpsBuilder *w, const char *label, const RhKernelSequence *part)
{
    if (!w->summed)
        return;
    rh_layer_ops_wait_for(w, w->step_brings);
    rh_layer_ops_kernels(w, label, RH_PARTS(part));
}

static bool exchange_part(RhLayerOpsBuilder *w, const char *label, const RhKernelSequence *part)
{
    typedef void AddPart(RhLayerOpsBuilder *, const char *, const RhKernelSequence *);
    static AddPart *const add_part[] = {[RH_EXCHANGE_ROWS_IN] = rows_in,
                                        [RH_EXCHANGE_ROWS_OUT] = rows_out,
                                        [RH_EXCHANGE_ROWS_ADD] = rows_add};
    RhExchangeKind kind = part->exchange.kind;
    if (kind >= G_N_ELEMENTS(add_part) || add_part[kind] == NULL)
        return false;
    add_part[kind](w, label, part);
    return true;
}

/* Shares the logits: all of them on every rank, in 2 bytes like the weights, or the figures that
 * the loss needs of other ranks. */
static void share_logits(RhLayerOpsBuilder *w)
{
    const RhShard *shard = &w->model_cost->shard;
    double tokens = (double)rh_shard_tokens(shard), words = (double)w->model_cost->c->model->vocab;
    rh_layer_ops_continue_after(
        w, shard->whole_logits
               ? collective(w, RH_OP_ALL_GATHER, rh_dtype_bytes(shard->dtype) * tokens * words,
                            "gather logits")
               : collective(w, RH_OP_ALL_REDUCE, 3 * 4 * tokens, "cross-entropy sums"));
}

/* Ends of the model: the vocabulary is cut by t. Embedding: every rank looks up its part, partial
 * rows are summed. Head: cross-entropy needs the maximum, the predicted logit and the sum of
 * exponentials over all of it, fp32 per token. */
static void forward_out(RhLayerOpsBuilder *w)
{
    if (in_steps(&w->at->tensor_forward, RH_EXCHANGE_ROWS_OUT))
        rh_layer_ops_continue_after(w, w->step_brings);
    else if (w->block == RH_BLOCK_HEAD)
        share_logits(w);
    else
        rh_layer_ops_continue_after(
            w, sum_out(w, w->at->boundary_bytes,
                       w->block == RH_BLOCK_EMBEDDING ? "sum embeddings" : "sum activations"));
}

/* Begins a backward. The head's output gradient is each rank's own; the embedding passes no
 * gradient on. */
static void backward_in(RhLayerOpsBuilder *w)
{
    bool weights = w->at->weight.kernels_count > 0;
    if (!weights && w->at->data.kernels_count == 0) /* a frozen table */
        return;
    if (in_steps(&w->at->data, RH_EXCHANGE_ROWS_IN))
        return;
    int32_t gradient = w->block == RH_BLOCK_HEAD ? -1 : gather_gradients(w);
    if (w->pass == RH_SLOT_BACKWARD && w->block != RH_BLOCK_EMBEDDING && weights)
        w->before_weight = gather_again(w);
    rh_layer_ops_continue_after(w, gradient);
}

static void hook(RhLayerOpsBuilder *w, RhHook at)
{
    if (w->layout->tp == 1)
        return;
    switch (at) {
    case RH_HOOK_FORWARD_IN:
        if (!in_steps(&w->at->tensor_forward, RH_EXCHANGE_ROWS_IN))
            rh_layer_ops_continue_after(w, gather(w, "all-gather activations"));
        break;
    case RH_HOOK_FORWARD_OUT:
        forward_out(w);
        break;
    case RH_HOOK_BACKWARD_IN:
        backward_in(w);
        break;
    case RH_HOOK_BACKWARD_OUT:
        if (w->block != RH_BLOCK_EMBEDDING)
            w->before_sequence =
                sum_out(w, w->at->boundary_bytes + w->at->other_bytes, "sum input gradients");
        break;
    case RH_HOOK_WEIGHT_IN:
    default:
        if (w->block != RH_BLOCK_EMBEDDING)
            rh_layer_ops_continue_after(w, gather_again(w));
        break;
    }
}

/* The model chunk that a pass receives its input from; -1: none. */
static int32_t chunk_before(const RhStageProgram *s, const RhSlotKind *slot)
{
    const RhLayout *l = s->layout;
    bool back = rh_slot_goes_back(slot->pass);
    int32_t g = rh_pipeline_model_chunk(rh_pipeline_of(l), l->pp, s->stage, slot->chunk);
    int32_t from = back ? g + 1 : g - 1;
    return slot->pass == RH_SLOT_BACKWARD_WEIGHT || from >= l->pp * l->vpp ? -1 : from;
}

/* Gathers the shares of an input that came from another stage, before the pass. */
static void before_layer(RhStageProgramWriter *w, const RhSlotKind *slot, int32_t item)
{
    const RhStageProgram *s = w->stage_program;
    const RhLayout *l = s->layout;
    bool back = rh_slot_goes_back(slot->pass);
    int32_t low = s->chunk_layers[slot->chunk], high = s->chunk_layers[slot->chunk + 1];
    if (!rh_train_scatters(s->model_cost->c, l) || item != (back ? high - 1 : low))
        return;
    int32_t from = chunk_before(s, slot);
    if (from < 0 || rh_pipeline_stage(rh_pipeline_of(l), l->pp, from) == s->stage)
        return;
    const RhStageLayer *first = rh_stage_program_layer(s, item);
    int32_t layer =
        first->kind == RH_LAYER_HEAD ? s->model_cost->c->model->layers_count : first->layer;
    RhBoundaryMessage message = rh_model_cost_message(s->model_cost, layer + (back ? 1 : 0));
    rh_stage_program_communicate(
        w, (RhInstr){.lane = RH_LANE_TP,
                     .group = RH_GROUP_TENSOR,
                     .op = RH_OP_ALL_GATHER,
                     .phase = (uint8_t)rh_slot_phase(slot->pass),
                     .bytes = l->tp * rh_boundary_message_bytes(&message, back),
                     .label = back ? "gather gradients received" : "gather activations received"});
    rh_stage_program_wait(w, RH_LANE_TP);
}

/* Is tensor parallelism legal: do groups stay inside a node, or among neighbours of a torus, and is
 * every matrix evenly divisible? */
static bool grid_legal(const RhProblem *c, const RhLayout *l, GError **error)
{
    const RhPlatform *p = c->platform;
    if (l->tp > p->gpus_per_node && p->torus_count == 0)
        return rh_fail(
            error, RH_ERROR_USAGE,
            "tp=%d is wider than the %d GPUs of a node\nnote: tensor parallelism across "
            "nodes is not planned: its collectives sit on the critical path of every layer",
            l->tp, p->gpus_per_node);
    for (int k = 0; k < c->model->kinds_count; k++) {
        const RhLayerKind *kind = &c->model->kinds[k];
        if (l->tp > 1 && rh_operator_stands_alone(kind->mixer))
            return rh_fail(error, RH_ERROR_USAGE,
                           "tp=%d: %s has layers of %s, which tensor ranks do not cut\nnote: valid "
                           "tp: 1",
                           l->tp, c->model->name,
                           kind->steps ? "steps on pictures" : rh_operator_name(kind->mixer));
        if (kind->heads % l->tp != 0) {
            g_autofree char *degrees =
                error ? rh_divisors_text(kind->heads, p->gpus_per_node) : NULL;
            return rh_fail(error, RH_ERROR_USAGE,
                           "tp=%d does not divide %d attention heads (%s: num_attention_heads)\n"
                           "note: valid tp on this node: %s",
                           l->tp, kind->heads, c->model->name, degrees);
        }
        if (kind->kv_heads % l->tp != 0 && l->tp % kind->kv_heads != 0)
            return rh_fail(error, RH_ERROR_USAGE,
                           "tp=%d neither divides nor is a multiple of %d key-value heads (%s)",
                           l->tp, kind->kv_heads, c->model->name);
        /* then expert.c checks it */
        bool spread = kind->experts > 0 && rh_train_spreads_experts(l);
        int64_t width = spread ? kind->shared_width : kind->ffn_width;
        if (width % l->tp != 0)
            return rh_fail(error, RH_ERROR_USAGE,
                           "tp=%d does not divide the ffn width %" G_GINT64_FORMAT, l->tp, width);
    }
    return true;
}

static bool legal(const RhProblem *c, const RhLayout *l, GError **error)
{
    if (l->sequence_parallel && !c->stack->sequence_parallel)
        return rh_fail(error, RH_ERROR_USAGE,
                       "sp=on: the stack %s has no sequence parallelism\nnote: valid sp: off",
                       c->stack->name);
    if (l->tensor_overlap && !c->stack->tensor_overlap)
        return rh_fail(error, RH_ERROR_USAGE,
                       "tpoverlap=on: the stack %s does not run linear layers beside their "
                       "collectives\nnote: valid tpoverlap: off",
                       c->stack->name);
    if (l->sequence_parallel && l->tp > 1 && c->job.sequence / l->cp % l->tp != 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "sp=on needs a sequence divisible by tp: %" G_GINT64_FORMAT " tokens, tp=%d",
                       c->job.sequence, l->tp);
    int64_t encoded = rh_model_encoder_tokens(c->model, c->job.sequence);
    if (l->sequence_parallel && l->tp > 1 && c->model->encoder && encoded % l->tp != 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "sp=on needs an encoder's tokens divisible by tp: %" G_GINT64_FORMAT
                       " tokens, tp=%d",
                       encoded, l->tp);
    return true;
}

const RhParallelism rh_parallelism_tensor = {.name = "tp",
                                             .grid_legal = grid_legal,
                                             .legal = legal,
                                             .hook = hook,
                                             .exchange = exchange_part,
                                             .before_layer = before_layer};
