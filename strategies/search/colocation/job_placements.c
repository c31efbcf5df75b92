#include "strategies/search/colocation/job_placements.h"

#include <stdlib.h>
#include <string.h>

#include "base/garray_access.h"
#include "base/interned_strings.h"

/* Consecutive nodes below one switch. */
typedef struct {
    const char *name;
    int32_t nodes;
} Level;

typedef struct {
    int32_t index, taken, free;
} Group;

typedef struct {
    const RhPlatform *p;
    const bool *taken;
    int32_t needed;
    GArray *out;      /* RhJobPlacement */
    GPtrArray *known; /* char*: keys of the kinds of placements found */
    Level levels[RH_TIERS_MAX];
    int32_t levels_count;
} Search;

static void add_level(Search *s, const char *name, int32_t nodes)
{
    if (nodes > 1 && nodes < s->p->nodes_count && s->levels_count < RH_TIERS_MAX)
        s->levels[s->levels_count++] = (Level){name, nodes};
}

/* Finds the levels of switches. The root joins all nodes, so it does not distinguish them. */
static void find_levels(Search *s)
{
    for (int32_t t = 0; t + 1 < s->p->tiers_count; t++)
        add_level(s, s->p->tiers[t].name, s->p->tiers[t].nodes_per_group);
    add_level(s, "group", s->p->dragonfly_nodes);
    if (s->p->torus_count > 0)
        add_level(s, "row", s->p->torus[0]);
}

static GArray *groups_of(const Search *s, const Level *level)
{
    GArray *groups = g_array_new(FALSE, TRUE, sizeof(Group));
    for (int32_t n = 0; n < s->p->nodes_count; n++) {
        if (n % level->nodes == 0) {
            Group next = {.index = n / level->nodes};
            g_array_append_val(groups, next);
        }
        Group *g = RH_AT(groups, Group, groups->len - 1);
        g->taken += s->taken[n];
        g->free += !s->taken[n];
    }
    return groups;
}

/* --- orders in which groups are filled --- */

static int by_neighbours(const void *a, const void *b)
{
    const Group *x = a, *y = b;
    if ((x->taken > 0) != (y->taken > 0))
        return x->taken > 0 ? 1 : -1;
    return x->free != y->free ? y->free - x->free : x->index - y->index;
}

static int by_room(const void *a, const void *b)
{
    const Group *x = a, *y = b;
    return x->free != y->free ? y->free - x->free : x->index - y->index;
}

static int by_number(const void *a, const void *b)
{
    return *(const int32_t *)a - *(const int32_t *)b;
}

/* The k-th free node of the group. */
static int32_t free_node(const Search *s, const Level *level, int32_t group, int32_t k)
{
    int32_t n = group * level->nodes;
    while (s->taken[n] || k-- > 0)
        n++;
    return n;
}

/* Picks nodes, up to `each` of a group at a time. */
static int32_t *pick_nodes(const Search *s, const Level *level, const GArray *groups, int32_t each)
{
    int32_t *nodes = g_new(int32_t, s->needed + 1);
    int32_t count = 0;
    for (int32_t turn = 0; count < s->needed; turn++)
        for (guint i = 0; i < groups->len; i++) {
            const Group *g = RH_AT(groups, Group, i);
            for (int32_t k = turn * each; k < MIN((turn + 1) * each, g->free); k++)
                if (count < s->needed)
                    nodes[count++] = free_node(s, level, g->index, k);
        }
    qsort(nodes, (size_t)count, sizeof *nodes, by_number);
    return nodes;
}

/* --- kinds of placements --- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Key of a placement: for each level and switch, how many of its own and of the others' nodes are
 * below. */
static char *kind_of(const Search *s, const int32_t *nodes)
{
    GString *out = g_string_new(NULL);
    for (int32_t l = 0; l < s->levels_count; l++) {
        const Level *level = &s->levels[l];
        g_autoptr(GArray) groups = groups_of(s, level);
        g_autofree int32_t *own = g_new0(int32_t, groups->len + 1);
        for (int32_t i = 0; i < s->needed; i++)
            own[nodes[i] / level->nodes]++;
        g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
        for (guint g = 0; g < groups->len; g++)
            if (own[g])
                g_ptr_array_add(
                    words, g_strdup_printf("%06d:%06d", own[g], RH_AT(groups, Group, g)->taken));
        qsort(words->pdata, words->len, sizeof(char *), by_text);
        for (guint w = 0; w < words->len; w++)
            g_string_append_printf(out, "%s ", (char *)g_ptr_array_index(words, w));
        g_string_append_c(out, '/');
    }
    return g_string_free(out, FALSE);
}

