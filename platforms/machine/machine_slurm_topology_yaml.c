/* Reads Slurm's topology.yaml, a list of topologies, each a tree of switches, blocks or flat
 * (schedmd.com, topology.yaml). The cluster's default counts, else the first that is not flat. */
#include <string.h>

#include "base/error.h"
#include "base/text/yaml.h"
#include "platforms/machine/machine.h"

/* Adds the groups of a list: {"switch": NAME, "nodes": LIST} or {..., "children": LIST}. */
static bool read_groups(RhJson *doc, const RhJsonNode *list, const char *key, GPtrArray *out,
                        GError **error)
{
    const char *file = rh_json_name(doc);
    for (const RhJsonNode *n = list ? rh_json_first(list) : NULL; n; n = rh_json_next(n)) {
        RhSlurmSwitch *s = rh_slurm_topology_add(out, rh_json_word(doc, n, key));
        const char *nodes = rh_json_string_or(doc, n, "nodes", NULL),
                   *children = rh_json_string_or(doc, n, "children", NULL);
        g_autoptr(GHashTable) names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        if ((nodes && !rh_machine_names(file, 1, nodes, nodes, s->nodes, error)) ||
            (children && !rh_machine_names(file, 1, children, children, names, error)))
            return false;
        GHashTableIter iter;
        void *name = NULL;
        for (g_hash_table_iter_init(&iter, names); g_hash_table_iter_next(&iter, &name, NULL);)
            g_ptr_array_add(s->below, g_strdup(name));
    }
    return true;
}

static bool read_topology(RhJson *doc, const RhJsonNode *node, RhSlurmTopology *out, GError **error)
{
    const RhJsonNode *tree = rh_json_object_or_null(doc, node, "tree"),
                     *block = rh_json_object_or_null(doc, node, "block");
    const RhJsonNode *sizes = block ? rh_json_array_or_null(doc, block, "block_sizes") : NULL;
    if (sizes && rh_json_count(sizes) > 0)
        out->block_size = (int32_t)rh_json_node_int(doc, rh_json_first(sizes), 1, 1 << 20);
    return read_groups(doc, tree ? rh_json_array(doc, tree, "switches") : NULL, "switch",
                       out->switches, error) &&
           read_groups(doc, block ? rh_json_array(doc, block, "blocks") : NULL, "block",
                       out->blocks, error);
}

/* The topology that counts; NULL: none has switches or blocks. */
static const RhJsonNode *chosen_of(RhJson *doc, const RhJsonNode *root)
{
    const RhJsonNode *first = NULL;
    for (const RhJsonNode *n = rh_json_first(root); n; n = rh_json_next(n)) {
        if (rh_json_kind(n) != RH_JSON_OBJECT ||
            !(rh_json_has(n, "tree") || rh_json_has(n, "block")))
            continue;
        if (rh_json_bool_or(doc, n, "cluster_default", false))
            return n;
        first = first ? first : n;
    }
    return first;
}

static bool read_text(RhMachine *m, const char *name, const char *text, GError **error)
{
    g_autoptr(RhJson) doc = rh_yaml_parse(name, text, strlen(text), error);
    if (!doc)
        return false;
    const RhJsonNode *root = rh_json_root(doc), *chosen = chosen_of(doc, root);
    if (!chosen)
        return rh_fail(error, RH_ERROR_INPUT, "%s: no topology of it has a tree or blocks", name);
    g_auto(RhSlurmTopology) topology;
    rh_slurm_topology_init(&topology);
    if (!read_topology(doc, chosen, &topology, error))
        return false;
    if (rh_json_problems_count(doc) > 0) {
        rh_json_refuse(doc, error);
        return false;
    }
    if (rh_json_count(root) > 1) {
        g_free(m->fabric_note);
        m->fabric_note = g_strdup_printf("of %d topologies in %s, \"%s\" counts; cut the others "
                                         "out to have another",
                                         rh_json_count(root), name,
                                         rh_json_string_or(doc, chosen, "topology", "the first"));
    }
    return rh_slurm_topology_settle(&topology, name, m, error);
}

static bool owns(const char *text)
{
    return g_regex_match_simple("^- *topology:", text, G_REGEX_MULTILINE, 0);
}

const RhMachineReader rh_machine_slurm_yaml = {"Slurm's topology.yaml", owns, read_text,
                                               G_STRUCT_OFFSET(RhMachine, nodes_source)};
