/* Groups of a stage, told apart by where their ranks lie. */
#include "strategies/search/bounds/stage_comm_groups.h"

/* Groups that others are compared with, the latest: on most fabrics there are few kinds of them. */
#define COMPARED 32

void rh_stage_groups_add_spans(GString *key, const RhStride *spans, const int32_t *periods,
                               int32_t count)
{
    RhStride whole = {1, 1};
    for (int32_t k = 0; k < count; k++) {
        int32_t period = periods ? periods[k] : 0;
        if (spans[k].extent == 1)
            continue;
        if (period == 0 && spans[k].stride == whole.stride * whole.extent) {
            whole.extent *= spans[k].extent;
            continue;
        }
        g_string_append_printf(key, " %d*%d", whole.stride, whole.extent);
        whole = period == 0 ? spans[k] : (RhStride){0, 0};
        if (period > 0)
            g_string_append_printf(key, " %d*%d/%d", spans[k].stride, spans[k].extent, period);
    }
    g_string_append_printf(key, " %d*%d;", whole.stride, whole.extent);
}

static bool intervals_lie_alike(const RhBoundCache *s, const RhGroupNetwork *net, int32_t stage,
                                RhGroupKind kind)
{
    const RhPlatform *p = s->c->platform;
    int32_t places = net->grid.high[kind], ranks = rh_grid_stage_ranks(&net->grid);
    int32_t first = rh_grid_rank(&net->grid, stage, 0);
    RhFootprint set = rh_platform_footprint();
    for (int32_t place = 0; place < places; place++)
        rh_platform_footprint_add(p, &set, rh_grid_rank(&net->grid, stage, place));
    for (int32_t place = places; place < ranks; place += places)
        if (!rh_platform_moves_alike(p, &set, rh_grid_rank(&net->grid, stage, place) - first))
            return false;
    return true;
}

RhStageGroups *rh_bound_stage_groups(RhBoundCache *s, const RhGroupNetwork *net, int32_t stage,
                                     RhGroupKind kind)
{
    const RhRole *role = rh_program_role(net->skeleton, stage);
    const RhGroup *group = rh_program_group(net->skeleton, net->groups[kind]);
    GString *key = g_string_new(NULL);
    g_string_printf(key, "%d %d %d", role->first_rank, net->grid.low[kind], net->grid.high[kind]);
    rh_stage_groups_add_spans(key, role->spans, NULL, role->spans_count);
    rh_stage_groups_add_spans(key, group->spans, group->periods, group->spans_count);
    RhStageGroups *set = g_hash_table_lookup(s->group_sets, key->str);
    if (!set) {
        set = g_new0(RhStageGroups, 1);
        set->id = (int32_t)g_hash_table_size(s->group_sets);
        set->intervals_alike = intervals_lie_alike(s, net, stage, kind);
        g_hash_table_insert(s->group_sets, g_strdup(key->str), set);
    }
    g_string_free(key, TRUE);
    return set;
}

void rh_stage_groups_free(void *data)
{
    RhStageGroups *set = data;
    if (set->apart)
        g_array_unref(set->apart);
    g_free(set);
}

/* A group that stands for others. */
typedef struct {
    int32_t gpu; /* of its first place */
    RhFootprint lies;
} Kind;

static bool is_moved(const RhPlatform *p, const GArray *kinds, int32_t gpu)
{
    for (guint i = kinds->len; i > 0 && kinds->len - i < COMPARED; i--) {
        const Kind *kind = &g_array_index(kinds, Kind, i - 1);
        if (rh_platform_moves_alike(p, &kind->lies, gpu - kind->gpu))
            return true;
    }
    return false;
}

static Kind kind_of(const RhBoundCache *s, const RhGroup *g, int32_t rank)
{
    Kind kind = {rank, rh_platform_footprint()};
    g_autofree int32_t *members = g_new(int32_t, g->size);
    rh_group_members(g, rank, members);
    for (int32_t i = 0; i < g->size; i++)
        rh_platform_footprint_add(s->c->platform, &kind.lies, members[i]);
    return kind;
}

const GArray *rh_bound_groups_apart(RhBoundCache *s, const RhGroupNetwork *net, int32_t stage,
                                    RhGroupKind kind)
{
    RhStageGroups *set = rh_bound_stage_groups(s, net, stage, kind);
    if (set->apart)
        return set->apart;
    int32_t low = net->grid.low[kind], high = net->grid.high[kind];
    const RhGroup *g = rh_program_group(net->skeleton, net->groups[kind]);
    g_autoptr(GArray) kinds = g_array_new(FALSE, FALSE, sizeof(Kind));
    set->apart = g_array_new(FALSE, FALSE, sizeof(int32_t));
    for (int32_t from = 0; from < rh_grid_stage_ranks(&net->grid); from += high)
        for (int32_t place = from; place < from + low; place++) {
            int32_t rank = rh_grid_rank(&net->grid, stage, place);
            if (is_moved(s->c->platform, kinds, rank))
                continue;
            Kind made = kind_of(s, g, rank);
            g_array_append_val(kinds, made);
            g_array_append_val(set->apart, rank);
        }
    return set->apart;
}
