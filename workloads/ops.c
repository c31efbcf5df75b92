/* Blocks to kernels: the dispatch and what the operators share. Formulas and the source of every
 * byte count: docs/model-workload.md. */
#include "workloads/ops.h"

#include "workloads/ops_private.h"

/* Megatron-LM: make_vocab_size_divisible_by x tensor-model-parallel size. */
#define VOCAB_MULTIPLE 128

/* Round counts of bytes per element that reproduce the public step times of the Aleph Alpha layout
 * sweep (fused and eager RMSNorm) and of NVIDIA's dgxc recipes; backward 1.2 x. Assumed. */
static const RhStream RMS_NORM = {8, 9.6, 68, 81.6, 8};
static const RhStream LAYER_NORM = {8, 9.6, 8, 9.6, 1}; /* one kernel in eager frameworks too */
static const RhStream RESIDUAL = {6, 7.2, 6, 7.2, 1};   /* read x, read f(x), write the sum */
/* The mask is one byte, written forward and read backward; eager: bias, dropout, sum. */
static const RhStream RESIDUAL_DROPOUT = {7, 8.2, 15, 12.2, 3};

static const char *const BLOCK_NAMES[] = {"none", "embedding", "mixer", "ffn", "head"};
static const char *const PASS_NAMES[RH_PASS_LAST] = {
    "none", "forward", "backward-data", "backward-weight", "recompute-full", "recompute-selective"};

const char *rh_block_name(RhBlock block)
{
    g_return_val_if_fail((size_t)block < G_N_ELEMENTS(BLOCK_NAMES), "none");
    return BLOCK_NAMES[block];
}

const char *rh_pass_name(RhPass pass)
{
    g_return_val_if_fail(pass < RH_PASS_LAST, "none");
    return PASS_NAMES[pass];
}

static int64_t divide_up(int64_t x, int64_t by)
{
    return (x + by - 1) / by;
}

RhWidths rh_widths(const RhModel *model, const RhLayerKind *kind, int32_t tp)
{
    int64_t t = MAX(tp, 1);
    RhWidths w = {.vocab = divide_up(model->vocab, VOCAB_MULTIPLE * t) * VOCAB_MULTIPLE};
    if (kind == NULL)
        return w;
    w.heads = divide_up(kind->heads, t);
    w.kv_heads = MAX(divide_up(kind->kv_heads, t), 1);
    w.q = w.heads * kind->head_size;
    w.kv = w.kv_heads * kind->head_size;
    w.qkv = w.q + 2 * w.kv;
    w.ffn = divide_up(kind->ffn_width, t);
    w.up = (kind->ffn == RH_FFN_GATED ? 2 : 1) * w.ffn;
    return w;
}

double rh_visible_pairs(const RhLayerKind *kind, int64_t sequence)
{
    double s = (double)sequence;
    double w = kind->window_tokens > 0 ? MIN((double)kind->window_tokens, s) : s;
    return s * w - 0.5 * w * w;
}

/* --- Kernels --- */

void rh_ops_gemm(RhOps *ops, int64_t batch, int64_t m, int64_t n, int64_t k)
{
    double dm = (double)m, dn = (double)n, dk = (double)k, count = (double)batch;
    RhKernel kernel = {.cls = RH_KERNEL_GEMM,
                       .dtype = (uint8_t)ops->shard->dtype,
                       .batch = batch,
                       .m = m,
                       .n = n,
                       .k = k,
                       .flops = 2 * count * dm * dn * dk,
                       .bytes = ops->element_bytes * count * (dm * dk + dk * dn + dm * dn)};
    g_array_append_val(ops->out, kernel);
}

void rh_ops_stream(RhOps *ops, RhKernelClass cls, double bytes, int steps)
{
    RhKernel kernel = {
        .cls = (uint8_t)cls, .dtype = (uint8_t)ops->shard->dtype, .bytes = bytes / steps};
    for (int i = 0; i < steps; i++)
        g_array_append_val(ops->out, kernel);
}

void rh_ops_elementwise(RhOps *ops, RhKernelClass cls, const RhStream *stream, double elements,
                        bool backward)
{
    bool fused = ops->shard->fused_norms;
    double per_element = fused ? (backward ? stream->fused_backward : stream->fused_forward)
                               : (backward ? stream->eager_backward : stream->eager_forward);
    rh_ops_stream(ops, cls, per_element * elements * ops->element_bytes / 2,
                  fused ? 1 : stream->eager_steps);
}

/* A fused framework (Megatron-LM: gradient_accumulation_fusion) lets the GEMM read and write the
 * fp32 main gradient, 8 B an entry; an eager one writes the gradient in 2 B and adds it with a
 * kernel of its own (read 2, read and write 4). */
void rh_ops_weight_gradient(RhOps *ops, int64_t rows, int64_t columns)
{
    double entries = (double)rows * (double)columns;
    rh_ops_gemm(ops, 1, rows, columns, ops->tokens);
    if (ops->shard->fused_norms) {
        RhKernel *gemm = &g_array_index(ops->out, RhKernel, ops->out->len - 1);
        gemm->bytes += (8 - ops->element_bytes) * entries;
        return;
    }
    rh_ops_stream(ops, RH_KERNEL_REDUCE, (8 + ops->element_bytes) * entries, 1);
}

