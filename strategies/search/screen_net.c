/* Nets: groups, where replicas lie, and messages between stages. */
#include <math.h>

#include "strategies/search/screen.h"

/* Replicas looked at for the one whose ranks lie worst. */
#define REPLICAS_MAX 64

/* --- placements --- */

static int32_t rank_of(const RhGrid *g, int32_t stage, int32_t replica, int32_t tp, int32_t cp)
{
    return stage * g->stride[RH_DIM_PP] + replica * g->stride[RH_DIM_DP] +
           tp * g->stride[RH_DIM_TP] + cp * g->stride[RH_DIM_CP];
}

/* The replica's GPUs in the order of its ranks, tp innermost. */
static int32_t *gpus_of(const RhGrid *g, int32_t stage, int32_t replica)
{
    int32_t tp = g->extent[RH_DIM_TP], cp = g->extent[RH_DIM_CP];
    int32_t *gpus = g_new(int32_t, tp * cp);
    for (int32_t c = 0; c < cp; c++)
        for (int32_t t = 0; t < tp; t++)
            gpus[c * tp + t] = rank_of(g, stage, replica, t, c);
    return gpus;
}

static int32_t nodes_spanned(const RhPlatform *p, const int32_t *gpus, int32_t count)
{
    int32_t changes = 1;
    for (int32_t i = 1; i < count; i++)
        changes += rh_platform_node_of(p, gpus[i]) != rh_platform_node_of(p, gpus[i - 1]);
    return changes;
}

/* Equal for replicas whose collectives take the same time: inside a node all places are alike;
 * between nodes the places count, and how far they are from the first one's. */
