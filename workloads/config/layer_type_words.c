/* Words by which configurations call the types of their layers. */
#include "workloads/config/family_keys.h"

/* Layer types of families that list none: full attention, or attention within a window. */
static const RhLayerType COMMON_WORDS[] = {{.word = "full_attention"},
                                           {.word = "attention"},
                                           {.word = "global_attention"},
                                           {.word = "sliding_attention", .slides = true},
                                           {.word = "chunked_attention", .slides = true},
                                           {.word = "local_attention", .slides = true},
                                           {0}};

static const RhLayerType *words_of(const RhFamily *family)
{
    return family->words != NULL ? family->words : COMMON_WORDS;
}

const RhLayerType *rh_family_word(const RhFamily *family, const char *word)
{
    for (const RhLayerType *w = words_of(family); w->word != NULL; w++)
        if (g_str_equal(w->word, word))
            return w;
    return NULL;
}

const RhLayerType *rh_family_letter(const RhFamily *family, char letter)
{
    for (const RhLayerType *w = words_of(family); w->word != NULL; w++)
        if (w->letter == letter && letter != 0)
            return w;
    return NULL;
}

char *rh_family_words_text(const RhFamily *family)
{
    GString *text = g_string_new("");
    for (const RhLayerType *w = words_of(family); w->word != NULL; w++) {
        g_string_append_printf(text, "%s%s", text->len > 0 ? ", " : "", w->word);
        if (w->letter != 0)
            g_string_append_printf(text, " (%c)", w->letter);
    }
    return g_string_free(text, FALSE);
}
