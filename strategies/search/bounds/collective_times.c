/* Idle seconds of collectives. */
#include <math.h>
#include <string.h>

#include "base/serialize.h"
#include "sim/collective/periodic_rank_reduction.h"
#include "strategies/search/bounds/stage_comm_groups.h"

/* The builder's choice: one for all groups of a kind, the first one's. */
RhAlgo rh_bound_algorithm(RhBoundCache *s, const RhGroupNetwork *net, int32_t group, RhOp op,
                          double bytes, const RhRouting *routing)
{
    RhCollectiveKey key = {net->id, 0, group, (int32_t)op, bytes, *routing};
    gpointer found = g_hash_table_lookup(s->algorithms, &key);
    if (!found) {
        RhAlgo algo = rh_train_algorithm(s->sites, net->skeleton, group, op, bytes, routing);
        found = GINT_TO_POINTER(1 + (gint)algo);
        g_hash_table_insert(s->algorithms, g_memdup2(&key, sizeof key), found);
    }
    return (RhAlgo)(GPOINTER_TO_INT(found) - 1);
}

static RhCollectiveSpec call_of(RhBoundCache *s, const RhGroupNetwork *net, int32_t group, RhOp op,
                                double bytes, const RhRouting *routing)
{
    return (RhCollectiveSpec){op, rh_bound_algorithm(s, net, group, op, bytes, routing), bytes,
                              *routing};
}

static RhCollectiveSpec plain_call(RhBoundCache *s, const RhGroupNetwork *net, int32_t group,
                                   RhOp op, double bytes)
{
    return call_of(s, net, group, op, bytes, &(RhRouting){0});
}

/* Every instance of a group in a role at once; the one at its first rank decides the steps. */
static RhScheduleTime together(const RhBoundCache *s, const RhProgram *p, int32_t group,
                               int32_t role, const RhCollectiveSpec *call)
{
    return rh_collective_time(p, s->c->platform, group, role, call);
}

static double together_s(const RhBoundCache *s, const RhProgram *p, int32_t group, int32_t role,
                         const RhCollectiveSpec *call)
{
    RhScheduleTime time = together(s, p, group, role, call);
    return time.fixed_s + time.moving_s;
}

/* Stores a time in the table and, if learning, among those for other processes. */
static void *keep(RhBoundCache *s, const RhCollectiveKey *key, const void *value, size_t size)
{
    void *kept = g_memdup2(value, size);
    g_hash_table_insert(s->collectives, g_memdup2(key, sizeof *key), kept);
    if (s->learned && key->net < 0) {
        rh_pack(s->learned, &size, sizeof size);
        rh_pack(s->learned, key, sizeof *key);
        rh_pack(s->learned, value, size);
    }
    return kept;
}

/* Seconds of steps that are told in short, whose edges are counted once for all bytes; NAN: they are not. */
static double tally_s(RhBoundCache *s, RhCollectiveKey key, const RhProgram *p, int32_t group,
                      int32_t role, const RhCollectiveSpec *call)
{
    key.op = (int32_t)call->op * RH_ALGO_LAST + (int32_t)rh_collective_plain(call->algo);
    RhPatternTally *tally = g_hash_table_lookup(s->tallies, &key);
    if (!tally) {
        tally = rh_collective_tally_new(p, s->c->platform, group, role, call);
        if (!tally)
            return (double)NAN;
        g_hash_table_insert(s->tallies, g_memdup2(&key, sizeof key), tally);
    }
    RhScheduleTime time = rh_step_pattern_tally_time(tally, call->algo, call->bytes);
    return time.fixed_s + time.moving_s;
}

/* Returns the time of groups side by side. It is stored per byte, if times of other sizes follow
 * from one. `key` says which groups. */
static double together_kept_s(RhBoundCache *s, RhCollectiveKey key, const RhProgram *p,
                              int32_t group, int32_t role, const RhCollectiveSpec *call)
{
    if (call->bytes <= RH_LATENCY_BYTES)
        return together_s(s, p, group, role, call);
    key.stage = ~key.stage;
    key.op = (int32_t)call->op * RH_ALGO_LAST + (int32_t)call->algo;
    key.bytes = 0;
    key.routing = call->routing;
    const RhScheduleTime *kept = g_hash_table_lookup(s->collectives, &key);
    if (!kept && rh_collective_is_pipelined(call->op, call->algo)) {
        double seconds = tally_s(s, key, p, group, role, call);
        return isnan(seconds) ? together_s(s, p, group, role, call) : seconds;
    }
    if (!kept) {
        RhCollectiveSpec timed = *call;
        timed.bytes = RH_TIMED_BYTES;
        RhScheduleTime time = together(s, p, group, role, &timed);
        RhScheduleTime per_byte = {time.fixed_s, time.moving_s / RH_TIMED_BYTES, true};
        kept = keep(s, &key, &per_byte, sizeof per_byte);
    }
    return kept->fixed_s + kept->moving_s * call->bytes;
}

