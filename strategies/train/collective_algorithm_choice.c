#include "strategies/train/collective_algorithm_choice.h"

#include <string.h>

struct RhAlgorithmSites {
    const RhProblem *c;
    /* Geometry -> GPtrArray of RhSite, one for each distinct placement of an instance. */
    GHashTable *of_group;
};

RhAlgorithmSites *rh_algorithm_sites_new(const RhProblem *c)
{
    RhAlgorithmSites *sites = g_new(RhAlgorithmSites, 1);
    sites->c = c;
    sites->of_group =
        g_hash_table_new_full(g_bytes_hash, g_bytes_equal, (GDestroyNotify)g_bytes_unref,
                              (GDestroyNotify)g_ptr_array_unref);
    return sites;
}

void rh_algorithm_sites_free(RhAlgorithmSites *sites)
{
    if (!sites)
        return;
    g_hash_table_destroy(sites->of_group);
    g_free(sites);
}

/* Placement of the group that holds `rank`. */
static RhSite *site_of(const RhProblem *c, const RhProgram *p, int32_t group, int32_t rank)
{
    const RhGroup *g = rh_program_group(p, group);
    g_autofree int32_t *nodes = g_new(int32_t, g->size);
    rh_group_members(g, rank, nodes);
    for (int32_t i = 0; i < g->size; i++)
        nodes[i] = rh_platform_node_of(c->platform, rh_program_gpu(p, nodes[i]));
    return rh_site_new(c->platform, g->size, nodes);
}

/* Is every instance placed like the first, because nodes and the group's spans are multiples of one
 * another? */
static bool instances_lie_alike(const RhGroup *g, int32_t per_node)
{
    bool alike = g->lap == 0;
    for (int32_t k = 0; k < g->spans_count && alike; k++) {
        int32_t stride = g->spans[k].stride;
        int64_t period = rh_group_period(g, k);
        bool inside = per_node % period == 0, across = stride % per_node == 0;
        bool fills = per_node % stride == 0 && period % per_node == 0;
        alike &= inside || across || fills;
    }
    return alike;
}

static void add_site(GPtrArray *sites, RhSite *site)
{
    for (guint i = 0; i < sites->len; i++)
        if (rh_site_equals(sites->pdata[i], site)) {
            rh_site_free(site);
            return;
        }
    g_ptr_array_add(sites, site);
}

static GPtrArray *look_at(const RhProblem *c, const RhProgram *p, int32_t group)
{
    const RhGroup *g = rh_program_group(p, group);
    GPtrArray *sites = g_ptr_array_new_with_free_func((GDestroyNotify)rh_site_free);
    int32_t first, ranks = instances_lie_alike(g, c->platform->gpus_per_node) ? 1 : p->ranks_count;
    if (g->lap == 0)
        add_site(sites, site_of(c, p, group, 0));
    for (int32_t rank = g->lap == 0; rank < ranks; rank++)
        if (rh_group_place(g, rank, &first) == 0)
            add_site(sites, site_of(c, p, group, rank));
    return sites;
}

/* --- groups with the same members --- */

typedef struct {
    int64_t period;
    RhStride span;
} Stretch;

/* Geometry of a group as bytes, equal for groups with the same members: adjacent spans are joined
 * into one. */
static GBytes *geometry_of(const RhGroup *g)
{
    Stretch all[RH_STRIDES_MAX] = {{0}};
    int32_t count = 0;
    for (int32_t k = 0; k < g->spans_count; k++) {
        Stretch own = {rh_group_period(g, k), g->spans[k]};
        Stretch *last = count > 0 ? &all[count - 1] : NULL;
        bool whole = last && last->period == (int64_t)last->span.stride * last->span.extent;
        if (whole && own.span.stride == last->period) {
            last->span.extent *= own.span.extent;
            last->period = own.period;
        } else {
            all[count++] = own;
        }
    }
    struct {
        Stretch all[RH_STRIDES_MAX];
        int32_t lap[3], unused;
    } key = {.lap = {g->lap, g->held, g->lap > 0 ? g->origin : 0}};
    memcpy(key.all, all, sizeof all);
    return g_bytes_new(&key, sizeof key);
}

static const GPtrArray *sites_of(RhAlgorithmSites *sites, const RhProgram *p, int32_t group)
{
    GBytes *key = geometry_of(rh_program_group(p, group));
    GPtrArray *found = g_hash_table_lookup(sites->of_group, key);
    if (found) {
        g_bytes_unref(key);
        return found;
    }
    found = look_at(sites->c, p, group);
    g_hash_table_insert(sites->of_group, key, found);
    return found;
}

/* --- the choice --- */

RhAlgo rh_train_algorithm(RhAlgorithmSites *sites, const RhProgram *p, int32_t group, RhOp op,
                          double bytes, const RhRouting *routing)
{
    const RhRouting *once = routing->experts > 0 ? routing : NULL;
    const GPtrArray *all = sites_of(sites, p, group);
    const RhSite *first = all->pdata[0];
    RhAlgo algo = rh_site_choose(first, op, bytes, once, NULL);
    for (guint i = 1; i < all->len; i++) {
        const RhSite *other = all->pdata[i];
        if (!rh_site_suits(other, algo))
            return rh_site_choose(other, op, bytes, once, NULL);
        if (rh_site_is_between(other) != rh_site_is_between(first))
            algo = rh_collective_plain(algo);
    }
    return algo;
}
