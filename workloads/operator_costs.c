/* Costs of blocks as pairs of operators, and of a model as a sum of blocks. Only an operator's own
 * file (workloads/operators/) knows what it costs. Formulas: docs/theory/workload.md. */
#include "workloads/operator_costs.h"

#include "base/error.h"
#include "workloads/operators/operator.h"

/* The vocabulary is padded to a multiple of this times the tensor-parallel size (Megatron-LM:
 * make_vocab_size_divisible_by). */
#define VOCAB_MULTIPLE 128

/* The operators of each block's SEQUENCE part; the TENSOR part is the layer's own, at the two ends
 * the model's. */
static const struct {
    const char *name;
    const RhOperator *sequence;
} BLOCKS[] = {
    [RH_BLOCK_NONE] = {"none", NULL},       [RH_BLOCK_EMBEDDING] = {"embedding", &rh_positions},
    [RH_BLOCK_MIXER] = {"mixer", &rh_norm}, [RH_BLOCK_FFN] = {"ffn", &rh_norm},
    [RH_BLOCK_HEAD] = {"head", &rh_norm},
};

const char *rh_block_name(RhBlock block)
{
    g_return_val_if_fail((size_t)block < G_N_ELEMENTS(BLOCKS), "none");
    return BLOCKS[block].name;
}

static bool in_layer(RhBlock block)
{
    return block == RH_BLOCK_MIXER || block == RH_BLOCK_FFN;
}

/* The two operators of a block; NULL, NULL where the layer has no such block. */
static void operators_of(const RhModel *model, const RhLayerKind *kind, RhBlock block,
                         const RhOperator *pair[2])
{
    pair[0] = BLOCKS[block].sequence;
    pair[1] = block == RH_BLOCK_MIXER       ? kind->mixer
              : block == RH_BLOCK_FFN       ? kind->ffn
              : block == RH_BLOCK_EMBEDDING ? model->embed
              : block == RH_BLOCK_HEAD      ? model->lm_head
                                            : NULL;
    if (pair[1] == NULL || pair[1]->alone)
        pair[0] = NULL;
}

#define MODULE_NAME(constant, bit, name, whole) [bit] = (name),
const char *const rh_recompute_modules[] = {RH_RECOMPUTE_MODULES(MODULE_NAME) NULL};

#define MODULE_WHOLE(constant, bit, name, whole) | ((whole) ? RH_RECOMPUTE_##constant : 0)
static const uint32_t WHOLE_MODULES = 0 RH_RECOMPUTE_MODULES(MODULE_WHOLE);

static uint32_t modules_of(const RhOperator *op)
{
    return op != NULL ? (uint32_t)op->modules : 0;
}

RhRecompute rh_kind_modules(const RhModel *model, const RhLayerKind *kind)
{
    g_return_val_if_fail(model != NULL && kind != NULL, RH_RECOMPUTE_NONE);
    uint32_t modules = modules_of(kind->mixer) | modules_of(kind->ffn) |
                       modules_of(kind->inner_mixer) | modules_of(kind->inner_ffn);
    if (kind->shared_width == 0)
        modules &= ~(uint32_t)RH_RECOMPUTE_SHARED;
    return (RhRecompute)(modules | (model->norm != RH_NORM_NONE ? RH_RECOMPUTE_NORM : 0));
}

uint32_t rh_model_modules(const RhModel *model)
{
    g_return_val_if_fail(model != NULL, 0);
    uint32_t modules = 0;
    for (int k = 0; k < model->kinds_count; k++)
        modules |= (uint32_t)rh_kind_modules(model, &model->kinds[k]);
    return modules;
}

bool rh_recompute_repeats(uint32_t modules)
{
    return (modules & RH_RECOMPUTE_MIXTURE) &&
           (modules & (RH_RECOMPUTE_EXPERT_ACTIVATION | RH_RECOMPUTE_SHARED));
}

bool rh_block_replays_whole(const RhModel *model, const RhLayerKind *kind, RhBlock block,
                            const RhShard *shard)
{
    g_return_val_if_fail(model != NULL && shard != NULL, false);
    if (!in_layer(block) || shard->recompute == RH_RECOMPUTE_FULL)
        return false;
    const RhOperator *inner = block == RH_BLOCK_MIXER ? kind->inner_mixer : kind->inner_ffn;
    const RhOperator *outer = block == RH_BLOCK_MIXER ? kind->mixer : kind->ffn;
    uint32_t modules = modules_of(inner) | modules_of(outer);
    return ((uint32_t)shard->recompute & modules & WHOLE_MODULES) != 0;
}

