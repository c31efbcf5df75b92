#include "strategies/serve/replica/replica_internode_flows.h"

#include <math.h>

#include "sim/collective/collective.h"
#include "sim/fair_share_transfers.h"

#define LEVELS 24 /* sizes for which algorithms are chosen: powers of two of tokens */

/* Flows of one kind of exchange per byte of its buffer. */
typedef struct {
    RhOp op;
    bool experts;
    RhAlgo algo;
    GArray *flows[RH_TRAFFIC_PARTS]; /* RhReplicaFlow */
} Shape;

/* Exchanges of an iteration: bytes of one kind, all its calls together. */
typedef struct {
    const Shape *shape;
    double bytes;
} Asked;

typedef struct {
    GArray *asked; /* Asked */
    double alone_s[RH_TRAFFIC_PARTS], most_s;
} Known;

struct RhReplicaTraffic {
    RhIterations *it;
    const RhPlatform *platform;
    RhPool pool;
    int32_t first_gpu;
    GPtrArray *shapes; /* Shape */
    const Shape *chosen[LEVELS][2][RH_OP_LAST];
    GArray *ways;      /* RhReplicaFlow */
    GArray *links;     /* RhLink: links of the flows, each once, except those that are never a
                        * bottleneck */
    uint8_t *crossed;  /* by link: is it one of these? */
    GHashTable *known; /* tokens << 32 | sequences -> Known */
    GArray *exchanges; /* RhServedExchange: work space */
};

/* --- steps of a collective, by the nodes that they join --- */

static void shape_free(gpointer data)
{
    Shape *shape = data;
    for (int i = 0; i < RH_TRAFFIC_PARTS; i++)
        g_array_unref(shape->flows[i]);
    g_free(shape);
}

static void known_free(gpointer data)
{
    g_array_unref(((Known *)data)->asked);
    g_free(data);
}

static void add_flow(const RhPlatform *p, GArray *flows, int32_t src, int32_t dst, double bytes)
{
    if (rh_platform_node_of(p, src) == rh_platform_node_of(p, dst))
        return;
    for (guint i = 0; i < flows->len; i++) {
        RhReplicaFlow *known = &g_array_index(flows, RhReplicaFlow, i);
        if (known->src == src && known->dst == dst) {
            known->bytes += bytes;
            return;
        }
    }
    RhReplicaFlow added = {src, dst, bytes};
    g_array_append_val(flows, added);
}

/* Adds a schedule's flows. Rounds of an all-to-all have different pairs: each part has some of
 * them. */
static void add_schedule(const RhReplicaTraffic *w, Shape *shape, const RhSchedule *s,
                         const int32_t *gpus)
{
    int32_t rounds = (int32_t)s->rounds->len;
    bool apart = shape->op == RH_OP_ALL_TO_ALL && rounds >= RH_TRAFFIC_PARTS;
    for (int32_t r = 0; r < rounds; r++) {
        const RhRound *round = &g_array_index(s->rounds, RhRound, r);
        for (int32_t i = 0; i < round->flows_count; i++) {
            const RhFlow *f = &g_array_index(s->flows, RhFlow, round->flows_first + i);
            double bytes = f->bytes * round->repeat / s->bytes;
            int32_t only = (int32_t)((int64_t)r * RH_TRAFFIC_PARTS / rounds);
            for (int32_t part = 0; part < RH_TRAFFIC_PARTS; part++)
                if (!apart || part == only)
                    add_flow(w->platform, shape->flows[part], gpus[f->src], gpus[f->dst],
                             apart ? bytes : bytes / RH_TRAFFIC_PARTS);
        }
    }
}

/* Adds groups: the ranks of a stage are consecutive, and within them the tensor ranks of a
 * group. */