/* The groups of a stage, whatever the net they are of. */
static double stage_together_s(RhBoundCache *s, const RhGroupNetwork *net, int32_t stage,
                               RhGroupKind kind, const RhCollectiveSpec *call)
{
    RhCollectiveKey key = {.net = rh_bound_stage_groups(s, net, stage, kind)->id,
                           .stage = G_MAXINT32};
    return together_kept_s(s, key, net->skeleton, net->groups[kind], stage, call);
}

/* The instance that holds `rank`, alone. */
static double alone_s(const RhBoundCache *s, const RhProgram *p, int32_t group, int32_t rank,
                      const RhCollectiveSpec *call)
{
    const RhGroup *g = rh_program_group(p, group);
    g_autofree int32_t *gpus = g_new(int32_t, g->size);
    rh_group_members(g, rank, gpus);
    for (int32_t i = 0; i < g->size; i++)
        gpus[i] = rh_program_gpu(p, gpus[i]);
    if (call->routing.experts == 0)
        return rh_uncontended_time_s(s->alone, call->op, call->algo, g->size, gpus, call->bytes);
    g_autoptr(RhProgram) one = rh_program_new(g->size);
    RhStride all = {1, g->size};
    one->gpu_of_rank = g_steal_pointer(&gpus);
    int32_t only = rh_program_add_group(one, "alone", &all, 1);
    return together_s(s, one, only, -1, call);
}

/* The quickest instance alone. */
static double least_alone_s(RhBoundCache *s, const RhGroupNetwork *net, int32_t stage,
                            RhGroupKind kind, const RhCollectiveSpec *call)
{
    double least = (double)INFINITY;
    const GArray *apart = rh_bound_groups_apart(s, net, stage, kind);
    for (guint i = 0; i < apart->len; i++)
        least = rh_min_d(least, alone_s(s, net->skeleton, net->groups[kind],
                                        g_array_index(apart, int32_t, i), call));
    return least;
}

/* Do groups side by side go through rounds in step? They do not where pairs of GPUs are joined in
 * different ways, or where members share nodes in different ways (every third rank, on nodes of
 * four): a group that is ahead in a round meets fewer flows in the next. An algorithm between
 * neighbours alone has one round, and the last byte over a link is the last group's. For other
 * algorithms all bytes over the busiest link count, whatever the round. */
static bool rounds_keep_step(const RhBoundCache *s, const RhGroupNetwork *net, RhGroupKind kind,
                             const RhCollectiveSpec *call)
{
    const RhPlatform *p = s->c->platform;
    int32_t each = p->gpus_per_node, beside = net->grid.low[kind];
    bool alike = each % beside == 0 || beside % each == 0;
    bool joined_alike = p->mesh.gpus == 0 || net->block == 1 || net->block % each == 0;
    return (alike && joined_alike) || rh_collective_is_to_neighbours(call->op, call->algo);
}

/* Do the instances at a block's places go call by call? On a mesh some of its ranks, that communicate among
 * themselves, are ready before others; and of calls behind one another those of one instance then fill
 * what latencies leave of a link that it shares with the next. */
bool rh_bound_places_keep_step(const RhBoundCache *s, const RhGroupNetwork *net)
{
    return s->c->platform->mesh.gpus == 0 || !rh_grid_block_parts(&net->grid);
}

/* Side by side on a stage there is an instance for each place in a block. They are at one time in
 * the network where blocks, and their places, lie alike. Else each is taken to be alone, and the bound follows one
 * rank; or, where a block's ranks keep together, its slowest. Of a kind that has instances apart in
 * other blocks, the quickest is taken unless all lie alike. */
