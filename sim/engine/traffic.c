#include "sim/engine/traffic.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "sim/blocks.h"
#include "sim/collective/collective.h"
#include "sim/copy.h"
#include "sim/map64.h"

#define AT(array, Type, i) (&g_array_index((array), Type, (i)))

/* --- kinds of collectives and messages, task by task --- */

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
        RhPeer new_peer = {role, copies ? 0 : task->peer_delta, -1};
        if (task->kind != RH_TASK_RECV) {
            RhPattern pattern = {
                .group = -1, .shape = -1, .role = role, .delta = new_peer.delta, .task = index};
            new_peer.pattern = (int32_t)t->patterns->len;
            g_array_append_val(t->patterns, pattern);
        }
        g_array_append_val(t->peers, new_peer);
    }
    return *peer;
}

/* uses[role * groups + group] */
static bool *find_kinds(RhTraffic *t)
{
    const RhProgram *p = t->program;
    g_autoptr(RhMap64) kinds = rh_map64_new();
    g_autoptr(RhMap64) peers = rh_map64_new();
    bool *uses = g_new0(bool, p->roles->len * p->groups->len + 1);
    t->kind_of_task = g_new(int32_t, p->tasks->len + 1);
    for (uint32_t r = 0; r < p->roles->len; r++) {
        const RhRole *role = rh_program_role(p, (int32_t)r);
        for (int32_t i = role->tasks_first; i < role->tasks_first + role->tasks_count; i++) {
            const RhTask *task = rh_program_task(p, i);
            t->kind_of_task[i] = -1;
            if (task->kind == RH_TASK_COLLECTIVE) {
                uses[r * p->groups->len + (uint32_t)task->group] = true;
                t->kind_of_task[i] = add_kind(t, kinds, i);
            } else if (task->kind == RH_TASK_SEND || task->kind == RH_TASK_RECV ||
                       task->kind == RH_TASK_COPY) {
                t->kind_of_task[i] = add_peer(t, peers, (int32_t)r, i);
            }
        }
    }
    return uses;
}

/* --- instances of groups --- */

/* Nodes of the members, numbered by first appearance; the group's shape with these numbers. */
static int32_t shape_of(RhTraffic *t, RhGroupTraffic *group, const int32_t *ranks, int32_t count,
                        int32_t *scratch)
{
    int32_t nodes = 0, highest = -1;
    int32_t *actual = scratch + count;
    for (int32_t i = 0; i < count; i++) {
        int32_t node = rh_platform_node_of(t->platform, rh_program_gpu(t->program, ranks[i]));
        int32_t k = node > highest ? -1 : nodes - 1; /* mostly ascending */
        while (k >= 0 && actual[k] != node)
            k--;
        if (k < 0) {
            k = nodes++;
            actual[k] = node;
            highest = MAX(highest, node);
        }
        scratch[i] = k;
    }
    for (int32_t s = 0; s < group->shapes_count; s++)
        if (!memcmp(AT(group->shapes, int32_t, s * count), scratch,
                    sizeof *scratch * (size_t)count))
            return s;
    g_array_append_vals(group->shapes, scratch, (guint)count);
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
                           .shape = shape_of(t, traffic, ranks, group->size, ranks + group->size),
                           .members_first = (int32_t)t->members->len,
                           .members_count = group->size,
                           .alike = whole ? 1 : t->block};
    g_array_append_vals(t->members, ranks, (guint)group->size);
    g_array_append_val(t->instances, instance);
    return true;
}

static bool find_instances(RhTraffic *t, const bool *uses, GError **error)
{
    const RhProgram *p = t->program;
    for (uint32_t g = 0; g < p->groups->len; g++) {
        RhGroupTraffic *group = &t->groups[g];
        g_autofree int32_t *ranks =
            g_new(int32_t, 3 * (size_t)MAX(rh_program_group(p, (int32_t)g)->size, 1));
        for (int32_t rank = 0; rank < p->ranks_count; rank += t->block) {
            int32_t role = t->role_of_rank[rank];
            if (role < 0 || !uses[(uint32_t)role * p->groups->len + g])
                continue;
            if (!group->instance_of_rank) {
                group->instance_of_rank = g_new(int32_t, p->ranks_count);
                memset(group->instance_of_rank, 0xff, sizeof(int32_t) * (size_t)p->ranks_count);
                group->shapes = g_array_new(FALSE, FALSE, sizeof(int32_t));
            }
            if (group->instance_of_rank[rank] < 0 &&
                !add_instance(t, (int32_t)g, rank, ranks, error))
                return false;
        }
    }
    return true;
}

