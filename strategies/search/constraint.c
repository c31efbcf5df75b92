/* Reads constraints of layouts: values that are fixed, and limits. */
#include <string.h>

#include "base/error.h"
#include "base/text/nearest_names.h"
#include "base/units.h"
#include "strategies/knobs.h"
#include "strategies/search/plan.h"

/* Key of a constraint that is no knob. */
static const char memory_key[] = "memory";

/* Does the knob have single values? A list does not. */
static bool has_values(const RhKnob *knob)
{
    return !knob->list || knob->names[1];
}

static const RhKnob *find_knob(const char *key)
{
    const RhKnob *knob = rh_knob_find(key, strlen(key));
    return knob && has_values(knob) ? knob : NULL;
}

static char *nearest_key(const char *word)
{
    g_autoptr(GStrvBuilder) keys = g_strv_builder_new();
    for (const RhKnob *knob = rh_knobs; knob->key; knob++)
        if (has_values(knob))
            g_strv_builder_add(keys, knob->key);
    g_strv_builder_add(keys, memory_key);
    g_auto(GStrv) names = g_strv_builder_end(keys);
    return g_strdup(rh_near_name(word, (const char *const *)names));
}

/* Reads a limit of memory: a share of the GPU's, or an amount with a unit of bytes. */
static bool read_memory(const char *text, RhConstraint *out, GError **error)
{
    bool plain = *text && text[strspn(text, "0123456789.")] == 0;
    /* 80 means percent, not 80 times the memory */
    bool percent = plain && g_ascii_strtod(text, NULL) > 1;
    g_autofree char *share = g_strconcat(text, percent ? "%" : "", NULL);
    out->in_bytes = rh_quantity_parse(text, RH_QUANTITY_BYTES, &out->value, NULL);
    if (!out->in_bytes && !rh_share_parse_like(share, "90% or 70GiB", &out->value, error))
        return false;
    return out->value > 0 ||
           rh_fail(error, RH_ERROR_USAGE,
                   "memory<=%s leaves a layout no memory at all\nhelp: write it as memory<=90%% or "
                   "memory<=70GiB",
                   text);
}

static bool read_value(const RhKnob *knob, const char *text, double *value, GError **error)
{
    if (strchr(text, ','))
        return rh_fail(error, RH_ERROR_USAGE,
                       "\"%s=%s\" is more than one constraint\nhelp: repeat the option, a key each",
                       knob->key, text);
    RhLayout l = rh_layout_default();
    size_t at;
    if (!rh_knob_read(knob, text, &l, &at, error))
        return false;
    *value = rh_knob_value(knob, &l);
    if (knob->list && *value > 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "\"%s=%s\" names layers of a layout, not of all that are tried\n"
                       "help: %s=%s, or %s",
                       knob->key, text, knob->key, knob->names[0], knob->names[1]);
    return true;
}

static bool check_memory(const char *text, const char *value, bool is_limit, int relation,
                         GError **error)
{
    if (!is_limit)
        return rh_fail(error, RH_ERROR_USAGE, "\"%s\" does not fix a layout key", text);
    return relation < 0 ||
           rh_fail(error, RH_ERROR_USAGE,
                   "\"%s\": memory has only an upper limit\nhelp: write memory<=%s", text, value);
}

bool rh_constraint_parse(const char *text, bool is_limit, RhConstraint *out, GError **error)
{
    size_t length = strcspn(text, "<>=");
    g_autofree char *word = g_strstrip(g_strndup(text, length));
    const char *rest = text + length;
    int relation = g_str_has_prefix(rest, "<=") ? -1 : g_str_has_prefix(rest, ">=") ? 1 : 0;
    if (*rest == 0 || (relation == 0 && *rest != '='))
        return rh_fail(error, RH_ERROR_USAGE, "\"%s\" is not a constraint\nhelp: write KEY=VALUE%s",
                       text, is_limit ? ", KEY<=VALUE or KEY>=VALUE" : "");
    RhConstraint parsed = {.knob = find_knob(word)};
    bool memory = strcmp(word, memory_key) == 0;
    if (!parsed.knob && !memory) {
        g_autofree char *near = nearest_key(word);
        return rh_fail(error, RH_ERROR_USAGE, "unknown layout key \"%s\" in \"%s\"%s%s%s", word,
                       text, near ? "\nhelp: a key with a similar name exists: \"" : "",
                       near ? near : "", near ? "\"" : "");
    }
    if (!is_limit && relation != 0)
        return rh_fail(error, RH_ERROR_USAGE, "\"%s\" does not fix a layout key", text);
    g_autofree char *value = g_strstrip(g_strdup(rest + (relation ? 2 : 1)));
    if (memory && !check_memory(text, value, is_limit, relation, error))
        return false;
    parsed.relation = is_limit && relation == 0 ? -1 : relation;
    bool read = memory ? read_memory(value, &parsed, error)
                       : read_value(parsed.knob, value, &parsed.value, error);
    if (!read) {
        if (error && *error)
            (*error)->code = RH_ERROR_USAGE;
        return false;
    }
    *out = parsed;
    return true;
}

char *rh_constraint_text(const RhConstraint *k)
{
    static const char *const relations[] = {"<=", "=", ">="};
    g_autofree char *value = k->knob       ? rh_knob_value_text(k->knob, (int32_t)k->value)
                             : k->in_bytes ? g_strdup_printf("%.4gGiB", k->value / RH_GIB_BYTES)
                                           : g_strdup_printf("%.4g%%", 100 * k->value);
    return g_strconcat(k->knob ? k->knob->key : memory_key, relations[k->relation + 1], value,
                       NULL);
}
