#include "strategies/train/block_cost.h"

#include "strategies/a2a_backend.h"
#include "strategies/train/distinct_weight_shapes.h"
#include "strategies/train/parallelism/parallelism.h"

typedef struct {
    const RhModelCost *model_cost;
    const RhShard *shard; /* the block costs', or that of layers without recomputation */
    const RhLayerKind *kind;
    RhBlock block;
} BlockOf;

double rh_sequence_kernel_s(const RhProblem *c, const RhKernel *kernel)
{
    return rh_platform_least_kernel_s(c->platform, kernel) + c->stack->kernel_gap_s.value;
}

/* --- parts, between exchanges --- */

static double kernels_s(const RhProblem *c, const RhKernel *kernels, int32_t count)
{
    double seconds = 0;
    for (int32_t i = 0; i < count; i++)
        seconds += rh_sequence_kernel_s(c, &kernels[i]);
    return seconds;
}

/* Adds the kernels of the sequence from one exchange to `end` as a part, unless there is nothing of
 * it. */
static void add_part(RhKernelSequence *whole, const RhExchange *at, int32_t end, const RhProblem *c)
{
    int32_t count = end - at->kernel;
    if (at->kind == RH_EXCHANGE_NONE && count <= 0)
        return;
    const RhKernel *first = count > 0 ? whole->kernels + at->kernel : NULL;
    whole->parts[whole->parts_count++] = (RhKernelSequence){.kernels = first,
                                                            .kernels_count = count,
                                                            .seconds = kernels_s(c, first, count),
                                                            .exchange = *at};
}

static void part_at(RhKernelSequence *sequence, const GArray *exchanges, const RhProblem *c)
{
    RhExchange at = {0};
    sequence->parts = g_new(RhKernelSequence, exchanges->len + 1);
    for (guint i = 0; i < exchanges->len; i++) {
        const RhExchange *next = &g_array_index(exchanges, RhExchange, i);
        add_part(sequence, &at, next->kernel, c);
        at = *next;
    }
    add_part(sequence, &at, sequence->kernels_count, c);
}

/* --- the sequences of a block --- */

/* The lists are filled anew. */
static RhKernelSequence sequence_new(const BlockOf *of, RhBlockList lists, RhPart part, RhPass pass,
                                     RhPass also)
{
    const RhProblem *c = of->model_cost->c;
    RhPass passes[] = {also, pass};
    g_array_set_size(lists.kernels, 0);
    g_array_set_size(lists.exchanges, 0);
    for (size_t i = 0; i < G_N_ELEMENTS(passes); i++)
        if (passes[i] != RH_PASS_NONE)
            rh_block_pass(c->model, of->kind, of->block, part, passes[i], of->shard, lists);
    RhKernelSequence sequence = {
        .kernels = g_memdup2(lists.kernels->data, sizeof(RhKernel) * lists.kernels->len),
        .kernels_count = (int32_t)lists.kernels->len};
    sequence.seconds = kernels_s(c, sequence.kernels, sequence.kernels_count);
    if (lists.exchanges->len > 0)
        part_at(&sequence, lists.exchanges, c);
    return sequence;
}

static RhBlockCost block_sized(const BlockOf *of)
{
    const RhModel *model = of->model_cost->c->model;
    const RhLayerKind *kind = of->kind;
    RhBlock block = of->block;
    RhParams params = rh_block_params(model, kind, block, of->shard);
    RhParamCounts weights = {{params.sharded + params.replicated, params.experts}};
    bool frozen = of->shard->lora.rank > 0;
    RhParams beside = rh_block_adapter_params(model, kind, block, of->shard);
    RhParamCounts adapters = {{beside.sharded + beside.replicated, beside.experts}};
    bool whole = rh_block_takes_whole(model, kind, block, of->shard);
    return (RhBlockCost){
        .params = frozen ? adapters : weights,
        .frozen = frozen ? weights : (RhParamCounts){{0}},
        .whole_params = params.replicated,
        .bytes = rh_block_activation_bytes(model, kind, block, of->shard),
        .gathered_bytes = whole ? rh_block_gathered_bytes(model, kind, block, of->shard) : 0,
        .boundary_bytes = whole ? rh_block_boundary_bytes(model, kind, block, of->shard) : 0,
        .other_bytes = whole ? rh_block_other_bytes(model, kind, block, of->shard) : 0,
    };
}

