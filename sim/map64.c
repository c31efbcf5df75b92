#include "sim/map64.h"

#include <string.h>

RhMap64 *rh_map64_new(void)
{
    RhMap64 *map = g_new0(RhMap64, 1);
    map->mask = 63;
    map->keys = g_new0(uint64_t, 64);
    map->values = g_new0(int32_t, 64);
    return map;
}

void rh_map64_free(RhMap64 *map)
{
    if (!map)
        return;
    g_free(map->keys);
    g_free(map->values);
    g_free(map);
}

void rh_map64_clear(RhMap64 *map)
{
    memset(map->keys, 0, sizeof *map->keys * (map->mask + 1U));
    map->used = 0;
}

static uint32_t slot_of(const RhMap64 *map, uint64_t key)
{
    uint32_t slot = (uint32_t)(rh_mix64(key, 1) >> 32) & map->mask;
    while (map->keys[slot] && map->keys[slot] != key)
        slot = (slot + 1) & map->mask;
    return slot;
}

static void grow(RhMap64 *map)
{
    RhMap64 old = *map;
    map->mask = old.mask * 2 + 1;
    map->keys = g_new0(uint64_t, map->mask + 1U);
    map->values = g_new0(int32_t, map->mask + 1U);
    for (uint32_t i = 0; i <= old.mask; i++) {
        if (!old.keys[i])
            continue;
        uint32_t slot = slot_of(map, old.keys[i]);
        map->keys[slot] = old.keys[i];
        map->values[slot] = old.values[i];
    }
    g_free(old.keys);
    g_free(old.values);
}

int32_t *rh_map64_at(RhMap64 *map, uint64_t key, int32_t fresh)
{
    key = key ? key : 1;
    uint32_t slot = slot_of(map, key);
    if (!map->keys[slot]) {
        if (map->used * 2 > map->mask) {
            grow(map);
            slot = slot_of(map, key);
        }
        map->keys[slot] = key;
        map->values[slot] = fresh;
        map->used++;
    }
    return &map->values[slot];
}

int32_t rh_map64_get(const RhMap64 *map, uint64_t key)
{
    key = key ? key : 1;
    uint32_t slot = slot_of(map, key);
    return map->keys[slot] ? map->values[slot] : -1;
}
