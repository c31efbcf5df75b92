/* Passes of embedding, layers and head, built from their blocks. Recomputation: full recomputation
 * keeps only a layer's input and runs its forward again before its backward (Chen et al. 2016,
 * arXiv 1604.06174); modules of a block are run again before the block's backward, or, where they
 * lie inside its tensor part, as part of its data gradients. */
#include "strategies/train/program/layer_ops.h"

#include <math.h>
#include <string.h>

#include "strategies/train/parallelism/parallelism.h"

/* --- building --- */

static void hook(RhLayerOpsBuilder *w, RhHook hook)
{
    for (int i = 0; rh_parallelisms[i]; i++)
        if (rh_parallelisms[i]->hook)
            rh_parallelisms[i]->hook(w, hook);
}

static void add_exchange_part(RhLayerOpsBuilder *w, const char *label, const RhKernelSequence *part)
{
    for (int i = 0; rh_parallelisms[i]; i++)
        if (rh_parallelisms[i]->exchange && rh_parallelisms[i]->exchange(w, label, part))
            return;
    rh_layer_ops_kernels(w, label, RH_PARTS(part));
}

/* Adds kernels of the tensor part: at once, or part by part where ranks exchange data. */
static void add_tensor_kernels(RhLayerOpsBuilder *w, const char *label,
                               const RhKernelSequence *sequence)
{
    if (!sequence->parts)
        rh_layer_ops_kernels(w, label, RH_PARTS(sequence));
    else if (sequence->parts[0].exchange.kind != RH_EXCHANGE_NONE)
        w->calls++; /* what recomputation may put before the first exchange */
    for (int32_t i = 0; i < sequence->parts_count; i++)
        add_exchange_part(w, label, &sequence->parts[i]);
}

/* --- blocks --- */

static void block_forward(RhLayerOpsBuilder *w, RhBlock kind, const RhBlockCost *b, bool output)
{
    w->block = kind;
    w->at = b;
    w->again_calls = 0;
    w->summed = output;
    const char *label = rh_block_name(kind);
    if (kind == RH_BLOCK_EMBEDDING) { /* no hook: the table is looked up before anything is cut */
        rh_layer_ops_kernels(w, label, RH_PARTS(&b->sequence_forward, &b->tensor_forward));
    } else {
        rh_layer_ops_kernels(w, label, RH_PARTS(&b->sequence_forward));
        hook(w, RH_HOOK_FORWARD_IN);
        bool again = w->phase == RH_PHASE_RECOMPUTE;
        add_tensor_kernels(w, label, again ? &b->tensor_again : &b->tensor_forward);
    }
    if (output)
        hook(w, RH_HOOK_FORWARD_OUT);
}

static void block_weight(RhLayerOpsBuilder *w, RhBlock kind, const RhBlockCost *b)
{
    w->block = kind;
    w->at = b;
    hook(w, RH_HOOK_WEIGHT_IN);
    rh_layer_ops_kernels(w, rh_block_name(kind), RH_PARTS(&b->weight));
}

/* Recomputes modules that begin with the block's input; their output is not needed. A whole layer
 * has been recomputed by now. */
static void block_again(RhLayerOpsBuilder *w, RhBlock kind, const RhBlockCost *b)
{
    const char *label = rh_block_name(kind);
    if (w->replayed)
        return;
    w->phase = RH_PHASE_RECOMPUTE;
    w->again_calls = 0;
    w->summed = false;
    rh_layer_ops_kernels(w, label, RH_PARTS(&b->sequence_again));
    if (b->tensor_again.kernels_count > 0) {
        hook(w, RH_HOOK_FORWARD_IN);
        add_tensor_kernels(w, label, &b->tensor_again);
    }
    w->phase = RH_PHASE_NONE;
}

static void block_backward(RhLayerOpsBuilder *w, RhBlock kind, const RhBlockCost *b)
{
    const char *label = rh_block_name(kind);
    w->block = kind;
    w->at = b;
    block_again(w, kind, b);
    w->before_weight = w->before_sequence = -1;
    hook(w, RH_HOOK_BACKWARD_IN);
    add_tensor_kernels(w, label, &b->data);
    bool behind = w->model_cost->c->stack->sums_behind_weights;
    if (!behind)
        hook(w, RH_HOOK_BACKWARD_OUT);
    if (w->pass == RH_SLOT_BACKWARD) {
        rh_layer_ops_wait_for(w, w->before_weight);
        rh_layer_ops_kernels(w, label, RH_PARTS(&b->weight));
    }
    if (behind)
        hook(w, RH_HOOK_BACKWARD_OUT);
    rh_layer_ops_wait_for(w, w->before_sequence);
    rh_layer_ops_kernels(w, label, RH_PARTS(&b->sequence_backward));
}

/* --- layers --- */

static void layer_forward(RhLayerOpsBuilder *w, int kind, bool output)
{
    block_forward(w, RH_BLOCK_MIXER, &w->model_cost->mixer[kind], true);
    block_forward(w, RH_BLOCK_FFN, &w->model_cost->ffn[kind], output);
}