/* --- schedules and their patterns --- */

static bool same_edges(const RhTraffic *t, const RhPattern *pattern, const RhEdge *edges,
                       int32_t count)
{
    return pattern->edges_count == count && !memcmp(AT(t->edges, RhEdge, pattern->edges_first),
                                                    edges, sizeof *edges * (size_t)count);
}

/* The pattern of these edges, new or known. */
static int32_t intern_pattern(RhTraffic *t, int32_t group, int32_t shape, const GArray *edges)
{
    for (uint32_t i = 0; i < t->patterns->len; i++) {
        const RhPattern *pattern = AT(t->patterns, RhPattern, i);
        if (pattern->group == group && pattern->shape == shape &&
            same_edges(t, pattern, (const RhEdge *)(void *)edges->data, (int32_t)edges->len))
            return (int32_t)i;
    }
    RhPattern pattern = {.group = group,
                         .shape = shape,
                         .role = -1,
                         .task = -1,
                         .edges_first = (int32_t)t->edges->len,
                         .edges_count = (int32_t)edges->len};
    g_array_append_vals(t->edges, edges->data, edges->len);
    g_array_append_val(t->patterns, pattern);
    return (int32_t)t->patterns->len - 1;
}

static void add_phase(RhTraffic *t, const RhTrafficKind *kind, int32_t shape,
                      const RhSchedule *schedule, const RhStepPhase *phase)
{
    g_autoptr(GArray) edges = g_array_new(FALSE, TRUE, sizeof(RhEdge));
    RhTrafficPhase added = {.pattern = -1, .repeat = phase->repeat};
    for (int32_t i = 0; i < phase->flows_count; i++)
        added.bytes = MAX(added.bytes, AT(schedule->flows, RhFlow, phase->flows_first + i)->bytes);
    for (int32_t i = 0; i < phase->flows_count; i++) {
        const RhFlow *flow = AT(schedule->flows, RhFlow, phase->flows_first + i);
        /* rounded so that schedules of other sizes find the same pattern */
        double share = added.bytes > 0 ? round(flow->bytes / added.bytes * 1e9) / 1e9 : 0;
        RhEdge edge;
        memset(&edge, 0, sizeof edge); /* compared as bytes */
        edge.src = flow->src;
        edge.dst = flow->dst;
        edge.share = share;
        g_array_append_val(edges, edge);
    }
    if (edges->len && phase->repeat > 0)
        added.pattern = intern_pattern(t, kind->group, shape, edges);
    g_array_append_val(t->phases, added);
}

/* used[shape]: does a role that runs this kind of collective meet in a group of that shape? */
static bool *shapes_used(const RhTraffic *t, int32_t kind)
{
    const RhProgram *p = t->program;
    const RhGroupTraffic *group = &t->groups[AT(t->kinds, RhTrafficKind, kind)->group];
    bool *used = g_new0(bool, group->shapes_count + 1);
    g_autofree bool *runs = g_new0(bool, p->roles->len + 1);
    for (uint32_t i = 0; i < p->tasks->len; i++) {
        const RhTask *task = rh_program_task(p, (int32_t)i);
        if (task->kind == RH_TASK_COLLECTIVE && t->kind_of_task[i] == kind)
            runs[task->role] = true;
    }
    for (int32_t rank = 0; rank < p->ranks_count; rank += t->block) {
        int32_t instance = group->instance_of_rank[rank], role = t->role_of_rank[rank];
        if (instance >= 0 && role >= 0 && runs[role])
            used[AT(t->instances, RhInstance, instance)->shape] = true;
    }
    return used;
}

/* Of the first group with this shape. */
static RhTrafficSchedule alone(const RhTraffic *t, const RhTrafficKind *kind, int32_t shape)
{
    const RhTask *task = rh_program_task(t->program, kind->task);
    const RhInstance *first = AT(t->instances, RhInstance, 0);
    while (first->group != kind->group || first->shape != shape)
        first++;
    g_autofree int32_t *gpus = g_new(int32_t, first->members_count);
    for (int32_t i = 0; i < first->members_count; i++)
        gpus[i] = rh_program_gpu(t->program, *AT(t->members, int32_t, first->members_first + i));
    return (RhTrafficSchedule){.alone_s =
                                   rh_alone_time_s(t->alone, (RhOp)task->op, (RhAlgo)task->algo,
                                                   first->members_count, gpus, task->bytes)};
}