int64_t rh_shard_tokens(const RhShard *shard)
{
    bool tiles = shard->slice != RH_SLICE_NONE; /* then a rank has a part of each picture */
    return shard->microbatch * (shard->sequence / (tiles ? 1 : MAX(shard->cp, 1)));
}

/* Operator context with the encoder's tokens, which context ranks do not divide
 * (train/parallelism/context.c). */
static RhOps encoder_ops(const RhModel *model, const RhLayerKind *kind, const RhShard *shard)
{
    int64_t each = rh_model_encoder_tokens(model, shard->sequence);
    int64_t tokens = shard->microbatch * each;
    int32_t parts = shard->sequence_parallel ? MAX(shard->tp, 1) : 1;
    return (RhOps){.model = model->encoder,
                   .kind = kind,
                   .shard = shard,
                   .sequences = shard->microbatch,
                   .queries = each,
                   .keys = each,
                   .tokens = tokens,
                   .sequence_rows = (double)tokens / parts,
                   .element_bytes = rh_dtype_bytes(shard->dtype),
                   .vocab_multiple = VOCAB_MULTIPLE};
}

/* Is this the first block of the encoder, which also embeds its tokens? */
static bool begins_encoder(const RhModel *model, RhBlock block)
{
    return block == RH_BLOCK_EMBEDDING && model->encoder != NULL;
}

static RhOps ops_of(const RhModel *model, const RhLayerKind *kind, const RhShard *shard,
                    RhPass pass)
{
    bool decoding = pass == RH_PASS_DECODE, encodes = kind != NULL && kind->encodes;
    int64_t others = rh_model_encoder_tokens(model, shard->sequence);
    if (encodes)
        return encoder_ops(model, kind, shard);
    int64_t own = rh_shard_tokens(shard), queries = decoding ? 1 : own / MAX(shard->microbatch, 1);
    int64_t tokens = decoding ? shard->microbatch : own;
    return (RhOps){.model = model,
                   .kind = kind,
                   .shard = shard,
                   .sequences = shard->microbatch,
                   .decoding = decoding,
                   .queries = queries,
                   .keys = shard->sequence + (pass == RH_PASS_PREFILL ? shard->cached : 0),
                   .tokens = tokens,
                   .others = others,
                   .sequence_rows =
                       (double)tokens / (shard->sequence_parallel ? MAX(shard->tp, 1) : 1),
                   .element_bytes = rh_dtype_bytes(shard->dtype),
                   .vocab_multiple = VOCAB_MULTIPLE};
}

/* --- One rank --- */

/* Marks the products of linear layers as gradients of inputs, from the first-th kernel on. */
static void mark_input_gradients(GArray *kernels, guint first)
{
    for (guint i = first; i < kernels->len; i++) {
        RhKernel *k = &g_array_index(kernels, RhKernel, i);
        if (k->cls == RH_KERNEL_GEMM && k->batch == 1 && !k->core && k->layout == RH_GEMM_LINEAR)
            k->layout = RH_GEMM_INPUT_GRADIENT;
    }
}

void rh_block_pass(const RhModel *model, const RhLayerKind *kind, RhBlock block, RhPart part,
                   RhPass pass, const RhShard *shard, RhBlockList list)
{
    g_return_if_fail(model != NULL && shard != NULL && list.kernels != NULL);
    g_return_if_fail(kind != NULL || !in_layer(block));
    const RhOperator *pair[2];
    operators_of(model, kind, block, pair);
    RhOps ops = ops_of(model, in_layer(block) ? kind : NULL, shard, pass);
    ops.out = list.kernels;
    ops.exchanges = list.exchanges;
    const RhOperator *op = part == RH_PART_SEQUENCE ? pair[0]
                           : part == RH_PART_TENSOR ? pair[1]
                                                    : NULL;
    guint first = list.kernels->len;
    ops.in_steps = shard->tensor_overlap && op != NULL && op->in_steps;
    bool frozen = shard->lora.rank > 0, weights = pass == RH_PASS_BACKWARD_WEIGHT;
    if (begins_encoder(model, block)) {
        RhOps front = encoder_ops(model, NULL, shard);
        const RhOperator *ends[2];
        front.out = list.kernels;
        operators_of(front.model, NULL, block, ends);
        if (!(frozen && weights))
            ends[part == RH_PART_SEQUENCE ? 0 : 1]->kernels(&front, pass);
    }
    if (frozen)
        rh_frozen_kernels(&ops, op, pass);
    if (op != NULL && !(frozen && weights))
        op->kernels(&ops, pass);
    if (frozen)
        rh_adapters_kernels(&ops, op, pass);
    /* recomputed norm outputs are cast again for the linear layers that read them */
    bool again = part == RH_PART_SEQUENCE && pass == RH_PASS_RECOMPUTE_SELECTIVE;
    if (again && in_layer(block) && rh_ops_replays(&ops, RH_RECOMPUTE_NORM) && pair[1] != NULL &&
        pair[1]->gathers_operands)
        rh_ops_cast(&ops, rh_ops_sequence_elements(&ops));
    if (pass == RH_PASS_BACKWARD_DATA)
        mark_input_gradients(list.kernels, first);
}

