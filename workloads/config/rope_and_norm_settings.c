#include "workloads/config/rope_and_norm_settings.h"

#include <string.h>

#include "base/interned_strings.h"
#include "workloads/model_private.h"

#define FACTOR_MAX 1e6
#define TOKENS_MAX (INT64_C(1) << 30)

/* The first of these keys that the object has; NULL: none. */
static const char *key_of(const RhJsonNode *object, const char *const *keys)
{
    for (; *keys != NULL; keys++)
        if (rh_json_has(object, *keys))
            return *keys;
    return NULL;
}

static double number_of(RhJson *doc, const RhJsonNode *object, const char *key)
{
    return rh_json_number_or(doc, object, key, 0, FACTOR_MAX, 0);
}

static bool has_objects(const RhJsonNode *object)
{
    for (const RhJsonNode *n = rh_json_first(object); n != NULL; n = rh_json_next(n))
        if (rh_json_kind(n) == RH_JSON_OBJECT)
            return true;
    return false;
}

/* Does the type leave rotary frequencies unscaled? "default" does, and "mrope" is plain for text:
 * only pictures split the positions in three. */
static bool is_plain(const char *type)
{
    return *type == '\0' || strcmp(type, "default") == 0 || strcmp(type, "mrope") == 0;
}

static RhRopeScaling read_rope(RhJson *doc, const RhJsonNode *decoder)
{
    static const char *const keys[] = {"rope_scaling", "rope_parameters", NULL};
    const char *key = key_of(decoder, keys);
    const RhJsonNode *rope = key != NULL ? rh_json_object(doc, decoder, key) : NULL;
    if (rope == NULL)
        return (RhRopeScaling){0};
    if (has_objects(rope))
        return (RhRopeScaling){.by_layer = true};
    const char *type =
        rh_json_string_or(doc, rope, rh_json_has(rope, "rope_type") ? "rope_type" : "type", "");
    if (is_plain(type))
        return (RhRopeScaling){0};
    const char *before = "original_max_position_embeddings";
    return (RhRopeScaling){.type = rh_intern(type),
                           .factor = number_of(doc, rope, "factor"),
                           .low_freq_factor = number_of(doc, rope, "low_freq_factor"),
                           .high_freq_factor = number_of(doc, rope, "high_freq_factor"),
                           .beta_fast = number_of(doc, rope, "beta_fast"),
                           .beta_slow = number_of(doc, rope, "beta_slow"),
                           .mscale = number_of(doc, rope, "mscale"),
                           .mscale_all_dim = number_of(doc, rope, "mscale_all_dim"),
                           .original_positions =
                               rh_json_int_or(doc, rh_json_has(rope, before) ? rope : decoder,
                                              before, 1, TOKENS_MAX, 0)};
}

/* Reads the fraction of a head's columns that are rotated, which some files give as a number of
 * columns. */
static double read_rotary_frac(RhJson *doc, const RhJsonNode *decoder)
{
    static const char *const shares[] = {"partial_rotary_factor", "rotary_pct", NULL};
    const char *name = key_of(decoder, shares);
    const RhJsonNode *within = decoder;
    if (name != NULL ||
        rh_json_find(decoder, "rope_parameters.partial_rotary_factor", &within, &name) != NULL)
        return rh_json_number(doc, within, name, 0, 1);
    double head = number_of(doc, decoder, "head_dim"),
           turned = number_of(doc, decoder, "rotary_dim");
    return head > 0 && turned > 0 ? MIN(turned / head, 1) : 1;
}

RhNumerics rh_numerics_read(RhJson *doc, const RhJsonNode *decoder)
{
    static const char *const epsilons[] = {
        "rms_norm_eps",      "layer_norm_eps", "layer_norm_epsilon",     "norm_epsilon",
        "layernorm_epsilon", "norm_eps",       "layer_norm_rms_epsilon", NULL};
    static const char *const activations[] = {"hidden_act", "hidden_activation",
                                              "activation_function", "mlp_hidden_act", NULL};
    const char *epsilon = key_of(decoder, epsilons), *activation = key_of(decoder, activations);
    const char *type = rh_json_string_or(doc, decoder, "model_type", "");
    return (RhNumerics){
        .norm_epsilon = epsilon != NULL ? rh_json_number(doc, decoder, epsilon, 0, 1) : 0,
        .activation = activation != NULL ? rh_json_string(doc, decoder, activation) : NULL,
        .rotary_frac = read_rotary_frac(doc, decoder),
        .gain_from_one = strcmp(type, "nemotron") == 0, /* modeling_nemotron.py: LayerNorm1P */
        .rope = read_rope(doc, decoder)};
}

bool rh_rope_is_llama(const RhRopeScaling *rope)
{
    return rope->type != NULL && strcmp(rope->type, "llama3") == 0 && rope->low_freq_factor == 1 &&
           rope->high_freq_factor == 4 && rope->original_positions == 8192;
}
