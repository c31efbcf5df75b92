#pragma once
/* An operator: everything that is known of one, in one file and one row.
 *
 * A row answers for one rank's share: which parameters it holds, which FLOPs the operator needs,
 * which kernels perform a pass, which bytes it keeps and works with. Nothing outside its file knows
 * more of an operator. Blocks (operator_costs.h) are pairs of rows, layers are pairs of blocks; a new operator
 * is one file, its row in `rh_operators`, and a family that names it (workloads/families). Whether steps
 * run fused or one by one is the operator's own; the stack chooses through RhShard.
 * For workloads/, and for launches and rules of frameworks, which ask which operator a layer has. */
#include "workloads/config/family_keys.h"
#include "workloads/operator_costs.h"

/* What a row is asked about: one rank's share of a block, for one micro-batch. */
typedef struct {
    const RhModel *model;
    const RhLayerKind *kind; /* NULL outside layers */
    const RhShard *shard;
    int64_t sequences;      /* b */
    bool decoding;          /* the queries are the last tokens of what caches hold */
    int64_t queries;        /* tokens of each sequence that this rank computes */
    int64_t keys;           /* tokens of each sequence that attention may look at */
    int64_t tokens;         /* sequences x queries */
    int64_t others;         /* tokens of each sequence that the encoder has; 0: there is none */
    double sequence_rows;   /* tokens of the SEQUENCE part: all, or 1/t of them */
    double element_bytes;   /* of an activation or weight */
    bool in_steps;          /* tensor collectives go in steps beside its linear layers */
    int64_t vocab_multiple; /* to which the vocabulary is padded; 1 for the model itself */
    GArray *out;            /* RhKernel; only for kernels() */
    GArray *exchanges;      /* RhExchange; likewise; NULL: nobody asks */
} RhOps;

/* Bytes of an operator on one rank and micro-batch. */
typedef struct {
    double kept;     /* from forward to backward */
    double dropped;  /* of these, what the shard's modules drop and compute again */
    double forward;  /* extra while forward runs */
    double backward; /* extra while backward runs */
} RhOperatorBytes;

/* A linear layer: one rank's rows and columns of its matrix, which is cut by columns or by rows, and
 * what is kept of its input for its own gradient alone. */
typedef struct {
    RhLinearName name; /* NONE: it never has an adapter */
    int64_t in, out;
    bool by_columns;
    bool whole; /* on every tensor rank */
    double kept;
    RhRecompute again; /* modules whose replay runs it */
    int64_t others;    /* it reads so many tokens of the encoder; 0: the rank's own */
    /* Of experts: how many of them this rank has, and in how many parts; those that have tokens, how many
     * tokens each of these has, and all together. No experts: the rank's tokens. */
    int64_t experts, parts, busy, rows, tokens;
    bool spread; /* ... and other ranks have others */
} RhLinear;
#define RH_LINEARS_MAX 8

struct RhOperator {
    const char *name; /* as reports show it */
    /* From the configuration to the layer's own figures; a mixer fills in first what follows from
     * other figures, by resolve(). Both NULL when there is nothing to do. */
    void (*resolve)(RhConfig *config);
    void (*shape)(const RhConfig *config, RhLayerKind *kind);
    RhParams (*params)(const RhOps *ops); /* NULL: none */
    RhFlops (*flops)(const RhOps *ops);   /* NULL: none that count */
    void (*kernels)(RhOps *ops, RhPass pass);
    RhOperatorBytes (*bytes)(const RhOps *ops);
    RhCacheBytes (*cache)(const RhOps *ops); /* NULL: serving keeps nothing of it */
    /* All its linear layers; NULL: not known, or there is none. Returns how many. */
    int (*linears)(const RhOps *ops, RhLinear linears[RH_LINEARS_MAX]);
    bool (*takes_whole)(const RhOps *ops); /* rh_block_takes_whole; NULL: it does */
    /* Its input, and the gradient of its output, go into linear layers alone: tensor ranks gather
     * them in the recipe's format (Transformer Engine does). */
    bool gathers_operands;
    RhRecompute modules; /* of a layer that are its own, or parts of it */
    bool in_steps; /* its linear layers may be (rh_ops_linear_gathered, rh_ops_linear_summed) */
    bool alone;    /* norms and residual sums are its own, and tensor ranks do not cut it */
    /* a mixer of heads of queries over kv_heads of keys, which tensor ranks share out */
    bool key_heads;
    bool
        rings; /* a mixer whose core marks what context ranks exchange (attention_core_context.c) */
};

