#include "strategies/serve/cache/cache_tiers.h"

typedef struct {
    uint64_t name;
    RhCacheTier tier;
    GList link; /* list node, whose data is the entry */
} Entry;

struct RhCacheTiers {
    int64_t capacity[RH_CACHE_TIER_LAST];
    GQueue oldest[RH_CACHE_TIER_LAST]; /* the first one is evicted first */
    GHashTable *entries;               /* name -> Entry */
};

RhCacheTiers *rh_cache_tiers_new(const int64_t units[RH_CACHE_TIER_LAST])
{
    RhCacheTiers *t = g_new0(RhCacheTiers, 1);
    for (int i = 0; i < RH_CACHE_TIER_LAST; i++) {
        t->capacity[i] = units[i];
        g_queue_init(&t->oldest[i]);
    }
    t->entries = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
    return t;
}

void rh_cache_tiers_free(RhCacheTiers *t)
{
    if (!t)
        return;
    g_hash_table_unref(t->entries);
    g_free(t);
}

/* Puts the entry into this tier; entries evicted from it go on to the next. */
static void insert_entry(RhCacheTiers *t, Entry *entry, int tier)
{
    for (; tier < RH_CACHE_TIER_LAST; tier++) {
        entry->tier = (RhCacheTier)tier;
        g_queue_push_tail_link(&t->oldest[tier], &entry->link);
        if ((int64_t)t->oldest[tier].length <= t->capacity[tier])
            return;
        entry = g_queue_pop_head_link(&t->oldest[tier])->data;
    }
    g_hash_table_remove(t->entries, &entry->name);
}

void rh_cache_tiers_put(RhCacheTiers *t, uint64_t name)
{
    Entry *entry = g_new0(Entry, 1);
    entry->name = name;
    entry->link.data = entry;
    g_hash_table_insert(t->entries, &entry->name, entry);
    insert_entry(t, entry, RH_CACHE_TIER_HOST);
}

RhCacheTier rh_cache_tiers_find(const RhCacheTiers *t, uint64_t name)
{
    const Entry *entry = g_hash_table_lookup(t->entries, &name);
    return entry ? entry->tier : RH_CACHE_TIER_LAST;
}

RhCacheTier rh_cache_tiers_take(RhCacheTiers *t, uint64_t name)
{
    Entry *entry = g_hash_table_lookup(t->entries, &name);
    if (!entry)
        return RH_CACHE_TIER_LAST;
    RhCacheTier tier = entry->tier;
    g_queue_unlink(&t->oldest[tier], &entry->link);
    g_hash_table_remove(t->entries, &name);
    return tier;
}

int64_t rh_cache_tiers_units(const RhCacheTiers *t, RhCacheTier tier)
{
    return t->oldest[tier].length;
}
