/* How long a schedule takes on idle links. */
#include <math.h>
#include <string.h>

#include "sim/blocks.h"
#include "sim/collective/algorithm.h"
#include "sim/map64.h"

#define LINKS_PER_MEMBER 64 /* of the platform; with fewer, a table of all pays */

typedef struct {
    int32_t links_first, links_count;
    double latency_s;
} Route;

/* A link that is loaded, and by how many groups that stand like the one listed. */
typedef struct {
    int32_t place, times;
} Crossing;

typedef struct {
    double bytes; /* 0 between rounds */
    double bytes_per_s;
    int32_t share; /* of waves so far */
} Load;

typedef struct {
    const RhSchedule *schedule; /* NULL where steps are told in short */
    int32_t size;               /* of a group */
    const RhProgram *program;
    const RhPlatform *platform;
    int32_t *members; /* instances_count x size ranks */
    int32_t instances_count;
    int32_t block; /* instances that stand alike: one in so many is listed (blocks.h) */
    RhMap64 *place_of_link;
    int32_t *places_of_links; /* instead, by link, where most are crossed: 1 + place; or NULL */
    GArray *loads;            /* Load, by place: of the links in use, not of all there are */
    int32_t *touched;         /* places with bytes on them */
    int32_t touched_count, touched_room;
    /* Where edges come again and again (a tree's do, in every round): their routes, once. */
    int32_t *edge_of_flow; /* NULL when they do not */
    int32_t edges_count;
    Route *routes;      /* instances_count x edges_count */
    GArray *places;     /* Crossing, of the routes' links */
    double step_more_s; /* of a protocol, beside the latency of the route */
    bool latency_alone; /* RH_LATENCY_BYTES: nothing is put on links */
} Clock;

/* The first ranks of the role's groups; fewer than there are when it is not made of whole ones. Of groups at
 * different places of a block, which stand alike, those at its first place. */
static GArray *first_ranks(const Clock *k, const RhGroup *g, int32_t role)
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

/* Groups that all stay inside their nodes meet nobody: one of each placement in a node will do.
 * Keeps these. */
static void keep_placements(const Clock *k, const RhGroup *g, GArray *first)
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

/* Groups that reach out of the role: each of them once, by the first of its ranks that is there. */
static void list_ragged(Clock *k, const RhGroup *g, const RhRole *r)
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

/* The members of every group of the role that can matter; or of the one that holds rank 0. */
static void list_instances(Clock *k, int32_t group, int32_t role)
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

static const RhFlow *flow_at(const Clock *k, int32_t f)
{
    return &g_array_index(k->schedule->flows, RhFlow, f);
}

static double latency_of(const Clock *k, int32_t instance, int32_t from, int32_t to)
{
    const int32_t *members = k->members + (int64_t)instance * k->size;
    return rh_platform_route_latency_s(k->platform, rh_program_gpu(k->program, members[from]),
                                       rh_program_gpu(k->program, members[to]));
}

