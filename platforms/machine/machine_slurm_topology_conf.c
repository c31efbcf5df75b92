/* Reads Slurm's topology.conf: a tree of switches, or blocks (schedmd.com, topology.conf).
 *
 *     SwitchName=leaf1 Nodes=c[01-20]
 *     SwitchName=root Switches=leaf[1-2]
 *     BlockName=rack1 Nodes=gb[01-18]
 *     BlockSizes=18,36 */
#include <string.h>

#include "base/error.h"
#include "platforms/machine/machine.h"

typedef struct {
    const char *file, *line; /* the line is that of `number` */
    int32_t number;
    RhSlurmTopology *topology;
} Reading;

/* Finds "KEY=" in a line, ignoring case; returns what stands behind it, NULL: nothing does. */
static const char *value_of(const char *line, const char *key)
{
    size_t length = strlen(key);
    for (const char *at = line; *at; at++)
        if ((at == line || g_ascii_isspace(at[-1])) && g_ascii_strncasecmp(at, key, length) == 0 &&
            at[length] == '=')
            return at + length + 1;
    return NULL;
}

/* Adds the names of the switches below one. */
static bool read_below(const Reading *r, const char *list, RhSlurmSwitch *s, GError **error)
{
    g_autoptr(GHashTable) names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    if (!rh_machine_names(r->file, r->number, r->line, list, names, error))
        return false;
    GHashTableIter iter;
    void *name = NULL;
    for (g_hash_table_iter_init(&iter, names); g_hash_table_iter_next(&iter, &name, NULL);)
        g_ptr_array_add(s->below, g_strdup(name));
    return true;
}

static bool read_line(const Reading *r, GError **error)
{
    const char *line = r->line, *sizes = value_of(line, "BlockSizes");
    const char *name = value_of(line, "SwitchName"), *block = value_of(line, "BlockName"),
               *nodes = value_of(line, "Nodes"), *switches = value_of(line, "Switches");
    if (sizes)
        r->topology->block_size = (int32_t)CLAMP(g_ascii_strtoll(sizes, NULL, 10), 0, 1 << 20);
    if (!name && !block)
        return true;
    const char *own = name ? name : block;
    g_autofree char *text = g_strndup(own, strcspn(own, " \t\r"));
    if (!*text)
        return rh_fail(error, RH_ERROR_INPUT, "%s:%d:%d: a name must stand here", r->file,
                       r->number, (int)(own - line) + 1);
    if (!nodes && !switches)
        return rh_fail(error, RH_ERROR_INPUT,
                       "%s:%d:1: \"%.40s\" has neither Nodes= nor Switches= below it", r->file,
                       r->number, text);
    RhSlurmSwitch *s =
        rh_slurm_topology_add(name ? r->topology->switches : r->topology->blocks, text);
    return (!nodes || rh_machine_names(r->file, r->number, line, nodes, s->nodes, error)) &&
           (!switches || read_below(r, switches, s, error));
}

static bool read_text(RhMachine *m, const char *name, const char *text, GError **error)
{
    g_auto(RhSlurmTopology) topology;
    rh_slurm_topology_init(&topology);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (int32_t i = 0; lines[i]; i++) {
        lines[i][strcspn(lines[i], "#")] = '\0';
        Reading r = {name, lines[i], i + 1, &topology};
        if (!read_line(&r, error))
            return false;
    }
    return rh_slurm_topology_settle(&topology, name, m, error);
}

static bool owns(const char *text)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line; line++) {
        (*line)[strcspn(*line, "#")] = '\0';
        if (value_of(*line, "SwitchName") || value_of(*line, "BlockName"))
            return true;
    }
    return false;
}

const RhMachineReader rh_machine_slurm = {"Slurm's topology.conf", owns, read_text,
                                          G_STRUCT_OFFSET(RhMachine, nodes_source)};
