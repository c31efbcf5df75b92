/* Flows of a traffic: the bytes of its patterns on links. */
#include "base/error.h"
#include "base/garray_access.h"
#include "sim/engine/program_flows.h"
#include "sim/map64.h"
#include "sim/tier_copy.h"

bool rh_traffic_in_time(const RhTraffic *t, GError **error)
{
    return !rh_deadline_passed(t->deadline) ||
           rh_fail(error, RH_ERROR_NO_ANSWER, "no answer in time");
}

static bool leaves_out(const RhTraffic *t)
{
    return t->platform->messages.sender == RH_SHARING_NONE && t->platform->link_changes->len == 0;
}

static inline bool is_ample(const RhTraffic *t, RhLink link)
{
    return link >= t->switch_links.first && link < t->switch_links.ample_end && leaves_out(t);
}

/* Slot of a link. The first links of orbits are a whole block apart, each with its reverse. */
static inline int32_t *slot_of(RhTraffic *t, RhLink first, int32_t alike)
{
    return alike > 1 ? &t->place_of_orbit[first / (2 * t->block) * 2 + first % 2]
                     : &t->place_of_link[first];
}

static int32_t link_place(RhTraffic *t, RhLink first, int32_t alike)
{
    int32_t *place = slot_of(t, first, alike);
    if (*place == 0) {
        RhTrafficLink fresh = {first, alike, rh_platform_link_bytes_per_s(t->platform, first)};
        g_array_append_val(t->links, fresh);
        *place = (int32_t)t->links->len;
    }
    return *place - 1;
}

/* Adds the links of a route to a flow. Links that are never a bottleneck are left out: rates are
 * the same without them, and ranks that differ by nothing else are alike. Packets (packet_links.c)
 * queue on every link. */