static char *signature(const RhPlatform *p, const RhGrid *g, const int32_t *gpus)
{
    int32_t count = g->extent[RH_DIM_TP] * g->extent[RH_DIM_CP];
    int32_t node = rh_platform_node_of(p, gpus[0]);
    GString *s = g_string_new(NULL);
    g_string_printf(s, "%d %d", g->extent[RH_DIM_TP], g->extent[RH_DIM_CP]);
    if (nodes_spanned(p, gpus, count) > 1)
        for (int32_t i = 0; i < count; i++)
            g_string_append_printf(s, " %d/%d/%.17g", rh_platform_node_of(p, gpus[i]) - node,
                                   gpus[i] % p->gpus_per_node,
                                   rh_platform_route_latency_s(p, gpus[0], gpus[i]));
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

/* The rank whose groups cross nodes most often, the tensor group's first. */
static int32_t worst_rank(const RhPlatform *p, const RhPlacement *at)
{
    int32_t worst = 0, most = 0;
    for (int32_t rank = 0; rank < at->program->ranks_count; rank++) {
        int32_t now = 1024 * crossings(p, at->program, at->groups[RH_GROUP_TENSOR], rank) +
                      crossings(p, at->program, at->groups[RH_GROUP_CONTEXT], rank);
        if (now > most) {
            most = now;
            worst = rank;
        }
    }
    return worst;
}

static RhPlacement *placement_new(const RhPlatform *p, const RhGrid *g, int32_t id, int32_t *gpus)
{
    RhPlacement *at = g_new0(RhPlacement, 1);
    int32_t tp = g->extent[RH_DIM_TP], cp = g->extent[RH_DIM_CP];
    RhSpan all[] = {{1, tp}, {tp, cp}};
    at->id = id;
    at->program = rh_program_new(tp * cp);
    at->program->gpu_of_rank = gpus;
    for (int kind = 0; kind < RH_GROUP_LAST; kind++)
        at->groups[kind] = -1;
    at->groups[RH_GROUP_TENSOR] = rh_program_add_group(at->program, "tp", &all[0], 1);
    at->groups[RH_GROUP_CONTEXT] = rh_program_add_group(at->program, "cp", &all[1], 1);
    rh_program_begin_role(at->program, "replica", 0, all, 2);
    rh_program_end_role(at->program);
    at->rank = worst_rank(p, at);
    return at;
}

void rh_placement_free(void *data)
{
    RhPlacement *at = data;
    rh_program_free(at->program);
    g_free(at);
}

static const RhPlacement *placement_of(RhScreen *s, const RhGrid *g, int32_t stage, int32_t replica)
{
    g_autofree int32_t *gpus = gpus_of(g, stage, replica);
    g_autofree char *key = signature(s->c->platform, g, gpus);
    RhPlacement *at = g_hash_table_lookup(s->placement_of, key);
    if (!at) {
        at = placement_new(s->c->platform, g, (int32_t)s->placements->len, g_steal_pointer(&gpus));
        g_ptr_array_add(s->placements, at);
        g_hash_table_insert(s->placement_of, g_steal_pointer(&key), at);
    }
    return at;
}

/* The replica that crosses nodes most often, over all stages: a bound may follow any. */
static int32_t worst_replica(const RhPlatform *p, const RhGrid *g)
{
    int32_t worst = 0, most = -1, count = g->extent[RH_DIM_TP] * g->extent[RH_DIM_CP];
    for (int32_t replica = 0; replica < MIN(g->extent[RH_DIM_DP], REPLICAS_MAX); replica++) {
        int32_t crossings = 0;
        for (int32_t stage = 0; stage < g->extent[RH_DIM_PP]; stage++) {
            g_autofree int32_t *gpus = gpus_of(g, stage, replica);
            crossings += nodes_spanned(p, gpus, count);
        }
        if (crossings > most) {
            most = crossings;
            worst = replica;
        }
    }
    return worst;
}

static void place(RhScreen *s, RhNet *n, const RhGrid *g)
{
    int32_t per_node = s->c->platform->gpus_per_node, pp = g->extent[RH_DIM_PP];
    int32_t count = g->extent[RH_DIM_TP] * g->extent[RH_DIM_CP];
    n->uniform = per_node % count == 0 || count % per_node == 0;
    int32_t replica = n->uniform ? 0 : worst_replica(s->c->platform, g);
    bool same = true;
    n->placement = g_new(const RhPlacement *, pp);
    for (int32_t stage = 0; stage < pp; stage++) {
        n->placement[stage] = n->uniform && stage > 0 && count <= per_node
                                  ? n->placement[0]
                                  : placement_of(s, g, stage, replica);
        same = same && n->placement[stage] == n->placement[0];
    }
    n->placement_key = same ? n->placement[0]->id : ~n->id;
}

/* --- messages --- */

static void consider(const RhPlatform *p, int32_t src, int32_t dst, RhHop *best)
{
    RhLink links[RH_ROUTE_MAX];
    int n = rh_platform_route(p, src, dst, links);
    double slowest = (double)INFINITY;
    for (int k = 0; k < n; k++)
        slowest = fmin(slowest, rh_platform_link_bytes_per_s(p, links[k]));
    best->latency_s = fmin(best->latency_s, rh_platform_route_latency_s(p, src, dst));
    best->s_per_byte = fmin(best->s_per_byte, 1 / slowest);
}

/* The luckiest rank's message `delta` ranks on: every rank's takes at least this. Between the same
 * places of two nodes one GPU of each node speaks for all; a message that stays in a node for some
 * GPUs goes to the next node for the others, and two nodes show both. */
static RhHop luckiest(const RhPlatform *p, int32_t gpus, int32_t delta)
{
    RhHop best = {(double)INFINITY, (double)INFINITY};
    int32_t each = p->gpus_per_node, first = MAX(0, -delta);
    int32_t step = delta % each == 0 ? each : 1;
    int32_t end = ABS(delta) < each ? MIN(gpus, first + 2 * each) : gpus;
    for (int32_t src = first; src < end && src + delta < gpus; src += step)
        consider(p, src, src + delta, &best);
    return best;
}

/* All stages but the last and the first are as far from their neighbours as any other. */
static void list_hops(const RhCase *c, const RhGrid *g, RhNet *n)
{
    int32_t pp = g->extent[RH_DIM_PP], stride = g->stride[RH_DIM_PP];
    n->next = g_new0(RhHop, pp);
    n->back = g_new0(RhHop, pp);
    if (pp == 1)
        return;
    RhHop next = luckiest(c->platform, c->job.gpus, stride);
    RhHop back = luckiest(c->platform, c->job.gpus, -stride);
    for (int32_t s = 0; s < pp; s++) {
        n->next[s] = next;
        n->back[s] = back;
    }
    n->next[pp - 1] = luckiest(c->platform, c->job.gpus, -(pp - 1) * stride);
    n->back[0] = luckiest(c->platform, c->job.gpus, (pp - 1) * stride);
}

RhNet *rh_net_new(RhScreen *screen, const RhLayout *l)
{
    RhNet *n = g_new0(RhNet, 1);
    RhGrid grid = rh_grid(l);
    n->id = (int32_t)g_hash_table_size(screen->nets.table) + 1;
    n->tp = grid.extent[RH_DIM_TP];
    n->cp = grid.extent[RH_DIM_CP];
    n->stride_tp = grid.stride[RH_DIM_TP];
    n->stride_cp = grid.stride[RH_DIM_CP];
    n->skeleton = rh_train_skeleton(screen->c, l, n->groups);
    place(screen, n, &grid);
    list_hops(screen->c, &grid, n);
    return n;
}

void rh_net_free(void *data)
{
    RhNet *n = data;
    rh_program_free(n->skeleton);
    g_free(n->placement);
    g_free(n->next);
    g_free(n->back);
    g_free(n);
}
