#pragma once
/* What is trained: a transformer as a list of layers.
 *
 * Legend used in this folder: L layers, h hidden, a heads, g kv heads, d head size, f ffn width, V
 * vocabulary, s sequence, b micro-batch, t tensor-parallel degree. Read from a published Hugging
 * Face config.json; which key means what for which `model_type` is a table (families.c). */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/json/json.h"
#include "workloads/config/rope_and_norm_settings.h"
#include "workloads/expert_routing_fanout.h"
#include "workloads/image_layer_graph.h"

/* A row of workloads/operators/; operator_costs.h asks it for kernels, parameters, bytes. */
typedef struct RhOperator RhOperator;
typedef enum { RH_NORM_NONE, RH_NORM_RMS, RH_NORM_LAYER } RhNorm;
typedef enum { RH_POSITION_NONE, RH_POSITION_ROTARY, RH_POSITION_LEARNED } RhPosition;

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wpadded" /* compared by its bytes */
/* A kind of layer: its two operators and their figures. A model has one or a few kinds and says which layer is of
 * which kind, in any order. Figures that an operator does not have are 0. */
typedef struct {
    const RhOperator *mixer, *ffn;             /* NULL: the layer has none */
    const RhOperator *inner_mixer, *inner_ffn; /* what a layer that predicts a token wraps */
    int32_t heads, kv_heads, head_size;
    /* Latent attention (MLA); head_size is a key's. Without latents a v_head_dim of 0 is a key's too */
    int32_t q_lora_rank, kv_lora_rank, qk_rope_head_dim, v_head_dim;
    int32_t window_tokens; /* tokens that a query sees: a sliding window, the keys that a sparse
                            * attention leaves it, a scan's chunk; 0: all */
    int32_t index_n_heads, index_head_dim; /* the indexer of a sparse attention */
    int32_t compress_ratio, index_topk, o_lora_rank, o_groups; /* compressed attention */
    int32_t state_size, conv_kernel; /* linear mixers: columns of a key, taps */
    int32_t dt_rank;                 /* the latent of a selective scan's dt */
    int32_t gates_per_head; /* numbers a head that come from the hidden state, without taps */
    struct {
        int32_t heads, groups, head_size, chunk;
        bool bias;
        uint8_t unused[3];
    } beside;             /* a scan side by side with attention, whose heads are the kind's */
    int32_t extra_norms;  /* further norms of the hidden state in each block */
    int64_t ffn_width;    /* of a mixture: of one expert */
    int64_t shared_width; /* of a mixture's shared experts together */
    int32_t moe_latent;   /* columns of the latent that experts work in */
    int32_t experts, experts_per_token; /* routed ones; 0: no mixture */
    int32_t vision_experts;             /* further ones for tokens of pictures alone */
    int64_t vision_expert_width;
    int32_t n_group, topk_group; /* groups of experts, and how many a token chooses; 1, 1: any */
    int32_t adapter_rank;
    int32_t per_layer_input; /* columns that a second embedding has for it */
    int64_t cross_width;     /* columns of what a layer looks at beside its own tokens */
    /* Elements of a token's hidden state that the layer takes, and puts out */
    int64_t input, output;
    const RhStepList *steps; /* of the operator "steps", shaped; owned by the model */
    int32_t laurel_rank;     /* rank of a path beside attention */
    bool conv_bias;
    bool full_rank_gate;   /* the gate comes from the hidden state and not from a latent */
    bool dt_bc_norms;      /* norms of dt, B and C */
    bool index_shared;     /* the keys are those that a layer before chose */
    bool unscaled_qk_norm; /* norms of queries and keys have no scales */
    bool qk_norm, output_gate, gate_per_head, gate_from_q_latent;
    bool joint_qk_norm; /* each is over all heads: tensor ranks sum their squares */
    bool k_eq_v;        /* keys before their norm are the values too */
    bool bidirectional;
    bool global_keys; /* further keys and values, which a few tokens look at */
    bool qkv_bias, o_bias;
    bool shared_gate; /* their output is scaled, token by token */
    bool latent_norm; /* a norm of that latent behind the experts */
    bool router_bias;
    bool ffn_gated, ffn_bias; /* gated: SwiGLU, three matrices; else two */
    bool borrows;             /* its parameters are those of a layer before it */
    bool borrows_block; /* the same, except for low-rank matrices and a matrix behind the network */
    bool attention_adapter; /* has attention low-rank matrices too? */
    bool borrows_keys;      /* keys and values are those of a layer before it */
    bool lends_keys;        /* its keys and values are those of a later layer too */
    bool encodes;           /* works on the encoder's tokens, in the encoder's sizes */
    bool end_norm;          /* a norm behind the encoder's last layer */
    bool keys_in_blocks;    /* kernels gather a window by blocks: a mask hides none of it */
} RhLayerKind;
#pragma GCC diagnostic pop

#define RH_LAYER_KINDS_MAX 40

