#include "cli/capacity/prices.h"

#include <string.h>

#include "base/error.h"
#include "base/interned_strings.h"
#include "cli/output/terminal.h"
#include "platforms/profile.h"
#include "report/format.h"

/* NAME or NAME:NODES? A platform written in one line has other words. */
static bool is_counted(const char *word)
{
    return g_regex_match_simple("^[^:]*(:[0-9]+(x[0-9]+)?)?$", word, 0, 0);
}

static bool are_names(char **words)
{
    for (; *words; words++)
        if (!is_counted(*words))
            return false;
    return true;
}

bool rh_prices_platforms(const GPtrArray *lists, GPtrArray *names, GError **error)
{
    for (guint i = 0; i < lists->len; i++) {
        const char *text = g_ptr_array_index(lists, i);
        g_auto(GStrv) words = g_strsplit(text, ",", -1);
        if (strchr(text, ':') && !are_names(words)) {
            g_ptr_array_add(names, g_strdup(text));
            continue;
        }
        for (char **word = words; *word; word++)
            if (**word)
                g_ptr_array_add(names, g_strdup(*word));
    }
    if (names->len == 0)
        return rh_fail(error, RH_ERROR_USAGE, "-p: no platform is named");
    for (guint i = 0; i < names->len; i++)
        for (guint k = 0; k < i; k++)
            if (strcmp(names->pdata[i], names->pdata[k]) == 0)
                return rh_fail(error, RH_ERROR_USAGE, "the platform %s is named twice",
                               (char *)names->pdata[i]);
    return true;
}

/* Is "dgx-h100" said of "dgx-h100:64": its name without the count of nodes? */
static bool is_name_of(const char *name, const char *platform)
{
    return !strchr(name, ':') && is_counted(platform) && strcspn(platform, ":") == strlen(name) &&
           g_str_has_prefix(platform, name);
}

/* The last that speaks of the platform, of its name without a count only where no other does; NULL: none does. Points behind
 * the name. */
static const char *price_word(const GPtrArray *prices, const char *platform)
{
    const char *found = NULL, *counted = NULL;
    for (guint i = 0; i < prices->len; i++) {
        const char *text = g_ptr_array_index(prices, i), *equals = strrchr(text, '=');
        g_autofree char *name = equals ? g_strndup(text, (gsize)(equals - text)) : NULL;
        if (!name)
            found = text;
        else if (strcmp(name, platform) == 0)
            found = equals + 1;
        else if (is_name_of(name, platform))
            counted = equals + 1;
    }
    return found ? found : counted;
}

static bool check_month(const char *what, const char *month, GError **error)
{
    return g_regex_match_simple("^[0-9]{4}-(0[1-9]|1[0-2])$", month, 0, 0) ||
           rh_fail(error, RH_ERROR_USAGE, "%s: \"%s\" is not a month\nhelp: write 2.50USD@2026-11",
                   what, month);
}

static bool is_named(const GPtrArray *names, const char *name)
{
    for (guint i = 0; i < names->len; i++)
        if (strcmp(names->pdata[i], name) == 0 || is_name_of(name, names->pdata[i]))
            return true;
    return false;
}

static bool unnamed(const char *text, const char *name, const GPtrArray *names, GError **error)
{
    g_autoptr(GString) all = g_string_new(NULL);
    for (guint i = 0; i < names->len; i++)
        g_string_append_printf(all, "%s%s", i ? " " : "", (char *)names->pdata[i]);
    return rh_fail(error, RH_ERROR_USAGE,
                   "--price %s: none of the platforms is written %s\nhelp: platforms: %s", text,
                   name, all->str);
}