void rh_block_kernels(const RhModel *model, const RhLayerKind *kind, RhBlock block, RhPart part,
                      RhPass pass, const RhShard *shard, GArray *out)
{
    rh_block_pass(model, kind, block, part, pass, shard, (RhBlockList){out, NULL});
}

static RhParams params_of(const RhOps *ops, RhBlock block)
{
    const RhOperator *pair[2];
    RhParams sum = {0};
    if (ops->kind != NULL && ops->kind->borrows)
        return sum;
    operators_of(ops->model, ops->kind, block, pair);
    for (int i = 0; i < 2; i++) {
        RhParams p =
            pair[i] != NULL && pair[i]->params != NULL ? pair[i]->params(ops) : (RhParams){0};
        sum.sharded += p.sharded;
        sum.replicated += p.replicated;
        sum.experts += p.experts;
    }
    if (begins_encoder(ops->model, block)) {
        RhOps front = encoder_ops(ops->model, NULL, ops->shard);
        RhParams p = params_of(&front, block);
        sum.sharded += p.sharded;
        sum.replicated += p.replicated;
    }
    return sum;
}

RhParams rh_block_params(const RhModel *model, const RhLayerKind *kind, RhBlock block,
                         const RhShard *shard)
{
    g_return_val_if_fail(model != NULL && shard != NULL, (RhParams){0});
    g_return_val_if_fail(kind != NULL || !in_layer(block), (RhParams){0});
    RhOps ops = ops_of(model, in_layer(block) ? kind : NULL, shard, RH_PASS_FORWARD);
    return params_of(&ops, block);
}

RhParams rh_block_adapter_params(const RhModel *model, const RhLayerKind *kind, RhBlock block,
                                 const RhShard *shard)
{
    g_return_val_if_fail(model != NULL && shard != NULL, (RhParams){0});
    g_return_val_if_fail(kind != NULL || !in_layer(block), (RhParams){0});
    const RhOperator *pair[2];
    if (in_layer(block) && kind->borrows)
        return (RhParams){0}; /* a borrowed layer has no adapters of its own */
    operators_of(model, kind, block, pair);
    RhOps ops = ops_of(model, in_layer(block) ? kind : NULL, shard, RH_PASS_FORWARD);
    return rh_adapters_params(&ops, pair[1]);
}

bool rh_kind_takes_adapters(const RhLayerKind *kind)
{
    g_return_val_if_fail(kind != NULL, false);
    const RhOperator *pair[] = {kind->mixer, kind->ffn};
    bool all = true;
    for (size_t i = 0; i < G_N_ELEMENTS(pair); i++)
        all &= pair[i] == NULL || pair[i]->linears != NULL;
    return all;
}

/* FLOPs of a block. The encoder's end, like patches, counts as none. */
static RhFlops flops_of(const RhOps *ops, RhBlock block)
{
    const RhOperator *pair[2];
    operators_of(ops->model, ops->kind, block, pair);
    return pair[1] != NULL && pair[1]->flops != NULL ? pair[1]->flops(ops) : (RhFlops){0};
}

RhFlops rh_block_flops(const RhModel *model, const RhLayerKind *kind, RhBlock block,
                       const RhShard *shard)
{
    g_return_val_if_fail(model != NULL && shard != NULL, (RhFlops){0});
    g_return_val_if_fail(kind != NULL || !in_layer(block), (RhFlops){0});
    RhOps ops = ops_of(model, in_layer(block) ? kind : NULL, shard, RH_PASS_FORWARD);
    return flops_of(&ops, block);
}

/* Bytes that are still kept under recomputation: all but those of the recomputed modules, or the
 * layer's input alone, which its first block keeps. */
