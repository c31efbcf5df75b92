#include "strategies/stages.h"

#include <string.h>

#include "base/error.h"

static bool fail_stages(const char *entry, GError **error)
{
    g_autofree char *word = g_strndup(entry, strcspn(entry, "-"));
    return rh_fail(
        error, RH_ERROR_USAGE,
        "layout key stages: \"%s\" is no number of layers\nhelp: write the layers of each "
        "chunk as in stages=15-16-16-15 or stages=15-16x6-15, or stages=even",
        word);
}

/* Digits alone; *text behind them. */
static bool read_digits(const char **text, guint64 high, guint64 *value)
{
    char *end = NULL;
    if (!g_ascii_isdigit(**text))
        return false;
    *value = g_ascii_strtoull(*text, &end, 10);
    *text = end;
    return *value <= high;
}

bool rh_stages_read(const char *text, RhLayout *layout, size_t *at, GError **error)
{
    int32_t most = G_N_ELEMENTS(layout->stage_layers), count = 0;
    int16_t layers[G_N_ELEMENTS(layout->stage_layers)];
    const char *rest = text;
    *at = 0;
    for (bool more = strcmp(text, "even") != 0; more;) {
        const char *entry = rest;
        guint64 each, times = 1;
        *at = (size_t)(entry - text);
        bool fine = read_digits(&rest, G_MAXINT16, &each);
        if (fine && *rest == 'x') {
            rest++;
            fine = read_digits(&rest, G_MAXINT32, &times) && times > 0;
        }
        if (!fine || (*rest && *rest != '-'))
            return fail_stages(entry, error);
        if (times > (guint64)(most - count))
            return rh_fail(error, RH_ERROR_USAGE, "layout key stages: more than %d chunks", most);
        for (; times > 0; times--)
            layers[count++] = (int16_t)each;
        more = *rest == '-';
        rest += more;
    }
    memset(layout->stage_layers, 0, sizeof layout->stage_layers);
    memcpy(layout->stage_layers, layers, (size_t)count * sizeof *layers);
    layout->stage_layers_count = count;
    return true;
}

char *rh_stages_text(const RhLayout *l)
{
    if (l->stage_layers_count == 0)
        return NULL;
    g_autoptr(GString) out = g_string_new(NULL);
    for (int32_t i = 0, times; i < l->stage_layers_count; i += times) {
        for (times = 1; i + times < l->stage_layers_count; times++)
            if (l->stage_layers[i + times] != l->stage_layers[i])
                break;
        times = times < 3 ? 1 : times;
        g_string_append_printf(out, "%s%d", i ? "-" : "", l->stage_layers[i]);
        if (times > 1)
            g_string_append_printf(out, "x%d", times);
    }
    return g_string_free(g_steal_pointer(&out), FALSE);
}
