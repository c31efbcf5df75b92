/* Reads the names of nodes: a Slurm list ("gpu[01-16],login[1,3]"), as in SLURM_JOB_NODELIST, or a
 * hostfile of MPI ("node1 slots=8", "node2:8", a name per line, '#' begins a comment). Each name
 * counts once. */
#include <string.h>

#include "base/error.h"
#include "platforms/machine/machine.h"

#define NODES_MAX (1 << 20)

typedef struct {
    const char *file;
    int32_t line;
    const char *start; /* of the line */
    int depth;         /* of brackets in the name that is expanded */
    GHashTable *names;
} Nodes;

static bool fail(const Nodes *n, const char *at, const char *what, GError **error)
{
    return rh_fail(error, RH_ERROR_INPUT, "%s:%d:%d: %s", n->file, n->line,
                   (int)(at - n->start) + 1, what);
}

static bool add_name(Nodes *n, const char *at, const char *name, GError **error)
{
    if (g_hash_table_size(n->names) >= NODES_MAX)
        return fail(n, at, "more than 1,048,576 nodes", error);
    g_hash_table_add(n->names, g_strdup(name));
    return true;
}

/* Appends the names that `tail` (to the end of the name) gives after `head`; brackets may occur
 * several times. */
static bool expand(Nodes *n, const char *head, const char *tail, const char *end, GError **error);

/* Expands "01-16": every number with its leading zeros. */
static bool expand_range(Nodes *n, const char *head, const char *from, const char *to,
                         const char *rest, const char *end, GError **error)
{
    char *stop = NULL;
    guint64 low = g_ascii_strtoull(from, &stop, 10), high = low;
    int width = (int)(stop - from);
    if (!g_ascii_isdigit(*from) || width > 9)
        return fail(n, from, "a number must stand here", error);
    if (*stop == '-' && stop < to) {
        const char *second = stop + 1;
        high = g_ascii_strtoull(second, &stop, 10);
        if (!g_ascii_isdigit(*second) || stop - second > 9 || high < low)
            return fail(n, second, "a number no less than the one before must stand here", error);
    }
    if (stop != to)
        return fail(n, stop, "\"-\", \",\" or \"]\" must stand here", error);
    for (guint64 i = low; i <= high; i++) {
        g_autofree char *name = g_strdup_printf("%s%0*" G_GUINT64_FORMAT, head, width, i);
        if (!expand(n, name, rest, end, error))
            return false;
    }
    return true;
}

static bool expand(Nodes *n, const char *head, const char *tail, const char *end, GError **error)
{
    const char *open = memchr(tail, '[', (size_t)(end - tail));
    if (!open) {
        g_autofree char *name = g_strdup_printf("%s%.*s", head, (int)(end - tail), tail);
        return add_name(n, tail, name, error);
    }
    const char *close = memchr(open, ']', (size_t)(end - open));
    if (!close || n->depth == 4)
        return fail(n, open,
                    close ? "more than four brackets in a name" : "this bracket is never closed",
                    error);
    g_autofree char *start = g_strdup_printf("%s%.*s", head, (int)(open - tail), tail);
    n->depth++;
    for (const char *from = open + 1; from <= close;) {
        const char *to = from + strcspn(from, ",]");
        if (!expand_range(n, start, from, to, close + 1, end, error))
            return false;
        from = to + 1;
    }
    n->depth--;
    return true;
}

/* End of a name: white space, or a comma or colon outside brackets. */
static const char *name_end(const char *at)
{
    bool inside = false;
    for (; *at && !g_ascii_isspace(*at); at++) {
        inside = *at == '[' || (inside && *at != ']');
        if (!inside && (*at == ',' || *at == ':'))
            break;
    }
    return at;
}

static bool is_name(const char *at, const char *end)
{
    for (; at < end; at++)
        if (!g_ascii_isalnum(*at) && !strchr("-_.[],", *at))
            return false;
    return true;
}

/* Reads names until one is followed by something other than a comma: "slots=8", ":8". */
static bool read_line(Nodes *n, const char *line, GError **error)
{
    const char *at = line + strspn(line, " \t\r");
    n->start = line;
    while (*at && *at != '#') {
        const char *end = name_end(at);
        if (end == at || !is_name(at, end))
            return fail(n, at, "a name of a node must stand here", error);
        if (!expand(n, "", at, end, error))
            return false;
        if (*end != ',')
            break;
        at = end + 1;
    }
    return true;
}

bool rh_machine_names(const char *file, int32_t line, const char *start, const char *list,
                      GHashTable *names, GError **error)
{
    Nodes n = {.file = file, .line = line, .start = start, .names = names};
    for (const char *at = list; *at && !g_ascii_isspace(*at);) {
        const char *end = name_end(at);
        if (end == at || !is_name(at, end))
            return fail(&n, at, "a name of a node must stand here", error);
        if (!expand(&n, "", at, end, error))
            return false;
        at = *end == ',' ? end + 1 : end;
        if (*end == ':')
            return fail(&n, end, "a comma or the end of the list must stand here", error);
    }
    return true;
}

static bool owns(const char *text)
{
    (void)text;
    return true;
}

static bool read_nodes(RhMachine *m, const char *name, const char *text, GError **error)
{
    Nodes n = {.file = name};
    n.names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    bool fine = true;
    for (int32_t i = 0; fine && lines[i]; i++) {
        n.line = i + 1;
        fine = read_line(&n, lines[i], error);
    }
    m->nodes = (int32_t)g_hash_table_size(n.names);
    g_hash_table_unref(n.names);
    return fine &&
           (m->nodes > 0 || rh_fail(error, RH_ERROR_INPUT, "%s: no node stands in it", name));
}

const RhMachineReader rh_machine_nodes = {"nodes", owns, read_nodes,
                                          G_STRUCT_OFFSET(RhMachine, nodes_source)};