static int route_of(const Clock *k, int32_t instance, int32_t from, int32_t to,
                    RhLink links[RH_ROUTE_MAX], double *latency_s)
{
    const int32_t *members = k->members + (int64_t)instance * k->size;
    *latency_s = latency_of(k, instance, from, to);
    return rh_platform_route(k->platform, rh_program_gpu(k->program, members[from]),
                             rh_program_gpu(k->program, members[to]), links);
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

/* The place of a link; `fresh` for one that had none. */
static int32_t known_place(Clock *k, RhLink link, int32_t fresh)
{
    if (!k->places_of_links)
        return *rh_map64_at(k->place_of_link, (uint64_t)link + 1, fresh);
    int32_t *place = &k->places_of_links[link];
    if (*place == 0)
        *place = fresh + 1;
    return *place - 1;
}

static Crossing place_of(Clock *k, RhLink link)
{
    int32_t fresh = (int32_t)k->loads->len, alike = 1;
    if (k->block > 1)
        link = rh_platform_link_turned(k->platform, k->block, link, &alike);
    int32_t place = known_place(k, link, fresh);
    if (place == fresh) {
        Load load = {0, rh_platform_link_bytes_per_s(k->platform, link), 0};
        g_array_append_val(k->loads, load);
    }
    return (Crossing){place, k->block / alike};
}

/* Remembers routes when most edges are used at least three times. */
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
    k->routes = g_new(Route, (gsize)k->instances_count * (gsize)k->edges_count);
    for (int32_t i = 0; i < k->instances_count; i++)
        for (int32_t e = 0; e < k->edges_count; e++) {
            RhLink links[RH_ROUTE_MAX];
            Route *route = &k->routes[(int64_t)i * k->edges_count + e];
            route->links_first = (int32_t)k->places->len;
            const RhFlow *flow = flow_at(k, first[e]);
            route->links_count = route_of(k, i, flow->src, flow->dst, links, &route->latency_s);
            for (int32_t l = 0; l < route->links_count; l++) {
                Crossing place = place_of(k, links[l]);
                g_array_append_val(k->places, place);
            }
        }
}

static void load_place(Clock *k, Crossing at, double bytes)
{
    Load *load = &g_array_index(k->loads, Load, at.place);
    if (load->bytes == 0) {
        if (k->touched_count == k->touched_room) {
            k->touched_room = MAX(64, 2 * k->touched_room);
            k->touched = g_renew(int32_t, k->touched, k->touched_room);
        }
        k->touched[k->touched_count++] = at.place;
    }
    load->bytes += bytes * at.times;
}

/* Puts the flow's bytes on its links; returns its latency. */
static double add_flow(Clock *k, int32_t instance, int32_t f)
{
    const RhFlow *flow = flow_at(k, f);
    if (k->latency_alone)
        return latency_of(k, instance, flow->src, flow->dst);
    if (k->edge_of_flow) {
        const Route *route = &k->routes[(int64_t)instance * k->edges_count + k->edge_of_flow[f]];
        for (int32_t i = 0; flow->bytes > 0 && i < route->links_count; i++)
            load_place(k, g_array_index(k->places, Crossing, route->links_first + i), flow->bytes);
        return route->latency_s;
    }
    RhLink links[RH_ROUTE_MAX];
    double latency_s;
    int count = route_of(k, instance, flow->src, flow->dst, links, &latency_s);
    for (int i = 0; flow->bytes > 0 && i < count; i++)
        load_place(k, place_of(k, links[i]), flow->bytes);
    return latency_s;
}

/* Seconds that the busiest link needs; takes all loads off. */
static double unload_links(Clock *k)
{
    double longest_s = 0;
    for (int32_t i = 0; i < k->touched_count; i++) {
        Load *load = &g_array_index(k->loads, Load, k->touched[i]);
        longest_s = fmax(longest_s, load->bytes / load->bytes_per_s);
        load->bytes = 0;
    }
    k->touched_count = 0;
    return longest_s;
}

/* Seconds before bytes move, and while they do. */
typedef struct {
    double latency_s, moving_s;
} Step;

static Step step_s(Clock *k, const RhRound *round)
{
    Step step = {0};
    for (int32_t g = 0; g < k->instances_count; g++)
        for (int32_t f = 0; f < round->flows_count; f++)
            step.latency_s = fmax(step.latency_s, add_flow(k, g, round->flows_first + f));
    step.latency_s = fmax(0, step.latency_s + k->step_more_s);
    step.moving_s = unload_links(k);
    return step;
}

/* Rounds that put the same bytes between the same members take the same time (an all-reduce's two
 * passes). */
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

