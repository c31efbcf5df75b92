/* Computes the time of a schedule on idle links. */
#include <math.h>

#include "sim/collective/group_links.h"

typedef struct {
    int32_t links_first, links_count;
    double latency_s;
} Route;

typedef struct {
    const RhSchedule *schedule;
    RhGroupLinks groups;
    /* the routes of edges that recur (a tree's do, in every round) are kept */
    int32_t *edge_of_flow; /* NULL when edges do not recur */
    int32_t edges_count;
    Route *routes;  /* instances_count x edges_count */
    GArray *places; /* RhGroupCrossing, of the routes' links */
} Clock;

static const RhFlow *flow_at(const Clock *k, int32_t f)
{
    return &g_array_index(k->schedule->flows, RhFlow, f);
}

/* Numbers the edges (src, dst) of the flows by open addressing; lists into `first` one flow of
 * each. */
static void number_edges(Clock *k, int32_t *first)
{
    int32_t flows = (int32_t)k->schedule->flows->len;
    uint32_t size = 1;
    while (size < 2 * (uint32_t)flows)
        size *= 2;
    g_autofree int32_t *slots = g_new0(int32_t, size); /* 1 + edge */
    for (int32_t f = 0; f < flows; f++) {
        const RhFlow *flow = flow_at(k, f);
        uint32_t at = (uint32_t)rh_mix64((uint64_t)flow->src, (uint64_t)flow->dst) & (size - 1);
        while (slots[at] && (flow_at(k, first[slots[at] - 1])->src != flow->src ||
                             flow_at(k, first[slots[at] - 1])->dst != flow->dst))
            at = (at + 1) & (size - 1);
        if (!slots[at]) {
            first[k->edges_count] = f;
            slots[at] = ++k->edges_count;
        }
        k->edge_of_flow[f] = slots[at] - 1;
    }
}

/* Keeps routes when most edges are used at least three times. */
static void keep_routes(Clock *k)
{
    int32_t flows = (int32_t)k->schedule->flows->len;
    if (k->schedule->rounds->len < 3)
        return;
    g_autofree int32_t *first = g_new(int32_t, flows + 1);
    k->edge_of_flow = g_new(int32_t, flows + 1);
    number_edges(k, first);
    if (flows < 3 * (int64_t)k->edges_count) {
        g_clear_pointer(&k->edge_of_flow, g_free);
        return;
    }
    k->routes = g_new(Route, (gsize)k->groups.instances_count * (gsize)k->edges_count);
    for (int32_t i = 0; i < k->groups.instances_count; i++)
        for (int32_t e = 0; e < k->edges_count; e++) {
            RhLink links[RH_ROUTE_MAX];
            Route *route = &k->routes[(int64_t)i * k->edges_count + e];
            route->links_first = (int32_t)k->places->len;
            const RhFlow *flow = flow_at(k, first[e]);
            route->links_count =
                rh_group_route(&k->groups, i, flow->src, flow->dst, links, &route->latency_s);
            for (int32_t l = 0; l < route->links_count; l++) {
                RhGroupCrossing place = rh_group_crossing(&k->groups, links[l]);
                g_array_append_val(k->places, place);
            }
        }
}

/* Adds the flow's bytes to its links; returns its latency. */
static double add_flow(Clock *k, int32_t instance, int32_t f)
{
    const RhFlow *flow = flow_at(k, f);
    if (k->schedule->bytes <= RH_LATENCY_BYTES) /* latency only: no bytes are added to links */
        return rh_group_latency_s(&k->groups, instance, flow->src, flow->dst);
    if (k->edge_of_flow) {
        const Route *route = &k->routes[(int64_t)instance * k->edges_count + k->edge_of_flow[f]];
        for (int32_t i = 0; flow->bytes > 0 && i < route->links_count; i++)
            rh_group_load(&k->groups,
                          g_array_index(k->places, RhGroupCrossing, route->links_first + i),
                          flow->bytes);
        return route->latency_s;
    }
    RhLink links[RH_ROUTE_MAX];
    double latency_s;
    int count = rh_group_route(&k->groups, instance, flow->src, flow->dst, links, &latency_s);
    for (int i = 0; flow->bytes > 0 && i < count; i++)
        rh_group_load(&k->groups, rh_group_crossing(&k->groups, links[i]), flow->bytes);
    return latency_s;
}