/* Adds a placement; takes ownership of the nodes. */
static void add_placement(Search *s, const char *about, int32_t *nodes)
{
    g_autofree char *kind = kind_of(s, nodes);
    if (g_ptr_array_find_with_equal_func(s->known, kind, g_str_equal, NULL)) {
        g_free(nodes);
        return;
    }
    RhJobPlacement place = {rh_intern(about), nodes, s->needed};
    g_array_append_val(s->out, place);
    g_ptr_array_add(s->known, g_steal_pointer(&kind));
}

static void add_of_level(Search *s, const Level *level)
{
    bool torus = s->p->torus_count > 0, dragonfly = s->p->dragonfly_nodes > 0;
    g_autofree char *what =
        g_strdup_printf("%s%s", level->name, torus || dragonfly ? "s" : " switches");
    g_autofree char *away = g_strdup_printf("away from their %s", what);
    g_autofree char *apart = g_strdup_printf("as few on their %s as can be", what);
    g_autofree char *packed = g_strdup_printf("in the fewest %s", what);
    g_autofree char *spread = g_strdup_printf("spread over all %s", what);
    g_autofree char *spread_away = g_strdup_printf("spread over %s without them", what);
    g_autoptr(GArray) groups = groups_of(s, level);
    g_array_sort(groups, by_neighbours);
    int32_t alone = 0, room = 0;
    for (guint i = 0; i < groups->len && RH_AT(groups, Group, i)->taken == 0; i++, alone++)
        room += RH_AT(groups, Group, i)->free;
    if (room > 0)
        add_placement(s, room >= s->needed ? away : apart,
                      pick_nodes(s, level, groups, level->nodes));
    if (room >= s->needed) {
        g_autoptr(GArray) lone = g_array_copy(groups);
        g_array_set_size(lone, (guint)alone);
        add_placement(s, spread_away, pick_nodes(s, level, lone, 1));
    }
    g_array_sort(groups, by_room);
    add_placement(s, packed, pick_nodes(s, level, groups, level->nodes));
    add_placement(s, spread, pick_nodes(s, level, groups, 1));
}

static void place_clear(void *place)
{
    g_free(((RhJobPlacement *)place)->nodes);
}

GArray *rh_placements(const RhPlatform *platform, int32_t needed, const bool *taken,
                      const RhJobPlacement *first)
{
    g_autoptr(GPtrArray) known = g_ptr_array_new_with_free_func(g_free);
    Search s = {.p = platform, .taken = taken, .needed = needed, .known = known};
    s.out = g_array_new(FALSE, TRUE, sizeof(RhJobPlacement));
    g_array_set_clear_func(s.out, place_clear);
    find_levels(&s);
    add_placement(&s, first->about, g_memdup2(first->nodes, (gsize)needed * sizeof *first->nodes));
    int32_t left = 0;
    for (int32_t n = 0; n < platform->nodes_count; n++)
        left += !taken[n];
    for (int32_t l = 0; l < s.levels_count && left >= needed; l++)
        add_of_level(&s, &s.levels[l]);
    return s.out;
}

bool rh_placement_first(const RhPlatform *platform, int32_t needed, const bool *taken,
                        RhJobPlacement *out)
{
    g_autofree int32_t *nodes = g_new(int32_t, needed + 1);
    int32_t count = 0;
    for (int32_t n = 0; n < platform->nodes_count && count < needed; n++)
        if (!taken[n])
            nodes[count++] = n;
    if (count < needed)
        return false;
    *out = (RhJobPlacement){rh_intern("the first free nodes"), g_steal_pointer(&nodes), needed};
    return true;
}

bool rh_placement_like_first(const RhPlatform *platform, const RhJobPlacement *place)
{
    int32_t each = platform->gpus_per_node;
    for (int32_t i = 0; i < place->count; i++)
        if (place->nodes[i] != place->nodes[0] + i)
            return false;
    RhFootprint set = rh_platform_footprint();
    for (int32_t gpu = 0; gpu < place->count * each; gpu++)
        rh_platform_footprint_add(platform, &set, gpu);
    return place->nodes[0] == 0 || rh_platform_moves_alike(platform, &set, place->nodes[0] * each);
}