static bool is_latency_alone(const RhTraffic *t, const RhTrafficKind *kind)
{
    const RhTask *task = rh_program_task(t->program, kind->task);
    return task->bytes > 0 && task->bytes <= RH_LATENCY_BYTES && task->volumes == 0;
}

static bool add_schedules(RhTraffic *t, int32_t index, GError **error)
{
    RhTrafficKind *kind = AT(t->kinds, RhTrafficKind, index);
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
            RhTrafficSchedule quiet = alone(t, kind, shape);
            g_array_append_val(t->schedules, quiet);
            continue;
        }
        g_autoptr(RhSchedule) schedule =
            rh_schedule_of_task(t->program, rh_program_task(t->program, kind->task),
                                AT(group->shapes, int32_t, shape * size), error);
        if (!schedule)
            return false;
        RhTrafficSchedule added = {.phases_first = (int32_t)t->phases->len,
                                   .phases_count = (int32_t)schedule->phases->len};
        for (uint32_t i = 0; i < schedule->phases->len; i++)
            add_phase(t, kind, shape, schedule, AT(schedule->phases, RhStepPhase, i));
        g_array_append_val(t->schedules, added);
    }
    return true;
}

/* --- flows, with their routes --- */

static bool leaves_out(const RhTraffic *t)
{
    return t->platform->messages.sender == RH_SHARING_NONE && t->platform->link_changes->len == 0;
}

static bool is_ample(const RhTraffic *t, RhLink link)
{
    return link >= t->switch_links.first && link < t->switch_links.ample_end && leaves_out(t);
}

static int32_t place_of(RhTraffic *t, RhLink first, int32_t alike)
{
    int32_t *place = &t->place_of_link[first];
    if (*place == 0) {
        RhTrafficLink fresh = {first, alike, rh_platform_link_bytes_per_s(t->platform, first)};
        g_array_append_val(t->links, fresh);
        *place = (int32_t)t->links->len;
    }
    return *place - 1;
}

/* Links that hold nobody back are left out: rates are the same without them, and ranks that differ by
 * nothing else are alike. Packets (exec_wire.c) queue on every link. */
static void add_crossings(RhTraffic *t, const RhLink *route, int count, RhTrafficFlow *flow)
{
    flow->links_first = (int32_t)t->crossings->len;
    for (int i = 0; i < count; i++) {
        int32_t alike = 1;
        RhLink first = route[i];
        if (is_ample(t, first))
            continue;
        if (t->block > 1)
            first = rh_platform_link_turned(t->platform, t->block, first, &alike);
        RhCrossing crossing = {route[i], place_of(t, first, alike), t->block / alike};
        g_array_append_val(t->crossings, crossing);
    }
    flow->links_count = (int32_t)t->crossings->len - flow->links_first;
}

static void add_route(RhTraffic *t, int32_t src, int32_t dst, RhTrafficFlow *flow)
{
    RhLink route[RH_ROUTE_MAX];
    int32_t from = rh_program_gpu(t->program, src), to = rh_program_gpu(t->program, dst);
    int count = rh_platform_route(t->platform, from, to, route);
    flow->latency_s = count > 0 ? rh_platform_route_latency_s(t->platform, from, to) : 0;
    add_crossings(t, route, count, flow);
}

static RhTrafficFlow *add_flow(RhTraffic *t, RhTrafficFlow flow)
{
    g_array_append_val(t->flows, flow);
    return AT(t->flows, RhTrafficFlow, t->flows->len - 1);
}

static void add_copy_flow(RhTraffic *t, const RhTask *task, int32_t rank, int32_t pair)
{
    RhLink route[RH_COPY_LINKS_MAX];
    int count = rh_copy_route(t->platform, task, rh_program_gpu(t->program, rank), route);
    add_crossings(
        t, route, count,
        add_flow(t, (RhTrafficFlow){.owner = rank, .pair = pair, .instance = -1, .per_owner = 1}));
}

static bool add_message_flow(RhTraffic *t, int32_t src, int32_t dst, int32_t pair, GError **error)
{
    if (dst < 0 || dst >= t->program->ranks_count)
        return rh_fail(error, RH_ERROR_INPUT, "rank %d sends to rank %d of %d", src, dst,
                       t->program->ranks_count);
    add_route(
        t, src, dst,
        add_flow(t, (RhTrafficFlow){.owner = src, .pair = pair, .instance = -1, .per_owner = 1}));
    return true;
}