static void add_groups(const RhReplicaTraffic *w, Shape *shape, double bytes)
{
    int32_t stage = w->pool.tp * w->pool.dp;
    int32_t members = shape->experts ? rh_pool_expert_ranks(&w->pool) : w->pool.tp;
    g_autofree int32_t *gpus = g_new(int32_t, members + 1);
    RhCollectiveSpec spec = {.op = shape->op, .algo = shape->algo, .bytes = bytes};
    for (int32_t first = 0; members > 1 && first < stage * w->pool.pp; first += members) {
        for (int32_t i = 0; i < members; i++)
            gpus[i] = w->first_gpu + first + i;
        g_autoptr(RhSchedule) s = rh_schedule_on(&spec, members, w->platform, gpus, NULL);
        if (s)
            add_schedule(w, shape, s, gpus);
    }
}

/* Adds messages between stages: each rank sends its group's tokens to its counterpart in the next
 * stage, and so does every other group. */
static void add_stages(const RhReplicaTraffic *w, Shape *shape)
{
    int32_t stage = w->pool.tp * w->pool.dp;
    for (int32_t i = 0; i < stage * (w->pool.pp - 1); i++)
        for (int32_t part = 0; part < RH_TRAFFIC_PARTS; part++)
            add_flow(w->platform, shape->flows[part], w->first_gpu + i, w->first_gpu + i + stage,
                     1.0 / RH_TRAFFIC_PARTS);
}

static RhAlgo algo_of(const RhReplicaTraffic *w, const RhServedExchange *e)
{
    int32_t ranks = e->experts ? rh_pool_expert_ranks(&w->pool) : w->pool.tp;
    g_autofree int32_t *nodes = g_new(int32_t, ranks + 1);
    for (int32_t i = 0; i < ranks; i++) /* as in the iteration's time */
        nodes[i] = i / w->platform->gpus_per_node;
    return rh_collective_choose(e->op, ranks, nodes, e->bytes, w->platform, NULL);
}

static const Shape *shape_of(RhReplicaTraffic *w, const RhServedExchange *e)
{
    bool shifts = e->op == RH_OP_SHIFT;
    RhAlgo algo = shifts ? 0 : algo_of(w, e);
    for (guint i = 0; i < w->shapes->len; i++) {
        const Shape *s = g_ptr_array_index(w->shapes, i);
        if (s->op == e->op && s->experts == e->experts && s->algo == algo)
            return s;
    }
    Shape *shape = g_new0(Shape, 1);
    *shape = (Shape){.op = e->op, .experts = e->experts, .algo = algo};
    for (int i = 0; i < RH_TRAFFIC_PARTS; i++)
        shape->flows[i] = g_array_new(FALSE, FALSE, sizeof(RhReplicaFlow));
    if (shifts)
        add_stages(w, shape);
    else
        add_groups(w, shape, e->bytes);
    g_ptr_array_add(w->shapes, shape);
    return shape;
}

/* --- exchanges of an iteration --- */

static int32_t share_of(const RhReplicaTraffic *w, int32_t count)
{
    int32_t groups = w->pool.dp * w->pool.pp;
    return (count + groups - 1) / groups;
}

static void list_exchanges(RhReplicaTraffic *w, int32_t tokens, int32_t sequences)
{
    g_array_set_size(w->exchanges, 0);
    rh_iteration_exchanges(w->it, tokens, sequences, w->exchanges);
    RhServedExchange hands_on = {RH_OP_SHIFT, false,
                                 w->pool.pp * rh_iteration_handed_bytes(w->it, tokens)};
    if (w->pool.pp > 1)
        g_array_append_val(w->exchanges, hands_on);
}

static int32_t level_of(int32_t tokens)
{
    int32_t level = 0;
    while (level < LEVELS - 1 && (INT64_C(1) << level) < tokens)
        level++;
    return level;
}

static void choose_level(RhReplicaTraffic *w, int32_t level)
{
    int32_t tokens = (int32_t)1 << level;
    list_exchanges(w, tokens, MIN(tokens, w->pool.batch));
    for (guint i = 0; i < w->exchanges->len; i++) {
        const RhServedExchange *e = &g_array_index(w->exchanges, RhServedExchange, i);
        const Shape **chosen = &w->chosen[level][e->experts][e->op];
        if (!*chosen)
            *chosen = shape_of(w, e);
    }
}

