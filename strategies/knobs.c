/* The table of knobs, and their values as text. */
#include "strategies/knobs.h"

#include <string.h>

#include "base/error.h"
#include "base/units.h"
#include "strategies/knob_functions.h"
#include "strategies/stage_layer_lists.h"

static const char *const partition_names[] = {"even", "parameters", "work", "uniform", NULL};
static const char *const stages_names[] = {"even", NULL};
static const char *const again_names[] = {"all", "least", NULL};
static const char *const order_names[] = {"none", "tp-dp-pp", "tp-pp-dp", NULL};
static const char *const recompute_names[] = {"none", "selective", "full", NULL};
static const char *const context_names[] = {"ring", "gather", NULL};
static const char *const halo_names[] = {"step", "layer", NULL};
static const char *const slice_names[] = {"none", "square", "vertical", "horizontal", NULL};
static const char *const place_names[] = {"device", "host", "nvme", NULL};
static const char *const outer_names[] = {"none", "optim", NULL};
static const char *const switch_names[] = {"off", "on", NULL};

static const char *const dispatch_names[] = {"alltoall", "deepep", NULL};

static const char *const overlap_names[] = {"none", "shared", "batches", "pairs", NULL};

/* --- the table --- */

#define RH_KNOB(type, field_, ...)                                                                 \
    {.offset = G_STRUCT_OFFSET(RhLayout, field_), .size = sizeof(type), __VA_ARGS__},

const RhKnob rh_knobs[] = {
#include "strategies/knob_rows.h"
    {0}};

G_STATIC_ASSERT(G_N_ELEMENTS(rh_knobs) <= RH_KNOBS_MAX);
G_STATIC_ASSERT(RH_KNOBS_MAX <= 64); /* rh_layout_parse() keeps a bit for each */

uint64_t rh_knobs_before(int32_t part)
{
    uint64_t bits = 0;
    for (const RhKnob *knob = rh_knobs; knob->key; knob++)
        if ((knob->next || knob->wide) && knob->part < part)
            bits |= UINT64_C(1) << (knob - rh_knobs);
    return bits;
}

static bool is_called(const char *name, const char *key, size_t length)
{
    return name && strlen(name) == length && strncmp(name, key, length) == 0;
}

const RhKnob *rh_knob_find(const char *key, size_t length)
{
    for (const RhKnob *knob = rh_knobs; knob->key; knob++)
        if (is_called(knob->key, key, length) || is_called(knob->alias, key, length))
            return knob;
    return NULL;
}

const char *const *rh_knob_keys(void)
{
    static const char *keys[G_N_ELEMENTS(rh_knobs)];
    for (size_t i = 0; rh_knobs[i].key; i++)
        keys[i] = rh_knobs[i].key;
    return keys;
}

const char *rh_knob_json_key(const RhKnob *knob)
{
    return knob->json ? knob->json : knob->key;
}

/* --- values --- */

/* Bit of a word of so many characters; -1: unknown word. */
static int bit_of_word(const RhKnob *knob, const char *word, size_t length)
{
    for (int bit = 0; knob->words[bit]; bit++)
        if (strlen(knob->words[bit]) == length && strncmp(knob->words[bit], word, length) == 0)
            return bit;
    return -1;
}

/* Reads words joined by "+", each once, as "layernorm+moe_act". A word that is itself a named value
 * stands alone. */
static bool read_words(const RhKnob *knob, const char *text, int64_t *value)
{
    uint32_t sum = 0;
    bool several = strchr(text, '+') != NULL;
    for (const char *word = text;; word++) {
        size_t length = strcspn(word, "+");
        int bit = bit_of_word(knob, word, length);
        bool alone = bit >= 0 && 1 << bit <= knob->high &&
                     strcmp(knob->words[bit], knob->names[1 << bit]) == 0;
        if (bit < 0 || (sum >> bit & 1) || (alone && several))
            return false;
        sum |= 1u << bit;
        word += length;
        if (!*word)
            break;
    }
    *value = (int64_t)sum;
    return true;
}

static bool fail_name(const RhKnob *knob, const char *text, GError **error)
{
    g_autoptr(GString) legal = g_string_new(NULL);
    for (int64_t i = knob->low; i <= knob->high; i++)
        g_string_append_printf(legal, "%s%s", legal->len ? ", " : "", knob->names[i]);
    g_autofree char *words = knob->words ? g_strjoinv(", ", (char **)knob->words) : NULL;
    return rh_fail(error, RH_ERROR_USAGE, "%s has no value \"%s\"\nnote: values of %s: %s%s%s",
                   knob->key, text, knob->key, legal->str,
                   words ? "; or a sum, as in layernorm+moe_act, of " : "", words ? words : "");
}

static bool read_name(const RhKnob *knob, const char *text, int64_t *value, GError **error)
{
    for (int64_t i = knob->low; i <= knob->high; i++)
        if (strcmp(knob->names[i], text) == 0) {
            *value = i;
            return true;
        }
    return (knob->words && read_words(knob, text, value)) || fail_name(knob, text, error);
}

static bool read_number(const RhKnob *knob, const char *text, int64_t *value, GError **error)
{
    GError *local = NULL;
    if (rh_integer_parse(text, knob->low, knob->high, value, &local))
        return true;
    local->code = RH_ERROR_USAGE;
    g_propagate_prefixed_error(error, local, "layout key %s: ", knob->key);
    return false;
}

bool rh_knob_read(const RhKnob *knob, const char *text, RhLayout *layout, size_t *at,
                  GError **error)
{
    int64_t value = 0;
    *at = 0;
    if (knob->list)
        return rh_stage_lists_read(knob, text, layout, at, error);
    if (!(knob->names ? read_name : read_number)(knob, text, &value, error))
        return false;
    rh_knob_store(knob, layout, (int32_t)value);
    return true;
}