static void add_crossings(RhTraffic *t, const RhLink *route, int count, RhTrafficFlow *flow)
{
    if ((guint)t->crossings_end + RH_ROUTE_MAX > t->crossings->len)
        g_array_set_size(t->crossings, 2 * t->crossings->len + RH_ROUTE_MAX);
    RhCrossing *own = RH_AT(t->crossings, RhCrossing, t->crossings_end), *end = own;
    for (int i = 0; i < count; i++) {
        int32_t alike = 1;
        RhLink first = route[i];
        if (is_ample(t, first))
            continue;
        if (t->block > 1)
            first = rh_platform_link_turned(t->platform, t->block, first, &alike);
        *end++ = (RhCrossing){route[i], link_place(t, first, alike), t->block / alike};
    }
    flow->links_first = t->crossings_end;
    flow->links_count = (int32_t)(end - own);
    t->crossings_end += flow->links_count;
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
    return RH_AT(t->flows, RhTrafficFlow, t->flows->len - 1);
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

/* Adds the flows of messages and copies: each pattern has a pair of its own. */
static bool add_pattern_flows(RhTraffic *t, int32_t index, GError **error)
{
    RhPattern *pattern = RH_AT(t->patterns, RhPattern, index);
    const RhRole *role = rh_program_role(t->program, pattern->role);
    const RhTask *task = rh_program_task(t->program, pattern->task);
    RhPair pair = {0, 0, (int32_t)t->uses->len, 1};
    RhPairUse use = {index, 0, 1};
    g_array_append_val(t->pairs, pair);
    g_array_append_val(t->uses, use);
    pattern->flows_first = (int32_t)t->flows->len;
    RhStride inner = role->spans_count > 0 ? role->spans[0] : (RhStride){1, 1};
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

/* Instances of a group with the same shape. */
typedef struct {
    int32_t instance, instances_count; /* first and number of instances */
    int32_t pairs_first, pairs_count;
    int32_t flows_first, flows_end; /* range of their flows so far */
} Set;

static Set *set_of(const RhTraffic *t, Set *sets, int32_t group, int32_t shape)
{
    return &sets[t->groups[group].sets_first + shape];
}

/* Lists sets by group, then shape; caller frees. */
static Set *sets_new(RhTraffic *t, int32_t *count)
{
    *count = 0;
    for (uint32_t g = 0; g < t->program->groups->len; g++) {
        t->groups[g].sets_first = *count;
        *count += t->groups[g].shapes_count;
    }
    Set *sets = g_new0(Set, *count + 1);
    for (uint32_t i = t->instances->len; i > 0; i--) {
        const RhInstance *instance = RH_AT(t->instances, RhInstance, i - 1);
        Set *set = set_of(t, sets, instance->group, instance->shape);
        set->instance = (int32_t)i - 1;
        set->instances_count++;
    }
    return sets;
}

/* Numbers the pairs of a pattern's listed edges, new or known. */
static void number_edges(RhTraffic *t, Set *sets, RhPattern *pattern, RhMap64 *pairs)
{
    Set *set = set_of(t, sets, pattern->group, pattern->shape);
    const int32_t *ranks =
        RH_AT(t->members, int32_t, RH_AT(t->instances, RhInstance, set->instance)->members_first);
    pattern->edges_first = (int32_t)t->edges->len;
    for (int32_t k = 0; k < pattern->drawn_count; k++) {
        RhEdge edge = *RH_AT(t->drawn, RhEdge, pattern->drawn_first + k);
        if (ranks[edge.src] % t->block != 0)
            continue;
        uint64_t key =
            rh_mix64((uint64_t)(set - sets) + 1, (uint64_t)edge.src << 32 | (uint32_t)edge.dst);
        edge.pair = *rh_map64_at(pairs, key, set->pairs_count);
        set->pairs_count += edge.pair == set->pairs_count;
        g_array_append_val(t->edges, edge);
    }
    pattern->edges_count = (int32_t)t->edges->len - pattern->edges_first;
}

/* Lists the ends and uses of each pair; edges refer to their pairs. */
static void add_uses(RhTraffic *t, Set *sets)
{
    int32_t uses = 0;
    for (int pass = 0; pass < 2; pass++) { /* count, then list */
        for (uint32_t i = 0; i < t->patterns->len; i++) {
            const RhPattern *pattern = RH_AT(t->patterns, RhPattern, i);
            for (int32_t k = 0; pattern->group >= 0 && k < pattern->edges_count; k++) {
                const RhEdge *edge = RH_AT(t->edges, RhEdge, pattern->edges_first + k);
                const Set *set = set_of(t, sets, pattern->group, pattern->shape);
                RhPair *pair = RH_AT(t->pairs, RhPair, set->pairs_first + edge->pair);
                pair->src = edge->src;
                pair->dst = edge->dst;
                if (pass == 1)
                    *RH_AT(t->uses, RhPairUse, pair->uses_first + pair->uses_count) =
                        (RhPairUse){(int32_t)i, k, edge->share};
                pair->uses_count++;
            }
        }
        for (uint32_t l = 0; pass == 0 && l < t->pairs->len; l++) {
            RhPair *pair = RH_AT(t->pairs, RhPair, l);
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
        if (RH_AT(t->patterns, RhPattern, i)->group >= 0)
            number_edges(t, sets, RH_AT(t->patterns, RhPattern, i), numbers);
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
        RhPattern *pattern = RH_AT(t->patterns, RhPattern, i);
        if (pattern->group < 0)
            continue;
        const Set *set = set_of(t, sets, pattern->group, pattern->shape);
        pattern->flows_first = set->flows_first;
        pattern->flows_count = set->instances_count * pattern->edges_count;
        pattern->pairs_count = set->pairs_count;
    }
}

#define IN_TIME_EVERY 1024 /* instances between two checks of the deadline */

static bool add_collective_flows(RhTraffic *t, Set *sets, GError **error)
{
    for (uint32_t i = 0; i < t->instances->len; i++) {
        if (i % IN_TIME_EVERY == 0 && !rh_traffic_in_time(t, error))
            return false;
        const RhInstance *instance = RH_AT(t->instances, RhInstance, i);
        const int32_t *ranks = RH_AT(t->members, int32_t, instance->members_first);
        Set *set = set_of(t, sets, instance->group, instance->shape);
        for (int32_t l = set->pairs_first; l < set->pairs_first + set->pairs_count; l++) {
            const RhPair *pair = RH_AT(t->pairs, RhPair, l);
            RhTrafficFlow *flow = RH_AT(t->flows, RhTrafficFlow, set->flows_end++);
            flow->owner = ranks[pair->src];
            flow->pair = l;
            flow->instance = (int32_t)i;
            flow->per_owner = t->block / instance->alike;
            add_route(t, ranks[pair->src], ranks[pair->dst], flow);
        }
    }
    return true;
}

#define CROSSINGS_MOST 4 /* links of most flows: two ports, two NICs */

/* Reserves memory for all flows at once: those of collectives, and one for each rank of a message's
 * role. */
static void reserve_flows(RhTraffic *t)
{
    guint listed = t->flows->len, all = listed;
    for (uint32_t i = 0; i < t->patterns->len; i++) {
        const RhPattern *pattern = RH_AT(t->patterns, RhPattern, i);
        if (pattern->group < 0)
            all += (guint)(rh_program_role(t->program, pattern->role)->ranks_count / t->block) + 1;
    }
    g_array_set_size(t->flows, all);
    g_array_set_size(t->flows, listed);
    g_array_set_size(t->crossings, CROSSINGS_MOST * all);
}

static bool list_flows(RhTraffic *t, GError **error)
{
    int32_t count;
    g_autofree Set *sets = sets_new(t, &count);
    add_pairs(t, sets, count);
    reserve_flows(t);
    if (!add_collective_flows(t, sets, error))
        return false;
    for (int32_t i = 0; i < (int32_t)t->patterns->len; i++)
        if (RH_AT(t->patterns, RhPattern, i)->group < 0 &&
            (!rh_traffic_in_time(t, error) || !add_pattern_flows(t, i, error)))
            return false;
    g_array_set_size(t->crossings, (guint)t->crossings_end);
    return true;
}

bool rh_traffic_add_flows(RhTraffic *t, GError **error)
{
    int32_t links = rh_platform_links_count(t->platform);
    g_autofree int32_t *of_link = g_new0(int32_t, links + 1);
    g_autofree int32_t *of_orbit = g_new0(int32_t, links / t->block + 2);
    t->place_of_link = of_link;
    t->place_of_orbit = of_orbit;
    bool listed = list_flows(t, error);
    t->place_of_link = t->place_of_orbit = NULL;
    if (listed && leaves_out(t))
        rh_traffic_leave_out_slack(t);
    return listed;
}

void rh_traffic_count_crossed(const RhTraffic *t, int32_t index, int32_t step, double bytes,
                              int32_t count, RhCrossed *crossed)
{
    const RhPattern *pattern = RH_AT(t->patterns, RhPattern, index);
    for (int32_t k = 0; k < rh_pattern_step(pattern); k++) {
        double share;
        const RhTrafficFlow *flow =
            RH_AT(t->flows, RhTrafficFlow, rh_traffic_flow_of_step(t, pattern, step, k, &share));
        const RhCrossing *route = rh_traffic_crossings(t, flow);
        for (int32_t l = 0; l < flow->links_count; l++) {
            RhCrossed *link = &crossed[route[l].at];
            double before = link->count == count ? link->flows : 0;
            *link = (RhCrossed){count, before + route[l].flows * bytes};
        }
    }
}

/* Joins schedules of the kind with equally many rounds, round by round: each pattern joins the
 * first one's family. */
static void join_families(const RhTraffic *t, const RhTrafficKind *kind, RhTrafficFamily *family)
{
    const RhTrafficSchedule *first = NULL;
    for (int32_t shape = 0; shape < t->groups[kind->group].shapes_count; shape++) {
        const RhTrafficSchedule *own =
            RH_AT(t->schedules, RhTrafficSchedule, kind->schedules_first + shape);
        first = first ? first : own->rounds_count > 0 ? own : NULL;
        if (!first || own == first || own->rounds_count != first->rounds_count)
            continue;
        for (int32_t i = 0; i < own->rounds_count; i++) {
            const RhTrafficRound *to = RH_AT(t->rounds, RhTrafficRound, first->rounds_first + i);
            const RhTrafficRound *round = RH_AT(t->rounds, RhTrafficRound, own->rounds_first + i);
            if (to->pattern < 0 || round->pattern < 0 || to->bytes <= 0 || round->bytes <= 0 ||
                family[round->pattern].first != round->pattern)
                continue;
            double ratio = round->bytes * round->repeat / (to->bytes * to->repeat);
            family[round->pattern] =
                (RhTrafficFamily){family[to->pattern].first, ratio * family[to->pattern].bytes};
        }
    }
}

RhTrafficFamily *rh_traffic_families(const RhTraffic *t)
{
    RhTrafficFamily *family = g_new(RhTrafficFamily, t->patterns->len + 1);
    for (int32_t i = 0; i < (int32_t)t->patterns->len; i++)
        family[i] = (RhTrafficFamily){i, 1};
    for (uint32_t i = 0; i < t->kinds->len; i++)
        join_families(t, RH_AT(t->kinds, RhTrafficKind, i), family);
    return family;
}
