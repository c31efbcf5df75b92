#include "sim/engine/program_flows.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/garray_access.h"
#include "sim/collective/collective.h"
#include "sim/equivalent_rank_blocks.h"
#include "sim/map64.h"
#include "sim/tier_copy.h"

/* --- kinds of collectives and messages --- */

static int32_t add_kind(RhTraffic *t, RhMap64 *map, int32_t index)
{
    const RhTask *task = rh_program_task(t->program, index);
    uint64_t key = rh_mix64((uint64_t)task->group << 16 | (uint64_t)task->op << 8 | task->algo,
                            rh_bits64(task->bytes));
    if (task->volumes)
        key = rh_mix64(key, (uint64_t)task->volumes);
    int32_t *kind = rh_map64_at(map, key, -1);
    if (*kind < 0) {
        *kind = (int32_t)t->kinds->len;
        RhTrafficKind new_kind = {
            .group = task->group, .task = index, .bytes = task->bytes, .schedules_first = -1};
        g_array_append_val(t->kinds, new_kind);
    }
    return *kind;
}

static int32_t add_peer(RhTraffic *t, RhMap64 *map, int32_t role, int32_t index)
{
    const RhTask *task = rh_program_task(t->program, index);
    bool copies = task->kind == RH_TASK_COPY;
    uint32_t what = copies ? (uint32_t)task->from << 8 | task->to : (uint32_t)task->peer_delta;
    uint64_t key = rh_mix64((uint64_t)role << 8 | task->kind, what);
    int32_t *peer = rh_map64_at(map, key, -1);
    if (*peer < 0) {
        *peer = (int32_t)t->peers->len;
        RhPeer new_peer;
        memset(&new_peer, 0, sizeof new_peer); /* including padding: it is compared as bytes */
        new_peer.key = key;
        new_peer.role = role;
        new_peer.delta = copies ? 0 : task->peer_delta;
        new_peer.pattern = -1;
        if (task->kind != RH_TASK_RECV) {
            RhPattern pattern;
            memset(&pattern, 0, sizeof pattern);
            pattern.group = pattern.shape = -1;
            pattern.role = role;
            pattern.delta = new_peer.delta;
            pattern.task = index;
            new_peer.pattern = (int32_t)t->patterns->len;
            g_array_append_val(t->patterns, pattern);
        }
        g_array_append_val(t->peers, new_peer);
    }
    return *peer;
}

static void find_kinds(RhTraffic *t)
{
    const RhProgram *p = t->program;
    g_autoptr(RhMap64) kinds = rh_map64_new();
    g_autoptr(RhMap64) peers = rh_map64_new();
    t->calls = g_new0(bool, p->roles->len * p->groups->len + 1);
    t->kind_of_task = g_new(int32_t, p->tasks->len + 1);
    for (uint32_t r = 0; r < p->roles->len; r++) {
        const RhRole *role = rh_program_role(p, (int32_t)r);
        for (int32_t i = role->tasks_first; i < role->tasks_first + role->tasks_count; i++) {
            const RhTask *task = rh_program_task(p, i);
            t->kind_of_task[i] = -1;
            if (task->kind == RH_TASK_COLLECTIVE) {
                t->calls[r * p->groups->len + (uint32_t)task->group] = true;
                t->kind_of_task[i] = add_kind(t, kinds, i);
            } else if (task->kind == RH_TASK_SEND || task->kind == RH_TASK_RECV ||
                       task->kind == RH_TASK_COPY) {
                t->kind_of_task[i] = add_peer(t, peers, (int32_t)r, i);
            }
        }
    }
}

/* --- instances of groups --- */

/* Do neighbours, in ascending order, lie on one node? */
static bool lie_in_a_node(const RhTraffic *t, const int32_t *ranks, int32_t count)
{
    int32_t last = ranks[count - 1], each = t->platform->gpus_per_node;
    if (t->program->gpu_of_rank || count > each || ranks[0] / each != last / each)
        return false;
    for (int32_t i = 1; i < count; i++)
        if (ranks[i] <= ranks[i - 1])
            return false;
    return true;
}