static double left_bytes(const RhOps *ops, RhBlock block, const RhOperatorBytes *all)
{
    if (!in_layer(block))
        return all->kept;
    if (ops->shard->recompute != RH_RECOMPUTE_FULL)
        return all->kept - all->dropped;
    bool first = block == RH_BLOCK_MIXER || ops->kind->mixer == NULL;
    double input = ops->sequence_rows * (double)ops->kind->input;
    /* the encoder's output, which all layers of the decoder read */
    bool end = block == RH_BLOCK_FFN && ops->kind->ffn == &rh_encoder_end;
    /* keys and values that later layers read */
    double lent = first && ops->kind->lends_keys
                      ? 2.0 * (double)ops->tokens * ops->kind->head_size *
                            (double)MAX(rh_ops_cut(ops, ops->kind->kv_heads), 1)
                      : 0;
    return first && all->kept > 0 ? ops->element_bytes * (input + lent)
           : end                  ? ops->element_bytes * rh_ops_sequence_elements(ops)
                                  : 0;
}

/* Bytes of the block's input that linear layers read and that other sequence-parallel ranks hold
 * too. */
static double kept_of_others(const RhOps *ops, RhBlock block, const RhOperator *reads)
{
    bool whole = reads == NULL || reads->takes_whole == NULL || reads->takes_whole(ops);
    if (!ops->shard->keeps_gathered || !whole || block == RH_BLOCK_EMBEDDING)
        return 0;
    return ops->element_bytes * (rh_ops_hidden_elements(ops) - rh_ops_sequence_elements(ops));
}

static void add_bytes(RhOperatorBytes *sum, RhOperatorBytes b)
{
    sum->kept += b.kept;
    sum->dropped += b.dropped;
    sum->forward += b.forward;
    sum->backward += b.backward;
}

static RhOperatorBytes bytes_of(const RhOps *ops, const RhOperator *const pair[2])
{
    RhOperatorBytes sum = {0};
    for (int i = 0; i < 2; i++) {
        double wide = rh_frozen_wide_bytes(ops, pair[i]);
        if (pair[i] != NULL)
            add_bytes(&sum, pair[i]->bytes(ops));
        sum.kept += rh_adapters_kept_bytes(ops, pair[i]);
        sum.forward += wide;
        sum.backward += wide;
    }
    return sum;
}

RhActivation rh_block_activation_bytes(const RhModel *model, const RhLayerKind *kind, RhBlock block,
                                       const RhShard *shard)
{
    g_return_val_if_fail(model != NULL && shard != NULL, (RhActivation){0});
    g_return_val_if_fail(kind != NULL || !in_layer(block), (RhActivation){0});
    const RhOperator *pair[2];
    operators_of(model, kind, block, pair);
    RhOps ops = ops_of(model, in_layer(block) ? kind : NULL, shard, RH_PASS_FORWARD);
    RhOperatorBytes sum = bytes_of(&ops, pair);
    if (begins_encoder(model, block)) {
        RhOps front = encoder_ops(model, NULL, shard);
        const RhOperator *ends[2];
        operators_of(front.model, NULL, block, ends);
        add_bytes(&sum, bytes_of(&front, ends));
    }
    sum.kept += kept_of_others(&ops, block, pair[1]);
    double left = left_bytes(&ops, block, &sum), again = sum.kept - left;
    return (RhActivation){left, again + sum.forward, again + sum.backward};
}

double rh_boundary_bytes(const RhModel *model, const RhShard *shard)
{
    g_return_val_if_fail(model != NULL && shard != NULL, 0);
    return (double)rh_shard_tokens(shard) * (double)model->hidden * rh_dtype_bytes(shard->dtype);
}

double rh_block_boundary_bytes(const RhModel *model, const RhLayerKind *kind, RhBlock block,
                               const RhShard *shard)
{
    g_return_val_if_fail(model != NULL && shard != NULL, 0);
    int64_t width = model->encoder != NULL ? model->encoder->hidden : model->hidden;
    double encoded = (double)shard->microbatch * (double)width * rh_dtype_bytes(shard->dtype) *
                     (double)rh_model_encoder_tokens(model, shard->sequence);
    if (kind != NULL && kind->encodes)
        return encoded;
    bool both = begins_encoder(model, block) && model->encoder->shares_embedding;
    return rh_boundary_bytes(model, shard) + (both ? encoded : 0);
}

