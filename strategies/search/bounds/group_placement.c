/* Nets: groups, where blocks lie, and messages between stages. */
#include <math.h>
#include <string.h>

#include "sim/equivalent_rank_blocks.h"
#include "sim/map64.h"
#include "strategies/search/bounds/stage_comm_groups.h"

/* Blocks looked at for the one whose ranks lie worst. */
#define BLOCKS_MAX 64
/* Number of further blocks that are followed, if there are at most so many GPUs; and the distance
 * of their keys. */
#define OTHERS_MAX      7
#define OTHERS_GPUS_MAX 512
#define OTHERS_STRIDE   (1 << 20)

/* Messages looked at, of all stages together and in one direction. */
#define LOOKS_MAX 16384

/* --- placements --- */

/* The GPUs of a stage's block in the order of their places. */
static int32_t *gpus_of(const RhGrid *g, int32_t stage, int32_t block)
{
    int32_t count = rh_grid_block(g);
    int32_t *gpus = g_new(int32_t, count);
    for (int32_t i = 0; i < count; i++)
        gpus[i] = rh_grid_rank(g, stage, block * count + i);
    return gpus;
}

static int32_t nodes_spanned(const RhPlatform *p, const int32_t *gpus, int32_t count)
{
    int32_t changes = 1;
    for (int32_t i = 1; i < count; i++)
        changes += rh_platform_node_of(p, gpus[i]) != rh_platform_node_of(p, gpus[i - 1]);
    return changes;
}

/* Equal for blocks whose ranks lie alike: inside a node all places are alike, but where it has
 * islands; between nodes the places count, and how far they are from the first one's, and without a
 * tree which nodes they are. */
static char *places_of(const RhPlatform *p, const int32_t *gpus, int32_t count)
{
    int32_t node = p->outside ? 0 : rh_platform_node_of(p, gpus[0]);
    GString *s = g_string_new(NULL);
    g_string_printf(s, "%d", count);
    if (p->inside || nodes_spanned(p, gpus, count) > 1)
        for (int32_t i = 0; i < count; i++)
            g_string_append_printf(s, " %d/%d/%.17g", rh_platform_node_of(p, gpus[i]) - node,
                                   gpus[i] % p->gpus_per_node,
                                   rh_platform_route_latency_s(p, gpus[0], gpus[i]));
    return g_string_free(s, FALSE);
}

/* Equal for blocks whose collectives take the same time. */
static char *signature(const RhGrid *g, const char *places)
{
    int32_t count = rh_grid_block(g);
    GString *s = g_string_new(places);
    for (int kind = 0; kind < RH_GROUP_LAST; kind++)
        g_string_append_printf(s, " %d-%d", MIN(g->low[kind], count), MIN(g->high[kind], count));
    return g_string_free(s, FALSE);
}

static int32_t crossings(const RhPlatform *p, const RhProgram *program, int32_t group, int32_t rank)
{
    const RhGroup *g = rh_program_group(program, group);
    g_autofree int32_t *gpus = g_new(int32_t, g->size);
    rh_group_members(g, rank, gpus);
    for (int32_t i = 0; i < g->size; i++)
        gpus[i] = rh_program_gpu(program, gpus[i]);
    return nodes_spanned(p, gpus, g->size);
}

/* Returns for every rank how often its groups cross nodes; groups of the first kind weigh most. */
static double *crossed_of(const RhPlatform *p, const RhPlacement *at)
{
    double *crossed = g_new0(double, at->program->ranks_count);
    for (int32_t rank = 0; rank < at->program->ranks_count; rank++)
        for (int kind = 0; kind < RH_GROUP_LAST; kind++)
            if (at->groups[kind] >= 0)
                crossed[rank] =
                    1024 * crossed[rank] + crossings(p, at->program, at->groups[kind], rank);
    return crossed;
}

static RhPlacement *placement_new(const RhPlatform *p, const RhGrid *g, int32_t id, int32_t *gpus,
                                  int32_t rank)
{
    RhPlacement *at = g_new0(RhPlacement, 1);
    RhStride all = {1, rh_grid_block(g)};
    at->id = id;
    at->program = rh_program_new(all.extent);
    at->program->gpu_of_rank = gpus;
    rh_grid_add_block_groups(g, at->program, at->groups);
    rh_program_begin_role(at->program, "block", 0, &all, 1);
    rh_program_end_role(at->program);
    at->rank = rank;
    at->crossed = crossed_of(p, at);
    return at;
}

