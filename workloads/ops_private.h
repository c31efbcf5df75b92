#pragma once
/* What the files of the operators share. Private to workloads/. */
#include "workloads/ops.h"

/* Widths of one of t tensor-parallel ranks. What t does not divide is rounded up. */
typedef struct {
    int64_t heads, kv_heads; /* at least one kv head: fewer than t are replicated */
    int64_t q, kv, qkv;      /* columns: heads x head size, one of k and v, all three */
    int64_t ffn, up;         /* rows of the down matrix; columns of up, or of gate and up */
    int64_t vocab;           /* padded to a multiple of 128 t, as Megatron-LM does */
} RhWidths;
RhWidths rh_widths(const RhModel *model, const RhLayerKind *kind, int32_t tp);

/* One call of rh_block_kernels, with what every operator asks for. */
typedef struct {
    const RhModel *model;
    const RhLayerKind *kind;
    const RhShard *shard;
    RhWidths widths;
    int64_t tokens;       /* b s */
    double sequence_rows; /* tokens of the SEQUENCE part: b s, or b s / t */
    double element_bytes;
    GArray *out;
} RhOps;

/* An elementwise operator: bytes of memory traffic per element of a 2-byte type. `steps` eager
 * kernels share the eager bytes. */
typedef struct {
    double fused_forward, fused_backward;
    double eager_forward, eager_backward;
    int eager_steps;
} RhStream;

/* out (m x n) = a (m x k) b (k x n). */
void rh_ops_gemm(RhOps *ops, int64_t batch, int64_t m, int64_t n, int64_t k);
/* Gradient of a weight (rows x columns) over all tokens, added into the fp32 main gradient. */
void rh_ops_weight_gradient(RhOps *ops, int64_t rows, int64_t columns);
/* Gradient of a bias of `columns` entries. */
void rh_ops_bias_gradient(RhOps *ops, int64_t columns);
/* `bytes` of traffic as `steps` equal kernels. */
void rh_ops_stream(RhOps *ops, RhKernelClass cls, double bytes, int steps);
void rh_ops_elementwise(RhOps *ops, RhKernelClass cls, const RhStream *stream, double elements,
                        bool backward);
void rh_ops_norm(RhOps *ops, double elements, bool backward);
/* Norm, residual add (with bias and dropout) around a mixer or ffn. */
void rh_ops_layer_sequence(RhOps *ops, bool backward);

void rh_mixer_kernels(RhOps *ops, RhPass pass);
void rh_ffn_kernels(RhOps *ops, RhPass pass);
void rh_embedding_kernels(RhOps *ops, RhPart part, RhPass pass);
void rh_head_kernels(RhOps *ops, RhPart part, RhPass pass);

/* (query, key) pairs of one sequence and head that a causal mask, and a window, leaves. */
double rh_visible_pairs(const RhLayerKind *kind, int64_t sequence);
