#include "sim/collective_expansion.h"

struct RhExpansions {
    const RhProgram *program;
    const RhPlatform *platform;
    GHashTable *table; /* text key of a collective of one group -> RhExpansion, owned */
};

static void expansion_free(void *data)
{
    RhExpansion *e = data;
    rh_schedule_free(e->schedule);
    g_free(e->members);
    g_free(e->first);
    g_free(e->flows);
    g_free(e);
}

RhExpansions *rh_expansions_new(const RhProgram *p, const RhPlatform *platform)
{
    RhExpansions *all = g_new0(RhExpansions, 1);
    *all = (RhExpansions){p, platform,
                          g_hash_table_new_full(g_str_hash, g_str_equal, g_free, expansion_free)};
    return all;
}

void rh_expansions_free(RhExpansions *all)
{
    if (!all)
        return;
    g_hash_table_destroy(all->table);
    g_free(all);
}

static void index_flows(RhExpansion *e)
{
    const RhSchedule *s = e->schedule;
    e->first = g_new0(int32_t, s->members + 2);
    e->flows = g_new(int32_t, 2 * (gsize)s->flows->len + 1);
    for (guint f = 0; f < s->flows->len; f++) {
        e->first[g_array_index(s->flows, RhFlow, f).src + 2]++;
        e->first[g_array_index(s->flows, RhFlow, f).dst + 2]++;
    }
    for (int32_t m = 0; m < s->members; m++)
        e->first[m + 2] += e->first[m + 1];
    for (guint f = 0; f < s->flows->len; f++) {
        e->flows[e->first[g_array_index(s->flows, RhFlow, f).src + 1]++] = (int32_t)f;
        e->flows[e->first[g_array_index(s->flows, RhFlow, f).dst + 1]++] = (int32_t)f;
    }
}

const RhExpansion *rh_expansion_get(RhExpansions *all, const RhTask *t, int32_t rank, int32_t *own,
                                    GError **error)
{
    const RhGroup *group = rh_program_group(all->program, t->group);
    g_autofree int32_t *members = g_new(int32_t, group->size);
    g_autofree int32_t *gpus = g_new(int32_t, group->size);
    *own = rh_group_members(group, rank, members);
    g_autofree char *key = g_strdup_printf("%d %d %d %d %d %.17g", t->group, members[0], t->op,
                                           t->algo, t->volumes, t->bytes);
    RhExpansion *e = g_hash_table_lookup(all->table, key);
    if (e)
        return e;
    for (int32_t m = 0; m < group->size; m++)
        gpus[m] = rh_program_gpu(all->program, members[m]);
    g_autoptr(RhSchedule) s = rh_schedule_of_task(all->program, t, all->platform, gpus, error);
    if (!s)
        return NULL;
    e = g_new0(RhExpansion, 1);
    e->schedule = g_steal_pointer(&s);
    e->members = g_steal_pointer(&members);
    index_flows(e);
    g_hash_table_insert(all->table, g_steal_pointer(&key), e);
    return e;
}

RhExpansionPlace rh_expansion_begin(const RhExpansion *e, int32_t own)
{
    return (RhExpansionPlace){.round = -1, .from = e->first[own], .to = e->first[own]};
}

/* Moves to the flows of the round, which directly follow those of the round before. */
static void enter_round(const RhExpansion *e, int32_t own, RhExpansionPlace *at)
{
    const RhRound *round = rh_expansion_round(e, at->round);
    at->repeat = 0;
    at->from = at->to;
    while (at->to < e->first[own + 1] && e->flows[at->to] < round->flows_first + round->flows_count)
        at->to++;
}

bool rh_expansion_next(const RhExpansion *e, int32_t own, RhExpansionPlace *at)
{
    int32_t rounds = (int32_t)e->schedule->rounds->len;
    if (at->round >= 0) {
        at->step++;
        if (++at->repeat < rh_expansion_round(e, at->round)->repeat)
            return true;
    }
    while (++at->round < rounds) {
        int32_t repeat = rh_expansion_round(e, at->round)->repeat;
        enter_round(e, own, at);
        if (at->to > at->from && repeat > 0)
            return true;
        at->step += repeat;
    }
    return false;
}
