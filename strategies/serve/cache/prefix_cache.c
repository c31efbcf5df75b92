#include "strategies/serve/cache/prefix_cache.h"

typedef struct {
    uint64_t name;
    int32_t holders;
    GList link; /* in `idle` while no sequence holds it; its data is the unit, or NULL for a new
                 * one */
} Unit;

struct RhPrefixCache {
    const RhPromptPrefixes *prompts;
    RhCacheTiers *tiers; /* NULL: none */
    uint64_t groups;
    GHashTable *units; /* name -> Unit */
    GQueue idle;       /* the first one is evicted first */
    int64_t version;
};

RhPrefixCache *rh_prefix_cache_new(const RhPromptPrefixes *prompts, int32_t groups,
                                   RhCacheTiers *tiers)
{
    RhPrefixCache *p = g_new0(RhPrefixCache, 1);
    p->prompts = prompts;
    p->groups = (uint64_t)groups;
    p->tiers = tiers;
    p->units = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
    g_queue_init(&p->idle);
    return p;
}

void rh_prefix_cache_free(RhPrefixCache *p)
{
    if (!p)
        return;
    g_hash_table_unref(p->units);
    g_free(p);
}

uint64_t rh_prefix_cache_name(const RhPrefixCache *p, int32_t request, int32_t unit)
{
    uint64_t group = (uint64_t)request % p->groups;
    return rh_prompt_prefixes_name(p->prompts, request, unit) +
           group * UINT64_C(0x9E3779B97F4A7C15);
}

static Unit *find(const RhPrefixCache *p, int32_t request, int32_t unit)
{
    uint64_t name = rh_prefix_cache_name(p, request, unit);
    return g_hash_table_lookup(p->units, &name);
}

void rh_prefix_cache_find(const RhPrefixCache *p, int32_t request, int32_t most, GPtrArray *units,
                          int32_t *idle)
{
    g_ptr_array_set_size(units, 0);
    *idle = 0;
    for (int32_t i = 0; i < most; i++) {
        Unit *unit = find(p, request, i);
        if (!unit)
            return;
        *idle += unit->holders == 0;
        g_ptr_array_add(units, unit);
    }
}

static bool hold(RhPrefixCache *p, Unit *unit)
{
    if (unit->link.data && unit->holders == 0)
        g_queue_unlink(&p->idle, &unit->link);
    unit->link.data = unit;
    p->version += unit->holders == 0;
    return unit->holders++ > 0;
}

void rh_prefix_cache_hold(RhPrefixCache *p, const GPtrArray *units, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        hold(p, units->pdata[i]);
}

bool rh_prefix_cache_add(RhPrefixCache *p, int32_t request, int32_t i, GPtrArray *units)
{
    Unit *unit = find(p, request, i);
    if (!unit) {
        unit = g_new0(Unit, 1);
        unit->name = rh_prefix_cache_name(p, request, i);
        g_hash_table_insert(p->units, &unit->name, unit);
        if (p->tiers)
            rh_cache_tiers_take(p->tiers, unit->name);
    }
    g_ptr_array_add(units, unit);
    return hold(p, unit);
}

int32_t rh_prefix_cache_release(RhPrefixCache *p, GPtrArray *units)
{
    int32_t idle = 0;
    for (guint i = units->len; i-- > 0;) {
        Unit *unit = units->pdata[i];
        if (--unit->holders == 0) {
            g_queue_push_tail_link(&p->idle, &unit->link);
            idle++;
        }
    }
    g_ptr_array_set_size(units, 0);
    p->version += idle > 0;
    return idle;
}

void rh_prefix_cache_shrink(RhPrefixCache *p, int64_t left)
{
    while (p->idle.length > 0 && (int64_t)p->idle.length > left) {
        Unit *unit = g_queue_pop_head_link(&p->idle)->data;
        if (p->tiers)
            rh_cache_tiers_put(p->tiers, unit->name);
        g_hash_table_remove(p->units, &unit->name);
        p->version++;
    }
}

int64_t rh_prefix_cache_version(const RhPrefixCache *p)
{
    return p->version;
}
