/* Double binary tree (Sanders, Speck, Traeff 2009): two in-order trees over the members, the second
 * the first one shifted by one place; each carries half of the buffer, cut into chunks that follow
 * one another up and down. Inner members stand at odd places, so whoever is inner in one tree is a
 * leaf of the other. A member of depth d sends chunk c up in step D-d+c and receives it back in
 * step D+d-1+c: 2D + C - 1 steps, of which those from 2D-1 to C are alike. Broadcast alone: a
 * binomial tree, whole buffer, ceil(log2 n) steps. */
#include "sim/collective/algorithm_interface.h"

/* NCCL's chunks for a tree's all-reduce (enqueue.cc, ncclPatternTreeUpDown, protocol Simple): 512
 * KiB, its 4 MiB buffer in 8 slots, halved while the pipeline is short for its depth. */
#define CHUNK_BYTES 524288.0
/* Maximum number of chunks: beyond 4 GiB chunks grow, as filling and draining no longer count
 * there. */
#define CHUNKS_MAX 4096

static const struct {
    double least_bytes; /* chunks are halved while larger than this and fewer than per_depth times
                         * the depth */
    int32_t per_depth;
} halving[] = {{131072, 8}, {65536, 4}, {32768, 1}};

static int32_t tree_depth(int32_t members)
{
    int32_t depth = 0;
    while (members >> (depth + 1))
        depth++;
    return depth;
}

static int32_t tree_chunks(int32_t members, double bytes)
{
    double chunk = CHUNK_BYTES, half = bytes / 2;
    int32_t depth = tree_depth(members);
    for (size_t i = 0; i < G_N_ELEMENTS(halving); i++)
        while (half / chunk < halving[i].per_depth * depth && chunk > halving[i].least_bytes)
            chunk /= 2;
    return (int32_t)CLAMP(half / chunk, 1.0, (double)CHUNKS_MAX);
}

typedef struct {
    int32_t *parent, *depth;
    int32_t deepest;
} Tree;

/* Builds the in-order tree over low..high-1: an odd place near the middle is the parent of both
 * sides' roots. */
static void build_subtree(Tree *t, int32_t low, int32_t high, int32_t parent, int32_t depth)
{
    if (low >= high)
        return;
    int32_t half = (high - low) / 2, middle = low + (half ? (half - 1) | 1 : 0);
    t->parent[middle] = parent;
    t->depth[middle] = depth;
    t->deepest = MAX(t->deepest, depth);
    build_subtree(t, low, middle, middle, depth + 1);
    build_subtree(t, middle + 1, high, middle, depth + 1);
}

/* Adds the flows of tree `shift` from `step` on, and the number of steps for which they stay the
 * same. */
static void add_step(RhScheduleBuilder *b, const Tree *t, int32_t shift, int32_t chunks,
                     int32_t step)
{
    int32_t n = b->members;
    RhFlow flow = {
        .chunk_count = 1, .chunk_shift = 1, .wrap_first = shift * chunks, .wrap_count = chunks};
    for (int32_t v = 0; v < n; v++) {
        if (t->parent[v] < 0)
            continue;
        int32_t child = (v + shift) % n, parent = (t->parent[v] + shift) % n;
        int32_t up = step - (t->deepest - t->depth[v]);
        int32_t down = step - (t->deepest + t->depth[v] - 1);
        if (up >= 0 && up < chunks) {
            flow.src = child, flow.dst = parent, flow.reduce = true;
            flow.chunk_first = shift * chunks + up;
            rh_schedule_flow_shifting(b, flow);
        }
        if (down >= 0 && down < chunks) {
            flow.src = parent, flow.dst = child, flow.reduce = false;
            flow.chunk_first = shift * chunks + down;
            rh_schedule_flow_shifting(b, flow);
        }
    }
}

