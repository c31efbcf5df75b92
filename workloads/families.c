/* What is known of families of models as a whole: the tables, looked up by name. */
#include "workloads/families.h"

#include <glib.h>
#include <string.h>

#include "workloads/fields.h"

const RhFamily *const rh_families_tables[] = {rh_families_dense,
                                              rh_families_gpt,
                                              rh_families_encoders,
                                              rh_families_experts,
                                              rh_families_listed,
                                              rh_families_mixed,
                                              rh_families_scans,
                                              rh_families_crossed,
                                              rh_families_kin,
                                              rh_families_towers,
                                              rh_families_pairs,
                                              rh_families_hierarchies,
                                              NULL};

const RhField rh_set_fields[] = {
    SIZE("layers", layers, LAYERS_MAX, 0),
    SIZE("hidden", hidden, WIDTH_MAX, 0),
    SIZE("heads", heads, HEADS_MAX, 0),
    SIZE("kv_heads", kv_heads, HEADS_MAX, 0),
    SIZE("head_size", head_size, HEAD_SIZE_MAX, 0),
    SIZE("ffn", ffn, WIDTH_MAX, 0),
    SIZE("vocab", vocab, VOCAB_MAX, 0),
    SIZE("positions", positions, TOKENS_MAX, 0),
    COUNT("window", window, TOKENS_MAX, 0),
    COUNT("experts", experts, EXPERTS_MAX, 0),
    COUNT("experts_per_token", experts_per_token, EXPERTS_MAX, 0),
    COUNT("predict_layers", predict_layers, 8, 0),
    COUNT("encoder_layers", encoder_layers, LAYERS_MAX, 0),
    COUNT("encoder_tokens", encoder_tokens, TOKENS_MAX, 0),
    FLAG("tied", tied, 0),
    RATE("hidden_dropout", hidden_dropout, 0),
    RATE("attention_dropout", attention_dropout, 0),
    END,
};

static const RhLayerWord COMMON_WORDS[] = {ATTENTION_WORDS, {0}};

const RhFamily *rh_family_by_name(const char *name)
{
    for (size_t t = 0; rh_families_tables[t] != NULL; t++)
        for (const RhFamily *f = rh_families_tables[t]; f->name != NULL; f++)
            if (g_str_equal(f->name, name))
                return f;
    return NULL;
}

bool rh_family_is_own(const RhFamily *family)
{
    return g_str_equal(family->name, "layers") || g_str_equal(family->name, "pictures");
}

/* Is `name`, without underscores and in whatever case, the first `length` letters of `other`? */
static bool is_same_word(const char *name, const char *other, size_t length)
{
    size_t at = 0;
    for (; *name != 0; name++)
        if (*name != '_' && *name != '-' &&
            (at >= length || g_ascii_tolower(other[at++]) != g_ascii_tolower(*name)))
            return false;
    return at == length;
}

const RhFamily *rh_family_by_class(const char *name)
{
    const char *end = strstr(name, "For");
    if (end == NULL)
        return NULL;
    for (size_t t = 0; rh_families_tables[t] != NULL; t++)
        for (const RhFamily *f = rh_families_tables[t]; f->name != NULL; f++)
            if (is_same_word(f->name, name, (size_t)(end - name)))
                return f;
    return NULL;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char *const *collect_names(void)
{
    GPtrArray *names = g_ptr_array_new();
    for (size_t t = 0; rh_families_tables[t] != NULL; t++)
        for (const RhFamily *f = rh_families_tables[t]; f->name != NULL; f++)
            g_ptr_array_add(names, (void *)f->name);
    g_ptr_array_sort(names, compare_names);
    g_ptr_array_add(names, NULL);
    return (const char *const *)g_ptr_array_free(names, FALSE);
}

const char *const *rh_family_names(void)
{
    static const char *const *names;
    if (g_once_init_enter(&names))
        g_once_init_leave(&names, collect_names());
    return names;
}

/* --- Words --- */

static const RhLayerWord *words_of(const RhFamily *family)
{
    return family->words != NULL ? family->words : COMMON_WORDS;
}

const RhLayerWord *rh_family_word(const RhFamily *family, const char *word)
{
    for (const RhLayerWord *w = words_of(family); w->word != NULL; w++)
        if (g_str_equal(w->word, word))
            return w;
    return NULL;
}

const RhLayerWord *rh_family_letter(const RhFamily *family, char letter)
{
    for (const RhLayerWord *w = words_of(family); w->word != NULL; w++)
        if (w->letter == letter && letter != 0)
            return w;
    return NULL;
}

char *rh_family_words_text(const RhFamily *family)
{
    GString *text = g_string_new("");
    for (const RhLayerWord *w = words_of(family); w->word != NULL; w++) {
        g_string_append_printf(text, "%s%s", text->len > 0 ? ", " : "", w->word);
        if (w->letter != 0)
            g_string_append_printf(text, " (%c)", w->letter);
    }
    return g_string_free(text, FALSE);
}