static void layer_backward(RhLayerOpsBuilder *w, int kind)
{
    if (w->replayed) {
        w->phase = RH_PHASE_RECOMPUTE;
        layer_forward(w, kind, false);
        w->phase = RH_PHASE_NONE;
    }
    block_backward(w, RH_BLOCK_FFN, &w->model_cost->ffn[kind]);
    block_backward(w, RH_BLOCK_MIXER, &w->model_cost->mixer[kind]);
}

static void layer_weight(RhLayerOpsBuilder *w, int kind)
{
    block_weight(w, RH_BLOCK_FFN, &w->model_cost->ffn[kind]);
    block_weight(w, RH_BLOCK_MIXER, &w->model_cost->mixer[kind]);
}

static void add_layer(RhLayerOpsBuilder *w, int kind)
{
    switch (w->pass) {
    case RH_SLOT_FORWARD:
        layer_forward(w, kind, true);
        break;
    case RH_SLOT_BACKWARD:
    case RH_SLOT_BACKWARD_DATA:
        layer_backward(w, kind);
        break;
    case RH_SLOT_BACKWARD_WEIGHT:
    case RH_SLOT_PASSES:
    default:
        layer_weight(w, kind);
        break;
    }
}

/* Adds the backward of an end: the embedding passes no gradient on, and nothing waits for the
 * head's output. */
static void add_end_backward(RhLayerOpsBuilder *w, RhBlock kind, const RhBlockCost *b)
{
    if (w->pass == RH_SLOT_FORWARD)
        block_forward(w, kind, b, true);
    else if (w->pass == RH_SLOT_BACKWARD_WEIGHT)
        block_weight(w, kind, b);
    else
        block_backward(w, kind, b);
}

/* --- passes --- */

/* Is a layer of this kind recomputed as a whole? */
static bool is_replayed(const RhModelCost *model_cost, int item)
{
    return item < RH_LAYER_KINDS_MAX && model_cost->shard.recompute == RH_RECOMPUTE_FULL;
}

static void add_item(RhLayerOpsBuilder *w, int item)
{
    if (item == RH_LAYER_EMBEDDING)
        add_end_backward(w, RH_BLOCK_EMBEDDING, &w->model_cost->embedding);
    else if (item == RH_LAYER_HEAD)
        add_end_backward(w, RH_BLOCK_HEAD, &w->model_cost->head);
    else
        add_layer(w, item);
}

/* Room for the tasks of most passes, so that few lists move while they grow. */
#define TASKS_MOSTLY 24

static RhLayerPass make_whole_pass(const RhLayout *layout, const RhModelCost *model_cost, int item,
                                   RhSlotPass pass)
{
    RhLayerOpsBuilder w = {.layout = layout,
                           .model_cost = model_cost,
                           .tasks =
                               g_array_sized_new(FALSE, FALSE, sizeof(RhLayerOp), TASKS_MOSTLY),
                           .pass = pass,
                           .replayed = is_replayed(model_cost, item),
                           .last = RH_LAYER_OP_ENTRY,
                           .pending = {RH_LAYER_OP_ENTRY},
                           .pending_count = 1,
                           .before_weight = -1,
                           .before_sequence = -1,
                           .steps_from = RH_LAYER_OP_ENTRY,
                           .step_brings = -1};
    bool referred = pass == RH_SLOT_FORWARD && rh_job_has_reference(&model_cost->c->job);
    for (int32_t i = 0; i < (referred ? 2 : 1); i++)
        add_item(&w, item);
    rh_layer_ops_merge_kernels(w.tasks, item == RH_LAYER_EMBEDDING ? "embedding"
                                        : item == RH_LAYER_HEAD    ? "head"
                                                                   : "layer");
    RhLayerPass done = {.tasks = w.tasks, .left_count = w.pending_count, .calls = w.calls};
    memcpy(done.left, w.pending, sizeof done.left);
    return done;
}

static bool sends_tokens(const RhKernelSequence *sequence)
{
    for (int32_t i = 0; i < sequence->parts_count; i++)
        if (sequence->parts[i].exchange.kind == RH_EXCHANGE_DISPATCH)
            return true;
    return false;
}

static RhLayerPass make_pass(const RhLayout *layout, const RhModelCost *model_cost, int item,
                             RhSlotPass pass)
{
    bool halves = model_cost->half && item < RH_LAYER_OP_LAYERS &&
                  sends_tokens(&model_cost->ffn[item].tensor_forward);
    if (!halves)
        return make_whole_pass(layout, model_cost, item, pass);
    RhLayerPass half = make_whole_pass(layout, model_cost->half, item, pass);
    RhLayerPass both = rh_layer_pass_overlap(&half);
    g_array_unref(half.tasks);
    return both;
}

/* --- bytes of a layer --- */

/* Activation bytes of a layer. Its blocks run one after another; full recomputation restores both
 * at once. */