void rh_ops_bias_gradient(RhOps *ops, int64_t columns)
{
    double read = ops->element_bytes * (double)ops->tokens * (double)columns;
    rh_ops_stream(ops, RH_KERNEL_REDUCE, read + 8.0 * (double)columns, 1);
}

void rh_ops_norm(RhOps *ops, double elements, bool backward)
{
    const RhStream *stream = ops->model->norm == RH_NORM_LAYER ? &LAYER_NORM : &RMS_NORM;
    if (ops->model->norm != RH_NORM_NONE)
        rh_ops_elementwise(ops, RH_KERNEL_NORM, stream, elements, backward);
}

void rh_ops_layer_sequence(RhOps *ops, bool backward)
{
    double elements = ops->sequence_rows * (double)ops->model->hidden;
    rh_ops_norm(ops, elements, backward);
    rh_ops_elementwise(ops, RH_KERNEL_ADD,
                       ops->model->hidden_dropout ? &RESIDUAL_DROPOUT : &RESIDUAL, elements,
                       backward);
}

static void layer_kernels(RhOps *ops, RhBlock block, RhPart part, RhPass pass)
{
    bool forward = pass == RH_PASS_FORWARD || pass == RH_PASS_RECOMPUTE_FULL;
    if (part == RH_PART_TENSOR && block == RH_BLOCK_MIXER && ops->kind->mixer == RH_MIXER_ATTENTION)
        rh_mixer_kernels(ops, pass);
    else if (part == RH_PART_TENSOR && block == RH_BLOCK_FFN && ops->kind->ffn != RH_FFN_NONE)
        rh_ffn_kernels(ops, pass);
    else if (part == RH_PART_SEQUENCE && (forward || pass == RH_PASS_BACKWARD_DATA))
        rh_ops_layer_sequence(ops, !forward);
}

void rh_block_kernels(const RhModel *model, const RhLayerKind *kind, RhBlock block, RhPart part,
                      RhPass pass, const RhShard *shard, GArray *out)
{
    g_return_if_fail(model != NULL && shard != NULL && out != NULL);
    g_return_if_fail(kind != NULL || block == RH_BLOCK_EMBEDDING || block == RH_BLOCK_HEAD);
    int64_t tokens = shard->microbatch * shard->sequence;
    RhOps ops = {.model = model,
                 .kind = kind,
                 .shard = shard,
                 .widths = rh_widths(model, kind, shard->tp),
                 .tokens = tokens,
                 .sequence_rows = (double)tokens / (shard->sequence_parallel ? shard->tp : 1),
                 .element_bytes = rh_dtype_bytes(shard->dtype),
                 .out = out};
    if (block == RH_BLOCK_EMBEDDING)
        rh_embedding_kernels(&ops, part, pass);
    else if (block == RH_BLOCK_HEAD)
        rh_head_kernels(&ops, part, pass);
    else
        layer_kernels(&ops, block, part, pass);
}

/* --- Parameters --- */

static double norm_params(const RhModel *model)
{
    double h = (double)model->hidden;
    return model->norm == RH_NORM_NONE ? 0 : model->norm == RH_NORM_LAYER ? 2 * h : h;
}

static RhParams mixer_params(const RhModel *model, const RhLayerKind *kind, const RhWidths *w)
{
    if (kind->mixer != RH_MIXER_ATTENTION)
        return (RhParams){0};
    double h = (double)model->hidden;
    return (RhParams){.sharded =
                          h * (double)(w->qkv + w->q) + (kind->qkv_bias ? (double)w->qkv : 0),
                      .replicated = norm_params(model) + (kind->out_bias ? h : 0) +
                                    (kind->qk_norm ? 2.0 * kind->head_size : 0)};
}

static RhParams ffn_params(const RhModel *model, const RhLayerKind *kind, const RhWidths *w)
{
    if (kind->ffn == RH_FFN_NONE)
        return (RhParams){0};
    double h = (double)model->hidden;
    return (RhParams){.sharded =
                          h * (double)(w->up + w->ffn) + (kind->ffn_bias ? (double)w->up : 0),
                      .replicated = norm_params(model) + (kind->ffn_bias ? h : 0)};
}

RhParams rh_block_params(const RhModel *model, const RhLayerKind *kind, RhBlock block, int32_t tp)
{
    g_return_val_if_fail(model != NULL, (RhParams){0});
    RhWidths w = rh_widths(model, kind, tp);
    double h = (double)model->hidden, matrix = h * (double)w.vocab;
    double learned = model->position == RH_POSITION_LEARNED ? h * (double)model->positions : 0;
    switch (block) {
    case RH_BLOCK_EMBEDDING:
        return (RhParams){.sharded = matrix, .replicated = learned};
    case RH_BLOCK_HEAD:
        return (RhParams){.sharded = matrix, .replicated = norm_params(model)};
    case RH_BLOCK_MIXER:
        return mixer_params(model, kind, &w);
    case RH_BLOCK_FFN:
        return ffn_params(model, kind, &w);
    case RH_BLOCK_NONE:
    default:
        return (RhParams){0};
    }
}