static Clock clock_new(const RhProgram *p, const RhPlatform *platform, int32_t group, int32_t role)
{
    Clock k = {.block = 1, .program = p, .platform = platform};
    k.size = rh_program_group(p, group)->size;
    k.place_of_link = rh_map64_new();
    k.loads = g_array_new(FALSE, FALSE, sizeof(Load));
    k.places = g_array_new(FALSE, FALSE, sizeof(Crossing));
    list_instances(&k, group, role);
    int32_t links = rh_platform_links_count(platform);
    if ((int64_t)k.instances_count * k.size >= links / LINKS_PER_MEMBER)
        k.places_of_links = g_new0(int32_t, links + 1);
    return k;
}

static void clock_clear(Clock *k)
{
    rh_map64_free(k->place_of_link);
    g_free(k->places_of_links);
    g_array_unref(k->loads);
    g_array_unref(k->places);
    g_free(k->touched);
    g_free(k->members);
    g_free(k->edge_of_flow);
    g_free(k->routes);
}

/* The whole schedule without its launch. */
static Step steps_s(Clock *k)
{
    const RhSchedule *s = k->schedule;
    Step total = {0}, step = {0};
    keep_routes(k);
    for (guint i = 0; i < s->rounds->len; i++) {
        const RhRound *round = &g_array_index(s->rounds, RhRound, i);
        if (i == 0 || !same_flows(s, round - 1, round))
            step = step_s(k, round);
        total.latency_s += round->repeat * step.latency_s;
        total.moving_s += round->repeat * step.moving_s;
    }
    return total;
}

/* --- steps told in short --- */

/* What waves put on a link, one behind another: the latest, and those before. Many links have the same,
 * so steps are timed by kinds of links and not by links. */
typedef struct {
    int32_t before; /* 0: none */
    int32_t wave, flows;
} Share;

typedef struct {
    int32_t share;
    double bytes_per_s;
} LinkKind;

#define LAST_KNOWN 16

typedef struct {
    Clock *clock;
    const RhWaves *waves;
    RhMap64 *known;                 /* hashes of shares and of kinds -> their places */
    uint64_t last_hash[LAST_KNOWN]; /* those asked for last, by their last bits */
    int32_t last_place[LAST_KNOWN];
    GArray *shares; /* Share; place 0 stands for none */
    GArray *kinds;  /* LinkKind */
    double *latency_s;
    bool *moves; /* per wave, in the steps looked at */
} Tally;

static const RhWave *wave_at(const Tally *t, int32_t i)
{
    return &g_array_index(t->waves->waves, RhWave, i);
}

static void count_edge(Tally *t, int32_t wave, int32_t instance, const RhWaveEdge *edge)
{
    Clock *k = t->clock;
    RhLink links[RH_ROUTE_MAX];
    double latency_s;
    bool back = wave_at(t, wave)->reversed;
    int32_t from = back ? edge->dst : edge->src, to = back ? edge->src : edge->dst;
    if (k->latency_alone) {
        t->latency_s[wave] = fmax(t->latency_s[wave], latency_of(k, instance, from, to));
        return;
    }
    int count = route_of(k, instance, from, to, links, &latency_s);
    t->latency_s[wave] = fmax(t->latency_s[wave], latency_s);
    for (int i = 0; i < count; i++)
        load_place(k, place_of(k, links[i]), 1);
}

/* The place of a hash, `fresh` for one that had none. Links that stand side by side are mostly alike. */
static int32_t known_hash(Tally *t, uint64_t hash, int32_t fresh)
{
    size_t at = hash % LAST_KNOWN;
    if (t->last_hash[at] != hash || t->last_place[at] < 0) {
        t->last_hash[at] = hash;
        t->last_place[at] = *rh_map64_at(t->known, hash, fresh);
    }
    return t->last_place[at];
}

static void forget_known(Tally *t)
{
    rh_map64_clear(t->known);
    memset(t->last_place, 0xff, sizeof t->last_place);
}

