#include "cli/inputs/fault_scenario.h"

#include <string.h>

#include "base/error.h"
#include "base/text/line_reader.h"

static const char *const kinds[] = {"straggler", "link", NULL};

/* "gpu29", "node3", "node3.gpu5" */
static bool is_place(const char *where)
{
    bool node = g_str_has_prefix(where, "node");
    if (node) {
        where += strlen("node");
        size_t digits = strspn(where, "0123456789");
        where += digits;
        if (digits == 0 || !*where)
            return digits > 0;
        if (*where++ != '.')
            return false;
    }
    if (!g_str_has_prefix(where, "gpu"))
        return false;
    where += strlen("gpu");
    size_t digits = strspn(where, "0123456789");
    return digits > 0 && !where[digits];
}

/* A setting of --set, caller frees; NULL and *error where the word is none. */
static char *set_of_word(const char *word, GError **error)
{
    const char *equals = strchr(word, '='), *colon = strchr(word, ':');
    if (!equals || equals == word || !equals[1]) {
        rh_fail(error, RH_ERROR_USAGE,
                "--scenario: \"%s\" is not a setting\nhelp: like straggler:node3.gpu5=0.9, "
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
    if (!is_place(where)) {
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

void rh_scenario_blame(const char *origin, GError **error)
{
    if (!error || !*error || !*origin)
        return;
    g_autofree char *message = g_strdup((*error)->message);
    g_clear_error(error);
    rh_fail(error, RH_ERROR_INPUT, "%s: %s", origin, message);
}

static bool add_file(const char *path, GPtrArray *sets, GPtrArray *origins, GError **error)
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
        char *origin =
            g_strdup_printf("%s:%" G_GINT64_FORMAT ":%d", path, rh_lines_number(lines), column);
        g_ptr_array_add(origins, origin);
        if (local) {
            rh_scenario_blame(origin, &local);
            g_propagate_error(error, local);
            return false;
        }
        if (set)
            g_ptr_array_add(sets, set);
        else
            g_ptr_array_set_size(origins, (int)origins->len - 1);
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

bool rh_scenario_sets(const GPtrArray *scenarios, GPtrArray *sets, GPtrArray *origins,
                      GError **error)
{
    for (guint i = 0; i < scenarios->len; i++) {
        const char *word = g_ptr_array_index(scenarios, i);
        char *set = is_word(word) ? set_of_word(word, error) : NULL;
        if (!set && (is_word(word) || !add_file(word, sets, origins, error)))
            return false;
        if (set) {
            g_ptr_array_add(sets, set);
            g_ptr_array_add(origins, g_strdup(""));
        }
    }
    return true;
}
