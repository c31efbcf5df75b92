/* Activation bytes of a block: Korthikanti et al. 2022 (arXiv 2205.05198), equations 1 to 6, per
 * block instead of per layer, and what gated ffn, GQA, fused attention and eager norms change.
 * Every term is in docs/model-workload.md. Norm statistics (4 B a token) are left out. */
#include "workloads/ops_private.h"

#define STATISTICS_BYTES 4.0 /* fused attention keeps its log-sum-exp in fp32 */
#define FP32_BYTES       4.0
/* An eager RMSNorm keeps two fp32 copies of its input: the cast one and the normalised one. */
#define EAGER_NORM_BYTES 8.0

/* Everything the terms are made of. `e` is the element size. */
typedef struct {
    double e, tokens, hidden; /* b s, h */
    double wide;              /* b s h elements, all of them */
    double sequence;          /* b s h elements of the SEQUENCE part */
    double q, kv, ffn, up;    /* elements of one rank */
    double scores;            /* b a/t s^2 */
    double logits;            /* b s V/t */
    RhWidths widths;
    const RhModel *model;
    const RhLayerKind *kind;
    const RhShard *shard;
} Sizes;

static Sizes sizes_of(const RhModel *model, const RhLayerKind *kind, const RhShard *shard)
{
    RhWidths w = rh_widths(model, kind, shard->tp);
    double s = (double)shard->sequence, tokens = (double)shard->microbatch * s;
    double wide = tokens * (double)model->hidden;
    return (Sizes){.e = rh_dtype_bytes(shard->dtype),
                   .tokens = tokens,
                   .hidden = (double)model->hidden,
                   .wide = wide,
                   .sequence = shard->sequence_parallel ? wide / shard->tp : wide,
                   .q = tokens * (double)w.q,
                   .kv = tokens * (double)w.kv,
                   .ffn = tokens * (double)w.ffn,
                   .up = tokens * (double)w.up,
                   .scores = tokens * s * (double)w.heads,
                   .logits = tokens * (double)w.vocab,
                   .widths = w,
                   .model = model,
                   .kind = kind,
                   .shard = shard};
}

/* Input and output of a norm: the second is the input of the block's first GEMM. */
static double norm_kept(const Sizes *z)
{
    bool eager = z->model->norm == RH_NORM_RMS && !z->shard->fused_norms;
    double norms = z->model->norm == RH_NORM_NONE ? 1 : 2;
    return z->sequence * (norms * z->e + (eager ? EAGER_NORM_BYTES : 0));
}

static double dropout_kept(const Sizes *z)
{
    return z->model->hidden_dropout ? z->sequence : 0;
}

/* What the core of attention alone keeps, and selective recomputation drops. Unfused: softmax
 * output, dropout mask and dropout output, (2 e + 1) a score (5, equation 2); without dropout the
 * masked scores and the softmax output. */
static double core_kept(const Sizes *z)
{
    if (z->shard->flash)
        return STATISTICS_BYTES * z->tokens * (double)z->widths.heads;
    return z->scores * (2 * z->e + (z->model->attention_dropout ? 1 : 0));
}

static double mixer_kept(const Sizes *z)
{
    double inputs = z->kind->qk_norm ? z->q + z->kv : 0; /* queries and keys before their norm */
    double qkv = z->q + 2 * z->kv, out = z->q;
    return norm_kept(z) + dropout_kept(z) + z->e * (inputs + qkv + out) + core_kept(z);
}

/* Input of the activation and of the second GEMM; an eager gate keeps SiLU's output as well. */
static double ffn_kept(const Sizes *z)
{
    bool eager_gate = z->kind->ffn == RH_FFN_GATED && !z->shard->fused_norms;
    return norm_kept(z) + dropout_kept(z) + z->e * (z->up + z->ffn + (eager_gate ? z->ffn : 0));
}

