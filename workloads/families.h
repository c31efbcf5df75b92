#pragma once
/* Which key of a published config.json means what, by `model_type`: rows that family files state
 * (workloads/families, family_read.h). Private to workloads/. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "workloads/model.h"

/* A model as configuration files say it: every figure an integer, switches 0 or 1. */
typedef struct RhConfig {
    int64_t layers, hidden, heads, kv_heads, head_size, ffn, vocab, positions;
    int64_t window;      /* sliding window in tokens, 0 = full attention */
    int64_t window_used; /* the switch that some families put before `window` */
    int64_t window_from; /* first layer that slides, where no list of layers says it */
    int64_t full_every;  /* every so many layers one of full attention, the others as the family's
                          * `between` says; 0: no such turn */
    int64_t between;     /* the same as how many stand between two of full attention */
    int64_t full_at;     /* which of a turn that is, from 1 on; 0: its last */
    int64_t full_offset; /* the same from 0 on, as some files count */
    int64_t tied, qkv_bias, out_bias, ffn_bias, ffn_gated, qk_norm;
    int64_t ffn_adjusted, ffn_multiple; /* a width is two thirds of what is said, in such steps */
    int64_t ffn_both;    /* columns of both matrices into a gated ffn, where a family says these */
    int64_t ffn_divisor; /* a width is so many hidden states, in such steps, layer by layer */
    int64_t layer_pairs; /* layers of two attentions and two networks each, counted as two */
    int64_t zero_experts,
        experts_asked; /* further ones that hand tokens on as they are; how many of
                                          * all a token asks for */
    int64_t hidden_dropout, attention_dropout;
    int64_t out_gate;       /* attention's output is scaled by a sigmoid of as many columns */
    int64_t gate_of_latent; /* ... which read the queries' latent */
    int64_t gate_by_head,
        gate_by_column; /* ... or of one for each head; a file's switch between these */
    int64_t near_norms,
        bare_norms; /* norms of queries and keys in layers with a window alone; without scales */
    int64_t keys_as_values; /* keys before their norm are values, too: no matrix of their own */
    int64_t global_keys;    /* further keys and values, which a few tokens look at */
    int64_t both_ways;      /* queries see later tokens, too */
    int64_t parallel;       /* attention and ffn of a layer read the same input */
    int64_t extra_norms;    /* further norms of the hidden state in each block */
    int64_t embedding_norm; /* a norm behind the embedding */
    int64_t token_types;    /* rows of a table of token types; 0: none */
    int64_t languages, languages_used; /* rows of one of languages; is there one of several? */
    int64_t wide_head_size, wide_kv_heads, wide_keys_as_values; /* of layers without a window, where
                                                                 * they are of another shape */
    int64_t near_heads, near_kv_heads, near_head_size,
        near_value_size;     /* of layers with a window, likewise; 0: as the others' */
    int64_t q_rank, kv_rank; /* latent attention: sizes of the latents; no q_rank: none */
    int64_t nope_size, rope_size, value_size; /* ... of a key's two parts, and of a value; without
                                               * latents 0: as a key's */
    int64_t index_heads, index_size,
        index_top;          /* a sparse attention's indexer, and how many keys it
                                                 * leaves a query; 0: dense */
    int64_t index_borrowed; /* ... what it leaves is what a layer before chose */
    int64_t compress, compress_few, compress_many; /* tokens that one compressed key stands for; the
                                                    * figure of a layer, and of two kinds of them */
    int64_t out_rank, out_groups; /* output through a latent of so many columns a group of heads */
    int64_t streams;              /* copies of the hidden state between layers; 0: one */
    int64_t scan_heads, scan_head_size; /* a linear mixer's: heads of values, columns of one */
    int64_t scan_groups, state_size;    /* heads of keys (groups), columns of one */
    int64_t conv_size, conv_bias,
        chunk;           /* taps of its convolution; tokens that a scan takes at once */
    int64_t scan_bias;   /* of its matrices */
    int64_t scan_expand; /* its values are so many times as wide as the hidden state */
    int64_t full_gate;   /* a scan's gate comes from the hidden state, and from no latent */
    int64_t head_gates;  /* a scan's numbers a head that come from the hidden state */
    int64_t ffn_ratio, key_ratio, value_ratio; /* widths in thousandths of the hidden state's */
    int64_t step_rank, step_norms; /* a selective scan's latent; norms of what tells a step */
    int64_t experts;           /* routed ones, in every layer from `dense_layers` on; 0 = none */
    int64_t experts_per_token; /* of these, a token's */
    int64_t other_experts,
        other_ffn; /* further ones that tokens of text never go to; width of one */
    int64_t expert_groups, expert_groups_chosen; /* these are of so many of the groups that experts
                                                  * stand in; 0: no groups */
    int64_t expert_ffn;                          /* width of one; 0: as wide as `ffn` */
    int64_t shared_experts;                      /* ones that every token goes to */
    int64_t shared_ffn; /* width of these together; 0: each as wide as a routed one */
    int64_t shared_gate;
    int64_t expert_latent; /* columns of the latent in which experts work; 0: none */
    int64_t latent_norm;   /* ... which is normed before they hand it back */
    int64_t router_bias;
    int64_t expert_step;            /* every how many layers have experts: 1 */
    int64_t expert_offset;          /* ... which of such a turn, from 0 on; -1: its last */
    int64_t expert_last;            /* the last layer with them; 0 and -1: the model's last */
    int64_t dense_layers;           /* the first layers, whose ffn is dense all the same */
    int64_t dense_ffn;              /* width of a dense layer's ffn; 0: `ffn` */
    int64_t predict_layers;         /* further ones, which predict further tokens */
    int64_t rotary_base;            /* of rotary positions; numerics alone, for launch flags */
    int64_t image, patch, channels; /* of a picture, cut into patches */
    int64_t registers;              /* further tokens beside these */
    int64_t picture_height, picture_width;            /* of one that layers take whole */
    int64_t sparse_block, sparse_near, sparse_stride; /* tokens of a block; blocks that a query sees
                                                        * around it, and of the rest one in so many */
    /* Of an encoder whose output a decoder looks at; `crosses`: there is one. Its layers, heads and width,
     * 0: the decoder's; how many tokens it has, 0: as many as the sample; rows of its learned positions;
     * rows of a spectrum, where it listens; has it a norm behind its last layer? */
    int64_t crosses, encoder_layers, encoder_heads, encoder_ffn, encoder_tokens, encoder_positions;
    int64_t encoder_window, encoder_global; /* a window of the encoder alone; its further keys */
    int64_t encoder_sparse_used;            /* ... has it that window? */
    int64_t expert_turn,
        encoder_expert_turn; /* every how many layers of a stack have experts; 0: none */
    int64_t encoder_sparse, decoder_sparse; /* ... said as how many have */
    int64_t encoder_kv_heads, encoder_hidden,
        own_table; /* ... key-value heads, where they are fewer; how wide its file
                                                          * says it is; has it a table of tokens of its own? */
    int64_t sound_rows, encoder_norm;
    int64_t encoder_head_size; /* 0: the decoder's */
    int64_t beside_pictures;   /* some layers look at tokens of pictures, which come from outside */
    int64_t cross_norms;       /* ... and norm their queries and keys */
    int64_t embedding;         /* columns of the table of tokens; 0: as many as the hidden state */
    int64_t head_width;        /* ... of the matrix that predicts; 0: as many as the table's */
    int64_t
        layer_groups; /* of layers that are one and the same; 0: each has parameters of its own */
    int64_t inner_layers; /* ... of so many each; 1 */
    int64_t shared_blocks, adapter_rank,
        adapts_attention;  /* blocks that places share in turn; a place's low-rank matrices */
    int64_t loops;         /* all layers are gone through so many times; 0: once */
    int64_t shared_layers; /* the last so many have keys and values of layers before them */
    int64_t shared_wide;   /* ... and networks twice as wide */
    int64_t share_every,
        share_used; /* of so many layers, the first's keys and values are all of theirs; a
                                      * file's switch for it */
    int64_t layer_input,
        layer_vocab;       /* columns of a second embedding, of each layer; rows of its table */
    int64_t around_shared; /* one table of distances for all layers, where distances_each is 0 */
    int64_t side_rank;     /* of a low-rank path beside attention; 0: none */
    int64_t alternates;    /* states of which a layer works on one; 0: there is one */
    int64_t distances,
        distances_each; /* rows of a table of biases of scores, by distance, with a column
                                        * for each head; is there one in each layer, or in each stack? */
    int64_t one_kv_head, many_kv_heads, alibi; /* a family's own switches, for its rules */
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
} RhLayerWord;

