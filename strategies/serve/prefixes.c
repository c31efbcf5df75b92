#include "strategies/serve/prefixes.h"

typedef struct {
    uint64_t name;
    int32_t holders;
    GList link; /* in `idle`, while nobody holds it */
} Unit;

struct RhPrefixes {
    const RhPrompts *prompts;
    GHashTable *units; /* name -> Unit */
    GQueue idle;       /* the first goes first */
};

RhPrefixes *rh_prefixes_new(const RhPrompts *prompts)
{
    RhPrefixes *p = g_new0(RhPrefixes, 1);
    p->prompts = prompts;
    p->units = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
    g_queue_init(&p->idle);
    return p;
}

void rh_prefixes_free(RhPrefixes *p)
{
    if (!p)
        return;
    g_hash_table_unref(p->units);
    g_free(p);
}

static Unit *find(const RhPrefixes *p, int32_t request, int32_t unit)
{
    uint64_t name = rh_prompts_name(p->prompts, request, unit);
    return g_hash_table_lookup(p->units, &name);
}

int32_t rh_prefixes_find(const RhPrefixes *p, int32_t request, int32_t most, int32_t *idle)
{
    *idle = 0;
    for (int32_t i = 0; i < most; i++) {
        const Unit *unit = find(p, request, i);
        if (!unit)
            return i;
        *idle += unit->holders == 0;
    }
    return MAX(most, 0);
}

bool rh_prefixes_hold(RhPrefixes *p, int32_t request, int32_t i)
{
    Unit *unit = find(p, request, i);
    if (!unit) {
        unit = g_new0(Unit, 1);
        unit->name = rh_prompts_name(p->prompts, request, i);
        unit->link.data = unit;
        g_hash_table_insert(p->units, &unit->name, unit);
    } else if (unit->holders == 0) {
        g_queue_unlink(&p->idle, &unit->link);
    }
    return unit->holders++ > 0;
}

int32_t rh_prefixes_release(RhPrefixes *p, int32_t request, int32_t units)
{
    int32_t idle = 0;
    for (int32_t i = units - 1; i >= 0; i--) {
        Unit *unit = find(p, request, i);
        if (--unit->holders == 0) {
            g_queue_push_tail_link(&p->idle, &unit->link);
            idle++;
        }
    }
    return idle;
}

void rh_prefixes_shrink(RhPrefixes *p, int64_t left)
{
    while (p->idle.length > 0 && (int64_t)p->idle.length > left) {
        Unit *unit = g_queue_pop_head_link(&p->idle)->data;
        g_hash_table_remove(p->units, &unit->name);
    }
}

int64_t rh_prefixes_idle(const RhPrefixes *p)
{
    return p->idle.length;
}