/* The wave's flows over each link become the latest of the link's shares. */
static void take_shares(Tally *t, int32_t wave)
{
    Clock *k = t->clock;
    for (int32_t i = 0; i < k->touched_count; i++) {
        Load *load = &g_array_index(k->loads, Load, k->touched[i]);
        Share share = {load->share, wave, (int32_t)load->bytes};
        uint64_t hash =
            rh_mix64((uint64_t)share.before << 32 | (uint32_t)wave, (uint64_t)share.flows);
        load->share = known_hash(t, hash, (int32_t)t->shares->len);
        if (load->share == (int32_t)t->shares->len)
            g_array_append_val(t->shares, share);
        load->bytes = 0;
    }
    k->touched_count = 0;
}

static void count_waves(Tally *t)
{
    for (guint w = 0; w < t->waves->waves->len; w++) {
        const RhWave *wave = wave_at(t, (int32_t)w);
        for (int32_t g = 0; g < t->clock->instances_count; g++)
            for (int32_t e = wave->edges_first; e < wave->edges_first + wave->edges_count; e++)
                count_edge(t, (int32_t)w, g, &g_array_index(t->waves->edges, RhWaveEdge, e));
        take_shares(t, (int32_t)w);
    }
    forget_known(t);
    for (guint i = 0; i < t->clock->loads->len; i++) {
        const Load *load = &g_array_index(t->clock->loads, Load, i);
        LinkKind kind = {load->share, load->bytes_per_s};
        uint64_t hash = rh_mix64((uint64_t)kind.share, rh_bits64(kind.bytes_per_s));
        if (known_hash(t, hash, (int32_t)t->kinds->len) == (int32_t)t->kinds->len)
            g_array_append_val(t->kinds, kind);
    }
}

static Step wave_step(const Tally *t, int32_t step)
{
    Step one = {0};
    for (guint w = 0; w < t->waves->waves->len; w++) {
        const RhWave *wave = wave_at(t, (int32_t)w);
        t->moves[w] = wave->step_first <= step && step < wave->step_end;
        one.latency_s = fmax(one.latency_s, t->moves[w] ? t->latency_s[w] : 0);
    }
    one.latency_s = fmax(0, one.latency_s + t->clock->step_more_s);
    for (guint i = 0; i < t->kinds->len; i++) {
        const LinkKind *kind = &g_array_index(t->kinds, LinkKind, i);
        double flows = 0;
        for (int32_t at = kind->share; at > 0; at = g_array_index(t->shares, Share, at).before) {
            const Share *share = &g_array_index(t->shares, Share, at);
            flows += t->moves[share->wave] ? share->flows : 0;
        }
        one.moving_s = fmax(one.moving_s, flows * t->waves->flow_bytes / kind->bytes_per_s);
    }
    return one;
}

/* The next step that is not like this one; this one when there is none. */
static int32_t next_change(const Tally *t, int32_t step)
{
    int32_t next = G_MAXINT32;
    for (guint w = 0; w < t->waves->waves->len; w++) {
        const RhWave *wave = wave_at(t, (int32_t)w);
        if (wave->step_first > step)
            next = MIN(next, wave->step_first);
        else if (wave->step_end > step)
            next = MIN(next, wave->step_end);
    }
    return next == G_MAXINT32 ? step : next;
}

static Step waves_s(Clock *k, const RhWaves *waves)
{
    Step total = {0};
    Tally t = {.clock = k,
               .waves = waves,
               .known = rh_map64_new(),
               .shares = g_array_new(FALSE, TRUE, sizeof(Share)),
               .kinds = g_array_new(FALSE, FALSE, sizeof(LinkKind)),
               .latency_s = g_new0(double, waves->waves->len + 1),
               .moves = g_new0(bool, waves->waves->len + 1)};
    g_array_set_size(t.shares, 1);
    forget_known(&t);
    count_waves(&t);
    for (int32_t step = 0, next; (next = next_change(&t, step)) > step; step = next) {
        Step one = wave_step(&t, step);
        total.latency_s += (next - step) * one.latency_s;
        total.moving_s += (next - step) * one.moving_s;
    }
    rh_map64_free(t.known);
    g_array_unref(t.shares);
    g_array_unref(t.kinds);
    g_free(t.latency_s);
    g_free(t.moves);
    return total;
}

