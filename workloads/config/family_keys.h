#pragma once
/* Which key of a published config.json means what, by `model_type`: rows that family files state
 * (workloads/families, family_file_read.h). Private to workloads/. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "workloads/model.h"

/* A model as configuration files state it: every figure is a whole number, switches are 0 or 1. Names are those of Hugging
 * Face's configurations or of papers where there are such; family files call a field by its path ("moe.num_experts"). */
typedef struct RhConfig {
    int64_t num_hidden_layers;
    int64_t hidden_size, intermediate_size; /* of hidden states; inside the dense network */
    int64_t vocab_size, max_position_embeddings;
    int64_t tie_word_embeddings;
    int64_t rope_theta;               /* for launch flags alone */
    int64_t hidden_dropout;           /* is there dropout behind blocks and embedding? */
    int64_t embedding_size;           /* columns of the table of tokens; 0: hidden_size */
    int64_t lm_head_size;             /* columns of the output matrix; 0: the table's */
    int64_t embedding_norm;           /* a norm behind the embedding */
    int64_t type_vocab_size;          /* rows of a table of token types; 0: none */
    int64_t n_langs, use_lang_emb;    /* rows of a table of languages; is it used? */
    int64_t extra_norms;              /* further norms of the hidden state in each block */
    int64_t parallel_residual;        /* attention and network of a layer read the same input */
    int64_t hc_mult;                  /* copies of the hidden state (hyper-connections); 0: one */
    int64_t num_nextn_predict_layers; /* further layers, which predict further tokens */
    int64_t num_layer_pairs; /* layers of two attentions and two networks, counted as two */
    struct {
        int64_t gated, bias;
        int64_t multiple_of;  /* step that widths are rounded to, or a multiple of hidden_size */
        int64_t auto_adjust;  /* the width is two thirds of what is stated, in such steps */
        int64_t gate_up_size; /* columns of both matrices into a gated network together */
        int64_t dim_divisor;  /* step of widths that are lists of multiples of hidden_size */
        int64_t proj_factor;  /* width in thousandths of hidden_size */
    } mlp;
    struct {
        int64_t num_attention_heads, num_key_value_heads, head_dim;
        int64_t qkv_bias, o_bias, dropout;
        int64_t qk_norm;            /* norms of queries and keys */
        int64_t local_qk_norm;      /* such norms in layers between those of full attention alone */
        int64_t unscaled_qk_norm;   /* such norms without scales */
        int64_t joint_qk_norm;      /* such norms are over all heads together */
        int64_t output_gate;        /* the output is scaled by a sigmoid of as many columns */
        int64_t gate_from_q_latent; /* ... made from the queries' latent */
        int64_t gate_per_head, gate_per_channel; /* ... one for each head; a switch between both */
        int64_t k_eq_v;                          /* keys before their norm are the values too */
        int64_t global_keys;   /* further keys and values, which a few tokens look at */
        int64_t bidirectional; /* queries see later tokens too */
        int64_t multi_query, grouped_query, alibi; /* switches, for rules */
        /* Block-sparse attention: tokens of a block, blocks around a query, one in so many of the rest */
        int64_t block_size, num_local_blocks, vert_stride;
        /* Relative position biases: rows of a table with a column for each head; is there one in each
         * layer, or one for all? */
        int64_t num_relative_buckets, relative_bias_per_layer, shared_relative_bias;
    } attention;
    /* Which layers have a window, and what differs in layers with or without one; 0: as in others */
    struct {
        int64_t size;          /* tokens; 0: full attention */
        int64_t used;          /* a switch in front of it */
        int64_t first_layer;   /* the first layer with a window, where no list states it */
        int64_t full_interval; /* one layer of full attention in so many; 0: no such period */
        int64_t local_layers;  /* the same as the number of layers between two of full attention */
        int64_t full_position; /* which of a period is full, from 1 on; 0: its last */
        int64_t full_offset;   /* the same from 0 on */
        int64_t num_attention_heads, num_key_value_heads, head_dim, v_head_dim; /* with a window */
        int64_t global_head_dim, global_key_value_heads, global_k_eq_v;         /* without one */
        int64_t in_blocks; /* the keys that a query sees are gathered, not masked */
    } window;
    /* Latent attention, and keys that are compressed or chosen; a kv_lora_rank of 0: none */
    struct {
        int64_t q_lora_rank, kv_lora_rank; /* q_lora_rank 0: queries without a latent */
        int64_t qk_nope_head_dim, qk_rope_head_dim;
        int64_t v_head_dim;                                /* without latents 0: as a key's */
        int64_t index_n_heads, index_head_dim, index_topk; /* an indexer; keys it leaves a query */
        int64_t index_shared; /* the keys are those that a layer before chose */
        /* Tokens that a compressed key stands for: of a layer, and of two kinds of layers */
        int64_t compress_ratio, compress_rate_sparse, compress_rate_heavy;
        int64_t o_lora_rank, o_groups; /* output through a latent for each group of heads */
    } mla;
    /* Linear mixers: Mamba, DeltaNet, lightning attention, short convolutions */
    struct {
        int64_t num_heads, head_dim;  /* heads of values, columns of one */
        int64_t n_groups, state_size; /* heads of keys (B and C), columns of one */
        int64_t conv_kernel, conv_bias, chunk_size;
        int64_t proj_bias;
        int64_t expand;         /* columns of values as a multiple of hidden_size */
        int64_t full_rank_gate; /* the gate comes from the hidden state and not from a latent */
        int64_t gates_per_head; /* numbers a head that come from the hidden state */
        int64_t qk_dim_factor, v_dim_factor; /* columns in thousandths of hidden_size */
        int64_t dt_rank, dt_bc_norms;        /* latent of dt; norms of dt, B and C */
    } ssm;
    struct {
        int64_t num_experts, num_experts_per_tok; /* routed ones; 0: none */
        int64_t intermediate_size;                /* of one; 0: the model's */
        int64_t n_shared_experts;                 /* that every token goes to */
        int64_t shared_intermediate_size;         /* of these together; 0: each as a routed one */
        int64_t shared_gate;                      /* their output is scaled */
        int64_t n_group, topk_group; /* groups of experts, and how many a token chooses; 0: none */
        int64_t latent_size, latent_norm; /* columns of a latent in which experts work, normed */
        int64_t router_bias;
        int64_t layer_interval;          /* one layer with experts in so many */
        int64_t layer_offset;            /* which of a period, from 0 on; -1: its last */
        int64_t last_layer;              /* 0 and -1: the model's last */
        int64_t first_k_dense_replace;   /* layers at the beginning without experts */
        int64_t dense_intermediate_size; /* of dense layers; 0: the model's */
        int64_t zero_expert_num;         /* experts that hand tokens on as they are */
        int64_t topk_with_zero;          /* experts of either kind that a token asks for */
        int64_t num_vision_experts, vision_intermediate_size; /* for tokens of pictures alone */
        int64_t encoder_interval, decoder_interval; /* of the stacks of an encoder-decoder */
        int64_t num_sparse_encoder_layers, num_sparse_decoder_layers; /* the same as counts */
    } moe;
    /* Layers that share parameters or keys */
    struct {
        int64_t num_hidden_groups,
            inner_group_num;    /* groups of layers with one set of parameters */
        int64_t total_ut_steps; /* how often all layers are gone through; 0: once */
        int64_t num_mem_blocks, adapter_rank, attention_adapter; /* shared blocks and their LoRA */
        int64_t num_kv_shared_layers, double_wide_mlp; /* the last so many borrow keys and values */
        int64_t cla_share_factor, use_cla; /* the first of so many layers makes keys for all */
    } sharing;
    /* A second embedding, read by every layer, and paths beside blocks (Gemma 3n) */
    struct {
        int64_t hidden_size, vocab_size;
        int64_t laurel_rank, altup_num_inputs;
    } per_layer;
    struct {
        int64_t image_size, patch_size, num_channels;
        int64_t num_register_tokens; /* further tokens beside patches */
        int64_t height, width;       /* of a picture that layers take whole */
        int64_t judges_places;       /* the loss is of every place, not of a class of the picture */
        int64_t cross_attention; /* layers look at tokens of pictures, which come from outside */
        int64_t cross_qk_norm;
    } vision;
    /* An encoder whose output the decoder looks at; 0: as the decoder's */
    struct {
        int64_t present;
        int64_t num_hidden_layers, hidden_size, intermediate_size;
        int64_t num_attention_heads, num_key_value_heads, head_dim;
        int64_t tokens;                  /* 0: as many as the sample's */
        int64_t max_position_embeddings; /* rows of learned positions */
        int64_t window, block_sparse;    /* a window of its own; is it used? */
        int64_t global_keys;             /* further keys and values, which a few tokens look at */
        int64_t own_embedding;           /* a table of tokens of its own */
        int64_t num_mel_bins;            /* rows of a spectrum that tokens are made of; 0: text */
        int64_t final_norm;
    } encoder;
} RhConfig;