/* Renumbers the members' GPUs: nodes by first appearance, and inside a node from the first GPU on
 * where no mesh makes a difference. `scratch` has room for as many. */
static void number_nodes(const RhTraffic *t, const int32_t *ranks, int32_t count, int32_t *numbers,
                         int32_t *scratch)
{
    int32_t nodes = 0, highest = -1, each = t->platform->gpus_per_node;
    bool places_count = t->platform->mesh.gpus > 0;
    if (!places_count && lie_in_a_node(t, ranks, count)) {
        memset(numbers, 0, sizeof *numbers * (size_t)count);
        return;
    }
    for (int32_t i = 0; i < count; i++) {
        int32_t gpu = rh_program_gpu(t->program, ranks[i]);
        int32_t node = rh_platform_node_of(t->platform, gpu);
        int32_t k = node > highest ? -1 : nodes - 1; /* mostly ascending */
        while (k >= 0 && scratch[k] != node)
            k--;
        if (k < 0) {
            k = nodes++;
            scratch[k] = node;
            highest = MAX(highest, node);
        }
        numbers[i] = k * each + (places_count ? gpu % each : 0);
    }
}

/* Index of the group's placement class with GPUs in these places. `scratch` has room for twice as
 * many. */
static int32_t intern_shape(RhTraffic *t, RhGroupTraffic *group, const int32_t *ranks,
                            int32_t count, int32_t *scratch)
{
    number_nodes(t, ranks, count, scratch, scratch + count);
    for (int32_t s = 0; s < group->shapes_count; s++)
        if (!memcmp(RH_AT(group->shapes, int32_t, s * count), scratch,
                    sizeof *scratch * (size_t)count))
            return s;
    g_array_append_vals(group->shapes, scratch, (guint)count);
    g_array_append_val(group->firsts, ranks[0]);
    g_array_set_size(group->meets, group->meets->len + t->program->roles->len);
    return group->shapes_count++;
}

static bool add_instance(RhTraffic *t, int32_t g, int32_t rank, int32_t *ranks, GError **error)
{
    const RhGroup *group = rh_program_group(t->program, g);
    RhGroupTraffic *traffic = &t->groups[g];
    if (rh_group_members(group, rank, ranks) < 0)
        return rh_fail(error, RH_ERROR_INPUT, "rank %d stands in no group %d", rank, g);
    for (int32_t i = 0; i < group->size; i++)
        if (ranks[i] < 0 || ranks[i] >= t->program->ranks_count)
            return rh_fail(error, RH_ERROR_INPUT, "group %d of rank %d holds rank %d of %d", g,
                           rank, ranks[i], t->program->ranks_count);
    int32_t id = (int32_t)t->instances->len;
    for (int32_t i = 0; i < group->size; i++)
        traffic->instance_of_rank[ranks[i]] = id;
    bool whole = t->block == 1 || rh_blocks_whole(group, t->block);
    RhInstance instance = {.group = g,
                           .shape =
                               intern_shape(t, traffic, ranks, group->size, ranks + group->size),
                           .members_first = (int32_t)t->members->len,
                           .members_count = group->size,
                           .alike = whole ? 1 : t->block};
    g_array_append_vals(t->members, ranks, (guint)group->size);
    g_array_append_val(t->instances, instance);
    return true;
}

static void group_begin(RhGroupTraffic *group, int32_t ranks_count)
{
    group->instance_of_rank = g_new(int32_t, ranks_count);
    memset(group->instance_of_rank, 0xff, sizeof(int32_t) * (size_t)ranks_count);
    group->shapes = g_array_new(FALSE, FALSE, sizeof(int32_t));
    group->firsts = g_array_new(FALSE, FALSE, sizeof(int32_t));
    group->meets = g_array_new(FALSE, TRUE, sizeof(bool));
}