void rh_placement_free(void *data)
{
    RhPlacement *at = data;
    rh_program_free(at->program);
    g_free(at->crossed);
    g_free(at);
}

static uint64_t hash_of(const char *text)
{
    uint64_t hash = 0;
    for (; *text; text++)
        hash = rh_mix64(hash, (uint64_t)*text);
    return hash;
}

static uint64_t group_hash(const RhPlacement *at, int kind, const char *places)
{
    if (at->groups[kind] < 0)
        return 0;
    const RhGroup *group = rh_program_group(at->program, at->groups[kind]);
    g_autoptr(GString) key = g_string_new(places);
    g_string_append_printf(key, " from %d", group->origin);
    rh_stage_groups_add_spans(key, group->spans, group->periods, group->spans_count);
    return hash_of(key->str);
}

/* Blocks that lie alike go together, the one that is followed else alone: two placements. */
static const RhPlacement *placement_of(RhBoundCache *s, const RhGroupNetwork *n, int32_t stage,
                                       int32_t block, int32_t rank)
{
    const RhGrid *g = &n->grid;
    g_autofree int32_t *gpus = gpus_of(g, stage, block);
    g_autofree char *places = places_of(s->c->platform, gpus, rh_grid_block(g));
    g_autofree char *lies = signature(g, places);
    g_autofree char *key = g_strdup_printf("%d %d %s", n->uniform, rank, lies);
    RhPlacement *at = g_hash_table_lookup(s->placement_of, key);
    if (!at) {
        at = placement_new(s->c->platform, g, (int32_t)s->placements->len, g_steal_pointer(&gpus),
                           rank);
        at->hash = hash_of(key);
        for (int kind = 0; kind < RH_GROUP_LAST; kind++)
            at->group_hash[kind] = group_hash(at, kind, places);
        g_ptr_array_add(s->placements, at);
        g_hash_table_insert(s->placement_of, g_steal_pointer(&key), at);
    }
    return at;
}

/* The block that crosses nodes most often, over all stages: a bound may follow any. */
static int32_t worst_block(const RhPlatform *p, const RhGrid *g)
{
    int32_t worst = 0, most = -1, count = rh_grid_block(g);
    for (int32_t block = 0; block < MIN(rh_grid_stage_ranks(g) / count, BLOCKS_MAX); block++) {
        int32_t crossings = 0;
        for (int32_t stage = 0; stage < g->extent[RH_DIM_PP]; stage++) {
            g_autofree int32_t *gpus = gpus_of(g, stage, block);
            crossings += nodes_spanned(p, gpus, count);
        }
        if (crossings > most) {
            most = crossings;
            worst = block;
        }
    }
    return worst;
}

/* Is the node's mesh the same when GPUs are renumbered, so many on and round, and does every pair of
 * the first so many have a link of its own? */
static bool mesh_turns(const RhPlatform *p, int32_t by)
{
    int32_t each = p->gpus_per_node;
    for (int32_t a = 0; a < each; a++)
        for (int32_t b = 0; b < each; b++) {
            bool own = a == b || MAX(a, b) >= by || p->mesh.joined[a][b] > 0;
            if (!own || p->mesh.joined[a][b] != p->mesh.joined[(a + by) % each][(b + by) % each])
                return false;
        }
    return true;
}

/* Do blocks of a mesh take the same time, although pairs of GPUs differ? Collectives do if blocks
 * are single ranks, whole nodes, or parts of a node that its turns map to one another; messages do
 * if all go to other nodes. Groups with several GPUs of a node in several blocks may end at
 * different times: they are in step where a block's ranks meet in every layer, and in the norm
 * before what follows; but not where second shares are gathered so, ahead of layers: ranks with the
 * quicker pairs are earlier with the next gathers. */
static bool mesh_is_alike(const RhProblem *c, const RhGrid *g, int32_t apart)
{
    int32_t each = c->platform->gpus_per_node, pp = g->extent[RH_DIM_PP];
    if (rh_grid_group_size(g, RH_GROUP_SAME_SHARE) > 1)
        return false;
    if (rh_grid_block(g) == 1)
        return pp == 1 || g->stride[RH_DIM_PP] % each == 0;
    if (!rh_grid_block_is_solid(g) || !rh_grid_block_meets(g))
        return false;
    if (g->low[RH_GROUP_DATA] % each == 0)
        return pp == 1 || g->stride[RH_DIM_PP] % each == 0;
    return pp == 1 && c->stack->gradient_norm && mesh_turns(c->platform, apart) &&
           !rh_grid_blocks_part(g);
}

