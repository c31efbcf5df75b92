#include "strategies/search/account.h"

#include <math.h>

double rh_straggler_factor(const RhCase *c)
{
    double nodes = ceil((double)c->job.gpus / c->platform->gpus_per_node);
    return 1 + c->stack->straggler_frac.value * log2(fmax(1, nodes));
}

/* Seconds and FLOPs of one micro-batch through one block. */
typedef struct {
    double forward_s, backward_s, replay_s;
    double flops, replay_flops;
} Work;

static double piece_flops(const RhPiece *piece)
{
    double flops = 0;
    for (guint i = 0; i < piece->kernels->len; i++)
        flops += g_array_index(piece->kernels, RhKernel, i).flops;
    return flops;
}

static Work block_work(const RhBlockPieces *b, bool replayed)
{
    double forward = b->sequence_forward.seconds + b->tensor_forward.seconds;
    double flops = piece_flops(&b->sequence_forward) + piece_flops(&b->tensor_forward);
    return (Work){forward, b->data.seconds + b->weight.seconds + b->sequence_backward.seconds,
                  replayed ? forward : 0,
                  flops + piece_flops(&b->data) + piece_flops(&b->weight) +
                      piece_flops(&b->sequence_backward),
                  replayed ? flops : 0};
}

static void work_add(Work *sum, Work w)
{
    sum->forward_s += w.forward_s;
    sum->backward_s += w.backward_s;
    sum->replay_s += w.replay_s;
    sum->flops += w.flops + w.replay_flops;
}

/* All of the model, one micro-batch, one of the tp ranks. */
static Work model_work(const RhPieces *pieces)
{
    bool replayed = pieces->recompute == RH_RECOMPUTE_FULL;
    Work sum = {0};
    work_add(&sum, block_work(&pieces->embedding, false));
    work_add(&sum, block_work(&pieces->head, false));
    for (int32_t i = 0; i < pieces->c->model->layers_count; i++) {
        int kind = rh_pieces_kind(pieces, i);
        work_add(&sum, block_work(&pieces->mixer[kind], replayed));
        work_add(&sum, block_work(&pieces->ffn[kind], replayed));
    }
    return sum;
}

RhRehearsal *rh_account_new(const RhCase *c, const RhLayout *layout)
{
    RhRehearsal *r = g_new0(RhRehearsal, 1);
    r->layout = *layout;
    r->memory = rh_train_memory(c, layout);
    r->memory_capacity_bytes = rh_train_memory_capacity(c);
    r->fits = r->memory.peak_bytes <= r->memory_capacity_bytes;
    return r;
}

static void fill_rates(const RhCase *c, RhRehearsal *r)
{
    g_autoptr(RhPieces) pieces = rh_pieces_new(c, &r->layout);
    double tokens = (double)c->job.global_batch * (double)c->job.sequence;
    double peak = c->platform->device->peak_flops_per_s[c->job.dtype].value;
    double hardware =
        model_work(pieces).flops * (double)rh_train_microbatches(c, &r->layout) / r->layout.pp;
    r->tokens_per_s_per_gpu = tokens / r->step_time_s / c->job.gpus;
    r->model_flops_per_s_per_gpu =
        r->tokens_per_s_per_gpu * rh_model_flops_per_token(c->model, c->job.sequence);
    r->mfu_frac = peak > 0 ? r->model_flops_per_s_per_gpu / peak : 0;
    r->hfu_frac = peak > 0 ? hardware / r->step_time_s / peak : 0;
    r->energy_j = c->platform->device->power_w.value * c->job.gpus * r->step_time_s;
    r->cost_usd = c->platform->price_usd_per_gpu_hour.value / 3600 * c->job.gpus * r->step_time_s;
}

static const char *const wait_sources[RH_WAIT_LAST] = {
    [RH_WAIT_STRETCH] = "kernels run at (sms - held) / sms beside communication",
    [RH_WAIT_TP] = "tensor-parallel collectives on the critical path",
    [RH_WAIT_CP] = "context-parallel collectives",
    [RH_WAIT_EP] = "expert-parallel collectives",
    [RH_WAIT_DP] = "gradient and parameter collectives not hidden behind kernels",
    [RH_WAIT_PIPELINE_TRANSFER] = "activations and gradients in flight between stages",
    [RH_WAIT_BUBBLE] = "pipeline fill, drain and unequal stages",
    [RH_WAIT_COPY] = "copies between memory tiers",
    [RH_WAIT_END] = "done early: waiting for the slowest rank",
};

