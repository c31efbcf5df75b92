#pragma once
/* Which key of a published config.json means what, by `model_type`: a table, so that a new family
 * is a new set of rows. Private to workloads/. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "workloads/model.h"

/* A model as configuration files say it: every figure an integer, switches 0 or 1. */
typedef struct RhConfig {
    int64_t layers, hidden, heads, kv_heads, head_size, ffn, vocab, positions;
    int64_t window;      /* sliding window in tokens, 0 = full attention */
    int64_t window_used; /* the switch that some families put before `window` */
    int64_t window_from; /* first layer that slides, where no layer_types list says it */
    int64_t tied, qkv_bias, out_bias, ffn_bias, ffn_gated, qk_norm;
    int64_t hidden_dropout, attention_dropout;
    int64_t q_rank, kv_rank; /* latent attention: sizes of the latents; no q_rank: none */
    int64_t nope_size, rope_size, value_size; /* ... of a key's two parts, and of a value */
    int64_t experts;           /* routed ones, in every layer from `dense_layers` on; 0 = none */
    int64_t experts_per_token; /* of these, a token's */
    int64_t expert_ffn;        /* width of one; 0: as wide as `ffn` */
    int64_t shared_experts;    /* ones that every token goes to */
    int64_t shared_ffn;        /* width of these together; 0: each as wide as a routed one */
    int64_t shared_gate;
    int64_t expert_latent; /* columns of the latent in which experts work; 0: none */
    int64_t router_bias;
    int64_t expert_step;  /* every how many layers have experts: 1 */
    int64_t dense_layers; /* the first layers, whose ffn is dense all the same */
    int64_t rotary_base;  /* of rotary positions; numerics alone, for launch flags */
} RhConfig;

typedef enum {
    RH_FIELD_NONE,
    RH_FIELD_SIZE,     /* integer in [low, high] */
    RH_FIELD_FLAG,     /* true or false */
    RH_FIELD_RATE,     /* fraction; the field is 1 when it is above 0 */
    RH_FIELD_CONSTANT, /* no key: a fact of the family, `otherwise` */
} RhFieldType;

#define RH_FIELD_REQUIRED INT64_MIN

typedef struct {
    const char *key; /* in the config.json */
    size_t offset;   /* of the RhConfig field */
    RhFieldType type;
    int64_t low, high;
    int64_t otherwise; /* when the key is missing or null; RH_FIELD_REQUIRED: then an error */
} RhField;

typedef struct {
    const char *name; /* model_type */
    RhNorm norm;
    RhPosition position;
    const RhOperator *mixer, *ffn; /* of every layer */
    const RhField *fields;         /* ended by a row without type */
} RhFamily;

const RhFamily *rh_family_by_name(const char *name); /* NULL when unknown */
const char *const *rh_family_names(void);            /* sorted, NULL-ended */
/* Our own names of the fields, as `--set` takes them; ended by a row without type. */
extern const RhField rh_set_fields[];
/* Keys that a dense decoder's file may hold and that change nothing here. */
bool rh_family_key_is_foreign(const char *key);
/* A key which says that the model is not a plain dense decoder; the text says what it is. NULL for
 * other keys, and where the family has a field that settles the matter itself. */
const char *rh_family_refused_key(const RhFamily *family, const char *key);

static inline int64_t *rh_config_field(RhConfig *config, const RhField *field)
{
    return (int64_t *)(void *)((char *)config + field->offset);
}