extern const RhOperator rh_attention, rh_attention_alibi, rh_attention_bidirectional; /* mixers */
extern const RhOperator rh_attention_gated, rh_latent_attention, rh_sparse_attention;
extern const RhOperator rh_compressed_attention, rh_attention_by_blocks;
extern const RhOperator rh_mamba, rh_mlstm, rh_delta_net, rh_lightning, rh_short_convolution,
    rh_selective_scan, rh_attention_beside_mamba, rh_kimi_delta, rh_attention_factored;
extern const RhOperator rh_lstm;
extern const RhOperator rh_steps, rh_pictures; /* on pictures; the first of them */
extern const RhOperator rh_place_loss;      /* their last one, of a model that judges every place */
extern const RhOperator rh_cross_attention; /* of a decoder, to what its encoder puts out */
extern const RhOperator rh_encoder_end;     /* the ffn of the encoder's last layer */
extern const RhOperator rh_parallel;        /* a mixer and an ffn in one */
extern const RhOperator rh_ffn, rh_mixture; /* what follows a mixer */
extern const RhOperator rh_shared_attention, rh_shared_ffn; /* a block of several places */
extern const RhOperator rh_predict_join, rh_predict_head;   /* of a layer that predicts a token */
extern const RhOperator rh_norm;                            /* SEQUENCE part */
extern const RhOperator rh_positions, rh_embedding, rh_head, rh_score_head; /* the two ends */
extern const RhOperator rh_embedding_of_layers,
    rh_layer_end;                                    /* ... and of layers (per_layer_embedding.c) */
extern const RhOperator rh_look_up_alike, rh_sounds; /* ... of an encoder */
extern const RhOperator rh_patches, rh_classes;      /* ... of pictures */
extern const RhOperator *const rh_operators[];       /* all, NULL-ended */

/* --- Shares of a rank (rank_share.c) --- */

/* A rank's share, rounded up, of what is cut over t. */
int64_t rh_ops_cut(const RhOps *ops, int64_t whole);
/* Rows of the vocabulary on one rank: padded to a multiple of 128 t, as Megatron-LM does. */
int64_t rh_ops_vocab(const RhOps *ops);
/* The keys that a query may look at: all, or a window of them. */
int64_t rh_ops_reach(const RhOps *ops);
/* (query, key) pairs of one sequence and head that a causal mask, and a window, leave this rank. */
double rh_ops_visible_pairs(const RhOps *ops);
/* Does the shard run this module again, instead of keeping what it makes? */
bool rh_ops_replays(const RhOps *ops, RhRecompute module);
/* A block that is run again from its input keeps that wide, whatever its linear layers would: bytes
 * beyond what the norm keeps of it. */
double rh_ops_wide_input_bytes(const RhOps *ops);
/* Of so many elements a token in the cache's format: for every token, or for those of a window. */
RhCacheBytes rh_ops_cached(const RhOps *ops, double elements);
/* Is this a forward pass? In training alone it has dropout, and keeps for backward. */
bool rh_pass_is_forward(RhPass pass);
bool rh_pass_trains(RhPass pass);
/* b s h elements of this rank, and those of them in the SEQUENCE part. */
double rh_ops_hidden_elements(const RhOps *ops);
/* Columns of the table of tokens. */
int64_t rh_ops_embedding_width(const RhOps *ops);
double rh_ops_sequence_elements(const RhOps *ops);
/* The block's input as a whole tensor: the bytes that sequence parallelism gathers for a GEMM, and does
 * not keep. */
double rh_ops_gathered_bytes(const RhOps *ops);
/* Bytes of traffic that adding to an entry of the main gradient makes: read and written. */
double rh_ops_added_gradient_bytes(const RhOps *ops);
/* Bytes an entry of a look-up table's dense gradient: zeroed, then added to the main gradient (2 + 2,
 * and that). */
double rh_ops_table_gradient_bytes(const RhOps *ops);
/* Scale and, for layer norm, shift of a norm over the hidden size. */
double rh_ops_norm_params(const RhOps *ops);

/* --- Kernels (emit_kernels.c) --- */