/* Blocks of a stage lie alike where they and nodes fit into one another, and are joined alike. */
static bool blocks_lie_alike(const RhProblem *c, const RhGrid *g)
{
    const RhPlatform *p = c->platform;
    int32_t apart = rh_grid_block_is_solid(g) ? rh_grid_block(g) : rh_grid_block_stride(g);
    bool fit = p->gpus_per_node % apart == 0 || apart % p->gpus_per_node == 0;
    return fit && (p->mesh.gpus == 0 || mesh_is_alike(c, g, apart));
}

/* Sets the block's placement in every stage; returns false if not all are equal. */
static bool place_ranks(RhBoundCache *s, RhGroupNetwork *n, int32_t block, int32_t rank)
{
    const RhGrid *g = &n->grid;
    bool in_node = rh_grid_block_is_solid(g) && n->block <= s->c->platform->gpus_per_node;
    bool same = true;
    for (int32_t stage = 0; stage < g->extent[RH_DIM_PP]; stage++) {
        n->placement[stage] = n->uniform && stage > 0 && in_node
                                  ? n->placement[0]
                                  : placement_of(s, n, stage, block, rank);
        same = same && n->placement[stage] == n->placement[0];
    }
    return same;
}

/* The place in the block whose ranks' groups cross nodes most often, over all stages. One for all: a
 * message goes to the same place of the next stage's block, and no other rank there need wait for it
 * before they meet. So what a bound adds up, from stage to stage, is what one rank of each waits for. */
static int32_t worst_place(const RhGroupNetwork *n)
{
    int32_t worst = 0;
    double most = 0;
    for (int32_t place = 0; place < n->block; place++) {
        double crossed = 0;
        for (int32_t stage = 0; stage < n->grid.extent[RH_DIM_PP]; stage++)
            crossed += n->placement[stage]->crossed[place];
        if (crossed > most) {
            most = crossed;
            worst = place;
        }
    }
    return worst;
}

/* Follows a block: sets its placements with its worst place. `key` is the key of its placements if
 * stages differ. */
static void follow(RhBoundCache *s, RhGroupNetwork *n, int32_t block, int32_t key)
{
    n->placement = g_new(const RhPlacement *, n->grid.extent[RH_DIM_PP]);
    n->followed = block;
    bool same = place_ranks(s, n, n->followed, 0);
    int32_t rank = worst_place(n);
    if (rank > 0)
        same = place_ranks(s, n, n->followed, rank);
    n->placement_key = same ? n->placement[0]->id : key;
}

static void place(RhBoundCache *s, RhGroupNetwork *n)
{
    n->uniform = blocks_lie_alike(s->c, &n->grid);
    follow(s, n, n->uniform ? 0 : worst_block(s->c->platform, &n->grid), ~n->id);
}

/* --- stages that stand alike --- */

/* Ranks of a role that lie on one node, from any that is a multiple of so many on. */
static int32_t side_by_side(const RhPlatform *p, const RhRole *role)
{
    int32_t count = rh_common_divisor(p->gpus_per_node, role->first_rank);
    if (role->spans_count == 0 || role->spans[0].stride != 1)
        return 1;
    count = rh_common_divisor(count, role->spans[0].extent);
    for (int32_t k = 1; k < role->spans_count; k++)
        count = rh_common_divisor(count, role->spans[k].stride);
    return count;
}

static RhFootprint footprint_of(const RhPlatform *p, const RhRole *role)
{
    RhFootprint set = rh_platform_footprint();
    int32_t step = side_by_side(p, role); /* one stands for all on its node */
    for (int32_t i = 0; i < role->ranks_count; i += step)
        rh_platform_footprint_add(p, &set, rh_role_rank(role, i));
    return set;
}

/* All stages have the same box of ranks: of each the first whose box, moved to this one's place,
 * meets links like its own. Where replicas do not lie alike, every stage stands for itself. */
