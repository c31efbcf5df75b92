/* Expert parallelism: the experts of a layer are spread over `ep` ranks, each expert cut over `etp` of
 * them (GShard, Lepikhin et al. 2020, arXiv 2006.16668; MoE parallel folding, Liu et al. 2025, arXiv
 * 2504.14960). The ranks are those of a stage divided anew: etp innermost, then ep; ranks with the
 * same experts sum their gradients (grid.c). Every rank sends the tokens of its sequence part to the
 * ranks of their experts, all to all, and gets them back; ranks that share an expert gather what
 * each was sent, and sum what comes out. Which kernels run between, the experts say
 * (workloads/operators/mixture_of_experts.c), the shared expert's beside an exchange where the layout says so. */
#include <string.h>

#include "base/error.h"
#include "strategies/train/parallelism/parallelism.h"

static void communicate(RhLayerOpsBuilder *w, RhGroupKind group, int32_t size, RhOp op,
                        double bytes, const char *label)
{
    if (size > 1)
        rh_layer_ops_continue_after(
            w, rh_layer_ops_collective(w, RH_LANE_EP, group, op, bytes, label));
}

static void travel(RhLayerOpsBuilder *w, const RhExchange *exchange, const char *label)
{
    if (w->layout->ep == 1)
        return;
    int32_t task = rh_layer_ops_collective(w, RH_LANE_EP, RH_GROUP_EXPERT, RH_OP_ALL_TO_ALL,
                                           exchange->bytes, label);
    rh_layer_ops_route(w, task, &exchange->routing);
    rh_layer_ops_continue_after(w, task);
}

/* Adds the exchange of tokens to the ranks of the experts, or back from them. */
static void add_token_exchange(RhLayerOpsBuilder *w, const RhExchange *exchange)
{
    int32_t etp = rh_train_expert_tensor(w->layout);
    if (exchange->kind == RH_EXCHANGE_DISPATCH) {
        travel(w, exchange, "dispatch tokens");
        communicate(w, RH_GROUP_EXPERT_TENSOR, etp, RH_OP_ALL_GATHER, etp * exchange->bytes,
                    "all-gather tokens of experts");
    } else {
        communicate(w, RH_GROUP_EXPERT_TENSOR, etp, RH_OP_REDUCE_SCATTER, etp * exchange->bytes,
                    "sum outputs of experts");
        travel(w, exchange, "combine tokens");
    }
}

/* Adds the exchange; kernels that run until the tokens arrive only wait for what was awaited
 * before. Returns the task with which they arrive. */
static int32_t send_beside(RhLayerOpsBuilder *w, const RhExchange *exchange)
{
    RhLayerOpsBuilder before = *w;
    add_token_exchange(w, exchange);
    int32_t arrival = (int32_t)w->tasks->len - 1;
    memcpy(w->pending, before.pending, sizeof w->pending);
    w->pending_count = before.pending_count;
    return arrival;
}

static bool exchange_tokens(RhLayerOpsBuilder *w, const char *label, const RhKernelSequence *part)
{
    const RhExchange *at = &part->exchange;
    bool sends = at->kind == RH_EXCHANGE_DISPATCH || at->kind == RH_EXCHANGE_COMBINE;
    if (sends && at->beside)
        w->arrival = send_beside(w, at);
    else if (sends)
        add_token_exchange(w, at);
    else if (at->kind == RH_EXCHANGE_ARRIVE)
        rh_layer_ops_wait_for(w, w->arrival);
    else
        return false;
    rh_layer_ops_kernels(w, label, RH_PARTS(part));
    return true;
}

/* --- what is legal --- */

static bool experts_legal(const RhProblem *c, const RhLayout *l, GError **error)
{
    int32_t etp = rh_train_expert_tensor(l);
    bool some = false;
    for (int k = 0; k < c->model->kinds_count; k++) {
        const RhLayerKind *kind = &c->model->kinds[k];
        if (kind->experts == 0)
            continue;
        some = true;
        if (kind->experts % l->ep != 0) {
            g_autofree char *degrees =
                error ? rh_divisors_text(kind->experts, kind->experts) : NULL;
            return rh_fail(error, RH_ERROR_USAGE,
                           "ep=%d does not divide %d experts (%s)\nnote: valid ep: %s", l->ep,
                           kind->experts, c->model->name, degrees);
        }
        if (kind->ffn_width % etp != 0)
            return rh_fail(error, RH_ERROR_USAGE,
                           "etp=%d does not divide the width of an expert, %" G_GINT64_FORMAT, etp,
                           kind->ffn_width);
    }
    if (!some)
        return rh_fail(error, RH_ERROR_USAGE, "ep=%d, etp=%d: %s has no experts", l->ep, etp,
                       c->model->name);
    return true;
}

static bool grid_legal(const RhProblem *c, const RhLayout *l, GError **error)
{
    int32_t etp = rh_train_expert_tensor(l);
    int64_t ranks = (int64_t)l->tp * l->cp * l->dp, both = (int64_t)l->ep * etp;
    if (!rh_train_spreads_experts(l))
        return true;
    if (!experts_legal(c, l, error))
        return false;
    if (!c->stack->expert_parallel)
        return rh_fail(error, RH_ERROR_USAGE,
                       "ep=%d: the stack %s has no expert parallelism\nnote: valid ep: 1", l->ep,
                       c->stack->name);
    if (!rh_grid_divides(l, etp) || both > ranks || !rh_grid_divides(l, (int32_t)both))
        return rh_fail(error, RH_ERROR_USAGE,
                       "ep=%d x etp=%d does not fit into the %" G_GINT64_FORMAT
                       " ranks of a stage, tp%d x cp%d x dp%d\n"
                       "note: etp, and ep x etp, must divide tp, or tp x a divisor of cp, or "
                       "tp x cp x a divisor of dp",
                       l->ep, etp, ranks, l->tp, l->cp, l->dp);
    return true;
}

static bool legal(const RhProblem *c, const RhLayout *l, GError **error)
{
    if (!rh_train_spreads_experts(l))
        return true;
    if (l->tp > 1 && !l->sequence_parallel)
        return rh_fail(error, RH_ERROR_USAGE,
                       "ep=%d with tp=%d needs sp=on: ranks send the tokens of their sequence part",
                       l->ep, l->tp);
    if (l->overlap == RH_OVERLAP_BATCHES && l->microbatch % 2 != 0)
        return rh_fail(
            error, RH_ERROR_USAGE,
            "epoverlap=batches with mb=%d: its halves take turns\nnote: valid mb: even ones",
            l->microbatch);
    if (l->overlap == RH_OVERLAP_PAIRS && !rh_pipeline_of(l)->pairs)
        return rh_fail(error, RH_ERROR_USAGE,
                       "epoverlap=pairs: schedule=%s has no forward beside a backward\n"
                       "note: valid schedules: 1f1b, interleaved",
                       rh_pipeline_kind_name(l->schedule));
    if (l->dispatch == RH_DISPATCH_DEEPEP && c->platform->messages.sender != RH_SHARING_NONE)
        return rh_fail(
            error, RH_ERROR_USAGE,
            "dispatch=deepep: the ranks of %s talk through a network stack, and DeepEP is a "
            "GPU's\nnote: valid dispatch: alltoall",
            c->platform->name);
    return true;
}

const RhParallelism rh_parallelism_expert = {
    .name = "ep", .grid_legal = grid_legal, .legal = legal, .exchange = exchange_tokens};