/* Messages and copies: each pattern has a pair of its own. */
static bool add_pattern_flows(RhTraffic *t, int32_t index, GError **error)
{
    RhPattern *pattern = AT(t->patterns, RhPattern, index);
    const RhRole *role = rh_program_role(t->program, pattern->role);
    const RhTask *task = rh_program_task(t->program, pattern->task);
    RhPair pair = {0, 0, (int32_t)t->uses->len, 1};
    RhPairUse use = {index, 1};
    g_array_append_val(t->pairs, pair);
    g_array_append_val(t->uses, use);
    pattern->flows_first = (int32_t)t->flows->len;
    RhSpan inner = role->spans_count > 0 ? role->spans[0] : (RhSpan){1, 1};
    int32_t step = inner.stride == 1 && inner.extent % t->block == 0 ? t->block : 1;
    for (int32_t i = 0; i < role->ranks_count; i += step) {
        int32_t rank = rh_role_rank(role, i), number = (int32_t)t->pairs->len - 1;
        if (rank % t->block != 0)
            continue;
        if (task->kind == RH_TASK_COPY)
            add_copy_flow(t, task, rank, number);
        else if (!add_message_flow(t, rank, rank + pattern->delta, number, error))
            return false;
    }
    pattern->flows_count = (int32_t)t->flows->len - pattern->flows_first;
    return true;
}

/* The instances of a group with one shape. */
typedef struct {
    int32_t instance, instances_count; /* the first */
    int32_t pairs_first, pairs_count;
    int32_t flows_first, flows_end; /* so far */
} Set;

static Set *set_of(const RhTraffic *t, Set *sets, int32_t group, int32_t shape)
{
    return &sets[t->groups[group].sets_first + shape];
}

/* By group, then shape; caller frees. */
static Set *sets_new(RhTraffic *t, int32_t *count)
{
    *count = 0;
    for (uint32_t g = 0; g < t->program->groups->len; g++) {
        t->groups[g].sets_first = *count;
        *count += t->groups[g].shapes_count;
    }
    Set *sets = g_new0(Set, *count + 1);
    for (uint32_t i = t->instances->len; i > 0; i--) {
        const RhInstance *instance = AT(t->instances, RhInstance, i - 1);
        Set *set = set_of(t, sets, instance->group, instance->shape);
        set->instance = (int32_t)i - 1;
        set->instances_count++;
    }
    return sets;
}

/* The pairs of a pattern's edges, new or known; of the edges those stay that are listed. */
static void number_edges(const RhTraffic *t, Set *sets, RhPattern *pattern, RhMap64 *pairs)
{
    Set *set = set_of(t, sets, pattern->group, pattern->shape);
    const int32_t *ranks =
        AT(t->members, int32_t, AT(t->instances, RhInstance, set->instance)->members_first);
    RhEdge *edges = AT(t->edges, RhEdge, pattern->edges_first);
    int32_t listed = 0;
    for (int32_t k = 0; k < pattern->edges_count; k++) {
        RhEdge edge = edges[k];
        if (ranks[edge.src] % t->block != 0)
            continue;
        uint64_t key =
            rh_mix64((uint64_t)(set - sets) + 1, (uint64_t)edge.src << 32 | (uint32_t)edge.dst);
        edge.pair = *rh_map64_at(pairs, key, set->pairs_count);
        set->pairs_count += edge.pair == set->pairs_count;
        edges[listed++] = edge;
    }
    pattern->edges_count = listed;
}

/* Each pair's ends and uses; the edges know their pairs. */
static void add_uses(RhTraffic *t, Set *sets)
{
    int32_t uses = 0;
    for (int pass = 0; pass < 2; pass++) { /* count, list */
        for (uint32_t i = 0; i < t->patterns->len; i++) {
            const RhPattern *pattern = AT(t->patterns, RhPattern, i);
            for (int32_t k = 0; pattern->group >= 0 && k < pattern->edges_count; k++) {
                const RhEdge *edge = AT(t->edges, RhEdge, pattern->edges_first + k);
                const Set *set = set_of(t, sets, pattern->group, pattern->shape);
                RhPair *pair = AT(t->pairs, RhPair, set->pairs_first + edge->pair);
                pair->src = edge->src;
                pair->dst = edge->dst;
                if (pass == 1)
                    *AT(t->uses, RhPairUse, pair->uses_first + pair->uses_count) =
                        (RhPairUse){(int32_t)i, edge->share};
                pair->uses_count++;
            }
        }
        for (uint32_t l = 0; pass == 0 && l < t->pairs->len; l++) {
            RhPair *pair = AT(t->pairs, RhPair, l);
            pair->uses_first = uses;
            uses += pair->uses_count;
            pair->uses_count = 0;
        }
        g_array_set_size(t->uses, (guint)uses);
    }
}