static void find_alike(const RhPlatform *p, RhGroupNetwork *n)
{
    int32_t pp = (int32_t)n->skeleton->roles->len, kinds = 0;
    g_autofree RhFootprint *sets = g_new(RhFootprint, pp);
    g_autofree int32_t *first = g_new(int32_t, pp);
    n->alike = g_new(int32_t, pp);
    for (int32_t stage = 0; stage < pp; stage++) {
        const RhRole *role = rh_program_role(n->skeleton, stage);
        n->alike[stage] = stage;
        for (int32_t k = 0; k < kinds && n->alike[stage] == stage; k++) {
            int32_t from = rh_program_role(n->skeleton, first[k])->first_rank;
            if (rh_platform_moves_alike(p, &sets[k], role->first_rank - from))
                n->alike[stage] = first[k];
        }
        if (n->uniform && n->alike[stage] == stage) {
            first[kinds] = stage;
            sets[kinds++] = footprint_of(p, role);
        }
    }
}

/* --- messages --- */

RhLinkCost rh_link_cost(const RhPlatform *p, int32_t src, int32_t dst)
{
    RhLink links[RH_ROUTE_MAX];
    int n = rh_platform_route(p, src, dst, links);
    double slowest = (double)INFINITY;
    for (int k = 0; k < n; k++)
        slowest = fmin(slowest, rh_platform_link_bytes_per_s(p, links[k]));
    return (RhLinkCost){rh_platform_route_latency_s(p, src, dst), 1 / slowest};
}

/* GPUs after which switches of every tier begin anew, `gpus` at most: a message from further on
 * climbs as high as one from so many before, to switches that are no over_budget. */
static int32_t period_of(const RhPlatform *p, int32_t gpus)
{
    int64_t nodes = 1;
    if (p->link_changes->len > 0)
        return gpus;
    for (int32_t t = 0; t + 1 < p->tiers_count && nodes < gpus; t++) {
        int32_t below = p->tiers[t].nodes_per_group;
        nodes *= below / rh_common_divisor(below, (int32_t)nodes);
    }
    return (int32_t)MIN(nodes * p->gpus_per_node, gpus);
}

/* The best of the messages looked at. */
typedef struct {
    RhLinkCost best;
    uint32_t seen; /* kinds of routes, a bit each */
} Luck;

static Luck no_luck(void)
{
    return (Luck){{(double)INFINITY, (double)INFINITY}, 0};
}

static void look(const RhPlatform *p, int32_t src, int32_t dst, Luck *luck)
{
    int32_t kind = rh_platform_route_kind(p, src, dst);
    uint32_t bit = kind < 0 ? 0 : UINT32_C(1) << kind;
    if (luck->seen & bit)
        return;
    luck->seen |= bit;
    RhLinkCost hop = rh_link_cost(p, src, dst);
    luck->best.latency_s = fmin(luck->best.latency_s, hop.latency_s);
    luck->best.s_per_byte = fmin(luck->best.s_per_byte, hop.s_per_byte);
}

/* The luckiest rank's message `delta` ranks on: every rank's takes at least this. Between the same
 * places of two nodes one GPU of each node speaks for all; a message that stays in a node for some
 * GPUs goes to the next node for the others, and two nodes show both. */
static RhLinkCost luckiest(const RhPlatform *p, int32_t gpus, int32_t delta)
{
    Luck luck = no_luck();
    int32_t each = p->gpus_per_node, first = MAX(0, -delta);
    int32_t step = delta % each == 0 ? each : 1;
    int32_t sources = ABS(delta) < each ? 2 * each : period_of(p, gpus);
    int32_t end = (int32_t)MIN(gpus, (int64_t)first + sources);
    for (int32_t src = first; src < end && src + delta < gpus; src += step)
        look(p, src, src + delta, &luck);
    return luck.best;
}

/* The luckiest of one stage's ranks, of which none is luckier than `least`; that where there are too
 * many to look at. */
static RhLinkCost luckiest_of(const RhPlatform *p, const RhGrid *g, int32_t stage, int32_t delta,
                              const RhLinkCost *least)
{
    Luck luck = no_luck();
    int32_t count = rh_grid_stage_ranks(g), each = delta % p->gpus_per_node ? 1 : p->gpus_per_node;
    int32_t looks = LOOKS_MAX / g->extent[RH_DIM_PP], row = rh_common_divisor(rh_grid_row(g), each);
    for (int32_t place = 0, last = -1; place < count; place += row) { /* on a node */
        int32_t src = rh_grid_rank(g, stage, place);
        if (src / each == last)
            continue;
        last = src / each;
        if (looks-- == 0)
            return *least;
        look(p, src, src + delta, &luck);
        if (luck.best.latency_s == least->latency_s && luck.best.s_per_byte == least->s_per_byte)
            break;
    }
    return luck.best;
}

