/* A layer that predicts a further token (multi-token prediction: DeepSeek-V3, arXiv 2412.19437,
 * section 2.2): a token's hidden state and the embedding of the next one, each normed, are joined
 * by one matrix (2 h by h); then follow a layer like the model's last, a norm, and the model's own
 * head once more. The mixer's row is the join and the layer's mixer, the ffn's row the layer's ffn
 * and the head, whose matrix belongs to the model's head.
 *
 * The join is cut by columns. Left out: the collectives of its embedding and head, the shift by a
 * token. Serving runs none of it. */
#include <math.h>

#include "workloads/operators/operator.h"

/* Rows of the join on one rank. */
static int64_t joined_rows(const RhOps *ops)
{
    return 2 * ops->model->hidden;
}

static int64_t joined_columns(const RhOps *ops)
{
    return rh_ops_cut(ops, ops->model->hidden);
}

static double join_entries(const RhOps *ops)
{
    return (double)joined_rows(ops) * (double)joined_columns(ops);
}

/* Context of the head, which has no layer around it: it is one of the model's two ends. */
static RhOps head_of(const RhOps *ops)
{
    RhOps head = *ops;
    head.kind = NULL;
    return head;
}

/* --- Join and mixer --- */

static RhParams join_params(const RhOps *ops)
{
    RhParams p = ops->kind->inner_mixer->params(ops);
    p.sharded += join_entries(ops);
    p.replicated += 2 * rh_ops_norm_params(ops);
    return p;
}

static RhFlops join_flops(const RhOps *ops)
{
    RhFlops f = ops->kind->inner_mixer->flops(ops);
    f.weights += 2 * (double)ops->tokens * join_entries(ops);
    return f;
}

static void join_kernels(RhOps *ops, RhPass pass)
{
    int64_t in = joined_rows(ops), out = joined_columns(ops);
    double e = ops->element_bytes, elements = rh_ops_hidden_elements(ops);
    bool forward = pass == RH_PASS_FORWARD || pass == RH_PASS_RECOMPUTE_FULL;
    if (!rh_pass_trains(pass))
        return;
    if (forward) {
        rh_ops_stream(ops, RH_KERNEL_EMBEDDING, 2 * e * elements, 1);
        rh_ops_norm(ops, 2 * elements, false);
        rh_ops_gemm(ops, 1, ops->tokens, out, in);
    }
    ops->kind->inner_mixer->kernels(ops, pass);
    if (pass == RH_PASS_BACKWARD_DATA) {
        rh_ops_gemm(ops, 1, ops->tokens, in, out);
        rh_ops_norm(ops, 2 * elements, true);
    } else if (pass == RH_PASS_BACKWARD_WEIGHT) {
        rh_ops_weight_gradient(ops, out, in);
        rh_ops_stream(ops, RH_KERNEL_EMBEDDING, e * elements * (1 + 2.0 / ops->shard->tp), 1);
    }
}

/* Bytes kept: both inputs before and after their norm. */
static RhOperatorBytes join_bytes(const RhOps *ops)
{
    RhOperatorBytes b = ops->kind->inner_mixer->bytes(ops);
    double elements = 2 * rh_ops_hidden_elements(ops);
    b.kept += (2 * ops->element_bytes + rh_ops_norm_copies(ops)) * elements;
    b.backward = fmax(b.backward, ops->element_bytes * 1.5 * elements);
    return b;
}

/* --- Ffn and head --- */

static RhParams head_params(const RhOps *ops)
{
    RhParams p = ops->kind->inner_ffn->params(ops);
    p.replicated += rh_ops_norm_params(ops);
    return p;
}

static RhFlops head_flops(const RhOps *ops)
{
    RhOps head = head_of(ops);
    RhFlops f = ops->kind->inner_ffn->flops(ops);
    f.weights += rh_head.flops(&head).weights;
    return f;
}

/* Kernels of the model's head for a pass; it is recomputed like a layer. */
static void head_kernels(RhOps *ops, RhPass pass)
{
    RhOps head = head_of(ops);
    bool again = pass == RH_PASS_RECOMPUTE_FULL, back = pass == RH_PASS_BACKWARD_DATA;
    if (!rh_pass_trains(pass))
        return;
    if (back) {
        rh_head.kernels(&head, pass);
        rh_ops_norm(ops, rh_ops_hidden_elements(ops), true);
    }
    ops->kind->inner_ffn->kernels(ops, pass);
    if (back)
        return;
    if (pass == RH_PASS_FORWARD || again)
        rh_ops_norm(ops, rh_ops_hidden_elements(ops), false);
    rh_head.kernels(&head, again ? RH_PASS_FORWARD : pass);
}

static RhOperatorBytes head_bytes(const RhOps *ops)
{
    RhOps head = head_of(ops);
    RhOperatorBytes a = ops->kind->inner_ffn->bytes(ops), b = rh_head.bytes(&head);
    double tensors =
        (2 * ops->element_bytes + rh_ops_norm_copies(ops)) * rh_ops_hidden_elements(ops);
    return (RhOperatorBytes){.kept = a.kept + b.kept + tensors,
                             .dropped = a.dropped,
                             .forward = fmax(a.forward, b.forward),
                             .backward = fmax(a.backward, b.backward)};
}

void rh_predict_wrap(RhLayerKind *kind)
{
    kind->inner_mixer = kind->mixer;
    kind->inner_ffn = kind->ffn;
    kind->mixer = kind->mixer != NULL ? &rh_predict_join : NULL;
    kind->ffn = kind->ffn != NULL ? &rh_predict_head : NULL;
}

const RhOperator rh_predict_join = {.name = "join, then mixer",
                                    .params = join_params,
                                    .flops = join_flops,
                                    .kernels = join_kernels,
                                    .bytes = join_bytes};

const RhOperator rh_predict_head = {.name = "ffn, then head",
                                    .params = head_params,
                                    .flops = head_flops,
                                    .kernels = head_kernels,
                                    .bytes = head_bytes};
