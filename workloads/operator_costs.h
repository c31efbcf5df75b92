#pragma once
/* A model's operators as kernels, parameters, FLOPs and activation bytes of one rank.
 *
 * The unit is a *block*: embedding, a layer's mixer (attention), a layer's ffn, the head. A block
 * is a pair of operators (workloads/operators/), as tensor parallelism sees it:
 *
 * - SEQUENCE: norm, residual add; on all tokens, or on 1/t of them with sequence parallelism
 * - TENSOR: the GEMMs and attention between the two tensor-parallel collectives, cut by t
 *
 * so a forward pass of a mixer or ffn is SEQUENCE, [all-gather], TENSOR, [reduce-scatter or
 * all-reduce]. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "platforms/devices/kernel.h"
#include "workloads/document_packing.h"
#include "workloads/expert_load.h"
#include "workloads/frozen_formats.h"
#include "workloads/lora.h"
#include "workloads/model.h"
#include "workloads/norm_softmax_bytes.h"
#include "workloads/precision_recipe.h"

typedef enum {
    RH_BLOCK_NONE,
    RH_BLOCK_EMBEDDING,
    RH_BLOCK_MIXER,
    RH_BLOCK_FFN,
    RH_BLOCK_HEAD
} RhBlock;
typedef enum { RH_PART_NONE, RH_PART_SEQUENCE, RH_PART_TENSOR } RhPart;
/* RECOMPUTE_* are the forward kernels replayed before backward: all of the block, or those of the
 * shard's modules. PREFILL reads prompts, or the next tokens of them, and keeps nothing for a backward
 * pass; DECODE is one
 * token of each sequence, whose keys and values lie in a cache. */
typedef enum {
    RH_PASS_NONE,
    RH_PASS_FORWARD,
    RH_PASS_BACKWARD_DATA,
    RH_PASS_BACKWARD_WEIGHT,
    RH_PASS_RECOMPUTE_FULL,
    RH_PASS_RECOMPUTE_SELECTIVE,
    RH_PASS_PREFILL,
    RH_PASS_DECODE,
    RH_PASS_LAST,
} RhPass;

/* Modules of a layer: what is not kept for backward, but run again before it, is a sum of them. A row is
 * a bit, its name, and whether it runs again from the block's whole input, which tensor ranks then
 * gather. Names are those of Megatron-Core (--recompute-modules; transformer_config.py,
 * recompute_modules); FULL is the layer, and stands alone. What a module is of an operator, the operator
 * says: which bytes it drops, which kernels bring them back. */
#define RH_RECOMPUTE_MODULES(ROW)                                                                  \
    ROW(CORE, 0, "core_attn", false)                                                               \
    ROW(FULL, 1, "full", true)                                                                     \
    ROW(NORM, 2, "layernorm", false)                                                               \
    ROW(UP, 3, "mla_up_proj", false)                                                               \
    ROW(EXPERT_ACTIVATION, 4, "moe_act", false)                                                    \
    ROW(FFN, 5, "mlp", true)                                                                       \
    ROW(MIXTURE, 6, "moe", true)                                                                   \
    ROW(SHARED, 7, "shared_experts", true)                                                         \
    ROW(SCAN_NORM, 8, "gdn_norm_out", false)

#define RH_RECOMPUTE_BIT(constant, bit, name, whole) RH_RECOMPUTE_##constant = 1 << (bit),
typedef enum {
    RH_RECOMPUTE_NONE,
    RH_RECOMPUTE_MODULES(RH_RECOMPUTE_BIT) RH_RECOMPUTE_SELECTIVE = RH_RECOMPUTE_CORE,
    RH_RECOMPUTE_LAST = RH_RECOMPUTE_FULL + 1, /* behind the values that have a word of their own */
} RhRecompute;
#undef RH_RECOMPUTE_BIT

/* Names of the bits from 0 on, NULL-ended. */
extern const char *const rh_recompute_modules[];

/* How ranks that have other tokens of a sequence come by one another's keys and values: block by block
 * around a ring, or gathered beforehand. */
typedef enum { RH_CONTEXT_RING, RH_CONTEXT_GATHER, RH_CONTEXT_LAST } RhContextKind;

/* How pictures are cut into tiles, one for each context rank: into as many columns as rows, into columns
 * (by vertical lines), into rows. NONE: a rank has tokens, not tiles. */
typedef enum {
    RH_SLICE_NONE,
    RH_SLICE_SQUARE,
    RH_SLICE_VERTICAL,
    RH_SLICE_HORIZONTAL,
    RH_SLICE_LAST
} RhSlice;
/* How far tiles exchange their edges: before each step what its windows reach into, or before a layer what
 * all of its steps reach into, whose places are then computed on both sides (MPI4DL's halo-D2). */
