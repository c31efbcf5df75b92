#include "strategies/stage_layer_lists.h"

#include <string.h>

#include "base/error.h"

#define ENTRIES_MAX G_N_ELEMENTS(((RhLayout *)NULL)->stage_layers)
G_STATIC_ASSERT(ENTRIES_MAX == G_N_ELEMENTS(((RhLayout *)NULL)->recomputed_layers));

static bool fail_stages(const RhKnob *knob, const char *entry, GError **error)
{
    g_autofree char *word = g_strndup(entry, strcspn(entry, "-"));
    g_autofree char *names = g_strjoinv(" or ", (char **)knob->names);
    return rh_fail(
        error, RH_ERROR_USAGE,
        "layout key %s: \"%s\" is not a number of layers\nhelp: write the layers of each "
        "chunk as in %s=15-16-16-15 or %s=15-16x6-15, or %s=%s",
        knob->key, word, knob->key, knob->key, knob->key, names);
}

/* Reads digits only; moves *text behind them. */
static bool read_digits(const char **text, guint64 high, guint64 *value)
{
    char *end = NULL;
    if (!g_ascii_isdigit(**text))
        return false;
    *value = g_ascii_strtoull(*text, &end, 10);
    *text = end;
    return *value <= high;
}

/* Reads a list, as "15-16x6-15"; returns the number of values, -1 for an error. */
static int32_t read_list(const RhKnob *knob, const char *text, int16_t *layers, size_t *at,
                         GError **error)
{
    int32_t most = ENTRIES_MAX, count = 0;
    const char *rest = text;
    for (bool more = true; more;) {
        const char *entry = rest;
        guint64 each, times = 1;
        *at = (size_t)(entry - text);
        bool fine = read_digits(&rest, G_MAXINT16, &each);
        if (fine && *rest == 'x') {
            rest++;
            fine = read_digits(&rest, G_MAXINT32, &times) && times > 0;
        }
        if (!fine || (*rest && *rest != '-')) {
            fail_stages(knob, entry, error);
            return -1;
        }
        if (times > (guint64)(most - count)) {
            rh_fail(error, RH_ERROR_USAGE, "layout key %s: more than %d chunks", knob->key, most);
            return -1;
        }
        for (; times > 0; times--)
            layers[count++] = (int16_t)each;
        more = *rest == '-';
        rest += more;
    }
    return count;
}

bool rh_stage_lists_read(const RhKnob *knob, const char *text, RhLayout *layout, size_t *at,
                         GError **error)
{
    int16_t layers[ENTRIES_MAX] = {0};
    int32_t count = 0;
    bool named = false;
    *at = 0;
    for (int32_t i = 0; knob->names[i] && !named; i++) {
        named = strcmp(text, knob->names[i]) == 0;
        count = named ? -i : 0;
    }
    if (!named && (count = read_list(knob, text, layers, at, error)) < 0)
        return false;
    memcpy((char *)layout + knob->entries, layers, sizeof layers);
    rh_knob_store(knob, layout, count);
    return true;
}

char *rh_stage_lists_text(const RhKnob *knob, const RhLayout *l)
{
    int32_t count = rh_knob_value(knob, l);
    const int16_t *layers = rh_stage_lists_of(knob, l);
    if (count <= 0)
        return count < 0 ? g_strdup(knob->names[-count]) : NULL;
    g_autoptr(GString) out = g_string_new(NULL);
    for (int32_t i = 0, times; i < count; i += times) {
        for (times = 1; i + times < count; times++)
            if (layers[i + times] != layers[i])
                break;
        times = times < 3 ? 1 : times;
        g_string_append_printf(out, "%s%d", i ? "-" : "", layers[i]);
        if (times > 1)
            g_string_append_printf(out, "x%d", times);
    }
    return g_string_free(g_steal_pointer(&out), FALSE);
}

const int16_t *rh_stage_lists_of(const RhKnob *knob, const RhLayout *l)
{
    return (const int16_t *)(const void *)((const char *)l + knob->entries);
}