/* Adds the kernels of a block. Parameters have no gradient on the sequence part but the norm's own:
 * its kernels come with the data pass. */
static void add_kernels(const BlockOf *of, RhBlockList lists, RhBlockCost *b)
{
    bool layer = of->kind != NULL;
    RhRecompute modules = of->shard->recompute;
    bool some = layer && modules != RH_RECOMPUTE_NONE && modules != RH_RECOMPUTE_FULL;
    bool from_input =
        rh_block_replays_whole(of->model_cost->c->model, of->kind, of->block, of->shard);
    RhPass replay = some ? RH_PASS_RECOMPUTE_SELECTIVE : RH_PASS_NONE;
    bool full = layer && modules == RH_RECOMPUTE_FULL;
    RhPass outer = full ? RH_PASS_RECOMPUTE_FULL : from_input ? replay : RH_PASS_NONE;
    RhPass inner = from_input ? RH_PASS_NONE : replay;
    b->sequence_forward = sequence_new(of, lists, RH_PART_SEQUENCE, RH_PASS_FORWARD, RH_PASS_NONE);
    b->tensor_forward = sequence_new(of, lists, RH_PART_TENSOR, RH_PASS_FORWARD, RH_PASS_NONE);
    b->sequence_again = sequence_new(of, lists, RH_PART_SEQUENCE, replay, RH_PASS_NONE);
    b->tensor_again = sequence_new(of, lists, RH_PART_TENSOR, outer, RH_PASS_NONE);
    b->data = sequence_new(of, lists, RH_PART_TENSOR, RH_PASS_BACKWARD_DATA, inner);
    b->weight = sequence_new(of, lists, RH_PART_TENSOR, RH_PASS_BACKWARD_WEIGHT, RH_PASS_NONE);
    b->sequence_backward =
        sequence_new(of, lists, RH_PART_SEQUENCE, RH_PASS_BACKWARD_DATA, RH_PASS_BACKWARD_WEIGHT);
}

/* Bytes that a rank sends: a sequence-parallel rank its own tokens; otherwise each rank its share
 * of all (train/parallelism/tensor.c gathers them). */
static double own_bytes(const RhModelCost *p, double whole)
{
    bool shares = p->shard.sequence_parallel || p->c->stack->scatters_messages;
    return whole / (shares ? p->shard.tp : 1);
}

static double message_bytes(const RhModelCost *p, const RhLayerKind *kind)
{
    return own_bytes(p, rh_output_bytes(p->c->model, kind, &p->shard));
}

static void add_messages(RhModelCost *p)
{
    p->first_bytes = p->least_message_bytes = message_bytes(p, NULL);
    for (int k = 0; k < p->c->model->kinds_count; k++) {
        const RhLayerKind *kind = &p->c->model->kinds[k];
        p->output_bytes[k] = message_bytes(p, kind);
        p->choice_bytes[k] = own_bytes(p, rh_choice_bytes(p->c->model, kind, &p->shard));
        p->least_message_bytes = MIN(p->least_message_bytes, p->output_bytes[k]);
    }
}

RhBoundaryMessage rh_model_cost_message(const RhModelCost *p, int32_t layer)
{
    const RhModel *m = p->c->model;
    double hidden = layer > 0 ? p->output_bytes[m->kind_of_layer[layer - 1]] : p->first_bytes;
    double chosen = layer < m->layers_count ? p->choice_bytes[m->kind_of_layer[layer]] : 0;
    return (RhBoundaryMessage){.forward = hidden + chosen, .back = hidden};
}

double rh_model_cost_outputs_bytes(const RhModelCost *p, const RhLayout *l)
{
    bool keeps = p->c->stack->keeps_messages && l->pp > 1;
    return keeps ? (double)(rh_train_microbatches(p->c, l) - 1) *
                       rh_logit_bytes(p->c->model, &p->shard)
                 : 0;
}