/* The kernels' own time by pass, on the mean rank. The optimizer is what is left. */
static void add_compute(const RhCase *c, RhRehearsal *r, RhCost *root, double compute_s)
{
    g_autoptr(RhPieces) pieces = rh_pieces_new(c, &r->layout);
    Work w = model_work(pieces);
    double each = (double)rh_train_microbatches(c, &r->layout) / r->layout.pp;
    RhCost *compute = rh_cost_add(root, rh_wait_name(RH_WAIT_COMPUTE), compute_s, "");
    rh_cost_add(compute, "forward", w.forward_s * each,
                "kernel times of the device, gaps included");
    rh_cost_add(compute, "backward", w.backward_s * each,
                "kernel times of the device, gaps included");
    rh_cost_add(compute, "recompute", w.replay_s * each,
                "forward kernels replayed before backward");
    rh_cost_add(compute, "optimizer", compute_s - (w.forward_s + w.backward_s + w.replay_s) * each,
                "Adam over the rank's share, memory-bound");
}

static RhCost *cost_tree(const RhCase *c, RhRehearsal *r, const RhRun *run)
{
    double waits[RH_WAIT_LAST] = {0}, ranks = 0;
    for (guint i = 0; i < run->performers->len; i++) {
        const RhPerformer *p = &g_array_index(run->performers, RhPerformer, i);
        ranks += p->ranks_count;
        for (int w = 0; w < RH_WAIT_LAST; w++)
            waits[w] += p->wait_s[w] * p->ranks_count;
    }
    RhCost *root =
        rh_cost_new("step", r->step_time_s, "mean over ranks of where a GPU's step goes");
    add_compute(c, r, root, waits[RH_WAIT_COMPUTE] / ranks);
    for (int w = RH_WAIT_COMPUTE + 1; w < RH_WAIT_LAST; w++)
        if (waits[w] > 0)
            rh_cost_add(root, rh_wait_name((RhWait)w), waits[w] / ranks, wait_sources[w]);
    if (run->jitter_correction_s > 0)
        rh_cost_add(root, "jitter", run->jitter_correction_s, "order statistics of unequal ranks");
    rh_cost_add(root, "slow nodes", r->step_time_s - run->step_time_s,
                c->stack->straggler_frac.source);
    return root;
}

static void copy_links(RhRehearsal *r, const RhRun *run)
{
    r->links = g_array_new(FALSE, FALSE, sizeof(RhLinkUse));
    for (guint i = 0; i < run->links->len; i++) {
        RhLinkUse use = g_array_index(run->links, RhLinkUse, i);
        use.name = g_strdup(use.name);
        g_array_append_val(r->links, use);
    }
}

void rh_account_run(const RhCase *c, RhRehearsal *r, const RhRun *run)
{
    r->step_time_s = run->step_time_s * rh_straggler_factor(c);
    r->events_count = run->events_count;
    r->bytes_total = run->bytes_total;
    r->bytes_as_flows = run->bytes_as_flows;
    r->approximate = run->approximate;
    r->approximate_why = g_strdup(run->approximate_why);
    fill_rates(c, r);
    r->costs = cost_tree(c, r, run);
    copy_links(r, run);
}

void rh_account_bound(const RhCase *c, RhRehearsal *r, double step_s)
{
    g_autoptr(RhPieces) pieces = rh_pieces_new(c, &r->layout);
    double each = (double)rh_train_microbatches(c, &r->layout) / r->layout.pp;
    Work w = model_work(pieces);
    double compute = (w.forward_s + w.backward_s + w.replay_s) * each;
    r->step_time_s = step_s * rh_straggler_factor(c);
    fill_rates(c, r);
    r->costs = rh_cost_new("step", r->step_time_s, "segment graph: no shared links, no SM sharing");
    rh_cost_add(r->costs, rh_wait_name(RH_WAIT_COMPUTE), compute, "kernel times of the device");
    rh_cost_add(r->costs, "bubble, communication and optimizer", step_s - compute,
                "longest path less kernels");
    rh_cost_add(r->costs, "slow nodes", r->step_time_s - step_s, c->stack->straggler_frac.source);
}

void rh_rehearsal_free(RhRehearsal *r)
{
    if (!r)
        return;
    for (guint i = 0; r->links && i < r->links->len; i++)
        g_free(g_array_index(r->links, RhLinkUse, i).name);
    if (r->links)
        g_array_unref(r->links);
    rh_cost_free(r->costs);
    g_free(r->approximate_why);
    g_free(r->memory_when);
    g_free(r);
}
