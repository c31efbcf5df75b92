/* How long a schedule takes on idle links. */
#include <math.h>

#include "sim/collective/algorithm.h"

typedef struct {
    int32_t links_first, links_count;
    double latency_s;
} Route;

typedef struct {
    const RhSchedule *schedule;
    const RhProgram *program;
    const RhPlatform *platform;
    int32_t *members; /* instances_count x size ranks */
    int32_t instances_count;
    double *load;     /* bytes per link, 0 between phases */
    double *capacity; /* bytes/s per link, 0 where not asked for yet */
    RhLink *touched;  /* links with a load */
    int32_t touched_count;
    /* Where edges come again and again (a tree's do, in every phase): their routes, once. */
    int32_t *edge_of_flow; /* NULL when they do not */
    int32_t edges_count;
    Route *routes; /* instances_count x edges_count */
    GArray *links; /* RhLink, of the routes */
} Clock;

/* The members of every group of the role, each group once; or of the one that holds rank 0. */
static void list_instances(Clock *k, int32_t group, int32_t role)
{
    const RhGroup *g = rh_program_group(k->program, group);
    if (role < 0) {
        k->members = g_new(int32_t, g->size);
        rh_group_members(g, 0, k->members);
        k->instances_count = 1;
        return;
    }
    const RhRole *r = rh_program_role(k->program, role);
    k->members = g_new(int32_t, r->ranks_count + g->size);
    g_autofree bool *seen = g_new0(bool, k->program->ranks_count);
    for (int32_t i = 0; i < r->ranks_count; i++) {
        int32_t rank = rh_role_rank(r, i);
        if (seen[rank])
            continue;
        int32_t *out = k->members + (int64_t)k->instances_count++ * g->size;
        rh_group_members(g, rank, out);
        for (int32_t m = 0; m < g->size; m++)
            seen[out[m]] = true;
    }
}

static const RhFlow *flow_at(const Clock *k, int32_t f)
{
    return &g_array_index(k->schedule->flows, RhFlow, f);
}

static int route_of(const Clock *k, int32_t instance, const RhFlow *flow,
                    RhLink links[RH_ROUTE_MAX], double *latency_s)
{
    const int32_t *members = k->members + (int64_t)instance * k->schedule->members;
    int32_t src = rh_program_gpu(k->program, members[flow->src]);
    int32_t dst = rh_program_gpu(k->program, members[flow->dst]);
    *latency_s = rh_platform_route_latency_s(k->platform, src, dst);
    return rh_platform_route(k->platform, src, dst, links);
}

/* Numbers the edges (src, dst) of the flows by open addressing; lists into `first` a flow of each.
 */
