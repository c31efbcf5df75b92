/* Maps groups to the links of an idle platform. */
#include "sim/collective/group_links.h"

#include "sim/equivalent_rank_blocks.h"

/* with fewer links of the platform per member than this, a table of all links pays */
#define LINKS_PER_MEMBER 64

/* First ranks of the role's groups; fewer than there are groups when the role is not made of whole
 * ones. Groups at different places of a block are alike, so only those at its first place are
 * listed. */
static GArray *first_ranks(const RhGroupLinks *k, const RhGroup *g, int32_t role)
{
    GArray *first = g_array_new(FALSE, FALSE, sizeof(int32_t));
    const RhRole *r = rh_program_role(k->program, role);
    int32_t step = r->spans_count > 0 && r->spans[0].stride == 1 ? k->block : 1;
    for (int32_t i = 0; i < r->ranks_count; i += step) {
        int32_t rank = rh_role_rank(r, i), member_0;
        if (rank % k->block == 0 && rh_group_place(g, rank, &member_0) == 0)
            g_array_append_val(first, rank);
    }
    return first;
}

/* Keeps one group of each placement in a node, if all groups stay inside their nodes and so share
 * no links. */
static void keep_placements(const RhGroupLinks *k, const RhGroup *g, GArray *first)
{
    int32_t span = 0, per_node = k->platform->gpus_per_node;
    g_autofree bool *seen = g_new0(bool, per_node);
    if (k->program->gpu_of_rank || k->platform->link_changes->len > 0)
        return;
    for (int32_t i = 0; i < g->spans_count; i++)
        span += (g->spans[i].extent - 1) * g->spans[i].stride;
    for (guint i = 0; i < first->len; i++)
        if (g_array_index(first, int32_t, i) % per_node + span >= per_node)
            return;
    guint kept = 0;
    for (guint i = 0; i < first->len; i++) {
        int32_t rank = g_array_index(first, int32_t, i);
        if (!seen[rank % per_node])
            g_array_index(first, int32_t, kept++) = rank;
        seen[rank % per_node] = true;
    }
    g_array_set_size(first, kept);
}

/* Lists groups that also have members outside the role: each of them once, by the first of its
 * ranks in the role. */
static void list_ragged(RhGroupLinks *k, const RhGroup *g, const RhRole *r)
{
    k->members = g_new(int32_t, (gsize)r->ranks_count * (gsize)g->size);
    g_autofree bool *seen = g_new0(bool, k->program->ranks_count);
    for (int32_t i = 0; i < r->ranks_count; i++) {
        int32_t rank = rh_role_rank(r, i);
        if (seen[rank])
            continue;
        int32_t *out = k->members + (int64_t)k->instances_count++ * g->size;
        rh_group_members(g, rank, out);
        for (int32_t m = 0; m < g->size; m++)
            if (out[m] >= 0 && out[m] < k->program->ranks_count)
                seen[out[m]] = true;
    }
}

/* Lists the members of every group of the role that can matter, or of the one that holds rank 0. */
static void list_instances(RhGroupLinks *k, int32_t group, int32_t role)
{
    const RhGroup *g = rh_program_group(k->program, group);
    const RhRole *r = role < 0 ? NULL : rh_program_role(k->program, role);
    k->block = r ? rh_blocks_beside(k->program, k->platform, g, r) : 1;
    g_autoptr(GArray) first = role < 0
                                  ? g_array_set_size(g_array_new(FALSE, TRUE, sizeof(int32_t)), 1)
                                  : first_ranks(k, g, role);
    if (r && (int64_t)first->len * k->block * g->size != r->ranks_count) {
        k->block = 1;
        list_ragged(k, g, r);
        return;
    }
    keep_placements(k, g, first);
    k->instances_count = (int32_t)first->len;
    k->members = g_new(int32_t, (gsize)first->len * (gsize)g->size);
    for (guint i = 0; i < first->len; i++)
        rh_group_members(g, g_array_index(first, int32_t, i), k->members + (int64_t)i * g->size);
}

double rh_group_latency_s(const RhGroupLinks *k, int32_t instance, int32_t from, int32_t to)
{
    const int32_t *members = k->members + (int64_t)instance * k->size;
    return rh_platform_route_latency_s(k->platform, rh_program_gpu(k->program, members[from]),
                                       rh_program_gpu(k->program, members[to]));
}

int rh_group_route(const RhGroupLinks *k, int32_t instance, int32_t from, int32_t to,
                   RhLink links[RH_ROUTE_MAX], double *latency_s)
{
    const int32_t *members = k->members + (int64_t)instance * k->size;
    *latency_s = rh_group_latency_s(k, instance, from, to);
    return rh_platform_route(k->platform, rh_program_gpu(k->program, members[from]),
                             rh_program_gpu(k->program, members[to]), links);
}

/* Place of a link in the table; `fresh` for a link that had none. */
static int32_t known_place(RhGroupLinks *k, RhLink link, int32_t fresh)
{
    if (!k->places_of_links)
        return *rh_map64_at(k->place_of_link, (uint64_t)link + 1, fresh);
    int32_t *place = &k->places_of_links[link];
    if (*place == 0)
        *place = fresh + 1;
    return *place - 1;
}

RhGroupCrossing rh_group_crossing(RhGroupLinks *k, RhLink link)
{
    int32_t fresh = (int32_t)k->loads->len, alike = 1;
    if (k->block > 1)
        link = rh_platform_link_turned(k->platform, k->block, link, &alike);
    int32_t place = known_place(k, link, fresh);
    if (place == fresh) {
        RhUsedLink load = {0, rh_platform_link_bytes_per_s(k->platform, link), 0};
        g_array_append_val(k->loads, load);
    }
    return (RhGroupCrossing){place, k->block / alike};
}

void rh_group_load(RhGroupLinks *k, RhGroupCrossing at, double bytes)
{
    RhUsedLink *load = &g_array_index(k->loads, RhUsedLink, at.place);
    if (load->bytes == 0) {
        if (k->touched_count == k->touched_room) {
            k->touched_room = MAX(64, 2 * k->touched_room);
            k->touched = g_renew(int32_t, k->touched, k->touched_room);
        }
        k->touched[k->touched_count++] = at.place;
    }
    load->bytes += bytes * at.times;
}

RhGroupLinks rh_group_links(const RhProgram *p, const RhPlatform *platform, int32_t group,
                            int32_t role)
{
    RhGroupLinks k = {.block = 1, .program = p, .platform = platform};
    k.size = rh_program_group(p, group)->size;
    k.place_of_link = rh_map64_new();
    k.loads = g_array_new(FALSE, FALSE, sizeof(RhUsedLink));
    list_instances(&k, group, role);
    int32_t links = rh_platform_links_count(platform);
    if ((int64_t)k.instances_count * k.size >= links / LINKS_PER_MEMBER)
        k.places_of_links = g_new0(int32_t, links + 1);
    return k;
}

void rh_group_links_clear(RhGroupLinks *k)
{
    rh_map64_free(k->place_of_link);
    g_free(k->places_of_links);
    g_array_unref(k->loads);
    g_free(k->touched);
    g_free(k->members);
}