typedef enum { RH_HALO_STEP, RH_HALO_LAYER, RH_HALO_LAST } RhHalo;
/* Returns how many of so many tiles lie beside one another; 0: they are no square. */
int32_t rh_slice_across(RhSlice slice, int32_t tiles);

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wpadded" /* compared by its bytes */
/* How the block is cut and with what it runs. */
typedef struct {
    int32_t tp;
    int32_t cp; /* context-parallel degree: a rank has 1/cp of every sequence's tokens; 0 means 1 */
    /* For attention's core, every `ulysses` of them share out heads instead of tokens; 0 means 1.
     * How keys and values of the other tokens come: */
    int32_t ulysses;
    RhContextKind kv;
    /* Experts are spread over ep ranks, each of them cut by etp; 0: 1, and by t. Ranks that spread
     * them send tokens there and back; else every rank has all, and a part of each. */
    int32_t ep, etp;
    bool sequence_parallel;
    bool tensor_overlap;    /* collectives of tensor ranks go in steps, beside the linear layers' */
    bool pulls_rows;        /* ... as copies out of the others' memory */
    bool gathers_heads;     /* a ring's keys and values are gathered, repeated for all heads */
    int32_t gradient_bytes; /* of a main gradient, that those of micro-batches are added to; 0: 4 */
    int64_t sequence;   /* s of the whole sample; DECODE: tokens in each cache, the new one too */
    int64_t cached;     /* PREFILL: tokens of the same prompt that lie before these, in a cache */
    int64_t microbatch; /* b */
    /* What is run again before backward: of rh_block_activation_bytes and RECOMPUTE_SELECTIVE. */
    RhRecompute recompute;
    RhLora lora;   /* of a rank above 0: weights are frozen, adapters beside some are trained */
    RhDtype dtype; /* bf16 or fp16 */
    double cache_bytes;     /* of an element of keys and values in a cache; 0: as of `dtype` */
    const RhRecipe *recipe; /* of linear layers; NULL: all in `dtype` */
    const RhFrozenFormat *frozen; /* that frozen weights are made wide of; NULL: they are wide */
    /* That packed samples are made of, which do not see one another; NULL: a sample is one. */
    const RhDocuments *documents;
    const RhExpertLoad *load; /* of experts, where ranks have some of them; NULL: even */
    /* Which of an operator's forms the stack chooses: */
    bool flash;        /* fused attention kernel; false = GEMM + softmax + GEMM */
    bool stops_early;  /* what is run again ends with the last tensor that backward reads */
    bool fused_loss;   /* one kernel makes the loss of logits as they are, and keeps nothing else */
    bool eager_loss;   /* of each of its steps a kernel, and a tensor in fp32 */
    bool whole_logits; /* the loss is over the whole vocabulary on every tensor rank */
    bool keeps_outputs;  /* what a stage makes lives until its buffer is wanted again */
    bool keeps_gathered; /* linear layers keep what they read as tensor ranks gathered it */
    /* with the core its output is run again; and the projection behind it, too */
    bool drops_context, drops_projection;
    bool narrow_gates;     /* what an activation reads is kept as narrow as operands are */
    bool fused_casts;      /* activations cast what linear layers read of them */
    bool narrow_attention; /* the core reads fp8 where linear layers are narrow */
    bool fused_norms;      /* false: each step of a norm is a kernel of its own */
    bool experts_apart;    /* each expert's products and casts are kernels of their own */
    bool fused_softmax; /* of unfused attention: mask, scale, softmax and dropout as one kernel */
    /* the same of rotation and activations; and whether gradients of weights are added by the GEMM
     * that makes them */
    bool fused_elementwise;
    /* where routing keeps tokens within groups of experts, count the rank that most fall to */
    bool by_chance;
    bool sends_once;    /* a token goes once to a rank that has several of its experts */
    bool shared_beside; /* the shared expert runs while tokens are on their way */
    /* ... is one more of the experts' grouped products, where it is as wide as they are and all are cut */
    bool shared_inside;
    /* every rank sends every expert equally many rows, where they are spread: its share of the tokens
     * rounded up, 4 at least, filled up with nothing (DeepSpeed) */
    bool fills_experts;
    /* these rows are put into their order, and back, by products with ones and zeros */
    bool sorts_by_products;
    uint8_t slice;          /* RhSlice of pictures, of which a rank has one of cp tiles */
    uint8_t halo;           /* RhHalo of these */
    const RhPasses *passes; /* NULL: rh_passes_assumed */
    double once_nvlink_frac,
        once_nic_frac; /* by kernels with these shares of the links (RhRouting) */
} RhShard;
#pragma GCC diagnostic pop