static bool find_instances(RhTraffic *t, GError **error)
{
    const RhProgram *p = t->program;
    int32_t roles = (int32_t)p->roles->len;
    for (uint32_t g = 0; g < p->groups->len; g++) {
        RhGroupTraffic *group = &t->groups[g];
        g_autofree int32_t *ranks =
            g_new(int32_t, 3 * (size_t)MAX(rh_program_group(p, (int32_t)g)->size, 1));
        if (!rh_traffic_in_time(t, error))
            return false;
        for (int32_t rank = 0; rank < p->ranks_count; rank += t->block) {
            int32_t role = t->role_of_rank[rank];
            if (role < 0 || !t->calls[(uint32_t)role * p->groups->len + g])
                continue;
            if (!group->instance_of_rank)
                group_begin(group, p->ranks_count);
            if (group->instance_of_rank[rank] < 0 &&
                !add_instance(t, (int32_t)g, rank, ranks, error))
                return false;
            int32_t instance = group->instance_of_rank[rank];
            *RH_AT(group->meets, bool,
                   RH_AT(t->instances, RhInstance, instance)->shape *roles + role) = true;
        }
    }
    return true;
}

/* --- schedules and their patterns --- */

static bool same_edges(const RhTraffic *t, const RhPattern *pattern, const RhEdge *edges,
                       int32_t count)
{
    return pattern->drawn_count == count && !memcmp(RH_AT(t->drawn, RhEdge, pattern->drawn_first),
                                                    edges, sizeof *edges * (size_t)count);
}

static uint64_t hash_of(const GArray *edges)
{
    uint64_t hash = 71;
    for (guint i = 0; i < edges->len; i++) {
        const RhEdge *edge = RH_AT(edges, RhEdge, i);
        hash = rh_mix64(rh_mix64(hash, (uint64_t)edge->src << 32 | (uint32_t)edge->dst),
                        rh_bits64(edge->share));
    }
    return hash;
}

/* Index of the pattern of these edges, new or known. */
static int32_t intern_pattern(RhTraffic *t, int32_t group, int32_t shape, const GArray *edges)
{
    for (uint32_t i = 0; i < t->patterns->len; i++) {
        const RhPattern *pattern = RH_AT(t->patterns, RhPattern, i);
        if (pattern->group == group && pattern->shape == shape &&
            same_edges(t, pattern, RH_ELEMENTS(edges, RhEdge), (int32_t)edges->len))
            return (int32_t)i;
    }
    RhPattern pattern;
    memset(&pattern, 0, sizeof pattern);
    pattern.group = group;
    pattern.shape = shape;
    pattern.role = pattern.task = -1;
    pattern.drawn_first = (int32_t)t->drawn->len;
    pattern.drawn_count = (int32_t)edges->len;
    pattern.drawn_hash = hash_of(edges);
    g_array_append_vals(t->drawn, edges->data, edges->len);
    g_array_append_val(t->patterns, pattern);
    return (int32_t)t->patterns->len - 1;
}

static void add_round(RhTraffic *t, const RhTrafficKind *kind, int32_t shape,
                      const RhSchedule *schedule, const RhRound *of)
{
    g_autoptr(GArray) edges = g_array_new(FALSE, TRUE, sizeof(RhEdge));
    RhTrafficRound added = {.pattern = -1, .repeat = of->repeat};
    for (int32_t i = 0; i < of->flows_count; i++)
        added.bytes = MAX(added.bytes, RH_AT(schedule->flows, RhFlow, of->flows_first + i)->bytes);
    for (int32_t i = 0; i < of->flows_count; i++) {
        const RhFlow *flow = RH_AT(schedule->flows, RhFlow, of->flows_first + i);
        /* rounded so that schedules of other sizes find the same pattern */
        double share = added.bytes > 0 ? round(flow->bytes / added.bytes * 1e9) / 1e9 : 0;
        RhEdge edge;
        memset(&edge, 0, sizeof edge); /* compared as bytes */
        edge.src = flow->src;
        edge.dst = flow->dst;
        edge.share = share;
        g_array_append_val(edges, edge);
    }
    if (edges->len && of->repeat > 0)
        added.pattern = intern_pattern(t, kind->group, shape, edges);
    g_array_append_val(t->rounds, added);
}

