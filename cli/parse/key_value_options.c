#include "cli/parse/key_value_options.h"

#include <string.h>

#include "base/error.h"

static bool fail_unknown(const char *option, const char *word, const RhOptionKey *keys,
                         GError **error)
{
    g_autoptr(GString) known = g_string_new(NULL);
    for (const RhOptionKey *k = keys; k->key; k++)
        g_string_append_printf(known, "%s%s%s%s", known->len ? ", " : "", k->key,
                               k->example ? "=" : "", k->example ? k->example : "");
    return rh_fail(error, RH_ERROR_USAGE, "%s has no \"%s\"\nhelp: %s", option, word, known->str);
}

static bool read_value(const char *option, const RhOptionKey *k, const char *value, GError **error)
{
    g_autoptr(GError) inner = NULL;
    double number = 0;
    if (!rh_quantity_parse_like(value, k->kind, k->example, &number, &inner))
        return rh_fail(error, RH_ERROR_USAGE, "%s: %s: %s", option, k->key, inner->message);
    if (number <= 0)
        return rh_fail(error, RH_ERROR_USAGE, "%s: %s=%s: must be more than 0\nhelp: %s=%s", option,
                       k->key, value, k->key, k->example);
    *(double *)k->out = number;
    return true;
}

static bool read_word(const char *option, const char *word, const RhOptionKey *keys, GError **error)
{
    const char *equals = strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : strlen(word);
    for (const RhOptionKey *k = keys; k->key; k++) {
        if (strlen(k->key) != length || strncmp(k->key, word, length) != 0)
            continue;
        if ((k->kind == RH_QUANTITY_NONE) != !equals)
            continue; /* a key may stand with a value and without one */
        if (equals)
            return read_value(option, k, equals + 1, error);
        *(bool *)k->out = true;
        return true;
    }
    return fail_unknown(option, word, keys, error);
}

bool rh_option_list_read(const char *option, char *const *words, const RhOptionKey *keys,
                         GError **error)
{
    for (; *words; words++)
        if (!read_word(option, *words, keys, error))
            return false;
    return true;
}
