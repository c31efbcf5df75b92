/* Context parallelism: each rank has 1/c of every sequence's tokens. Attention's operator says what
 * its core computes and exchanges over them (workloads/operators/attention_core_context.c); this
 * file says what waits for what. A ring (Liu et al. 2023, arXiv 2310.01889; Megatron-LM's
 * cp_comm_type p2p): while one block's keys and values are processed, they travel on to the next
 * rank; backward sends their gradients along. Gathers and sums (Llama 3, arXiv 2407.21783, section
 * 3.3.2; all_gather) and exchanges of tokens for heads (Jacobs et al. 2023, arXiv 2309.14509; a2a,
 * and a2a+p2p with a ring outside) are waited for: nothing runs beside them; nor beside the shifts of
 * PyTorch's compiled ring, whose waits directly follow its collectives. Parameters are
 * replicated over the ranks: their gradients are summed with the replicas' (grid.c). */
#include "base/error.h"
#include "strategies/train/parallelism/parallelism.h"

/* Ranks that have other tokens of the same heads. */
static int32_t ring_ranks(const RhLayout *l)
{
    return l->cp / l->ulysses;
}

static void ring_step(RhLayerOpsBuilder *w, const char *label, const RhKernelSequence *part)
{
    int32_t step = part->exchange.step;
    bool travels = step < ring_ranks(w->layout) - 1;
    RhRingStep ring = {RH_LANE_CP, RH_GROUP_CONTEXT, travels ? part->exchange.bytes : 0,
                       "pass keys and values on"};
    rh_layer_ops_ring_step(w, &ring, step > 0 ? "ring step" : label, part);
}

typedef struct {
    RhGroupKind group;
    RhOp op;
    const char *label;
} Exposed;

static const Exposed exposed[] = {
    [RH_EXCHANGE_GATHER] = {RH_GROUP_CONTEXT, RH_OP_ALL_GATHER, "all-gather keys and values"},
    [RH_EXCHANGE_SUM] = {RH_GROUP_CONTEXT, RH_OP_REDUCE_SCATTER,
                         "sum gradients of keys and values"},
    [RH_EXCHANGE_SHIFT] = {RH_GROUP_CONTEXT, RH_OP_SHIFT, "pass gradients of keys and values on"},
    [RH_EXCHANGE_HEADS] = {RH_GROUP_HEADS, RH_OP_ALL_TO_ALL, "exchange tokens for heads"},
};

static bool exchange_blocks(RhLayerOpsBuilder *w, const char *label, const RhKernelSequence *part)
{
    RhExchangeKind kind = part->exchange.kind;
    if (kind == RH_EXCHANGE_RING) {
        ring_step(w, label, part);
        return true;
    }
    if ((size_t)kind >= G_N_ELEMENTS(exposed) || exposed[kind].label == NULL)
        return false;
    const Exposed *e = &exposed[kind];
    rh_layer_ops_continue_after(
        w, rh_layer_ops_collective(w, RH_LANE_CP, e->group, e->op, part->exchange.bytes, e->label));
    rh_layer_ops_kernels(w, label, RH_PARTS(part));
    return true;
}

/* --- what is legal --- */

/* Is context parallelism legal for a kind of layer? Heads go to `ulysses` ranks, key-value heads
 * too or to several of them; where tokens of other ranks are left, attention must see all of
 * them. */
static bool layer_legal(const RhProblem *c, const RhLayout *l, const RhLayerKind *kind,
                        GError **error)
{
    int32_t heads = kind->heads / l->tp, kv_heads = MAX(kind->kv_heads / l->tp, 1);
    if (!rh_operator_rings(kind->mixer))
        return rh_fail(error, RH_ERROR_USAGE,
                       "cp=%d: %s has layers of %s, which are not cut along the sequence", l->cp,
                       c->model->name, rh_operator_name(kind->mixer));
    if (kind->window_tokens > 0 && ring_ranks(l) > 1)
        return rh_fail(error, RH_ERROR_USAGE,
                       "cp=%d: %s has layers with a sliding window, which a ring of keys and "
                       "values does not cut\nhelp: ulysses=%d, all ranks of which see all tokens",
                       l->cp, c->model->name, l->cp);
    if (kind->mixer != NULL && l->ulysses > 1 &&
        (heads % l->ulysses != 0 || (kv_heads % l->ulysses != 0 && l->ulysses % kv_heads != 0)))
        return rh_fail(error, RH_ERROR_USAGE,
                       "ulysses=%d does not divide the %d heads of a rank (%s, tp%d), or neither "
                       "divides nor is a multiple of its %d key-value heads",
                       l->ulysses, heads, c->model->name, l->tp, kv_heads);
    return true;
}

static bool grid_legal(const RhProblem *c, const RhLayout *l, GError **error)
{
    if (l->cp % l->ulysses != 0) {
        g_autofree char *degrees = error ? rh_divisors_text(l->cp, l->cp) : NULL;
        return rh_fail(error, RH_ERROR_USAGE,
                       "ulysses=%d does not divide cp=%d, whose ranks exchange heads\n"
                       "note: valid ulysses: %s",
                       l->ulysses, l->cp, degrees);
    }
    if (l->cp == 1 || rh_model_sees_pictures(c->model)) /* then spatial.c judges it */
        return true;
    if (c->job.sequence % (2 * (int64_t)l->cp) != 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "cp=%d does not divide the sequence of %" G_GINT64_FORMAT
                       " tokens into two halves a rank",
                       l->cp, c->job.sequence);
    if (!c->stack->flash_attention)
        return rh_fail(error, RH_ERROR_USAGE,
                       "cp=%d: the stack %s has no fused attention, and context parallelism needs "
                       "it",
                       l->cp, c->stack->name);
    for (int k = 0; k < c->model->kinds_count; k++)
        if (!layer_legal(c, l, &c->model->kinds[k], error))
            return false;
    return true;
}

const RhParallelism rh_parallelism_context = {
    .name = "cp", .grid_legal = grid_legal, .exchange = exchange_blocks};