double rh_block_other_bytes(const RhModel *model, const RhLayerKind *kind, RhBlock block,
                            const RhShard *shard)
{
    g_return_val_if_fail(model != NULL && shard != NULL, 0);
    if (block != RH_BLOCK_MIXER || kind->cross_width == 0)
        return 0;
    return (double)shard->microbatch * (double)kind->cross_width * rh_dtype_bytes(shard->dtype) *
           (double)rh_model_encoder_tokens(model, shard->sequence);
}

double rh_output_bytes(const RhModel *model, const RhLayerKind *kind, const RhShard *shard)
{
    g_return_val_if_fail(model != NULL && shard != NULL, 0);
    int64_t each = kind != NULL ? kind->output : model->kinds[*model->kind_of_layer].input;
    bool parted =
        shard->slice != RH_SLICE_NONE && (kind == NULL || rh_step_list_has_places(kind->steps));
    return (double)rh_shard_tokens(shard) * (double)each * rh_dtype_bytes(shard->dtype) /
           (parted ? shard->cp : 1);
}

double rh_logit_bytes(const RhModel *model, const RhShard *shard)
{
    g_return_val_if_fail(model != NULL && shard != NULL, 0);
    RhOps ops = ops_of(model, NULL, shard, RH_PASS_FORWARD);
    int32_t parts = shard->whole_logits ? shard->tp : 1;
    return model->lm_head == &rh_head
               ? ops.element_bytes * (double)ops.tokens * (double)rh_ops_vocab(&ops) * parts
               : 0;
}

double rh_choice_bytes(const RhModel *model, const RhLayerKind *kind, const RhShard *shard)
{
    g_return_val_if_fail(model != NULL && kind != NULL && shard != NULL, 0);
    RhOps ops = ops_of(model, kind, shard, RH_PASS_FORWARD);
    bool chosen = kind->index_shared && ops.keys > kind->window_tokens;
    return chosen ? RH_CHOSEN_KEY_BYTES * (double)rh_shard_tokens(shard) * kind->window_tokens : 0;
}

bool rh_block_takes_whole(const RhModel *model, const RhLayerKind *kind, RhBlock block,
                          const RhShard *shard)
{
    g_return_val_if_fail(model != NULL && shard != NULL, true);
    g_return_val_if_fail(kind != NULL || !in_layer(block), true);
    const RhOperator *pair[2];
    operators_of(model, kind, block, pair);
    RhOps ops = ops_of(model, in_layer(block) ? kind : NULL, shard, RH_PASS_FORWARD);
    return pair[1] == NULL || pair[1]->takes_whole == NULL || pair[1]->takes_whole(&ops);
}

double rh_block_gathered_bytes(const RhModel *model, const RhLayerKind *kind, RhBlock block,
                               const RhShard *shard)
{
    g_return_val_if_fail(model != NULL && shard != NULL, 0);
    const RhOperator *pair[2] = {NULL, NULL};
    if (in_layer(block) && kind != NULL)
        operators_of(model, kind, block, pair);
    bool narrow = shard->recipe != NULL && pair[1] != NULL && pair[1]->gathers_operands;
    /* ranks hold all tokens of pictures, but only their own of an encoder */
    double wide = rh_block_boundary_bytes(model, kind, block, shard) +
                  (model->encoder != NULL ? rh_block_other_bytes(model, kind, block, shard) : 0);
    return narrow ? wide / rh_dtype_bytes(shard->dtype) * shard->recipe->operand_bytes : wide;
}

/* --- The whole model --- */

/* Operator context of a whole model: uncut and unpadded, so every count is exact. */
static RhOps whole_of(const RhModel *model, const RhLayerKind *kind, const RhShard *shard)
{
    RhOps ops = ops_of(model, kind, shard, RH_PASS_FORWARD);
    ops.vocab_multiple = 1;
    return ops;
}

static double whole_params(const RhOps *ops, RhBlock block)
{
    RhParams p = params_of(ops, block);
    return p.sharded + p.replicated + p.experts;
}

/* Number of parameters; exact below 2^53. */
static double sum_of_params(const RhModel *m)
{
    static const RhShard one = {.tp = 1};
    RhOps edge = whole_of(m, NULL, &one);
    double tied = m->tied_embeddings ? (double)m->vocab * (double)rh_ops_embedding_width(&edge) : 0;
    double total = whole_params(&edge, RH_BLOCK_EMBEDDING) + whole_params(&edge, RH_BLOCK_HEAD);
    for (int32_t i = 0; i < m->layers_count; i++) {
        RhOps layer = whole_of(m, &m->kinds[m->kind_of_layer[i]], &one);
        total += whole_params(&layer, RH_BLOCK_MIXER) + whole_params(&layer, RH_BLOCK_FFN);
    }
    return total - tied;
}