typedef enum {
    RH_FIELD_NONE,
    RH_FIELD_SIZE,       /* integer in [low, high]; a list of them says it layer by layer */
    RH_FIELD_FIRST,      /* the first of a pair of integers; a single one is both */
    RH_FIELD_SECOND,     /* ... and the second */
    RH_FIELD_FLAG,       /* true or false */
    RH_FIELD_RATE,       /* fraction; the field is 1 when it is above 0 */
    RH_FIELD_RATIO,      /* number in [low, high] thousandths, to the nearest of these */
    RH_FIELD_WORD,       /* a text; the field is 1 when it begins with `word` */
    RH_FIELD_MAYBE_WORD, /* the same where other values than texts may stand; these are 0 */
    RH_FIELD_SAID,       /* anything; the field is 0 when it is null, false, 0 or empty */
    RH_FIELD_COUNT,      /* how many members a list or object has */
    RH_FIELD_CONSTANT,   /* no key: a fact of the family, `otherwise` */
} RhFieldType;

#define RH_FIELD_REQUIRED INT64_MIN

typedef struct {
    const char *key; /* in the config.json; "a.b" is b inside a */
    size_t offset;   /* of the RhConfig field */
    RhFieldType type;
    int64_t low, high;
    int64_t otherwise; /* when the key is missing or null; RH_FIELD_REQUIRED: then an error */
    bool null_is_none; /* a null is 0, not the default */
    const char *word;  /* of RH_FIELD_WORD */
    const char *other; /* of RH_FIELD_WORD: the only text that is 0; NULL: any is */
    int64_t in_part;   /* the default in a part of a larger model; 0: as everywhere */
} RhField;