RhBoundaryMessage *rh_model_cost_messages_new(const RhModelCost *p, const int32_t *layers,
                                              int32_t chunks)
{
    RhBoundaryMessage *messages = g_new(RhBoundaryMessage, chunks);
    int32_t all = p->c->model->layers_count;
    for (int32_t g = 0, layer = 0; g + 1 < chunks; g++) {
        layer +=
            layers[g] - (layer == all && layers[g] > 0 ? all : 0); /* then another copy begins */
        messages[g] = rh_model_cost_message(p, layer);
    }
    return messages;
}

/* Sets the link rates of kernels that send each token once. A job for which these are not known is
 * not legal (legal_layouts.c). */
static void set_pace(RhShard *shard)
{
    const RhA2aBackend *kernels =
        shard->sends_once ? rh_a2a_backend_by_name(RH_A2A_BACKEND_ONCE, NULL) : NULL;
    if (!kernels)
        return;
    shard->once_nvlink_frac = kernels->dispatch.peer_frac.value;
    shard->once_nic_frac = kernels->dispatch.nic_frac.value;
}

/* Shard of layers of which nothing is recomputed. */
static RhShard kept_shard(const RhModelCost *p)
{
    RhShard kept = p->shard;
    kept.recompute = RH_RECOMPUTE_NONE;
    return kept;
}

static const RhShard *layer_shard(const RhModelCost *p, const RhShard *kept, int item)
{
    return item < RH_LAYER_KINDS_MAX ? &p->shard : kept;
}

static void size_layer(RhModelCost *p, const RhShard *shard, int item)
{
    const RhLayerKind *kind = rh_layer_of_op_kind(p->c->model, item);
    if (!kind)
        return;
    p->mixer[item] = block_sized(&(BlockOf){p, shard, kind, RH_BLOCK_MIXER});
    p->ffn[item] = block_sized(&(BlockOf){p, shard, kind, RH_BLOCK_FFN});
    p->layer_params[item] = p->mixer[item].params;
    rh_param_counts_add(&p->layer_params[item], &p->ffn[item].params);
    p->layer_frozen[item] = p->mixer[item].frozen;
    rh_param_counts_add(&p->layer_frozen[item], &p->ffn[item].frozen);
}

static RhModelCost *pieces_new(const RhProblem *c, const RhLayout *layout, int32_t microbatch)
{
    RhModelCost *p = g_new0(RhModelCost, 1);
    p->c = c;
    p->shard = (RhShard){
        .tp = layout->tp,
        .cp = layout->cp,
        .ulysses = layout->ulysses,
        .kv = layout->kv,
        .slice = rh_train_slice(c, layout),
        .halo = layout->halo,
        .ep = layout->ep,
        .etp = layout->etp,
        .sends_once = layout->dispatch == RH_DISPATCH_DEEPEP,
        .shared_beside = layout->overlap == RH_OVERLAP_SHARED,
        .sequence_parallel = layout->sequence_parallel && layout->tp > 1,
        .tensor_overlap = layout->tensor_overlap && layout->sequence_parallel && layout->tp > 1,
        .pulls_rows = c->stack->pulls_rows,
        .gathers_heads = c->stack->gathers_heads,
        .sequence = c->job.sequence,
        .microbatch = microbatch,
        .recompute = layout->recompute,
        .lora = c->job.lora,
        .frozen = c->job.frozen,
        .dtype = c->job.recipe->dtype,
        .recipe = rh_recipe_on(c->job.recipe, c->platform->device),
        .gradient_bytes = (int32_t)rh_gradient_bytes(c),
        .documents =
            c->job.documents.runs_count > 0 && !c->job.documents.padded ? &c->job.documents : NULL,
        .load = &c->job.load,
        .flash = c->stack->flash_attention,
        .stops_early = c->stack->stops_early,
        .fused_loss = c->stack->fused_loss,
        .eager_loss = c->stack->eager_loss,
        .whole_logits = c->stack->whole_logits,
        .keeps_outputs = c->stack->keeps_outputs,
        .keeps_gathered = c->stack->keeps_gathered,
        .drops_context = c->stack->drops_context,
        .drops_projection = c->stack->drops_projection,
        .narrow_gates = c->stack->narrow_gates,
        .fused_casts = c->stack->fused_casts,
        .narrow_attention = c->job.narrow_attention,
        .fused_norms = c->stack->fused_norms,
        .experts_apart = c->stack->experts_apart,
        .fills_experts = c->stack->fills_experts,
        .sorts_by_products = c->stack->sorts_by_products,
        .fused_softmax = c->stack->fused_softmax,
        .fused_elementwise = c->stack->fused_elementwise,
        .passes = &c->stack->passes};
    p->layers_end =
        (layout->recomputed_layers_count != 0 ? RH_LAYER_KINDS_MAX : 0) + c->model->kinds_count;
    p->mixer = g_new0(RhBlockCost, 2 * p->layers_end);
    p->ffn = p->mixer + p->layers_end;
    set_pace(&p->shard);
    RhShard kept = kept_shard(p);
    for (int k = 0; k < p->layers_end; k++)
        size_layer(p, layer_shard(p, &kept, k), k);
    p->embedding = block_sized(&(BlockOf){p, &p->shard, NULL, RH_BLOCK_EMBEDDING});
    p->head = block_sized(&(BlockOf){p, &p->shard, NULL, RH_BLOCK_HEAD});
    add_messages(p);
    if (c->stack->dummy_gradients && c->job.lora.rank == 0) /* those of adapters are negligible */
        p->matrices = rh_weight_shapes_of(p);
    return p;
}