bool rh_prices_check(const GPtrArray *prices, const GPtrArray *names, GError **error)
{
    for (guint i = 0; i < prices->len; i++) {
        const char *text = g_ptr_array_index(prices, i), *equals = strrchr(text, '=');
        g_autofree char *name = equals ? g_strndup(text, (gsize)(equals - text)) : NULL;
        g_autofree char *price = g_strdup(equals ? equals + 1 : text);
        g_autofree char *what = g_strdup_printf("--price %s", text);
        char *at = strchr(price, '@');
        double usd = 0;
        g_autoptr(GError) inner = NULL;
        if (name && !is_named(names, name))
            return unnamed(text, name, names, error);
        if (at && !check_month(what, at + 1, error))
            return false;
        if (at)
            *at = 0;
        if (!rh_quantity_parse(price, RH_QUANTITY_USD, &usd, &inner))
            return rh_fail(error, RH_ERROR_USAGE, "%s: %s", what, inner->message);
        if (usd <= 0)
            return rh_fail(error, RH_ERROR_USAGE,
                           "%s: a price is more than 0\nhelp: leave it out where there is "
                           "none: GPU-hours then stand for money",
                           what);
    }
    return true;
}

GPtrArray *rh_prices_sets(const RhArguments *a, const char *platform)
{
    GPtrArray *sets = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < a->sets->len; i++)
        g_ptr_array_add(sets, g_strdup(g_ptr_array_index(a->sets, i)));
    const char *price = price_word(a->prices, platform);
    if (price)
        g_ptr_array_add(sets, g_strdup_printf("price_per_gpu_hour=%s", price));
    if (a->pue > 0) {
        char text[G_ASCII_DTOSTR_BUF_SIZE];
        g_ptr_array_add(sets, g_strconcat("pue=", g_ascii_dtostr(text, sizeof text, a->pue), NULL));
    }
    return sets;
}

const char *rh_prices_profile(const RhArguments *a, const char *platform)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(RhPlatform) p = a->profile ? rh_platform_load(platform, NULL) : NULL;
    if (!p || !rh_prices_platforms(a->platforms, names, NULL) || names->len < 2 ||
        rh_profile_is_of(a->profile, p))
        return a->profile;
    g_autofree char *line =
        g_strdup_printf("note: --profile %s is of another device than %s, which keeps its own "
                        "constants",
                        a->profile, platform);
    rh_terminal_hint(line);
    return NULL;
}

bool rh_prices_set(RhPlatform *platform, const char *key, const char *value, GError **error)
{
    g_auto(GStrv) parts = g_strsplit(value, "@", 2);
    const char *month = parts[0] ? parts[1] : NULL;
    if (month && !check_month(key, month, error))
        return false;
    if (!rh_platform_set(platform, key, parts[0] ? parts[0] : value, error))
        return false;
    if (month)
        platform->price_usd_per_gpu_hour.date = rh_intern(month);
    return true;
}

bool rh_prices_has(const GPtrArray *prices, const char *platform)
{
    return price_word(prices, platform) != NULL;
}

char *rh_prices_words(const GPtrArray *names)
{
    g_autoptr(GString) words = g_string_new(NULL);
    for (guint i = 0; i < names->len; i++) {
        g_autofree char *price = g_strdup_printf("%s=2USD", (char *)names->pdata[i]);
        g_autofree char *word = rh_text_path(price);
        g_string_append_printf(words, "%s--price %s", i > 0 ? " " : "", word);
    }
    return g_string_free(g_steal_pointer(&words), FALSE);
}

bool rh_prices_missing(const char *option, const GPtrArray *names, GError **error)
{
    g_autofree char *help = rh_prices_words(names);
    g_autoptr(GString) unknown = g_string_new(NULL);
    for (guint i = 0; i < names->len; i++)
        g_string_append_printf(unknown, "%s%s", i > 0 ? ", " : "", (char *)names->pdata[i]);
    return rh_fail(error, RH_ERROR_USAGE,
                   "%s: the price%s of %s %s not known\nhelp: %s, or what you pay", option,
                   names->len > 1 ? "s" : "", unknown->str, names->len > 1 ? "are" : "is", help);
}
