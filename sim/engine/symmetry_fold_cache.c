#include "sim/engine/symmetry_fold_cache.h"

#include "base/serialize.h"

struct RhFoldedTable {
    GArray *all; /* RhCachedFold */
};

static void clear_cached_fold(gpointer data)
{
    RhCachedFold *folded = data;
    rh_folded_network_free(folded->quotient);
    rh_fold_free(folded->fold);
    rh_traffic_free(folded->traffic);
    rh_program_free(folded->program);
}

RhFoldedTable *rh_fold_cache_new(void)
{
    RhFoldedTable *table = g_new(RhFoldedTable, 1);
    table->all = g_array_new(FALSE, FALSE, sizeof(RhCachedFold));
    g_array_set_clear_func(table->all, clear_cached_fold);
    return table;
}

void rh_fold_cache_free(RhFoldedTable *table)
{
    if (!table)
        return;
    g_array_unref(table->all);
    g_free(table);
}

void rh_fold_cache_add(RhFoldedTable *table, RhCachedFold folded)
{
    rh_traffic_trim(folded.traffic);
    rh_fold_trim(folded.fold);
    g_array_append_val(table->all, folded);
}

/* --- serialization --- */

/* Serialization: one member is set, for writing or for reading. */
typedef struct {
    GByteArray *out;
    RhUnpack *in;
} Bytes;

static void plain(const Bytes *b, void *value, size_t size)
{
    if (b->out)
        rh_pack(b->out, value, size);
    else
        rh_unpack(b->in, value, size);
}

static void list(const Bytes *b, GArray **array, size_t each)
{
    if (b->in && !*array)
        *array = g_array_new(FALSE, FALSE, (guint)each);
    if (b->out)
        rh_pack_array(b->out, *array, each);
    else
        rh_unpack_array(b->in, *array, each);
}

/* Writes the array, or allocates and reads one. */
static void *values(const Bytes *b, void *array, size_t count, size_t each)
{
    void *at = b->in ? g_malloc0((count + 1) * each) : array;
    plain(b, at, count * each);
    return at;
}

/* Visits roles and groups: everything about a program that is compared. */
static void walk_program(const Bytes *b, RhProgram *p)
{
    plain(b, &p->ranks_count, sizeof p->ranks_count);
    list(b, &p->roles, sizeof(RhRole));
    list(b, &p->groups, sizeof(RhGroup));
}

static void walk_traffic(const Bytes *b, RhTraffic *t)
{
    size_t groups = t->program->groups->len, roles = t->program->roles->len;
    plain(b, &t->block, sizeof t->block);
    t->calls = values(b, t->calls, roles * groups, sizeof *t->calls);
    t->groups = values(b, t->groups, groups, sizeof *t->groups);
    for (size_t g = 0; g < groups; g++) {
        if (b->in)
            t->groups[g] = (RhGroupTraffic){.shapes_count = t->groups[g].shapes_count};
        if (t->groups[g].shapes_count == 0)
            continue;
        list(b, &t->groups[g].firsts, sizeof(int32_t));
        list(b, &t->groups[g].meets, sizeof(bool));
    }
    list(b, &t->patterns, sizeof(RhPattern));
    list(b, &t->peers, sizeof(RhPeer));
}

static void walk_fold(const Bytes *b, RhFold *f, size_t ranks)
{
    plain(b, &f->colours_count, sizeof f->colours_count);
    plain(b, &f->calls_count, sizeof f->calls_count);
    f->colour_of_rank = values(b, f->colour_of_rank, ranks, sizeof(int32_t));
    f->representative = values(b, f->representative, (size_t)f->colours_count, sizeof(int32_t));
    f->ranks_count = values(b, f->ranks_count, (size_t)f->colours_count, sizeof(int32_t));
    if (b->out)
        rh_pack_text(b->out, f->approximate_why);
    else
        f->approximate_why = rh_unpack_text(b->in);
}

static void walk_quotient(const Bytes *b, RhFoldedNetwork *q, size_t patterns, size_t cells)
{
    list(b, &q->classes, sizeof(RhFlowClass));
    list(b, &q->hops, sizeof(RhBridgeHop));
    list(b, &q->links, sizeof(RhFoldedLink));
    list(b, &q->calls, sizeof(RhCollectiveCall));
    list(b, &q->colours, sizeof(int32_t));
    plain(b, &q->owners_count, sizeof q->owners_count);
    plain(b, &q->weights_rounded, sizeof q->weights_rounded);
    q->classes_first =
        values(b, q->classes_first, patterns * (size_t)q->owners_count + 2, sizeof(int32_t));
    q->call_of = values(b, q->call_of, cells, sizeof(int32_t));
}

static void visit_fold(const Bytes *b, RhCachedFold *f)
{
    walk_program(b, f->program);
    walk_traffic(b, f->traffic);
    walk_fold(b, f->fold, (size_t)f->program->ranks_count);
    walk_quotient(b, f->quotient, f->traffic->patterns->len,
                  f->program->groups->len * (size_t)f->fold->colours_count);
}

void rh_fold_cache_give(RhFoldedTable *table, GByteArray *bytes)
{
    for (guint i = 0; i < table->all->len; i++)
        visit_fold(&(Bytes){.out = bytes}, &g_array_index(table->all, RhCachedFold, i));
    g_array_set_size(table->all, 0);
}

void rh_fold_cache_take(RhFoldedTable *table, const RhPlatform *platform, const void *bytes,
                        size_t length)
{
    RhUnpack in = {bytes, (const uint8_t *)bytes + length, true};
    while (in.whole && in.at < in.end) {
        RhCachedFold told = {rh_program_new(0), g_new0(RhTraffic, 1), g_new0(RhFold, 1),
                             g_new0(RhFoldedNetwork, 1)};
        told.traffic->program = told.program;
        told.traffic->platform = platform;
        visit_fold(&(Bytes){.in = &in}, &told);
        g_array_append_val(table->all, told);
    }
}

/* --- look-up --- */

/* Would this program's ranks be merged, although those of the shorter program that was folded were
 * not? */
static bool is_too_long(const RhFold *fold, const RhTraffic *t)
{
    int64_t tasks = 0;
    for (int32_t i = 0; !fold->approximate_why && i < fold->colours_count; i++) {
        int32_t role = t->role_of_rank[fold->representative[i]];
        tasks += rh_program_role(t->program, role)->tasks_count;
    }
    return tasks > RH_FOLD_TASKS_MAX;
}

const RhCachedFold *rh_fold_cache_find(const RhFoldedTable *table, const RhProgram *p,
                                       RhUncontendedTimes *alone, RhTraffic **traffic)
{
    for (guint i = 0; i < table->all->len; i++) {
        const RhCachedFold *folded = &g_array_index(table->all, RhCachedFold, i);
        *traffic = rh_traffic_like(folded->traffic, p, alone);
        if (*traffic && !is_too_long(folded->fold, *traffic))
            return folded;
        g_clear_pointer(traffic, rh_traffic_free);
    }
    return NULL;
}