/* Bytes an element of a kernel's pass over a tensor: in 2 bytes, in fp32 (either way), of a mask. What
 * counts of the tensors that are read and written are made of. */
#define RH_READ  2.0
#define RH_WRITE 2.0
#define RH_FP32  4.0
#define RH_MASK  1.0

/* An elementwise operator: bytes of memory traffic per element of a 2-byte type. `eager_steps`
 * kernels share the eager bytes. */
typedef struct {
    double fused_forward, fused_backward;
    double eager_forward, eager_backward;
    int eager_steps;
    double fused_summed, eager_summed; /* move RhPasses's excess more backward; beside the above */
} RhStream;

const RhPasses *rh_ops_passes(const RhOps *ops);

/* out (m x n) = a (m x k) b (k x n). */
void rh_ops_gemm(RhOps *ops, int64_t batch, int64_t m, int64_t n, int64_t k);
/* The same for a linear layer inside a layer, or its gradient of inputs: in the recipe's format, `a`
 * cast first. */
void rh_ops_linear(RhOps *ops, int64_t m, int64_t n, int64_t k);
/* Of all tokens: the one linear layer that reads what tensor ranks gather, and the one whose outputs
 * they sum; row by row where that goes in steps. */
void rh_ops_linear_gathered(RhOps *ops, int64_t n, int64_t k);
void rh_ops_linear_summed(RhOps *ops, int64_t n, int64_t k);
/* Gradient of a weight (rows x columns) over all tokens, added into the fp32 main gradient; of a
 * linear layer, from operands that are cast already. */
void rh_ops_weight_gradient(RhOps *ops, int64_t rows, int64_t columns);
void rh_ops_linear_gradient(RhOps *ops, int64_t rows, int64_t columns);
/* The gradient that the last kernel makes, of so many entries, is added to the main gradient. */
void rh_ops_add_gradient(RhOps *ops, double entries);
/* For products that an operator makes itself: the format of a linear layer's operands and bytes of
 * an element, what is kept of its input; and the cast of so many elements, if there is one. */
RhDtype rh_ops_linear_dtype(const RhOps *ops);
bool rh_ops_is_narrow(
    const RhOps *ops); /* are operands of linear layers narrower than activations? */
double rh_ops_operand_bytes(const RhOps *ops);
double rh_ops_kept_bytes(const RhOps *ops);
double rh_ops_kept_gate_bytes(const RhOps *ops); /* of an element that an activation reads */
/* Where that is narrow: the copy that is kept, written with the activation; and made wide again. */
void rh_ops_keep_gate(RhOps *ops, double elements);
void rh_ops_widen_gate(RhOps *ops, double elements);
/* ... which is so many bytes beside what the activation's backward has. */
double rh_ops_wide_gate_bytes(const RhOps *ops, double elements);
/* Where weights alone are narrow, the last kernel, a GEMM, reads so many of them so. */
void rh_ops_narrow_weights(RhOps *ops, double weights);
double rh_ops_kept_copy_bytes(const RhOps *ops); /* where it is kept wide for others as well */
void rh_ops_cast(RhOps *ops, double elements);
/* Gradient of a bias of `columns` entries. */
void rh_ops_bias_gradient(RhOps *ops, int64_t columns);
/* The kernels from the `first` on are the core's, or there for it alone (RhKernel.core). */
void rh_ops_mark_core(RhOps *ops, guint first);
/* `bytes` of traffic as `steps` equal kernels. */
void rh_ops_stream(RhOps *ops, RhKernelClass cls, double bytes, int steps);
void rh_ops_elementwise(RhOps *ops, RhKernelClass cls, const RhStream *stream, double elements,
                        bool backward);
/* The model's kind of norm over so many elements. */
void rh_ops_norm(RhOps *ops, double elements, bool backward);
/* Bytes an element that such a norm keeps beside its input and output. */
double rh_ops_norm_copies(const RhOps *ops);
/* The activation of a feed-forward network, over so many elements of its width. */
void rh_ffn_activation(RhOps *ops, double elements, bool backward);
/* Ranks exchange before the next kernel, which is filled in. */
void rh_ops_exchange(RhOps *ops, RhExchange exchange);
/* Rotation of so many elements of queries and keys. */
void rh_ops_rotary(RhOps *ops, double elements, bool backward);
/* Elements of an output, each scaled by the sigmoid of one beside it: read both, write one; backward reads both
 * and the gradient, and writes two. */