/* A key that makes a family another: whatever the file says of it, where it says false, or where it is a text that
 * holds this one. */
typedef enum { RH_VARIANT_PRESENT, RH_VARIANT_FALSE, RH_VARIANT_CONTAINS } RhVariantWhen;
typedef struct {
    const char *key, *family;
    RhVariantWhen when;
    const char *text;
} RhVariant;

typedef struct {
    const char *name; /* model_type */
    RhNorm norm;
    RhPosition position;
    const RhOperator *mixer, *ffn; /* of layers about which no word says otherwise */
    const RhField *fields;         /* ended by a row without type */
    const RhLayerWord *words;  /* ended by a row without word; NULL: full and sliding attention */
    const char *between;       /* the word of layers between those of `full_every` */
    const RhVariant *variants; /* ended by one without key; may be NULL */
    /* Assignments of figures that follow from others (family_rules.h), NULL-ended; may be NULL */
    const char *const *rules;
} RhFamily;

/* All families, sorted by name, NULL-ended: reads every file. A file that is wrong is left out. */
const RhFamily *const *rh_families(void);
/* The family of a model type. NULL where the type is unknown; the error is set where a family file is wrong. */
const RhFamily *rh_family_find(const char *name, GError **error);
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
const RhLayerWord *rh_family_word(const RhFamily *family, const char *word);
const RhLayerWord *rh_family_letter(const RhFamily *family, char letter);
/* The layer types as a text, for messages. Caller frees. */
char *rh_family_words_text(const RhFamily *family);

/* Our own names of the fields, as `--set` takes them; ended by a row without type. */
extern const RhField rh_set_fields[];
/* Keys that a decoder's file may hold and that change nothing here, or that another family knows. */
bool rh_key_is_foreign(const char *key);
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