bool rh_model_countable(const RhModel *m, GError **error)
{
    g_return_val_if_fail(m != NULL, false);
    double sum = sum_of_params(m);
    return sum < RH_PARAMS_MOST ||
           rh_fail(error, RH_ERROR_INPUT, "a model of %.3g parameters: fewer than 2^53 are counted",
                   sum);
}

int64_t rh_model_params(const RhModel *m)
{
    g_return_val_if_fail(m != NULL, 0);
    return (int64_t)MIN(sum_of_params(m), RH_PARAMS_MOST);
}

/* FLOPs of one pass forward, from the operators' rows, with documents that fill the fraction `fill`
 * of a sample; and of the products that backward needs only once: those with weights, and those
 * that read a picture. */
typedef struct {
    double forward, weights, first;
} TokenFlops;

static TokenFlops token_flops(const RhModel *m, const RhShard *one, double fill)
{
    RhOps edge = whole_of(m, NULL, one);
    RhFlops head = flops_of(&edge, RH_BLOCK_HEAD);
    if (m->per_layer_inputs > 0) /* otherwise a look-up, whose FLOPs are negligible */
        head.weights += flops_of(&edge, RH_BLOCK_EMBEDDING).weights;
    double tokens = (double)one->sequence, seen = tokens * fill;
    TokenFlops sum = {head.weights / tokens + head.pairs / seen, head.weights / tokens, 0};
    for (int32_t i = 0; i < m->layers_count; i++) {
        RhOps layer = whole_of(m, &m->kinds[m->kind_of_layer[i]], one);
        RhFlops mixer = flops_of(&layer, RH_BLOCK_MIXER), ffn = flops_of(&layer, RH_BLOCK_FFN);
        sum.forward += (mixer.weights + ffn.weights) / tokens + (mixer.pairs + ffn.pairs) / seen;
        sum.weights += (mixer.weights + ffn.weights) / tokens;
        sum.first += (mixer.first + ffn.first) / tokens;
    }
    return sum;
}

/* Backward takes twice the FLOPs of forward, without the gradients of frozen weights and of
 * pictures. */
static double flops_per_token(const RhModel *m, const RhShard *one, const RhLora *lora, double fill)
{
    TokenFlops f = token_flops(m, one, fill);
    return 3 * f.forward - (lora->rank > 0 ? f.weights : 0) - f.first;
}

double rh_model_forward_flops_per_token(const RhModel *m, int64_t s)
{
    g_return_val_if_fail(m != NULL && s > 0, 0);
    return token_flops(m, &(RhShard){.tp = 1, .sequence = s, .microbatch = 1}, 1).forward;
}

double rh_model_tuned_flops_per_token(const RhModel *m, int64_t s, const RhLora *lora)
{
    g_return_val_if_fail(m != NULL && s > 0 && lora != NULL, 0);
    return flops_per_token(m, &(RhShard){.tp = 1, .sequence = s, .microbatch = 1}, lora, 1);
}

double rh_model_documents_flops_per_token(const RhModel *m, int64_t s, const RhLora *lora,
                                          const RhDocuments *documents)
{
    g_return_val_if_fail(m != NULL && s > 0 && lora != NULL && documents != NULL, 0);
    if (documents->runs_count == 0)
        return rh_model_tuned_flops_per_token(m, s, lora);
    RhShard one = {.tp = 1, .sequence = s, .microbatch = 1, .documents = documents};
    return flops_per_token(m, &one, lora, documents->fill);
}

bool rh_kind_takes_documents(const RhLayerKind *kind)
{
    g_return_val_if_fail(kind != NULL, false);
    return kind->index_n_heads == 0 && kind->compress_ratio == 0 && !kind->encodes &&
           kind->cross_width == 0;
}

double rh_model_flops_per_token(const RhModel *m, int64_t s)
{
    return rh_model_tuned_flops_per_token(m, s, &(RhLora){0});
}

RhCacheBytes rh_block_cache_bytes(const RhModel *model, const RhLayerKind *kind, RhBlock block,
                                  const RhShard *shard)
{
    const RhOperator *pair[2];
    operators_of(model, kind, block, pair);
    RhOps ops = ops_of(model, in_layer(block) ? kind : NULL, shard, RH_PASS_DECODE);
    return pair[1] && pair[1]->cache ? pair[1]->cache(&ops) : (RhCacheBytes){0};
}