void rh_ops_gate(RhOps *ops, double elements, bool backward);

/* Adapters beside an operator's linear layers (adapter.c): parameters of this rank; kernels of a pass;
 * bytes that are kept more, or, below 0, less. All 0 where weights are trained. */
RhParams rh_adapters_params(const RhOps *ops, const RhOperator *op);
void rh_adapters_kernels(RhOps *ops, const RhOperator *op, RhPass pass);
double rh_adapters_kept_bytes(const RhOps *ops, const RhOperator *op);
/* Frozen weights of few bits (adapter.c): kernels that make an operator's matrices wide before its
 * products; bytes of the largest of them, wide. None where frozen weights are held wide. */
void rh_frozen_kernels(RhOps *ops, const RhOperator *op, RhPass pass);
double rh_frozen_wide_bytes(const RhOps *ops, const RhOperator *op);
/* Of a linear layer that reads what the block's norm makes: bytes kept of it for its own gradient; 0
 * where the norm runs again. */
double rh_ops_normed_input_bytes(const RhOps *ops);

/* Makes a layer the encoder's last, with a norm behind it or none (encoder_ends.c). */
void rh_encoder_end_wrap(RhLayerKind *kind, bool norm);
/* Makes a layer read its own columns of a second embedding, and have a path beside attention (per_layer_embedding.c). */
void rh_layer_end_wrap(RhLayerKind *kind, int32_t input, int32_t side);
/* Makes a layer one that predicts a further token (multi_token_prediction.c). */
void rh_predict_wrap(RhLayerKind *kind);
/* Copies of the hidden state between blocks (hyper_connections.c): parameters, kernels and kept bytes of a block's
 * SEQUENCE part; none for models that have one. */
double rh_hyper_params(const RhOps *ops);
void rh_hyper_kernels(RhOps *ops, bool backward);
double rh_hyper_kept_bytes(const RhOps *ops);

/* --- The core of attention (attention_core.c) --- */

/* One rank's heads, and the columns of one key and of one value. */
typedef struct {
    int64_t heads, kv_heads;
    int64_t key, value;
    bool values_in_keys; /* values are columns of the keys: read once */
} RhCore;

/* Bytes of the log-sum-exp, fp32, one per query and head: FlashAttention-2 (arXiv 2307.08691),
 * section 3.1. */
#define RH_CORE_STATISTICS_BYTES 4.0
/* FLOPs over the visible pairs. */
double rh_core_flops(const RhOps *ops, const RhCore *core, bool backward);
/* Fused or not, as the shard says, in training; serving is fused, and decoding reads the cache. */
void rh_core_kernels(RhOps *ops, const RhCore *core, RhPass pass);
/* What the core alone keeps, and selective recomputation drops. */
double rh_core_kept_bytes(const RhOps *ops, const RhCore *core);
/* Working bytes of backward of a block whose tensors are the core's and the hidden state. */
double rh_core_backward_bytes(const RhOps *ops, const RhCore *core);
/* One fused kernel, and what it looks at. */
typedef struct {
    bool causal;
    int64_t queries; /* of each sequence */
    int64_t keys;    /* that a query may see at most */
    int64_t rows;    /* of keys and values that are read, in each sequence */
    double pairs;    /* (query, key) pairs of one sequence and head that are visible */
} RhCoreBlock;
/* Whether training's fused core reads fp8. */
bool rh_core_is_narrow(const RhOps *ops, RhPass pass);
void rh_core_fused(RhOps *ops, const RhCore *core, RhPass pass, const RhCoreBlock *block);
/* The kernel that was added last sees documents apart, where samples are made of them: as many squares
 * as there are of the length of which the mean token's is. Its FLOPs and bytes are counted already. */
void rh_core_part_by_documents(RhOps *ops);
RhCoreBlock rh_core_whole(const RhOps *ops); /* all that the rank's queries may see */

/* --- ... over a sequence that several ranks have (attention_core_context.c) --- */

/* In training, where cp is above 1. */
void rh_core_context_kernels(RhOps *ops, const RhCore *core, RhPass pass);
/* Kept by the core besides, and dropped with it; and working bytes of a pass. 0 where cp is 1. */
double rh_core_context_kept_bytes(const RhOps *ops, const RhCore *core);
double rh_core_context_bytes(const RhOps *ops, const RhCore *core, bool backward);
