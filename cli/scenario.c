#include "cli/scenario.h"

#include <string.h>

#include "base/error.h"
#include "base/lines.h"

static const char *const kinds[] = {"straggler", "link", NULL};

/* A setting of --set, caller frees; NULL and *error where the word is none. */
static char *set_of_word(const char *word, GError **error)
{
    const char *equals = strchr(word, '='), *colon = strchr(word, ':');
    if (!equals || equals == word || !equals[1]) {
        rh_fail(error, RH_ERROR_USAGE,
                "--scenario: \"%s\" is no setting\nhelp: like straggler:node3.gpu5=0.9, "
                "link:nic/node0/0/tx=0.5 or nic.latency=9us",
                word);
        return NULL;
    }
    if (!colon || colon > equals)
        return g_strdup(word);
    g_autofree char *kind = g_strndup(word, (gsize)(colon - word));
    g_autofree char *where = g_strndup(colon + 1, (gsize)(equals - colon - 1));
    if (strcmp(kind, "link") == 0)
        return g_strdup_printf("link.%s%s", where, equals);
    if (strcmp(kind, "straggler") != 0) {
        g_autofree char *all = g_strjoinv(", ", (char **)kinds);
        rh_fail(error, RH_ERROR_USAGE, "--scenario: nothing is called \"%s\"\nnote: there are %s",
                kind, all);
        return NULL;
    }
    bool numbered = g_str_has_prefix(where, "gpu");
    if (!numbered && !g_str_has_prefix(where, "node")) {
        rh_fail(
            error, RH_ERROR_USAGE,
            "--scenario: no straggler is called \"%s\"\nnote: nodeN.gpuM is one, nodeN all of a "
            "node, gpuN one by its number",
            where);
        return NULL;
    }
    return g_strdup_printf("%s%s.speed%s", numbered ? "gpu." : "",
                           numbered ? where + strlen("gpu") : where, equals);
}

static bool add_file(const char *path, GPtrArray *sets, GError **error)
{
    GError *local = NULL;
    g_autoptr(RhLines) lines = rh_lines_open(path, error);
    size_t length;
    if (!lines)
        return false;
    for (char *line; (line = rh_lines_next(lines, &length, &local));) {
        line[strcspn(line, "#")] = '\0';
        int column = 1 + (int)strspn(line, " \t");
        g_strstrip(line);
        char *set = *line ? set_of_word(line, &local) : NULL;
        if (local) {
            g_autofree char *message = g_strdup(local->message);
            g_clear_error(&local);
            return rh_fail(error, RH_ERROR_INPUT, "%s:%" G_GINT64_FORMAT ":%d: %s", path,
                           rh_lines_number(lines), column, message);
        }
        if (set)
            g_ptr_array_add(sets, set);
    }
    if (local)
        g_propagate_error(error, local);
    return !local;
}

/* A path may have a colon, but none of these before it. */
static bool is_word(const char *text)
{
    return strchr(text, '=') || g_str_has_prefix(text, "straggler:") ||
           g_str_has_prefix(text, "link:");
}

bool rh_scenario_sets(const GPtrArray *scenarios, GPtrArray *sets, GError **error)
{
    for (guint i = 0; i < scenarios->len; i++) {
        const char *word = g_ptr_array_index(scenarios, i);
        char *set = is_word(word) ? set_of_word(word, error) : NULL;
        if (!set && (is_word(word) || !add_file(word, sets, error)))
            return false;
        if (set)
            g_ptr_array_add(sets, set);
    }
    return true;
}
