/* Pipelined chains from member 0 (Thakur et al. 2005; NCCL's broadcast, device/broadcast.h): the
 * buffer in chunks that follow one another. With k members on each of several nodes k chains run at
 * once, each with a k-th of the buffer and each between nodes from the same member to the same
 * member, as NCCL's channels leave by all NICs. A node's first member of a chain sends a chunk on
 * to the next node while its own node passes it along, so that filling takes a step a node and a
 * node's members once. A reduce is the way back. */
#include <math.h>

#include "sim/collective/algorithm_interface.h"

/* NCCL keeps up to 8 slots of 512 KiB of a channel under way, so that latencies hide behind bytes. A
 * step here is a barrier and pays for its latency: about what a slot takes on today's links. With
 * that the chain is quickest of sqrt(fill x slots) chunks, and tends to bytes over bandwidth. */
#define SLOT_BYTES 524288.0

static int32_t chunks_of(double bytes, int32_t fill)
{
    return (int32_t)fmax(1, sqrt(fill * bytes / SLOT_BYTES));
}

/* Steps in which a chain fills: those before its last member gets the first chunk. */
static int32_t steps_to_fill(int32_t members, int32_t chains)
{
    return chains > 1 ? members / chains + chains - 2 : members - 2;
}

/* An edge sends chunk c of its chain in step `lag` + c. */
typedef struct {
    int32_t src, dst, lag;
    int32_t first, width; /* of the chain: its first piece of the buffer, pieces of a chunk */
} Edge;

typedef struct {
    int32_t chunks, pieces, fill;
    GArray *edges; /* Edge */
} Chains;

static void add_edge(Chains *r, int32_t src, int32_t dst, int32_t lag, int32_t width)
{
    Edge edge = {src, dst, lag, r->pieces, width};
    g_array_append_val(r->edges, edge);
}

/* Adds a chain through the members of one order of a ring, which is turned so that 0 comes first;
 * NULL: 0, 1, 2. */
static void add_flat(Chains *r, const int32_t *order, int32_t n, int32_t width)
{
    int32_t root = 0;
    while (order && order[root] != 0)
        root++;
    for (int32_t i = 0; i + 1 < n; i++)
        add_edge(r, order ? order[(root + i) % n] : i, order ? order[(root + i + 1) % n] : i + 1, i,
                 width);
    r->pieces += r->chunks * width;
}

/* Adds chain j: node 0 from member 0 to place j and on, the others from their place j on; places of
 * a node are in the order of its mesh's rings, where there is a mesh. */
static void add_by_nodes(Chains *r, const RhScheduleBuilder *b, int32_t j)
{
    int32_t k = b->per_node, root = 0;
    const int32_t *order = b->rings ? b->rings->order : NULL;
    while (order && order[root] != 0)
        root++;
#define AT(place) (order ? order[(root + (place)) % k] : (place) % k)
    for (int32_t node = 0; node < b->nodes; node++) {
        int32_t base = node * k, at = base + AT(j), lag = node + 1;
        if (node > 0)
            add_edge(r, at - k, at, node, 1);
        else if (j > 0)
            add_edge(r, 0, at, 0, 1);
        for (int32_t i = 1; i < k; i++) {
            int32_t next = base + AT(j + i);
            if (next == 0)
                continue; /* member 0 has it all */
            add_edge(r, at, next, lag++, 1);
            at = next;
        }
    }
#undef AT
    r->pieces += r->chunks;
}

static Chains chains_new(const RhScheduleBuilder *b)
{
    int32_t k = b->nodes > 1 && b->per_node > 1 ? b->per_node : 1, n = b->members;
    const RhRings *rings = b->nodes == 1 ? b->rings : NULL;
    int32_t fill = steps_to_fill(n, k);
    Chains r = {.chunks = chunks_of(b->schedule->bytes / k, fill),
                .fill = fill,
                .edges = g_array_new(FALSE, FALSE, sizeof(Edge))};
    for (int32_t j = 0; j < (rings ? rings->rings_count : k); j++)
        if (rings)
            add_flat(&r, rings->order + (gsize)j * n, n, rings->channels[j]);
        else if (k > 1)
            add_by_nodes(&r, b, j);
        else
            add_flat(&r, NULL, n, 1);
    return r;
}

static void generate(RhScheduleBuilder *b, RhOp op)
{
    (void)op;
    Chains r = chains_new(b);
    rh_schedule_chunks(b, r.pieces);
    for (int32_t step = 0, alike; step < r.fill + r.chunks; step += alike) {
        alike = step == r.fill && r.chunks > r.fill ? r.chunks - r.fill : 1;
        rh_schedule_round(b, alike);
        for (guint i = 0; i < r.edges->len; i++) {
            const Edge *edge = &g_array_index(r.edges, Edge, i);
            if (step < edge->lag || step >= edge->lag + r.chunks)
                continue;
            rh_schedule_flow_shifting(
                b, (RhFlow){.src = edge->src,
                            .dst = edge->dst,
                            .chunk_first = edge->first + (step - edge->lag) * edge->width,
                            .chunk_count = edge->width,
                            .chunk_shift = edge->width,
                            .wrap_first = edge->first,
                            .wrap_count = r.chunks * edge->width});
        }
    }
    g_array_unref(r.edges);
}

/* Over several nodes every step counts as full. */
static void cost(RhLoads *l, RhOp op, double bytes)
{
    (void)op;
    int32_t k = l->at.nodes > 1 ? MAX(l->at.side_by_side, 1) : 1;
    int32_t fill = steps_to_fill(l->at.members, k), chunks = chunks_of(bytes / k, fill);
    rh_loads_add(l, fill + chunks, bytes / chunks, bytes / chunks / k, k);
}

const RhAlgorithm rh_algorithm_chain = {
    .name = "chain",
    .ops = RH_BIT(BROADCAST),
    .pipelined = RH_BIT(BROADCAST),
    .nccl = RH_BIT(BROADCAST),
    .rings = RH_BIT(BROADCAST),
    .generate = generate,
    .cost = cost,
};