RhActivation rh_layer_bytes(const RhModelCost *model_cost, int kind)
{
    if (kind == RH_LAYER_EMBEDDING)
        return model_cost->embedding.bytes;
    if (kind == RH_LAYER_HEAD)
        return model_cost->head.bytes;
    const RhActivation *mixer = &model_cost->mixer[kind].bytes, *ffn = &model_cost->ffn[kind].bytes;
    bool replayed = is_replayed(model_cost, kind);
    return (RhActivation){.kept = mixer->kept + ffn->kept,
                          .forward = fmax(mixer->forward, ffn->forward),
                          .backward = replayed ? mixer->backward + ffn->backward
                                               : fmax(mixer->backward, ffn->backward)};
}

double rh_layer_offload(const RhLayout *l, bool stays, RhActivation *bytes)
{
    double away = stays ? 0 : bytes->kept * l->offload / 100;
    bytes->kept -= away;
    bytes->forward += away;
    bytes->backward += away;
    return away;
}

/* --- all passes --- */

/* Makes the whole backward as a list of its own. */
static RhLayerPass whole_backward(const RhLayerPass *passes)
{
    static const RhLayerPass nothing = {.left = {RH_LAYER_OP_ENTRY}, .left_count = 1};
    RhLayerPass none = nothing;
    g_autoptr(GArray) empty = g_array_new(FALSE, FALSE, sizeof(RhLayerOp));
    none.tasks = empty;
    return passes[RH_SLOT_BACKWARD].tasks ? rh_layer_pass_behind(&none, &passes[RH_SLOT_BACKWARD])
                                          : rh_layer_pass_behind(&passes[RH_SLOT_BACKWARD_DATA],
                                                                 &passes[RH_SLOT_BACKWARD_WEIGHT]);
}

void rh_layer_ops_add_pairs(RhLayerOps *items, const RhLayout *layout,
                            const RhModelCost *model_cost)
{
    int32_t kinds_count = model_cost->layers_end;
    if (items->pair || !rh_pipeline_of(layout)->pairs)
        return;
    items->whole = g_new0(RhLayerPass, RH_LAYER_OP_KINDS);
    for (int item = 0; item < RH_LAYER_OP_KINDS; item++)
        if (items->pass[item][RH_SLOT_FORWARD].tasks)
            items->whole[item] = whole_backward(items->pass[item]);
    items->pair = g_malloc0((size_t)kinds_count * sizeof *items->pair);
    items->pairs_count = kinds_count;
    for (int f = 0; f < kinds_count; f++)
        for (int b = 0; b < kinds_count; b++)
            if (items->whole[f].tasks && items->whole[b].tasks)
                items->pair[f][b] =
                    rh_layer_pass_pair(&items->pass[f][RH_SLOT_FORWARD], &items->whole[b]);
}

/* Makes the passes of one kind of layer that the schedule runs. */
static void make_passes(const RhLayout *layout, const RhModelCost *model_cost, int item,
                        RhLayerPass *out)
{
    bool splits = rh_pipeline_of(layout)->splits_backward;
    for (int pass = 0; pass < RH_SLOT_PASSES; pass++)
        if (pass == RH_SLOT_FORWARD || splits == (pass != RH_SLOT_BACKWARD))
            out[pass] = make_pass(layout, model_cost, item, (RhSlotPass)pass);
}

RhLayerOps *rh_layer_ops_of_passes(const RhLayout *layout, const RhModelCost *model_cost)
{
    static const RhLayerPass none[RH_SLOT_PASSES];
    RhLayerOps *items = g_new0(RhLayerOps, 1);
    items->own = g_new0(RhLayerPass, (model_cost->layers_end + 2) * RH_SLOT_PASSES);
    for (int item = 0; item < RH_LAYER_OP_KINDS; item++) {
        RhLayerPass *own = &items->own[items->own_count];
        items->pass[item] = none;
        if (item < RH_LAYER_OP_LAYERS &&
            (item >= model_cost->layers_end || !rh_layer_of_op_kind(model_cost->c->model, item)))
            continue;
        make_passes(layout, model_cost, item, own);
        items->pass[item] = own;
        items->own_count += RH_SLOT_PASSES;
    }
    return items;
}

RhLayerOps *rh_layer_ops_new(const RhLayout *layout, const RhModelCost *model_cost)
{
    RhLayerOps *items = rh_layer_ops_of_passes(layout, model_cost);
    rh_layer_ops_add_pairs(items, layout, model_cost);
    return items;
}

static void tasks_free(GArray *tasks)
{
    if (tasks)
        g_array_unref(tasks);
}

void rh_layer_ops_free(RhLayerOps *items)
{
    if (!items)
        return;
    for (int32_t i = 0; i < items->own_count; i++)
        tasks_free(items->own[i].tasks);
    for (int item = 0; items->whole && item < RH_LAYER_OP_KINDS; item++)
        tasks_free(items->whole[item].tasks);
    for (int f = 0; f < items->pairs_count; f++)
        for (int b = 0; b < items->pairs_count; b++)
            tasks_free(items->pair[f][b].tasks);
    g_free(items->own);
    g_free(items->whole);
    g_free(items->pair);
    g_free(items);
}