/* The block's input as a whole tensor: what sequence parallelism gathers for a GEMM. */
static double gathered(const Sizes *z)
{
    return z->shard->sequence_parallel ? z->e * z->wide : 0;
}

/* The largest of the moments: a GEMM's result beside what it reads and nothing keeps. */
static double mixer_backward(const Sizes *z)
{
    double d_qkv = z->q + 2 * z->kv, scores = z->shard->flash ? 0 : 2 * z->scores;
    double into_core = z->e * (z->wide + z->q);
    double core = z->e * (z->q + d_qkv + scores);
    double out_of_core = z->e * (d_qkv + z->wide) + gathered(z);
    return MAX(into_core, MAX(core, out_of_core));
}

static double ffn_backward(const Sizes *z)
{
    double into_activation = z->e * (z->wide + z->ffn);
    double activation = z->e * (z->ffn + z->up);
    double out_of_activation = z->e * (z->up + z->wide) + gathered(z);
    return MAX(into_activation, MAX(activation, out_of_activation));
}

static RhActivation layer_bytes(const Sizes *z, RhBlock block, RhRecompute recompute)
{
    bool mixer = block == RH_BLOCK_MIXER;
    double all = mixer ? mixer_kept(z) : ffn_kept(z);
    double working = mixer ? mixer_backward(z) : ffn_backward(z);
    double output = z->e * z->wide;
    if (recompute == RH_RECOMPUTE_FULL) {
        double input = mixer ? z->e * z->sequence : 0; /* a layer keeps its input, once */
        return (RhActivation){input, all - input + output + gathered(z), all - input + working};
    }
    double replayed = recompute == RH_RECOMPUTE_SELECTIVE && mixer ? core_kept(z) : 0;
    return (RhActivation){all - replayed, replayed + output + gathered(z), replayed + working};
}

/* Kept: the softmax in fp32, from which backward starts (4 s b V / t, section 4.3). While the head
 * runs, the logits in `e` bytes and their fp32 copy live too: 10 B a logit at the peak. */
static RhActivation head_bytes(const Sizes *z)
{
    double kept = norm_kept(z) + FP32_BYTES * z->logits;
    return (RhActivation){kept, (z->e + FP32_BYTES) * z->logits + gathered(z),
                          z->e * (z->logits + z->wide) + gathered(z)};
}

/* Kept: dropout's mask. Backward: the dense gradient of the table. */
static RhActivation embedding_bytes(const Sizes *z)
{
    return (RhActivation){dropout_kept(z), z->e * z->wide,
                          z->e * (z->wide + z->hidden * (double)z->widths.vocab)};
}

RhActivation rh_block_activation_bytes(const RhModel *model, const RhLayerKind *kind, RhBlock block,
                                       RhRecompute recompute, const RhShard *shard)
{
    g_return_val_if_fail(model != NULL && shard != NULL, (RhActivation){0});
    g_return_val_if_fail(kind != NULL || block == RH_BLOCK_EMBEDDING || block == RH_BLOCK_HEAD,
                         (RhActivation){0});
    Sizes z = sizes_of(model, kind, shard);
    if (block == RH_BLOCK_EMBEDDING)
        return embedding_bytes(&z);
    if (block == RH_BLOCK_HEAD)
        return head_bytes(&z);
    bool empty = block == RH_BLOCK_NONE ||
                 (block == RH_BLOCK_MIXER && kind->mixer == RH_MIXER_NONE) ||
                 (block == RH_BLOCK_FFN && kind->ffn == RH_FFN_NONE);
    return empty ? (RhActivation){0} : layer_bytes(&z, block, recompute);
}

double rh_boundary_bytes(const RhModel *model, const RhShard *shard)
{
    g_return_val_if_fail(model != NULL && shard != NULL, 0);
    return (double)(shard->microbatch * shard->sequence) * (double)model->hidden *
           rh_dtype_bytes(shard->dtype);
}
