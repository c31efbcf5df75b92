/* A rank's share of an operator. */
#include "workloads/operators/operator.h"

static int64_t divide_up(int64_t x, int64_t by)
{
    return (x + by - 1) / by;
}

int64_t rh_ops_cut(const RhOps *ops, int64_t whole)
{
    return divide_up(whole, MAX(ops->shard->tp, 1));
}

int64_t rh_ops_vocab(const RhOps *ops)
{
    int64_t t = MAX(ops->shard->tp, 1), multiple = ops->vocab_multiple;
    return divide_up(ops->model->vocab, multiple * t) * multiple;
}

int64_t rh_ops_reach(const RhOps *ops)
{
    int64_t window = ops->kind->window_tokens;
    return window > 0 ? MIN(window, ops->keys) : ops->keys;
}

/* Query-key pairs of the last tokens of a prompt: each sees itself and earlier ones, `reach` at
 * most. */
static double chunk_pairs(double queries, double cached, double reach)
{
    double growing = CLAMP(reach - cached, 0, queries); /* queries that see all earlier tokens */
    return growing * (cached + 0.5 * growing) + (queries - growing) * reach;
}

double rh_ops_visible_pairs(const RhOps *ops)
{
    double s = (double)ops->keys, w = (double)rh_ops_reach(ops);
    if (ops->shard->documents != NULL && !ops->decoding)
        return rh_documents_pairs(ops->shard->documents, ops->keys, ops->kind->window_tokens,
                                  ops->kind->bidirectional) /
               MAX(ops->shard->cp, 1);
    if (ops->kind->bidirectional && !ops->decoding)
        return (double)ops->queries * w;
    if (ops->shard->cached > 0 && !ops->decoding && ops->keys > ops->queries)
        return chunk_pairs((double)ops->queries, (double)ops->shard->cached, w);
    /* context parallel: every rank has a half from the front and one from the back of the sequence,
     * so that all see equally many pairs */
    return ops->decoding ? w : (s * w - 0.5 * w * w) / MAX(ops->shard->cp, 1);
}

bool rh_ops_replays(const RhOps *ops, RhRecompute module)
{
    return (ops->shard->recompute & module) != 0;
}

double rh_ops_wide_input_bytes(const RhOps *ops)
{
    bool input_dropped = rh_ops_replays(ops, RH_RECOMPUTE_NORM);
    double more = ops->element_bytes - rh_ops_kept_bytes(ops);
    return input_dropped ? 0 : more * rh_ops_sequence_elements(ops);
}

double rh_ops_normed_input_bytes(const RhOps *ops)
{
    bool in_layer = ops->kind != NULL;
    double each = in_layer ? rh_ops_kept_bytes(ops) : ops->element_bytes;
    bool again = in_layer && rh_ops_replays(ops, RH_RECOMPUTE_NORM);
    return again ? 0 : each * rh_ops_sequence_elements(ops);
}

RhCacheBytes rh_ops_cached(const RhOps *ops, double elements)
{
    double wide = ops->shard->cache_bytes > 0 ? ops->shard->cache_bytes : ops->element_bytes;
    double window = (double)ops->kind->window_tokens;
    return window > 0 ? (RhCacheBytes){.sequence = wide * elements * window}
                      : (RhCacheBytes){.token = wide * elements};
}

bool rh_pass_is_forward(RhPass pass)
{
    return pass == RH_PASS_FORWARD || !rh_pass_trains(pass);
}

bool rh_pass_trains(RhPass pass)
{
    return pass != RH_PASS_PREFILL && pass != RH_PASS_DECODE;
}

int64_t rh_ops_embedding_width(const RhOps *ops)
{
    return ops->model->embedding > 0 ? ops->model->embedding : ops->model->hidden;
}

double rh_ops_hidden_elements(const RhOps *ops)
{
    return (double)ops->tokens * (double)ops->model->hidden;
}

double rh_ops_sequence_elements(const RhOps *ops)
{
    return ops->sequence_rows * (double)ops->model->hidden;
}

double rh_ops_gathered_bytes(const RhOps *ops)
{
    bool again = ops->shard->sequence_parallel && !ops->shard->keeps_gathered;
    return again ? ops->element_bytes * rh_ops_hidden_elements(ops) : 0;
}

double rh_ops_norm_params(const RhOps *ops)
{
    double h = (double)ops->model->hidden;
    RhNorm norm = ops->model->norm;
    return norm == RH_NORM_NONE ? 0 : norm == RH_NORM_LAYER ? 2 * h : h;
}