/* --- all together --- */

static RhScheduleTime time_of(const RhPlatform *platform, RhOp op, RhAlgo algo, double bytes,
                              double launch_more_s, Step steps)
{
    bool linear = !rh_collective_is_pipelined(op, algo) && bytes > 0;
    return (RhScheduleTime){platform->collective_launch_s.value + launch_more_s + steps.latency_s,
                            steps.moving_s, linear};
}

RhScheduleTime rh_schedule_time(const RhSchedule *s, const RhProgram *p, const RhPlatform *platform,
                                int32_t group, int32_t role)
{
    if (s->rounds->len == 0)
        return (RhScheduleTime){0};
    Clock k = clock_new(p, platform, group, role);
    k.schedule = s;
    k.step_more_s = s->step_more_s;
    k.latency_alone = s->bytes <= RH_LATENCY_BYTES;
    Step steps = steps_s(&k);
    clock_clear(&k);
    return time_of(platform, s->op, s->algo, s->bytes, s->launch_more_s, steps);
}

/* Of the first listed group. */
static RhPace pace_of(const Clock *k, const RhAlgorithm *row, RhOp op)
{
    g_autofree int32_t *nodes = g_new(int32_t, k->size);
    for (int32_t i = 0; i < k->size; i++)
        nodes[i] = rh_platform_node_of(k->platform, rh_program_gpu(k->program, k->members[i]));
    return rh_pace(row, op, k->size, rh_is_between(k->size, nodes), k->platform);
}

bool rh_waves_time(RhOp op, RhAlgo algo, double bytes, const RhProgram *p,
                   const RhPlatform *platform, int32_t group, int32_t role, RhScheduleTime *time)
{
    const RhAlgorithm *row = rh_algorithm(algo);
    int32_t size = rh_program_group(p, group)->size;
    if (!row || !row->waves || size < 2 || !rh_collective_supports(op, algo))
        return false;
    RhWaves waves = {.members = size,
                     .bytes = bytes,
                     .waves = g_array_new(FALSE, FALSE, sizeof(RhWave)),
                     .edges = g_array_new(FALSE, FALSE, sizeof(RhWaveEdge))};
    bool told = row->waves(&waves, op);
    if (told) {
        Clock k = clock_new(p, platform, group, role);
        RhPace pace = pace_of(&k, row, op);
        k.step_more_s = pace.step_more_s;
        k.latency_alone = bytes <= RH_LATENCY_BYTES;
        waves.flow_bytes *= pace.wire;
        *time = time_of(platform, op, algo, bytes, pace.launch_more_s, waves_s(&k, &waves));
        clock_clear(&k);
    }
    g_array_unref(waves.waves);
    g_array_unref(waves.edges);
    return told;
}

double rh_schedule_time_s(const RhSchedule *s, const RhProgram *p, const RhPlatform *platform,
                          int32_t group, int32_t role)
{
    RhScheduleTime time = rh_schedule_time(s, p, platform, group, role);
    return time.fixed_s + time.moving_s;
}

double rh_collective_alone_s(RhOp op, RhAlgo algo, int32_t members, const int32_t *gpus,
                             double bytes, const RhPlatform *platform)
{
    g_autoptr(RhProgram) one = rh_program_new(members);
    RhSpan all = {1, members};
    int32_t group = rh_program_add_group(one, "alone", &all, 1);
    one->gpu_of_rank = g_memdup2(gpus, sizeof *gpus * (size_t)members);
    RhScheduleTime time;
    if (rh_waves_time(op, algo, bytes, one, platform, group, -1, &time))
        return time.fixed_s + time.moving_s;
    g_autoptr(RhSchedule) schedule =
        rh_schedule_on(op, algo, members, platform, gpus, bytes, NULL, NULL);
    return rh_schedule_time_s(schedule, one, platform, group, -1);
}
