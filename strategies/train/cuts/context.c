/* Context parallelism by a ring exchange of keys and values (Liu et al. 2023, arXiv 2310.01889;
 * Megatron-LM's cp_comm_type p2p). Every rank has 1/c of each sequence's tokens: a half from the
 * front and one from the back, so that the causal mask leaves all equally many pairs. Attention takes
 * c steps: while one block's keys and values are looked at, they travel on to the next rank. Backward
 * sends their gradients along. What one step computes, attention says (workloads/operators); here is
 * who waits for whom. Parameters are replicated over the ranks: they are summed with the replicas'
 * (grid.c). */
#include "base/error.h"
#include "strategies/train/cuts/cut.h"

/* Sends the block of this step on; it may leave as soon as it has come, kernels or not. */
static int32_t pass_on(RhWeave *w, int32_t ready, const RhPiece *step)
{
    int32_t last = w->last;
    w->last = ready;
    int32_t task = rh_weave_collective(w, RH_LANE_CP, RH_GROUP_CONTEXT, RH_OP_SHIFT,
                                       step->exchange.bytes, "pass keys and values on");
    w->last = last;
    return task;
}

static void exchange(RhWeave *w, const char *label, const RhPiece *piece)
{
    int32_t ready = RH_ITEM_ENTRY, arrives = -1;
    if (!rh_piece_exchanges(piece, RH_EXCHANGE_RING))
        return;
    for (int32_t i = 0; i < piece->parts_count; i++) {
        const RhPiece *part = &piece->parts[i];
        bool of_ring = part->exchange.kind == RH_EXCHANGE_RING;
        int32_t next = -1;
        if (of_ring && part->exchange.step == 0) {
            ready = w->last;
            arrives = -1;
        }
        if (of_ring && part->exchange.step < w->layout->cp - 1)
            next = pass_on(w, ready, part);
        rh_weave_wait_for(w, arrives);
        rh_weave_kernels(w, of_ring && part->exchange.step > 0 ? "ring step" : label,
                         RH_PARTS(part));
        arrives = next;
    }
}

static bool legal(const RhCase *c, const RhLayout *l, GError **error)
{
    if (l->cp == 1)
        return true;
    if (c->job.sequence % (2 * (int64_t)l->cp) != 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "cp=%d does not divide the sequence of %" G_GINT64_FORMAT
                       " tokens into two halves a rank",
                       l->cp, c->job.sequence);
    if (!c->stack->flash_attention)
        return rh_fail(error, RH_ERROR_USAGE,
                       "cp=%d: the stack %s has no fused attention, and a ring needs it", l->cp,
                       c->stack->name);
    for (int k = 0; k < c->model->kinds_count; k++)
        if (!rh_operator_rings(c->model->kinds[k].mixer))
            return rh_fail(error, RH_ERROR_USAGE,
                           "cp=%d: %s has layers of %s, which the ring exchange does not cut",
                           l->cp, c->model->name, rh_operator_name(c->model->kinds[k].mixer));
        else if (c->model->kinds[k].window_tokens > 0)
            return rh_fail(error, RH_ERROR_USAGE,
                           "cp=%d: %s has layers with a sliding window, which the ring exchange "
                           "does not cut",
                           l->cp, c->model->name);
    return true;
}

const RhCut rh_cut_context = {.name = "cp", .legal = legal, .exchange = exchange};