/* All stages but the last and the first are as far from their neighbours as any other. */
static void list_hops(const RhProblem *c, const RhGrid *g, RhGroupNetwork *n)
{
    int32_t pp = g->extent[RH_DIM_PP], stride = g->stride[RH_DIM_PP];
    n->next = g_new0(RhLinkCost, pp);
    n->back = g_new0(RhLinkCost, pp);
    if (pp == 1)
        return;
    n->least_next = luckiest(c->platform, c->job.gpus, stride);
    n->least_back = luckiest(c->platform, c->job.gpus, -stride);
    for (int32_t s = 0; s + 1 < pp; s++) {
        n->next[s] = luckiest_of(c->platform, g, s, stride, &n->least_next);
        n->back[s + 1] = luckiest_of(c->platform, g, s + 1, -stride, &n->least_back);
    }
    n->next[pp - 1] = luckiest(c->platform, c->job.gpus, -(pp - 1) * stride);
    n->back[0] = luckiest(c->platform, c->job.gpus, (pp - 1) * stride);
}

/* --- blocks that lie otherwise --- */

static bool lies_as(const RhGroupNetwork *a, const RhGroupNetwork *b)
{
    size_t stages = (size_t)a->grid.extent[RH_DIM_PP];
    return memcmp(a->placement, b->placement, stages * sizeof(const RhPlacement *)) == 0;
}

static bool is_known(const RhGroupNetwork *n, const RhGroupNetwork *other)
{
    bool known = lies_as(n, other);
    for (int32_t i = 0; i < n->others_count; i++)
        known = known || lies_as(&n->others[i], other);
    return known;
}

/* The messages of the rank that is followed. */
static void own_hops(const RhPlatform *p, RhGroupNetwork *n)
{
    int32_t pp = n->grid.extent[RH_DIM_PP], place = n->followed * n->block + n->placement[0]->rank;
    for (int32_t s = 0; pp > 1 && s < pp; s++) {
        int32_t here = rh_grid_rank(&n->grid, s, place);
        n->next[s] = rh_link_cost(p, here, rh_grid_rank(&n->grid, (s + 1) % pp, place));
        n->back[s] = rh_link_cost(p, here, rh_grid_rank(&n->grid, (s + pp - 1) % pp, place));
    }
}

/* Each is a chain of its own until replicas meet. */
static void list_others(RhBoundCache *s, RhGroupNetwork *n)
{
    int32_t count = rh_grid_stage_ranks(&n->grid) / n->block, pp = n->grid.extent[RH_DIM_PP];
    n->others = g_new0(RhGroupNetwork, OTHERS_MAX);
    for (int32_t block = 0; block < count && n->others_count < OTHERS_MAX; block++) {
        RhGroupNetwork other = *n;
        follow(s, &other, block, ~(n->id + OTHERS_STRIDE * (n->others_count + 1)));
        if (is_known(n, &other)) {
            g_free(other.placement);
            continue;
        }
        other.others = NULL;
        other.others_count = 0;
        other.next = g_new0(RhLinkCost, pp);
        other.back = g_new0(RhLinkCost, pp);
        own_hops(s->c->platform, &other);
        n->others[n->others_count++] = other;
    }
}

RhGroupNetwork *rh_group_network_new(RhBoundCache *cache, const RhLayout *l)
{
    RhGroupNetwork *n = g_new0(RhGroupNetwork, 1);
    n->grid = rh_grid(l);
    n->id = (int32_t)g_hash_table_size(cache->nets.table) + 1;
    n->block = rh_grid_block(&n->grid);
    n->skeleton = rh_train_skeleton(cache->c, l, n->groups);
    place(cache, n);
    find_alike(cache->c->platform, n);
    list_hops(cache->c, &n->grid, n);
    if (!n->uniform && cache->c->job.gpus <= OTHERS_GPUS_MAX) {
        own_hops(cache->c->platform, n);
        list_others(cache, n);
    }
    return n;
}

void rh_group_network_free(void *data)
{
    RhGroupNetwork *n = data;
    for (int32_t i = 0; i < n->others_count; i++) {
        g_free(n->others[i].placement);
        g_free(n->others[i].next);
        g_free(n->others[i].back);
    }
    g_free(n->others);
    rh_program_free(n->skeleton);
    g_free(n->placement);
    g_free(n->alike);
    g_free(n->next);
    g_free(n->back);
    g_free(n);
}