static double stage_s(RhBoundCache *s, const RhGroupNetwork *net, int32_t stage, RhGroupKind kind,
                      const RhCollectiveSpec *call)
{
    int32_t group = net->groups[kind];
    bool everywhere = rh_grid_group_meets_blocks(&net->grid, kind);
    bool meets = rh_grid_block_meets(&net->grid), keep = rh_bound_places_keep_step(s, net);
    bool together = net->uniform && (keep || meets) &&
                    (everywhere || rh_bound_stage_groups(s, net, stage, kind)->intervals_alike);
    if (together && keep && rounds_keep_step(s, net, kind, call))
        return stage_together_s(s, net, stage, kind, call);
    if (!everywhere)
        return least_alone_s(s, net, stage, kind, call);
    int32_t one = net->placement[stage]->rank;
    RhCollectiveKey key = {net->id, stage, (int32_t)kind, (int32_t)call->op, call->bytes, {0}};
    double slowest = together ? rh_bound_busiest_s(s, net, group, &key) : 0;
    for (int32_t place = meets ? 0 : one; place < (meets ? net->block : one + 1); place++) {
        int32_t rank = rh_grid_rank(&net->grid, stage, place);
        slowest = fmax(slowest, alone_s(s, net->skeleton, group, rank, call));
    }
    return slowest;
}

/* The kinds of pairs there are: how far one member is from the other. Between the same places of two
 * nodes one GPU of each node speaks for all. */
typedef struct {
    RhLinkCost hop;
    int32_t rank; /* in one of them */
} Pair;

static GArray *kinds_of_pairs(const RhBoundCache *s, const RhProgram *p, int32_t stage,
                              int32_t group)
{
    const RhRole *role = rh_program_role(p, stage);
    const RhGroup *g = rh_program_group(p, group);
    GArray *kinds = g_array_new(FALSE, FALSE, sizeof(Pair));
    bool same_places = g->spans[0].stride % s->c->platform->gpus_per_node == 0;
    int32_t node = -1;
    for (int32_t i = 0; i < role->ranks_count; i++) {
        int32_t rank = rh_role_rank(role, i), before = node;
        node = rh_platform_node_of(s->c->platform, rank);
        if (same_places && node == before)
            continue;
        Pair pair = {rh_link_cost(s->c->platform, rank, rank + g->spans[0].stride), rank};
        bool known = false;
        for (guint k = 0; k < kinds->len && !known; k++)
            known = memcmp(&g_array_index(kinds, Pair, k).hop, &pair.hop, sizeof pair.hop) == 0;
        if (!known)
            g_array_append_val(kinds, pair);
    }
    return kinds;
}

/* Pairs of a rank of this stage and one of another. Where blocks lie alike all begin behind the same
 * sums of gradients: at one time in the network when pairs are of one kind, else the slowest is
 * taken to be alone. Where blocks do not, the bound followed one of them until now, so it is the
 * quickest. */
static double pairs_s(RhBoundCache *s, const RhGroupNetwork *net, int32_t stage, RhGroupKind joins,
                      const RhCollectiveSpec *call)
{
    int32_t group = net->groups[joins];
    g_autoptr(GArray) kinds = kinds_of_pairs(s, net->skeleton, stage, group);
    if (net->uniform && kinds->len == 1)
        return stage_together_s(s, net, stage, joins, call);
    double slowest = 0, quickest = (double)INFINITY;
    for (guint k = 0; k < kinds->len; k++) {
        int32_t rank = g_array_index(kinds, Pair, k).rank;
        double alone = alone_s(s, net->skeleton, group, rank, call);
        slowest = rh_max_d(slowest, alone);
        quickest = rh_min_d(quickest, alone);
    }
    return net->uniform ? slowest : quickest;
}

/* Ranks of all stages meet, in the first of their groups: latencies, which no other traffic makes
 * longer. The step waits for the slowest group, so any of them is a bound. All ranks of the job are the
 * same ones in every layout. */
static double stages_s(RhBoundCache *s, const RhGroupNetwork *net, int32_t stage, RhGroupKind kind,
                       const RhCollectiveSpec *call)
{
    int32_t group = net->groups[kind];
    int32_t size = rh_program_group(net->skeleton, group)->size;
    bool all = size == net->skeleton->ranks_count;
    RhCollectiveKey key = {0, stage, size, (int32_t)call->op, call->bytes, {0}};
    double *found = all ? g_hash_table_lookup(s->collectives, &key) : NULL;
    if (found)
        return *found;
    double seconds = alone_s(s, net->skeleton, group, 0, call);
    if (all)
        g_hash_table_insert(s->collectives, g_memdup2(&key, sizeof key),
                            g_memdup2(&seconds, sizeof seconds));
    return seconds;
}

/* Beyond the deadline no more is timed: among many thousands of ranks that takes its time. What is not
 * timed takes none, and a bound without it is a bound. */
static bool too_late(const RhBoundCache *s)
{
    return rh_deadline_passed(s->deadline);
}