/* used[shape]: does a role with this kind of collective take part in a group of that shape? */
static bool *shapes_used(const RhTraffic *t, int32_t kind)
{
    const RhProgram *p = t->program;
    const RhGroupTraffic *group = &t->groups[RH_AT(t->kinds, RhTrafficKind, kind)->group];
    int32_t roles = (int32_t)p->roles->len;
    bool *used = g_new0(bool, group->shapes_count + 1);
    g_autofree bool *runs = g_new0(bool, roles + 1);
    for (uint32_t i = 0; i < p->tasks->len; i++) {
        const RhTask *task = rh_program_task(p, (int32_t)i);
        if (task->kind == RH_TASK_COLLECTIVE && t->kind_of_task[i] == kind)
            runs[task->role] = true;
    }
    for (int32_t shape = 0; shape < group->shapes_count; shape++)
        for (int32_t role = 0; role < roles; role++)
            used[shape] |= runs[role] && *RH_AT(group->meets, bool, shape *roles + role);
    return used;
}

/* Computes the uncontended time in the first group of this shape. */
static RhTrafficSchedule uncontended_schedule(const RhTraffic *t, const RhTrafficKind *kind,
                                              int32_t shape)
{
    const RhTask *task = rh_program_task(t->program, kind->task);
    const RhGroup *group = rh_program_group(t->program, kind->group);
    g_autofree int32_t *gpus = g_new(int32_t, group->size);
    rh_group_members(group, *RH_AT(t->groups[kind->group].firsts, int32_t, shape), gpus);
    for (int32_t i = 0; i < group->size; i++)
        gpus[i] = rh_program_gpu(t->program, gpus[i]);
    return (RhTrafficSchedule){.alone_s = rh_uncontended_time_s(t->alone, (RhOp)task->op,
                                                                (RhAlgo)task->algo, group->size,
                                                                gpus, task->bytes)};
}

static bool is_latency_alone(const RhTraffic *t, const RhTrafficKind *kind)
{
    const RhTask *task = rh_program_task(t->program, kind->task);
    return task->bytes > 0 && task->bytes <= RH_LATENCY_BYTES && task->volumes == 0;
}

static bool add_schedules_of(RhTraffic *t, int32_t index, GError **error)
{
    RhTrafficKind *kind = RH_AT(t->kinds, RhTrafficKind, index);
    const RhGroupTraffic *group = &t->groups[kind->group];
    int32_t size = rh_program_group(t->program, kind->group)->size;
    kind->schedules_first = (int32_t)t->schedules->len;
    g_autofree bool *used = group->shapes_count > 1 ? shapes_used(t, index) : NULL;
    for (int32_t shape = 0; shape < group->shapes_count; shape++) {
        RhTrafficSchedule none = {0};
        if (used && !used[shape]) {
            g_array_append_val(t->schedules, none);
            continue;
        }
        if (is_latency_alone(t, kind)) {
            RhTrafficSchedule quiet = uncontended_schedule(t, kind, shape);
            g_array_append_val(t->schedules, quiet);
            continue;
        }
        g_autoptr(RhSchedule) schedule =
            rh_schedule_of_task(t->program, rh_program_task(t->program, kind->task), t->platform,
                                RH_AT(group->shapes, int32_t, shape * size), error);
        if (!schedule)
            return false;
        RhTrafficSchedule added = {.rounds_first = (int32_t)t->rounds->len,
                                   .rounds_count = (int32_t)schedule->rounds->len,
                                   .launch_more_s = schedule->launch_more_s,
                                   .step_more_s = schedule->step_more_s};
        for (uint32_t i = 0; i < schedule->rounds->len; i++)
            add_round(t, kind, shape, schedule, RH_AT(schedule->rounds, RhRound, i));
        g_array_append_val(t->schedules, added);
    }
    return true;
}