RhModelCost *rh_model_cost_sized_new(const RhProblem *c, const RhLayout *layout)
{
    RhModelCost *p = pieces_new(c, layout, layout->microbatch);
    if (layout->overlap == RH_OVERLAP_BATCHES)
        p->half = pieces_new(c, layout, layout->microbatch / 2);
    return p;
}

static void add_all_kernels(RhModelCost *p, RhBlockList lists)
{
    RhShard kept = kept_shard(p);
    for (int k = 0; k < p->layers_end; k++) {
        const RhLayerKind *kind = rh_layer_of_op_kind(p->c->model, k);
        const RhShard *shard = layer_shard(p, &kept, k);
        if (!kind)
            continue;
        add_kernels(&(BlockOf){p, shard, kind, RH_BLOCK_MIXER}, lists, &p->mixer[k]);
        add_kernels(&(BlockOf){p, shard, kind, RH_BLOCK_FFN}, lists, &p->ffn[k]);
    }
    add_kernels(&(BlockOf){p, &p->shard, NULL, RH_BLOCK_EMBEDDING}, lists, &p->embedding);
    add_kernels(&(BlockOf){p, &p->shard, NULL, RH_BLOCK_HEAD}, lists, &p->head);
}

void rh_model_cost_add_kernels(RhModelCost *p)
{
    g_autoptr(GArray) kernels = g_array_new(FALSE, FALSE, sizeof(RhKernel));
    g_autoptr(GArray) exchanges = g_array_new(FALSE, FALSE, sizeof(RhExchange));
    RhBlockList lists = {kernels, exchanges};
    add_all_kernels(p, lists);
    if (p->half)
        add_all_kernels(p->half, lists);
}

RhModelCost *rh_model_cost_new(const RhProblem *c, const RhLayout *layout)
{
    RhModelCost *p = rh_model_cost_sized_new(c, layout);
    rh_model_cost_add_kernels(p);
    return p;
}

static void block_clear(RhBlockCost *b)
{
    RhKernelSequence *all[] = {&b->sequence_forward, &b->tensor_forward, &b->sequence_again,
                               &b->tensor_again,     &b->data,           &b->weight,
                               &b->sequence_backward};
    for (size_t i = 0; i < G_N_ELEMENTS(all); i++) {
        g_free(all[i]->parts);
        g_free((void *)all[i]->kernels);
    }
}

void rh_model_cost_free(RhModelCost *p)
{
    if (!p)
        return;
    for (int k = 0; k < p->layers_end; k++) {
        block_clear(&p->mixer[k]);
        block_clear(&p->ffn[k]);
    }
    block_clear(&p->embedding);
    block_clear(&p->head);
    rh_model_cost_free(p->half);
    g_free(p->mixer);
    g_free(p);
}