/* Where ranks exchange tensors inside a part. RING: the kernels from here on are a step of a ring,
 * during which what they work on travels on to the next rank. GATHER, SUM: they work on what all ranks
 * of a context group have, or on their own part of the sum of what all made. SHIFT: they wait for what
 * the rank before has sent while it waited. HEADS: ranks that have some
 * tokens of all heads get all tokens of some heads, or the other way round. ROWS_IN: they work on those
 * rows of the block's input that this step of a ring of tensor ranks brings; ROWS_OUT: they make rows
 * that are summed over tensor ranks, or copied to one of them, while the next are made; ROWS_ADD: they add
 * up what was copied. HALO: they wait for the edges of neighbouring tiles; TILES_SUM: for the sum of what
 * the ranks of all tiles of a picture made. DISPATCH, COMBINE: they work on what the kernels before them have sent to the ranks of its experts, or back; or, `beside`, on
 * something else, and those from the next ARRIVE on work on it. */
typedef enum {
    RH_EXCHANGE_NONE,
    RH_EXCHANGE_RING,
    RH_EXCHANGE_GATHER,
    RH_EXCHANGE_SUM,
    RH_EXCHANGE_SHIFT,
    RH_EXCHANGE_HEADS,
    RH_EXCHANGE_ROWS_IN,
    RH_EXCHANGE_ROWS_OUT,
    RH_EXCHANGE_ROWS_ADD,
    RH_EXCHANGE_HALO,
    RH_EXCHANGE_TILES_SUM,
    RH_EXCHANGE_DISPATCH,
    RH_EXCHANGE_COMBINE,
    RH_EXCHANGE_ARRIVE
} RhExchangeKind;
typedef struct {
    RhExchangeKind kind; /* NONE: a ring has ended */
    int32_t kernel;      /* it stands before this one of the list */
    int32_t step;      /* RING, ROWS_IN, ROWS_OUT: which one; HALO: to the tile on the right, on the
                            left, below, above */
    bool beside;       /* DISPATCH, COMBINE: kernels up to ARRIVE do not wait */
    double bytes;      /* GATHER, SUM, ROWS_OUT: of what all ranks have together, or each made of
                            it; ROWS_IN: 0, all ranks' steps are rh_block_gathered_bytes; else
                            what one rank sends: RING, SHIFT, to the next; others, to all ranks together,
                            its own part included */
    double busiest;    /* DISPATCH, COMBINE: in `bytes`, the busiest rank's part over the mean */
    RhRouting routing; /* what of it goes to which ranks, where none is sent a token twice */
} RhExchange;

/* Appends to `out` (GArray of RhKernel) the kernels of one part of one block in one pass, on one
 * rank. `kind` is NULL for EMBEDDING and HEAD (HEAD: final norm in SEQUENCE; logits GEMM +
 * cross-entropy in TENSOR). */
void rh_block_kernels(const RhModel *model, const RhLayerKind *kind, RhBlock block, RhPart part,
                      RhPass pass, const RhShard *shard, GArray *out);
/* Kernels and exchanges that a block runs in a pass, in order. Borrowed arrays. */
typedef struct {
    GArray *kernels;   /* RhKernel */
    GArray *exchanges; /* RhExchange: where ranks exchange; NULL: not asked for */
} RhBlockList;
/* Appends to `list` as rh_block_kernels does, and where ranks exchange. */
void rh_block_pass(const RhModel *model, const RhLayerKind *kind, RhBlock block, RhPart part,
                   RhPass pass, const RhShard *shard, RhBlockList list);

/* Parameters of the block held by one rank: `sharded` are cut by t, `replicated` (norms, some biases)
 * are not; `experts` are of those experts that lie on this rank and not on all, 0 where all ranks
 * have all. Of the shard only the degrees count. HEAD counts final norm and output matrix (also when
 * tied: the caller decides about tying). */
typedef struct {
    double sharded, replicated, experts;
} RhParams;
RhParams rh_block_params(const RhModel *model, const RhLayerKind *kind, RhBlock block,
                         const RhShard *shard);

/* Parameters of the block's adapters on this rank, which alone are trained. 0 without. */
RhParams rh_block_adapter_params(const RhModel *model, const RhLayerKind *kind, RhBlock block,
                                 const RhShard *shard);
/* Are linear layers of such a layer known, so that adapters can be beside them? */
bool rh_kind_takes_adapters(const RhLayerKind *kind);

/* FLOPs that a forward pass of one micro-batch needs on one rank, apart from how kernels go about
 * it: a multiply-add is 2, causal attention counts what its mask leaves. Backward needs `weights`
 * twice (data, weights) but `first` once, and `pairs` twice (data). Norms and activations are not counted. */
typedef struct {
    double weights; /* of products with parameters */
    double first;   /* of these, such as read what has no gradient: a picture */
    double pairs;   /* of products between tokens: attention */
} RhFlops;
RhFlops rh_block_flops(const RhModel *model, const RhLayerKind *kind, RhBlock block,
                       const RhShard *shard);