static void add_pairs(RhTraffic *t, Set *sets, int32_t sets_count)
{
    g_autoptr(RhMap64) numbers = rh_map64_new();
    int32_t pairs = 0, flows = 0;
    for (uint32_t i = 0; i < t->patterns->len; i++)
        if (AT(t->patterns, RhPattern, i)->group >= 0)
            number_edges(t, sets, AT(t->patterns, RhPattern, i), numbers);
    for (int32_t s = 0; s < sets_count; s++) {
        sets[s].pairs_first = pairs;
        pairs += sets[s].pairs_count;
        sets[s].flows_first = sets[s].flows_end = flows;
        flows += sets[s].pairs_count * sets[s].instances_count;
    }
    g_array_set_size(t->pairs, (guint)pairs);
    g_array_set_size(t->flows, (guint)flows);
    add_uses(t, sets);
    for (uint32_t i = 0; i < t->patterns->len; i++) {
        RhPattern *pattern = AT(t->patterns, RhPattern, i);
        if (pattern->group < 0)
            continue;
        const Set *set = set_of(t, sets, pattern->group, pattern->shape);
        pattern->flows_first = set->flows_first;
        pattern->flows_count = set->instances_count * pattern->edges_count;
        pattern->pairs_count = set->pairs_count;
    }
}

static void add_collective_flows(RhTraffic *t, Set *sets)
{
    for (uint32_t i = 0; i < t->instances->len; i++) {
        const RhInstance *instance = AT(t->instances, RhInstance, i);
        const int32_t *ranks = AT(t->members, int32_t, instance->members_first);
        Set *set = set_of(t, sets, instance->group, instance->shape);
        for (int32_t l = set->pairs_first; l < set->pairs_first + set->pairs_count; l++) {
            const RhPair *pair = AT(t->pairs, RhPair, l);
            RhTrafficFlow *flow = AT(t->flows, RhTrafficFlow, set->flows_end++);
            flow->owner = ranks[pair->src];
            flow->pair = l;
            flow->instance = (int32_t)i;
            flow->per_owner = t->block / instance->alike;
            add_route(t, ranks[pair->src], ranks[pair->dst], flow);
        }
    }
}

/* Room for so many, taken at once. */
static void reserve(GArray *array, guint count)
{
    guint now = array->len;
    g_array_set_size(array, MAX(now, count));
    g_array_set_size(array, now);
}

#define CROSSINGS_MOST 4 /* of most flows: two ports, two NICs */

/* There is a flow for each rank of a message's role, besides those of collectives. */
static void reserve_flows(RhTraffic *t)
{
    guint flows = t->flows->len;
    for (uint32_t i = 0; i < t->patterns->len; i++) {
        const RhPattern *pattern = AT(t->patterns, RhPattern, i);
        if (pattern->group < 0)
            flows +=
                (guint)(rh_program_role(t->program, pattern->role)->ranks_count / t->block) + 1;
    }
    reserve(t->flows, flows);
    reserve(t->crossings, CROSSINGS_MOST * flows);
}

static bool add_flows(RhTraffic *t, GError **error)
{
    int32_t count;
    g_autofree Set *sets = sets_new(t, &count);
    add_pairs(t, sets, count);
    reserve_flows(t);
    add_collective_flows(t, sets);
    for (int32_t i = 0; i < (int32_t)t->patterns->len; i++)
        if (AT(t->patterns, RhPattern, i)->group < 0 && !add_pattern_flows(t, i, error))
            return false;
    if (leaves_out(t))
        rh_traffic_leave_out_ample(t);
    return true;
}

/* --- blocks --- */