static void number_edges(Clock *k, int32_t *first)
{
    int32_t flows = (int32_t)k->schedule->flows->len;
    uint32_t size = 1;
    while (size < 2 * (uint32_t)flows)
        size *= 2;
    g_autofree int32_t *slots = g_new0(int32_t, size); /* 1 + edge */
    for (int32_t f = 0; f < flows; f++) {
        const RhFlow *flow = flow_at(k, f);
        uint64_t key = (uint64_t)flow->src << 32 | (uint32_t)flow->dst;
        uint32_t at = (uint32_t)(key * 0x9e3779b97f4a7c15u >> 32) & (size - 1);
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

/* Remembers routes when most edges are used at least three times. */
static void keep_routes(Clock *k)
{
    int32_t flows = (int32_t)k->schedule->flows->len;
    if (k->schedule->phases->len < 3)
        return;
    g_autofree int32_t *first = g_new(int32_t, flows + 1);
    k->edge_of_flow = g_new(int32_t, flows + 1);
    number_edges(k, first);
    if (flows < 3 * (int64_t)k->edges_count) {
        g_clear_pointer(&k->edge_of_flow, g_free);
        return;
    }
    k->routes = g_new(Route, (gsize)k->instances_count * (gsize)k->edges_count);
    for (int32_t i = 0; i < k->instances_count; i++)
        for (int32_t e = 0; e < k->edges_count; e++) {
            RhLink links[RH_ROUTE_MAX];
            Route *route = &k->routes[(int64_t)i * k->edges_count + e];
            route->links_first = (int32_t)k->links->len;
            route->links_count = route_of(k, i, flow_at(k, first[e]), links, &route->latency_s);
            g_array_append_vals(k->links, links, (guint)route->links_count);
        }
}

static void load_links(Clock *k, const RhLink *links, int count, double bytes)
{
    if (bytes == 0)
        return;
    for (int i = 0; i < count; i++) {
        if (k->load[links[i]] == 0)
            k->touched[k->touched_count++] = links[i];
        k->load[links[i]] += bytes;
    }
}

/* Puts the flow's bytes on its links; returns its latency. */
static double add_flow(Clock *k, int32_t instance, int32_t f)
{
    const RhFlow *flow = flow_at(k, f);
    if (k->edge_of_flow) {
        const Route *route = &k->routes[(int64_t)instance * k->edges_count + k->edge_of_flow[f]];
        load_links(k, &g_array_index(k->links, RhLink, route->links_first), route->links_count,
                   flow->bytes);
        return route->latency_s;
    }
    RhLink links[RH_ROUTE_MAX];
    double latency_s;
    int count = route_of(k, instance, flow, links, &latency_s);
    load_links(k, links, count, flow->bytes);
    return latency_s;
}

/* One step: seconds before bytes move, and while they do. */
typedef struct {
    double latency_s, moving_s;
} Step;

/* Seconds that the busiest link needs; takes all loads off. */
static double unload_links(Clock *k)
{
    double longest_s = 0;
    for (int32_t i = 0; i < k->touched_count; i++) {
        RhLink link = k->touched[i];
        if (k->capacity[link] == 0)
            k->capacity[link] = rh_platform_link_bytes_per_s(k->platform, link);
        longest_s = fmax(longest_s, k->load[link] / k->capacity[link]);
        k->load[link] = 0;
    }
    k->touched_count = 0;
    return longest_s;
}

static Step step_s(Clock *k, const RhStepPhase *phase)
{
    Step step = {0};
    for (int32_t g = 0; g < k->instances_count; g++)
        for (int32_t f = 0; f < phase->flows_count; f++)
            step.latency_s = fmax(step.latency_s, add_flow(k, g, phase->flows_first + f));
    step.moving_s = unload_links(k);
    return step;
}

/* Phases that put the same bytes between the same members take the same time (an all-reduce's two
 * passes). */
static bool same_flows(const RhSchedule *s, const RhStepPhase *a, const RhStepPhase *b)
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

/* The whole schedule without its launch, in one sum and in its two parts. */
static double steps_s(Clock *k, int32_t group, int32_t role, Step *parts)
{
    const RhSchedule *s = k->schedule;
    double total = 0;
    Step step = {0};
    gsize links = (gsize)rh_platform_links_count(k->platform);
    k->touched = g_new(RhLink, links);
    k->load = g_new0(double, links);
    k->capacity = g_new0(double, links);
    k->links = g_array_new(FALSE, FALSE, sizeof(RhLink));
    list_instances(k, group, role);
    keep_routes(k);
    for (guint i = 0; i < s->phases->len; i++) {
        const RhStepPhase *phase = &g_array_index(s->phases, RhStepPhase, i);
        if (i == 0 || !same_flows(s, phase - 1, phase))
            step = step_s(k, phase);
        total += phase->repeat * (step.latency_s + step.moving_s);
        parts->latency_s += phase->repeat * step.latency_s;
        parts->moving_s += phase->repeat * step.moving_s;
    }
    g_array_unref(k->links);
    g_free(k->touched);
    g_free(k->load);
    g_free(k->capacity);
    g_free(k->members);
    g_free(k->edge_of_flow);
    g_free(k->routes);
    return total;
}

double rh_schedule_time_s(const RhSchedule *s, const RhProgram *p, const RhPlatform *platform,
                          int32_t group, int32_t role)
{
    if (s->phases->len == 0)
        return 0;
    Clock k = {.schedule = s, .program = p, .platform = platform};
    Step parts = {0};
    return platform->collective_launch_s.value + steps_s(&k, group, role, &parts);
}

bool rh_schedule_linear(const RhSchedule *s, const RhProgram *p, const RhPlatform *platform,
                        int32_t group, int32_t role, double *latency_s, double *s_per_byte)
{
    Step parts = {0};
    bool pipelined = (rh_algorithm(s->algo)->pipelined & (1U << s->op)) != 0;
    bool barrier = s->op == RH_OP_BARRIER;
    if (s->phases->len > 0) {
        if (pipelined || (s->bytes <= 0 && !barrier))
            return false;
        Clock k = {.schedule = s, .program = p, .platform = platform};
        steps_s(&k, group, role, &parts);
    }
    *latency_s = parts.latency_s;
    *s_per_byte = parts.moving_s > 0 ? parts.moving_s / s->bytes : 0;
    return true;
}
