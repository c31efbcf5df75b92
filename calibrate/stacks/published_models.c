#include "calibrate/stacks/published_models.h"

#include <string.h>

#include "base/error.h"

/* Keys of a shape in the configuration of a family; NULL: it has none. */
typedef struct {
    const char *key, *gpt, *llama;
} Key;

static const Key keys[] = {{"layers", "n_layer", "num_hidden_layers"},
                           {"hidden", "n_embd", "hidden_size"},
                           {"heads", "n_head", "num_attention_heads"},
                           {"kv_heads", NULL, "num_key_value_heads"},
                           {"ffn", "n_inner", "intermediate_size"},
                           {"vocab", "vocab_size", "vocab_size"},
                           {"positions", "n_positions", "max_position_embeddings"}};

/* Shapes; `gpt`: sizes have gpt2's names. */
static const struct {
    const char *name, *model_type;
    bool gpt;
    const char *more; /* further text of its configuration */
} families[] = {{"llama", "llama", false, "\"tie_word_embeddings\":false"},
                {"gpt", "gpt2", true, "\"tie_word_embeddings\":true"},
                {"nemotron", "nemotron", false, "\"tie_word_embeddings\":false"},
                {"mpt", "nemotron", false, "\"tie_word_embeddings\":true"}};

static const char *key_of(const char *name, bool gpt)
{
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++)
        if (strcmp(keys[i].key, name) == 0)
            return gpt ? keys[i].gpt : keys[i].llama;
    return NULL;
}

static bool append_sizes(GString *json, char **words, bool gpt, GError **error)
{
    for (char **word = words; *word; word++) {
        g_auto(GStrv) parts = g_strsplit(*word, "=", 2);
        guint64 size = 0;
        /* an empty word has no parts */
        const char *key = parts[0] && parts[1] ? key_of(parts[0], gpt) : NULL;
        if (!key || !g_ascii_string_to_unsigned(parts[1], 10, 1, 1 << 24, &size, NULL))
            return rh_fail(error, RH_ERROR_INPUT,
                           "\"%s\" is not a size\nnote: layers=, hidden=, heads=, ffn=, vocab=, "
                           "positions= (kv_heads= but for gpt), whole numbers",
                           *word);
        g_string_append_printf(json, ",\"%s\":%" G_GUINT64_FORMAT, key, size);
    }
    return true;
}

RhModel *rh_steps_model(const char *name, const char *shape, GError **error)
{
    g_auto(GStrv) words = g_strsplit(shape, " ", -1);
    for (size_t i = 0; words[0] && i < G_N_ELEMENTS(families); i++) {
        if (strcmp(families[i].name, words[0]) != 0)
            continue;
        g_autoptr(GString) json = g_string_new(NULL);
        g_string_printf(json, "{\"model_type\":\"%s\",%s", families[i].model_type,
                        families[i].more);
        if (!append_sizes(json, words + 1, families[i].gpt, error))
            return NULL;
        g_string_append(json, "}");
        g_autoptr(RhJson) doc = rh_json_parse(name, json->str, json->len, error);
        RhModel *model = doc ? rh_model_parse(doc, name, error) : NULL;
        if (model && strcmp(families[i].name, "mpt") == 0)
            model->position = RH_POSITION_NONE; /* ALiBi is part of the attention kernel */
        return model;
    }
    rh_fail(error, RH_ERROR_INPUT,
            "\"%s\" begins with no family\nnote: llama, gpt, nemotron or mpt, then its sizes",
            shape);
    return NULL;
}