static void binomial(RhScheduleBuilder *b)
{
    rh_schedule_chunks(b, 1);
    for (int32_t distance = 1; distance < b->members; distance *= 2) {
        rh_schedule_round(b, 1);
        for (int32_t i = 0; i < distance && i + distance < b->members; i++)
            rh_schedule_flow(b, i, i + distance, 0, 1, false);
    }
}

/* Adds patterns of the edges above the members of one depth, in tree `shift`, up and then down. */
static void add_edge_patterns(RhStepPatterns *w, const Tree *t, int32_t shift,
                              const int32_t *by_depth, int32_t depth, int32_t count, int32_t chunks)
{
    int32_t n = w->members, up = t->deepest - depth, down = t->deepest + depth - 1;
    RhStepPattern wave = {.edges_first = (int32_t)w->edges->len, .edges_count = count};
    g_array_set_size(w->edges, w->edges->len + (guint)count);
    RhStepPatternEdge *edges = &g_array_index(w->edges, RhStepPatternEdge, wave.edges_first);
    for (int32_t i = 0; i < count; i++)
        edges[i] =
            (RhStepPatternEdge){(by_depth[i] + shift) % n, (t->parent[by_depth[i]] + shift) % n};
    for (int back = 0; back < 2; back++) {
        wave.reversed = back;
        wave.step_first = back ? down : up;
        wave.step_end = wave.step_first + chunks;
        g_array_append_val(w->waves, wave);
    }
}

static bool waves(RhStepPatterns *w, RhOp op)
{
    if (op != RH_OP_ALL_REDUCE)
        return false;
    int32_t n = w->members, chunks = tree_chunks(n, w->bytes);
    g_autofree int32_t *cells = g_new(int32_t, 3 * (size_t)n);
    int32_t *by_depth = cells + 2 * (size_t)n, end[32] = {0};
    Tree t = {cells, cells + n, 0};
    build_subtree(&t, 0, n, -1, 0);
    for (int32_t v = 0; v < n; v++)
        end[t.depth[v] + 1]++;
    for (int32_t depth = 0; depth < t.deepest; depth++)
        end[depth + 1] += end[depth];
    for (int32_t v = 0; v < n; v++)
        by_depth[end[t.depth[v]]++] = v; /* end[d] is then the end of depth d */
    for (int32_t shift = 0; shift < 2; shift++)
        for (int32_t depth = 1; depth <= t.deepest; depth++)
            add_edge_patterns(w, &t, shift, by_depth + end[depth - 1], depth,
                              end[depth] - end[depth - 1], chunks);
    w->flow_bytes = w->bytes / (2 * chunks);
    return true;
}

static void generate(RhScheduleBuilder *b, RhOp op)
{
    if (op == RH_OP_BROADCAST) {
        binomial(b);
        return;
    }
    int32_t n = b->members, chunks = tree_chunks(n, b->schedule->bytes);
    g_autofree int32_t *cells = g_new(int32_t, 2 * (size_t)n);
    Tree t = {cells, cells + n, 0};
    build_subtree(&t, 0, n, -1, 0);
    rh_schedule_chunks(b, 2 * chunks);
    int32_t full = 2 * t.deepest - 1; /* from this step to `chunks` every edge moves both ways */
    for (int32_t step = 0, alike; step < full + chunks; step += alike) {
        alike = step == full && chunks > full ? chunks - full : 1;
        rh_schedule_round(b, alike);
        add_step(b, &t, 0, chunks, step);
        add_step(b, &t, 1, chunks, step);
    }
}

/* --- cost --- */

/* Place v of an in-order tree over n: its depth and its children, by descent. */
typedef struct {
    int32_t depth, children;
} Place;

static Place place_of(int32_t n, int32_t v)
{
    int32_t low = 0, high = n;
    for (int32_t depth = 0;; depth++) {
        int32_t half = (high - low) / 2, middle = low + (half ? (half - 1) | 1 : 0);
        if (v == middle)
            return (Place){depth, (low < middle) + (middle + 1 < high)};
        if (v < middle)
            high = middle;
        else
            low = middle + 1;
    }
}