/* Returns the seconds that the busiest link needs, and clears all loads. */
static double unload_links(RhGroupLinks *k)
{
    double longest_s = 0;
    for (int32_t i = 0; i < k->touched_count; i++) {
        RhUsedLink *load = &g_array_index(k->loads, RhUsedLink, k->touched[i]);
        longest_s = fmax(longest_s, load->bytes / load->bytes_per_s);
        load->bytes = 0;
    }
    k->touched_count = 0;
    return longest_s;
}

static RhStepTime step_s(Clock *k, const RhRound *round)
{
    RhStepTime step = {0};
    for (int32_t g = 0; g < k->groups.instances_count; g++)
        for (int32_t f = 0; f < round->flows_count; f++)
            step.latency_s = fmax(step.latency_s, add_flow(k, g, round->flows_first + f));
    step.latency_s = fmax(0, step.latency_s + k->schedule->step_more_s);
    step.moving_s = unload_links(&k->groups);
    return step;
}

/* Do two rounds send the same bytes between the same members (an all-reduce's two passes)? Then
 * they take the same time. */
static bool same_flows(const RhSchedule *s, const RhRound *a, const RhRound *b)
{
    if (a->flows_count != b->flows_count)
        return false;
    for (int32_t i = 0; i < a->flows_count; i++) {
        const RhFlow *x = &g_array_index(s->flows, RhFlow, a->flows_first + i);
        const RhFlow *y = &g_array_index(s->flows, RhFlow, b->flows_first + i);
        if (x->src != y->src || x->dst != y->dst || x->bytes != y->bytes)
            return false;
    }
    return true;
}

/* Times of a step of each round (RhStepTime). */
static GArray *round_times(Clock *k)
{
    const RhSchedule *s = k->schedule;
    GArray *times = g_array_sized_new(FALSE, FALSE, sizeof(RhStepTime), s->rounds->len);
    RhStepTime step = {0};
    keep_routes(k);
    for (guint i = 0; i < s->rounds->len; i++) {
        const RhRound *round = &g_array_index(s->rounds, RhRound, i);
        if (i == 0 || !same_flows(s, round - 1, round))
            step = step_s(k, round);
        g_array_append_val(times, step);
    }
    return times;
}

/* Time of the whole schedule without its launch. */
static RhStepTime steps_s(const RhSchedule *s, const GArray *times)
{
    RhStepTime total = {0};
    for (guint i = 0; i < s->rounds->len; i++) {
        int32_t repeat = g_array_index(s->rounds, RhRound, i).repeat;
        total.latency_s += repeat * g_array_index(times, RhStepTime, i).latency_s;
        total.moving_s += repeat * g_array_index(times, RhStepTime, i).moving_s;
    }
    return total;
}

RhScheduleTime rh_steps_as_time(const RhPlatform *platform, RhOp op, RhAlgo algo, double bytes,
                                double launch_more_s, RhStepTime steps)
{
    bool linear = !rh_collective_is_pipelined(op, algo) && bytes > 0;
    return (RhScheduleTime){platform->collective_launch_s.value + launch_more_s + steps.latency_s,
                            steps.moving_s, linear};
}

static void clock_clear(Clock *k)
{
    rh_group_links_clear(&k->groups);
    g_array_unref(k->places);
    g_free(k->edge_of_flow);
    g_free(k->routes);
}

GArray *rh_schedule_round_times(const RhSchedule *s, const RhProgram *p, const RhPlatform *platform,
                                int32_t group, int32_t role)
{
    Clock k = {.schedule = s,
               .groups = rh_group_links(p, platform, group, role),
               .places = g_array_new(FALSE, FALSE, sizeof(RhGroupCrossing))};
    GArray *times = round_times(&k);
    clock_clear(&k);
    return times;
}

RhScheduleTime rh_schedule_time(const RhSchedule *s, const RhProgram *p, const RhPlatform *platform,
                                int32_t group, int32_t role)
{
    if (s->rounds->len == 0)
        return (RhScheduleTime){0};
    g_autoptr(GArray) times = rh_schedule_round_times(s, p, platform, group, role);
    RhStepTime steps = steps_s(s, times);
    return rh_steps_as_time(platform, s->op, s->algo, s->bytes, s->launch_more_s, steps);
}

double rh_schedule_time_s(const RhSchedule *s, const RhProgram *p, const RhPlatform *platform,
                          int32_t group, int32_t role)
{
    RhScheduleTime time = rh_schedule_time(s, p, platform, group, role);
    return time.fixed_s + time.moving_s;
}