static bool add_schedules(RhTraffic *t, GError **error)
{
    for (int32_t i = 0; i < (int32_t)t->kinds->len; i++)
        if (!rh_traffic_in_time(t, error) || !add_schedules_of(t, i, error))
            return false;
    return true;
}

/* --- rotation of blocks --- */

/* Returns whether rotating the blocks maps the set of edges to itself, by comparing sums of hashes.
 */
static bool edges_turn(const RhTraffic *t, const RhPattern *pattern)
{
    const RhGroup *group = rh_program_group(t->program, pattern->group);
    uint64_t before = 0, after = 0;
    for (int32_t k = 0; k < pattern->drawn_count; k++) {
        const RhEdge *edge = RH_AT(t->drawn, RhEdge, pattern->drawn_first + k);
        int32_t src = rh_blocks_turned(group, t->block, edge->src);
        int32_t dst = rh_blocks_turned(group, t->block, edge->dst);
        uint64_t share = rh_bits64(edge->share);
        before += rh_mix64((uint64_t)edge->src << 32 | (uint32_t)edge->dst, share);
        after += rh_mix64((uint64_t)src << 32 | (uint32_t)dst, share);
    }
    return before == after;
}

static bool all_turns(const RhTraffic *t)
{
    for (uint32_t i = 0; i < t->peers->len; i++)
        if (RH_AT(t->peers, RhPeer, i)->delta % t->block != 0)
            return false;
    for (uint32_t i = 0; i < t->patterns->len; i++) {
        const RhPattern *pattern = RH_AT(t->patterns, RhPattern, i);
        if (pattern->group >= 0 &&
            rh_blocks_whole(rh_program_group(t->program, pattern->group), t->block) &&
            !edges_turn(t, pattern))
            return false;
    }
    return true;
}

static int32_t block_of(const RhTraffic *t)
{
    const RhProgram *p = t->program;
    uint32_t groups = p->groups->len;
    g_autofree bool *used = g_new0(bool, groups + 1);
    for (uint32_t i = 0; i < p->roles->len * groups; i++)
        used[i % groups] |= t->calls[i];
    return rh_blocks_find(p, t->platform, t->role_of_rank, used);
}

/* --- construction --- */

static RhTraffic *traffic_begin(const RhProgram *p, const RhPlatform *platform)
{
    RhTraffic *t = g_new0(RhTraffic, 1);
    t->program = p;
    t->platform = platform;
    t->block = 1;
    t->role_of_rank = rh_program_role_of_rank(p);
    t->groups = g_new0(RhGroupTraffic, p->groups->len + 1);
    t->switch_links = rh_platform_switch_links(platform);
    t->kinds = g_array_new(FALSE, FALSE, sizeof(RhTrafficKind));
    t->schedules = g_array_new(FALSE, FALSE, sizeof(RhTrafficSchedule));
    t->rounds = g_array_new(FALSE, FALSE, sizeof(RhTrafficRound));
    t->patterns = g_array_new(FALSE, FALSE, sizeof(RhPattern));
    t->drawn = g_array_new(FALSE, FALSE, sizeof(RhEdge));
    t->edges = g_array_new(FALSE, FALSE, sizeof(RhEdge));
    t->peers = g_array_new(FALSE, FALSE, sizeof(RhPeer));
    t->pairs = g_array_new(FALSE, TRUE, sizeof(RhPair));
    t->uses = g_array_new(FALSE, FALSE, sizeof(RhPairUse));
    t->instances = g_array_new(FALSE, FALSE, sizeof(RhInstance));
    t->members = g_array_new(FALSE, FALSE, sizeof(int32_t));
    t->flows = g_array_new(FALSE, FALSE, sizeof(RhTrafficFlow));
    t->crossings = g_array_new(FALSE, FALSE, sizeof(RhCrossing));
    t->links = g_array_new(FALSE, FALSE, sizeof(RhTrafficLink));
    return t;
}