/* 1 when the edge above a member of depth d moves a chunk up (down) in this step, else 0. */
static int32_t chunks_up(int32_t step, int32_t D, int32_t C, int32_t d)
{
    return d > 0 && step >= D - d && step < D - d + C;
}

static int32_t chunks_down(int32_t step, int32_t D, int32_t C, int32_t d)
{
    return d > 0 && step >= D + d - 1 && step < D + d - 1 + C;
}

/* Chunks that the busiest member sends or receives in a step. */
static int32_t tree_load(const Place *places, int32_t n, int32_t step, int32_t D, int32_t C)
{
    int32_t most = 0;
    for (int32_t v = 0; v < n; v++) {
        int32_t out = 0, in = 0;
        for (int32_t tree = 0; tree < 2; tree++) {
            Place at = places[(v - tree + n) % n];
            out += chunks_up(step, D, C, at.depth) +
                   at.children * chunks_down(step, D, C, at.depth + 1);
            in += at.children * chunks_up(step, D, C, at.depth + 1) +
                  chunks_down(step, D, C, at.depth);
        }
        most = MAX(most, MAX(out, in));
    }
    return most;
}

/* Cost on a flat network: 2D + C - 1 steps, in a full one of which the busiest member moves four
 * chunks, fewer while the pipeline fills and drains. */
static void flat_cost(RhLoads *l, int32_t D, int32_t C, double bytes)
{
    int32_t n = l->at.members, full = 2 * D - 1;
    g_autofree Place *places = g_new(Place, n);
    for (int32_t v = 0; v < n; v++)
        places[v] = place_of(n, v);
    for (int32_t step = 0, alike; step < full + C; step += alike) {
        alike = step == full && C > full ? C - full : 1;
        rh_loads_add(l, alike, tree_load(places, n, step, D, C) * bytes / (2 * C), 0, 0);
    }
}

/* Cost. Over nodes every step counts as full; of its four chunks one stays inside the node when
 * several consecutive members are on each. */
static void cost(RhLoads *l, RhOp op, double bytes)
{
    int32_t n = l->at.members, D = tree_depth(n), C = tree_chunks(n, bytes);
    double chunk_bytes = bytes / (2 * C);
    if (op == RH_OP_BROADCAST)
        rh_loads_add(l, rh_log2_above(n), bytes, bytes, l->at.per_node);
    else if (l->at.nodes == 1)
        flat_cost(l, D, C, bytes);
    else
        rh_loads_add(l, 2 * D + C - 1, 4 * chunk_bytes, (l->at.per_node > 1 ? 3 : 4) * chunk_bytes,
                     l->at.per_node);
}

const RhAlgorithm rh_algorithm_tree = {
    .name = "tree",
    .paced = RH_BIT(ALL_REDUCE),
    .ops = RH_BIT(ALL_REDUCE) | RH_BIT(BROADCAST),
    .pipelined = RH_BIT(ALL_REDUCE),
    .nccl_between = RH_BIT(ALL_REDUCE),
    .mpi = RH_BIT(BROADCAST),
    .generate = generate,
    .waves = waves,
    .cost = cost,
};

#define WITH(name_, PROTOCOL)                                                                      \
    {                                                                                              \
        .name = "tree-" name_, .protocol = RH_PROTOCOL_##PROTOCOL, .plain = RH_ALGO_TREE,          \
        .ops = RH_BIT(ALL_REDUCE), .pipelined = RH_BIT(ALL_REDUCE),                                \
        .nccl_between = RH_BIT(ALL_REDUCE), .generate = generate, .waves = waves, .cost = cost     \
    }
const RhAlgorithm rh_algorithm_tree_ll = WITH("ll", LL);
const RhAlgorithm rh_algorithm_tree_ll128 = WITH("ll128", LL128);
const RhAlgorithm rh_algorithm_tree_simple = WITH("simple", SIMPLE);