/* What follows a layer's mixer. */
typedef enum {
    RH_FFN_BY_RULE, /* the family's, or experts where there are and the layer is one of theirs */
    RH_FFN_DENSE,
    RH_FFN_EXPERTS,
    RH_FFN_ABSENT,
} RhFfnChoice;

/* A word that lists of layers know: the operators of a layer, and figures of its own. */
typedef struct {
    const char *word;
    char letter;             /* the same in a pattern of letters; 0: none */
    const RhOperator *mixer; /* NULL: the family's */
    bool no_mixer, slides;
    RhFfnChoice ffn;
    const char *before; /* the word of a further layer, which stands before each called so */
    struct {
        size_t to, from; /* fields of RhConfig; copied where `from` is above 0 */
    } figures[4];        /* ended by a row whose `from` is 0 */
} RhLayerType;

/* A key that makes a family another: whatever the file says of it, where it says false, or where it is a text that
 * holds this one. */
typedef enum { RH_VARIANT_PRESENT, RH_VARIANT_FALSE, RH_VARIANT_CONTAINS } RhVariantCondition;
typedef struct {
    const char *key, *family;
    RhVariantCondition when;
    const char *text;
} RhVariant;

typedef struct {
    const char *name; /* model_type */
    RhNorm norm;
    RhPosition position;
    const RhOperator *mixer, *ffn; /* of layers about which no word says otherwise */
    const RhField *fields;         /* ended by a row without type */
    const RhLayerType *words;  /* ended by a row without word; NULL: full and sliding attention */
    const char *between;       /* the word of layers between those of `full_every` */
    const RhVariant *variants; /* ended by one without key; may be NULL */
    /* Assignments of figures that follow from others (family_derived_fields.h), NULL-ended; may be NULL */
    const char *const *rules;
} RhFamily;

/* All families, sorted by name, NULL-ended: reads every file. A file that is wrong is left out. */
const RhFamily *const *rh_families(void);
/* The family of a model type. NULL where the type is unknown; the error is set where a family file is wrong. */
const RhFamily *rh_family_find(const char *name, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* The same without the reason. */
const RhFamily *rh_family_by_name(const char *name);
/* Is it our own form, which lists layers? */
bool rh_family_is_own(const RhFamily *family);
/* The family of an architecture's class, as "Qwen3ForCausalLM"; NULL when unknown. */
const RhFamily *rh_family_by_class(const char *name);
const char *const *rh_family_names(void); /* sorted, NULL-ended */
/* The size that a part of a larger model has where its file does not say the field; 0: nothing is assumed. */
int64_t rh_family_usual_size(const RhFamily *family, size_t offset);
/* The layer type of the family that is called so; NULL when unknown. */
const RhLayerType *rh_family_word(const RhFamily *family, const char *word);
const RhLayerType *rh_family_letter(const RhFamily *family, char letter);
/* The layer types as a text, for messages. Caller frees. */
char *rh_family_words_text(const RhFamily *family);

/* Our own names of the fields, as `--set` takes them; ended by a row without type. */
extern const RhField rh_set_fields[];
/* Keys that a decoder's file may hold and that change nothing here, or that another family knows. */
bool rh_key_is_ignored(const char *key);
/* Other names of a key, NULL-ended; NULL when it has none. */
const char *const *rh_key_aliases(const char *key);
/* A key which says that the model is of another kind than the family; the text says what it is. NULL
 * for other keys, and where the family has a field that settles the matter itself. */
const char *rh_family_refused_key(const RhFamily *family, const char *key);
/* A switch that changes how many parameters there are, and that the family does not know; as above. */
const char *rh_family_counted_key(const RhFamily *family, const char *key);

static inline int64_t *rh_config_field(RhConfig *config, const RhField *field)
{
    return (int64_t *)(void *)((char *)config + field->offset);
}