/* Modules that a layer of this kind has; NORM counts wherever there is a norm. */
RhRecompute rh_kind_modules(const RhModel *model, const RhLayerKind *kind);
/* Those of any of its layers, a bit each. */
uint32_t rh_model_modules(const RhModel *model);
/* Does one of these modules lie inside another of them, so that naming it changes nothing? */
bool rh_recompute_repeats(uint32_t modules);
/* Does what the shard runs again of a block begin with the block's whole input? */
bool rh_block_replays_whole(const RhModel *model, const RhLayerKind *kind, RhBlock block,
                            const RhShard *shard);

/* Bytes one rank keeps from forward to backward for one micro-batch of the block (what recomputation
 * leaves), and the largest transient bytes while the block runs forward / backward. Formulas:
 * Korthikanti et al. 2022 (arXiv 2205.05198), adapted to gated ffn, GQA and fused attention;
 * docs/theory/README.md. */
typedef struct {
    double kept;     /* between forward and backward */
    double forward;  /* extra while forward runs */
    double backward; /* extra while backward runs, including what recomputation brings back */
} RhActivation;
RhActivation rh_block_activation_bytes(const RhModel *model, const RhLayerKind *kind, RhBlock block,
                                       const RhShard *shard);

/* rh_model_flops_per_token (model.h) where adapters alone are trained: frozen weights need no gradient of
 * their own, and adapters' own products, a few in a thousand, are not counted; of a rank of 0, the same. */
double rh_model_tuned_flops_per_token(const RhModel *model, int64_t s, const RhLora *lora);
/* The same of a token of a document, of samples that are made of documents; padding needs none. */
double rh_model_documents_flops_per_token(const RhModel *model, int64_t s, const RhLora *lora,
                                          const RhDocuments *documents);
/* Do layers of this kind look at the tokens of a sample's documents alone? */
bool rh_kind_takes_documents(const RhLayerKind *kind);

/* Bytes that serving keeps of a sequence for the block, on one rank: for each of its tokens, and however
 * long it is. A layer with a window keeps the window. */
typedef struct {
    double token, sequence;
} RhCacheBytes;
RhCacheBytes rh_block_cache_bytes(const RhModel *model, const RhLayerKind *kind, RhBlock block,
                                  const RhShard *shard);

/* Bytes of what one tensor-parallel collective moves (the full b*s*h tensor in `dtype`; a
 * sequence-parallel rank holds 1/t of it). */
double rh_boundary_bytes(const RhModel *model, const RhShard *shard);
/* The same of a block, whose tokens may be the encoder's, or of both. */
double rh_block_boundary_bytes(const RhModel *model, const RhLayerKind *kind, RhBlock block,
                               const RhShard *shard);
/* Of what a block looks at besides: the encoder's output, as above. Its gradient is summed with that of
 * the block's input, and, of an encoder, it is part of what is gathered (rh_block_gathered_bytes). */
double rh_block_other_bytes(const RhModel *model, const RhLayerKind *kind, RhBlock block,
                            const RhShard *shard);
/* Bytes of what crosses a stage boundary behind a layer of this kind, or, NULL, before the first layer:
 * whole, as above. */
double rh_output_bytes(const RhModel *model, const RhLayerKind *kind, const RhShard *shard);
/* Of the logits of one micro-batch that a rank has the loss of, as the head leaves them. */
double rh_logit_bytes(const RhModel *model, const RhShard *shard);
/* ... and forward alone, before a layer of this kind: which keys a layer before it chose, as numbers of so many bytes, where it
 * looks at those and there are more to choose from; whole, as above. */
#define RH_CHOSEN_KEY_BYTES 4
double rh_choice_bytes(const RhModel *model, const RhLayerKind *kind, const RhShard *shard);

/* Does the block's TENSOR part work on the whole b*s*h tensor, so that ranks of a tensor group gather
 * its input and sum its output? Experts that are sent their tokens do not. */
bool rh_block_takes_whole(const RhModel *model, const RhLayerKind *kind, RhBlock block,
                          const RhShard *shard);
/* Bytes of that tensor as it is gathered, in the recipe's format where linear layers alone read it. */
double rh_block_gathered_bytes(const RhModel *model, const RhLayerKind *kind, RhBlock block,
                               const RhShard *shard);
/* Tokens of one micro-batch on one rank: b s / c. */
int64_t rh_shard_tokens(const RhShard *shard);

const char *rh_block_name(RhBlock block);
/* Can it be cut along the sequence, keys and values going to other ranks? NULL: nothing to cut. */
bool rh_operator_rings(const RhOperator *op);
/* Are norms and residual sums its own, so that tensor ranks do not cut it? */
bool rh_operator_stands_alone(const RhOperator *op);
const char *rh_operator_name(const RhOperator *op); /* "attention"; "none" for NULL */