static void add_asked(GArray *asked, const Shape *shape, double bytes)
{
    for (guint i = 0; i < asked->len; i++) {
        Asked *known = &g_array_index(asked, Asked, i);
        if (known->shape == shape) {
            known->bytes += bytes;
            return;
        }
    }
    Asked added = {shape, bytes};
    g_array_append_val(asked, added);
}

/* Lists flows of a part. Kinds are listed one after another, so that flows of several kinds on one
 * route become one. */
static void list_part(const RhReplicaTraffic *w, const GArray *asked, int32_t part, double times,
                      GArray *flows)
{
    for (guint a = 0; a < asked->len; a++) {
        const Asked *one = &g_array_index(asked, Asked, a);
        for (guint i = 0; i < one->shape->flows[part]->len; i++) {
            const RhReplicaFlow *f = &g_array_index(one->shape->flows[part], RhReplicaFlow, i);
            if (f->bytes > 0)
                add_flow(w->platform, flows, f->src, f->dst, times * one->bytes * f->bytes);
        }
    }
}

/* Time on otherwise idle links. */
static double uncontended_s(const RhReplicaTraffic *w, const GArray *flows)
{
    g_autoptr(RhTransfers) t = rh_transfers_new(w->platform);
    double end_s = 0;
    for (guint i = 0; i < flows->len; i++) {
        const RhReplicaFlow *f = &g_array_index(flows, RhReplicaFlow, i);
        rh_transfers_start(t, 0, f->src, f->dst, f->bytes, 0);
    }
    while (rh_transfers_count(t) > 0) {
        end_s = rh_transfers_next_s(t);
        rh_transfers_end(t);
    }
    return end_s;
}

static const Known *known_of(RhReplicaTraffic *w, int32_t tokens, int32_t sequences)
{
    int64_t key = (int64_t)tokens << 32 | sequences;
    Known *known = g_hash_table_lookup(w->known, &key);
    if (known)
        return known;
    known = g_new0(Known, 1);
    known->asked = g_array_new(FALSE, FALSE, sizeof(Asked));
    int32_t level = level_of(tokens);
    list_exchanges(w, tokens, sequences);
    for (guint i = 0; i < w->exchanges->len; i++) {
        const RhServedExchange *e = &g_array_index(w->exchanges, RhServedExchange, i);
        const Shape *shape = w->chosen[level][e->experts][e->op];
        if (shape)
            add_asked(known->asked, shape, e->bytes);
    }
    known->most_s = rh_iteration_exchanges_s(w->it, tokens, sequences);
    g_autoptr(GArray) flows = g_array_new(FALSE, FALSE, sizeof(RhReplicaFlow));
    for (int32_t part = 0; part < RH_TRAFFIC_PARTS; part++) {
        g_array_set_size(flows, 0);
        list_part(w, known->asked, part, 1, flows);
        known->alone_s[part] = uncontended_s(w, flows);
    }
    g_hash_table_insert(w->known, g_memdup2(&key, sizeof key), known);
    return known;
}

/* Factor on the bytes, so that they take no longer than the iteration's own estimate: a server's
 * own kernels send less. */
static double times_of(const Known *known, double iteration_s)
{
    double all_s = 0, most_s = fmin(known->most_s, iteration_s);
    for (int i = 0; i < RH_TRAFFIC_PARTS; i++)
        all_s += known->alone_s[i];
    return all_s > most_s ? most_s / all_s : 1;
}

void rh_replica_traffic_alone(RhReplicaTraffic *w, double iteration_s, int32_t tokens,
                              int32_t sequences, double alone[RH_TRAFFIC_PARTS])
{
    const Known *known = known_of(w, share_of(w, tokens), share_of(w, sequences));
    double times = times_of(known, iteration_s);
    for (int i = 0; i < RH_TRAFFIC_PARTS; i++)
        alone[i] = times * known->alone_s[i];
}