RhTraffic *rh_traffic_new(const RhProgram *p, const RhPlatform *platform, bool whole,
                          RhUncontendedTimes *alone, RhDeadline deadline, GError **error)
{
    g_autoptr(RhTraffic) t = traffic_begin(p, platform);
    t->deadline = deadline;
    g_autoptr(RhUncontendedTimes) own = alone ? NULL : rh_uncontended_times_new(platform);
    t->alone = alone ? alone : own;
    find_kinds(t);
    if (!whole)
        t->block = block_of(t);
    if (!rh_copies_possible(p, platform, error) || !find_instances(t, error) ||
        !add_schedules(t, error))
        return NULL;
    if (t->block > 1 && !all_turns(t))
        return rh_traffic_new(p, platform, true, alone, deadline, error);
    if (!rh_traffic_add_flows(t, error))
        return NULL;
    t->alone = NULL;
    return g_steal_pointer(&t);
}

/* --- programs with the same communication --- */

/* Copies the placement classes of another program's traffic, which follow from the first groups. */
static void copy_shapes(RhTraffic *t, const RhTraffic *other)
{
    t->block = other->block;
    for (int32_t g = 0; g < (int32_t)t->program->groups->len; g++) {
        RhGroupTraffic *own = &t->groups[g];
        const RhGroupTraffic *its = &other->groups[g];
        const RhGroup *group = rh_program_group(t->program, g);
        if (its->shapes_count == 0)
            continue;
        g_autofree int32_t *ranks = g_new(int32_t, 3 * (size_t)group->size);
        *own = (RhGroupTraffic){.shapes_count = its->shapes_count,
                                .shapes = g_array_new(FALSE, FALSE, sizeof(int32_t)),
                                .firsts = g_array_ref(its->firsts),
                                .meets = g_array_ref(its->meets)};
        for (int32_t shape = 0; shape < its->shapes_count; shape++) {
            int32_t *numbers = ranks + group->size;
            rh_group_members(group, *RH_AT(its->firsts, int32_t, shape), ranks);
            number_nodes(t, ranks, group->size, numbers, numbers + group->size);
            g_array_append_vals(own->shapes, numbers, (guint)group->size);
        }
    }
}

/* The other's number of each of t's peers; -1 where it has none. */
static int32_t *number_peers(const RhTraffic *t, const RhTraffic *other)
{
    int32_t *numbers = g_new(int32_t, t->peers->len + 1);
    g_autoptr(RhMap64) known = rh_map64_new();
    for (uint32_t i = 0; i < other->peers->len; i++)
        rh_map64_at(known, RH_AT(other->peers, RhPeer, i)->key, (int32_t)i);
    for (uint32_t i = 0; i < t->peers->len; i++)
        numbers[i] = rh_map64_get(known, RH_AT(t->peers, RhPeer, i)->key);
    return numbers;
}

static int32_t find_pattern(const RhPattern *pattern, const RhTraffic *other)
{
    for (uint32_t i = 0; i < other->patterns->len; i++) {
        const RhPattern *have = RH_AT(other->patterns, RhPattern, i);
        if (have->group == pattern->group && have->shape == pattern->shape &&
            have->drawn_count == pattern->drawn_count && have->drawn_hash == pattern->drawn_hash)
            return (int32_t)i;
    }
    return -1;
}