typedef struct RhModel {
    const char *name;   /* interned */
    const char *family; /* model_type, interned */
    int64_t hidden;
    int64_t vocab;     /* as published; padding is the framework's */
    int64_t positions; /* max_position_embeddings */
    bool tied_embeddings;
    bool hidden_dropout;    /* trained with dropout behind attention, ffn and embedding */
    bool attention_dropout; /* trained with dropout of attention's probabilities */
    RhNorm norm;
    RhPosition position;
    bool embedding_norm;   /* a norm behind the embedding */
    int64_t embedding;     /* columns of the table of tokens, where a matrix widens them; else 0 */
    int64_t head_width;    /* columns of the output matrix; 0: the table's */
    int32_t token_types;   /* rows of a table of token types */
    int32_t hc_mult;       /* copies of the hidden state (hyper-connections); 0: one */
    int64_t patch_entries; /* numbers in a patch of a picture, where tokens are such; else 0 */
    bool judges_places;    /* the loss is of every place of the last layer's picture */
    RhTensor picture; /* a sample, where layers are steps on pictures: it counts as one token */
    /* The sizes of an encoder whose output the decoder's layers look at, NULL: none; owned. Its layers are the
     * first of this model's. encoder_tokens: its tokens in each sample, or those of pictures, which come from
     * outside; 0: as many as the decoder's. */
    struct RhModel *encoder;
    int64_t encoder_tokens;
    int64_t relative_bias_entries; /* of tables of relative position biases, in one stack */
    /* A second table of tokens, read by every layer: columns of all layers, its rows, columns of a layer */
    int64_t per_layer_inputs, per_layer_vocab;
    int32_t per_layer_input;
    int32_t altup_num_inputs;          /* states of which a layer works on one (AltUp); 0: one */
    const RhOperator *embed, *lm_head; /* before the first layer, and behind the last */
    bool shares_embedding; /* an encoder whose tokens are looked up in the decoder's table */
    int32_t num_mel_bins;  /* rows of a spectrum that tokens are made of; else 0 */
    int64_t rotary_base;   /* rope_theta, for launch flags: changes no cost */
    RhNumerics numerics;   /* further figures that change no cost */
    int32_t kinds_count;
    RhLayerKind kinds[RH_LAYER_KINDS_MAX];
    int32_t layers_count;
    uint8_t *kind_of_layer;    /* layers_count entries, owned */
    struct RhLayerPlan *plans; /* what the file states of single layers; NULL: nothing; owned */
    int32_t plans_count;
    GPtrArray *read_steps, *shaped_steps; /* RhStepList, owned */
    const char *stored_as; /* how the file says that weights are stored, interned; NULL: plainly */
    const char *stored_recipe; /* a recipe like that; NULL: none */
    struct RhConfig *config;   /* as the file states it, for rh_model_set; owned */
    char *hash;                /* SHA-256 of the source text */
} RhModel;

/* A config.json, a folder holding one, or a catalogue name. RH_ERROR_INPUT with file:line:col and
 * help. */
RhModel *rh_model_load(const char *spec, GError **error) G_GNUC_WARN_UNUSED_RESULT;
RhModel *rh_model_parse(RhJson *doc, const char *name, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* `--set` on a loaded model, e.g. "layers=4": our names (layers, hidden, heads, kv_heads,
 * head_size, ffn, vocab, positions, window, tied, ...) or the family's own keys. On an error
 * (RH_ERROR_USAGE) the model is as before. */
bool rh_model_set(RhModel *model, const char *key, const char *value,
                  GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Several, of which each alone need not be possible: heads that do not divide the hidden size that there was. */
typedef struct {
    const char *key, *value;
} RhModelSetting;
bool rh_model_set_together(RhModel *model, const RhModelSetting *settings, size_t count,
                           GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* For a description in a line: the first kind that has attention, the first with a dense network (both
 * the first of all when there is none), the first with experts (NULL when there is none). */
const RhLayerKind *rh_model_attention_kind(const RhModel *model);
const RhLayerKind *rh_model_ffn_kind(const RhModel *model);
const RhLayerKind *rh_model_experts_kind(const RhModel *model);
/* The first with this operator behind its mixer; NULL: none. */
const RhLayerKind *rh_model_kind_with(const RhModel *model, const RhOperator *ffn);
/* Dense GPT of given shape, for tests and for rows of published tables (plain ffn = 4h when ffn is
 * 0). */
RhModel *rh_model_gpt(const char *name, int32_t layers, int64_t hidden, int32_t heads, int64_t ffn,
                      int64_t vocab, int64_t positions);
void rh_model_free(RhModel *model);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhModel, rh_model_free)

/* Is a sample one picture, and no sequence of tokens? */
static inline bool rh_model_sees_pictures(const RhModel *model)
{
    return model->picture.height > 0;
}

/* Tokens that the encoder, or pictures, have of a sample whose decoder has so many; 0 without. */
int64_t rh_model_encoder_tokens(const RhModel *model, int64_t sequence);
/* Do some layers look at these? */
bool rh_model_crosses(const RhModel *model);

/* Do layers have their parameters of layers before them? */
bool rh_model_shares_layers(const RhModel *model);

/* Do layers read of others what the hidden state does not hold and no message between stages: keys and values, or columns
 * of a second embedding? */
bool rh_model_reads_beside(const RhModel *model);

/* Makes a reward model of one that makes tokens: a score in place of the output matrix.
 * RH_ERROR_USAGE where it makes none. */
bool rh_model_score(RhModel *model, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Does it make one token after another? Models whose queries see later tokens, and those of pictures, are asked
 * once: a pass answers. */
bool rh_model_makes_tokens(const RhModel *model);

/* Exact count of trained parameters, tied ones once. */
int64_t rh_model_params(const RhModel *model);
#define RH_PARAMS_MOST 9007199254740992.0 /* 2^53 */
/* Are there fewer than can be counted exactly (RH_PARAMS_MOST)? Every model that was read is such. RH_ERROR_INPUT. */
bool rh_model_countable(const RhModel *model, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* FLOPs the model needs for one token at sequence s, forward + backward, no recomputation, causal
 * attention counted once (half the square). The numerator of MFU. Formula: docs/theory/README.md. */
double rh_model_flops_per_token(const RhModel *model, int64_t s);
/* Forward alone: a third of that, but of nets that begin with a picture, which needs no gradient. */
double rh_model_forward_flops_per_token(const RhModel *model, int64_t s);

/* Catalogue names, sorted, NULL-ended, owned by the module. */
const char *const *rh_model_names(void);
