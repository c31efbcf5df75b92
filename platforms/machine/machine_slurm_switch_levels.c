/* Turns a scheduler's switches into levels of groups of nodes, and its blocks into NVLink domains. */
#include <string.h>

#include "base/error.h"
#include "platforms/machine/machine.h"

#define LEVELS_MOST 8

static void switch_free(void *data)
{
    RhSlurmSwitch *s = data;
    g_free(s->name);
    g_hash_table_unref(s->nodes);
    g_ptr_array_unref(s->below);
    g_free(s);
}

void rh_slurm_topology_init(RhSlurmTopology *topology)
{
    *topology = (RhSlurmTopology){g_ptr_array_new_with_free_func(switch_free),
                                  g_ptr_array_new_with_free_func(switch_free), 0};
}

void rh_slurm_topology_clear(RhSlurmTopology *topology)
{
    g_clear_pointer(&topology->switches, g_ptr_array_unref);
    g_clear_pointer(&topology->blocks, g_ptr_array_unref);
}

RhSlurmSwitch *rh_slurm_topology_add(GPtrArray *to, const char *name)
{
    RhSlurmSwitch *s = g_new0(RhSlurmSwitch, 1);
    s->name = g_strdup(name);
    s->nodes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    s->below = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_add(to, s);
    return s;
}

static RhSlurmSwitch *switch_named(const GPtrArray *all, const char *name)
{
    for (guint i = 0; i < all->len; i++)
        if (strcmp(((RhSlurmSwitch *)all->pdata[i])->name, name) == 0)
            return all->pdata[i];
    return NULL;
}

static void add_nodes(GHashTable *to, GHashTable *from)
{
    GHashTableIter iter;
    void *name = NULL;
    for (g_hash_table_iter_init(&iter, from); g_hash_table_iter_next(&iter, &name, NULL);)
        g_hash_table_add(to, g_strdup(name));
}

/* Sets the level of a switch, and adds the nodes of the switches below it. */
static bool settle_switch(const GPtrArray *all, RhSlurmSwitch *s, int depth, const char *file,
                          GError **error)
{
    if (depth > LEVELS_MOST)
        return rh_fail(error, RH_ERROR_INPUT,
                       "%s: switch \"%.40s\" is below itself, or below more than %d levels", file,
                       s->name, LEVELS_MOST);
    for (guint i = 0; i < s->below->len; i++) {
        RhSlurmSwitch *lower = switch_named(all, s->below->pdata[i]);
        if (!lower)
            return rh_fail(error, RH_ERROR_INPUT,
                           "%s: switch \"%.40s\", which is below \"%.40s\", is not in it", file,
                           (char *)s->below->pdata[i], s->name);
        if (!settle_switch(all, lower, depth + 1, file, error))
            return false;
        add_nodes(s->nodes, lower->nodes);
        s->level = MAX(s->level, lower->level + 1);
    }
    return true;
}

/* Number of switches of a level, and the nodes below the largest of them. */
static guint count_level(const GPtrArray *all, int32_t level, int32_t *most, bool *even)
{
    guint count = 0;
    *most = 0;
    *even = true;
    for (guint i = 0; i < all->len; i++) {
        const RhSlurmSwitch *s = all->pdata[i];
        int32_t nodes = (int32_t)g_hash_table_size(s->nodes);
        if (s->level != level)
            continue;
        *even = *even && (count == 0 || nodes == *most);
        *most = MAX(*most, nodes);
        count++;
    }
    return count;
}

/* Lists the levels of several switches each; groups of a level are whole ones of that below. */
static void settle_tiers(const GPtrArray *all, RhMachine *m)
{
    bool uneven = false;
    int32_t below = 1;
    m->tiers_count = 0;
    for (int32_t level = 0; level < LEVELS_MOST && m->tiers_count < RH_MACHINE_TIERS; level++) {
        int32_t most = 0;
        bool even = true;
        if (count_level(all, level, &most, &even) < 2 || most == 0)
            continue;
        most = (most + below - 1) / below * below;
        uneven |= !even;
        m->tiers[m->tiers_count++] = (RhMachineTier){.nodes = most};
        below = most;
    }
    if (uneven && !m->fabric_note)
        m->fabric_note = g_strdup("switches of one level have different numbers of nodes: all "
                                  "count as the largest");
}

static GHashTable *nodes_of(const GPtrArray *groups)
{
    GHashTable *all = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint i = 0; i < groups->len; i++)
        add_nodes(all, ((RhSlurmSwitch *)groups->pdata[i])->nodes);
    return all;
}

bool rh_slurm_topology_settle(RhSlurmTopology *topology, const char *name, RhMachine *m,
                              GError **error)
{
    for (guint i = 0; i < topology->switches->len; i++)
        if (!settle_switch(topology->switches, topology->switches->pdata[i], 0, name, error))
            return false;
    const GPtrArray *groups = topology->switches->len > 0 ? topology->switches : topology->blocks;
    g_autoptr(GHashTable) nodes = nodes_of(groups);
    if (g_hash_table_size(nodes) == 0)
        return rh_fail(error, RH_ERROR_INPUT, "%s: no node is below a switch or in a block", name);
    m->nodes = (int32_t)g_hash_table_size(nodes);
    int32_t most = 0;
    bool even = true;
    if (topology->blocks->len > 0) {
        (void)count_level(topology->blocks, 0, &most, &even);
        m->domain_nodes = topology->block_size > 0 ? MIN(topology->block_size, most) : most;
    }
    m->has_fabric = topology->switches->len > 0;
    settle_tiers(topology->switches, m);
    return true;
}