/* Returns the other's number of each of t's patterns of collectives. */
static int32_t *number_patterns(const RhTraffic *t, const RhTraffic *other)
{
    int32_t *numbers = g_new0(int32_t, t->patterns->len + 1);
    for (uint32_t i = 0; i < t->patterns->len; i++) {
        const RhPattern *pattern = RH_AT(t->patterns, RhPattern, i);
        if (pattern->group >= 0)
            numbers[i] = find_pattern(pattern, other);
    }
    return numbers;
}

static bool all_known(const int32_t *numbers, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (numbers[i] < 0)
            return false;
    return true;
}

static void take_array(GArray **own, GArray *other)
{
    g_array_unref(*own);
    *own = g_array_ref(other);
}

/* Copies the other's numbers. No pattern occurs twice in either, so equally many, each of them
 * known, are the same set. */
static bool copy_numbers(RhTraffic *t, const RhTraffic *other)
{
    g_autofree int32_t *peers = number_peers(t, other), *patterns = number_patterns(t, other);
    if (t->peers->len != other->peers->len || t->patterns->len != other->patterns->len ||
        !all_known(peers, t->peers->len) || !all_known(patterns, t->patterns->len))
        return false;
    for (uint32_t i = 0; i < t->program->tasks->len; i++)
        if (rh_program_task(t->program, (int32_t)i)->kind != RH_TASK_COLLECTIVE &&
            t->kind_of_task[i] >= 0)
            t->kind_of_task[i] = peers[t->kind_of_task[i]];
    for (uint32_t i = 0; i < t->rounds->len; i++) {
        RhTrafficRound *round = RH_AT(t->rounds, RhTrafficRound, i);
        round->pattern = round->pattern < 0 ? -1 : patterns[round->pattern];
    }
    take_array(&t->peers, other->peers);
    take_array(&t->patterns, other->patterns);
    g_array_set_size(t->drawn, 0); /* in the previous numbers */
    return true;
}

RhTraffic *rh_traffic_like(const RhTraffic *other, const RhProgram *p, RhUncontendedTimes *alone)
{
    if (!rh_program_same_places(p, other->program))
        return NULL;
    g_autoptr(RhTraffic) t = traffic_begin(p, other->platform);
    find_kinds(t);
    if (memcmp(t->calls, other->calls, sizeof(bool) * p->roles->len * p->groups->len))
        return NULL;
    g_autoptr(RhUncontendedTimes) own = alone ? NULL : rh_uncontended_times_new(other->platform);
    t->alone = alone ? alone : own;
    copy_shapes(t, other);
    if (!add_schedules(t, NULL) || !copy_numbers(t, other))
        return NULL;
    t->alone = NULL;
    return g_steal_pointer(&t);
}

static void clear_array(GArray **array)
{
    if (*array)
        g_array_unref(*array);
    *array = NULL;
}

void rh_traffic_trim(RhTraffic *t)
{
    GArray **arrays[] = {&t->kinds,     &t->schedules, &t->rounds,  &t->drawn,
                         &t->edges,     &t->instances, &t->members, &t->flows,
                         &t->crossings, &t->pairs,     &t->uses,    &t->links};
    for (size_t i = 0; i < G_N_ELEMENTS(arrays); i++)
        clear_array(arrays[i]);
    for (uint32_t g = 0; g < t->program->groups->len; g++) {
        g_clear_pointer(&t->groups[g].instance_of_rank, g_free);
        clear_array(&t->groups[g].shapes);
    }
    g_clear_pointer(&t->kind_of_task, g_free);
    g_clear_pointer(&t->role_of_rank, g_free);
}

void rh_traffic_free(RhTraffic *t)
{
    if (!t)
        return;
    rh_traffic_trim(t);
    clear_array(&t->patterns);
    clear_array(&t->peers);
    for (uint32_t g = 0; g < t->program->groups->len; g++) {
        clear_array(&t->groups[g].firsts);
        clear_array(&t->groups[g].meets);
    }
    g_free(t->groups);
    g_free(t->calls);
    g_free(t);
}