void rh_replica_traffic_list(RhReplicaTraffic *w, double iteration_s, int32_t tokens,
                             int32_t sequences, int32_t part, GArray *flows)
{
    const Known *known = known_of(w, share_of(w, tokens), share_of(w, sequences));
    list_part(w, known->asked, part, times_of(known, iteration_s), flows);
}

/* --- routes --- */

static void add_ways(RhReplicaTraffic *w)
{
    RhLink links[RH_ROUTE_MAX];
    RhSwitchLinks switches = rh_platform_switch_links(w->platform);
    for (guint s = 0; s < w->shapes->len; s++)
        for (int part = 0; part < RH_TRAFFIC_PARTS; part++) {
            const GArray *flows = ((const Shape *)g_ptr_array_index(w->shapes, s))->flows[part];
            for (guint i = 0; i < flows->len; i++) {
                const RhReplicaFlow *f = &g_array_index(flows, RhReplicaFlow, i);
                add_flow(w->platform, w->ways, f->src, f->dst, 0);
            }
        }
    for (guint i = 0; i < w->ways->len; i++) {
        const RhReplicaFlow *f = &g_array_index(w->ways, RhReplicaFlow, i);
        int count = rh_platform_route(w->platform, f->src, f->dst, links);
        for (int l = 0; l < count; l++) {
            if (rh_switch_link_is_ample(&switches, links[l]))
                continue;
            if (!w->crossed[links[l]])
                g_array_append_val(w->links, links[l]);
            w->crossed[links[l]] = 1;
        }
    }
}

const GArray *rh_replica_traffic_ways(const RhReplicaTraffic *w)
{
    return w->ways;
}

bool rh_replica_traffic_cross(const RhReplicaTraffic *w, RhLink link)
{
    return w->crossed[link] != 0;
}

bool rh_replica_traffic_meet(const RhReplicaTraffic *a, const RhReplicaTraffic *b)
{
    for (guint i = 0; i < a->links->len; i++)
        if (b->crossed[g_array_index(a->links, RhLink, i)])
            return true;
    return false;
}

/* --- life --- */

RhReplicaTraffic *rh_replica_traffic_new(RhIterations *it, int32_t first_gpu)
{
    const RhPlatform *platform = rh_iterations_platform(it);
    const RhPool *pool = rh_iterations_pool(it);
    int32_t last_gpu = first_gpu + rh_pool_gpus(pool) - 1;
    if (rh_platform_node_of(platform, first_gpu) == rh_platform_node_of(platform, last_gpu))
        return NULL;
    RhReplicaTraffic *w = g_new0(RhReplicaTraffic, 1);
    w->it = it;
    w->platform = platform;
    w->pool = *pool;
    w->first_gpu = first_gpu;
    w->shapes = g_ptr_array_new_with_free_func(shape_free);
    w->ways = g_array_new(FALSE, FALSE, sizeof(RhReplicaFlow));
    w->links = g_array_new(FALSE, FALSE, sizeof(RhLink));
    w->crossed = g_new0(uint8_t, rh_platform_links_count(platform) + 1);
    w->known = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, known_free);
    w->exchanges = g_array_new(FALSE, FALSE, sizeof(RhServedExchange));
    for (int32_t level = 0; level <= level_of(pool->chunk + pool->batch); level++)
        choose_level(w, level);
    add_ways(w);
    return w;
}

void rh_replica_traffic_free(RhReplicaTraffic *w)
{
    if (!w)
        return;
    g_ptr_array_unref(w->shapes);
    g_array_unref(w->ways);
    g_array_unref(w->links);
    g_free(w->crossed);
    g_hash_table_unref(w->known);
    g_array_unref(w->exchanges);
    g_free(w);
}