/* Of edges as they are, and as turning the blocks leaves them: sums of hashes stand for sets. */
static bool edges_turn(const RhTraffic *t, const RhPattern *pattern)
{
    const RhGroup *group = rh_program_group(t->program, pattern->group);
    uint64_t before = 0, after = 0;
    for (int32_t k = 0; k < pattern->edges_count; k++) {
        const RhEdge *edge = AT(t->edges, RhEdge, pattern->edges_first + k);
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
        if (AT(t->peers, RhPeer, i)->delta % t->block != 0)
            return false;
    for (uint32_t i = 0; i < t->patterns->len; i++) {
        const RhPattern *pattern = AT(t->patterns, RhPattern, i);
        if (pattern->group >= 0 &&
            rh_blocks_whole(rh_program_group(t->program, pattern->group), t->block) &&
            !edges_turn(t, pattern))
            return false;
    }
    return true;
}

static int32_t block_of(const RhTraffic *t, const bool *uses)
{
    const RhProgram *p = t->program;
    uint32_t groups = p->groups->len;
    g_autofree bool *used = g_new0(bool, groups + 1);
    for (uint32_t i = 0; i < p->roles->len * groups; i++)
        used[i % groups] |= uses[i];
    return rh_blocks_find(p, t->platform, t->role_of_rank, used);
}

/* --- all together --- */

static RhTraffic *traffic_begin(const RhProgram *p, const RhPlatform *platform)
{
    RhTraffic *t = g_new0(RhTraffic, 1);
    t->program = p;
    t->platform = platform;
    t->block = 1;
    t->role_of_rank = rh_program_role_of_rank(p);
    t->groups = g_new0(RhGroupTraffic, p->groups->len + 1);
    t->switch_links = rh_platform_switch_links(platform);
    t->place_of_link = g_new0(int32_t, rh_platform_links_count(platform) + 1);
    t->kinds = g_array_new(FALSE, FALSE, sizeof(RhTrafficKind));
    t->schedules = g_array_new(FALSE, FALSE, sizeof(RhTrafficSchedule));
    t->phases = g_array_new(FALSE, FALSE, sizeof(RhTrafficPhase));
    t->patterns = g_array_new(FALSE, FALSE, sizeof(RhPattern));
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
                          RhAloneTimes *alone, GError **error)
{
    g_autoptr(RhTraffic) t = traffic_begin(p, platform);
    g_autoptr(RhAloneTimes) own = alone ? NULL : rh_alone_times_new(platform);
    t->alone = alone ? alone : own;
    g_autofree bool *uses = find_kinds(t);
    if (!whole)
        t->block = block_of(t, uses);
    if (!rh_copies_possible(p, platform, error) || !find_instances(t, uses, error))
        return NULL;
    for (int32_t i = 0; i < (int32_t)t->kinds->len; i++)
        if (!add_schedules(t, i, error))
            return NULL;
    if (t->block > 1 && !all_turns(t))
        return rh_traffic_new(p, platform, true, alone, error);
    if (!add_flows(t, error))
        return NULL;
    g_clear_pointer(&t->place_of_link, g_free);
    t->alone = NULL;
    return g_steal_pointer(&t);
}

void rh_traffic_count_crossed(const RhTraffic *t, int32_t index, RhCrossed *crossed)
{
    const RhPattern *pattern = AT(t->patterns, RhPattern, index);
    const RhTrafficFlow *flows = AT(t->flows, RhTrafficFlow, 0);
    int32_t step = rh_pattern_step(pattern);
    for (int32_t first = 0; first < pattern->flows_count; first += step)
        for (int32_t k = 0; k < step; k++) {
            double share;
            const RhTrafficFlow *flow =
                &flows[rh_traffic_flow_of_step(t, pattern, first / step, k, &share)];
            const RhCrossing *route = rh_traffic_crossings(t, flow);
            for (int32_t l = 0; l < flow->links_count; l++) {
                RhCrossed *link = &crossed[route[l].at];
                int32_t before = link->pattern == index + 1 ? link->flows : 0;
                *link = (RhCrossed){index + 1, before + route[l].flows};
            }
        }
}

void rh_traffic_free(RhTraffic *t)
{
    if (!t)
        return;
    GArray *arrays[] = {t->kinds, t->schedules, t->phases,  t->patterns, t->edges,
                        t->peers, t->instances, t->members, t->flows,    t->crossings,
                        t->pairs, t->uses,      t->links};
    for (size_t i = 0; i < G_N_ELEMENTS(arrays); i++)
        g_array_unref(arrays[i]);
    for (uint32_t g = 0; g < t->program->groups->len; g++) {
        g_free(t->groups[g].instance_of_rank);
        if (t->groups[g].shapes)
            g_array_unref(t->groups[g].shapes);
    }
    g_free(t->groups);
    g_free(t->kind_of_task);
    g_free(t->role_of_rank);
    g_free(t->place_of_link);
    g_free(t);
}