double rh_bound_block_s(RhBoundCache *s, const RhGroupNetwork *net, const RhPlacement *at,
                        const RhLayerOp *task)
{
    int32_t group = at->groups[task->group];
    uint64_t hash = net->uniform ? at->group_hash[task->group] : at->hash;
    RhCollectiveKey key = {.net = ~(int32_t)(hash >> 33),
                           .stage = (int32_t)(uint32_t)hash,
                           .group = net->uniform ? -1 : (int32_t)task->group,
                           .op = (int32_t)task->op,
                           .bytes = task->bytes,
                           .routing = task->routing};
    double *found = g_hash_table_lookup(s->collectives, &key);
    if (!found && too_late(s))
        return 0;
    if (!found) {
        RhCollectiveSpec call =
            call_of(s, net, net->groups[task->group], task->op, task->bytes, &task->routing);
        found = g_new(double, 1);
        *found = net->uniform ? together_kept_s(s, key, at->program, group, 0, &call)
                              : alone_s(s, at->program, group, at->rank, &call);
        g_hash_table_insert(s->collectives, g_memdup2(&key, sizeof key), found);
    }
    return *found;
}

/* A stage and the one as far from the other end: the quickest of their groups alone. */
static double mirrored_s(RhBoundCache *s, const RhGroupNetwork *net, int32_t stage,
                         RhGroupKind kind, const RhCollectiveSpec *call)
{
    const RhRole *role = rh_program_role(net->skeleton, stage);
    int32_t group = net->groups[kind] + rh_grid_pair(&net->grid, stage);
    double quickest = (double)INFINITY;
    for (int32_t i = 0, first; i < role->ranks_count; i++) {
        int32_t rank = rh_role_rank(role, i);
        if (rh_group_place(rh_program_group(net->skeleton, group), rank, &first) >= 0 &&
            first == rank)
            quickest = rh_min_d(quickest, alone_s(s, net->skeleton, group, rank, call));
    }
    return quickest;
}

static double call_s(RhBoundCache *s, const RhGroupNetwork *net, int32_t stage, RhGroupKind group,
                     const RhCollectiveSpec *call)
{
    return (rh_group_pairs_stages(group)       ? mirrored_s
            : rh_group_meets_all_stages(group) ? stages_s
            : rh_group_joins_stages(group)     ? pairs_s
                                               : stage_s)(s, net, stage, group, call);
}

/* Remembered under `key`; a call without an algorithm takes the library's. */
static double call_kept_s(RhBoundCache *s, const RhGroupNetwork *net, RhCollectiveKey key,
                          RhCollectiveSpec call)
{
    RhGroupKind group = (RhGroupKind)key.group;
    /* The first stage calls all that join stages, and all callers take the same time. */
    key.stage = rh_group_pairs_stages(group)   ? rh_grid_pair(&net->grid, key.stage)
                : rh_group_joins_stages(group) ? 0
                                               : net->alike[key.stage];
    double *found = g_hash_table_lookup(s->collectives, &key);
    if (!found && too_late(s))
        return 0;
    if (!found) {
        found = g_new(double, 1);
        if (call.algo == RH_ALGO_NONE)
            call = plain_call(s, net, net->groups[group], call.op, call.bytes);
        *found = call_s(s, net, key.stage, group, &call);
        g_hash_table_insert(s->collectives, g_memdup2(&key, sizeof key), found);
    }
    return *found;
}

double rh_bound_collective_s(RhBoundCache *s, const RhGroupNetwork *net, int32_t stage,
                             RhGroupKind group, RhOp op, double bytes)
{
    if (net->groups[group] < 0 || bytes <= 0)
        return 0;
    RhCollectiveKey key = {
        .net = net->id, .stage = stage, .group = (int32_t)group, .op = (int32_t)op, .bytes = bytes};
    return call_kept_s(s, net, key, (RhCollectiveSpec){op, RH_ALGO_NONE, bytes, {0}});
}

double rh_bound_latency_s(RhBoundCache *s, const RhGroupNetwork *net, int32_t stage,
                          RhGroupKind group, RhOp op, double bytes)
{
    if (net->groups[group] < 0 || bytes <= 0)
        return 0;
    RhCollectiveSpec call = plain_call(s, net, net->groups[group], op, bytes);
    RhCollectiveKey key = {.net = net->id,
                           .stage = stage,
                           .group = (int32_t)group,
                           .op = -1 - ((int32_t)op * RH_ALGO_LAST + (int32_t)call.algo),
                           .bytes = 1};
    call.bytes = 1;
    return call_kept_s(s, net, key, call);
}
